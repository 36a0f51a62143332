//! The BPF side: loads `collect.bpf.c`, attaches it, and hands out its maps.

use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::owner::Owner;
use aya::maps::{Map, MapData, MapInfo, MapType, PerCpuArray, RingBuf, SkStorage};
use aya::programs::{BtfTracePoint, FEntry};
use aya::{Btf, Ebpf, EbpfLoader};
use ccactl_abi::layout::{Offer, RecordConfig, Trace};
use ccactl_host::state::{OFFERS_MAP, TRACE_MAP};
use std::path::Path;

/// Program and tracepoint, in the order of attachment: the first rows of a socket should be its opening.
const PROGRAMS: [(&str, &str); 4] = [
    ("on_state", "inet_sock_set_state"),
    ("on_ca_state", "tcp_cong_state_set"),
    ("on_retransmit", "tcp_retransmit_skb"),
    ("on_segment", "tcp_probe"),
];

/// Program and kernel function for the segments of sockets that one side has closed; there is no tracepoint for them.
const LATE_SEGMENTS: (&str, &str) = ("on_late_segment", "tcp_rcv_state_process");

/// The loaded programs; dropping them detaches them.
pub(crate) struct Probe {
    programs: Ebpf,
    counts: Counts,
    sees_half_closed: bool,
}

/// The ring, apart from the programs so that it can be emptied after they are gone.
pub(crate) type Ring = RingBuf<MapData>;

impl Probe {
    /// Loads the programs without attaching them; creates the shared maps in `bpffs` or takes those pinned there.
    ///
    /// `buffer_bytes` is a power of two.
    pub(crate) fn load(config: &RecordConfig, buffer_bytes: u32, bpffs: &Path) -> Result<(Probe, Ring)> {
        let (traces, offers) = (bpffs.join(TRACE_MAP), bpffs.join(OFFERS_MAP));
        check_pinned(&traces, size_of::<Trace>())?;
        check_pinned(&offers, size_of::<Offer>())?;
        // Woken at a quarter of the ring at the latest, so that three quarters are left for the time until we run.
        let wakeup_bytes = buffer_bytes / 4;
        let sample_limit_bytes = buffer_bytes / 8 * 7;
        let mut programs = EbpfLoader::new()
            .override_global("config", bytemuck::bytes_of(config), true)
            .override_global("wakeup_bytes", &wakeup_bytes, true)
            .override_global("sample_limit_bytes", &sample_limit_bytes, true)
            .map_max_entries("rows", buffer_bytes)
            .map_pin_path(TRACE_MAP, &traces)
            .map_pin_path(OFFERS_MAP, &offers)
            .load(&aligned(ccactl_abi::objects::COLLECT))
            .map_err(|error| bpf_error("load the BPF object", error))?;
        let btf = Btf::from_sys_fs().map_err(|error| Error::Kernel { what: chain(&error) })?;
        for (name, tracepoint) in PROGRAMS {
            let program = tracing_program(&mut programs, name)?;
            program.load(tracepoint, &btf).map_err(|error| bpf_error("load a BPF program", error))?;
        }
        let late_segments = late_segments_program(&mut programs)?;
        let sees_half_closed = match late_segments.load(LATE_SEGMENTS.1, &btf) {
            Ok(()) => true,
            Err(error) => {
                log_half_closed(&error);
                false
            }
        };
        let ring = take_map(&mut programs, "rows");
        let counts = take_map(&mut programs, "ccactl_counts");
        let ring = RingBuf::try_from(ring).map_err(|error| bpf_error("map the ring buffer", error))?;
        let counts = PerCpuArray::try_from(counts).map_err(|error| bpf_error("open the counts", error))?;
        Ok((Probe { programs, counts: Counts::new(counts), sees_half_closed }, ring))
    }

    /// Attaches the programs: rows begin to come.
    pub(crate) fn attach(&mut self) -> Result<()> {
        for (name, _) in PROGRAMS {
            let program = tracing_program(&mut self.programs, name)?;
            program.attach().map_err(|error| bpf_error("attach a BPF program", error))?;
        }
        if self.sees_half_closed
            && let Err(error) = late_segments_program(&mut self.programs)?.attach()
        {
            log_half_closed(&error);
            self.sees_half_closed = false;
        }
        Ok(())
    }

    /// Marks the sockets that a process has open as its own. To be called when the programs are attached: those that it
    /// opens meanwhile are found by them.
    pub(crate) fn adopt(&mut self, owner: &Owner) -> Result<()> {
        let map = self.programs.map_mut("owned").expect("the embedded object has this map");
        let mut owned =
            SkStorage::try_from(map).map_err(|error| bpf_error("open the map of a process's sockets", error))?;
        owner.for_each_tcp_socket(|socket| {
            owned.insert(&socket, 1_u32, 0).map_err(|error| bpf_error("mark a socket of the process", error))
        })
    }

    /// Whether ACKs are seen that arrive after one side has closed; if not, only what they add up to is.
    pub(crate) fn sees_half_closed(&self) -> bool {
        self.sees_half_closed
    }

    /// Detaches the programs; the counts stay readable.
    pub(crate) fn detach(self) -> Counts {
        self.counts
    }

    /// What has been counted so far.
    pub(crate) fn counts(&self) -> &Counts {
        &self.counts
    }
}

/// The summary and the file say it too; only the log knows why.
fn log_half_closed(error: &impl std::error::Error) {
    tracing::info!("this kernel lets no program look into {}: {}", LATE_SEGMENTS.1, chain(error));
}

fn late_segments_program(programs: &mut Ebpf) -> Result<&mut FEntry> {
    let program = programs.program_mut(LATE_SEGMENTS.0).expect("the embedded object has this program");
    program.try_into().map_err(|error| bpf_error("use a BPF program", error))
}

fn tracing_program<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut BtfTracePoint> {
    let program = programs.program_mut(name).expect("the embedded object has this program");
    program.try_into().map_err(|error| bpf_error("use a BPF program", error))
}

fn take_map(programs: &mut Ebpf, name: &str) -> Map {
    programs.take_map(name).expect("the embedded object has this map")
}

/// A pinned map of another layout would be taken as it is, and what it says would be nonsense.
fn check_pinned(pin: &Path, value_bytes: usize) -> Result<()> {
    if !pin.exists() {
        return Ok(());
    }
    let info = MapInfo::from_pin(pin).map_err(|error| bpf_error("open a pinned map", error))?;
    let found = (info.map_type().ok(), info.key_size(), info.value_size());
    let expected = (Some(MapType::SkStorage), size_of::<i32>() as u32, value_bytes as u32);
    if found == expected {
        return Ok(());
    }
    let describe =
        |(kind, key, value): (Option<MapType>, u32, u32)| format!("{kind:?}, key {key}, value {value} bytes");
    Err(Error::SharedMap { path: pin.to_owned(), found: describe(found), expected: describe(expected) })
}

/// The ELF reader wants its tables aligned; embedded bytes have any alignment.
fn aligned(object: &[u8]) -> AlignedObject {
    let mut words = vec![0u64; object.len().div_ceil(size_of::<u64>())];
    bytemuck::cast_slice_mut::<u64, u8>(&mut words)[..object.len()].copy_from_slice(object);
    AlignedObject { words, len: object.len() }
}

struct AlignedObject {
    words: Vec<u64>,
    len: usize,
}

impl std::ops::Deref for AlignedObject {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }
}

fn bpf_error(doing: &'static str, error: impl std::error::Error) -> Error {
    Error::Bpf { doing, reason: chain(&error) }
}

/// An error with its causes in one line; of a verifier's log only the last line, the rest goes to the log.
fn chain(error: &dyn std::error::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        if text.contains('\n') {
            tracing::debug!("{text}");
        }
        let line = text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
        // Some library errors repeat their cause in their own text.
        if !parts.iter().any(|part| part.contains(&line)) {
            parts.push(line);
        }
        cause = error.source();
    }
    parts.join(": ")
}
