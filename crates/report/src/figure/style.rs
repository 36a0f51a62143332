//! How lines are told apart without colour: a dash and a marker each.

use plotters::prelude::*;
use plotters::style::{Color, ShapeStyle};

use super::sheet::{Area, Drawn, PT};

/// Lengths of dash and gap in units, in turn; nothing is a solid line.
const DASHES: [&[i32]; 6] = [&[], &[45, 18], &[12, 14], &[60, 16, 12, 16], &[28, 12], &[60, 14, 12, 14, 12, 14]];
/// Half the size of a marker.
const MARKER: i32 = 21;
/// Stroke of markers and of smooth lines.
pub const STROKE: u32 = 9;

/// What a line looks like. The number is that of the algorithm or flow in the report, so it has the same look in all figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Of the registry.
    pub color: RGBColor,
    /// Which dash and which marker.
    pub number: usize,
}

impl Look {
    /// A stroke of the line's colour.
    pub fn stroke(&self, width: u32) -> ShapeStyle {
        self.color.stroke_width(width)
    }

    /// The line's own dash; one that cannot be mistaken for another's while there are at most six.
    pub fn dash(&self) -> &'static [i32] {
        DASHES[self.number % DASHES.len()]
    }

    /// A line through points in units, dashed along its way.
    pub fn draw_dashed(&self, area: &Area<'_>, points: &[(i32, i32)], dash: &[i32], width: u32) -> Drawn {
        for piece in pieces(points, dash) {
            area.draw(&PathElement::new(piece, self.stroke(width)))?;
        }
        Ok(())
    }

    /// The line's marker, filled with white, at a point in units.
    pub fn draw_marker(&self, area: &Area<'_>, (x, y): (i32, i32)) -> Drawn {
        let m = MARKER;
        let at = |points: &[(i32, i32)]| points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
        let (stroke, whole) = (self.stroke(STROKE), self.color.filled());
        let closed = |points: &[(i32, i32)], filled: bool| -> Drawn {
            let mut outline = at(points);
            outline.push(outline[0]);
            area.draw(&Polygon::new(at(points), if filled { whole } else { WHITE.filled() }))?;
            area.draw(&PathElement::new(outline, stroke))
        };
        let crossed = |a: [(i32, i32); 2], b: [(i32, i32); 2]| -> Drawn {
            area.draw(&PathElement::new(at(&a), stroke))?;
            area.draw(&PathElement::new(at(&b), stroke))
        };
        let square = [(-m, -m), (m, -m), (m, m), (-m, m)];
        let (up, down) = ([(-m, m), (m, m), (0, -m)], [(-m, -m), (m, -m), (0, m)]);
        let diamond = [(0, -m - 4), (m + 4, 0), (0, m + 4), (-m - 4, 0)];
        match self.number % 8 {
            0 => {
                area.draw(&Circle::new((x, y), m, WHITE.filled()))?;
                area.draw(&Circle::new((x, y), m, stroke))
            }
            1 => closed(&square, false),
            2 => closed(&up, false),
            3 => closed(&diamond, false),
            4 => crossed([(-m, -m), (m, m)], [(-m, m), (m, -m)]),
            5 => closed(&down, true),
            6 => crossed([(-m, 0), (m, 0)], [(0, -m), (0, m)]),
            _ => closed(&square, true),
        }
    }
}

/// Cuts a line into its dashes.
fn pieces(points: &[(i32, i32)], dash: &[i32]) -> Vec<Vec<(i32, i32)>> {
    let Some((&first, rest)) = points.split_first() else { return Vec::new() };
    if dash.is_empty() {
        return vec![points.to_vec()];
    }
    let real = |(x, y): (i32, i32)| (f64::from(x), f64::from(y));
    let whole = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
    let mut pieces = vec![vec![first]];
    let (mut turn, mut left) = (0, f64::from(dash[0]));
    let mut at = real(first);
    for &point in rest {
        let to = real(point);
        loop {
            let length = (to.0 - at.0).hypot(to.1 - at.1);
            let drawn = turn % 2 == 0;
            if length <= left {
                left -= length;
                at = to;
                if drawn {
                    pieces.last_mut().expect("begins with one").push(whole(to));
                }
                break;
            }
            let share = left / length;
            at = (at.0 + (to.0 - at.0) * share, at.1 + (to.1 - at.1) * share);
            if drawn {
                pieces.last_mut().expect("begins with one").push(whole(at));
            } else {
                pieces.push(vec![whole(at)]);
            }
            turn = (turn + 1) % dash.len();
            left = f64::from(dash[turn]);
        }
    }
    pieces.retain(|piece| piece.len() > 1);
    pieces
}

/// Thin dashes of bounds and marks.
pub const FINE_DASH: [i32; 2] = [3 * PT, 15];
/// Dots of a second bound.
pub const DOTS: [i32; 2] = [8, 12];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_around_corners() {
        let corner = [(0, 0), (100, 0), (100, 50)];
        assert_eq!(pieces(&corner, &[]), [corner.to_vec()]);
        assert_eq!(pieces(&corner, &[80, 10]), [vec![(0, 0), (80, 0)], vec![(90, 0), (100, 0), (100, 50)]]);
        assert_eq!(pieces(&[(0, 0), (10, 0)], &[4, 4]), [vec![(0, 0), (4, 0)], vec![(8, 0), (10, 0)]]);
        assert!(pieces(&[], &[4, 4]).is_empty());
    }

    #[test]
    fn the_first_six_dashes_and_eight_markers_differ() {
        for (i, a) in DASHES.iter().enumerate() {
            assert!(DASHES[i + 1..].iter().all(|b| a != b), "{a:?}");
        }
    }
}
