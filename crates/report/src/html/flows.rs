//! The flows one by one, where they are too many for rows on the page: a table that the script sorts and searches.

use serde_json::{Value, json};

use crate::charts::{self, Charts};
use crate::render::table;
use crate::summary::RecordingSummary;

/// Rows that a page holds at most, those that moved most data: two megabytes.
pub const MAX_LISTED: usize = 20_000;

/// What the script needs of the flows of a recording: name, algorithm, colour, why it is marked, its number among the drawn ones, and its
/// cells.
#[must_use]
pub fn listed(recording: &RecordingSummary, charts: &Charts) -> Value {
    if charts.groups.is_empty() {
        return Value::Null;
    }
    let mut order: Vec<usize> = (0..recording.flows.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(recording.flows[i].measures.acked_bytes));
    order.truncate(MAX_LISTED);
    let different = charts::different(recording);
    let drawn = |name: &str| charts.flows.iter().position(|flow| flow.name == name);
    let row = |i: usize| {
        let flow = &recording.flows[i];
        let why = different.iter().find(|(of, _)| *of == i).map(|(_, why)| *why);
        let mut row = vec![json!(flow.name), json!(flow.algorithm), json!(recording.color_of(flow))];
        row.extend([json!(why), json!(drawn(&flow.name))]);
        row.extend(table::cells(&flow.measures).map(Value::from));
        row
    };
    json!({ "all": recording.flows.len(), "rows": order.into_iter().map(row).collect::<Vec<_>>() })
}
