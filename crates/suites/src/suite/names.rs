//! Algorithms as the registry and as the papers name them.

/// Those of P0 in the order of its tables.
pub const P0: &[(&str, &str)] = &[
    ("reno", "Reno"),
    ("cubic", "CUBIC"),
    ("vegas", "Vegas"),
    ("new-vegas", "NewVegas"),
    ("bbr", "BBR"),
    ("veno", "Veno"),
];

/// Versions of BBR in P1.
pub const P1: &[(&str, &str)] = &[("bbr", "BBRv1"), ("bbrv2", "BBRv2"), ("f-bbrv2", "F-BBRv2")];

/// Those of P2.
pub const P2: &[(&str, &str)] = &[("reno", "Reno"), ("hstcp", "HSTCP"), ("aca", "ACA-TCP")];

/// The paper's name of an algorithm; the registry's own where the paper does not have it.
pub fn printed<'a>(names: &[(&'a str, &'a str)], algorithm: &'a str) -> &'a str {
    names.iter().find(|(ours, _)| *ours == algorithm).map_or(algorithm, |(_, theirs)| theirs)
}
