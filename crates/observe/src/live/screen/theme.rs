//! Colours, where the terminal has them. Nothing is told by colour alone.

use ratatui::style::{Color, Modifier, Style};

/// How many colours may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Theme {
    /// None: `NO_COLOR`, or a terminal of which nothing better is known.
    Plain,
    /// The 6 × 6 × 6 cube of xterm.
    Indexed,
    /// Any.
    True,
}

impl Theme {
    /// What this terminal can do, by its environment variables.
    #[must_use]
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Theme {
        let has = |name: &str, part: &str| variable(name).is_some_and(|value| value.contains(part));
        if variable("NO_COLOR").is_some_and(|value| !value.is_empty()) {
            Theme::Plain
        } else if has("COLORTERM", "truecolor") || has("COLORTERM", "24bit") {
            Theme::True
        } else if has("TERM", "256color") {
            Theme::Indexed
        } else {
            Theme::Plain
        }
    }

    /// A colour `#rrggbb` of the registry.
    #[must_use]
    pub fn color(self, hex: &str) -> Style {
        match (self, parse(hex)) {
            (Theme::Plain, _) | (_, None) => Style::new(),
            (Theme::Indexed, Some(rgb)) => Style::new().fg(Color::Indexed(nearest_index(rgb))),
            (Theme::True, Some([red, green, blue])) => Style::new().fg(Color::Rgb(red, green, blue)),
        }
    }

    /// Something that must be seen.
    #[must_use]
    pub fn alarm() -> Style {
        Style::new().add_modifier(Modifier::REVERSED | Modifier::BOLD)
    }

    /// The selected row.
    #[must_use]
    pub fn selected() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// What is of the past, and what explains.
    #[must_use]
    pub fn faded() -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    /// Heads.
    #[must_use]
    pub fn strong() -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }
}

fn parse(hex: &str) -> Option<[u8; 3]> {
    let digits = hex.strip_prefix('#').filter(|digits| digits.len() == 6 && digits.is_ascii())?;
    let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
    Some([part(0)?, part(2)?, part(4)?])
}

/// xterm's cube has these steps in each direction, from index 16 on.
fn nearest_index([red, green, blue]: [u8; 3]) -> u8 {
    const STEPS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let nearest = |part: u8| (0..6_u8).min_by_key(|at| STEPS[usize::from(*at)].abs_diff(part)).unwrap_or(0);
    16 + 36 * nearest(red) + 6 * nearest(green) + nearest(blue)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(variables: &[(&str, &str)]) -> Theme {
        Theme::of(|name| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn colours_are_used_where_the_terminal_has_them_and_nobody_objects() {
        assert_eq!(theme(&[("TERM", "vt100")]), Theme::Plain);
        assert_eq!(theme(&[("TERM", "screen-256color")]), Theme::Indexed);
        assert_eq!(theme(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), Theme::True);
        assert_eq!(theme(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]), Theme::Plain);
        assert_eq!(theme(&[("COLORTERM", "truecolor"), ("NO_COLOR", "")]), Theme::True);
    }

    #[test]
    fn colours_of_the_registry_become_those_of_the_terminal() {
        assert_eq!(Theme::True.color("#0072B2"), Style::new().fg(Color::Rgb(0, 0x72, 0xB2)));
        // 0, 0x72 = 114 and 0xB2 = 178 are nearest to 0, 95 (19 away) or 135 (21), and 175.
        assert_eq!(Theme::Indexed.color("#0072B2"), Style::new().fg(Color::Indexed(16 + 6 + 3)));
        assert_eq!((Theme::Plain.color("#0072B2"), Theme::True.color("blue")), (Style::new(), Style::new()));
    }
}
