//! Colours of the registry on light and on dark backgrounds.

use plotters::style::RGBColor;

/// What a colour that is none becomes.
const UNKNOWN: RGBColor = RGBColor(0x77, 0x77, 0x77);
/// Contrast of 3 to 1 against black pages (`#0d1117` and darker), as WCAG 2.1 asks of graphics.
const LEAST_LUMINANCE: f64 = 0.12;
const STEPS: u32 = 20;

/// `#rrggbb`
pub fn parse(text: &str) -> RGBColor {
    let part = |range| text.get(range).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    match (part(1..3), part(3..5), part(5..7)) {
        (Some(red), Some(green), Some(blue)) if text.starts_with('#') && text.len() == 7 => RGBColor(red, green, blue),
        _ => UNKNOWN,
    }
}

/// As the SVG writer spells it.
pub fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// The colour mixed with as much white as it needs to be seen on a dark background; `None` when it needs none.
pub fn on_dark(color: RGBColor) -> Option<RGBColor> {
    let mixed = |step| mix_with_white(color, f64::from(step) / f64::from(STEPS));
    if luminance(color) >= LEAST_LUMINANCE {
        None
    } else {
        (1..=STEPS).map(mixed).find(|c| luminance(*c) >= LEAST_LUMINANCE)
    }
}

/// Shades of one colour: below 0 the share of black, above of white. A light one would vanish with white.
const SHADES: [f64; 6] = [0.0, -0.42, 0.45, -0.2, 0.25, -0.62];
const SHADES_OF_LIGHT: [f64; 6] = [0.0, -0.45, -0.25, -0.6, -0.12, -0.35];
const LIGHT: f64 = 0.25;

/// The colour of the second, third … line of an algorithm, from the seventh on as before.
pub fn shade(color: RGBColor, rank: usize) -> RGBColor {
    let shades = if luminance(color) < LIGHT { SHADES } else { SHADES_OF_LIGHT };
    let share = shades[rank % shades.len()];
    if share < 0.0 { mix_with_black(color, -share) } else { mix_with_white(color, share) }
}

fn mix_with_black(RGBColor(red, green, blue): RGBColor, black: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) * (1.0 - black)).round() as u8;
    RGBColor(mix(red), mix(green), mix(blue))
}

fn mix_with_white(RGBColor(red, green, blue): RGBColor, white: f64) -> RGBColor {
    let mix = |part: u8| (f64::from(part) + (255.0 - f64::from(part)) * white).round() as u8;
    RGBColor(mix(red), mix(green), mix(blue))
}

/// Relative luminance of WCAG 2.1.
pub fn luminance(RGBColor(red, green, blue): RGBColor) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/// Ends of the scale of [`diverging`]: Okabe and Ito's vermilion and blue, which no colour blindness makes alike.
const LOW: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
const HIGH: RGBColor = RGBColor(0x00, 0x72, 0xb2);

/// A share of two as a colour: white when it is half, vermilion towards nothing, blue towards everything.
pub fn diverging(share: f64) -> RGBColor {
    let distance = (share.clamp(0.0, 1.0) - 0.5) * 2.0;
    mix_with_white(if distance < 0.0 { LOW } else { HIGH }, 1.0 - distance.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_written() {
        assert_eq!(hex(parse("#0072b2")), "#0072B2");
        for bad in ["", "#12345", "0072b2#", "#zz0000", "rgb(1,2,3)", "#ééé"] {
            assert_eq!(parse(bad), UNKNOWN, "{bad}");
        }
    }

    #[test]
    fn six_lines_of_an_algorithm_differ_and_none_is_near_black_or_white() {
        // Of a pair, the largest difference in one of red, green and blue.
        let distance = |a: RGBColor, b: RGBColor| {
            [a.0.abs_diff(b.0), a.1.abs_diff(b.1), a.2.abs_diff(b.2)].into_iter().max().unwrap()
        };
        for base in ["#0072b2", "#d55e00", "#ddaa33", "#332288", "#117733"] {
            let color = parse(base);
            assert_eq!(shade(color, 0), color);
            let shades: Vec<RGBColor> = (0..SHADES.len()).map(|rank| shade(color, rank)).collect();
            for (i, &one) in shades.iter().enumerate() {
                assert!(distance(one, RGBColor(0, 0, 0)) >= 0x28 && luminance(one) < 0.6, "{base} {i}");
                for (j, &other) in shades.iter().enumerate().skip(i + 1) {
                    assert!(distance(one, other) >= 20, "{base} {i} {j}: {one:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn a_fair_share_is_white_and_the_ends_are_not_alike() {
        assert_eq!([diverging(0.5), diverging(0.0), diverging(1.0)], [RGBColor(255, 255, 255), LOW, HIGH]);
    }

    #[test]
    fn only_dark_colours_are_lightened() {
        assert_eq!(on_dark(parse("#DDAA33")), None);
        for dark in ["#332288", "#661100", "#004488"] {
            let light = on_dark(parse(dark)).expect("too dark");
            assert!(luminance(light) >= LEAST_LUMINANCE, "{dark}");
        }
    }
}
