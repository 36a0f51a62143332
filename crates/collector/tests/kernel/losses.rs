//! Rows that are lost are counted, in the kernel and up to the file.

use crate::host::host;
use crate::recording::Recording;
use crate::traffic::{Plan, Traffic};
use aya::maps::{Map, MapData, MapInfo, PerCpuArray, loaded_maps};
use aya::programs::loaded_programs;
use ccactl_abi::layout::SAMPLE_BYTES_WITHOUT_TRACE;
use ccactl_abi::layout::{self, EVENT_CLOSE, Sample};
use ccactl_collector::{Drops, Output, Progress, Recorder, record};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use tokio::sync::watch;

/// Samples have 7/8 of the ring, a page here; the openings of both sockets are among them.
const ROWS_OF_SAMPLES: u64 = (PAGE / 8 * 7).div_ceil(RECORD);
/// What only events may fill; a byte of the ring is kept free by the kernel.
const ROWS_OF_EVENTS: u64 = (PAGE - 1) / RECORD - ROWS_OF_SAMPLES;
const PAGE: u64 = 4096;
/// A row without a trace, with the header that the ring puts before it.
const RECORD: u64 = (SAMPLE_BYTES_WITHOUT_TRACE as u64 + 8).next_multiple_of(8);

/// Held by the tests that make such a ring, since one of them finds its maps by the size.
static ONE_PAGE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

#[tokio::test]
async fn drops_are_counted_when_nobody_empties_the_ring() {
    let Some(host) = host("drops") else { return };
    let _alone = ONE_PAGE.lock().await;
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

#[test]
fn a_ring_of_one_page_under_load_loses_nothing_silently() {
    let Some(host) = host("page") else { return };
    let _alone = ONE_PAGE.blocking_lock();
    let traffic = Traffic::start(&host.cgroup, Plan::Connections { count: 300, drop_one_in: 20 });
    let mut options = host.options("x.parquet");
    options.buffer_bytes = 4096;
    let recorder = Recorder::start(options).unwrap();
    let counts = Counts::find();
    traffic.run();
    let summary = recorder.stop().unwrap();
    let recording = Recording::parquet(&host.file("x.parquet"));
    let (rows, drops) = counts.read();
    assert_eq!(recording.rows() as u64, rows.iter().sum::<u64>());
    for (event, &count) in EVENTS.iter().zip(&rows) {
        assert_eq!(recording.rows_of(event).len() as u64, count, "{event}");
    }
    let Drops { ring_full_samples, ring_full_events, no_storage } = summary.drops;
    assert_eq!(drops, [ring_full_samples, ring_full_events, no_storage]);
    assert!(summary.drops.total() > 0, "the load was none");
    let told = recording.u64("dropped_rows");
    assert!(told.iter().all(|&dropped| dropped <= summary.drops.total()));
    assert!(told.iter().any(|&dropped| dropped > 0));
}

#[tokio::test]
async fn rows_that_go_nowhere_are_shown_to_the_tap() {
    let Some(host) = host("nowhere") else { return };
    let traffic = Traffic::start(&host.cgroup, Plan::Ping { writes: 50 });
    let seen: Arc<Mutex<Vec<Sample>>> = Arc::default();
    let mut options = host.options("unused");
    options.output = Output::Nowhere;
    let tapped = Arc::clone(&seen);
    options.tap = Some(Arc::new(move |rows: &[Sample]| tapped.lock().unwrap().extend_from_slice(rows)));
    let recorder = Recorder::start(options).unwrap();
    let facts = traffic.run();
    let summary = recorder.stop().unwrap();
    let seen = seen.lock().unwrap();
    assert_eq!((summary.rows, summary.path, summary.flows), (seen.len() as u64, None, 2));
    assert!(!host.file("unused").exists());
    let is_sender = |row: &&Sample| row.flow_id == facts[0].number("flow_id");
    let close = seen.iter().filter(is_sender).find(|row| row.event == EVENT_CLOSE).unwrap();
    assert_eq!(close.bytes_sent, facts[0].number("bytes_sent"));
    // The kernel's minimum includes the handshake.
    assert_eq!(u64::from(close.rtt_min_us), facts[0].number("min_rtt_us"));
    assert!(close.rtt_samples >= 40 && close.rtt_sum_us / u64::from(close.rtt_samples) >= u64::from(close.rtt_min_us));
}

/// The names of the events in the order of the counts.
const EVENTS: [&str; layout::EVENTS] = ["sample", "open", "close", "retrans", "ca_state", "algorithm", "rto", "ecn"];

/// What the BPF side has counted, whatever becomes of the recorder: its map, held open.
struct Counts(PerCpuArray<MapData, u64>);

impl Counts {
    /// Those of the recorder of this process that has a ring of one page; other tests run beside.
    fn find() -> Counts {
        let is_mine = |map: &MapInfo| map.name_as_str() == Some("ccactl_counts") && rings_of(map.id()) == Some(4096);
        let map = loaded_maps().map(Result::unwrap).find(is_mine).expect("a recorder runs");
        let data = MapData::from_id(map.id()).unwrap();
        Counts(PerCpuArray::try_from(Map::PerCpuArray(data)).unwrap())
    }

    fn read(&self) -> ([u64; layout::EVENTS], [u64; layout::DROP_REASONS]) {
        let sum = |index: usize| self.0.get(&(index as u32), 0).unwrap().iter().sum();
        let rows = std::array::from_fn(|event| sum(layout::COUNT_ROWS + event));
        (rows, std::array::from_fn(|reason| sum(layout::COUNT_DROPS + reason)))
    }
}

/// Size of the ring that belongs to the same programs as these counts.
fn rings_of(counts: u32) -> Option<u32> {
    let maps = loaded_programs().flatten().filter_map(|program| program.map_ids().ok().flatten());
    let beside = maps.into_iter().find(|ids| ids.contains(&counts))?;
    let ring = loaded_maps().flatten().find(|map| beside.contains(&map.id()) && map.name_as_str() == Some("rows"))?;
    Some(ring.max_entries())
}
