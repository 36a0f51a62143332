//! The text format, read back as far as tests need it.

use std::collections::BTreeMap;

/// One scrape.
pub struct Text {
    types: BTreeMap<String, String>,
    /// By name and labels as they are written.
    values: BTreeMap<String, f64>,
}

impl Text {
    pub fn parse(body: &str) -> Text {
        let mut text = Text { types: BTreeMap::new(), values: BTreeMap::new() };
        for line in body.lines() {
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').unwrap();
                assert!(text.types.insert(name.to_owned(), kind.to_owned()).is_none(), "{name} has two types");
            } else if !line.starts_with('#') {
                let (series, value) = line.rsplit_once(' ').unwrap();
                assert!(
                    text.values.insert(series.to_owned(), value.parse().unwrap()).is_none(),
                    "{series} is there twice"
                );
            }
        }
        text
    }

    pub fn value(&self, series: &str) -> f64 {
        *self.values.get(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.values.keys()))
    }

    pub fn find(&self, series: &str) -> Option<f64> {
        self.values.get(series).copied()
    }

    /// Over all label sets.
    pub fn sum(&self, name: &str) -> f64 {
        let of_name = self.values.iter().filter(|(series, _)| series.split('{').next() == Some(name));
        of_name.map(|(_, value)| value).sum()
    }

    pub fn families(&self) -> impl Iterator<Item = &str> {
        self.types.keys().map(String::as_str)
    }

    /// Whether a query may name it: a family, or one of the series of a histogram.
    pub fn has_family(&self, name: &str) -> bool {
        let of_histogram = ["_bucket", "_sum", "_count"].iter().find_map(|suffix| name.strip_suffix(suffix));
        self.types.contains_key(name)
            || of_histogram.is_some_and(|name| self.types.get(name).is_some_and(|t| t == "histogram"))
    }

    /// Buckets grow with their bounds, and the last of them is the count.
    pub fn check(&self) {
        for (name, _) in self.types.iter().filter(|(_, kind)| *kind == "histogram") {
            let mut by_labels: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
            for (series, value) in &self.values {
                let Some(labels) = series.strip_prefix(&format!("{name}_bucket{{")) else { continue };
                let (labels, bound) = labels.split_once(",le=\"").unwrap();
                let bound = bound.trim_end_matches("\"}").parse().unwrap();
                by_labels.entry(labels.to_owned()).or_default().push((bound, *value));
            }
            for (labels, mut buckets) in by_labels {
                buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
                assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{name} {labels}: {buckets:?}");
                let &(bound, count) = buckets.last().unwrap();
                assert!(
                    bound.is_infinite() && count == self.value(&format!("{name}_count{{{labels}}}")),
                    "{name} {labels}"
                );
            }
        }
    }

    /// No counter, and no bucket, is less than in an earlier scrape.
    pub fn check_not_behind(&self, earlier: &Text) {
        for (series, value) in &earlier.values {
            let name = series.split('{').next().unwrap();
            if self.types.get(name).is_none_or(|kind| kind != "gauge") {
                assert!(self.value(series) >= *value, "{series} went back");
            }
        }
    }
}
