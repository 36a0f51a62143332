//! Where this host gets Debian's packages from, as its own apt sources say.

use std::fs;
use std::path::Path;

/// Unless the host says otherwise.
const DEFAULT_URI: &str = "http://deb.debian.org/debian";
/// Of the package debian-archive-keyring.
const DEFAULT_KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Suites by which a source is known to be an archive of Debian itself.
const SUITES: &[&str] = &["bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable", "oldstable"];

/// An archive of Debian and the keys that its lists are signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mirror {
    /// Address, without a slash at its end.
    pub uri: String,
    /// Key file or fingerprint, as in `Signed-By`.
    pub signed_by: String,
}

impl Default for Mirror {
    fn default() -> Self {
        Mirror { uri: DEFAULT_URI.to_owned(), signed_by: DEFAULT_KEYRING.to_owned() }
    }
}

impl Mirror {
    /// The mirror that the apt sources in `etc` (`/etc/apt`) name, or Debian's own where they name none.
    #[must_use]
    pub fn of_host(etc: &Path) -> Mirror {
        let parts = etc.join("sources.list.d");
        let mut files: Vec<_> =
            fs::read_dir(&parts).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        files.insert(0, etc.join("sources.list"));
        let found = files.iter().find_map(|file| {
            let text = fs::read_to_string(file).ok()?;
            if file.extension().is_some_and(|extension| extension == "sources") { stanzas(&text) } else { lines(&text) }
        });
        found.unwrap_or_default()
    }
}

fn mirror(uri: &str, signed_by: Option<&str>) -> Mirror {
    let signed_by = signed_by.unwrap_or(DEFAULT_KEYRING).to_owned();
    Mirror { uri: uri.trim_end_matches('/').to_owned(), signed_by }
}

/// The one-line format of sources.list(5): `deb [option=value …] uri suite component …`.
fn lines(text: &str) -> Option<Mirror> {
    text.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("deb ")?.trim_start();
        let (options, rest) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_whitespace();
        let (uri, suite) = (words.next()?, words.next()?);
        let signed_by = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
        (SUITES.contains(&suite) && words.any(|word| word == "main")).then(|| mirror(uri, signed_by))
    })
}

/// The format of stanzas of sources.list(5); only values that stand on the line of their field.
fn stanzas(text: &str) -> Option<Mirror> {
    text.split("\n\n").find_map(|stanza| {
        let field = |name: &str| {
            let value = stanza.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.map(str::trim).filter(|value| !value.is_empty())
        };
        let has = |name: &str, wanted: &[&str]| {
            field(name).is_some_and(|value| value.split_whitespace().any(|word| wanted.contains(&word)))
        };
        let is_off = field("Enabled").is_some_and(|value| value.eq_ignore_ascii_case("no"));
        let is_archive = has("Types", &["deb"]) && has("Suites", SUITES) && has("Components", &["main"]);
        let uri = field("URIs")?.split_whitespace().next()?;
        (is_archive && !is_off).then(|| mirror(uri, field("Signed-By")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Mirror {
        let etc = tempfile::tempdir().unwrap();
        fs::create_dir(etc.path().join("sources.list.d")).unwrap();
        for (name, text) in files {
            fs::write(etc.path().join(name), text).unwrap();
        }
        Mirror::of_host(etc.path())
    }

    #[test]
    fn the_archive_is_told_from_other_sources() {
        let other = "deb https://packages.example.org/apt cloud-sdk-bookworm main\n";
        let security =
            "Types: deb\nURIs: http://deb.debian.org/debian-security\nSuites: bookworm-security\nComponents: main\n";
        let archive = "Types: deb\n# frozen\nURIs: http://mirror.example.org/debian/\nSuites: bookworm bookworm-updates\n\
                       Components: main\nSigned-By: /etc/keys.gpg\n";
        let files = [("sources.list", other), ("sources.list.d/debian.sources", &format!("{security}\n{archive}"))];
        let expected = Mirror { uri: "http://mirror.example.org/debian".into(), signed_by: "/etc/keys.gpg".into() };
        assert_eq!(found(&files), expected);
    }

    #[test]
    fn a_line_with_options_is_read() {
        let text = "# deb http://no.example.org/debian sid main\ndeb [arch=amd64 signed-by=/k.gpg] http://m.example.org/d sid main\n";
        let expected = Mirror { uri: "http://m.example.org/d".into(), signed_by: "/k.gpg".into() };
        assert_eq!(found(&[("sources.list", text)]), expected);
    }

    #[test]
    fn a_host_without_a_source_of_debian_gets_the_default() {
        assert_eq!(found(&[]), Mirror::default());
        assert_eq!(found(&[("sources.list", "deb http://archive.ubuntu.com/ubuntu noble main\n")]), Mirror::default());
        let off = "Enabled: no\nTypes: deb\nURIs: http://off.example.org/d\nSuites: sid\nComponents: main\n";
        assert_eq!(found(&[("sources.list.d/x.sources", off)]), Mirror::default());
    }
}
