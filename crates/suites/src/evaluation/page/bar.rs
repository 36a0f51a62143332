//! A row as a drawing: where its difference from CUBIC lies, in margins. Left of the band is worse, right of it better.

use crate::evaluation::{Row, Verdict};

const WIDTH: f64 = 150.0;
/// So that a dot at the edge is whole.
const EDGE: f64 = 4.0;
const HEIGHT: f64 = 16.0;
/// Margins that fit on either side; what is farther off stands at the edge.
const MOST: f64 = 5.0;

/// SVG; empty when nothing was measured.
pub fn svg(row: &Row) -> String {
    let Some((gain, margin)) = row.gain.zip(row.margin.filter(|margin| *margin > 0.0)) else { return String::new() };
    let x = |margins: f64| EDGE + (margins.clamp(-MOST, MOST) / MOST + 1.0) / 2.0 * (WIDTH - 2.0 * EDGE);
    let half = gain.half.unwrap_or(0.0);
    let at = |value: f64| x(value / margin);
    let class = match row.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        _ => "even",
    };
    let (middle, low, high) = (HEIGHT / 2.0, at(gain.mean - half), at(gain.mean + half));
    format!(
        "<svg class=\"bar {class}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" role=\"img\" aria-label=\"{label}\">\
         <rect class=\"band\" x=\"{band:.1}\" y=\"1\" width=\"{band_width:.1}\" height=\"{band_height}\"/>\
         <line class=\"zero\" x1=\"{zero:.1}\" y1=\"0\" x2=\"{zero:.1}\" y2=\"{HEIGHT}\"/>\
         <line class=\"interval\" x1=\"{low:.1}\" y1=\"{middle}\" x2=\"{high:.1}\" y2=\"{middle}\"/>\
         <circle cx=\"{dot:.1}\" cy=\"{middle}\" r=\"3.5\"/></svg>",
        label = row.verdict.word(),
        band = x(-1.0),
        band_width = x(1.0) - x(-1.0),
        band_height = HEIGHT - 2.0,
        zero = x(0.0),
        dot = at(gain.mean),
    )
}
