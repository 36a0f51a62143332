//! Where recordings go: a bucket with a prefix, or a folder.

use crate::error::{Error, Result};
use object_store::path::Path as Key;
use percent_encoding::percent_decode_str;
use std::fmt;
use std::path::PathBuf;

const S3: &str = "s3://";
const FILE: &str = "file://";
/// Amazon's rule for the names of buckets.
const BUCKET_LENGTH: std::ops::RangeInclusive<usize> = 3..=63;

/// A parsed `s3://bucket/prefix` or `file:///folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub(crate) place: Place,
    /// Empty where there is none; never with a slash at its ends.
    pub(crate) prefix: Key,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    Bucket(String),
    /// Absolute. It is the prefix as well.
    Folder(PathBuf),
}

impl Location {
    /// Whether a text means a place in a store and no file.
    #[must_use]
    pub fn is_one(text: &str) -> bool {
        text.contains("://")
    }

    /// Parses `s3://bucket/prefix` or `file:///folder`.
    ///
    /// # Errors
    /// [`Error::Location`].
    pub fn parse(text: &str) -> Result<Location> {
        let wrong = |found: &str| Error::Location { text: text.to_owned(), found: found.to_owned() };
        if let Some(rest) = text.strip_prefix(S3) {
            let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
            if !is_bucket(bucket) {
                return Err(wrong("a bucket has 3 to 63 small letters, digits, '-' and '.'"));
            }
            let prefix = Key::parse(prefix).map_err(|error| wrong(&error.to_string()))?;
            return Ok(Location { place: Place::Bucket(bucket.to_owned()), prefix });
        }
        if let Some(rest) = text.strip_prefix(FILE) {
            let path = percent_decode_str(rest).decode_utf8().map_err(|_| wrong("its folder is not UTF-8"))?;
            if !path.starts_with('/') {
                return Err(wrong(
                    "after file:// comes the path of a folder from the root, so there are three slashes",
                ));
            }
            return Ok(Location { place: Place::Folder(PathBuf::from(path.as_ref())), prefix: Key::default() });
        }
        let scheme = text.split_once("://").map_or(text, |(scheme, _)| scheme);
        Err(wrong(&format!("ccactl knows no {scheme:?} stores")))
    }

    /// What stands at its end, as of a file: `part-00000.parquet`.
    pub(crate) fn is_one_file(&self) -> bool {
        match &self.place {
            Place::Bucket(_) => self.prefix.extension().is_some_and(is_readable),
            Place::Folder(path) => path.extension().and_then(|extension| extension.to_str()).is_some_and(is_readable),
        }
    }

    /// The object of this name below the prefix.
    pub(crate) fn key(&self, name: &str) -> Key {
        let whole = if self.prefix.as_ref().is_empty() { name.to_owned() } else { format!("{}/{name}", self.prefix) };
        // The prefix was parsed, and names are made of what is legal: see `part.rs`.
        Key::parse(whole).expect("both are legal")
    }
}

/// Whether a file with this end of its name is asked for by itself: a recording, or a summary of parts.
fn is_readable(extension: &str) -> bool {
    ["parquet", "summary"].contains(&extension)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Bucket(bucket) if self.prefix.as_ref().is_empty() => write!(f, "{S3}{bucket}"),
            Place::Bucket(bucket) => write!(f, "{S3}{bucket}/{}", self.prefix),
            Place::Folder(path) => write!(f, "{FILE}{}", path.display()),
        }
    }
}

fn is_bucket(name: &str) -> bool {
    let is_end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    BUCKET_LENGTH.contains(&name.len())
        && name.starts_with(is_end)
        && name.ends_with(is_end)
        && name.chars().all(|c| is_end(c) || c == '-' || c == '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_with_and_without_a_prefix_and_a_folder() {
        for (text, shown) in [
            ("s3://tcp", "s3://tcp"),
            ("s3://tcp/", "s3://tcp"),
            ("s3://tcp/web/eu-1/", "s3://tcp/web/eu-1"),
            ("file:///srv/tcp", "file:///srv/tcp"),
            ("file:///srv/a%20b", "file:///srv/a b"),
        ] {
            assert_eq!(Location::parse(text).unwrap().to_string(), shown, "{text}");
        }
        let location = Location::parse("s3://tcp/web").unwrap();
        assert_eq!(
            location.key("date=2026-11-26/host=a/d/part-00000.parquet").as_ref(),
            "web/date=2026-11-26/host=a/d/part-00000.parquet"
        );
        assert_eq!(Location::parse("s3://tcp").unwrap().key("_ccactl").as_ref(), "_ccactl");
    }

    #[test]
    fn anything_else_is_one_error_that_says_what_is_expected() {
        for text in
            ["gs://tcp", "s3://", "s3://T", "s3://a_b_c/x", "s3:///x", "file://srv/tcp", "http://x/y", "s3://abc/a//b"]
        {
            let error = Location::parse(text).unwrap_err();
            assert!(error.is_usage());
            let said = error.to_string();
            assert!(said.starts_with(text) && said.contains("expected s3://BUCKET/PREFIX"), "{said}");
        }
    }

    #[test]
    fn a_file_is_no_location() {
        assert!(!Location::is_one("web.parquet") && !Location::is_one("/srv/s3:/x") && Location::is_one("s3://a"));
    }
}
