//! Prints the reference of all fields for `docs/scenarios.md`: `cargo xtask gen`.

fn main() {
    print!("{}", ccactl_scenario::reference());
}
