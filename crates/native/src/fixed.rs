//! The integer arithmetic of `bpf/include/fixed.bpf.h` and `exp.bpf.h`.

unsafe extern "C" {
    fn cc_host_cube_root(a: u64) -> u32;
    fn cc_host_exp_neg(x_micro: u32) -> u32;
    fn cc_host_window_max(window: *mut Window, length: u32, at: u32, value: u32) -> u32;
}

/// `cc_cube_root()`
#[must_use]
pub fn cube_root(a: u64) -> u32 {
    // SAFETY: a pure function of an integer.
    unsafe { cc_host_cube_root(a) }
}

/// `cc_exp_neg()`: e^(-x / 10^6), as a fraction of `u32::MAX`.
#[must_use]
pub fn exp_neg(x_micro: u32) -> u32 {
    // SAFETY: a pure function of an integer.
    unsafe { cc_host_exp_neg(x_micro) }
}

/// `struct cc_window`: maximum over a sliding window in constant space. Empty at first: maximum 0 at time 0.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Window {
    best: [[u32; 2]; 3],
}

impl Window {
    /// Takes a sample in; returns the maximum over the last `length` units of time.
    pub fn max(&mut self, length: u32, at: u32, value: u32) -> u32 {
        // SAFETY: the struct has the C side's layout (three pairs of u32) and outlives the call.
        unsafe { cc_host_window_max(self, length, at, value) }
    }
}
