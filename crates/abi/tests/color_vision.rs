//! Whether the colours of algorithms that are often compared can be told apart by readers who see fewer colours.
//!
//! Colours are seen through the matrices of Machado, Oliveira and Fernandes (2009, "A physiologically-based model for
//! simulation of color vision deficiency", severity 1.0), applied to linear RGB, and compared by their distance in
//! CIE L*a*b*. With a colour for each of 34 algorithms some must come close: these pairs are named here, and every figure
//! gives each line a dash or a marker as well.

use ccactl_abi::{ALGORITHMS, Algorithm};

type Matrix = [[f64; 3]; 3];

/// What papers put into one figure.
const OFTEN_COMPARED: [&str; 10] =
    ["reno", "cubic", "bbr", "bbrv2", "bbrv3", "f-bbrv2", "vegas", "dctcp", "prague", "aca"];
/// Four to five times what is just noticed when two areas touch (2.3); lines do not touch.
const LEAST_DISTANCE: f64 = 10.0;
/// Pairs that only dash and marker tell apart, and for whom.
const CLOSE: [(&str, &str, &str); 5] = [
    ("bbrv2", "aca", "deuteranopia"),
    ("cubic", "prague", "full colour vision"),
    ("cubic", "prague", "protanopia"),
    ("cubic", "prague", "tritanopia"),
    ("reno", "aca", "protanopia"),
];

const VISIONS: [(&str, Matrix); 4] = [
    ("full colour vision", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    ("protanopia", [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    (
        "deuteranopia",
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    ),
    ("tritanopia", [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
];
/// Linear sRGB to XYZ over the white of D65 (IEC 61966-2-1).
const XYZ: Matrix =
    [[0.433_953, 0.376_219, 0.189_828], [0.212_673, 0.715_152, 0.072_175], [0.017_758, 0.109_477, 0.872_766]];

fn times(matrix: &Matrix, v: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
}

fn linear(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).expect("#rrggbb")) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// CIE L*a*b* of a colour of a screen.
fn lab(rgb: [f64; 3]) -> [f64; 3] {
    const EPSILON: f64 = 216.0 / 24_389.0;
    const KAPPA: f64 = 24_389.0 / 27.0;
    let root = |t: f64| if t > EPSILON { t.cbrt() } else { (KAPPA * t + 16.0) / 116.0 };
    let [x, y, z] = times(&XYZ, rgb.map(|part| part.clamp(0.0, 1.0))).map(root);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn distance(a: &str, b: &str, vision: &Matrix) -> f64 {
    let [a, b] = [a, b].map(|hex| lab(times(vision, linear(hex))));
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn the_distance_is_that_of_lab() {
    let full = &VISIONS[0].1;
    assert!((distance("#000000", "#FFFFFF", full) - 100.0).abs() < 0.1, "black and white are 100 apart in L*");
    // sRGB red is (53.24, 80.09, 67.20) in L*a*b*.
    let [l, a, b] = lab(linear("#FF0000"));
    assert!((l - 53.24).abs() < 0.1 && (a - 80.09).abs() < 0.2 && (b - 67.20).abs() < 0.2, "{l} {a} {b}");
    // Grey has no colour to lose.
    for (name, vision) in &VISIONS {
        let [_, a, b] = lab(times(vision, linear("#777777")));
        assert!(a.abs() < 0.2 && b.abs() < 0.2, "{name}: {a} {b}");
    }
}

#[test]
fn red_and_green_come_closer_to_a_deuteranope() {
    let [full, _, deutan, _] = &VISIONS;
    assert!(distance("#CC3311", "#228833", &deutan.1) < 0.5 * distance("#CC3311", "#228833", &full.1));
}

#[test]
fn algorithms_that_are_often_compared_differ_in_colour_or_are_known_to_be_close() {
    let color = |name: &str| Algorithm::by_name(name).unwrap_or_else(|| panic!("no algorithm {name}")).color;
    let mut close = Vec::new();
    for (i, a) in OFTEN_COMPARED.into_iter().enumerate() {
        for b in &OFTEN_COMPARED[i + 1..] {
            for (vision, matrix) in &VISIONS {
                if distance(color(a), color(b), matrix) < LEAST_DISTANCE {
                    close.push((a, *b, *vision));
                }
            }
        }
    }
    close.sort_unstable();
    assert_eq!(close, CLOSE, "choose another colour, or say here that only dash and marker tell these apart");
}

#[test]
fn no_two_algorithms_have_one_colour() {
    for (i, a) in ALGORITHMS.iter().enumerate() {
        for b in &ALGORITHMS[i + 1..] {
            assert_ne!(a.color, b.color, "{} and {}: give the newer one another CC_COLOR", a.name, b.name);
        }
    }
}
