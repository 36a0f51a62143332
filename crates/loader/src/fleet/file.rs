//! The policy file: one table per cgroup.
//!
//! ```toml
//! [cgroup."/edge"]
//! algorithm = "f-bbrv2"
//! as = "fbbr-a13"
//! set = { alpha = 1.3 }
//! ```

use crate::cgroup::Mount;
use crate::fleet::code::Code;
use crate::fleet::document::{Document, Table};
use crate::fleet::error::FileError;
use crate::{Choice, LoadRequest, settle_algorithm};
use ccactl_host::input;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file is read as a whole. This is room for some 50 000 tables, and the kernel's map holds 4096 policies.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// The kernel's limit of a path (`limits.h`) without its final NUL.
const PATH_MAX: usize = 4095;

/// What a policy file says, checked as far as that goes without a look at the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFile {
    /// File name, as errors show it.
    pub origin: String,
    /// One per cgroup, in the order of the file.
    pub entries: Vec<Entry>,
}

/// What the file says about one cgroup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Directory of the cgroup, whether or not it exists.
    pub cgroup: PathBuf,
    /// The cgroup relative to the cgroup2 mount: `/edge`.
    pub name: String,
    /// Line of its table, from 1.
    pub line: usize,
    /// Algorithm, tunables, kernel name, whether to make the cgroup and whether to overrule what applications choose.
    pub request: LoadRequest,
    /// Whether sockets that are open already get it too.
    pub live: bool,
}

impl PolicyFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`FileError`] with file, line and field.
    pub fn read(path: &Path, mount: &Mount) -> Result<Self, FileError> {
        let text =
            input::read_text(path, MAX_FILE_BYTES).map_err(|cause| FileError::Read { path: path.to_owned(), cause })?;
        Self::parse(&path.display().to_string(), &text, mount)
    }

    /// Parses a text; `origin` is the file name that errors show. Algorithms from files are relative to its folder.
    ///
    /// # Errors
    /// [`FileError`] with file, line and field.
    pub fn parse(origin: &str, text: &str, mount: &Mount) -> Result<Self, FileError> {
        let document = Document::new(origin, text);
        let parsed = document.parse()?;
        let root = Table::root(&document, &parsed);
        root.only(&["cgroup"])?;
        let mut entries: Vec<Entry> = Vec::new();
        let mut taken = Taken::default();
        let folder = Path::new(origin).parent().unwrap_or(Path::new(""));
        for (name, table) in root.required_table("cgroup")?.tables()? {
            let entry = entry(name, &table, mount, folder)?;
            taken.take(&entry, &table)?;
            entries.push(entry);
        }
        Ok(Self { origin: origin.to_owned(), entries })
    }

    /// Checks that this kernel has its own algorithms that the file names; their modules are loaded. Needs root: others
    /// may not choose all of them.
    ///
    /// # Errors
    /// [`FileError::Field`] with the first that the kernel does not have.
    pub fn check_natives(&self) -> Result<(), FileError> {
        let mut checked = HashSet::new();
        for Entry { request: LoadRequest { choice, .. }, name, line, .. } in &self.entries {
            // One look at the kernel for each algorithm, however many cgroups are to have it.
            if !checked.insert(choice.kernel_name()) {
                continue;
            }
            choice.check_native().map_err(|error| FileError::Field {
                origin: self.origin.clone(),
                line: *line,
                field: format!("cgroup.{name:?}.algorithm"),
                message: error.to_string(),
            })?;
        }
        Ok(())
    }
}

fn entry(name: &str, table: &Table<'_, '_>, mount: &Mount, folder: &Path) -> Result<Entry, FileError> {
    table.only(&["algorithm", "as", "preset", "set", "create", "enforce", "live"])?;
    let cgroup = mount.locate(Path::new(name)).map_err(|error| table.error_here(error.to_string()))?;
    possible(&cgroup).map_err(|message| table.error_here(message))?;
    let written = table.required_text("algorithm")?;
    let algorithm = settle_algorithm(folder, &written).map_err(|error| table.error("algorithm", error.to_string()))?;
    let as_name = table.text("as")?;
    let set_table = table.optional_table("set")?;
    let set = set_table.as_ref().map(Table::numbers).transpose()?.unwrap_or_default();

    // One after the other, so that a complaint stands at the field that it is about.
    let choice = Choice::parse(&algorithm, &[], None).map_err(|error| table.error("algorithm", error.to_string()))?;
    let mut choice = choice.named(as_name.as_deref()).map_err(|error| table.error("as", error.to_string()))?;
    for (name, value) in &set {
        let at = |error: crate::Error| set_table.as_ref().unwrap_or(table).error(name, error.to_string());
        choice = choice.with(name, value).map_err(at)?;
    }
    let preset = table.text("preset")?;
    let choice = choice.preset(preset.as_deref()).map_err(|error| table.error("preset", error.to_string()))?;
    let create = table.flag("create", false)?;
    let enforce = table.flag("enforce", false)?;
    let request = LoadRequest::new(choice, &cgroup).create(create).enforce(enforce);
    Ok(Entry { name: mount.display(&cgroup), cgroup, line: table.line(), request, live: table.flag("live", true)? })
}

/// Refuses a path that no cgroup can have.
fn possible(cgroup: &Path) -> Result<(), String> {
    let length = cgroup.as_os_str().as_bytes().len();
    if length > PATH_MAX {
        return Err(format!(
            "a path of {length} bytes with the mount point, and the kernel takes paths of at most {PATH_MAX}: no cgroup \
             can be reached by it"
        ));
    }
    Ok(())
}

/// What the tables before have taken.
#[derive(Default)]
struct Taken {
    /// Line of the table of each cgroup.
    cgroups: HashMap<PathBuf, usize>,
    /// Code of each kernel name, with the line of the first table that says so.
    names: HashMap<String, (Code, usize)>,
}

impl Taken {
    /// Refuses a second table for one cgroup, and a second code under one kernel name.
    fn take(&mut self, entry: &Entry, table: &Table<'_, '_>) -> Result<(), FileError> {
        if let Some(line) = self.cgroups.insert(entry.cgroup.clone(), entry.line) {
            let message = format!("the cgroup {} has a table already, on line {line}", entry.name);
            return Err(table.error_here(message));
        }
        let (name, code) = (entry.request.choice.kernel_name(), Code::wanted(&entry.request.choice));
        match self.names.get(name) {
            None => {
                self.names.insert(name.to_owned(), (code, entry.line));
                Ok(())
            }
            Some((theirs, _)) if *theirs == code => Ok(()),
            Some((theirs, line)) => Err(table.error_here(format!(
                "the kernel name {name} stands for '{theirs}' on line {line}, and here for '{code}': give one of them \
                 another name with `as`"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::test_host::mount;

    fn parse(text: &str) -> Result<PolicyFile, FileError> {
        PolicyFile::parse("policy.toml", text, &mount())
    }

    #[track_caller]
    fn refused(text: &str, parts: &[&str]) {
        let message = parse(text).unwrap_err().to_string();
        assert!(!message.contains('\n'), "{message}");
        for part in parts {
            assert!(message.contains(part), "no '{part}' in: {message}");
        }
    }

    #[test]
    fn every_field_reaches_the_entry() {
        let file = parse(
            "[cgroup.\"/web\"]\nalgorithm = \"native:cubic\"\n\n[cgroup.\"/edge/a\"]\nalgorithm = \"f-bbrv2\"\n\
             as = \"fbbr-a13\"\nenforce = true\ncreate = true\nlive = false\n[cgroup.\"/edge/a\".set]\nalpha = 1.300\n",
        )
        .unwrap();
        let [web, edge] = &file.entries[..] else { panic!("{file:?}") };
        assert_eq!((web.name.as_str(), web.line, web.request.choice.kernel_name()), ("/web", 1, "cubic"));
        assert!(web.live && !web.request.enforce && !web.request.create);
        assert_eq!(edge.cgroup, Path::new("/sys/fs/cgroup/unified/edge/a"));
        assert_eq!((edge.line, edge.request.choice.kernel_name()), (4, "fbbr_a13"));
        assert!(!edge.live && edge.request.enforce && edge.request.create);
        assert_eq!(Code::wanted(&edge.request.choice).to_string(), "f-bbrv2 alpha=1.3");
    }

    #[test]
    fn a_mistake_is_named_with_file_line_and_field() {
        refused(
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nalgoritm = 1",
            &["policy.toml:3: cgroup.\"/a\".algoritm: unknown"],
        );
        refused("[group.\"/a\"]\n", &["policy.toml:1: group: unknown field, expected one of cgroup"]);
        refused("[cgroup.\"/a\"]\nas = \"x\"\n", &["policy.toml:1: cgroup.\"/a\".algorithm: missing"]);
        refused("[cgroup.\"/a\"]\nalgorithm = 3\n", &[":2: cgroup.\"/a\".algorithm: expected a string, found 3"]);
        refused(
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nlive = \"no\"\n",
            &[":3: ", ".live: expected true or false", "\"no\""],
        );
        refused("\n[cgroup]\na = 7\n", &["policy.toml:3: cgroup.a: expected a table, found 7"]);
        refused("[cgroup.\"/a\"\n", &["policy.toml:1: not valid TOML"]);
    }

    #[test]
    fn algorithm_name_and_tunables_are_checked_where_they_stand() {
        refused("[cgroup.\"/a\"]\n\nalgorithm = \"fbbrv2\"\n", &[":3: cgroup.\"/a\".algorithm: ", "nearest: f-bbrv2"]);
        refused(
            "[cgroup.\"/a\"]\nalgorithm = \"reno\"\nas = \"cubic\"\n",
            &[":3: cgroup.\"/a\".as: ", "kernel itself"],
        );
        let set = "[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\n[cgroup.\"/a\".set]\n";
        refused(&format!("{set}alpha = 101\n"), &[":4: cgroup.\"/a\".set.alpha: ", "out of range"]);
        refused(&format!("{set}alpha = 1.3\nalfa = 2\n"), &[":5: cgroup.\"/a\".set.alfa: ", "nearest: alpha"]);
        refused(&format!("{set}alpha = true\n"), &[":4: ", "expected a number, found true"]);
        // Not 10: the radix is part of what the user wrote.
        refused(&format!("{set}alpha = 0xa\n"), &[":4: ", "alpha=0xa", "not a decimal number"]);
    }

    #[test]
    fn a_cgroup_that_cannot_be_is_refused() {
        refused("[cgroup.\"/\"]\nalgorithm = \"reno\"\n", &["policy.toml:1: cgroup.\"/\": the root cgroup"]);
        refused("[cgroup.\"/a/../..\"]\nalgorithm = \"reno\"\n", &["is not below the cgroup2 mount"]);
    }

    /// The kernel answers ENAMETOOLONG for both, whoever asks.
    #[test]
    fn a_cgroup_that_is_longer_than_the_kernel_takes_is_refused_on_its_line() {
        let table = |cgroup: &str| format!("\n[cgroup.\"{cgroup}\"]\nalgorithm = \"reno\"\n");
        assert!(parse(&table(&format!("/{}", "n".repeat(255)))).is_ok());
        refused(
            &table(&format!("/{}", "n".repeat(256))),
            &["policy.toml:2: cgroup.\"/nnn", "a name of 256 bytes", "255"],
        );
        let deep = format!("/{}", "n".repeat(199)).repeat(20);
        assert!(parse(&table(&deep)).is_ok());
        refused(&table(&deep.repeat(2)), &["policy.toml:2: ", "a path of 80", "4095"]);
        let message = parse(&table(&format!("/{}", "ä".repeat(70_000)))).unwrap_err().to_string();
        assert!(message.contains("a name of 140000 bytes") && message.len() < 1000, "{message}");
    }

    #[test]
    fn a_message_quotes_no_more_than_one_reads() {
        for text in [
            format!("[cgroup.\"/a\"]\nalgorithm = \"{}\"\n", "x".repeat(1 << 20)),
            format!("[cgroup.\"/a\"]\nlive = \"{}\"\nalgorithm = \"reno\"\n", "ä".repeat(1 << 20)),
            format!("[cgroup.\"/a\"]\n{} = 1\n", "x".repeat(1 << 20)),
            format!("{} = 1\n", "x".repeat(1 << 20)),
        ] {
            let message = parse(&text).unwrap_err().to_string();
            assert!(message.len() < 2000 && message.contains("characters)"), "{} bytes", message.len());
        }
    }

    /// A named pipe would keep `apply --watch` from ever becoming ready; a file without end would take all memory.
    #[test]
    fn only_a_regular_file_of_a_bounded_size_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let read = |path: &Path| PolicyFile::read(path, &mount()).unwrap_err().to_string();
        let fifo = dir.path().join("fifo");
        nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(read(&fifo).contains("expected a policy file, found: a pipe, not a regular file"), "{}", read(&fifo));
        assert!(read(Path::new("/dev/zero")).contains("a device"));
        let large = dir.path().join("large.toml");
        std::fs::write(&large, "#".repeat(MAX_FILE_BYTES as usize + 1)).unwrap();
        assert!(read(&large).contains("more than 4 MiB"), "{}", read(&large));
    }

    #[test]
    fn ten_thousand_tables_are_read_and_the_last_line_is_right() {
        let table = |i: u32| format!("[cgroup.\"/t/{i}\"]\nalgorithm = \"reno\"\nas = \"r{i}\"\n\n");
        let text: String = (0..10_000).map(table).collect();
        let file = parse(&text).unwrap();
        assert_eq!((file.entries.len(), file.entries[9_999].line), (10_000, 39_997));
        refused(&(text.clone() + "[cgroup.\"/t/0\"]\nalgorithm = 1\n"), &["policy.toml:40001: ", "duplicate"]);
        refused(&(text + "[cgroup.\"t/0\"]\nalgorithm = \"reno\"\n"), &["policy.toml:40001: ", "/t/0 has", "line 1"]);
    }

    #[test]
    fn one_cgroup_has_one_table_however_it_is_written() {
        for other in ["/a/", "a", "//a", "/./a", "/sys/fs/cgroup/unified/a"] {
            let text = format!("[cgroup.\"/a\"]\nalgorithm = \"reno\"\n[cgroup.\"{other}\"]\nalgorithm = \"cubic\"\n");
            refused(&text, &["policy.toml:3: ", "the cgroup /a has a table already, on line 1"]);
        }
    }

    #[test]
    fn one_kernel_name_has_one_code() {
        let two = |second: &str| {
            format!("[cgroup.\"/a\"]\nalgorithm = \"f-bbrv2\"\n[cgroup.\"/b\"]\nalgorithm = \"f-bbrv2\"\n{second}")
        };
        refused(
            &two("set = { alpha = 1.3 }\n"),
            &["policy.toml:3: ", "f_bbrv2", "line 1", "'f-bbrv2 alpha=1.3'", "`as`"],
        );
        assert_eq!(parse(&two("set = { alpha = 1.3 }\nas = \"x\"\n")).unwrap().entries.len(), 2);
        // The default, spelt out, is the same code.
        let alpha = ccactl_abi::Algorithm::by_name("f-bbrv2").unwrap().tunable("alpha").unwrap();
        let default = format!("set = {{ alpha = {} }}\n", alpha.display(alpha.default_raw));
        assert_eq!(parse(&two(&default)).unwrap().entries.len(), 2);
    }

    /// With `--prune` an empty file takes everything back, which an editor that truncates before it writes must not.
    #[test]
    fn no_policy_at_all_must_be_said() {
        refused("", &["policy.toml:1: cgroup: missing field"]);
        assert_eq!(parse("[cgroup]\n").unwrap().entries, []);
    }
}
