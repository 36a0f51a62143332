//! Names of algorithms and phases as numbers, which compare in no time.

use polars::prelude::PlHashMap;

/// A name; equal numbers are equal names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Name(u32);

/// The names behind the numbers.
#[derive(Debug, Clone, Default)]
pub struct Names {
    texts: Vec<String>,
    numbers: PlHashMap<String, Name>,
}

impl Names {
    /// The number of a name, a new one when it has none.
    pub fn number(&mut self, text: &str) -> Name {
        if let Some(name) = self.numbers.get(text) {
            return *name;
        }
        let name = Name(u32::try_from(self.texts.len()).expect("fewer than 2³² names"));
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), name);
        name
    }

    /// The name with this number.
    pub fn text(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_number() {
        let mut names = Names::default();
        let (cubic, bbr) = (names.number("cubic"), names.number("bbr"));
        assert_eq!(names.number("cubic"), cubic);
        assert_ne!(cubic, bbr);
        assert_eq!((names.text(cubic), names.text(bbr)), ("cubic", "bbr"));
    }
}
