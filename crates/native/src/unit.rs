//! What one compiled algorithm file exports: its ops table and its tunables.

use std::ffi::{CStr, c_char, c_void};

use crate::layout::Ops;

/// `struct cc_host_unit`
#[repr(C)]
struct RawUnit {
    ops: *const Ops,
    tunables: *const *const RawTunable,
}

/// `struct cc_host_tunable`
#[repr(C)]
struct RawTunable {
    name: *const c_char,
    size: u32,
    is_signed: u32,
    value: i64,
    address: unsafe extern "C" fn() -> *mut c_void,
    next: *const RawTunable,
}

include!(concat!(env!("OUT_DIR"), "/units.rs"));

/// One algorithm as compiled for the host.
#[derive(Clone, Copy)]
pub struct Unit {
    raw: &'static RawUnit,
}

/// A parameter of a [`Unit`]. Its variable exists once per thread.
#[derive(Clone, Copy)]
pub struct UnitTunable {
    raw: &'static RawTunable,
}

// SAFETY: the C side writes these structs in constructors only, before any thread starts.
unsafe impl Sync for Unit {}
// SAFETY: as above.
unsafe impl Send for Unit {}
// SAFETY: as above; the variable itself is thread-local and looked up by the thread that uses it.
unsafe impl Send for UnitTunable {}

impl Unit {
    /// The algorithm of `bpf/cc/NAME.bpf.c`; `checked` = the build in which undefined behaviour traps.
    #[must_use]
    pub fn by_name(name: &str, checked: bool) -> Option<Unit> {
        let raw = raw_unit(name, checked)?;
        // SAFETY: the symbol is an immutable C object with static lifetime.
        Some(Unit { raw: unsafe { &*raw } })
    }

    /// The ops table at the end of the file.
    #[must_use]
    pub fn ops(&self) -> &'static Ops {
        // SAFETY: CC_OPS points to a constant table with static lifetime.
        unsafe { &*self.raw.ops }
    }

    /// Kernel name in the ops table.
    #[must_use]
    pub fn kernel_name(&self) -> &'static str {
        ccactl_abi::layout::name_str(&self.ops().name)
    }

    /// Names of the members of the ops table that are filled, in the table's order.
    #[must_use]
    pub fn hooks(&self) -> Vec<&'static str> {
        let ops = self.ops();
        [
            ("ssthresh", ops.ssthresh.is_some()),
            ("cong_avoid", ops.cong_avoid.is_some()),
            ("set_state", ops.set_state.is_some()),
            ("cwnd_event", ops.cwnd_event.is_some()),
            ("in_ack_event", ops.in_ack_event.is_some()),
            ("pkts_acked", ops.pkts_acked.is_some()),
            ("min_tso_segs", ops.min_tso_segs.is_some()),
            ("cong_control", ops.cong_control.is_some()),
            ("undo_cwnd", ops.undo_cwnd.is_some()),
            ("sndbuf_expand", ops.sndbuf_expand.is_some()),
            ("init", ops.init.is_some()),
            ("release", ops.release.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, filled)| filled.then_some(name))
        .collect()
    }

    /// The tunables in the order of the file.
    #[must_use]
    pub fn tunables(&self) -> Vec<UnitTunable> {
        let mut found = Vec::new();
        // SAFETY: CC_OPS points to the head of the list, which is complete before main().
        let mut next = unsafe { *self.raw.tunables };
        // SAFETY: list nodes are C objects with static lifetime; the last one's `next` is NULL.
        while let Some(raw) = unsafe { next.as_ref() } {
            found.push(UnitTunable { raw });
            next = raw.next;
        }
        found.reverse();
        found
    }

    /// The tunable of that name.
    #[must_use]
    pub fn tunable(&self, name: &str) -> Option<UnitTunable> {
        self.tunables().into_iter().find(|tunable| tunable.name() == name)
    }
}

impl UnitTunable {
    /// Name of the variable.
    #[must_use]
    pub fn name(&self) -> &'static str {
        // SAFETY: a string literal of the C side.
        unsafe { CStr::from_ptr(self.raw.name) }.to_str().unwrap_or("")
    }

    /// Default, as stored.
    #[must_use]
    pub fn default_raw(&self) -> i64 {
        self.raw.value
    }

    /// Smallest and largest value that the variable's type holds.
    #[must_use]
    pub fn type_range(&self) -> (i64, i64) {
        match (self.raw.size, self.raw.is_signed != 0) {
            (1, false) => (0, i64::from(u8::MAX)),
            (2, false) => (0, i64::from(u16::MAX)),
            (4, false) => (0, i64::from(u32::MAX)),
            (1, true) => (i64::from(i8::MIN), i64::from(i8::MAX)),
            (2, true) => (i64::from(i16::MIN), i64::from(i16::MAX)),
            (4, true) => (i64::from(i32::MIN), i64::from(i32::MAX)),
            (_, false) => (0, i64::MAX),
            (_, true) => (i64::MIN, i64::MAX),
        }
    }

    /// Sets this thread's copy.
    pub(crate) fn store(&self, raw: i64) {
        let bytes = raw.to_le_bytes();
        // SAFETY: `address` returns this thread's variable of `size` bytes (at most 8); the target is little-endian,
        // as asserted below, so the low bytes come first.
        unsafe {
            let target = (self.raw.address)().cast::<u8>();
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, self.raw.size as usize);
        }
    }
}

const _: () = assert!(cfg!(target_endian = "little"), "the native build knows little-endian hosts only");
