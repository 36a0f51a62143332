//! The time-sequence figure of one flow, as readers of tcptrace know it: what was sent, what was acknowledged, where the windows end, and
//! what was sent again.

use plotters::prelude::*;

use super::axis::Axis;
use super::frame::{Entry, Frame, Labelled, Mark, legend_height};
use super::sheet::{self, Drawn, PT, Width};
use super::style::{FINE_DASH, Look, STROKE};
use crate::scale::US_PER_S;
use crate::trail::{Changed, Moment, Trail};

const HEIGHT: i32 = 190 * PT;
const THIN: u32 = 6;
/// A column of the figure has one step of each line.
const COLUMN: i32 = 3;
/// A window that ends farther above what was sent than this share of the figure is not drawn: it would press all else together.
const FAR: f64 = 0.5;

/// Okabe and Ito's colours, which most colour-blind readers tell apart.
const SENT: RGBColor = RGBColor(0x00, 0x00, 0x00);
const ACKED: RGBColor = RGBColor(0x00, 0x9e, 0x73);
const AGAIN: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const CWND: RGBColor = RGBColor(0x00, 0x72, 0xb2);
const WINDOW: RGBColor = RGBColor(0xe6, 0x9f, 0x00);

/// A line of positions.
struct Steps {
    name: &'static str,
    color: RGBColor,
    dash: &'static [i32],
    position: fn(&Moment) -> u64,
}

const LINES: [Steps; 4] = [
    Steps { name: "sent", color: SENT, dash: &[], position: |m| m.sent_bytes },
    Steps { name: "acknowledged", color: ACKED, dash: &[], position: |m| m.acked_bytes },
    Steps {
        name: "end of cwnd",
        color: CWND,
        dash: &FINE_DASH,
        position: |m| m.acked_bytes + m.cwnd_pkts * m.mss_bytes,
    },
    Steps {
        name: "end of receiver's window",
        color: WINDOW,
        dash: &FINE_DASH,
        position: |m| m.acked_bytes + m.window_bytes,
    },
];
const RETRANSMITTED: &str = "sent again";

/// The figure as SVG; the y axis begins with what was acknowledged when the trail begins.
#[must_use]
pub fn sequence(trail: &Trail, width: Width) -> String {
    let first = trail.moments.first().copied().unwrap_or_default();
    let last = trail.moments.last().copied().unwrap_or_default();
    let base = first.acked_bytes;
    let above = |position: u64| position.saturating_sub(base) as f64;
    let most = |line: &Steps| trail.moments.iter().map(|m| above((line.position)(m))).fold(0.0, f64::max);
    let sent = most(&LINES[0]).max(most(&LINES[1]));
    let drawn: Vec<&Steps> = LINES.iter().filter(|line| most(line) <= sent * (1.0 + FAR)).collect();
    let top = drawn.iter().map(|line| most(line)).fold(0.0, f64::max);
    let (unit, scale) = if top >= 2e6 { ("MB", 1e6) } else { ("kB", 1e3) };
    let y = Labelled::new(Axis::from_zero(top / scale, 5), format!("Position in the stream [{unit}]"));
    let x = Labelled::new(Axis::linear(seconds(first.t_us), seconds(last.t_us)), "Time [s]");
    let entry = |name: &str, color, dash, marker| {
        let look = Look { color, number: 4 };
        Entry { name: name.to_owned(), look, dash, marker }
    };
    let mut legend: Vec<Entry> = drawn.iter().map(|line| entry(line.name, line.color, line.dash, false)).collect();
    let is_again = |pair: &&[Moment]| pair[1].retrans_bytes > pair[0].retrans_bytes;
    if trail.moments.windows(2).any(|pair| is_again(&pair)) {
        legend.push(entry(RETRANSMITTED, AGAIN, &[], true));
    }
    let swaps = trail.changes.iter().filter(|change| change.what == Changed::Algorithm);
    let marks: Vec<Mark> =
        swaps.map(|change| Mark { at: seconds(change.t_us), name: format!("→ {}", change.to) }).collect();
    let height = HEIGHT + legend_height(&legend, width.units());
    sheet::svg(width.units(), height, &format!("time-sequence of {}", trail.name), |area| {
        let frame = Frame::draw(area, &x, &y, &legend, &marks)?;
        for line in &drawn {
            steps(&frame, &trail.moments, line, |position| above(position) / scale)?;
        }
        let look = Look { color: AGAIN, number: 4 };
        let mut marked = None;
        for pair in trail.moments.windows(2).filter(is_again) {
            let at = frame.at((seconds(pair[1].t_us), above(pair[1].acked_bytes) / scale));
            // One mark says as much as several on one spot.
            if marked != Some(at) {
                look.draw_marker(area, at)?;
                marked = Some(at);
            }
        }
        Ok(())
    })
}

fn seconds(t_us: u64) -> f64 {
    t_us as f64 / US_PER_S
}

fn steps(frame: &Frame<'_, '_>, moments: &[Moment], line: &Steps, y: impl Fn(u64) -> f64) -> Drawn {
    let mut points: Vec<(i32, i32)> = Vec::new();
    for moment in moments {
        let (px, py) = frame.at((seconds(moment.t_us), y((line.position)(moment))));
        match points.last() {
            // Within a column only where the line goes counts.
            Some(&(last_x, _)) if px - last_x < COLUMN => points.last_mut().expect("has one").1 = py,
            Some(&(_, last_y)) => points.extend([(px, last_y), (px, py)]),
            None => points.push((px, py)),
        }
    }
    let stroke = if line.dash.is_empty() { STROKE } else { THIN };
    Look { color: line.color, number: 0 }.draw_dashed(frame.area(), &points, line.dash, stroke)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trail(window_bytes: u64) -> Trail {
        let moment = |k: u64| Moment {
            t_us: k * 10_000,
            acked_bytes: k * 1448,
            sent_bytes: (k + 10) * 1448,
            retrans_bytes: if k > 50 { 1448 } else { 0 },
            window_bytes,
            cwnd_pkts: 10,
            mss_bytes: 1448,
            ..Moment::default()
        };
        Trail { name: "<a>".to_owned(), moments: (0..100).map(moment).collect(), ..Trail::default() }
    }

    #[test]
    fn what_was_sent_again_is_marked_and_a_window_that_is_far_is_left_out() {
        let svg = sequence(&trail(20_000), Width::Single);
        for name in ["sent", "acknowledged", "end of cwnd", "end of receiver", RETRANSMITTED, "[kB]"] {
            assert!(svg.contains(name), "{name}");
        }
        assert!(svg.contains("time-sequence of &lt;a&gt;"), "names are text");
        let far = sequence(&trail(6 << 20), Width::Single);
        assert!(far.contains("end of cwnd") && !far.contains("receiver"), "{far}");
        assert!(sequence(&Trail::default(), Width::Single).contains("</svg>"));
    }
}
