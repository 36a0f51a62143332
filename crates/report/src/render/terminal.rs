//! A document on a terminal: tables that are wider than it are cut between columns of figures, each piece with the names.

use super::document::{Block, Line, Table};
use ccactl_host::table::{self, GAP, Side, length};
use ccactl_host::terminal::fit_line;

/// Columns of a terminal that says nothing about its width, of a file and of a pipe.
pub const DEFAULT_WIDTH: usize = 100;
/// No narrower than this: names and two figures have to fit.
const MIN_WIDTH: usize = 60;
/// Longer names lose their middle where the terminal is narrow.
const NAME_SHARE: usize = 3;
/// The document as text of lines no longer than `width` where that can be.
pub fn text(blocks: &[Block], width: usize) -> String {
    let width = width.max(MIN_WIDTH);
    let mut text = String::new();
    for (i, block) in blocks.iter().map(fit_block).enumerate() {
        match &block {
            Block::Heading(heading) => {
                if i > 0 {
                    text.push('\n');
                }
                text.push_str(&format!("{heading}\n"));
            }
            Block::Facts(facts) => facts.iter().for_each(|fact| text.push_str(&wrapped(fact, width, "  ", "    "))),
            Block::Warning(warning) => text.push_str(&wrapped(&format!("WARNING: {warning}"), width, "  ", "    ")),
            Block::Note(note) => text.push_str(&wrapped(note, width, "  ", "    ")),
            Block::Table(table) => {
                for piece in pieces(table, width) {
                    text.push('\n');
                    text.push_str(&piece);
                }
            }
        }
    }
    text
}

/// A recording has names from another host. They are made fit before their widths count.
fn fit_block(block: &Block) -> Block {
    let fit = |text: &String| fit_line(text).into_owned();
    let all = |texts: &[String]| texts.iter().map(fit).collect();
    match block {
        Block::Heading(heading) => Block::Heading(fit(heading)),
        Block::Facts(facts) => Block::Facts(all(facts)),
        Block::Warning(warning) => Block::Warning(fit(warning)),
        Block::Note(note) => Block::Note(fit(note)),
        Block::Table(table) => Block::Table(Table {
            names: all(&table.names),
            figures: table.figures.iter().map(|(heading, unit)| (fit(heading), fit(unit))).collect(),
            lines: table.lines.iter().map(|line| fit_table_line(line, &all)).collect(),
        }),
    }
}

fn fit_table_line(line: &Line, all: &impl Fn(&[String]) -> Vec<String>) -> Line {
    match line {
        Line::Section(heading) => Line::Section(fit_line(heading).into_owned()),
        Line::Row(names, figures) => Line::Row(all(names), all(figures)),
    }
}

/// Breaks a sentence between words.
fn wrapped(sentence: &str, width: usize, first: &str, others: &str) -> String {
    let mut text = String::from(first);
    let mut used = first.chars().count();
    for (i, word) in sentence.split(' ').enumerate() {
        let length = word.chars().count();
        if i > 0 && used + 1 + length > width {
            text.push('\n');
            text.push_str(others);
            used = others.chars().count();
        } else if i > 0 {
            text.push(' ');
            used += 1;
        }
        text.push_str(word);
        used += length;
    }
    text.push('\n');
    text
}

/// The table in as many pieces as the width asks for.
fn pieces(table: &Table, width: usize) -> Vec<String> {
    let longest_name = (width / NAME_SHARE).max(1);
    let names = std::iter::once(&table.names).chain(table.rows().map(|(names, _)| names));
    let mut name_widths = table::widths(names.map(|names| names.iter().map(String::as_str)));
    name_widths.iter_mut().for_each(|width| *width = longest_name.min(*width));
    let (headings, units): (Vec<&String>, Vec<&String>) =
        table.figures.iter().map(|(heading, unit)| (heading, unit)).unzip();
    let figures = table.rows().map(|(_, figures)| figures.iter().collect()).chain([headings, units]);
    let figure_widths = table::widths(figures.map(|figures: Vec<&String>| figures.into_iter().map(String::as_str)));
    let names_width: usize = name_widths.iter().map(|name| name + GAP).sum();
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < table.figures.len() {
        let mut end = start + 1;
        let mut used = names_width + GAP + figure_widths[start];
        while end < table.figures.len() && used + GAP + figure_widths[end] <= width {
            used += GAP + figure_widths[end];
            end += 1;
        }
        pieces.push(piece(table, &name_widths, &figure_widths, start..end));
        start = end;
    }
    pieces
}

fn piece(table: &Table, name_widths: &[usize], figure_widths: &[usize], range: std::ops::Range<usize>) -> String {
    let line = |names: &[String], figures: &[String]| {
        let names: Vec<String> = names.iter().zip(name_widths).map(|(name, &width)| elided(name, width)).collect();
        let of_names = names.iter().zip(name_widths).map(|(name, &width)| (name.as_str(), width, Side::Left));
        let of_figures = figures.iter().zip(figure_widths).skip(range.start).take(range.len());
        let of_figures = of_figures.map(|(figure, &width)| (figure.as_str(), width, Side::Right));
        let line = table::line(of_names.chain(of_figures));
        if line.is_empty() { "\n".to_owned() } else { format!("{:GAP$}{line}\n", "") }
    };
    let (headings, units): (Vec<String>, Vec<String>) = table.figures.iter().cloned().unzip();
    let mut text = line(&table.names, &headings);
    if units[range.clone()].iter().any(|unit| !unit.is_empty()) {
        text.push_str(&line(&vec![String::new(); table.names.len()], &units));
    }
    for row in &table.lines {
        text.push_str(&match row {
            Line::Row(names, figures) => line(names, figures),
            Line::Section(heading) => format!("\n{:GAP$}{heading}\n", ""),
        });
    }
    text
}

/// The text with its middle left out, where it is longer than `width`.
fn elided(text: &str, width: usize) -> String {
    let count = length(text);
    if count <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let head = kept.div_ceil(2);
    let tail = kept - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["flow"], [("a", "ms"), ("b", ""), ("c", "pkts")]);
        table.row(vec!["short".into()], vec!["1".into(), "22".into(), "333".into()]);
        table.row(vec!["a name that is much too long".into()], vec!["4".into(), "5".into(), "6".into()]);
        table
    }

    #[test]
    fn a_wide_terminal_has_one_piece_and_a_narrow_one_repeats_the_names() {
        assert_eq!(pieces(&table(), 100).len(), 1);
        let narrow = pieces(&table(), 20);
        assert_eq!(narrow.len(), 2);
        assert!(narrow[1].contains("short") && narrow[1].contains("333") && !narrow[1].contains("22"), "{narrow:?}");
        assert!(narrow.iter().flat_map(|piece| piece.lines()).all(|line| length(line) <= 20), "{narrow:?}");
    }

    #[test]
    fn what_a_recording_calls_things_cannot_act_on_the_terminal_or_make_lines() {
        let name = || "a\u{1b}]0;t\u{7}\n\u{202e}".to_owned();
        let mut table = Table::new(&[&name()], [(name(), name())]);
        table.row(vec![name()], vec![name()]);
        table.lines.push(Line::Section(name()));
        let blocks = [
            Block::Heading(name()),
            Block::Facts(vec![name()]),
            Block::Warning(name()),
            Block::Note(name()),
            Block::Table(table),
        ];
        let text = text(&blocks, 200);
        let expected = "a\\u{1b}]0;t\\u{7}\\u{a}\\u{202e}";
        assert_eq!(text.matches(expected).count(), 10, "{text}");
        assert!(!text.chars().any(|c| c != '\n' && ccactl_host::terminal::is_unfit(c)), "{text:?}");
        assert_eq!(text.lines().filter(|line| !line.is_empty()).count(), 8, "{text}");
    }

    #[test]
    fn a_long_name_loses_its_middle() {
        assert_eq!(elided("abcdefghij", 5), "ab…ij");
        assert_eq!(elided("abcdefghij", 6), "abc…ij");
        assert_eq!(elided("abc", 5), "abc");
    }

    #[test]
    fn sentences_break_between_words() {
        assert_eq!(wrapped("one two three", 9, "", "  "), "one two\n  three\n");
    }
}
