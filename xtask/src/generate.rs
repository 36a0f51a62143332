//! `cargo xtask gen`: the algorithm table of the README, written from the registry between two markers.

use crate::error::{Error, FAILURE, Result};
use crate::shell::{cargo, root};
use std::fs;
use std::process::Stdio;

const BEGIN: &str = "<!-- algorithms: begin, written by `cargo xtask gen` -->";
const END: &str = "<!-- algorithms: end -->";

/// Writes the table, or with `check` only says whether it is up to date.
pub fn run(check: bool) -> Result {
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).map_err(|error| Error::io("README.md", &error))?;
    let table = table(&registry()?)?;
    let wanted = splice(&readme, &table)?;
    let rows = table.lines().count() - 2;
    if wanted == readme {
        println!("the algorithm table of README.md is up to date ({rows} rows)");
        return Ok(());
    }
    if check {
        let text = "the algorithm table of README.md differs from the registry: run `cargo xtask gen`";
        return Err(Error::new(FAILURE, text));
    }
    fs::write(&path, wanted).map_err(|error| Error::io("README.md", &error))?;
    println!("README.md: algorithm table written ({rows} rows)");
    Ok(())
}

/// The registry as lines of tab-separated fields, printed by the crate that has it.
fn registry() -> Result<String> {
    let mut example = cargo();
    example.args(["run", "--quiet", "--release", "--package", "ccactl-abi", "--example", "registry"]);
    let output = example.stderr(Stdio::inherit()).output().map_err(|error| Error::io("cannot run cargo", &error))?;
    if !output.status.success() {
        return Err(Error::new(FAILURE, "the example `registry` of ccactl-abi did not build or run"));
    }
    String::from_utf8(output.stdout).map_err(|_| Error::new(FAILURE, "the registry is not UTF-8"))
}

/// Markdown from lines of `name, kernel name, family, reference, summary`.
fn table(registry: &str) -> Result<String> {
    let mut out =
        String::from("| name | in the kernel | signal | what it does | defined by |\n|---|---|---|---|---|\n");
    for line in registry.lines() {
        let fields: Vec<String> = line.split('\t').map(|field| field.replace('|', "\\|")).collect();
        let [name, kernel_name, family, reference, summary] = fields.as_slice() else {
            return Err(Error::new(
                FAILURE,
                format!("a row of the registry has {} fields, not 5: {line}", fields.len()),
            ));
        };
        let page = format!("docs/algorithms/{name}.md");
        let name_cell = if root().join(&page).exists() { format!("[`{name}`]({page})") } else { format!("`{name}`") };
        out +=
            &format!("| {name_cell} | [`{kernel_name}`](bpf/cc/{name}.bpf.c) | {family} | {summary} | {reference} |\n");
    }
    Ok(out)
}

/// The text with what stands between the markers replaced.
fn splice(text: &str, table: &str) -> Result<String> {
    let missing = |marker| Error::new(FAILURE, format!("README.md has no line `{marker}`"));
    let (before, rest) = text.split_once(BEGIN).ok_or_else(|| missing(BEGIN))?;
    let (_, after) = rest.split_once(END).ok_or_else(|| missing(END))?;
    Ok(format!("{before}{BEGIN}\n{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_a_line_that_links_to_its_file_and_to_its_page_where_it_has_one() {
        let table = table("none\tbpf_none\tloss\tXu 2004\tBinary search.\n").expect("five fields");
        let row = table.lines().nth(2).expect("two lines of heading");
        let with_page = super::table("reno\tbpf_reno\tloss\tRFC\tHalves.\n").expect("five fields");
        assert!(
            with_page.contains("| [`reno`](docs/algorithms/reno.md) | [`bpf_reno`](bpf/cc/reno.bpf.c) |"),
            "{with_page}"
        );
        assert_eq!(row, "| `none` | [`bpf_none`](bpf/cc/none.bpf.c) | loss | Binary search. | Xu 2004 |");
    }

    #[test]
    fn a_bar_does_not_break_the_table() {
        let table = table("a\tb\tc\td\t|Δ| small\n").expect("five fields");
        assert!(table.ends_with("| \\|Δ\\| small | d |\n"), "{table}");
    }

    #[test]
    fn a_row_with_another_number_of_fields_is_refused() {
        assert!(table("bic\tbpf_bic\n").is_err());
    }

    #[test]
    fn only_the_text_between_the_markers_changes_and_twice_is_once() {
        let text = format!("# Title\n{BEGIN}\nold\n{END}\nrest\n");
        let once = splice(&text, "| new |\n").expect("both markers");
        assert_eq!(once, format!("# Title\n{BEGIN}\n| new |\n{END}\nrest\n"));
        assert_eq!(splice(&once, "| new |\n"), Ok(once.clone()));
    }

    #[test]
    fn a_missing_marker_is_named() {
        let error = splice("# Title\n", "").expect_err("no markers");
        assert!(error.message.contains(BEGIN), "{}", error.message);
        let error = splice(BEGIN, "").expect_err("no end");
        assert!(error.message.contains(END), "{}", error.message);
    }
}
