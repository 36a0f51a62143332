//! As much of Markdown as counting words needs: paragraphs and items of lists, and their sentences.

/// A paragraph or an item of a list: lines with their numbers, from 1.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Block<'a> {
    pub lines: Vec<(usize, &'a str)>,
}

/// A sentence, with the line in which it begins.
pub struct Sentence {
    pub line: usize,
    pub text: String,
}

/// What is read as sentences. Code, tables, headings, comments and generated stretches are not.
pub fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut block = Block::default();
    for (number, line) in prose(text) {
        let begins = line.map_or("", str::trim_start);
        if begins.is_empty() || is_item(begins) {
            blocks.push(std::mem::take(&mut block));
        }
        if !begins.is_empty() {
            block.lines.push((number, line.unwrap_or_default()));
        }
    }
    blocks.push(block);
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// Every line with its number; `None` for one that is no prose, which ends a block.
fn prose(text: &str) -> impl Iterator<Item = (usize, Option<&str>)> {
    let mut fence = None;
    let mut generated = false;
    text.lines().enumerate().map(move |(i, line)| {
        let begins = line.trim_start();
        let is_fence = fence_of(begins);
        let in_code = fence.is_some() || is_fence.is_some();
        match (fence, is_fence) {
            (None, Some(_)) => fence = is_fence,
            (Some(open), Some(close)) if open == close => fence = None,
            _ => {}
        }
        let comment = begins.starts_with("<!--");
        if comment && !in_code {
            generated = (generated || begins.contains(": begin")) && !begins.contains(": end");
        }
        let other = begins.starts_with('|') || begins.starts_with('#') || begins.starts_with('<');
        (i + 1, (!in_code && !generated && !other).then_some(line))
    })
}

/// The kind of fence that opens or closes a block of code.
pub fn fence_of(line: &str) -> Option<&'static str> {
    ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence))
}

fn is_item(line: &str) -> bool {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    ["- ", "* ", "+ ", "> "].iter().any(|mark| line.starts_with(mark))
        || (number.len() < line.len() && (number.starts_with(". ") || number.starts_with(") ")))
}

/// Whether a link or an address keeps a line from being broken.
pub fn has_link(line: &str) -> bool {
    line.contains("](") || line.contains("://")
}

/// Words as people count them; code is one word, a link counts as its text, a lone sign is none.
pub fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).collect()
}

impl Block<'_> {
    /// Its sentences: each ends with `.`, `!` or `?` before a space, or with the block.
    pub fn sentences(&self) -> Vec<Sentence> {
        let (text, begins) = self.plain();
        let mut sentences = Vec::new();
        let mut start = 0;
        let mut previous = ' ';
        for (at, sign) in text.char_indices() {
            if sign.is_whitespace() && ends_sentence(&text[start..at], previous) {
                sentences.push((start, at));
                start = at + sign.len_utf8();
            }
            previous = sign;
        }
        sentences.push((start, text.len()));
        let line = |at: usize| begins.iter().rev().find(|(begin, _)| *begin <= at).map_or(0, |(_, line)| *line);
        let sentence = |(from, to): (usize, usize)| Sentence { line: line(from), text: text[from..to].to_owned() };
        sentences.into_iter().map(sentence).collect()
    }

    /// The text in one line, with code as one word and links as their text, and where each of its lines begins.
    fn plain(&self) -> (String, Vec<(usize, usize)>) {
        let mut text = String::new();
        let mut begins = Vec::new();
        let mut code = false;
        for (number, line) in &self.lines {
            begins.push((text.len(), *number));
            let mut rest = line.trim();
            while let Some(sign) = rest.chars().next() {
                rest = &rest[sign.len_utf8()..];
                match sign {
                    '`' => {
                        code = !code;
                        if code {
                            text.push_str("code");
                        }
                    }
                    _ if code => {}
                    ']' if rest.starts_with('(') => {
                        rest = rest.split_once(')').map_or("", |(_, after)| after);
                    }
                    '*' | '[' => {}
                    _ => text.push(sign),
                }
            }
            if !code {
                text.push(' ');
            }
        }
        (text.trim_end().to_owned(), begins)
    }
}

/// Abbreviations that end with a full stop inside a sentence.
const ABBREVIATIONS: [&str; 7] = ["e.g.", "i.e.", "al.", "vs.", "cf.", "Sec.", "approx."];

fn ends_sentence(text: &str, last: char) -> bool {
    let last = if matches!(last, ')' | '"' | '”' | '’') {
        text.trim_end_matches([')', '"', '”', '’']).chars().last()
    } else {
        Some(last)
    };
    let ended = matches!(last, Some('.' | '!' | '?'));
    let word = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    ended && !ABBREVIATIONS.contains(&word.trim_start_matches('('))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(text: &str) -> Vec<String> {
        blocks(text).iter().flat_map(Block::sentences).map(|sentence| sentence.text).collect()
    }

    #[test]
    fn a_sentence_ends_at_its_sign_and_not_within_a_number_or_an_abbreviation() {
        assert_eq!(
            sentences("It is 1.5 ms.\nNext (see below.) Third"),
            ["It is 1.5 ms.", "Next (see below.)", "Third"]
        );
        assert_eq!(sentences("Cardwell et al. say so, e.g. here."), ["Cardwell et al. say so, e.g. here."]);
    }

    #[test]
    fn code_and_links_count_as_what_one_reads() {
        assert_eq!(sentences("See [the page](a/b.md#c) and `x. y z`."), ["See the page and code."]);
        assert_eq!(sentences("Code `over\ntwo lines` ends."), ["Code code ends."]);
    }

    #[test]
    fn a_block_of_code_ends_with_its_own_fence() {
        assert_eq!(sentences("```\n~~~\ntext\n```\nafter"), ["after"]);
    }

    #[test]
    fn the_line_of_a_sentence_is_where_it_begins() {
        let text = "One is\nhere. Two\nis there.";
        let lines: Vec<usize> = blocks(text)[0].sentences().iter().map(|sentence| sentence.line).collect();
        assert_eq!(lines, [1, 2]);
    }
}
