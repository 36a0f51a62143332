//! A receiving algorithm (`bpf/rcv/`) as compiled for the host, with the state of one connection.

use crate::socket::Error;
use crate::unit::{RawTunable, UnitTunable};
use std::ffi::{c_ulong, c_void};

/// `struct rcv_host_unit`
#[repr(C)]
struct RawReceiver {
    tunables: *const *const RawTunable,
    socket_size: c_ulong,
    step: unsafe extern "C" fn(*mut c_void, *const Seen) -> u32,
}

// SAFETY: the C side writes these structs in constructors only, before any thread starts.
unsafe impl Sync for RawReceiver {}

include!(concat!(env!("OUT_DIR"), "/receivers.rs"));

/// `struct rcv_seen`: a receiving socket when an acknowledgement is about to leave.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Clock, µs.
    pub now_us: u64,
    /// Next byte that is expected.
    pub rcv_nxt: u32,
    /// Newest TSecr in ticks, 0 without timestamps.
    pub echo: u32,
    /// The clock of the timestamps, ticks.
    pub clock: u32,
    /// Length of a tick: 1000 or 1.
    pub tick_us: u32,
    /// Largest segment received, bytes.
    pub mss: u32,
    /// Something later than `rcv_nxt` has arrived.
    pub has_hole: bool,
    /// The acknowledgement was held back.
    pub is_late: bool,
    /// Of the C struct.
    pub pad: [u8; 2],
}

/// One connection with a receiving algorithm.
pub struct Receiver {
    raw: &'static RawReceiver,
    memory: Vec<u64>,
    overrides: Vec<(UnitTunable, i64)>,
}

impl Receiver {
    /// The algorithm of `bpf/rcv/NAME.bpf.c`, in the build in which undefined behaviour traps.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`]
    pub fn checked(algorithm: &str) -> Result<Self, Error> {
        let raw = raw_receiver(algorithm, true).ok_or_else(|| Error::UnknownAlgorithm(algorithm.to_owned()))?;
        // SAFETY: the symbol is an immutable C object with static lifetime.
        let raw = unsafe { &*raw };
        let words = (raw.socket_size as usize).div_ceil(size_of::<u64>());
        Ok(Self { raw, memory: vec![0; words], overrides: Vec::new() })
    }

    /// Sets a tunable for this connection only, as stored.
    ///
    /// # Errors
    /// [`Error::UnknownTunable`]
    pub fn set_tunable(&mut self, name: &str, raw: i64) -> Result<(), Error> {
        // SAFETY: RCV_WINDOW points to the head of the list, which is complete before main().
        let known = unsafe { UnitTunable::list(self.raw.tunables) };
        let tunable = known.into_iter().find(|tunable| tunable.name() == name);
        self.overrides.push((tunable.ok_or_else(|| Error::UnknownTunable(name.to_owned()))?, raw));
        Ok(())
    }

    /// One acknowledgement: the limit of the offered window that holds from now on, in bytes; `None` without one.
    pub fn step(&mut self, seen: &Seen) -> Option<u32> {
        for (tunable, raw) in &self.overrides {
            tunable.store(*raw);
        }
        // SAFETY: the memory has the size that the unit asks for, and its alignment; both live for the call.
        let limit = unsafe { (self.raw.step)(self.memory.as_mut_ptr().cast(), seen) };
        for (tunable, _) in &self.overrides {
            tunable.store(tunable.default_raw());
        }
        (limit != 0).then_some(limit)
    }
}
