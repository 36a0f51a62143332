//! The link of `bpf/include/link_queue.bpf.h`, which is a queue discipline inside the kernel, as plain C.

use ccactl_abi::link_queue::{LinkConfig, LinkState};
use std::ptr::NonNull;

#[repr(C)]
struct Raw {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn link_host_new(config: *const LinkConfig) -> *mut Raw;
    fn link_host_free(host: *mut Raw);
    fn link_host_arrive(host: *mut Raw, now: u64, bytes: u32) -> i32;
    fn link_host_leave(host: *mut Raw, now: u64, number: *mut u64, due_ns: *mut u64) -> i32;
    fn link_host_state(host: *const Raw) -> *const LinkState;
}

/// A link. Times are in ns and do not go back.
pub struct LinkQueue(NonNull<Raw>);

/// What became of a packet that was taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// Its number among those that were taken in, from 0.
    pub number: u64,
    /// When its last bit left; none for one that CoDel dropped.
    pub due_ns: Option<u64>,
}

impl LinkQueue {
    /// An idle one.
    ///
    /// # Panics
    /// Without memory, or with a number of slots that is no power of two.
    #[must_use]
    pub fn new(config: &LinkConfig) -> Self {
        assert!(config.slots.is_power_of_two() && config.rate_bps > 0, "{config:?}");
        // SAFETY: the configuration is only read, and the number of slots is what the C code masks with.
        let raw = unsafe { link_host_new(config) };
        LinkQueue(NonNull::new(raw).expect("there is memory for a link"))
    }

    /// Whether a packet of so many bytes, more than 0, is taken in.
    pub fn arrive(&mut self, now: u64, bytes: u32) -> bool {
        // SAFETY: the pointer is of `link_host_new()` and nobody else has it.
        unsafe { link_host_arrive(self.0.as_ptr(), now, bytes) != 0 }
    }

    /// The next packet that has left, or was dropped, by now.
    pub fn leave(&mut self, now: u64) -> Option<Left> {
        let (mut number, mut due_ns) = (0, 0);
        // SAFETY: as above, and both results are written before the call ends.
        let any = unsafe { link_host_leave(self.0.as_ptr(), now, &raw mut number, &raw mut due_ns) };
        (any != 0).then_some(Left { number, due_ns: Some(due_ns).filter(|due_ns| *due_ns != u64::MAX) })
    }

    /// What it has done.
    #[must_use]
    pub fn state(&self) -> &LinkState {
        // SAFETY: it lies in the memory of the link, and changes only with `&mut self`.
        unsafe { &*link_host_state(self.0.as_ptr()) }
    }
}

impl Drop for LinkQueue {
    fn drop(&mut self) {
        // SAFETY: as above, and this is its end.
        unsafe { link_host_free(self.0.as_ptr()) }
    }
}
