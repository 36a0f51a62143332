//! Who carries the packets of a bench: the same two options wherever runs are made.

use ccactl_testbed::bench::Backend;

/// Who carries the packets.
#[derive(clap::Args)]
pub struct Carrier {
    /// Who carries the packets: `emulator`, which measures how well it keeps time; the kernel's `netem`, tbf and queue disciplines;
    /// a bottleneck in `bpf` with netem for the wire; or the `simulator`
    #[arg(long, value_name = "BACKEND", default_value_t = Backend::Emulator)]
    link: Backend,
    /// Simulate hosts and packets in virtual time, which needs no rights: the same as `--link simulator`
    #[arg(long, conflicts_with_all = ["link", "lab"])]
    sim: bool,
}

impl Carrier {
    /// What was asked for.
    pub fn backend(&self) -> Backend {
        if self.sim { Backend::Simulator } else { self.link }
    }
}
