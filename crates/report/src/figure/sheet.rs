//! The paper under a figure: its size in points, text in the embedded font, and the SVG around what plotters drew.
//!
//! plotters places everything on whole units, so a point has ten of them.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::html::escape;

/// Units of the drawing per point (1/72 in).
pub const PT: i32 = 10;
/// Size of all text; what a caption in a two-column paper has, or a point less.
pub const TEXT_PT: f64 = 7.5;
/// The fallbacks have the widths of Arimo.
const FAMILIES: &str = "Arimo, Liberation Sans, Arial, Helvetica, sans-serif";
/// The SVG backend of plotters divides every size by this.
const BACKEND_SIZE: f64 = 1.24;
const EMBEDDED: &str = include_str!("../../assets/fonts/Arimo-subset.woff2.base64");
const UNITS_PER_INCH: f64 = 72.0 * PT as f64;

/// A drawing area in units.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What drawing gives: nothing, as text takes whatever is drawn into it.
pub type Drawn = Result<(), DrawingAreaErrorKind<std::io::Error>>;

/// Width of a figure in a two-column paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Width {
    /// One column, 3.5 in.
    #[default]
    Single,
    /// Both columns, 7.16 in (IEEE; ACM has 7 in).
    Double,
}

impl Width {
    /// In units.
    pub fn units(self) -> i32 {
        match self {
            Width::Single => 252 * PT,
            Width::Double => 515 * PT,
        }
    }
}

/// Lets `draw` draw on a white sheet and gives the SVG. `title` is for screen readers; a paper has its own caption.
pub fn svg(width: i32, height: i32, title: &str, draw: impl FnOnce(&Area<'_>) -> Drawn) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (width as u32, height as u32)).into_drawing_area();
        area.fill(&WHITE)
            .and_then(|()| draw(&area))
            .and_then(|()| area.present())
            .expect("text takes whatever is drawn into it");
    }
    let end_of_tag = svg.find('>').expect("an SVG starts with its tag") + 1;
    let inches = |units: i32| f64::from(units) / UNITS_PER_INCH;
    format!(
        "<svg width=\"{:.3}in\" height=\"{:.3}in\" viewBox=\"0 0 {width} {height}\" xmlns=\"http://www.w3.org/2000/svg\" role=\"img\">\n\
         <title>{}</title>\n\
         <style>@font-face{{font-family:Arimo;src:url(data:font/woff2;base64,{EMBEDDED})}}\
         polyline{{stroke-linejoin:round}}</style>{}",
        inches(width),
        inches(height),
        escape::text(title),
        &svg[end_of_tag..]
    )
}

/// Where text stands relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Begins at it.
    Left,
    /// Is centred on it.
    Center,
    /// Ends at it.
    Right,
}

/// A line of text whose middle is at the height of `at`.
pub fn text(area: &Area<'_>, text: &str, at: (i32, i32), anchor: Anchor, color: RGBColor) -> Drawn {
    area.draw(&Text::new(text.to_owned(), at, style(anchor, color, FontTransform::None)))
}

/// Text from bottom to top, centred on `at`.
pub fn upright(area: &Area<'_>, text: &str, at: (i32, i32), color: RGBColor) -> Drawn {
    area.draw(&Text::new(text.to_owned(), at, style(Anchor::Center, color, FontTransform::Rotate270)))
}

fn style(anchor: Anchor, color: RGBColor, transform: FontTransform) -> TextStyle<'static> {
    let horizontal = match anchor {
        Anchor::Left => HPos::Left,
        Anchor::Center => HPos::Center,
        Anchor::Right => HPos::Right,
    };
    (FAMILIES, TEXT_PT * f64::from(PT) * BACKEND_SIZE)
        .into_font()
        .transform(transform)
        .color(&color)
        .pos(Pos::new(horizontal, VPos::Center))
}

/// About how wide a text is, in units: enough to keep names of a legend apart.
pub fn text_width(text: &str) -> i32 {
    // Widths of Arimo in 1/1000 em, by kind of letter.
    let em = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 222,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'f' | 't' | 'I' | '/' | '[' | ']' => 278,
        'r' | '(' | ')' | '-' => 333,
        'm' | 'M' => 833,
        'w' => 722,
        'W' => 944,
        '→' | '←' | '…' => 1000,
        'A'..='Z' => 700,
        _ => 556,
    };
    let width: i32 = text.chars().map(em).sum();
    (f64::from(width) / 1000.0 * TEXT_PT * f64::from(PT)).ceil() as i32
}
