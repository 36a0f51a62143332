//! What one compiled algorithm file exports: its ops table and its tunables.

use crate::layout::{HostSock, Ops};
use std::ffi::{CStr, c_char, c_ulong, c_void};
use std::fmt;
use std::path::Path;

/// `struct cc_host_unit`
#[repr(C)]
struct RawUnit {
    ops: *const Ops,
    tunables: *const *const RawTunable,
    guard: unsafe extern "C" fn(*mut HostSock),
    enter: unsafe extern "C" fn(*mut HostSock),
    storage_free: unsafe extern "C" fn(*mut HostSock),
    places: *const RawPlace,
    places_end: *const RawPlace,
}

/// `struct cc_host_place`
#[repr(C)]
struct RawPlace {
    name: *const c_char,
    function: *const c_void,
    file: *const c_char,
    line: c_ulong,
}

/// Where a callback stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the function.
    pub function: String,
    /// File as the compiler was given it.
    pub file: String,
    /// From 1.
    pub line: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}:{})", self.function, self.file, self.line)
    }
}

/// `struct cc_host_tunable`
#[repr(C)]
pub(crate) struct RawTunable {
    name: *const c_char,
    size: u32,
    is_signed: u32,
    value: i64,
    address: unsafe extern "C" fn() -> *mut c_void,
    next: *const RawTunable,
}

include!(concat!(env!("OUT_DIR"), "/units.rs"));

/// Of the unit in a library.
pub(crate) const SYMBOL: &str = "cca_unit";

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

    /// The algorithm of a library that [`build`](crate::build) has made. It stays in this process until its end.
    ///
    /// # Errors
    /// What the dynamic linker says.
    ///
    /// # Safety
    /// The library's constructors run, and later its callbacks: it must be one of [`build`](crate::build).
    pub unsafe fn load(library: &Path) -> Result<Unit, libloading::Error> {
        // SAFETY: as the caller promises.
        unsafe {
            let library = Box::leak(Box::new(libloading::Library::new(library)?));
            let raw = library.get::<*const RawUnit>(SYMBOL.as_bytes())?;
            Ok(Unit { raw: &**raw })
        }
    }

    /// Where the callback at this address stands; known of loaded units only.
    #[must_use]
    pub fn place(&self, function: *const ()) -> Option<Place> {
        let text = |raw: *const c_char| {
            // SAFETY: string literals of the C side.
            unsafe { CStr::from_ptr(raw) }.to_string_lossy().into_owned()
        };
        let count = (self.raw.places_end as usize - self.raw.places as usize) / size_of::<RawPlace>();
        if count == 0 {
            return None;
        }
        // SAFETY: the linker has put the section's records side by side.
        let places = unsafe { std::slice::from_raw_parts(self.raw.places, count) };
        let found = places.iter().find(|place| std::ptr::addr_eq(place.function, function))?;
        Some(Place { function: text(found.name), file: text(found.file), line: found.line })
    }

    /// Whether [`Unit::place`] knows its callbacks.
    pub(crate) fn has_places(&self) -> bool {
        !self.raw.places.is_null()
    }

    /// See `cc_host_guard()`.
    ///
    /// # Safety
    /// A valid socket.
    pub(crate) unsafe fn guard(&self, hs: *mut HostSock) {
        // SAFETY: as the caller promises; the same holds for the two below.
        unsafe { (self.raw.guard)(hs) }
    }

    /// Makes it the current socket of this thread.
    ///
    /// # Safety
    /// A socket that stays valid until the next one enters.
    pub(crate) unsafe fn enter(&self, hs: *mut HostSock) {
        // SAFETY: see `guard`.
        unsafe { (self.raw.enter)(hs) }
    }

    /// Frees all of its socket storage.
    ///
    /// # Safety
    /// A valid socket, in none of whose callbacks we are.
    pub(crate) unsafe fn storage_free(&self, hs: *mut HostSock) {
        // SAFETY: see `guard`.
        unsafe { (self.raw.storage_free)(hs) }
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
        // SAFETY: CC_OPS points to the head of the list, which is complete before main().
        unsafe { UnitTunable::list(self.raw.tunables) }
    }

    /// The tunable of that name.
    #[must_use]
    pub fn tunable(&self, name: &str) -> Option<UnitTunable> {
        self.tunables().into_iter().find(|tunable| tunable.name() == name)
    }
}

impl UnitTunable {
    /// A list of the C side, whose last node is the first of the file.
    ///
    /// # Safety
    /// The head of a list that is complete, and whose nodes live for ever.
    pub(crate) unsafe fn list(head: *const *const RawTunable) -> Vec<Self> {
        let mut found = Vec::new();
        // SAFETY: as the caller promises.
        let mut next = unsafe { *head };
        // SAFETY: list nodes are C objects with static lifetime; the last one's `next` is NULL.
        while let Some(raw) = unsafe { next.as_ref() } {
            found.push(Self { raw });
            next = raw.next;
        }
        found.reverse();
        found
    }

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
