//! Prints the tables of `docs/schema.md`; `cargo xtask gen` puts them there.

use ccactl_collector::{keys_table, schema};

fn main() {
    println!("## Columns\n\n{}\n## Metadata\n\n{}", schema::table(), keys_table());
}
