//! The BPF side: loads `collect.bpf.c`, attaches it, and hands out its maps.

use crate::error::{Error, Result};
use crate::host::TRACE_MAP;
use aya::maps::{Map, MapData, MapInfo, MapType, PerCpuArray, RingBuf};
use aya::programs::BtfTracePoint;
use aya::{Btf, Ebpf, EbpfLoader};
use ccactl_abi::layout::{DROP_NO_STORAGE, DROP_RING_FULL, RecordConfig, Sample, Trace};
use std::path::Path;

/// Program and tracepoint, in the order of attachment: the first rows of a socket should be its opening.
const PROGRAMS: [(&str, &str); 2] = [("on_state", "inet_sock_set_state"), ("on_segment", "tcp_probe")];

/// Woken at a quarter of the ring at the latest, so that three quarters are left for the time until we run.
const WAKEUP_BYTES: u32 = 64 << 10;

/// Rows that are missing, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drops {
    /// The ring buffer was full: user space did not keep up.
    pub ring_full: u64,
    /// The kernel had no memory for the rate state of a socket.
    pub no_storage: u64,
}

impl Drops {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.ring_full + self.no_storage
    }
}

/// The loaded programs; dropping them detaches them.
pub(crate) struct Probe {
    programs: Ebpf,
    drops: PerCpuArray<MapData, u64>,
}

/// The ring, apart from the programs so that it can be emptied after they are gone.
pub(crate) type Ring = RingBuf<MapData>;

impl Probe {
    /// Loads the programs without attaching them; creates the trace map at `trace_map` or takes the one pinned there.
    pub(crate) fn load(config: &RecordConfig, buffer_bytes: u32, trace_map: &Path) -> Result<(Probe, Ring)> {
        check_trace_map(trace_map)?;
        let wakeup_bytes = WAKEUP_BYTES.min(buffer_bytes / 4);
        let mut programs = EbpfLoader::new()
            .override_global("config", bytemuck::bytes_of(config), true)
            .override_global("wakeup_bytes", &wakeup_bytes, true)
            .map_max_entries("rows", buffer_bytes)
            .map_pin_path(TRACE_MAP, trace_map)
            .load(&aligned(ccactl_abi::objects::COLLECT))
            .map_err(|error| bpf_error("load the BPF object", error))?;
        let btf = Btf::from_sys_fs().map_err(|error| Error::Kernel { what: chain(&error) })?;
        for (name, tracepoint) in PROGRAMS {
            let program = tracing_program(&mut programs, name)?;
            program.load(tracepoint, &btf).map_err(|error| bpf_error("load a BPF program", error))?;
        }
        let ring = take_map(&mut programs, "rows")?;
        let drops = take_map(&mut programs, "drops")?;
        let ring = RingBuf::try_from(ring).map_err(|error| bpf_error("map the ring buffer", error))?;
        let drops = PerCpuArray::try_from(drops).map_err(|error| bpf_error("open the drop counts", error))?;
        Ok((Probe { programs, drops }, ring))
    }

    /// Attaches the programs: rows begin to come.
    pub(crate) fn attach(&mut self) -> Result<()> {
        for (name, _) in PROGRAMS {
            let program = tracing_program(&mut self.programs, name)?;
            program.attach().map_err(|error| bpf_error("attach a BPF program", error))?;
        }
        Ok(())
    }

    /// Detaches the programs; the counts stay readable.
    pub(crate) fn detach(self) -> DropCounts {
        DropCounts { drops: self.drops }
    }

    /// Rows lost so far.
    pub(crate) fn drops(&self) -> Drops {
        read_drops(&self.drops)
    }
}

/// The drop counts of a probe that is gone.
pub(crate) struct DropCounts {
    drops: PerCpuArray<MapData, u64>,
}

impl DropCounts {
    pub(crate) fn read(&self) -> Drops {
        read_drops(&self.drops)
    }
}

fn read_drops(drops: &PerCpuArray<MapData, u64>) -> Drops {
    let sum = |reason| drops.get(&reason, 0).map_or(0, |counts| counts.iter().sum());
    Drops { ring_full: sum(DROP_RING_FULL), no_storage: sum(DROP_NO_STORAGE) }
}

/// The row in a record of the ring.
pub(crate) fn sample(record: &[u8]) -> Option<Sample> {
    bytemuck::try_pod_read_unaligned(record).ok()
}

fn tracing_program<'a>(programs: &'a mut Ebpf, name: &str) -> Result<&'a mut BtfTracePoint> {
    let program = programs.program_mut(name).expect("the embedded object has this program");
    program.try_into().map_err(|error| bpf_error("use a BPF program", error))
}

fn take_map(programs: &mut Ebpf, name: &str) -> Result<Map> {
    Ok(programs.take_map(name).expect("the embedded object has this map"))
}

/// A pinned map of another layout would be taken as it is, and every trace would be nonsense.
fn check_trace_map(pin: &Path) -> Result<()> {
    if !pin.exists() {
        return Ok(());
    }
    let info = MapInfo::from_pin(pin).map_err(|error| bpf_error("open the pinned trace map", error))?;
    let found = (info.map_type().ok(), info.key_size(), info.value_size());
    let expected = (Some(MapType::SkStorage), size_of::<i32>() as u32, size_of::<Trace>() as u32);
    if found == expected {
        return Ok(());
    }
    let describe =
        |(kind, key, value): (Option<MapType>, u32, u32)| format!("{kind:?}, key {key}, value {value} bytes");
    Err(Error::TraceMap { path: pin.to_owned(), found: describe(found), expected: describe(expected) })
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
