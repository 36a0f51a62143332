//! Debian's archive through apt, with a configuration of its own: nothing of the host's apt is changed, and no right is needed.

use super::mirror::Mirror;
use crate::error::{Error, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

/// Where kernels are looked for, from the oldest that is supported to the newest.
const SUITES: &[&str] = &["bookworm", "bookworm-backports", "trixie", "trixie-backports", "sid", "experimental"];
/// Kernels for virtual machines: no firmware, BTF, virtio and all congestion controls.
const IMAGE_PREFIX: &str = "linux-image-";
const IMAGE_SUFFIX: &str = "-cloud-amd64";
/// Lists that are older are fetched anew where the newest kernel is asked for.
const LISTS_ARE_NEW_FOR: Duration = Duration::from_secs(7 * 24 * 3600);

/// A private apt.
#[derive(Debug)]
pub struct Apt {
    folder: PathBuf,
}

/// A package that was downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// SHA-256 of its file, from the signed lists; apt has compared it.
    pub sha256: String,
    /// Its file.
    pub file: PathBuf,
}

impl Apt {
    /// Sets it up in `folder`, for a mirror.
    ///
    /// # Errors
    /// [`Error::Cache`] where the folder cannot be written.
    pub fn prepare(folder: PathBuf, mirror: &Mirror) -> Result<Apt> {
        let apt = Apt { folder };
        let write = |name: &str, text: &str| {
            let path = apt.folder.join(name);
            fs::write(&path, text).map_err(Error::cache(path))
        };
        for name in ["etc", "state/lists/partial", "cache/archives/partial"] {
            let path = apt.folder.join(name);
            fs::create_dir_all(&path).map_err(Error::cache(path))?;
        }
        let sources: String = SUITES
            .iter()
            .map(|suite| format!("deb [arch=amd64 signed-by={}] {} {suite} main\n", mirror.signed_by, mirror.uri))
            .collect();
        write("etc/sources.list", &sources)?;
        write("status", "")?;
        write("apt.conf", &apt.configuration(&host_transport()))?;
        Ok(apt)
    }

    fn configuration(&self, transport: &str) -> String {
        let folder = self.folder.display();
        // The dates of the lists are not judged: the signature says who made them, and a mirror that stands still, as those of
        // reproducible builds do, is good enough for a kernel that never sees a network.
        format!(
            "Dir::Etc \"{folder}/etc\";\nDir::State \"{folder}/state\";\nDir::State::status \"{folder}/status\";\n\
             Dir::Cache \"{folder}/cache\";\nAPT::Architecture \"amd64\";\nAPT::Architectures {{ \"amd64\"; }};\n\
             Acquire::Languages \"none\";\nAcquire::Check-Valid-Until \"false\";\nAPT::Update::Error-Mode \"any\";\n\
             APT::Sandbox::User \"\";\n{transport}"
        )
    }

    /// Releases of the kernels that the lists name; the lists are fetched where there are none, or where they are older than a
    /// week and `newest` matters.
    ///
    /// # Errors
    /// [`Error::Apt`].
    pub fn releases(&self, newest: bool) -> Result<Vec<String>> {
        let fetched = self.folder.join("fetched");
        let age = fs::metadata(&fetched).and_then(|m| m.modified()).map(|at| SystemTime::now().duration_since(at));
        let is_new = age.is_ok_and(|age| !newest || age.is_ok_and(|age| age < LISTS_ARE_NEW_FOR));
        if !is_new {
            self.run("apt-get", &["-q", "update"], &self.folder)?;
            fs::write(&fetched, "").map_err(Error::cache(fetched))?;
        }
        let names = self.run("apt-cache", &["pkgnames", IMAGE_PREFIX], &self.folder)?;
        Ok(names.lines().filter_map(release_of).map(str::to_owned).collect())
    }

    /// Downloads the packages of a release into `folder`.
    ///
    /// # Errors
    /// [`Error::Apt`].
    pub fn download(&self, release: &str, folder: &Path) -> Result<Vec<Package>> {
        let image = self.show(&format!("{IMAGE_PREFIX}{release}"))?;
        // From 6.19 on the image package is empty; image, modules and configuration have packages of their own that it depends on. Before,
        // it depends on a name of that kind that is virtual: no package of its own.
        let mut parts = Vec::new();
        for name in depends(&image).filter(|name| name.strip_prefix("linux-").is_some_and(|n| n.ends_with(release))) {
            if field(&self.show(name)?, "Version").is_some() {
                parts.push(name);
            }
        }
        let names = std::iter::once(format!("{IMAGE_PREFIX}{release}")).chain(parts.into_iter().map(str::to_owned));
        names
            .map(|name| {
                let record = self.show(&name)?;
                let field = |key: &str| {
                    let missing = || Error::Apt {
                        command: format!("apt-cache show {name}"),
                        found: format!("a record without {key}"),
                    };
                    field(&record, key).map(str::to_owned).ok_or_else(missing)
                };
                let (version, sha256, path) = (field("Version")?, field("SHA256")?, field("Filename")?);
                self.run("apt-get", &["-q", "download", &format!("{name}={version}")], folder)?;
                // apt writes a colon of the version as %3a.
                let file = Path::new(&path).file_name().unwrap_or_default();
                let file = folder.join(file.to_string_lossy().replace(':', "%3a"));
                Ok(Package { name, version, sha256, file })
            })
            .collect()
    }

    fn show(&self, package: &str) -> Result<String> {
        self.run("apt-cache", &["show", "--no-all-versions", package], &self.folder)
    }

    fn run(&self, program: &str, arguments: &[&str], folder: &Path) -> Result<String> {
        let mut command = Command::new(program);
        command.args(arguments).env("APT_CONFIG", self.folder.join("apt.conf")).current_dir(folder);
        output_of(&mut command)
    }
}

/// What a command prints; its errors where it fails.
pub(super) fn output_of(command: &mut Command) -> Result<String> {
    let line = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    let output = command.env("LC_ALL", "C").stdin(Stdio::null()).output();
    let output = output.map_err(|error| Error::Apt { command: line.clone(), found: error.to_string() })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = errors.lines().filter(|line| !line.trim().is_empty()).collect();
    let found = last.iter().rev().take(2).rev().copied().collect::<Vec<_>>().join(" | ");
    Err(Error::Apt { command: line, found: if found.is_empty() { output.status.to_string() } else { found } })
}

/// How the host reaches its mirrors, such as a proxy, in the words of apt.conf(5).
fn host_transport() -> String {
    let dump = output_of(Command::new("apt-config").arg("dump")).unwrap_or_default();
    let is_transport = |line: &&str| ["Acquire::http", "Acquire::https"].iter().any(|key| line.starts_with(key));
    dump.lines().filter(is_transport).map(|line| format!("{line}\n")).collect()
}

/// `6.12.94+deb13-cloud-amd64` of `linux-image-6.12.94+deb13-cloud-amd64`; none of a meta-package, of unsigned images and of
/// debugging symbols.
fn release_of(package: &str) -> Option<&str> {
    let release = package.strip_prefix(IMAGE_PREFIX)?;
    (release.ends_with(IMAGE_SUFFIX) && release.starts_with(|c: char| c.is_ascii_digit())).then_some(release)
}

fn field<'a>(record: &'a str, key: &str) -> Option<&'a str> {
    record.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))
}

/// Names in the field `Depends`, without versions.
fn depends(record: &str) -> impl Iterator<Item = &str> {
    let list = field(record, "Depends").unwrap_or_default();
    list.split([',', '|']).filter_map(|entry| entry.split_whitespace().next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_signed_images_of_a_release_count() {
        assert_eq!(release_of("linux-image-6.1.0-50-cloud-amd64"), Some("6.1.0-50-cloud-amd64"));
        for other in [
            "linux-image-cloud-amd64",
            "linux-image-6.1.0-50-cloud-amd64-dbg",
            "linux-image-6.1.0-50-cloud-amd64-unsigned",
            "linux-image-6.1.0-50-amd64",
            "linux-headers-6.1.0-50-cloud-amd64",
        ] {
            assert_eq!(release_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_record_is_read_by_field() {
        let record = "Package: linux-image-7.3.4-cloud-amd64\nVersion: 7.3.4-1\nDepends: dracut | initramfs-tools (>= 0.1), \
                      linux-binary-7.3.4-cloud-amd64 (= 7.3.4-1), linux-modules-7.3.4-cloud-amd64 (= 7.3.4-1)\n";
        assert_eq!(field(record, "Version"), Some("7.3.4-1"));
        assert_eq!(field(record, "SHA256"), None);
        let names: Vec<_> = depends(record).collect();
        let expected =
            ["dracut", "initramfs-tools", "linux-binary-7.3.4-cloud-amd64", "linux-modules-7.3.4-cloud-amd64"];
        assert_eq!(names, expected);
    }

    #[test]
    fn the_configuration_touches_nothing_outside_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mirror = Mirror { uri: "http://m.example.org/debian".into(), signed_by: "/k.gpg".into() };
        let apt = Apt::prepare(folder.path().to_owned(), &mirror).unwrap();
        let sources = fs::read_to_string(folder.path().join("etc/sources.list")).unwrap();
        assert_eq!(sources.lines().count(), SUITES.len());
        assert!(
            sources.contains("deb [arch=amd64 signed-by=/k.gpg] http://m.example.org/debian sid main\n"),
            "{sources}"
        );
        let configuration = apt.configuration("");
        let directories = configuration.lines().filter(|line| line.starts_with("Dir"));
        let own = format!("\"{}/", folder.path().display());
        assert!(directories.into_iter().all(|line| line.contains(&own)), "{configuration}");
    }

    #[test]
    fn a_command_that_fails_says_its_last_words() {
        let error = output_of(Command::new("sh").args(["-c", "echo E: no such package >&2; exit 100"])).unwrap_err();
        assert!(error.to_string().contains("E: no such package"), "{error}");
        assert!(output_of(&mut Command::new("/nonexistent/apt-get")).unwrap_err().to_string().contains("apt-get"));
    }
}
