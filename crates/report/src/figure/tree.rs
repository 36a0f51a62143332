//! An SVG that this crate drew, read with the font that is embedded here and with no other.

use std::sync::Arc;

use resvg::usvg::{self, fontdb};

use crate::Error;

const FONT: &[u8] = include_bytes!("../../assets/fonts/Arimo-subset.ttf");
const FAMILY: &str = "Arimo";
/// usvg measures inches in these.
pub const CSS_PIXELS_PER_INCH: f64 = 96.0;

/// Everything that the SVG draws.
///
/// # Errors
/// When it is none.
pub fn tree(svg: &str) -> Result<usvg::Tree, Error> {
    let mut fonts = fontdb::Database::new();
    fonts.load_font_source(fontdb::Source::Binary(Arc::new(FONT)));
    let options = usvg::Options { fontdb: Arc::new(fonts), font_family: FAMILY.to_owned(), ..Default::default() };
    usvg::Tree::from_str(svg, &options).map_err(|error| Error::Figure { reason: error.to_string() })
}
