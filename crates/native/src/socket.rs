//! One emulated socket with an algorithm: set the fields, call the callbacks, read what they did.

use ccactl_abi::layout::{INFINITE_SSTHRESH, Trace};

use crate::layout::{AckSample, HostSock, MinmaxSample, RateSample, TcpSock};
use crate::unit::{Place, Unit, UnitTunable};
use crate::watch;
use std::ptr;

unsafe extern "C" {
    fn cc_host_fault(hs: *mut HostSock, sample: *const RateSample, fault: u32) -> i32;
}

/// `TCP_CA_Open`: no sign of trouble.
pub const CA_OPEN: u8 = 0;
/// `TCP_CA_Disorder`: duplicate ACKs or SACKs, nothing marked lost yet.
pub const CA_DISORDER: u8 = 1;
/// `TCP_CA_CWR`: reduction after ECN or a repaired tail loss.
pub const CA_CWR: u8 = 2;
/// `TCP_CA_Recovery`: fast retransmission.
pub const CA_RECOVERY: u8 = 3;
/// `TCP_CA_Loss`: retransmission timeout.
pub const CA_LOSS: u8 = 4;

/// `CA_EVENT_TX_START`: first transmission with nothing in flight.
pub const EVENT_TX_START: u32 = 0;
/// `CA_EVENT_CWND_RESTART`: the window was reset after an idle period.
pub const EVENT_CWND_RESTART: u32 = 1;
/// `CA_EVENT_COMPLETE_CWR`: the reduction has ended.
pub const EVENT_COMPLETE_CWR: u32 = 2;
/// `CA_EVENT_LOSS`: retransmission timeout.
pub const EVENT_LOSS: u32 = 3;
/// `CA_EVENT_ECN_NO_CE`: a packet without CE mark was received.
pub const EVENT_ECN_NO_CE: u32 = 4;
/// `CA_EVENT_ECN_IS_CE`: a packet with CE mark was received.
pub const EVENT_ECN_IS_CE: u32 = 5;

/// Clock at which a new socket starts: far from zero, as on a running host.
pub const START_US: u64 = 1_000_000_000;

/// Why a socket could not be made or set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no `bpf/cc/NAME.bpf.c`.
    #[error("algorithm {0}: no such file under bpf/cc")]
    UnknownAlgorithm(String),
    /// The algorithm has no tunable of this name.
    #[error("tunable {0}: the algorithm has none of this name")]
    UnknownTunable(String),
    /// The variable's type cannot hold the value.
    #[error("tunable {0}: its type cannot hold {1}")]
    TunableRange(String, i64),
}

/// An emulated socket. Not initialised: call [`Socket::init`], or do not, as an active opener's first ACK does.
pub struct Socket {
    hs: Box<HostSock>,
    unit: Unit,
    checked: bool,
    overrides: Vec<(UnitTunable, i64)>,
    start_jiffies: u32,
    last_called: *const (),
}

// SAFETY: the raw pointers inside are storage owned by this socket, unused kernel pointers and a function; the algorithm keeps no
// reference to a socket between calls.
unsafe impl Send for Socket {}

impl Socket {
    /// A socket in the state in which the kernel has it when a connection is established, in the plain build.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`]
    pub fn new(algorithm: &str) -> Result<Socket, Error> {
        Self::build(algorithm, false)
    }

    /// As [`Socket::new`], in the build in which undefined behaviour traps.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`]
    pub fn checked(algorithm: &str) -> Result<Socket, Error> {
        Self::build(algorithm, true)
    }

    fn build(algorithm: &str, checked: bool) -> Result<Socket, Error> {
        let unit = Unit::by_name(algorithm, checked).ok_or_else(|| Error::UnknownAlgorithm(algorithm.to_owned()))?;
        let mut socket = Self::of(unit);
        socket.checked = checked;
        Ok(socket)
    }

    /// A socket with an algorithm of any origin.
    #[must_use]
    pub fn of(unit: Unit) -> Socket {
        // SAFETY: all members are integers, arrays of them and raw pointers, for which zero is a value.
        let mut hs: Box<HostSock> = Box::new(unsafe { std::mem::zeroed() });
        let tp = &mut hs.tp;
        tp.inet_conn.sk.sk_pacing_rate = u64::MAX;
        tp.inet_conn.sk.sk_max_pacing_rate = u64::MAX;
        tp.inet_conn.sk.sk_gso_max_size = 65536;
        tp.inet_conn.sk.sk_pacing_shift = 10;
        tp.mss_cache = 1448;
        tp.snd_cwnd = 10;
        tp.snd_cwnd_clamp = u32::MAX;
        tp.snd_ssthresh = INFINITE_SSTHRESH;
        tp.app_limited = u32::MAX;
        tp.rtt_min = [MinmaxSample { t: 0, v: u32::MAX }; 3];
        hs.hz = 250;
        hs.random_state = 1;
        // SAFETY: the bytes that it forbids are members that nobody reads or writes.
        unsafe { unit.guard(&raw mut *hs) };
        let mut socket =
            Socket { hs, unit, checked: false, overrides: Vec::new(), start_jiffies: 0, last_called: ptr::null() };
        socket.set_time_us(START_US);
        socket
    }

    /// The algorithm.
    #[must_use]
    pub fn unit(&self) -> Unit {
        self.unit
    }

    /// The kernel's socket.
    #[must_use]
    pub fn tp(&self) -> &TcpSock {
        &self.hs.tp
    }

    /// The kernel's socket, to be set up by the caller.
    pub fn tp_mut(&mut self) -> &mut TcpSock {
        &mut self.hs.tp
    }

    /// `snd_cwnd`
    #[must_use]
    pub fn cwnd(&self) -> u32 {
        self.hs.tp.snd_cwnd
    }

    /// `snd_ssthresh`
    #[must_use]
    pub fn snd_ssthresh(&self) -> u32 {
        self.hs.tp.snd_ssthresh
    }

    /// `sk_pacing_rate` in bytes/s.
    #[must_use]
    pub fn pacing_rate(&self) -> u64 {
        self.hs.tp.inet_conn.sk.sk_pacing_rate
    }

    /// The private area.
    #[must_use]
    pub fn ca_priv(&self) -> &[u64; 13] {
        &self.hs.tp.inet_conn.icsk_ca_priv
    }

    /// Current time in µs.
    #[must_use]
    pub fn time_us(&self) -> u64 {
        self.hs.tp.tcp_mstamp
    }

    /// Sets all clocks: `tcp_mstamp`, jiffies and `ktime` start at the same zero, or jiffies where
    /// [`Socket::start_jiffies`] says.
    pub fn set_time_us(&mut self, now_us: u64) {
        self.hs.tp.tcp_mstamp = now_us;
        self.hs.tp.tcp_clock_cache = now_us * 1000;
        self.hs.ktime_ns = now_us * 1000;
        self.hs.jiffies = u64::from(self.start_jiffies) + now_us * u64::from(self.hs.hz) / 1_000_000;
    }

    /// What jiffies are at time 0: near `u32::MAX` they wrap soon, as those of a host do five minutes after it booted.
    pub fn start_jiffies(&mut self, jiffies: u32) {
        self.start_jiffies = jiffies;
        self.set_time_us(self.time_us());
    }

    /// Moves all clocks on.
    pub fn advance_us(&mut self, by_us: u64) {
        self.set_time_us(self.time_us() + by_us);
    }

    /// Current jiffies as the algorithm sees them.
    #[must_use]
    pub fn jiffies(&self) -> u32 {
        self.hs.jiffies as u32
    }

    /// `CONFIG_HZ`; 250 unless set.
    pub fn set_hz(&mut self, hz: u32) {
        self.hs.hz = hz;
        self.set_time_us(self.time_us());
    }

    /// Seed of `cc_random()`.
    pub fn set_seed(&mut self, seed: u64) {
        self.hs.random_state = seed;
    }

    /// From now on the algorithm finds a trace to fill, or no longer.
    pub fn record(&mut self, recording: bool) {
        self.hs.recording = u8::from(recording);
    }

    /// What the algorithm published last; `None` while nobody records or nothing has been published.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        (self.hs.recording != 0 && self.hs.trace.updates > 0).then_some(self.hs.trace)
    }

    /// From now on socket storage cannot be allocated, or can again. Storage that exists stays.
    pub fn fail_storage(&mut self, fails: bool) {
        self.hs.storage_fails = u8::from(fails);
    }

    /// From now on the algorithm may not write `app_limited`, as on kernels before 6.4, or may again.
    pub fn refuse_app_limited(&mut self, refuse: bool) {
        self.hs.app_limited_fixed = u8::from(refuse);
    }

    /// ACKs that the algorithm has had sent, and what the last of them acknowledged.
    #[must_use]
    pub fn acks_sent(&self) -> (u32, u32) {
        (self.hs.acks_sent, self.hs.ack_rcv_nxt)
    }

    /// Makes it a subflow of the MPTCP connection with this token; 0 = of none. Subflows share their state with those of the
    /// same thread.
    pub fn set_mptcp_token(&mut self, token: u32) {
        self.hs.mptcp_token = token;
    }

    /// Removes the socket storage, and what the socket has added to maps that sockets share, so that lookups find none.
    pub fn drop_storage(&mut self) {
        // SAFETY: the list belongs to this socket and no callback runs.
        unsafe { self.unit.storage_free(&raw mut *self.hs) };
    }

    /// Whether the algorithm has any socket storage.
    #[must_use]
    pub fn has_storage(&self) -> bool {
        !self.hs.storage.is_null()
    }

    /// Sets a tunable of this socket's algorithm for this socket only, as stored (not in the user's unit).
    ///
    /// # Errors
    /// [`Error::UnknownTunable`], [`Error::TunableRange`]
    pub fn set_tunable(&mut self, name: &str, raw: i64) -> Result<(), Error> {
        let tunable = self.unit.tunable(name).ok_or_else(|| Error::UnknownTunable(name.to_owned()))?;
        let (low, high) = tunable.type_range();
        if !(low..=high).contains(&raw) {
            return Err(Error::TunableRange(name.to_owned(), raw));
        }
        self.overrides.retain(|(other, _)| other.name() != name);
        self.overrides.push((tunable, raw));
        Ok(())
    }

    /// Runs a callback with this socket's clock and tunables in place.
    fn call<R>(&mut self, function: *const (), callback: impl FnOnce(*mut HostSock) -> R) -> R {
        self.last_called = function;
        for (tunable, raw) in &self.overrides {
            tunable.store(*raw);
        }
        let hs: *mut HostSock = &raw mut *self.hs;
        // SAFETY: `hs` outlives the call, and is the current socket of this thread for its duration.
        unsafe { self.unit.enter(hs) };
        let watched = self.unit.has_places().then(|| watch::enter(function));
        let result = callback(hs);
        drop(watched);
        for (tunable, _) in &self.overrides {
            tunable.store(tunable.default_raw());
        }
        result
    }

    /// Where the callback stands that was called last; known of loaded units only.
    #[must_use]
    pub fn last_called(&self) -> Option<Place> {
        self.unit.place(self.last_called)
    }

    /// `init`, with the private area cleared before, as the kernel does when it assigns an algorithm.
    pub fn init(&mut self) {
        self.hs.tp.inet_conn.icsk_ca_priv = [0; 13];
        self.init_inherited();
    }

    /// `init` on whatever the private area holds: a child inherits its listener's bytes.
    pub fn init_inherited(&mut self) {
        if let Some(op) = self.unit.ops().init {
            // SAFETY: the callback gets the socket that it expects; the same holds for all calls below.
            self.call(op as *const (), |hs| unsafe { op(hs) });
        }
    }

    /// Changes to another algorithm as `setsockopt(TCP_CONGESTION)` does (`tcp_reinit_congestion_control()`): `release` of
    /// the old one, the private area cleared, `init` of the new one. Its tunables have their defaults.
    ///
    /// # Errors
    /// [`Error::UnknownAlgorithm`]; the socket then keeps its algorithm.
    pub fn swap(&mut self, algorithm: &str) -> Result<(), Error> {
        let unit =
            Unit::by_name(algorithm, self.checked).ok_or_else(|| Error::UnknownAlgorithm(algorithm.to_owned()))?;
        self.swap_to(unit, |_| Ok(()))
    }

    /// The same to an algorithm of any origin; `set` gives it its tunables.
    ///
    /// # Errors
    /// Those of `set`; the new algorithm is not initialised then.
    pub fn swap_to(&mut self, unit: Unit, set: impl FnOnce(&mut Socket) -> Result<(), Error>) -> Result<(), Error> {
        self.release();
        self.unit = unit;
        self.overrides.clear();
        set(self)?;
        self.init();
        Ok(())
    }

    /// Makes an error on purpose, one of `bpf/include/host/cc_host_faults.c`: for the test that the sanitizers work.
    ///
    /// # Safety
    /// It is undefined behaviour: only where a sanitizer ends the process, and only in one that has nothing to lose.
    pub unsafe fn commit_fault(&mut self, fault: u32) {
        let sample = Box::new(RateSample::default());
        // SAFETY: none, which is its purpose.
        self.call(ptr::null(), |hs| unsafe { cc_host_fault(hs, &raw const *sample, fault) });
    }

    /// Overwrites the private area.
    pub fn set_ca_priv(&mut self, bytes: [u64; 13]) {
        self.hs.tp.inet_conn.icsk_ca_priv = bytes;
    }

    /// `release`
    pub fn release(&mut self) {
        if let Some(op) = self.unit.ops().release {
            // SAFETY: see `init_inherited`.
            self.call(op as *const (), |hs| unsafe { op(hs) });
        }
    }

    /// `ssthresh`, without writing its result to the socket.
    pub fn ssthresh(&mut self) -> u32 {
        let op = self.unit.ops().ssthresh.expect("the kernel demands ssthresh");
        // SAFETY: see `init_inherited`.
        self.call(op as *const (), |hs| unsafe { op(hs) })
    }

    /// `undo_cwnd`, without writing its result to the socket.
    pub fn undo_cwnd(&mut self) -> u32 {
        let op = self.unit.ops().undo_cwnd.expect("the kernel demands undo_cwnd");
        // SAFETY: see `init_inherited`.
        self.call(op as *const (), |hs| unsafe { op(hs) })
    }

    /// `cong_avoid`
    pub fn cong_avoid(&mut self, ack: u32, acked: u32) {
        if let Some(op) = self.unit.ops().cong_avoid {
            // SAFETY: see `init_inherited`.
            self.call(op as *const (), |hs| unsafe { op(hs, ack, acked) });
        }
    }

    /// `cong_control`
    pub fn cong_control(&mut self, ack: u32, flag: i32, sample: &RateSample) {
        if let Some(op) = self.unit.ops().cong_control {
            // On the heap, where AddressSanitizer sees a read beyond its end.
            let sample = Box::new(*sample);
            // SAFETY: see `init_inherited`; the sample outlives the call.
            self.call(op as *const (), |hs| unsafe { op(hs, ack, flag, &raw const *sample) });
        }
    }

    /// `pkts_acked`
    pub fn pkts_acked(&mut self, sample: &AckSample) {
        if let Some(op) = self.unit.ops().pkts_acked {
            let sample = Box::new(*sample);
            // SAFETY: see `init_inherited`; the sample outlives the call.
            self.call(op as *const (), |hs| unsafe { op(hs, &raw const *sample) });
        }
    }

    /// `set_state`, then the new state in the socket: the algorithm still sees the old one, as in the kernel.
    pub fn set_state(&mut self, state: u8) {
        if let Some(op) = self.unit.ops().set_state {
            // SAFETY: see `init_inherited`.
            self.call(op as *const (), |hs| unsafe { op(hs, state) });
        }
        self.hs.tp.set_ca_state(state);
    }

    /// `cwnd_event`
    pub fn cwnd_event(&mut self, event: u32) {
        if let Some(op) = self.unit.ops().cwnd_event {
            // SAFETY: see `init_inherited`.
            self.call(op as *const (), |hs| unsafe { op(hs, event) });
        }
    }

    /// `in_ack_event`
    pub fn in_ack_event(&mut self, flags: u32) {
        if let Some(op) = self.unit.ops().in_ack_event {
            // SAFETY: see `init_inherited`.
            self.call(op as *const (), |hs| unsafe { op(hs, flags) });
        }
    }

    /// `min_tso_segs`
    pub fn min_tso_segs(&mut self) -> Option<u32> {
        let op = self.unit.ops().min_tso_segs?;
        // SAFETY: see `init_inherited`.
        Some(self.call(op as *const (), |hs| unsafe { op(hs) }))
    }

    /// `sndbuf_expand`
    pub fn sndbuf_expand(&mut self) -> Option<u32> {
        let op = self.unit.ops().sndbuf_expand?;
        // SAFETY: see `init_inherited`.
        Some(self.call(op as *const (), |hs| unsafe { op(hs) }))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.drop_storage();
    }
}
