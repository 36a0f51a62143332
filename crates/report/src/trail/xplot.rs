//! A trail as a drawing for xplot and jPlot, with the colours that tcptrace gives: white what was sent, green what was acknowledged,
//! yellow the end of the receiver's window, red what was sent again.

use std::fmt::Write as _;

use super::Trail;

/// Text of an `.xpl` file: seconds since the start of the recording, and positions in bytes.
#[must_use]
pub fn xplot(trail: &Trail) -> String {
    let title = trail.name.replace(['\n', '\r'], " ");
    let mut out = format!("double double\ntitle\n{title}\nxlabel\ntime (s)\nylabel\nposition (bytes)\n");
    for pair in trail.moments.windows(2) {
        let ([from, to], [a, b]) = ([pair[0].t_us, pair[1].t_us].map(seconds), [&pair[0], &pair[1]]);
        if b.sent_bytes > a.sent_bytes {
            line(&mut out, "white", (&to, a.sent_bytes), (&to, b.sent_bytes));
        }
        if b.retrans_bytes > a.retrans_bytes {
            let again = b.retrans_bytes - a.retrans_bytes;
            line(&mut out, "red", (&to, b.acked_bytes), (&to, b.acked_bytes + again));
        }
        let edge = |moment: &super::Moment| moment.acked_bytes + moment.window_bytes;
        for (color, before, after) in [("green", a.acked_bytes, b.acked_bytes), ("yellow", edge(a), edge(b))] {
            line(&mut out, color, (&from, before), (&to, before));
            if after != before {
                line(&mut out, color, (&to, before), (&to, after));
            }
        }
    }
    out.push_str("go\n");
    out
}

fn line(out: &mut String, color: &str, (x1, y1): (&str, u64), (x2, y2): (&str, u64)) {
    writeln!(out, "{color}\nline {x1} {y1} {x2} {y2}").expect("text goes to memory");
}

fn seconds(t_us: u64) -> String {
    format!("{}.{:06}", t_us / 1_000_000, t_us % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::super::Moment;
    use super::*;

    #[test]
    fn sent_acknowledged_window_and_what_was_sent_again_have_their_lines() {
        let at = |t_us, acked_bytes, sent_bytes, retrans_bytes| Moment {
            t_us,
            acked_bytes,
            sent_bytes,
            retrans_bytes,
            window_bytes: 1000,
            ..Moment::default()
        };
        let moments = vec![at(0, 0, 0, 0), at(1_500_000, 0, 300, 0), at(1_500_001, 100, 300, 50)];
        let text = xplot(&Trail { name: "a\nb".to_owned(), moments, ..Trail::default() });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(&lines[..7], ["double double", "title", "a b", "xlabel", "time (s)", "ylabel", "position (bytes)"]);
        let drawn: Vec<String> = lines[7..lines.len() - 1].chunks(2).map(|pair| pair.join(" ")).collect();
        let expected = [
            "white line 1.500000 0 1.500000 300",
            "green line 0.000000 0 1.500000 0",
            "yellow line 0.000000 1000 1.500000 1000",
            "red line 1.500001 100 1.500001 150",
            "green line 1.500000 0 1.500001 0",
            "green line 1.500001 0 1.500001 100",
            "yellow line 1.500000 1000 1.500001 1000",
            "yellow line 1.500001 1000 1.500001 1100",
        ];
        assert_eq!(drawn, expected);
        assert_eq!(lines.last(), Some(&"go"));
    }
}
