//! What can go wrong, each with the object, what was expected and what to do.

use ccactl_abi::{AboutError, Algorithm, Kind, Tunable, TunableError, exit};
use ccactl_host::lock;
use std::io;
use std::path::PathBuf;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a kernel name was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameProblem {
    /// Nothing but the empty string.
    Empty,
    /// More than 15 bytes.
    TooLong,
    /// A character outside `a-z0-9_-`.
    Characters,
    /// The name of an algorithm that is part of the kernel.
    Native,
    /// The kernel name of another algorithm of the registry.
    OtherAlgorithm(&'static str),
}

/// Any failure of the loader.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages document the variants")]
pub enum Error {
    #[error("unknown algorithm '{}'{}; `ccactl list` shows all of them", name.escape_debug(), nearest_hint(nearest))]
    UnknownAlgorithm { name: String, nearest: Vec<String> },
    #[error("{}", wrong_kind(algorithm))]
    WrongKind { algorithm: &'static Algorithm },
    #[error("{}: {cause}", path.display())]
    NotAnAlgorithm { path: PathBuf, cause: AboutError },
    #[error("{}: expected the file of an algorithm, found", path.display())]
    NoFile { path: PathBuf, source: io::Error },
    #[error("{} does not compile:\n{said}", path.display())]
    Compile { path: PathBuf, said: String },
    #[error("cannot run clang, which compiles a .bpf.c: install clang 14 or later, set CLANG, or give a .bpf.o")]
    NoClang { source: io::Error },
    #[error("the kernel has no algorithm '{name}' and no module tcp_{name}; it has {available}")]
    UnknownNative { name: String, available: String },
    #[error(
        "native:{name} cannot be given to a cgroup: Linux lets no BPF program choose it (net/core/filter.c); have the application set \
         TCP_CONGESTION, or load '{name}', which is ccactl's own"
    )]
    NativeNotByBpf { name: String },
    #[error("native:{name} is the kernel's own algorithm and takes no {option}")]
    NativeTakesNo { name: String, option: &'static str },
    #[error("{algorithm} has no tunable '{name}'{}", tunable_hint(algorithm, nearest))]
    UnknownTunable { algorithm: &'static str, name: String, nearest: Vec<String> },
    #[error("{} has no preset '{name}'{}", algorithm.name, preset_hint(algorithm))]
    UnknownPreset { algorithm: &'static Algorithm, name: String },
    #[error("{}", bad_tunable(algorithm, tunable, value, reason))]
    BadTunable { algorithm: &'static str, tunable: &'static Tunable, value: String, reason: TunableError },
    #[error("{algorithm}: tunable '{name}' is set twice")]
    RepeatedTunable { algorithm: &'static str, name: String },
    #[error("{}", bad_name(name, problem))]
    BadName { name: String, problem: NameProblem },
    #[error(
        "{kernel_name} is already loaded as {loaded}, not as {asked}; choose another name with --as, put the new ones in \
         their place with `ccactl load --replace`, or unload the cgroups that use it (`ccactl status`)"
    )]
    OtherTunables { kernel_name: String, loaded: String, asked: String },
    #[error(
        "{kernel_name} is already loaded with other code of {algorithm} than this ccactl carries; put the new code in its \
         place with `ccactl load --replace`, or choose another name with --as"
    )]
    OtherCode { kernel_name: String, algorithm: &'static str },
    #[error(
        "the code of {kernel_name} cannot be replaced: expected Linux 6.4 or later, which can update a struct_ops link; \
         unload {kernel_name} first, or load the new code under another name with --as"
    )]
    NoLinkUpdate { kernel_name: String },
    #[error(
        "{algorithm} cannot be registered for this process alone: expected Linux 6.4 or later, which has links of struct_ops; load \
         it into a cgroup with `ccactl load`, and name it by its kernel name"
    )]
    NoStructOpsLink { algorithm: String },
    #[error(
        "the kernel already has a congestion control '{kernel_name}' that is not in {}; choose another name with --as, \
         or unregister that one", bpffs.display()
    )]
    NameTaken { kernel_name: String, bpffs: PathBuf },

    #[error("missing {}: run as root, for example with sudo", capabilities.join(", "))]
    MissingCapabilities { capabilities: Vec<String> },
    #[error("no kernel type information at {}: expected a kernel built with CONFIG_DEBUG_INFO_BTF=y", path.display())]
    NoBtf { path: PathBuf },
    #[error(
        "the kernel cannot take congestion control from BPF: no bpf_struct_ops_tcp_congestion_ops in {}; expected \
         Linux 6.1 or later with CONFIG_BPF_JIT=y", path.display()
    )]
    NoStructOps { path: PathBuf },
    #[error(
        "{algorithm} asks for Accurate ECN and ECT(1), which this kernel gives to no algorithm: expected Linux 7.0 or later{}",
        if *has_classic { "; `--set classic_ecn=1` runs it with ECT(0) and classic ECN" } else { "" }
    )]
    NoAccEcn { algorithm: String, has_classic: bool },
    #[error(
        "the kernel takes no queue discipline from BPF: no bpf_struct_ops_Qdisc_ops in {}; expected Linux 6.16 or later with \
         CONFIG_NET_SCH_BPF=y; use --link emulator, or --lab vm:6.18, whose kernel has it", path.display()
    )]
    NoBpfQdisc { path: PathBuf },
    #[error("no BPF file system for {}: {reason}; mount it with `mount -t bpf bpf /sys/fs/bpf`", path.display())]
    NoBpffs { path: PathBuf, reason: String },

    #[error("no cgroup2 mount in {}; mount one with `mount -t cgroup2 none /sys/fs/cgroup/unified`", mounts.display())]
    NoCgroup2 { mounts: PathBuf },
    #[error("no cgroup {}: create it first{}", path.display(), if *can_create { ", or add --create" } else { "" })]
    CgroupMissing { path: PathBuf, can_create: bool },
    #[error(
        "{} shows only a part of this host's cgroups, as in a container or a cgroup namespace of its own: policies outside of it \
         cannot be judged from here; change policies from the host's (`nsenter --target 1 --mount --cgroup`)", v2.display()
    )]
    CgroupPart { v2: PathBuf },
    #[error(
        "{} is on the cgroup1 hierarchy {}: expected a path on cgroup2, relative to {}",
        path.display(), v1.display(), v2.display()
    )]
    CgroupOnV1 { path: PathBuf, v1: PathBuf, v2: PathBuf },
    #[error("{} is not below the cgroup2 mount {}: give the path relative to it", path.display(), v2.display())]
    CgroupElsewhere { path: PathBuf, v2: PathBuf },
    #[error("the root cgroup covers the whole host: choose a cgroup below {}", v2.display())]
    CgroupIsRoot { v2: PathBuf },
    #[error("no cgroup can have a name of {length} bytes ({}…): expected at most 255", name.chars().take(20).collect::<String>())]
    CgroupName { name: String, length: usize },
    #[error("{} is not a cgroup: expected a directory with cgroup.procs", path.display())]
    NotACgroup { path: PathBuf },
    #[error("no policy with cgroup id {id}; `ccactl status` shows all of them")]
    NoSuchPolicy { id: u64 },
    #[error("{} has no receiving algorithm: `ccactl load --receive NAME --cgroup PATH` gives it one", path.display())]
    NoReceiver { path: PathBuf },
    #[error("{} has no policy yet: give it one with `ccactl load ALGO --cgroup …`; `ccactl status` shows all", path.display())]
    NoPolicy { path: PathBuf },
    #[error("{} has no former policy to go back to: nothing was changed", path.display())]
    NoHistory { path: PathBuf },
    #[error(
        "{} has a canary of {canary} that is being watched: wait for its decision, or end it with `ccactl rollback`",
        path.display()
    )]
    CanaryRunning { path: PathBuf, canary: String },
    #[error(
        "a canary needs another kernel name than {kernel_name}, which the cgroup has already: give the new version one \
         with --as"
    )]
    CanaryIsBaseline { kernel_name: String },
    #[error("a canary of {share} % of the sockets: expected more than 0 % and less than 100 %")]
    CanaryShare { share: f64 },
    #[error("the canary of {canary} on {} was ended by somebody else: nothing was changed", path.display())]
    CanaryGone { path: PathBuf, canary: String },

    #[error("{object} does not load on this kernel: {detail}{}", last_lines(log))]
    Load { object: String, detail: String, log: Vec<String> },
    #[error("{object}: the name '{name}' in its tcp_congestion_ops has {length} bytes; expected 1 to 15")]
    ObjectName { object: String, name: String, length: usize },
    #[error(
        "{object}: its tcp_congestion_ops has no {missing}; expected ssthresh, undo_cwnd and one of cong_avoid and \
         cong_control, found {found}"
    )]
    Incomplete { object: String, missing: String, found: String },
    #[error("{object}: the kernel took its programs but refuses to register it: {source}")]
    Refused { object: String, source: libbpf_rs::Error },
    #[error("{what}")]
    Bpf { what: String, source: libbpf_rs::Error },
    #[error("{what}")]
    Io { what: String, source: io::Error },
    #[error(transparent)]
    Lock(#[from] lock::Error),
}

impl Error {
    /// Exit code of the binary for this error (`ccactl_abi::exit`).
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::UnknownAlgorithm { .. }
            | Self::NoFile { .. }
            | Self::WrongKind { .. }
            | Self::NotAnAlgorithm { .. }
            | Self::Compile { .. }
            | Self::UnknownNative { .. }
            | Self::NativeNotByBpf { .. }
            | Self::NativeTakesNo { .. }
            | Self::UnknownTunable { .. }
            | Self::UnknownPreset { .. }
            | Self::BadTunable { .. }
            | Self::RepeatedTunable { .. }
            | Self::BadName { .. }
            | Self::OtherTunables { .. }
            | Self::NameTaken { .. }
            | Self::CgroupMissing { .. }
            | Self::CgroupOnV1 { .. }
            | Self::CgroupElsewhere { .. }
            | Self::CgroupIsRoot { .. }
            | Self::CgroupName { .. }
            | Self::NotACgroup { .. }
            | Self::NoSuchPolicy { .. }
            | Self::NoReceiver { .. }
            | Self::NoPolicy { .. }
            | Self::NoHistory { .. }
            | Self::CanaryRunning { .. }
            | Self::CanaryIsBaseline { .. }
            | Self::CanaryShare { .. }
            | Self::OtherCode { .. } => exit::USAGE,
            Self::NoBtf { .. }
            | Self::NoStructOps { .. }
            | Self::NoBpfQdisc { .. }
            | Self::NoAccEcn { .. }
            | Self::NoBpffs { .. }
            | Self::NoCgroup2 { .. }
            | Self::ObjectName { .. }
            | Self::Incomplete { .. }
            | Self::Refused { .. }
            | Self::NoLinkUpdate { .. }
            | Self::NoStructOpsLink { .. }
            | Self::Load { .. } => exit::KERNEL,
            Self::MissingCapabilities { .. } | Self::CgroupPart { .. } => exit::PERMISSION,
            Self::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => exit::PERMISSION,
            Self::Bpf { source, .. } if source.kind() == libbpf_rs::ErrorKind::PermissionDenied => exit::PERMISSION,
            Self::Lock(lock::Error::Interrupted { .. }) => exit::INTERRUPTED,
            Self::Lock(lock::Error::Foreign { .. }) => exit::PERMISSION,
            Self::Lock(lock::Error::Io { source, .. }) if source.kind() == io::ErrorKind::PermissionDenied => {
                exit::PERMISSION
            }
            Self::Bpf { .. } | Self::Io { .. } | Self::NoClang { .. } | Self::Lock(_) | Self::CanaryGone { .. } => {
                exit::FAILURE
            }
        }
    }

    /// The same, without the verifier's log.
    pub(crate) fn without_log(self) -> Self {
        match self {
            Self::Load { object, detail, .. } => Self::Load { object, detail, log: Vec::new() },
            other => other,
        }
    }

    /// The same, where the command can make a missing cgroup itself.
    pub(crate) fn can_create(self) -> Self {
        match self {
            Self::CgroupMissing { path, .. } => Self::CgroupMissing { path, can_create: true },
            other => other,
        }
    }

    /// For `map_err`: an I/O error with what was being done.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// For `map_err`: a libbpf error with what was being done.
    pub(crate) fn bpf(what: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Self {
        let what = what.into();
        move |source| Self::Bpf { what, source }
    }
}

fn last_lines(log: &[String]) -> String {
    if log.is_empty() {
        return String::new();
    }
    format!("\nthe last lines of the verifier's log:\n    {}", log.join("\n    "))
}

fn wrong_kind(algorithm: &Algorithm) -> String {
    let name = algorithm.name;
    match algorithm.kind {
        Kind::Send => format!("{name} decides what a socket sends, not what it offers: give it without --receive"),
        Kind::Receive => {
            format!("{name} decides what a socket offers, not what it sends: give it with --receive {name}")
        }
    }
}

fn nearest_hint(nearest: &[String]) -> String {
    if nearest.is_empty() { String::new() } else { format!("; nearest: {}", nearest.join(", ")) }
}

fn tunable_hint(algorithm: &str, nearest: &[String]) -> String {
    if nearest.is_empty() {
        format!("; `ccactl show {algorithm}` lists what it has")
    } else {
        format!("{}; `ccactl show {algorithm}` lists all of them", nearest_hint(nearest))
    }
}

fn preset_hint(algorithm: &Algorithm) -> String {
    let names: Vec<&str> = algorithm.presets.iter().map(|preset| preset.name).collect();
    if names.is_empty() { ", nor any other".to_owned() } else { format!("; it has {}", names.join(", ")) }
}

fn bad_tunable(algorithm: &str, tunable: &Tunable, value: &str, reason: &TunableError) -> String {
    let found = match reason {
        TunableError::NotANumber => "which is not a decimal number".to_owned(),
        TunableError::TooFine { decimals: 0 } => "but it takes whole numbers only".to_owned(),
        TunableError::TooFine { decimals } => format!("but it keeps only {decimals} decimals"),
        TunableError::OutOfRange => "which is out of range".to_owned(),
    };
    let unit = if tunable.unit.is_empty() { String::new() } else { format!(" {}", tunable.unit) };
    format!(
        "{algorithm}: {name}={value} {found}; expected {min} to {max}{unit}, default {default}",
        name = tunable.name,
        min = tunable.display(tunable.min_raw),
        max = tunable.display(tunable.max_raw),
        default = tunable.display(tunable.default_raw),
    )
}

fn bad_name(name: &str, problem: &NameProblem) -> String {
    let rule = "expected 1 to 15 of the characters a-z 0-9 _ -";
    match problem {
        NameProblem::Empty => format!("the name of --as is empty: {rule}"),
        NameProblem::TooLong => format!("the name '{name}' has {} bytes: {rule}", name.len()),
        NameProblem::Characters => format!("the name '{name}' has a character that is not allowed: {rule}"),
        NameProblem::Native => {
            format!("'{name}' is the name of an algorithm of the kernel itself: choose another one with --as")
        }
        NameProblem::OtherAlgorithm(other) => {
            format!("'{name}' is the kernel name of {other}: choose another one with --as")
        }
    }
}
