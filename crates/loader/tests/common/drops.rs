//! Packet loss and congestion marks on the loopback of a namespace: a tc program at ingress, written as plain
//! instructions.

use libbpf_rs::{TC_INGRESS, TcHook, TcHookBuilder};
use std::os::fd::{AsFd, FromRawFd, OwnedFd};

/// Index of `lo` in every network namespace.
const LOOPBACK_IFINDEX: i32 = 1;
/// Ethernet header (lo has one) and an IPv4 header without options.
const TCP_OFFSET: i32 = 14 + 20;

/// What the program does to packets.
#[derive(Clone, Copy)]
pub enum Drop {
    /// Not dropped at all: one packet in this many, at random, gets the CE mark if its sender allows it.
    MarkOneIn(u32),
    /// Packets from this IPv4 TCP port.
    FromPort(u16),
    /// One packet in this many, at random.
    OneIn(u32),
}

/// Drops packets until the value is dropped itself.
pub struct Loss {
    hook: TcHook,
    _program: OwnedFd,
}

impl Loss {
    pub fn start(what: Drop) -> Self {
        let program = load(&instructions(what));
        let mut hook =
            TcHookBuilder::new(program.as_fd()).ifindex(LOOPBACK_IFINDEX).handle(1).priority(1).hook(TC_INGRESS);
        let mut hook = hook.create().unwrap();
        let hook = hook.attach().unwrap();
        Self { hook, _program: program }
    }
}

impl std::ops::Drop for Loss {
    fn drop(&mut self) {
        self.hook.detach().unwrap();
    }
}

/// One instruction in the kernel's encoding (Documentation/bpf/standardization/instruction-set.rst).
fn insn(code: u8, dst: u8, src: u8, offset: i16, imm: i32) -> libbpf_sys::bpf_insn {
    let mut insn = libbpf_sys::bpf_insn { code, off: offset, imm, ..Default::default() };
    insn.set_dst_reg(dst);
    insn.set_src_reg(src);
    insn
}

fn instructions(what: Drop) -> Vec<libbpf_sys::bpf_insn> {
    const CALL: u8 = 0x85;
    const EXIT: u8 = 0x95;
    const MOV_IMM: u8 = 0xb7;
    const MOV_REG: u8 = 0xbf;
    const ADD_IMM: u8 = 0x07;
    const MOD_IMM: u8 = 0x97;
    const LOAD_HALF: u8 = 0x69;
    const JNE_IMM: u8 = 0x55;
    const GET_PRANDOM_U32: i32 = 7;
    const SKB_LOAD_BYTES: i32 = 26;
    const SKB_ECN_SET_CE: i32 = 97;
    const TC_ACT_OK: i32 = 0;
    const TC_ACT_SHOT: i32 = 2;

    let mut program = match what {
        // The draw takes the context's register.
        Drop::MarkOneIn(packets) => {
            return vec![
                insn(MOV_REG, 6, 1, 0, 0),
                insn(CALL, 0, 0, 0, GET_PRANDOM_U32),
                insn(MOD_IMM, 0, 0, 0, packets.cast_signed()),
                insn(JNE_IMM, 0, 0, 2, 0),
                insn(MOV_REG, 1, 6, 0, 0),
                insn(CALL, 0, 0, 0, SKB_ECN_SET_CE),
                insn(MOV_IMM, 0, 0, 0, TC_ACT_OK),
                insn(EXIT, 0, 0, 0, 0),
            ];
        }
        Drop::OneIn(packets) => vec![
            insn(CALL, 0, 0, 0, GET_PRANDOM_U32),
            insn(MOD_IMM, 0, 0, 0, packets.cast_signed()),
            insn(JNE_IMM, 0, 0, 2, 0),
        ],
        Drop::FromPort(port) => vec![
            insn(MOV_IMM, 2, 0, 0, TCP_OFFSET),
            insn(MOV_REG, 3, 10, 0, 0),
            insn(ADD_IMM, 3, 0, 0, -8),
            insn(MOV_IMM, 4, 0, 0, 2),
            insn(CALL, 0, 0, 0, SKB_LOAD_BYTES),
            insn(JNE_IMM, 0, 0, 4, 0),
            insn(LOAD_HALF, 1, 10, -8, 0),
            insn(JNE_IMM, 1, 0, 2, i32::from(port.to_be())),
        ],
    };
    program.extend([
        insn(MOV_IMM, 0, 0, 0, TC_ACT_SHOT),
        insn(EXIT, 0, 0, 0, 0),
        insn(MOV_IMM, 0, 0, 0, TC_ACT_OK),
        insn(EXIT, 0, 0, 0, 0),
    ]);
    program
}

fn load(instructions: &[libbpf_sys::bpf_insn]) -> OwnedFd {
    // SAFETY: the name and license are NUL-terminated, the instructions are as many as said, and no options are given.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            libbpf_sys::BPF_PROG_TYPE_SCHED_CLS,
            c"ccactl_drop".as_ptr(),
            c"GPL".as_ptr(),
            instructions.as_ptr(),
            instructions.len() as libbpf_sys::size_t,
            std::ptr::null_mut(),
        )
    };
    assert!(fd >= 0, "loading the program that drops packets: {}", std::io::Error::last_os_error());
    // SAFETY: a fresh descriptor that nobody else owns.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
