//! Prints the registry as tab-separated lines: name, kernel name, family, reference, summary.
//!
//! `cargo xtask gen` makes the README's table of it.

fn main() {
    for a in ccactl_abi::ALGORITHMS.iter() {
        let family = format!("{:?}", a.family).to_lowercase();
        println!("{}\t{}\t{family}\t{}\t{}", a.name, a.kernel_name, a.reference, a.summary);
    }
}
