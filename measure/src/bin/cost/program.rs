//! What the kernel says about a loaded program.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Sizes and run statistics of one BPF program.
pub struct Program {
    /// BPF instructions after the verifier's rewriting.
    pub instructions: u64,
    /// Instructions that the verifier walked through, on all paths.
    pub verified_instructions: u64,
    /// Length of the compiled code.
    pub native_bytes: u64,
    /// Calls while statistics were on.
    pub runs: u64,
    /// Time in them.
    pub run_ns: u64,
}

impl Program {
    pub fn by_id(id: u32) -> Self {
        const INSTRUCTION_BYTES: u64 = 8;
        // SAFETY: the call takes no pointer.
        let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
        assert!(fd >= 0, "program {id}: {}", io::Error::last_os_error());
        // SAFETY: a fresh descriptor that nobody else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut info = libbpf_sys::bpf_prog_info::default();
        let mut length = size_of_val(&info) as u32;
        // SAFETY: the kernel writes at most `length` bytes to `info`, whose buffer lengths are 0.
        let ret = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(fd.as_raw_fd(), &raw mut info, &raw mut length) };
        assert_eq!(ret, 0, "program {id}: {}", io::Error::last_os_error());
        Self {
            instructions: u64::from(info.xlated_prog_len) / INSTRUCTION_BYTES,
            verified_instructions: u64::from(info.verified_insns),
            native_bytes: u64::from(info.jited_prog_len),
            runs: info.run_cnt,
            run_ns: info.run_time_ns,
        }
    }
}
