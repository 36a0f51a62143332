//! Rows that are lost are counted, in the kernel and up to the file.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{Progress, record};
use std::pin::pin;
use tokio::sync::watch;

/// Samples have 7/8 of the ring, a page here, and take 248 + 8 bytes each; so do the openings of both sockets before.
const ROWS_OF_SAMPLES: u64 = 4096 / 8 * 7 / 256;
/// What only events may fill; a byte of the ring is kept free by the kernel.
const ROWS_OF_EVENTS: u64 = 4096 / 8 / 256 - 1;

#[tokio::test]
async fn drops_are_counted_when_nobody_empties_the_ring() {
    let Some(host) = host("drops") else { return };
    let writes = 200;
    let traffic = Traffic::start(&host.cgroup, Plan::Drip { writes, gap_us: 200 });
    let mut options = host.options("x.parquet");
    options.buffer_bytes = 4096;
    let (stop, stop_receiver) = watch::channel(false);
    let (progress, _receiver) = watch::channel(Progress::default());
    let mut recording = pin!(record(options, stop_receiver, progress));
    // One poll attaches; then nobody empties the ring, since this thread is busy with the traffic.
    tokio::select! {
        biased;
        summary = &mut recording => panic!("{summary:?}"),
        () = std::future::ready(()) => {}
    }
    traffic.run();
    stop.send_replace(true);
    let summary = recording.await.unwrap();

    // The closings of both sockets find room for one.
    assert_eq!(summary.rows, ROWS_OF_SAMPLES + ROWS_OF_EVENTS);
    // An ACK may cover several writes, so there are fewer of them; how many is the scheduler's choice.
    assert!((writes / 4..=2 * writes).contains(&summary.drops.ring_full_samples), "{:?}", summary.drops);
    assert!(summary.drops.ring_full_events >= 1, "{:?}", summary.drops);
    assert_eq!(summary.drops.no_storage, 0);
    let recording = Recording::parquet(&host.file("x.parquet"));
    assert_eq!(recording.metadata["ccactl.drops"], summary.drops.total().to_string());
    assert_eq!(recording.rows() as u64, summary.rows);
}
