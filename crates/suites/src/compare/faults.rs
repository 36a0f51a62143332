//! Printed figures that cannot be right, each with the reason. They are shown, and marked instead of matched.

use super::remark::Remark;

const FAULTS: &[Remark] = &[
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "Reno"), ("algorithm_2", "Reno")],
        columns: &["throughput_1_mbps", "throughput_2_mbps"],
        text: "the sum, 94.5 Mbit/s, is above that of every other pair (about 92.9)",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "Reno"), ("algorithm_2", "Reno")],
        columns: &["mean_cwnd_1_mss", "mean_cwnd_2_mss", "mean_rtt_1_ms", "mean_rtt_2_ms"],
        text: "the same numbers as in the cell of BBR and BBR; two Reno flows that fill 5 BDP have about 200 packets each and 50 to 60 ms",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "Vegas"), ("algorithm_2", "Vegas")],
        columns: &["mean_cwnd_2_mss", "mean_rtt_2_ms"],
        text: "does not fit a throughput of 48.1 Mbit/s beside a flow that sees 10.5 ms on the same queue",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "Reno"), ("algorithm_2", "Vegas")],
        columns: &["mean_rtt_2_ms"],
        text: "its packets waited in the same queue as those of Reno, which saw 50.3 ms",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "CUBIC"), ("algorithm_2", "Vegas")],
        columns: &["mean_rtt_2_ms"],
        text: "its packets waited in the same queue as those of CUBIC, which saw 56.7 ms",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "0.8"), ("algorithm_1", "BBR"), ("algorithm_2", "Veno")],
        columns: &["mean_cwnd_2_mss"],
        text: "4.84 Mbit/s at 18.5 ms are 8 packets",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "Reno"), ("algorithm_2", "Vegas")],
        columns: &["jain_index"],
        text: "the printed throughputs give 0.53723",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "5"), ("algorithm_1", "NewVegas"), ("algorithm_2", "NewVegas")],
        columns: &["jain_index"],
        text: "the printed throughputs give 0.99903",
    },
    Remark {
        sheet: "p0_pairs",
        row: &[("buffer_bdp", "0.8"), ("algorithm_1", "Reno"), ("algorithm_2", "Veno")],
        columns: &["mean_cwnd_1_mss"],
        text: "printed as 93 above and as 92 below the diagonal",
    },
    Remark {
        sheet: "p1_vs_cubic",
        row: &[("buffer_bdp", "4"), ("algorithm", "BBRv2")],
        columns: &["throughput_gap_mbps"],
        text: "printed as 31.5, which fits the Jain index of 0.70, and elsewhere as 19, which fits the 35 % that F-BBRv2 is said to take off",
    },
];

/// Why a figure cannot be right.
pub fn of(sheet: &str, keys: &[(&str, &str)], column: &str) -> Option<&'static str> {
    Remark::on(FAULTS, sheet, keys, column)
}
