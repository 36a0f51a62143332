//! What is to be said about single printed figures.

/// About figures of the rows with these keys.
pub struct Remark {
    pub sheet: &'static str,
    pub row: &'static [(&'static str, &'static str)],
    pub columns: &'static [&'static str],
    pub text: &'static str,
}

impl Remark {
    /// What is said about a figure, if anything.
    pub fn on(all: &[Remark], sheet: &str, keys: &[(&str, &str)], column: &str) -> Option<&'static str> {
        let about = |remark: &&Remark| {
            remark.sheet == sheet && remark.columns.contains(&column) && remark.row.iter().all(|key| keys.contains(key))
        };
        all.iter().find(about).map(|remark| remark.text)
    }
}
