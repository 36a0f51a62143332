//! Prints the tables of `docs/schema.md`; `cargo xtask gen` puts them there.

use ccactl_recording::keys_table;
use ccactl_recording::write::rows;

fn main() {
    println!("## Columns\n\n{}\n## Metadata\n\n{}", rows::table(), keys_table());
}
