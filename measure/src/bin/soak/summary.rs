//! The section of `docs/reliability.md`.

use crate::kills::Kills;
use crate::settings::Settings;
use crate::swaps::Swaps;
use crate::world::{ALGORITHMS, Ending};
use ccactl_testbed::traffic::checked::STATES;
use std::time::Duration;

pub fn markdown(settings: &Settings, swaps: &Swaps, kills: &Kills, ending: &Ending) -> String {
    let counts = &ending.finish.counts;
    let rows = [
        ("connections (half IPv6), sockets", format!("{}, {}", settings.connections, 2 * settings.connections)),
        ("seed", settings.seed.to_string()),
        ("swaps, among", format!("{}, {}", swaps.done, ALGORITHMS.join(", "))),
        ("sockets moved", swaps.moved.to_string()),
        ("verified / to be verified", format!("{} / {}", swaps.verified, swaps.to_verify)),
        ("iteration: median (smallest … largest)", spread(&swaps.iterations)),
        ("whole call: median (smallest … largest)", spread(&swaps.walls)),
        ("sockets not in state open right after a swap", percent(swaps.disturbed, swaps.to_verify)),
        ("kills", kills.by_action.values().map(|tally| tally.kills).sum::<u32>().to_string()),
        ("payload received and compared", format!("{:.1} GB", counts.received_bytes as f64 / 1e9)),
        ("segments sent again", kills.sample.retransmitted_pkts.max(swaps.sample.retransmitted_pkts).to_string()),
        ("wrong, missing or repeated bytes", counts.wrong_bytes.to_string()),
        ("complete streams", format!("{} of {}", ending.finish.complete_streams, 2 * settings.connections)),
        ("resets: seen by applications, counted by the kernel", format!("{}, {}", counts.resets, ending.kernel_resets)),
        (
            "smallest cwnd, of readings",
            format!("{} pkts, {}", counts.min_cwnd_pkts.unwrap_or_default(), counts.cwnd_readings),
        ),
        ("time", format!("{:.0} s", (swaps.elapsed + kills.elapsed).as_secs_f64())),
        ("faults", (swaps.faults.len() + kills.faults.len() + ending.faults.len()).to_string()),
    ];
    let mut text = String::from("| | |\n|---|---|\n");
    for (what, value) in rows {
        text += &format!("| {what} | {value} |\n");
    }
    text += "\n| killed command | usual duration | kills | ended before the kill | sockets had two algorithms |\n|---|---|---|---|---|\n";
    for (action, tally) in &kills.by_action {
        text += &format!(
            "| {} | {} | {} | {} | {} |\n",
            action.name(),
            millis(tally.usual),
            tally.kills,
            tally.too_late,
            tally.mixed
        );
    }
    let states: Vec<_> = kills.states.iter().map(|(state, count)| format!("{state} {count}")).collect();
    text + &format!("\n`status` called the policy after the kills: {}.\n", states.join(", "))
}

/// States of the congestion machine other than the first.
fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} % ({})", 100.0 * part as f64 / whole.max(1) as f64, STATES[1..].join(", "))
}

fn spread(values: &[Duration]) -> String {
    let mut values = values.to_vec();
    values.sort();
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return "—".to_owned() };
    format!("{} ({} … {})", millis(values[values.len() / 2]), millis(*first), millis(*last))
}

fn millis(value: Duration) -> String {
    format!("{:.1} ms", value.as_secs_f64() * 1e3)
}
