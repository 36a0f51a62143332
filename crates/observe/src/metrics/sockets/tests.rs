//! Rows made by hand, and the increases that they must give.

use super::*;
use bytemuck::Zeroable;
use ccactl_abi::layout::name_bytes;

const CGROUP: u64 = 7;
const NETNS: u32 = 3;

fn sockets() -> Sockets {
    with_capacity(100)
}

fn with_capacity(capacity: usize) -> Sockets {
    Sockets::new(Arc::default(), None, capacity)
}

fn name(text: &str) -> [u8; NAME_LEN] {
    name_bytes(text).unwrap()
}

fn ids(algorithm: &str) -> Ids {
    Ids { cgroup: CGROUP, netns: NETNS, algorithm: name(algorithm) }
}

/// A row of a socket that was open before the recording.
fn row(flow_id: u64, event: u8, bytes_sent: u64) -> Sample {
    Sample { flow_id, event, bytes_sent, cgroup_id: CGROUP, netns: NETNS, algorithm: name("cubic"), ..Sample::zeroed() }
}

fn sent(taken: &Taken, algorithm: &str) -> u64 {
    taken.increases.get(&ids(algorithm)).map_or(0, |totals| totals.counters[0])
}

fn count(taken: &Taken, algorithm: &str, event: Event) -> u64 {
    let index = crate::metrics::totals::EVENTS.iter().position(|(listed, ..)| *listed == event).unwrap();
    taken.increases.get(&ids(algorithm)).map_or(0, |totals| totals.events[index])
}

#[test]
fn a_socket_that_was_seen_to_open_counts_from_zero_to_its_close() {
    let mut sockets = sockets();
    sockets.add(&[row(1, EVENT_OPEN, 0), row(1, EVENT_SAMPLE, 1_000)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), count(&taken, "cubic", Event::Opened)), (1_000, 1));
    assert_eq!(taken.live, HashMap::from([(ids("cubic"), 1)]));

    sockets.add(&[row(1, EVENT_CLOSE, 1_500)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), count(&taken, "cubic", Event::Closed)), (500, 1));
    assert!(taken.live.is_empty() && sockets.live.is_empty());
}

#[test]
fn a_connection_of_which_only_the_close_was_recorded_counts_whole() {
    let mut sockets = sockets();
    sockets.add(&[Sample { opened_ns: 5, ..row(1, EVENT_CLOSE, 700) }]);
    let taken = sockets.take();
    assert_eq!(sent(&taken, "cubic"), 700);
    assert_eq!((count(&taken, "cubic", Event::Opened), count(&taken, "cubic", Event::Closed)), (1, 1));
    assert!(taken.live.is_empty());
}

#[test]
fn a_socket_that_was_open_before_counts_from_its_first_row_on() {
    let mut sockets = sockets();
    sockets.add(&[row(1, EVENT_SAMPLE, 1 << 40), row(1, EVENT_SAMPLE, (1 << 40) + 3)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), count(&taken, "cubic", Event::Opened)), (3, 0));
    assert_eq!(taken.live[&ids("cubic")], 1);
}

#[test]
fn the_same_number_in_two_namespaces_is_two_sockets() {
    let mut sockets = sockets();
    let elsewhere = |event, bytes| Sample { netns: NETNS + 1, ..row(1, event, bytes) };
    sockets.add(&[
        row(1, EVENT_OPEN, 0),
        elsewhere(EVENT_OPEN, 0),
        row(1, EVENT_SAMPLE, 10),
        elsewhere(EVENT_SAMPLE, 4),
    ]);
    let taken = sockets.take();
    assert_eq!(sent(&taken, "cubic"), 10);
    assert_eq!(taken.increases[&Ids { netns: NETNS + 1, ..ids("cubic") }].counters[0], 4);
}

#[test]
fn a_socket_that_is_connected_anew_counts_both_connections() {
    let mut sockets = sockets();
    sockets.add(&[row(1, EVENT_OPEN, 0), row(1, EVENT_SAMPLE, 900)]);
    // The close of the first connection was lost.
    sockets.add(&[row(1, EVENT_OPEN, 0), row(1, EVENT_SAMPLE, 50)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), count(&taken, "cubic", Event::Opened)), (950, 2));
    assert_eq!(taken.live[&ids("cubic")], 1);

    // And of the second one the close and the next open.
    sockets.add(&[Sample { opened_ns: 9, ..row(1, EVENT_SAMPLE, 20) }]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), taken.live[&ids("cubic")]), (20, 1));
}

#[test]
fn what_was_sent_before_a_swap_belongs_to_the_former_algorithm() {
    let mut sockets = sockets();
    let bbr = |event, bytes| Sample { algorithm: name("bbr"), ..row(1, event, bytes) };
    sockets.add(&[row(1, EVENT_OPEN, 0), row(1, EVENT_SAMPLE, 100), bbr(EVENT_ALGORITHM, 150), bbr(EVENT_SAMPLE, 400)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), sent(&taken, "bbr")), (150, 250));
    assert_eq!(count(&taken, "bbr", Event::AlgorithmChanged), 1);
    assert_eq!(taken.live, HashMap::from([(ids("bbr"), 1)]));
}

#[test]
fn what_a_policy_sets_at_the_handshake_is_no_change_and_ran_all_of_the_data() {
    let mut sockets = sockets();
    let bbr = |event, bytes| Sample { algorithm: name("bbr"), ..row(1, event, bytes) };
    // The change is noticed at the first ACK, when the first window has been sent.
    sockets.add(&[row(1, EVENT_OPEN, 0), bbr(EVENT_ALGORITHM, 14_480), bbr(EVENT_CLOSE, 20_000)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), sent(&taken, "bbr")), (0, 20_000));
    assert_eq!(count(&taken, "bbr", Event::AlgorithmChanged), 0);
}

#[test]
fn with_one_algorithm_recorded_a_socket_that_leaves_it_is_gone_and_comes_back_as_one_that_was_there_before() {
    let mut sockets = Sockets::new(Arc::default(), Some(name("cubic")), 10);
    let opened = |event, bytes| Sample { opened_ns: 5, ..row(1, event, bytes) };
    let left = Sample { algorithm: name("bbr"), ..opened(EVENT_ALGORITHM, 200) };
    sockets.add(&[opened(EVENT_OPEN, 0), opened(EVENT_SAMPLE, 100), left]);
    let taken = sockets.take();
    assert_eq!(sent(&taken, "cubic"), 200);
    assert!(taken.live.is_empty());

    sockets.add(&[opened(EVENT_ALGORITHM, 900), opened(EVENT_SAMPLE, 950)]);
    let taken = sockets.take();
    assert_eq!((sent(&taken, "cubic"), taken.live[&ids("cubic")]), (50, 1));
}

#[test]
fn an_rtt_counts_once_per_sample_in_which_something_was_delivered() {
    let mut sockets = sockets();
    let sample = |delivered_pkts, rtt_us| Sample { delivered_pkts, rtt_us, cwnd_pkts: 10, ..row(1, EVENT_SAMPLE, 1) };
    let opened = Sample { delivered_pkts: 1, rtt_us: 90, ..row(1, EVENT_OPEN, 0) };
    // The first sample shows the state that the handshake left: nothing was delivered since.
    sockets.add(&[opened, sample(1, 90), sample(2, 100), sample(2, 100), sample(9, 200)]);
    // Other rows do not weigh a busy moment more, and take nothing from the next sample.
    sockets.add(&[Sample { event: EVENT_CA_STATE, ca_state: 3, ..sample(12, 250) }, sample(12, 300)]);
    let taken = sockets.take();
    let totals = &taken.increases[&ids("cubic")];
    assert_eq!((totals.rtt.count(), totals.cwnd.count()), (3, 3));
    assert_eq!(Buckets::default().rtt.shown_sum(&totals.rtt), 0.000_6);
    assert_eq!(count(&taken, "cubic", Event::Recovery), 1);
}

#[test]
fn the_completion_time_ends_with_the_last_delivery_not_with_the_close() {
    let mut sockets = sockets();
    let closed = Sample {
        opened_ns: 1_000_000,
        progress_ns: 4_000_000,
        time_ns: 9_000_000,
        bytes_acked: 10,
        ..row(1, EVENT_CLOSE, 10)
    };
    let without_data = Sample { flow_id: 2, bytes_acked: 0, progress_ns: 0, ..closed };
    let open_before = Sample { flow_id: 3, opened_ns: 0, ..closed };
    sockets.add(&[closed, without_data, open_before]);
    let taken = sockets.take();
    let completion = &taken.increases[&ids("cubic")].completion;
    assert_eq!((completion.count(), Buckets::default().completion.shown_sum(completion)), (1, 0.003));
    assert_eq!(count(&taken, "cubic", Event::Closed), 3);
}

#[test]
fn too_many_sockets_cost_the_silent_ones_their_past_and_nothing_is_counted_twice() {
    let mut sockets = with_capacity(4);
    let at = |flow_id, event, bytes, time_ns| Sample { time_ns, opened_ns: 1, ..row(flow_id, event, bytes) };
    for flow_id in 1..=4 {
        sockets.add(&[at(flow_id, EVENT_OPEN, 0, flow_id), at(flow_id, EVENT_SAMPLE, 100, 10 + flow_id)]);
    }
    sockets.add(&[at(5, EVENT_OPEN, 0, 20)]);
    let taken = sockets.take();
    assert_eq!((taken.evicted, taken.live[&ids("cubic")], sockets.live.len()), (1, 4, 4));
    assert!(!sockets.live.contains_key(&(1, NETNS)), "the first one has been silent longest");
    assert_eq!(sent(&taken, "cubic"), 400);

    // It comes back, at the cost of the next one, and its 100 bytes are not new.
    sockets.add(&[at(1, EVENT_SAMPLE, 130, 30), at(1, EVENT_CLOSE, 150, 31)]);
    assert_eq!(sent(&sockets.take(), "cubic"), 20);
    // What opened after that was never forgotten.
    sockets.add(&[Sample { opened_ns: 31, ..at(6, EVENT_CLOSE, 5, 32) }]);
    assert_eq!(sent(&sockets.take(), "cubic"), 5);
}

#[test]
fn more_label_sets_than_can_wait_are_counted_together() {
    let mut sockets = sockets();
    let rows: Vec<Sample> = (0..=MAX_PENDING as u64)
        .map(|cgroup_id| Sample { cgroup_id, opened_ns: 1, ..row(cgroup_id, EVENT_CLOSE, 2) })
        .collect();
    sockets.add(&rows);
    let taken = sockets.take();
    assert_eq!(taken.increases.len(), MAX_PENDING + 1);
    assert_eq!(taken.increases[&Ids::OTHER].counters[0], 2);
}
