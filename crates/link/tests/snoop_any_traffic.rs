//! What a Snoop agent does to packets on a hop that loses nothing, whatever comes in whatever order.

mod snoop_common;

use ccactl_link::Nanos;
use ccactl_link::snoop::{Action, Segment, Snoop};
use proptest::prelude::*;
use snoop_common::{MS, ONE};

/// Segments of any size, each sent once; the network ahead of the agent delays some, so that they come out of order.
fn disordered() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((1..1400u32, 0..6usize), 1..80).prop_map(|segments| {
        let mut seq = u32::MAX - 20_000;
        let mut sent: Vec<(usize, (u32, u32))> = Vec::new();
        for (n, (bytes, late)) in segments.into_iter().enumerate() {
            sent.push((n + late / 4 * late, (seq, bytes)));
            seq = seq.wrapping_add(bytes);
        }
        sent.sort_by_key(|(place, _)| *place);
        sent.into_iter().map(|(_, segment)| segment).collect()
    })
}

proptest! {
    /// On a hop that loses nothing every packet goes on, once, in its order and as it came; and the cache is empty at the end.
    #[test]
    fn no_packet_is_changed_invented_or_lost(
        segments in disordered(), cache_bytes in 0..40_000u64, round_trip in 1..10usize, ack_every in 1..3usize,
    ) {
        let mut snoop: Snoop<usize> = Snoop::new(cache_bytes);
        let (mut forwarded, mut acks_forwarded, mut kept) = (Vec::new(), 0, 0_i64);
        let start = u32::MAX - 20_000;
        let mut received: Vec<(u32, u32)> = Vec::new();
        for step in 0..segments.len() + round_trip {
            let now = step as Nanos * MS;
            if let Some((seq, payload_bytes)) = segments.get(step).copied() {
                let segment = Segment { seq, payload_bytes, window: 1, ..Segment::default() };
                snoop.data(now, ONE, &segment, step, payload_bytes + 40);
            }
            if let Some(arrived) = step.checked_sub(round_trip).and_then(|step| segments.get(step)) {
                received.push(*arrived);
                let mut next = start;
                while let Some((_, bytes)) = received.iter().find(|(seq, _)| *seq == next) {
                    next = next.wrapping_add(*bytes);
                }
                if step % ack_every == 0 || step + 1 == segments.len() + round_trip {
                    let ack = Segment { ack: Some(next), window: 1, ..Segment::default() };
                    snoop.ack(now, ONE, &ack, 1000 + step);
                }
            }
            while let Some(action) = snoop.pop() {
                match action {
                    Action::Forward(packet) if packet < 1000 => forwarded.push(packet),
                    Action::Forward(_) => acks_forwarded += 1,
                    Action::Keep(_) => kept += 1,
                    Action::Release(_) => kept -= 1,
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert!(snoop.cached_bytes() <= cache_bytes);
        }
        prop_assert_eq!(forwarded, (0..segments.len()).collect::<Vec<_>>());
        prop_assert!(acks_forwarded > 0);
        prop_assert_eq!((kept, snoop.cached_bytes()), (1, 0), "the last ACK alone is kept");
    }
}
