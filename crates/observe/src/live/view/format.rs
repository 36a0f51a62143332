//! Text and bars for narrow columns.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The end of a text that is too long, as paths and addresses differ there.
#[must_use]
pub fn elide(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else { return String::new() };
    std::iter::once('…').chain(text.chars().skip(length - kept)).collect()
}

/// Bars from `floor` (lowest bar) to `ceiling` (full); a gap is a blank.
#[must_use]
pub fn spark(values: &[Option<f32>], floor: f64, ceiling: f64) -> String {
    let bar = |value: f32| {
        let share = (f64::from(value) - floor) / (ceiling - floor).max(f64::MIN_POSITIVE);
        BLOCKS[((share * 7.0).round().clamp(0.0, 7.0)) as usize]
    };
    values.iter().map(|value| value.map_or(' ', bar)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        assert_eq!(elide("/web/app.service", 9), "….service");
        assert_eq!(
            (elide("short", 5), elide("longer", 1), elide("longer", 0)),
            ("short".into(), "…".into(), String::new())
        );
    }

    #[test]
    fn bars_reach_from_the_floor_to_the_ceiling() {
        let values = [Some(40.0), Some(60.0), None, Some(80.0), Some(90.0), Some(30.0)];
        assert_eq!(spark(&values, 40.0, 80.0), "▁▅ ██▁");
        assert_eq!(spark(&[Some(1.0)], 1.0, 1.0), "▁", "nothing to tell apart");
    }
}
