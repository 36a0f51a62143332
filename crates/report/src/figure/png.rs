//! The PNG of a figure: the same SVG in pixels.

use resvg::tiny_skia;

use super::tree::{CSS_PIXELS_PER_INCH, tree};
use crate::Error;

/// What journals ask of pictures with text and lines.
pub const DOTS_PER_INCH: f64 = 300.0;
const METRES_PER_INCH: f64 = 0.0254;
/// Signature and IHDR of a PNG; pHYs may follow them.
const HEAD_BYTES: usize = 8 + 25;

/// Pixels of an SVG that this crate drew.
///
/// # Errors
/// When there is no memory for the pixels.
pub fn png(svg: &str) -> Result<Vec<u8>, Error> {
    let failed = |reason: String| Error::Figure { reason };
    let tree = tree(svg)?;
    let scale = (DOTS_PER_INCH / CSS_PIXELS_PER_INCH) as f32;
    let [width, height] = [tree.size().width(), tree.size().height()].map(|css| (css * scale).round() as u32);
    let mut pixels = tiny_skia::Pixmap::new(width, height)
        .ok_or_else(|| failed(format!("no memory for {width} × {height} pixels")))?;
    pixels.fill(tiny_skia::Color::WHITE);
    resvg::render(&tree, tiny_skia::Transform::from_scale(scale, scale), &mut pixels.as_mut());
    let plain = pixels.encode_png().map_err(|error| failed(error.to_string()))?;
    Ok(with_resolution(&plain))
}

/// Adds the chunk that tells a word processor how large the picture is.
fn with_resolution(png: &[u8]) -> Vec<u8> {
    let per_metre = (DOTS_PER_INCH / METRES_PER_INCH).round() as u32;
    let mut chunk = b"pHYs".to_vec();
    chunk.extend(per_metre.to_be_bytes());
    chunk.extend(per_metre.to_be_bytes());
    chunk.push(1);
    let mut out = png[..HEAD_BYTES].to_vec();
    out.extend((chunk.len() as u32 - 4).to_be_bytes());
    out.extend(&chunk);
    out.extend(crc32fast::hash(&chunk).to_be_bytes());
    out.extend(&png[HEAD_BYTES..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::sheet::{self, Anchor, Width};
    use plotters::style::BLACK;

    #[test]
    fn a_column_is_1050_pixels_wide_at_300_dots_per_inch() {
        let svg = sheet::svg(Width::Single.units(), 1000, "x", |_| Ok(()));
        let png = png(&svg).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!((pixels.width(), pixels.height()), (1050, 417));
        let at = png.windows(4).position(|w| w == b"pHYs").unwrap();
        assert_eq!(png[at + 4..at + 8], 11_811u32.to_be_bytes());
    }

    #[test]
    fn text_is_drawn_without_any_font_of_the_machine() {
        let dark = |text: &str| {
            let svg = sheet::svg(2520, 400, "x", |area| sheet::text(area, text, (100, 200), Anchor::Left, BLACK));
            let pixels = tiny_skia::Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
            pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
        };
        assert_eq!(dark(""), 0);
        assert!(dark("cwnd [packets] → µs ≥ ∞") > 1000);
    }
}
