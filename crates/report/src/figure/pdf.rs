//! The PDF of a figure: the same SVG as vectors, with its font embedded, in the size that it has in print.

use svg2pdf::{ConversionOptions, PageOptions};

use super::tree::{CSS_PIXELS_PER_INCH, tree};
use crate::Error;

/// One page of an SVG that this crate drew, as large as the drawing.
///
/// # Errors
/// When the drawing has what PDF cannot hold.
pub fn pdf(svg: &str) -> Result<Vec<u8>, Error> {
    let tree = tree(svg)?;
    let page = PageOptions { dpi: CSS_PIXELS_PER_INCH as f32 };
    svg2pdf::to_pdf(&tree, ConversionOptions::default(), page)
        .map_err(|error| Error::Figure { reason: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::sheet::{self, Anchor, Width};
    use plotters::style::BLACK;

    #[test]
    fn a_column_is_three_and_a_half_inches_wide_and_text_stays_text() {
        let svg = sheet::svg(Width::Single.units(), 1000, "x", |area| {
            sheet::text(area, "cwnd [packets]", (100, 200), Anchor::Left, BLACK)
        });
        let pdf = String::from_utf8_lossy(&pdf(&svg).unwrap()).into_owned();
        assert!(pdf.starts_with("%PDF-1."), "{}", &pdf[..8]);
        // 3.5 inches of 72 points.
        assert!(pdf.contains("/MediaBox [0 0 252 "), "{pdf}");
        assert!(pdf.contains("Arimo") && pdf.contains("/ToUnicode"), "the font is embedded, and can be searched");
    }
}
