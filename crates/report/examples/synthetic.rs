//! Writes a recording that looks like a real one, to try tables and pages without root and without a network. It has
//! a BBR-like flow beside a loss-based sawtooth on a 50 Mbit/s link, one row per ACK.
//!
//! `cargo run --release -p ccactl-report --example synthetic -- OUT.parquet [SECONDS]`

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;

use common::{Fixture, Row};

const LINK_BPS: f64 = 50e6;
const BASE_RTT_US: f64 = 40_000.0;
const BUFFER_PKTS: f64 = 660.0;
const WIRE_BYTES: f64 = 1514.0;
const MSS_BYTES: f64 = 1448.0;
const STEP_US: u64 = 1000;
const BBR_CYCLE: [(&str, f64, u64); 4] =
    [("down", 0.75, 200_000), ("cruise", 1.0, 1_500_000), ("refill", 1.0, 80_000), ("up", 1.25, 300_000)];
const PROBE_RTT_EVERY_US: u64 = 5_000_000;
const PROBE_RTT_US: u64 = 200_000;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("usage: synthetic OUT.parquet [SECONDS]");
    let seconds: u64 = args.next().map_or(60, |text| text.parse().expect("SECONDS is a number"));
    let mut rows = simulate(seconds * 1_000_000);
    let count = rows.len();
    // As the recorder does: row groups follow each other in time, and each is sorted by flow.
    rows.sort_by_key(|row| row.t_us);
    rows.chunks_mut(Fixture::GROUP_ROWS).for_each(|group| group.sort_by_key(|row| (row.netns, row.flow_id)));
    fixture(rows, seconds).parquet(Path::new(&path));
    println!("{path}: {count} rows");
}

fn fixture(rows: Vec<Row>, seconds: u64) -> Fixture {
    let count = rows.len().to_string();
    Fixture::new(rows)
        .meta("started", "2026-11-20T18:00:00Z")
        .meta(
            "algorithms",
            r##"[{"kernel_name":"bpf_cubic","algorithm":"cubic","color":"#d55e00","modes":["slow-start","avoidance"]},
                {"kernel_name":"bbrv2","algorithm":"bbrv2","color":"#0072b2","modes":["startup","drain","down","cruise","refill","up","probe-rtt"]}]"##,
        )
        .meta(
            "flows",
            r#"[{"cgroup_id":101,"name":"left","algorithm":"bbrv2"},{"cgroup_id":102,"name":"right","algorithm":"cubic"}]"#,
        )
        .meta("link", r#"{"rate_bps":50000000,"base_rtt_us":40000,"buffer_bytes":1000000,"overhead_bytes":14}"#)
        .meta("scenario", "# synthetic: a fluid model, not a measurement\nrate = \"50 Mbit/s\"\nbuffer = \"4 BDP\"\n")
        .meta("duration_us", &(seconds * 1_000_000).to_string())
        .meta("rows", &count)
        .meta("drops", "0")
}

/// A flow of the fluid model.
struct Sender {
    cwnd: f64,
    delivered: f64,
    sent: f64,
    lost: f64,
    pending_rows: f64,
}

impl Sender {
    fn new() -> Sender {
        Sender { cwnd: 10.0, delivered: 0.0, sent: 0.0, lost: 0.0, pending_rows: 0.0 }
    }
}

fn simulate(end_us: u64) -> Vec<Row> {
    let (mut bbr, mut cubic) = (Sender::new(), Sender::new());
    let mut rows = Vec::new();
    let capacity_pkts = LINK_BPS / 8.0 / WIRE_BYTES * STEP_US as f64 / 1e6;
    let mut noise = 1u32;
    for t_us in (0..end_us).step_by(STEP_US as usize) {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let jitter_us = f64::from(noise >> 22);
        let (mode, gain) = bbr_phase(t_us);
        let in_pipe = LINK_BPS / 8.0 / WIRE_BYTES * BASE_RTT_US / 1e6;
        let queue = (bbr.cwnd * gain + cubic.cwnd - in_pipe).max(0.0);
        let rtt_us = BASE_RTT_US + queue.min(BUFFER_PKTS) * WIRE_BYTES * 8.0 / LINK_BPS * 1e6 + jitter_us;
        let share = bbr.cwnd * gain / (bbr.cwnd * gain + cubic.cwnd);
        let full = ((bbr.cwnd * gain + cubic.cwnd) / in_pipe).min(1.0);
        bbr.delivered += capacity_pkts * full * share;
        cubic.delivered += capacity_pkts * full * (1.0 - share);
        bbr.cwnd = if t_us < 400_000 { bbr.cwnd * 1.012 } else { bbr.cwnd + (160.0 - bbr.cwnd) * 0.001 };
        if queue > BUFFER_PKTS {
            cubic.lost += (queue - BUFFER_PKTS).max(20.0);
            bbr.lost += 4.0;
            cubic.cwnd *= 0.7;
        } else {
            cubic.cwnd += if t_us < 500_000 { cubic.cwnd * 0.008 } else { 22.0 / rtt_us * 1e3 };
        }
        emit(
            &mut rows,
            &mut bbr,
            Row { algorithm: "bbrv2", trace_mode: Some(mode), ..Row::at(1, t_us) },
            rtt_us,
            capacity_pkts * full * share,
        );
        let phase = if t_us < 500_000 { "slow-start" } else { "avoidance" };
        emit(
            &mut rows,
            &mut cubic,
            Row { trace_mode: Some(phase), ..Row::at(2, t_us) },
            rtt_us,
            capacity_pkts * full * (1.0 - share),
        );
    }
    rows
}

fn bbr_phase(t_us: u64) -> (&'static str, f64) {
    match t_us {
        0..400_000 => return ("startup", 1.0),
        400_000..600_000 => return ("drain", 0.5),
        _ => {}
    }
    if t_us % PROBE_RTT_EVERY_US < PROBE_RTT_US {
        return ("probe-rtt", 0.5);
    }
    let cycle_us: u64 = BBR_CYCLE.iter().map(|(_, _, us)| us).sum();
    let mut within = t_us % cycle_us;
    for (mode, gain, us) in BBR_CYCLE {
        if within < us {
            return (mode, gain);
        }
        within -= us;
    }
    unreachable!("the remainder is below the sum")
}

/// One row per delivered packet, all rows of a step within it.
fn emit(rows: &mut Vec<Row>, sender: &mut Sender, row: Row, rtt_us: f64, delivered: f64) {
    sender.pending_rows += delivered;
    let count = sender.pending_rows.floor();
    sender.pending_rows -= count;
    for i in 0..count as u64 {
        let acked = (sender.delivered - (count - i as f64) + 1.0).max(0.0);
        let retrans = sender.lost.floor();
        sender.sent = sender.sent.max(acked + sender.cwnd + retrans);
        rows.push(
            Row {
                t_us: row.t_us + i * STEP_US / (count as u64 + 1),
                cwnd_pkts: sender.cwnd as u32,
                retrans_pkts: retrans as u32,
                lost_pkts: retrans as u32,
                bytes_retrans: (retrans * MSS_BYTES) as u64,
                ..row.clone()
            }
            .bytes((sender.sent * MSS_BYTES) as u64, (acked * MSS_BYTES) as u64)
            .rtt(rtt_us as u32, acked as u32),
        );
    }
}
