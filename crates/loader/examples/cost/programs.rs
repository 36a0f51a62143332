//! The BPF programs of a loaded algorithm: size, and time per run by the kernel's statistics.

use crate::Result;
use crate::callbacks::{Callbacks, count_runs};
use crate::transfer::bulk;
use ccactl_loader::Paths;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Bytes of a BPF instruction.
const INSTRUCTION_BYTES: u32 = 8;

/// One program.
#[derive(Debug, Clone, Copy, Default)]
struct Program {
    xlated_bytes: u32,
    jited_bytes: u32,
    verified: u32,
    run_ns: u64,
    runs: u64,
}

/// A callback that has run.
pub struct Callback {
    pub hook: String,
    pub ns_per_run: f64,
    pub runs: u64,
}

/// All programs of one algorithm.
pub struct Programs {
    /// BPF instructions as the kernel runs them, all programs together.
    pub instructions: u32,
    /// Bytes of machine code.
    pub jited_bytes: u32,
    /// Instructions that the verifier walked through.
    pub verified: u32,
    /// By time spent, the most expensive first.
    pub callbacks: Vec<Callback>,
    /// Time in all callbacks, of both ends, as a share of the transfer's CPU time.
    pub share: f64,
}

impl Programs {
    /// Reads sizes, and the times over one bulk transfer.
    pub fn measure(paths: &Paths, kernel_name: &str, duration: Duration) -> Result<Programs> {
        let callbacks = Callbacks::of(paths, kernel_name);
        let counting = count_runs();
        let transfer = bulk(kernel_name, duration)?;
        drop(counting);
        let mut programs = Vec::new();
        for (hook, id) in callbacks.programs() {
            programs.push((hook.to_owned(), info(id)?));
        }
        let total_ns: u64 = programs.iter().map(|(_, program)| program.run_ns).sum();
        programs.sort_by_key(|(_, program)| std::cmp::Reverse(program.run_ns));
        let sum = |value: fn(&Program) -> u32| programs.iter().map(|(_, program)| value(program)).sum();
        Ok(Programs {
            instructions: sum(|p| p.xlated_bytes / INSTRUCTION_BYTES),
            jited_bytes: sum(|p| p.jited_bytes),
            verified: sum(|p| p.verified),
            callbacks: programs
                .iter()
                .filter(|(_, program)| program.runs > 0)
                .map(|(hook, program)| Callback {
                    hook: hook.clone(),
                    ns_per_run: program.run_ns as f64 / program.runs as f64,
                    runs: program.runs,
                })
                .collect(),
            share: total_ns as f64 / transfer.cpu.as_nanos().max(1) as f64,
        })
    }
}

fn info(id: u32) -> Result<Program> {
    // SAFETY: the call takes no pointer.
    let fd = unsafe { libbpf_sys::bpf_prog_get_fd_by_id(id) };
    if fd < 0 {
        return Err(format!("BPF program {id}: {}", std::io::Error::last_os_error()).into());
    }
    // SAFETY: a fresh descriptor that nobody else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of::<libbpf_sys::bpf_prog_info>() as u32;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which asks for none of the variable parts.
    let ret = unsafe { libbpf_sys::bpf_obj_get_info_by_fd(fd.as_raw_fd(), (&raw mut info).cast(), &raw mut length) };
    if ret != 0 {
        return Err(format!("BPF program {id}: {}", std::io::Error::last_os_error()).into());
    }
    Ok(Program {
        xlated_bytes: info.xlated_prog_len,
        jited_bytes: info.jited_prog_len,
        verified: info.verified_insns,
        run_ns: info.run_time_ns,
        runs: info.run_cnt,
    })
}
