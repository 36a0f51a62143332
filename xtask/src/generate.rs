//! `cargo xtask gen`: text of the docs that the code knows better, each between two markers.

use crate::error::{Error, FAILURE, Result};
use crate::shell::{self, cargo, root};
use std::fs;
use std::process::{Command, Stdio};

/// A file, or a stretch of one, that is written from an example's output.
struct Generated {
    file: &'static str,
    /// Lines around the stretch; the whole file without.
    markers: Option<Markers>,
    example: &'static str,
    /// From what the example prints to what the file has.
    text: fn(&str) -> Result<String>,
}

/// Lines of a file between which a stretch is written by a command.
#[derive(Clone, Copy)]
pub struct Markers {
    pub begin: &'static str,
    pub end: &'static str,
}

const ALGORITHMS: Generated = Generated {
    file: "README.md",
    markers: Some(Markers {
        begin: "<!-- algorithms: begin, written by `cargo xtask gen` -->",
        end: "<!-- algorithms: end -->",
    }),
    example: "registry",
    text: table,
};

const SCHEMA: Generated = Generated {
    file: "docs/schema.md",
    markers: Some(Markers {
        begin: "<!-- schema: begin, written by `cargo xtask gen` from crates/recording -->",
        end: "<!-- schema: end -->",
    }),
    example: "schema",
    text: |tables| Ok(format!("\n{tables}")),
};

const SCENARIO_FIELDS: Generated = Generated {
    file: "docs/scenarios.md",
    markers: Some(Markers {
        begin: "<!-- fields: begin, written by `cargo xtask gen` from crates/scenario -->",
        end: "<!-- fields: end -->",
    }),
    example: "scenario_reference",
    text: |tables| Ok(format!("\n{tables}\n")),
};

const SCENARIO_SCHEMA: Generated = Generated {
    file: "docs/scenario.schema.json",
    markers: None,
    example: "scenario_schema",
    text: |schema| Ok(schema.to_owned()),
};

/// Writes all of it, or with `check` only says whether it is up to date.
pub fn run(check: bool) -> Result {
    for generated in [ALGORITHMS, SCHEMA, SCENARIO_FIELDS, SCENARIO_SCHEMA] {
        generated.write(check)?;
    }
    Ok(())
}

impl Generated {
    fn write(&self, check: bool) -> Result {
        let file = self.file;
        let path = root().join(file);
        let there = fs::read_to_string(&path).map_err(|error| Error::io(file, &error))?;
        let text = (self.text)(&self.output()?)?;
        let wanted = match self.markers {
            Some(markers) => splice(file, markers, &there, &text)?,
            None => text,
        };
        if wanted == there {
            println!("{file} is up to date");
            return Ok(());
        }
        if check {
            return Err(Error::new(FAILURE, format!("{file} differs from the code: run `cargo xtask gen`")));
        }
        fs::write(&path, wanted).map_err(|error| Error::io(file, &error))?;
        println!("{file} is written");
        Ok(())
    }

    /// What the example of the crate that knows prints.
    fn output(&self) -> Result<String> {
        let example = self.example;
        // With the features of the whole workspace, as everything else is built.
        shell::run(cargo().args(["build", "--quiet", "--release", "--workspace", "--example", example]))?;
        let output = Command::new(shell::target_dir().join("release/examples").join(example))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| Error::io(example, &error))?;
        if !output.status.success() {
            return Err(Error::new(FAILURE, format!("the example `{example}` failed: {}", output.status)));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| Error::new(FAILURE, format!("what the example `{example}` prints is not UTF-8")))
    }
}

/// The text with what stands between the markers replaced.
pub fn splice(file: &str, Markers { begin, end }: Markers, text: &str, between: &str) -> Result<String> {
    let missing = |marker| Error::new(FAILURE, format!("{file} has no line `{marker}`"));
    let (before, rest) = text.split_once(begin).ok_or_else(|| missing(begin))?;
    let (_, after) = rest.split_once(end).ok_or_else(|| missing(end))?;
    Ok(format!("{before}{begin}\n{between}{end}{after}"))
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

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: &str = "<!-- begin -->";
    const END: &str = "<!-- end -->";

    fn splice(text: &str, between: &str) -> Result<String> {
        super::splice("FILE.md", Markers { begin: BEGIN, end: END }, text, between)
    }

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
