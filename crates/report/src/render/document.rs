//! What is printed, before it is known how: headings, sentences and tables.

/// One piece of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Name of what follows.
    Heading(String),
    /// Sentences, one each.
    Facts(Vec<String>),
    /// What makes the figures less certain.
    Warning(String),
    /// Columns of figures.
    Table(Table),
    /// Something about the table before it.
    Note(String),
}

/// Names on the left, figures on the right.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Headings of the columns of names.
    pub names: Vec<String>,
    /// Heading and unit of each column of figures.
    pub figures: Vec<(String, String)>,
    /// The lines.
    pub lines: Vec<Line>,
}

/// A line of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A heading over the lines that follow.
    Section(String),
    /// Names and figures.
    Row(Vec<String>, Vec<String>),
}

impl Table {
    /// A table without lines.
    pub fn new(names: &[&str], figures: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) -> Table {
        Table {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            figures: figures.into_iter().map(|(heading, unit)| (heading.into(), unit.into())).collect(),
            lines: Vec::new(),
        }
    }

    /// Adds a line.
    pub fn row(&mut self, names: Vec<String>, figures: Vec<String>) {
        self.lines.push(Line::Row(names, figures));
    }

    /// Its lines without the headings among them.
    pub fn rows(&self) -> impl Iterator<Item = (&Vec<String>, &Vec<String>)> {
        self.lines.iter().filter_map(|line| match line {
            Line::Row(names, figures) => Some((names, figures)),
            Line::Section(_) => None,
        })
    }
}
