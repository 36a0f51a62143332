//! The figures that the papers print, from the folder `published/`.

use super::{evidence, faults};
use std::sync::OnceLock;

/// A printed figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed {
    /// The number.
    pub value: f64,
    /// Its digits in print: `49.0`.
    pub text: &'static str,
    /// Why it cannot be right, if so.
    pub fault: Option<&'static str>,
    /// Which condition of `[as-printed]` was inferred from it, if so: it cannot confirm that condition as well.
    pub evidence: Option<&'static str>,
}

/// A table of `published/`.
#[derive(Debug)]
pub struct Sheet {
    /// Name of the file, without `.csv`.
    pub name: &'static str,
    columns: Vec<&'static str>,
    rows: Vec<Vec<&'static str>>,
}

macro_rules! sheets {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../published/", $name, ".csv")))),*]
    };
}

/// All of them; a test compares the list with the folder.
pub const SHEETS: &[(&str, &str)] =
    sheets!["p0_pairs", "p0_single_flow", "p1_single_flow", "p1_vs_cubic", "p2_rtt_ratio"];

/// Looks a sheet up.
///
/// # Panics
/// When there is none of this name, or it is no table: both are seen by the first test.
#[must_use]
pub fn sheet(name: &str) -> &'static Sheet {
    static ALL: OnceLock<Vec<Sheet>> = OnceLock::new();
    let all = ALL.get_or_init(|| SHEETS.iter().map(|(name, text)| parse(name, text)).collect());
    all.iter().find(|sheet| sheet.name == name).unwrap_or_else(|| panic!("published/{name}.csv is in the list"))
}

fn parse(name: &'static str, text: &'static str) -> Sheet {
    let cells = |line: &'static str| line.split(',').map(str::trim).collect::<Vec<_>>();
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let columns = cells(lines.next().expect("a table has a header"));
    let rows: Vec<_> = lines.map(cells).collect();
    assert!(rows.iter().all(|row| row.len() == columns.len()), "published/{name}.csv: a cell for each column");
    Sheet { name, columns, rows }
}

impl Sheet {
    /// The number in `column` of the row that has all of `keys`; `None` where the paper prints none.
    ///
    /// # Panics
    /// When there is no such column, or what stands there is no number.
    #[must_use]
    pub fn number(&self, keys: &[(&str, &str)], column: &str) -> Option<Printed> {
        let row = self.rows.iter().find(|row| keys.iter().all(|(key, value)| row[self.column(key)] == *value))?;
        let text = row[self.column(column)];
        if text.is_empty() {
            return None;
        }
        let value = text.parse().unwrap_or_else(|_| panic!("published/{}.csv, {column}: {text:?}", self.name));
        Some(Printed {
            value,
            text,
            fault: faults::of(self.name, keys, column),
            evidence: evidence::of(self.name, keys, column),
        })
    }

    /// How many numbers it has beside its first `keys` columns.
    #[must_use]
    pub fn numbers(&self, keys: usize) -> usize {
        self.rows.iter().flat_map(|row| &row[keys..]).filter(|cell| !cell.is_empty()).count()
    }

    fn column(&self, name: &str) -> usize {
        let position = self.columns.iter().position(|column| *column == name);
        position.unwrap_or_else(|| panic!("published/{}.csv has the column {name}", self.name))
    }
}
