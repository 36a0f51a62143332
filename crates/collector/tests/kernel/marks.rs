//! ECN marks on the loopback of a namespace: a program at its ingress, written as plain instructions.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Index of `lo` in every network namespace.
const LOOPBACK_IFINDEX: u32 = 1;

/// One instruction in the kernel's encoding (Documentation/bpf/standardization/instruction-set.rst).
const fn insn(code: u8, registers: u8, offset: i16, imm: u32) -> u64 {
    (code as u64) | (registers as u64) << 8 | (offset as u16 as u64) << 16 | (imm as u64) << 32
}

/// The head of `union bpf_attr` for BPF_PROG_LOAD; the rest is zero.
#[repr(C)]
#[derive(Default)]
struct LoadProgram {
    kind: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    unused: [u64; 12],
}

/// The head of `union bpf_attr` for BPF_LINK_CREATE.
#[repr(C)]
#[derive(Default)]
struct CreateLink {
    program: u32,
    target: u32,
    attach_type: u32,
    flags: u32,
    unused: [u64; 6],
}

/// Marks one packet in so many, at random, in the namespace of this thread, whose connections ask for ECN from now on.
/// Ends with the value.
pub fn mark_one_in(packets: u32) -> OwnedFd {
    const PROG_LOAD: i32 = 5;
    const LINK_CREATE: i32 = 28;
    const SCHED_CLS: u32 = 3;
    const TCX_INGRESS: u32 = 46;
    fs::write("/proc/sys/net/ipv4/tcp_ecn", "1").unwrap();
    let program = [
        insn(0xbf, 0x16, 0, 0),     // r6 = context
        insn(0x85, 0, 0, 7),        // r0 = bpf_get_prandom_u32()
        insn(0x97, 0, 0, packets),  // r0 %= packets
        insn(0x55, 0, 2, 0),        // if r0 != 0 skip two
        insn(0xbf, 0x61, 0, 0),     // r1 = context
        insn(0x85, 0, 0, 97),       // bpf_skb_ecn_set_ce(r1)
        insn(0xb7, 0, 0, u32::MAX), // r0 = TCX_NEXT
        insn(0x95, 0, 0, 0),        // return r0
    ];
    let program = bpf(
        PROG_LOAD,
        &LoadProgram {
            kind: SCHED_CLS,
            instruction_count: program.len() as u32,
            instructions: program.as_ptr() as u64,
            license: c"GPL".as_ptr() as u64,
            ..LoadProgram::default()
        },
    );
    bpf(
        LINK_CREATE,
        &CreateLink {
            program: program.as_raw_fd() as u32,
            target: LOOPBACK_IFINDEX,
            attach_type: TCX_INGRESS,
            ..CreateLink::default()
        },
    )
}

fn bpf<T>(command: i32, attributes: &T) -> OwnedFd {
    // SAFETY: the kernel reads the attributes and what they point to, which the caller keeps alive.
    let fd = unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>()) };
    assert!(fd >= 0, "bpf command {command}: {}", io::Error::last_os_error());
    // SAFETY: a fresh descriptor that nobody else owns.
    unsafe { OwnedFd::from_raw_fd(fd as i32) }
}
