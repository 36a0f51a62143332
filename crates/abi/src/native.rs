//! Names of Linux's own algorithms.

/// Algorithms that are, or were, part of Linux (net/ipv4/Kconfig), and names that kernels patched by Google or the L4S
/// project use. A kernel that has none of them today may load a module tomorrow, so these names are never ours.
pub const NAMES: &[&str] = &[
    "bbr",
    "bbr1",
    "bbr2",
    "bbr3",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "dctcp-reno",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "prague",
    "reno",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
];

/// Those of them that Linux lets no BPF program choose for a socket: a struct_ops of BPF might write to the pointer that cdg keeps in the
/// socket (net/core/filter.c, `sol_tcp_sockopt_congestion`). An application can choose it.
pub const NOT_BY_BPF: &[&str] = &["cdg"];

/// Those of them that negotiate ECN in the SYN.
pub const NEGOTIATE_ECN: &[&str] = &["dctcp", "prague"];
