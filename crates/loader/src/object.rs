//! One generic way to open every algorithm's object: no code per algorithm.

use crate::error::{Error, Result};
use crate::libbpf_log::{self, Rejection};
use crate::preflight::Kernel;
use crate::registration;
use crate::request::Loadable;
use ccactl_abi::layout::NAME_LEN;
use ccactl_abi::{CLASSIC_ECN, EcnNeed};
use ccactl_host::state::TRACE_MAP;
use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::{AsRawLibbpf, Btf, MapHandle, MapType, Object, ObjectBuilder, OpenObject, ProgramType};
use std::os::fd::AsFd;
use std::path::Path;
use std::ptr;

/// Opens and loads an algorithm. Nothing is registered yet. `trace_pin`: where the trace map is pinned and shared; `None`
/// gives this object a map of its own that dies with it.
pub(crate) fn load(wanted: &Loadable, trace_pin: Option<&Path>, kernel: Kernel) -> Result<Object> {
    let name = wanted.algorithm.name;
    let mut object = open(name, wanted.algorithm.object())?;
    set_rodata(&mut object, name, "cc_cong_control_args", i64::from(kernel.cong_control_args))?;
    for (tunable, raw) in &wanted.tunables {
        set_rodata(&mut object, name, tunable.name, *raw)?;
    }
    set_name(&mut object, name, &wanted.kernel_name)?;
    settle_ecn(&mut object, wanted, kernel)?;
    pin_trace_map(&mut object, trace_pin)?;
    registration::prepare(&mut object, kernel)?;
    // Of ours a line tells enough; the author of a file wants to see more.
    finish(object, name).map_err(|error| if wanted.algorithm.is_built_in() { error.without_log() } else { error })
}

/// Opens and loads an object that is not of the registry under another kernel name; also returns its own.
pub(crate) fn load_foreign(object_name: &str, elf: &[u8], scratch: &str, kernel: Kernel) -> Result<(Object, String)> {
    let mut object = open(object_name, elf)?;
    let bytes = ops_member(&mut object, object_name, "name", NAME_LEN)?;
    let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(NAME_LEN);
    let name = String::from_utf8_lossy(&bytes[..length]).into_owned();
    if length == 0 || length == NAME_LEN {
        return Err(Error::ObjectName { object: object_name.to_owned(), name, length });
    }
    // Only cc.bpf.h has this variable.
    if rodata_variable(&object, "cc_cong_control_args").is_some() {
        set_rodata(&mut object, object_name, "cc_cong_control_args", i64::from(kernel.cong_control_args))?;
    }
    set_name(&mut object, object_name, scratch)?;
    check_flags(&mut object, object_name, false, kernel)?;
    pin_trace_map(&mut object, None)?;
    registration::prepare(&mut object, kernel)?;
    Ok((finish(object, object_name)?, name))
}

/// Members of the kernel's `tcp_congestion_ops` that a loaded object fills: libbpf has noted the member's index with each
/// program.
pub(crate) fn filled_members(object: &Object, kernel_btf: &Path) -> Vec<String> {
    let Ok(btf) = Btf::from_path(kernel_btf) else { return Vec::new() };
    let Some(ops) = btf.type_by_name::<Struct<'_>>("tcp_congestion_ops") else { return Vec::new() };
    let member = |program: libbpf_rs::Program<'_>| {
        // SAFETY: the program belongs to the object, which outlives the call.
        let index = unsafe { libbpf_sys::bpf_program__expected_attach_type(program.as_libbpf_object().as_ptr()) };
        Some(ops.get(index as usize)?.name?.to_string_lossy().into_owned())
    };
    object.progs().filter(|program| program.prog_type() == ProgramType::StructOps).filter_map(member).collect()
}

/// Opens an embedded object.
pub(crate) fn open(name: &str, elf: &[u8]) -> Result<OpenObject> {
    libbpf_log::install();
    libbpf_log::forget();
    let mut builder = ObjectBuilder::default();
    builder.name(name).and_then(|builder| builder.open_memory(elf)).map_err(|error| rejected(name, &error))
}

/// Loads an opened object into the kernel.
pub(crate) fn finish(object: OpenObject, name: &str) -> Result<Object> {
    libbpf_log::forget();
    object.load().map_err(|error| rejected(name, &error))
}

fn rejected(name: &str, error: &libbpf_rs::Error) -> Error {
    let Rejection { reason, log } = libbpf_log::rejection(error);
    Error::Load { object: name.to_owned(), detail: reason, log }
}

/// Stores a value in a `const volatile` of the object, found by BTF name, in the width that it has there.
pub(crate) fn set_rodata(object: &mut OpenObject, object_name: &str, variable: &str, value: i64) -> Result<()> {
    let bad = |detail: String| Error::Load { object: object_name.to_owned(), detail, log: Vec::new() };
    let (offset, size) =
        rodata_variable(object, variable).ok_or_else(|| bad(format!("it has no const volatile '{variable}'")))?;
    // The two's complement of every narrower integer is the low bytes of the wide one.
    let bytes = value.to_le_bytes();
    let bytes = if cfg!(target_endian = "little") { bytes } else { value.to_be_bytes() };
    let bytes = if cfg!(target_endian = "little") { &bytes[..size] } else { &bytes[8 - size..] };
    let fits = size == 8 || {
        let bits = size * 8;
        (-(1_i64 << (bits - 1))..(1_i64 << bits)).contains(&value)
    };
    if !fits {
        return Err(bad(format!("{value} does not fit into the {size} bytes of '{variable}'")));
    }
    let mut rodata = object
        .maps_mut()
        .find(|map| map.name().to_string_lossy().ends_with(".rodata"))
        .ok_or_else(|| bad("it has no .rodata".to_owned()))?;
    let target = rodata.initial_value_mut().and_then(|data| data.get_mut(offset..offset + size));
    target.ok_or_else(|| bad(format!("'{variable}' lies outside .rodata")))?.copy_from_slice(bytes);
    Ok(())
}

/// Offset and size of a variable; only integer widths count.
fn rodata_variable(object: &OpenObject, variable: &str) -> Option<(usize, usize)> {
    let btf = btf(object)?;
    let section: DataSec<'_> = btf.type_by_name(".rodata")?;
    section
        .iter()
        .find(|info| {
            btf.type_by_id::<Var<'_>>(info.ty).is_some_and(|var| var.name().is_some_and(|name| name == variable))
        })
        .map(|info| (info.offset as usize, info.size))
        .filter(|(_, size)| matches!(size, 1 | 2 | 4 | 8))
}

fn btf(object: &OpenObject) -> Option<Btf<'_>> {
    // SAFETY: the pointer of an open object is valid for as long as the object is, which the lifetime of the result
    // ties to the borrow.
    let raw = unsafe { object.as_libbpf_object().as_ref() };
    Btf::from_bpf_object(raw).ok().flatten()
}

/// A kind of struct_ops table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    /// The kernel's type.
    ops: &'static str,
    /// Its member with the name.
    name: &'static str,
}

const CONGESTION_CONTROL: Table = Table { ops: "tcp_congestion_ops", name: "name" };
pub(crate) const QDISC: Table = Table { ops: "Qdisc_ops", name: "id" };

/// Bytes of a plain member of the object's `struct tcp_congestion_ops` variable.
fn ops_member<'a>(object: &'a mut OpenObject, object_name: &str, member: &str, size: usize) -> Result<&'a mut [u8]> {
    table_member(object, object_name, CONGESTION_CONTROL, member, size)
}

fn table_member<'a>(
    object: &'a mut OpenObject,
    object_name: &str,
    table: Table,
    member: &str,
    size: usize,
) -> Result<&'a mut [u8]> {
    let bad = |detail: &str| Error::Load { object: object_name.to_owned(), detail: detail.to_owned(), log: Vec::new() };
    let offset = btf(object)
        .and_then(|btf| {
            let ops: Struct<'_> = btf.type_by_name(table.ops)?;
            let found = ops.iter().find(|field| field.name.is_some_and(|name| name == member))?;
            match found.attr {
                MemberAttr::Normal { offset } => Some(offset as usize / 8),
                MemberAttr::BitField { .. } => None,
            }
        })
        .ok_or_else(|| bad(&format!("its {} has no member '{member}'", table.ops)))?;
    let map = object.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    let mut map = map.ok_or_else(|| bad("it has no struct_ops table"))?;
    let value = map.initial_value_mut().ok_or_else(|| bad("its struct_ops table has no value"))?;
    let (start, length) = (value.as_mut_ptr(), value.len());
    if offset + size > length {
        return Err(bad(&format!("member '{member}' lies outside the struct_ops table")));
    }
    // SAFETY: libbpf owns the table's bytes until the object is loaded or closed, and neither can happen while the
    // result borrows the object mutably; the range was checked above. `initial_value_mut` itself only lends them for
    // the life of the map handle.
    Ok(unsafe { std::slice::from_raw_parts_mut(start.add(offset), size) })
}

fn set_name(object: &mut OpenObject, object_name: &str, kernel_name: &str) -> Result<()> {
    set_table_name(object, object_name, CONGESTION_CONTROL, kernel_name)
}

/// The name under which the kernel is to know an object's table.
pub(crate) fn set_table_name(object: &mut OpenObject, object_name: &str, table: Table, name: &str) -> Result<()> {
    let member = table_member(object, object_name, table, table.name, NAME_LEN)?;
    member.fill(0);
    member[..name.len()].copy_from_slice(name.as_bytes());
    Ok(())
}

/// The table's flags that every kernel knows: `TCP_CONG_NON_RESTRICTED` and `TCP_CONG_NEEDS_ECN`.
const OLD_FLAGS: u32 = 0b11;

/// Leaves of the table's flags those of classic ECN, if that is what the tunables say; this kernel must know the others.
fn settle_ecn(object: &mut OpenObject, wanted: &Loadable, kernel: Kernel) -> Result<()> {
    let algorithm = wanted.algorithm;
    if wanted.ecn() != EcnNeed::Classic {
        return check_flags(object, algorithm.name, algorithm.tunable(CLASSIC_ECN).is_some(), kernel);
    }
    let member = ops_member(object, algorithm.name, "flags", size_of::<u32>())?;
    let flags = flags_of(member);
    member.copy_from_slice(&(flags & OLD_FLAGS).to_ne_bytes());
    Ok(())
}

/// The kernel's answer to a flag that it does not know is a bare EINVAL.
fn check_flags(object: &mut OpenObject, name: &str, has_classic: bool, kernel: Kernel) -> Result<()> {
    // What is not of ours may leave the member out.
    let flags = ops_member(object, name, "flags", size_of::<u32>()).map_or(0, |member| flags_of(member));
    if kernel.accecn || flags & !OLD_FLAGS == 0 {
        return Ok(());
    }
    Err(Error::NoAccEcn { algorithm: name.to_owned(), has_classic })
}

fn flags_of(member: &[u8]) -> u32 {
    u32::from_ne_bytes(member.try_into().expect("four bytes were asked for"))
}

fn pin_trace_map(object: &mut OpenObject, pin: Option<&Path>) -> Result<()> {
    match pin {
        Some(path) => pin_map(object, TRACE_MAP, path),
        None => keep_private(object, TRACE_MAP),
    }
}

/// Shares a map of the object, if it has it, with everybody who uses the pin.
pub(crate) fn pin_map(object: &mut OpenObject, map: &str, path: &Path) -> Result<()> {
    let Some(mut map) = object.maps_mut().find(|found| found.name() == map) else { return Ok(()) };
    map.set_pin_path(path).map_err(Error::bpf(format!("cannot pin {}", path.display())))
}

/// Has the object use a map that is there already.
pub(crate) fn reuse_map(object: &mut OpenObject, map: &str, shared: &MapHandle) -> Result<()> {
    keep_private(object, map)?;
    let Some(mut found) = object.maps_mut().find(|found| found.name() == map) else { return Ok(()) };
    found.reuse_fd(shared.as_fd()).map_err(Error::bpf(format!("cannot share the map {map}")))
}

/// Gives the object a map of its own, which dies with it, where its source asks for a pinned one.
pub(crate) fn keep_private(object: &mut OpenObject, map: &str) -> Result<()> {
    let Some(found) = object.maps_mut().find(|found| found.name() == map) else { return Ok(()) };
    // SAFETY: the map is open and borrowed mutably; a null path is libbpf's way to take a pin path back.
    let ret = unsafe { libbpf_sys::bpf_map__set_pin_path(found.as_libbpf_object().as_ptr(), ptr::null()) };
    if ret == 0 {
        Ok(())
    } else {
        let source = libbpf_rs::Error::from_raw_os_error(-ret);
        Err(Error::Bpf { what: format!("cannot unpin {map}"), source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ccactl_abi::{ALGORITHMS, Algorithm};

    /// What the variable would be in the kernel.
    fn stored(object: &mut OpenObject, variable: &str) -> Vec<u8> {
        let (offset, size) = rodata_variable(object, variable).unwrap();
        let mut rodata = object.maps_mut().find(|map| map.name().to_string_lossy().ends_with(".rodata")).unwrap();
        rodata.initial_value_mut().unwrap()[offset..offset + size].to_vec()
    }

    #[test]
    fn every_tunable_of_the_registry_is_a_variable_with_the_default_and_takes_its_extremes() {
        for algorithm in ALGORITHMS.iter() {
            let mut object = open(algorithm.name, algorithm.object()).unwrap();
            for tunable in algorithm.tunables {
                let low_bytes = |raw: i64, size: usize| raw.to_le_bytes()[..size].to_vec();
                let found = stored(&mut object, tunable.name);
                let context = format!("{} {}", algorithm.name, tunable.name);
                assert_eq!(found, low_bytes(tunable.default_raw, found.len()), "default of {context}");
                for raw in [tunable.min_raw, tunable.max_raw] {
                    set_rodata(&mut object, algorithm.name, tunable.name, raw).unwrap();
                    assert_eq!(stored(&mut object, tunable.name), low_bytes(raw, found.len()), "{context}");
                }
            }
        }
    }

    #[test]
    fn a_variable_that_is_missing_or_too_narrow_is_an_error() {
        let bbr = Algorithm::by_name("bbr").unwrap();
        let mut object = open("bbr", bbr.object()).unwrap();
        let error = set_rodata(&mut object, "bbr", "no_such", 1).unwrap_err();
        assert!(error.to_string().contains("no_such"), "{error}");
        let error = set_rodata(&mut object, "bbr", "cc_cong_control_args", 1 << 40).unwrap_err();
        assert!(error.to_string().contains("does not fit"), "{error}");
        assert_eq!(stored(&mut object, "cc_cong_control_args"), 4_u32.to_ne_bytes(), "nothing was written");
    }

    #[test]
    fn the_name_is_replaced_whole() {
        let mut object = open("bbr", Algorithm::by_name("bbr").unwrap().object()).unwrap();
        set_name(&mut object, "bbr", "x").unwrap();
        let name = ops_member(&mut object, "bbr", "name", NAME_LEN).unwrap();
        assert_eq!(name, b"x\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    }
}
