//! What the host must offer before anything is tried, and the one fact about the kernel that programs need.

use crate::error::{Error, Result};
use crate::libbpf_log;
use crate::paths::Paths;
use ccactl_host::capabilities::{self, Capability};
use libbpf_rs::btf::types::{FuncProto, Struct};
use libbpf_rs::{Btf, ReferencesType};

/// Capabilities that the loader uses.
const CAPABILITIES: [Capability; 3] = [
    Capability::CAP_NET_ADMIN, // attach to cgroups, register congestion control
    Capability::CAP_SYS_ADMIN, // mount bpffs, look BPF objects up by id
    Capability::CAP_BPF,       // load programs and maps
];

/// Facts about the running kernel, from its type information rather than from its version: distributions backport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kernel {
    /// How many arguments `cong_control` has: 4 from Linux 6.10 on, 2 before.
    pub(crate) cong_control_args: u32,
    /// Whether struct_ops tables are registered by links: from Linux 6.4 on.
    pub(crate) struct_ops_links: bool,
    /// Whether an algorithm may ask for Accurate ECN and ECT(1): from Linux 7.0 on. The flags themselves leave no trace in
    /// the type information; the member that tells of a socket's ECN came with them.
    pub(crate) accecn: bool,
}

/// Checks rights and kernel.
pub(crate) fn check(paths: &Paths) -> Result<Kernel> {
    check_capabilities(paths)?;
    kernel(paths)
}

fn check_capabilities(paths: &Paths) -> Result<()> {
    let path = &paths.proc_status;
    let capabilities =
        capabilities::missing(path, &CAPABILITIES).map_err(Error::io(format!("cannot read {}", path.display())))?;
    if capabilities.is_empty() { Ok(()) } else { Err(Error::MissingCapabilities { capabilities }) }
}

/// Checks rights, and that the kernel takes queue disciplines from BPF.
pub(crate) fn check_qdisc(paths: &Paths) -> Result<()> {
    check_capabilities(paths)?;
    let found = btf(paths)?.type_by_name::<Struct<'_>>("bpf_struct_ops_Qdisc_ops").is_some();
    if found { Ok(()) } else { Err(Error::NoBpfQdisc { path: paths.btf.clone() }) }
}

fn btf(paths: &Paths) -> Result<Btf<'static>> {
    let path = &paths.btf;
    libbpf_log::install();
    if !path.exists() {
        return Err(Error::NoBtf { path: path.clone() });
    }
    Btf::from_path(path).map_err(|_| Error::NoBtf { path: path.clone() })
}

fn kernel(paths: &Paths) -> Result<Kernel> {
    let path = &paths.btf;
    let btf = btf(paths)?;
    if btf.type_by_name::<Struct<'_>>("bpf_struct_ops_tcp_congestion_ops").is_none() {
        return Err(Error::NoStructOps { path: path.clone() });
    }
    let cong_control_args = cong_control_args(&btf).ok_or_else(|| Error::NoStructOps { path: path.clone() })?;
    let struct_ops_links = btf.type_by_name::<Struct<'_>>("bpf_struct_ops_link").is_some();
    let accecn = has_member(&btf, "tcp_info", "tcpi_ecn_mode");
    Ok(Kernel { cong_control_args, struct_ops_links, accecn })
}

fn has_member(btf: &Btf<'_>, structure: &str, member: &str) -> bool {
    let found = btf.type_by_name::<Struct<'_>>(structure);
    found.is_some_and(|found| found.iter().any(|field| field.name.is_some_and(|name| name == member)))
}

fn cong_control_args(btf: &Btf<'_>) -> Option<u32> {
    let ops: Struct<'_> = btf.type_by_name("tcp_congestion_ops")?;
    let member = ops.iter().find(|member| member.name.is_some_and(|name| name == "cong_control"))?;
    let pointer: libbpf_rs::btf::types::Ptr<'_> = btf.type_by_id(member.ty)?;
    let prototype = FuncProto::try_from(pointer.referenced_type()).ok()?;
    u32::try_from(prototype.len()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn paths(dir: &tempfile::TempDir, cap_eff: &str) -> Paths {
        let proc_status = dir.path().join("status");
        fs::write(&proc_status, format!("Name:\tx\nCapPrm:\t0\nCapEff:\t{cap_eff}\n")).unwrap();
        Paths { proc_status, btf: dir.path().join("btf"), ..Paths::default() }
    }

    #[test]
    fn each_missing_capability_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = |cap_eff: &str| match check(&paths(&dir, cap_eff)) {
            Err(Error::MissingCapabilities { capabilities }) => capabilities,
            other => panic!("{cap_eff}: {other:?}"),
        };
        assert_eq!(missing("0000000000000000"), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_BPF"]);
        assert_eq!(missing("000001ffffffefff"), ["CAP_NET_ADMIN"]);
        assert_eq!(missing("000001ffffdfffff"), ["CAP_SYS_ADMIN"]);
        assert_eq!(missing("0000017fffffffff"), ["CAP_BPF"]);
        assert_eq!(missing("garbage"), ["CAP_NET_ADMIN", "CAP_SYS_ADMIN", "CAP_BPF"]);
    }

    #[test]
    fn a_kernel_without_type_information_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(&dir, "000001ffffffffff");
        assert!(matches!(check(&paths), Err(Error::NoBtf { .. })));
        fs::write(&paths.btf, b"not BTF at all").unwrap();
        assert!(matches!(check(&paths), Err(Error::NoBtf { .. })));
    }

    #[test]
    fn a_kernel_without_struct_ops_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let paths = paths(&dir, "000001ffffffffff");
        fs::write(&paths.btf, empty_btf()).unwrap();
        assert!(matches!(check(&paths), Err(Error::NoStructOps { .. })));
    }

    /// A valid BTF file with no type: header (magic, version, flags, length, four offsets and sizes) and one NUL string.
    fn empty_btf() -> Vec<u8> {
        let mut btf = Vec::new();
        btf.extend(0xeb9f_u16.to_ne_bytes());
        btf.extend([1, 0]);
        for word in [24_u32, 0, 0, 0, 1] {
            btf.extend(word.to_ne_bytes());
        }
        btf.push(0);
        btf
    }
}
