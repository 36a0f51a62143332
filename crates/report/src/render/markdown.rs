//! A document as Markdown (GitHub's flavour), for a README, an issue or a wiki.

use super::document::{Block, Line, Table};

/// The document as Markdown with a newline at its end.
pub fn text(blocks: &[Block]) -> String {
    let pieces: Vec<String> = blocks.iter().map(block).collect();
    pieces.join("\n")
}

fn block(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("## {}\n", escaped(heading)),
        Block::Facts(facts) => facts.iter().map(|fact| format!("- {}\n", escaped(fact))).collect(),
        Block::Warning(warning) => format!("> **Warning:** {}\n", escaped(warning)),
        Block::Note(note) => format!("{}\n", escaped(note)),
        Block::Table(of) => table(of),
    }
}

fn table(table: &Table) -> String {
    let figures = table.figures.iter().map(|(heading, unit)| match (heading.as_str(), unit.as_str()) {
        (heading, "") => heading.to_owned(),
        (heading, unit) => format!("{heading} ({unit})"),
    });
    let mut text = row(table.names.iter().cloned().chain(figures));
    let rules = table.names.iter().map(|_| "---").chain(table.figures.iter().map(|_| "---:"));
    text.push_str(&format!("|{}|\n", rules.collect::<Vec<_>>().join("|")));
    for line in &table.lines {
        text.push_str(&match line {
            Line::Row(names, figures) => row(names.iter().chain(figures).cloned()),
            Line::Section(heading) => {
                let empty = table.names.len() + table.figures.len() - 1;
                row(std::iter::once(format!("*{heading}*")).chain(vec![String::new(); empty]))
            }
        });
    }
    text
}

fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.map(|cell| escaped(&cell)).collect::<Vec<_>>().join(" | "))
}

/// Names come from scenarios and files: none may end a cell, begin a tag or a link.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '|' | '<' | '`' | '[' | ']' | '\\' => out.extend(['\\', c]),
            '\n' | '\r' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_cell() {
        let mut table = Table::new(&["flow"], [("RTT", "ms")]);
        table.row(vec!["a|b <script> [x](y)\n`c`".into()], vec!["1".into()]);
        let text = text(&[Block::Table(table)]);
        assert_eq!(text.lines().count(), 3);
        assert!(text.contains(r"| a\|b \<script> \[x\](y) \`c\` | 1 |"), "{text}");
    }
}
