//! What is counted per label set: one table of counters, one of events, three histograms.

use crate::metrics::histogram::{Buckets, Histogram};
use ccactl_abi::layout::Sample;

const COUNTERS: usize = 11;
const EVENT_KINDS: usize = 7;

/// A counter that the kernel keeps per socket; the metric is the sum of its increases.
pub(crate) struct KernelCounter {
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    read: fn(&Sample) -> u64,
    width: Width,
    /// Counted units in one unit of the metric.
    pub(crate) per_unit: f64,
}

/// Of the kernel's field.
#[derive(Clone, Copy)]
enum Width {
    U32,
    U64,
}

impl KernelCounter {
    const fn bits64(name: &'static str, help: &'static str, read: fn(&Sample) -> u64) -> KernelCounter {
        KernelCounter { name, help, read, width: Width::U64, per_unit: 1.0 }
    }

    const fn bits32(name: &'static str, help: &'static str, read: fn(&Sample) -> u64) -> KernelCounter {
        KernelCounter { name, help, read, width: Width::U32, per_unit: 1.0 }
    }

    /// How much it grew, over the wrap of a 32-bit field too. A step back, by the byte that the kernel counts for a
    /// SYN or for a retransmission that it could not send, is no growth.
    fn increase(&self, before: u64, now: u64) -> u64 {
        match self.width {
            Width::U64 => now.saturating_sub(before),
            Width::U32 => {
                let grown = (now as u32).wrapping_sub(before as u32);
                if grown < 1 << 31 { u64::from(grown) } else { 0 }
            }
        }
    }
}

/// In the order of [`Totals::counters`].
pub(crate) const KERNEL_COUNTERS: [KernelCounter; COUNTERS] = [
    KernelCounter::bits64("ccactl_tcp_sent_bytes_total", "Payload sent, retransmissions included.", |row| {
        row.bytes_sent
    }),
    KernelCounter::bits64("ccactl_tcp_acked_bytes_total", "Payload that the receivers have acknowledged.", |row| {
        row.bytes_acked
    }),
    KernelCounter::bits64(
        "ccactl_tcp_received_bytes_total",
        "Payload received. A socket that only receives has no rows between its first and its last one, so its bytes come at its close.",
        |row| row.bytes_received,
    ),
    KernelCounter::bits64("ccactl_tcp_retransmitted_bytes_total", "Payload sent again.", |row| row.bytes_retrans),
    KernelCounter::bits32("ccactl_tcp_retransmitted_segments_total", "Segments sent again.", |row| {
        u64::from(row.retrans_pkts)
    }),
    KernelCounter::bits32(
        "ccactl_tcp_lost_segments_total",
        "Segments that the sender has marked lost, rightly or not.",
        |row| u64::from(row.lost_pkts),
    ),
    KernelCounter::bits32("ccactl_tcp_delivered_segments_total", "Segments delivered, by ACK or SACK.", |row| {
        u64::from(row.delivered_pkts)
    }),
    KernelCounter::bits32(
        "ccactl_tcp_delivered_ce_segments_total",
        "Segments delivered whose ACK echoed a congestion mark (ECN).",
        |row| u64::from(row.delivered_ce_pkts),
    ),
    KernelCounter::bits32("ccactl_tcp_retransmission_timeouts_total", "Retransmission timeouts.", |row| {
        u64::from(row.rto_count)
    }),
    KernelCounter::bits32(
        "ccactl_tcp_rtt_measurements_total",
        "RTT measurements that the sockets have made, counted in BPF at every ACK.",
        |row| u64::from(row.rtt_samples),
    ),
    KernelCounter {
        per_unit: 1e6,
        ..KernelCounter::bits64(
            "ccactl_tcp_rtt_measured_seconds_total",
            "Sum of these RTT measurements: by their number it is the mean that packets saw, whatever --every is.",
            |row| row.rtt_sum_us,
        )
    },
];

/// Index of `bytes_sent`, which never steps back while a connection lives.
const SENT: usize = 0;
/// Index of `bytes_received`.
const RECEIVED: usize = 2;
/// Index of `delivered_pkts`.
const DELIVERED: usize = 6;

/// A socket's counters as a row has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Reading([u64; COUNTERS]);

impl Reading {
    pub(crate) fn of(row: &Sample) -> Reading {
        Reading(std::array::from_fn(|index| (KERNEL_COUNTERS[index].read)(row)))
    }

    pub(crate) fn has_moved_data(&self) -> bool {
        self.0[SENT] > 0 || self.0[RECEIVED] > 0
    }

    /// Whether it was read from a later connection of the same socket.
    pub(crate) fn is_reset_since(&self, before: &Reading) -> bool {
        self.0[SENT] < before.0[SENT]
    }

    /// Whether the socket has delivered something since.
    pub(crate) fn delivers_since(&self, before_pkts: u64) -> bool {
        KERNEL_COUNTERS[DELIVERED].increase(before_pkts, self.0[DELIVERED]) > 0
    }

    pub(crate) fn delivered_pkts(&self) -> u64 {
        self.0[DELIVERED]
    }
}

/// Something that happens to a socket, counted by rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Opened,
    Closed,
    AlgorithmChanged,
    Disorder,
    Cwr,
    Recovery,
    Loss,
}

/// Name and help of the counter of each event. A label for the state would be a fourth one, hence a counter each.
pub(crate) const EVENTS: [(Event, &str, &str); EVENT_KINDS] = [
    (
        Event::Opened,
        "ccactl_tcp_connections_opened_total",
        "Connections established, by the algorithm at the end of the handshake: before a policy gives them theirs.",
    ),
    (Event::Closed, "ccactl_tcp_connections_closed_total", "Connections closed."),
    (
        Event::AlgorithmChanged,
        "ccactl_tcp_algorithm_changes_total",
        "Live connections that had moved data and got another algorithm, by the new one.",
    ),
    (Event::Disorder, "ccactl_tcp_disorder_entered_total", "Changes into the congestion state disorder."),
    (
        Event::Cwr,
        "ccactl_tcp_cwr_entered_total",
        "Changes into the congestion state CWR (window reduced, ECN or local).",
    ),
    (Event::Recovery, "ccactl_tcp_recovery_entered_total", "Changes into the congestion state recovery."),
    (Event::Loss, "ccactl_tcp_loss_entered_total", "Changes into the congestion state loss."),
];

/// Sums over sockets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Totals {
    /// By [`KERNEL_COUNTERS`].
    pub(crate) counters: [u64; COUNTERS],
    /// By [`EVENTS`].
    pub(crate) events: [u64; EVENT_KINDS],
    pub(crate) rtt: Histogram,
    pub(crate) cwnd: Histogram,
    pub(crate) completion: Histogram,
}

impl Totals {
    pub(crate) fn new(buckets: &Buckets) -> Totals {
        Totals {
            counters: Default::default(),
            events: Default::default(),
            rtt: Histogram::new(&buckets.rtt),
            cwnd: Histogram::new(&buckets.cwnd),
            completion: Histogram::new(&buckets.completion),
        }
    }

    /// Adds what a socket's counters grew between two rows; `before` becomes the highest reading so far.
    pub(crate) fn add_step(&mut self, before: &mut Reading, now: &Reading) {
        for (index, counter) in KERNEL_COUNTERS.iter().enumerate() {
            let grown = counter.increase(before.0[index], now.0[index]);
            if grown > 0 {
                self.counters[index] += grown;
                before.0[index] = now.0[index];
            }
        }
    }

    pub(crate) fn count(&mut self, event: Event) {
        let index = EVENTS.iter().position(|(listed, ..)| *listed == event).expect("every event is listed");
        self.events[index] += 1;
    }

    pub(crate) fn add(&mut self, other: &Totals) {
        for (mine, theirs) in self.counters.iter_mut().zip(other.counters) {
            *mine += theirs;
        }
        for (mine, theirs) in self.events.iter_mut().zip(other.events) {
            *mine += theirs;
        }
        self.rtt.add(&other.rtt);
        self.cwnd.add(&other.cwnd);
        self.completion.add(&other.completion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    #[test]
    fn the_indexes_name_their_counters() {
        for (index, name) in [(SENT, "sent_bytes"), (RECEIVED, "received_bytes"), (DELIVERED, "delivered_segments")] {
            assert_eq!(KERNEL_COUNTERS[index].name, format!("ccactl_tcp_{name}_total"));
        }
    }

    #[test]
    fn a_32_bit_counter_goes_on_over_its_wrap() {
        let [mut row, mut later] = [Sample::zeroed(); 2];
        row.delivered_pkts = u32::MAX - 1;
        later.delivered_pkts = 3;
        let mut totals = Totals::new(&Buckets::default());
        totals.add_step(&mut Reading::of(&row), &Reading::of(&later));
        assert_eq!(totals.counters[DELIVERED], 5);
    }

    #[test]
    fn a_step_back_adds_nothing_and_is_not_counted_twice() {
        let mut row = Sample::zeroed();
        let mut totals = Totals::new(&Buckets::default());
        let mut before = Reading::default();
        for (acked, lost) in [(101, 3), (100, 2), (102, 4)] {
            (row.bytes_acked, row.lost_pkts) = (acked, lost);
            totals.add_step(&mut before, &Reading::of(&row));
        }
        assert_eq!((totals.counters[1], totals.counters[5]), (102, 4));
    }
}
