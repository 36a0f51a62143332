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

/// Those of them that negotiate ECN in the SYN.
pub const NEGOTIATE_ECN: &[&str] = &["dctcp", "prague"];
