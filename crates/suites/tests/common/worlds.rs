//! The world of each suite in which its orderings hold; where a paper prints numbers, they are these.

use super::world::{Place, World};
use ccactl_suites::results::Metric;

/// Figures that no ordering asks for.
const ANY: f64 = 1.0;

/// The world of a suite.
pub fn of(suite: &str) -> World {
    match suite {
        "interaction-single" => single,
        "interaction-pairs" => pairs,
        "interaction-rtt" => rtt,
        "interaction-late-joiner" => late_joiner,
        "fbbrv2-timeline" => |place, metric| match metric {
            Metric::Throughput => [8.0, 39.5][place.flow],
            _ => ANY,
        },
        "fbbrv2-rtprop" => |place, metric| match (metric, place.label("beside")) {
            (Metric::MinRttEstimate, "bbrv2") => 42.0,
            (Metric::MinRttEstimate, _) => 110.0,
            _ => ANY,
        },
        "fbbrv2-single" => |place, metric| match (metric, place.label("algorithm")) {
            (Metric::Throughput, "bbr") => 42.9,
            (Metric::Throughput, _) => 47.6,
            _ => ANY,
        },
        "fbbrv2-vs-cubic" => versus_cubic,
        "fbbrv2-beside" => |place, metric| match (metric, place.label("beside")) {
            (Metric::Jain, "cubic-fq-codel") => 1.0,
            (Metric::Throughput, _) => 24.0,
            _ => ANY,
        },
        "fbbrv2-staggered" => |_, metric| match metric {
            Metric::MinRttEstimate => 42.0,
            Metric::JainPerSecond => 0.9,
            _ => ANY,
        },
        "aca-estimator" => |place, metric| match metric {
            Metric::BandwidthEstimate => {
                place.window.split(' ').next().and_then(|left| left.parse().ok()).unwrap_or(ANY)
            }
            _ => ANY,
        },
        "aca-cwnd" => |place, metric| match (metric, place.label("algorithm")) {
            (Metric::Timeouts | Metric::Overflow, "aca") => 0.0,
            (Metric::Throughput, "aca") => 380.0,
            (Metric::Throughput, _) => 200.0,
            (Metric::Overflow, _) => 900.0,
            _ => ANY,
        },
        "aca-delivered" => |place, metric| match (metric, place.label("algorithm")) {
            (Metric::Delivered, "aca") => 24e6,
            (Metric::Delivered, _) => 12e6,
            _ => ANY,
        },
        "aca-loss" => |place, metric| match metric {
            Metric::Throughput => by_loss(place, [400.0, 395.0, 380.0, 200.0], [390.0, 350.0, 180.0, 45.0]),
            _ => ANY,
        },
        "aca-fairness" => |place, metric| match (metric, place.label("algorithm"), place.label("loss")) {
            (Metric::JainPerSecond, "aca", _) => 0.97,
            (Metric::JainPerSecond, _, "1e-6") => 0.85,
            (Metric::JainPerSecond, ..) => 0.75,
            _ => ANY,
        },
        "aca-throughput" => |place, metric| match metric {
            Metric::Delivered => by_loss(place, [7e6, 7e6, 6.5e6, 4e6], [7e6, 6.5e6, 4e6, 1e6]),
            _ => ANY,
        },
        "aca-friendliness" => |place, metric| match (metric, place.label("low_window")) {
            (Metric::Jain, "0") => 0.8,
            (Metric::Jain, _) => 0.99,
            _ => ANY,
        },
        "p4" | "p4-upload" => |place, metric| match (metric, place.label("remedy"), place.label("path")) {
            (Metric::Throughput, "none", "wifi-lossy") => 2.0,
            (Metric::Throughput, ..) => 20.0,
            (Metric::Rtt | Metric::Queueing, "none", _) => 300.0,
            (Metric::Rtt | Metric::Queueing, ..) => 40.0,
            (Metric::Completion, "none", _) => 2.0,
            (Metric::Completion, ..) => 0.5,
            _ => ANY,
        },
        "rivals" => |place, metric| match (metric, place.label("algorithm")) {
            (Metric::Throughput, "vegas") => [3.0, 90.0][place.flow],
            (Metric::Throughput, _) => [10.0, 80.0][place.flow],
            (Metric::Jain, _) => 0.95,
            _ => ANY,
        },
        "aca-rtt" => ratio,
        "bufferbloat" => bufferbloat,
        "rmem-sweep" => |place, metric| match (metric, place.label("rmem"), place.label("path")) {
            (Metric::Rtt, "196608", _) => 30.0,
            (Metric::Rtt, ..) => 300.0,
            (Metric::Throughput, "196608", "lte") => 40.0,
            (Metric::Throughput, ..) => 80.0,
            _ => ANY,
        },
        "wmem-sweep" => |place, metric| match (metric, place.label("wmem")) {
            (Metric::Rtt, "196608") => 30.0,
            (Metric::Rtt, _) => 300.0,
            (Metric::Throughput, _) => 20.0,
            _ => ANY,
        },
        "aqm" => |place, metric| match (metric, place.label("queue")) {
            (Metric::Rtt, "drop-tail") => 800.0,
            (Metric::Rtt, _) => 60.0,
            (Metric::Completion, "drop-tail") => 20.0,
            (Metric::Completion, _) => 5.0,
            _ => ANY,
        },
        other => panic!("the suite {other} has no world"),
    }
}

/// P0, table 1.
fn single(place: &Place<'_>, metric: Metric) -> f64 {
    let row = |rows: [[f64; 4]; 6]| {
        let names = ["reno", "cubic", "vegas", "new-vegas", "bbr", "veno"];
        rows[names.iter().position(|name| *name == place.label("algorithm")).expect("one of the six")]
    };
    let [throughput, retransmissions, cwnd, rtt] = match place.label("buffer") {
        "5bdp" => row([
            [92.9, 13.0, 407.0, 50.33],
            [92.9, 50.0, 455.0, 56.15],
            [92.8, 0.0, 78.0, 9.78],
            [92.8, 0.0, 116.0, 14.39],
            [91.2, 0.0, 175.0, 13.27],
            [92.9, 0.0, 376.0, 46.37],
        ]),
        _ => row([
            [92.5, 176.0, 124.0, 15.49],
            [92.8, 132.0, 138.0, 17.17],
            [92.8, 0.0, 78.0, 9.72],
            [92.8, 24.0, 104.0, 12.9],
            [91.2, 253.0, 174.0, 13.16],
            [92.8, 20.0, 125.0, 15.53],
        ]),
    };
    match metric {
        Metric::Throughput => throughput,
        Metric::Retransmissions => retransmissions,
        Metric::Cwnd => cwnd,
        Metric::Rtt => rtt,
        _ => ANY,
    }
}

/// Shares as in P0's appendix, in round numbers.
fn pairs(place: &Place<'_>, metric: Metric) -> f64 {
    let strength = |name: &str| match (name, place.label("buffer")) {
        ("vegas", _) => 1.0,
        ("new-vegas", _) => 8.0,
        ("veno", _) => 12.0,
        ("bbr", "0.8bdp") => 400.0,
        ("cubic", "5bdp") => 45.0,
        _ => 30.0,
    };
    let (own, other) = place.of_pair();
    let share = strength(own) / (strength(own) + strength(other));
    match metric {
        Metric::Throughput => 92.0 * share,
        Metric::Jain => 1.0 / (2.0 * (share * share + (1.0 - share) * (1.0 - share))),
        _ => ANY,
    }
}

fn rtt(place: &Place<'_>, metric: Metric) -> f64 {
    match (metric, place.label("algorithm"), place.window) {
        (Metric::Throughput, "bbr", _) => [10.0, 80.0][place.flow],
        (Metric::Throughput, ..) => [70.0, 20.0][place.flow],
        (Metric::JainPerSecond, "cubic", "first fifth") => 0.75,
        (Metric::JainPerSecond, "cubic", _) => 0.98,
        (Metric::Jain, ..) => 0.97,
        _ => ANY,
    }
}

fn late_joiner(place: &Place<'_>, metric: Metric) -> f64 {
    match (metric, place.label("algorithm"), place.window) {
        (Metric::Throughput, ..) if place.flow == 3 => 40.0,
        (Metric::Throughput, ..) => 17.0,
        (Metric::JainPerSecond, "vegas", "last fifth") => 0.8,
        (Metric::JainPerSecond, ..) => 0.98,
        (Metric::Convergence, ..) => 30.0,
        _ => ANY,
    }
}

fn versus_cubic(place: &Place<'_>, metric: Metric) -> f64 {
    let deep = matches!(place.label("buffer"), "2bdp" | "4bdp" | "7bdp");
    match (metric, place.label("algorithm")) {
        (Metric::Jain, "bbr") => 0.72,
        (Metric::Jain, "bbrv2") if deep => 0.70,
        (Metric::Jain, "f-bbrv2") if deep => 0.92,
        (Metric::Jain, _) => 0.98,
        (Metric::Throughput, "bbrv2") => [8.0, 39.5][place.flow],
        (Metric::Throughput, _) if matches!(place.label("buffer"), "0.5bdp" | "0.7bdp" | "1bdp" | "2bdp") => {
            [21.0, 27.0][place.flow]
        }
        (Metric::Throughput, _) => [18.0, 30.0][place.flow],
        _ => ANY,
    }
}

/// P2, table 1.
fn ratio(place: &Place<'_>, metric: Metric) -> f64 {
    let of = |ratios: [f64; 3]| match place.label("ratio") {
        "1" => ratios[0],
        "3" => ratios[1],
        _ => ratios[2],
    };
    let ratio = match place.label("algorithm") {
        "reno" => of([0.85, 11.51, 21.34]),
        "hstcp" => of([2.35, 13.66, 39.82]),
        _ => of([0.96, 1.66, 4.23]),
    };
    match metric {
        Metric::Throughput => [10.0 * ratio, 10.0][place.flow],
        _ => ANY,
    }
}

fn bufferbloat(place: &Place<'_>, metric: Metric) -> f64 {
    let large = place.label("buffer") == "10bdp";
    let slow = match place.label("algorithm") {
        "cubic" => 1.2,
        "reno" => 1.0,
        _ => 0.1,
    };
    match metric {
        Metric::Rtt if place.label("algorithm") == "bbr" => 60.0,
        Metric::Rtt => slow * if large { 900.0 } else { 250.0 },
        Metric::Completion => slow * if large { 20.0 } else { 8.0 },
        Metric::JainPerSecond => {
            if large {
                0.80
            } else {
                0.95
            }
        }
        Metric::Throughput => 0.6,
        _ => ANY,
    }
}

fn by_loss(place: &Place<'_>, aca: [f64; 4], hstcp: [f64; 4]) -> f64 {
    let place_of_loss = ["1e-7", "1e-6", "1e-5", "1e-4"].iter().position(|loss| *loss == place.label("loss"));
    let of = if place.label("algorithm") == "aca" { aca } else { hstcp };
    of[place_of_loss.expect("one of the four")]
}
