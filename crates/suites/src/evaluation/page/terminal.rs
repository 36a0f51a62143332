//! The card on a terminal: what it comes to in the first line.

use super::{estimate_text, measure_text, method, verdict_text};
use crate::evaluation::Card;
use ccactl_host::table::{self, Side};

/// The whole card; tables keep to the width as far as they can.
#[must_use]
pub fn text(card: &Card, width: Option<usize>) -> String {
    let mut out = format!("{}\n{}.\n", card.headline, card.counts());
    card.warnings.iter().for_each(|warning| out.push_str(&format!("{warning}\n")));
    let head = ["RFC 9743", "path", "figure", &card.algorithm, "CUBIC", "verdict"].map(str::to_owned).to_vec();
    let mut lines = vec![head];
    for group in &card.groups {
        for (i, row) in group.rows.iter().enumerate() {
            let section = if i == 0 { group.section.number } else { "" };
            lines.push(vec![
                section.to_owned(),
                row.path.to_owned(),
                measure_text(row),
                estimate_text(row.measure, row.subject.as_ref()),
                estimate_text(row.measure, row.cubic.as_ref()),
                verdict_text(row),
            ]);
        }
    }
    let side = |column| if matches!(column, 3 | 4) { Side::Right } else { Side::Left };
    out.push_str(&format!("\n{}\n", table::grid(&lines, side, width)));
    method(card).iter().for_each(|line| out.push_str(&format!("{line}\n")));
    out
}
