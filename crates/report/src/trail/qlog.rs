//! A trail as qlog (draft-ietf-quic-qlog-main-schema-13, draft-ietf-quic-qlog-quic-events-12), in its sequential form: the recovery
//! events of QUIC, which are about the same state. An event has what is new since the one before.

use serde_json::{Map, Value, json};

use super::{Change, Changed, Moment, Trail};

const RECORD_SEPARATOR: char = '\u{1e}';
const EVENTS: [&str; 2] = ["urn:ietf:params:qlog:events:quic-12", "urn:ietf:params:qlog:events:loglevel-13"];

/// Text of a `.sqlog` file.
#[must_use]
pub fn qlog(trail: &Trail) -> String {
    let head = json!({
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "JSON-SEQ",
        "title": trail.name,
        "description": "a TCP sender, recorded by ccactl; bytes are packets of a full segment",
        "trace": {
            "title": format!("{} with {}", trail.name, trail.algorithm),
            "vantage_point": { "name": "sender", "type": "unknown" },
            "event_schemas": EVENTS,
            "common_fields": {
                "time_format": "relative_to_epoch",
                "protocol_types": ["TCP"],
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown", "wall_clock_time": trail.started },
            },
        },
    });
    let mut out = record(&head);
    let mut changes = trail.changes.iter().peekable();
    let mut before: Option<(&Moment, Map<String, Value>)> = None;
    for moment in &trail.moments {
        while let Some(change) = changes.next_if(|change| change.t_us <= moment.t_us) {
            out += &record(&changed(change));
        }
        let lost = before.as_ref().map_or(0, |(last, _)| moment.lost_pkts.saturating_sub(last.lost_pkts));
        for _ in 0..lost {
            out += &record(&event(moment.t_us, "quic:packet_lost", json!({})));
        }
        let metrics = metrics(moment);
        let new =
            |(name, value): &(&String, &Value)| before.as_ref().is_none_or(|(_, last)| last.get(*name) != Some(value));
        let news: Map<String, Value> =
            metrics.iter().filter(new).map(|(name, value)| (name.clone(), value.clone())).collect();
        if !news.is_empty() {
            out += &record(&event(moment.t_us, "quic:recovery_metrics_updated", news.into()));
        }
        before = Some((moment, metrics));
    }
    out
}

fn record(value: &Value) -> String {
    format!("{RECORD_SEPARATOR}{value}\n")
}

fn event(t_us: u64, name: &str, data: Value) -> Value {
    json!({ "time": millis(t_us), "name": name, "data": data })
}

fn millis(us: u64) -> f64 {
    us as f64 / 1e3
}

fn changed(change: &Change) -> Value {
    match change.what {
        Changed::State => {
            let mut data = json!({ "new": change.to });
            if let Some(old) = &change.from {
                data["old"] = old.as_str().into();
            }
            event(change.t_us, "quic:congestion_state_updated", data)
        }
        Changed::Algorithm => {
            let from = change.from.as_deref().unwrap_or("none");
            event(change.t_us, "loglevel:info", json!({ "message": format!("algorithm: {from} → {}", change.to) }))
        }
    }
}

/// Times in ms, windows in bytes, rate in bit/s: the units of the draft.
fn metrics(moment: &Moment) -> Map<String, Value> {
    let bytes = |pkts: u64| pkts * moment.mss_bytes;
    let of = [
        ("min_rtt", moment.min_rtt_us.map(|us| millis(us).into())),
        ("smoothed_rtt", moment.srtt_us.map(|us| millis(us).into())),
        ("latest_rtt", moment.rtt_us.map(|us| millis(us).into())),
        ("congestion_window", Some(bytes(moment.cwnd_pkts).into())),
        ("bytes_in_flight", Some(bytes(moment.inflight_pkts).into())),
        ("ssthresh", moment.ssthresh_pkts.map(|pkts| bytes(pkts).into())),
        ("packets_in_flight", Some(moment.inflight_pkts.into())),
        ("pacing_rate", moment.pacing_rate_bps.map(Value::from)),
    ];
    of.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}
