//! Prints the JSON schema for `docs/scenario.schema.json`: `cargo xtask gen`.

fn main() {
    println!("{:#}", ccactl_scenario::schema());
}
