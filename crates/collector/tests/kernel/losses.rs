//! Rows that are lost are counted, in the kernel and up to the file.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use ccactl_collector::{Progress, record};
use std::pin::pin;
use tokio::sync::watch;

/// A page holds 15 rows of 248 + 8 bytes; one is kept free by the kernel.
const ROWS_OF_A_PAGE: u64 = 4096 / 256 - 1;

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

    assert_eq!(summary.rows, ROWS_OF_A_PAGE);
    // An ACK may cover several writes, so there are fewer of them; how many is the scheduler's choice.
    assert!((writes / 4..=2 * writes).contains(&summary.drops.ring_full), "{:?}", summary.drops);
    assert_eq!(summary.drops.no_storage, 0);
    let recording = Recording::parquet(&host.file("x.parquet"));
    assert_eq!(recording.metadata["ccactl.drops"], summary.drops.ring_full.to_string());
    assert_eq!(recording.rows() as u64, ROWS_OF_A_PAGE);
}
