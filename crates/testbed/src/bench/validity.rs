//! Whether a run may be counted: the emulator has to have kept time.

use crate::emulator::EmulatorReport;
use ccactl_scenario::LinkSpec;
use serde::Serialize;

/// Rates up to this one are emulated packet by packet, faster ones in ticks.
const PACKETWISE_BPS: u64 = 100_000_000;
/// A rate is not judged by less than this.
const SHORTEST_BACKLOG_S: f64 = 1.0;

/// What a valid run keeps to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Limits {
    /// 99th percentile of the lateness, links up to 100 Mbit/s.
    pub lateness_p99_us: f64,
    /// The same for faster links.
    pub fast_lateness_p99_us: f64,
    /// Difference between the rate while backlogged and the link's, as a share.
    pub rate_error: f64,
    /// Rows that the recorder may lose, as a share.
    pub recorder_loss: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { lateness_p99_us: 1_000.0, fast_lateness_p99_us: 5_000.0, rate_error: 0.01, recorder_loss: 0.01 }
    }
}

/// Rate error of a run, `None` when the bottleneck was not backlogged for long enough.
pub fn rate_error(emulator: &EmulatorReport, link: &LinkSpec) -> Option<f64> {
    emulator
        .achieved_rate_bps
        .filter(|_| emulator.backlogged_s >= SHORTEST_BACKLOG_S)
        .map(|bps| bps / link.rate.bps as f64 - 1.0)
}

/// What speaks against a run; nothing, if it is valid.
pub fn problems(
    limits: &Limits,
    link: &LinkSpec,
    emulator: &EmulatorReport,
    device_drops: u64,
    recorded: (u64, u64),
) -> Vec<String> {
    let mut problems = Vec::new();
    let p99_limit_us =
        if link.rate.bps <= PACKETWISE_BPS { limits.lateness_p99_us } else { limits.fast_lateness_p99_us };
    if emulator.lateness.p99_us > p99_limit_us {
        problems
            .push(format!("lateness p99 {:.0} us, expected at most {p99_limit_us:.0} us", emulator.lateness.p99_us));
    }
    if let Some(error) = rate_error(emulator, link).filter(|error| error.abs() > limits.rate_error) {
        let limit = limits.rate_error * 100.0;
        problems.push(format!("rate error {:+.2} %, expected at most {limit} %", error * 100.0));
    }
    for (count, what) in [
        (device_drops, "packets dropped by the devices"),
        (emulator.write_failures, "packets refused by the devices"),
        (emulator.read_failures, "errors when reading from the devices"),
        (emulator.pool_exhausted, "times out of packet memory"),
    ] {
        if count > 0 {
            problems.push(format!("{count} {what}, expected none"));
        }
    }
    let (rows, lost) = recorded;
    if lost as f64 > limits.recorder_loss * (rows + lost) as f64 {
        problems.push(format!(
            "{lost} of {} rows lost by the recorder, expected at most {} %",
            rows + lost,
            limits.recorder_loss * 100.0
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Lateness;
    use ccactl_scenario::Scenario;

    fn link(rate: &str) -> LinkSpec {
        let text = format!(
            "duration = \"1s\"\n[link]\nrate = \"{rate}\"\nbase_rtt = \"10ms\"\nbuffer = \"10p\"\n[[flow]]\nname = \"a\"\nalgorithm = \"native:reno\""
        );
        Scenario::parse("test.toml", &text).unwrap().link
    }

    fn good(rate_bps: f64) -> EmulatorReport {
        EmulatorReport {
            realtime: true,
            lateness: Lateness { packets: 1, p50_us: 10.0, p99_us: 900.0, p999_us: 3000.0, max_us: 9000.0 },
            flows: Vec::new(),
            achieved_rate_bps: Some(rate_bps * 1.005),
            backlogged_s: 5.0,
            queue_max_bytes: 0,
            queue_mean_bytes: 0.0,
            write_failures: 0,
            read_failures: 0,
            pool_exhausted: 0,
            stray_packets: 0,
        }
    }

    fn judge(link: &LinkSpec, report: &EmulatorReport, drops: u64, recorded: (u64, u64)) -> Vec<String> {
        problems(&Limits::default(), link, report, drops, recorded)
    }

    #[test]
    fn a_run_within_the_limits_is_valid() {
        assert_eq!(judge(&link("100Mbit/s"), &good(100e6), 0, (1000, 10)), Vec::<String>::new());
    }

    #[test]
    fn each_limit_is_a_reason_of_its_own() {
        let link = link("100Mbit/s");
        let late = Lateness { p99_us: 1001.0, ..good(100e6).lateness };
        let cases = [
            (EmulatorReport { lateness: late, ..good(100e6) }, 0, (1000, 0), "lateness"),
            (EmulatorReport { achieved_rate_bps: Some(98.9e6), ..good(100e6) }, 0, (1000, 0), "rate error -1.10 %"),
            (EmulatorReport { write_failures: 1, ..good(100e6) }, 0, (1000, 0), "refused"),
            (EmulatorReport { pool_exhausted: 1, ..good(100e6) }, 0, (1000, 0), "memory"),
            (EmulatorReport { read_failures: 1, ..good(100e6) }, 0, (1000, 0), "reading"),
            (good(100e6), 2, (1000, 0), "2 packets dropped"),
            (good(100e6), 0, (1000, 11), "rows lost"),
        ];
        for (report, drops, recorded, expected) in cases {
            let found = judge(&link, &report, drops, recorded);
            assert!(found.len() == 1 && found[0].contains(expected), "{expected}: {found:?}");
        }
    }

    #[test]
    fn a_fast_link_may_be_later_and_a_short_backlog_says_nothing_about_the_rate() {
        let late = Lateness { p99_us: 4000.0, ..good(1e9).lateness };
        let report = EmulatorReport { lateness: late, backlogged_s: 0.9, achieved_rate_bps: Some(1e8), ..good(1e9) };
        assert_eq!(judge(&link("1Gbit/s"), &report, 0, (0, 0)), Vec::<String>::new());
    }
}
