//! What somebody else has called a cgroup, a file or a kernel object cannot act on the terminal of the one who looks.

use crate::host::{Host, cgroup2};
use nix::unistd::geteuid;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

/// Sets a title, moves the cursor by a control character of C1, turns the direction of writing, rings.
const NASTY: &str = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{2066}\u{61c}\u{7f}\t\r";

/// The promise, spelt out here once more.
#[track_caller]
fn fit(what: &str, bytes: &[u8]) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let unfit = |c: char| {
        let code = u32::from(c);
        (code < 0x20 && c != '\n' && c != '\t')
            || (0x7f..=0x9f).contains(&code)
            || [0x61c, 0x200e, 0x200f].contains(&code)
            || (0x202a..=0x202e).contains(&code)
            || (0x2066..=0x2069).contains(&code)
    };
    assert!(!text.contains(unfit), "{what}: {text:?}");
}

/// A cgroup with such a name and everything that may name it.
struct Named {
    host: Host,
    cgroup: OsString,
}

impl Named {
    fn new(name: &[u8]) -> Option<Self> {
        let host = Host::with_root()?;
        let cgroup = OsString::from(host.cgroup());
        let cgroup = [cgroup.as_os_str(), OsStr::from_bytes(name)].concat_os();
        Some(Self { host, cgroup })
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.host.command(&args[..1]);
        command
            .args(args[1..].iter().map(|arg| if *arg == "CGROUP" { self.cgroup.as_os_str() } else { OsStr::new(arg) }));
        command.env("CCACTL_LOG", "debug").output().unwrap()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        if geteuid().is_root() {
            let _ = self.host.ccactl(&["unload", "--all"]);
            let name = OsStr::from_bytes(self.cgroup.as_bytes().strip_prefix(b"/").unwrap());
            let _ = fs::remove_dir(cgroup2().join(name));
        }
    }
}

trait ConcatOs {
    fn concat_os(&self) -> OsString;
}

impl ConcatOs for [&OsStr] {
    fn concat_os(&self) -> OsString {
        self.iter().fold(OsString::new(), |mut all, part| {
            all.push(part);
            all
        })
    }
}

#[test]
fn no_command_passes_on_what_a_cgroup_is_called() {
    let Some(named) = Named::new(NASTY.as_bytes()) else { return };
    let (first, second) = (format!("{}a", named.host.name()), format!("{}b", named.host.name()));
    let cgroup = named.cgroup.to_str().unwrap();
    let policy = named.host.run.path().join(format!("policy{NASTY}.toml"));
    let quoted = cgroup.chars().map(|c| format!("\\U{:08x}", u32::from(c))).collect::<String>();
    fs::write(&policy, format!("[cgroup.\"{quoted}\"]\nalgorithm = \"reno\"\nas = \"{first}\"\n")).unwrap();
    let policy = policy.to_str().unwrap();
    let recording = named.host.run.path().join(format!("recording{NASTY}.parquet"));
    let recording = recording.to_str().unwrap();
    for (args, code, shows) in [
        (&["swap", "cubic", "--cgroup", "CGROUP"][..], 2, true),
        (&["load", "reno", "--cgroup", "CGROUP", "--create", "--as", &first], 0, true),
        (&["load", "reno", "--cgroup", "CGROUP", "--as", &first], 0, true),
        (&["swap", "cubic", "--cgroup", "CGROUP", "--as", &second], 0, true),
        (&["status"], 0, true),
        (&["diff", policy], 1, true),
        (&["apply", policy], 0, true),
        (&["apply", policy], 0, true),
        (&["top", "--once", "--interval", "100ms", "--cgroup", "CGROUP"], 0, false),
        (&["record", "--cgroup", "CGROUP", "--duration", "200ms", "-o", recording], 0, true),
        (&["report", recording], 2, true),
        (&["rollback", "--cgroup", "CGROUP"], 0, true),
        (&["unload", "--cgroup", "CGROUP"], 0, true),
        // What is not understood goes through another door, which takes escape sequences out.
        (&["list", cgroup], 2, false),
        (&["status", cgroup], 0, true),
        (&["report", cgroup], 2, true),
        (&["diff", cgroup], 2, true),
        (&["probe", cgroup], 2, true),
        (&["bench", cgroup], 2, true),
    ] {
        let output = named.run(args);
        let both = [&output.stdout[..], &output.stderr].concat();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", String::from_utf8_lossy(&both).escape_debug());
        fit(&format!("{args:?}"), &both);
        let text = String::from_utf8_lossy(&both).into_owned();
        assert!(!shows || text.contains("\\u{1b}"), "{args:?} shows where it was: {text}");
    }
}

#[test]
fn json_has_the_name_itself_and_no_control_character() {
    let Some(named) = Named::new(NASTY.as_bytes()) else { return };
    let loaded = named.run(&["load", "reno", "--cgroup", "CGROUP", "--create", "--as", &named.host.name(), "--json"]);
    assert!(loaded.status.success(), "{loaded:?}");
    let status = named.run(&["status", "--json"]);
    for output in [&loaded, &status] {
        fit("json", &output.stdout);
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let row = value["policies"].as_array().map_or(&value, |rows| &rows[0]);
        assert_eq!(row["cgroup"].as_str(), named.cgroup.to_str());
    }
}

#[test]
fn a_name_that_is_not_utf_8_comes_back_from_text_and_json() {
    let Some(named) = Named::new(b"\xff\\x\xfe") else { return };
    let loaded = named.run(&["load", "reno", "--cgroup", "CGROUP", "--create", "--as", &named.host.name()]);
    let text = String::from_utf8(loaded.stdout).unwrap();
    let shown = text.split(": new sockets").next().unwrap();
    assert_eq!(ccactl_host::name::to_path(shown).unwrap().as_os_str(), named.cgroup, "{text}");
    let status = named.host.policies();
    let name = status[0]["cgroup"].as_str().unwrap();
    assert_eq!(ccactl_host::name::to_path(name).unwrap().as_os_str(), named.cgroup, "{name}");
}

/// What a command writes to a standard error that is a terminal.
fn on_a_terminal(mut command: Command) -> String {
    let (mut master, mut slave) = (0, 0);
    let (name, modes, size) = (std::ptr::null_mut(), std::ptr::null(), std::ptr::null());
    // SAFETY: the pointers are to locals that outlive the call, or null where that is allowed.
    assert_eq!(unsafe { libc::openpty(&mut master, &mut slave, name, modes, size) }, 0);
    // SAFETY: openpty has made both, and nobody else owns them.
    let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    let mut child = command.stdout(Stdio::null()).stderr(slave).spawn().unwrap();
    child.wait().unwrap();
    drop(command);
    let mut said = Vec::new();
    // The last read of a terminal whose other side is closed fails.
    let _ = (&master).read_to_end(&mut said);
    String::from_utf8(said).unwrap()
}

#[test]
fn the_log_has_colours_on_a_terminal_only_and_not_where_they_are_unwanted() {
    let host = Host::new();
    let logging = |no_color: Option<&str>| {
        // The file says something at the level of debugging without root, too.
        let mut command = host.command(&["record", "-o", "/dev/null", "--cgroup", "/nosuch\u{1b}[31m"]);
        command.env("CCACTL_LOG", "trace").env_remove("NO_COLOR");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        // Not the terminal of whoever runs the tests.
        // SAFETY: setsid is safe to call between fork and exec.
        unsafe { command.pre_exec(|| nix::unistd::setsid().map(drop).map_err(Into::into)) };
        command
    };
    let piped = logging(None).output().unwrap();
    let piped = String::from_utf8(piped.stderr).unwrap();
    fit("a pipe", piped.as_bytes());
    assert!(piped.contains("nosuch\\u{1b}[31m"), "{piped}");
    let shown = on_a_terminal(logging(None));
    assert!(!shown.contains("\u{1b}[31mnosuch") && shown.contains("nosuch\\u{1b}"), "{shown:?}");
    let unwanted = on_a_terminal(logging(Some("1")));
    fit("NO_COLOR", unwanted.replace('\r', "").as_bytes());
}
