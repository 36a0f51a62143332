//! What to record, how often, and where to.

use crate::rotate::Rotation;
use ccactl_abi::layout::{self, RecordConfig, Sample, name_bytes};
use ccactl_host::state;
use ccactl_host::units::{UnitError, parse_duration};
use ccactl_recording::Metadata;
use ccactl_recording::write::{EventSet, KnownAlgorithm, Resolver};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How often a socket is sampled; decided in BPF at the arrival of an ACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Every {
    /// At every ACK.
    #[default]
    Ack,
    /// At the first ACK that is one smoothed RTT after the last sample.
    Rtt,
    /// At the first ACK that is this long after the last sample.
    Interval(Duration),
}

impl FromStr for Every {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text {
            "ack" => Ok(Every::Ack),
            "rtt" => Ok(Every::Rtt),
            _ => parse_duration(text).map(Every::Interval),
        }
    }
}

impl fmt::Display for Every {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Every::Ack => f.write_str("ack"),
            Every::Rtt => f.write_str("rtt"),
            Every::Interval(interval) if interval.subsec_nanos().is_multiple_of(1_000_000) => {
                write!(f, "{}ms", interval.as_millis())
            }
            Every::Interval(interval) => write!(f, "{}us", interval.as_nanos() as f64 / 1e3),
        }
    }
}

/// A cgroup as the kernel sees it; its descendants are recorded too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CgroupFilter {
    /// Path below the cgroup2 mount, for the metadata.
    pub path: String,
    /// cgroup id: inode number of its folder.
    pub id: u64,
    /// Depth below the cgroup2 root, which has level 0.
    pub level: u32,
}

/// Where the rows go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Parquet, or an Arrow IPC stream when the name ends in `.arrows`.
    File(PathBuf),
    /// A folder of Parquet files, each of which is complete when the next one begins.
    Parts {
        /// New or empty.
        folder: PathBuf,
        /// When the next one begins.
        rotation: Rotation,
    },
    /// Arrow IPC stream on standard output.
    Stdout,
    /// Nowhere: they are shown to [`RecordOptions::tap`] alone.
    Nowhere,
}

/// Is shown every row on its way to the file, in the order in which the ring gave them: by socket in order of time,
/// across sockets nearly so. It runs on the recorder's thread, 50 ms after the kernel at the latest, so it must be quick:
/// while it works nobody empties the ring.
pub type Tap = Arc<dyn Fn(&[Sample]) + Send + Sync>;

/// Everything that a recording is asked to do.
#[derive(Clone)]
pub struct RecordOptions {
    /// Only sockets of this cgroup and its descendants.
    pub cgroup: Option<CgroupFilter>,
    /// Only sockets of the network namespace with this inode number.
    pub netns: Option<u32>,
    /// Only sockets with this local or remote port.
    pub port: Option<u16>,
    /// Only sockets that this process has open, opens or accepts.
    pub pid: Option<u32>,
    /// Only sockets with this algorithm, by kernel name, while they have it.
    pub algorithm: Option<String>,
    /// Which events are recorded beside the samples, whatever `every` is.
    pub events: EventSet,
    /// How often a socket is sampled.
    pub every: Every,
    /// Ends by itself after this time.
    pub duration: Option<Duration>,
    /// Where the rows go.
    pub output: Output,
    /// Replace an existing file, and what a killed recording has left behind, at the end.
    pub force: bool,
    /// Size of the ring buffer; rounded up to a power of two of whole pages.
    pub buffer_bytes: u32,
    /// What the caller knows of the recording beside the recorder.
    pub metadata: Metadata,
    /// Set, in `CLOCK_MONOTONIC` ns, when a guarded roll-out is decided; the file says so.
    pub decided_ns: Arc<OnceLock<u64>>,
    /// Algorithms loaded now, with their tunables.
    pub loaded: Vec<KnownAlgorithm>,
    /// Asked once per kernel name that is not in `loaded`.
    pub resolve: Resolver,
    /// For somebody who acts on the rows while they are recorded.
    pub tap: Option<Tap>,
    /// Where ccactl keeps its pins and locks.
    pub bpffs: PathBuf,
}

impl RecordOptions {
    /// Ring buffer of [`RecordOptions::new`]: at 256 bytes a row, 65 000 rows, or 51 000 with a trace.
    pub const DEFAULT_BUFFER_BYTES: u32 = 16 << 20;
    /// Smallest ring buffer that holds a row: one page.
    pub const MIN_BUFFER_BYTES: u32 = 4096;
    /// Largest ring buffer that the kernel's record offsets allow with room to spare.
    pub const MAX_BUFFER_BYTES: u32 = 1 << 30;

    /// Every ACK of every socket of the host, until stopped.
    #[must_use]
    pub fn new(output: Output) -> RecordOptions {
        RecordOptions {
            cgroup: None,
            netns: None,
            port: None,
            pid: None,
            algorithm: None,
            events: EventSet::ALL,
            every: Every::default(),
            duration: None,
            output,
            force: false,
            buffer_bytes: Self::DEFAULT_BUFFER_BYTES,
            metadata: Metadata::default(),
            decided_ns: Arc::default(),
            loaded: Vec::new(),
            resolve: Arc::new(KnownAlgorithm::from_registry),
            tap: None,
            bpffs: state::folder_from_env(),
        }
    }

    /// The size that the ring really gets: a power of two, as the kernel wants it.
    pub(crate) fn ring_bytes(&self) -> u32 {
        self.buffer_bytes.next_power_of_two()
    }

    /// What the BPF side is told. The root cgroup is everything, hence no filter.
    pub(crate) fn config(&self) -> RecordConfig {
        let cgroup = self.cgroup.as_ref().filter(|cgroup| cgroup.level > 0);
        let (every, interval_ns) = match self.every {
            Every::Ack => (layout::EVERY_ACK, 0),
            Every::Rtt => (layout::EVERY_RTT, 0),
            Every::Interval(interval) => (layout::EVERY_INTERVAL, interval.as_nanos() as u64),
        };
        RecordConfig {
            cgroup_id: cgroup.map_or(0, |cgroup| cgroup.id),
            cgroup_level: cgroup.map_or(0, |cgroup| cgroup.level),
            netns: self.netns.unwrap_or(0),
            port: self.port.map_or(0, u32::from),
            every,
            interval_ns,
            pid: self.pid.unwrap_or(0),
            events: self.events.bits(),
            // The recorder has checked its length.
            algorithm: self.algorithm.as_deref().and_then(name_bytes).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_is_ack_rtt_or_a_duration() {
        assert_eq!("ack".parse(), Ok(Every::Ack));
        assert_eq!("rtt".parse(), Ok(Every::Rtt));
        assert_eq!("10ms".parse(), Ok(Every::Interval(Duration::from_millis(10))));
        assert!("10".parse::<Every>().is_err());
        assert!("acks".parse::<Every>().is_err());
        for text in ["ack", "rtt", "10ms", "2000ms", "250us"] {
            assert_eq!(text.parse::<Every>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn the_root_cgroup_is_no_filter() {
        let mut options = RecordOptions::new(Output::Stdout);
        options.cgroup = Some(CgroupFilter { path: "/".to_owned(), id: 1, level: 0 });
        let everything = RecordConfig { events: EventSet::ALL.bits(), ..RecordConfig::default() };
        assert_eq!(options.config(), everything);
        options.cgroup = Some(CgroupFilter { path: "/a/b".to_owned(), id: 77, level: 2 });
        options.every = Every::Interval(Duration::from_millis(10));
        options.port = Some(443);
        options.pid = Some(4711);
        options.algorithm = Some("f_bbrv2".to_owned());
        options.events = "open,close".parse().unwrap();
        let expected = RecordConfig {
            cgroup_id: 77,
            cgroup_level: 2,
            interval_ns: 10_000_000,
            every: layout::EVERY_INTERVAL,
            port: 443,
            pid: 4711,
            events: 1 << layout::EVENT_OPEN | 1 << layout::EVENT_CLOSE,
            algorithm: name_bytes("f_bbrv2").unwrap(),
            netns: 0,
        };
        assert_eq!(options.config(), expected);
    }
}
