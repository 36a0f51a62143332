//! What a recording was made with: the recorder's settings and the tunables of its algorithms.

use super::escape::text;
use crate::summary::RecordingSummary;
use ccactl_recording::read::{AlgorithmInfo, Metadata};

/// A list to be unfolded; nothing when the recording says nothing.
pub fn section(metadata: &Metadata, summary: &RecordingSummary) -> String {
    let mut lines: Vec<(String, String)> = Vec::new();
    let mut line = |name: &str, value: Option<String>| {
        lines.extend(value.filter(|value| !value.is_empty()).map(|value| (name.to_owned(), value)));
    };
    line("Kernel of the sender", metadata.kernel.clone());
    line("Recorder", metadata.writer.as_ref().map(|version| format!("ccactl {version}")));
    line("A row per", metadata.every.clone());
    line("Filter", metadata.filter.clone());
    for algorithm in &summary.algorithms {
        let info = metadata.algorithms.iter().flatten().find(|info| info.kernel_name == algorithm.kernel_name);
        line(&format!("Tunables of {}", algorithm.algorithm), info.map(tunables));
    }
    if lines.is_empty() {
        return String::new();
    }
    let list: String =
        lines.iter().map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", text(name), text(value))).collect();
    format!("<details>\n<summary>Parameters</summary>\n<dl class=\"parameters\">\n{list}</dl>\n</details>\n")
}

/// `beta 0.7, fast_convergence 1`
fn tunables(info: &AlgorithmInfo) -> String {
    let values = info.tunables.as_object().into_iter().flatten();
    let plain = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    values.map(|(name, value)| format!("{name} {}", plain(value))).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunables_are_listed_as_the_user_sets_them() {
        let tunables_json = serde_json::json!({"beta": "0.7", "fast_convergence": 1});
        let info = AlgorithmInfo { tunables: tunables_json, ..Default::default() };
        assert_eq!(tunables(&info), "beta 0.7, fast_convergence 1");
        assert_eq!(tunables(&AlgorithmInfo::default()), "");
    }
}
