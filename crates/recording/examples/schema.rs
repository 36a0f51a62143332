//! Prints the tables of `docs/schema.md`; `cargo xtask gen` puts them there.

use ccactl_recording::{columns_table, keys_table};

fn main() {
    println!("## Columns\n\n{}\n## Metadata\n\n{}", columns_table(), keys_table());
}
