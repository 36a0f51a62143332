//! The command line: what there is, and its help.

use crate::{commands, log};
use ccactl_abi::about::CONTRACT;
use ccactl_abi::exit;
use ccactl_host::terminal::{Colors, Manner};
use ccactl_recording::{OLDEST_VERSION, SCHEMA_VERSION};
use clap::{ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use std::fmt::Write as _;
use std::sync::LazyLock;

/// Commands by what somebody has come for.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Operate", &["load", "swap", "rollback", "unload", "status", "run", "apply", "diff", "split"]),
    ("Measure", &["record", "report", "export", "top", "serve", "exporter", "recover", "send"]),
    ("Algorithms", &["list", "show", "probe", "new", "check", "dev", "sdk"]),
    ("Experiment", &["demo", "bench", "evaluate", "search"]),
];

/// Two for each command.
const EXAMPLES: [(&str, [&str; 2]); 28] = [
    ("load", ["ccactl load bbrv3 --cgroup /web", "ccactl load ./mine.bpf.c --cgroup /bench --create"]),
    ("swap", ["ccactl swap f-bbrv2 --cgroup /web", "ccactl swap cubic --cgroup /web --set beta=819"]),
    ("rollback", ["ccactl rollback --cgroup /web", "ccactl rollback --cgroup /web --json"]),
    ("unload", ["ccactl unload --cgroup /web", "ccactl unload --all --dry-run"]),
    ("status", ["ccactl status", "ccactl status /web --history"]),
    ("run", ["ccactl run bbrv3 -- curl -O http://192.0.2.1/big", "ccactl run ./mine.bpf.c -- iperf3 -c 192.0.2.1"]),
    ("apply", ["ccactl apply /etc/ccactl/policy.toml", "ccactl apply --watch /etc/ccactl/policy.toml"]),
    ("diff", ["ccactl diff /etc/ccactl/policy.toml", "ccactl diff /etc/ccactl/policy.toml --json"]),
    (
        "split",
        [
            "ccactl split --listen 127.0.0.1:8080 --to 192.0.2.1:80 --client-algorithm bbrv3 --server-algorithm cubic",
            "ccactl split --listen 127.0.0.1:8080 --transparent 192.0.2.0/24:80 --client-algorithm bbrv3 --server-algorithm cubic",
        ],
    ),
    (
        "record",
        [
            "ccactl record --cgroup /web --duration 60s -o web.parquet",
            "ccactl record --ring 30s --trigger rto -o /var/lib/ccactl/box",
        ],
    ),
    ("report", ["ccactl report web.parquet --html web.html", "ccactl report before.parquet after.parquet --json"]),
    (
        "export",
        [
            "ccactl export web.parquet --as pdf --from 2 --to 4 -o sequence.pdf",
            "ccactl export web.parquet --as qlog -o web.sqlog",
        ],
    ),
    ("top", ["ccactl top", "ccactl top --cgroup /web"]),
    ("serve", ["ccactl serve", "ccactl serve --cgroup /web --results /srv/benches"]),
    ("exporter", ["ccactl exporter --listen 127.0.0.1:9097", "ccactl exporter --cgroup /web"]),
    (
        "recover",
        ["ccactl recover web.parquet.partial.arrows", "ccactl recover web.parquet.partial.arrows -o web.parquet"],
    ),
    ("send", ["ccactl send", "ccactl send --spool /srv/spool"]),
    ("list", ["ccactl list", "ccactl list --json"]),
    ("show", ["ccactl show bbrv3", "ccactl show f-bbrv2 --json"]),
    ("probe", ["ccactl probe", "ccactl probe ./mine.bpf.c"]),
    ("new", ["ccactl new mine", "ccactl new mine --like cubic"]),
    ("check", ["ccactl check ./mine.bpf.c", "ccactl check /etc/ccactl/policy.toml"]),
    ("dev", ["ccactl dev ./mine.bpf.c --cgroup /bench", "ccactl dev ./mine.bpf.c --cgroup /bench --no-screen"]),
    ("sdk", ["ccactl sdk ./sdk", "ccactl sdk ~/algorithms"]),
    ("demo", ["ccactl demo", "ccactl demo --duration 20s"]),
    ("bench", ["ccactl bench list", "ccactl bench run interaction-single --jobs 2"]),
    (
        "evaluate",
        ["ccactl evaluate bbrv3 --profile quick", "ccactl evaluate ./mine.bpf.c --lab vm:6.12 --html mine.html"],
    ),
    ("search", ["ccactl search bbrv3", "ccactl search ./mine.bpf.c --objective starve --no-replay"]),
];

/// Commit and date, which `cargo xtask dist` gives.
const BUILD: Option<&str> = option_env!("CCACTL_BUILD");

/// The program, and what it agrees on with others.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let (own, build) = (env!("CARGO_PKG_VERSION"), BUILD.unwrap_or("from a working copy"));
    format!(
        "{own} ({build})\nrecordings: schema {SCHEMA_VERSION}, reads {OLDEST_VERSION} and later\nalgorithm files and objects: contract {CONTRACT}"
    )
});

/// For users; scripts rely on them.
const EXIT_CODES: [(u8, &str); 9] = [
    (exit::OK, "done"),
    (exit::FAILURE, "a failure without a code of its own"),
    (exit::USAGE, "bad input: an argument, a scenario, a recording"),
    (exit::KERNEL, "the kernel lacks a feature"),
    (exit::PERMISSION, "not root, or a capability is missing"),
    (exit::SOCKETS, "some sockets could not be moved"),
    (exit::THRESHOLD, "a threshold of a scenario was missed, or a canary was taken back"),
    (exit::WAITING, "a cgroup of the policy file does not exist, all else is in force"),
    (exit::INTERRUPTED, "interrupted"),
];

#[derive(Parser)]
#[command(name = "ccactl", version, long_version = VERSION.as_str(), about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Say more on standard error; twice for everything
    #[arg(short, long, global = true, action = ArgAction::Count, conflicts_with = "quiet")]
    verbose: u8,
    /// Neither progress nor warnings on standard error
    #[arg(short, long, global = true)]
    quiet: bool,
    /// When messages have colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    #[arg(help = "Colours in messages: auto, always or never")]
    color: Color,
    /// The command was given `--json`.
    #[arg(skip)]
    pub prints_json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl Cli {
    /// How much is said, and in which colours.
    pub fn manner(&self) -> Manner {
        let colors = match self.color {
            Color::Auto => Colors::Auto,
            Color::Always => Colors::Always,
            Color::Never => Colors::Never,
        };
        Manner { colors, quiet: self.quiet }
    }

    /// What is logged.
    pub fn log_filter(&self) -> &'static str {
        let loudest = log::FILTERS.len() - 1;
        if self.quiet { log::QUIET } else { log::FILTERS[usize::from(self.verbose).min(loudest)] }
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Register an algorithm and give it to the new sockets of a cgroup
    Load(commands::load::Args),
    /// Move a cgroup to another algorithm, its live connections included
    Swap(commands::swap::Args),
    /// Go back to the policy before, with all live connections
    Rollback(commands::rollback::Args),
    /// Take the policy of a cgroup back; connections get what they had
    Unload(commands::unload::Args),
    /// List the algorithms that ccactl carries
    List(commands::list::Args),
    /// Show one algorithm: paper, tunables with units, kernel hooks
    Show(commands::show::Args),
    /// Show which cgroups have which algorithm
    Status(commands::status::Args),
    /// Run a command in a transient cgroup with an algorithm
    Run(commands::run::Args),
    /// Bring cgroups to what a policy file says, once or for good
    Apply(commands::apply::Args),
    /// Show where this host differs from a policy file
    ///
    /// Ends with 0 when it does not, with 1 when it does, with more when that cannot be said.
    Diff(commands::diff::Args),
    /// Say whether this kernel loads each algorithm or a file, or why not
    Probe(commands::probe::Args),
    /// Begin an algorithm of your own: a C file that loads as it is
    New(commands::new::Args),
    /// Look for faults of a C file, in its properties and in the verifier
    Check(commands::check::Args),
    /// Put a C file in force in a cgroup each time that it is saved
    Dev(commands::dev::Args),
    /// Write headers, templates and flags for an editor into a folder
    Sdk(commands::sdk::Args),
    /// Split TCP connections in two, each leg with its algorithm
    Split(commands::split::Args),
    /// Record the sockets of a cgroup, namespace or port
    Record(commands::record::Args),
    /// Make a Parquet file of the stream that a killed recording left
    Recover(commands::recover::Args),
    /// Send what recordings have left in the spool to their object store
    Send(commands::send::Args),
    /// Metrics of live sockets for Prometheus
    Exporter(commands::exporter::Args),
    /// Show what the sockets do now, per cgroup, algorithm and flow
    Top(commands::top::Args),
    /// One live page for a browser: groups, flows, policies, canaries
    Serve(commands::serve::Args),
    /// Tables and an HTML page from recordings
    Report(commands::report::Args),
    /// One flow for other tools: qlog, xplot, a time-sequence figure
    Export(commands::export::Args),
    /// Run a scenario on the testbed
    Bench(Box<commands::bench::Args>),
    /// Compare an algorithm with CUBIC by the criteria of RFC 9743
    Evaluate(Box<commands::evaluate::Args>),
    /// Look for the path on which an algorithm does worst
    Search(Box<commands::search::Args>),
    /// BBRv2 and F-BBRv2 against CUBIC, with one table at the end
    Demo(commands::demo::Args),
    /// One end of a bench flow (started by `bench` itself)
    #[command(name = "__flow", hide = true)]
    Flow(commands::flow::Args),
    /// On the way to namespace and cgroup (started by `bench` itself)
    #[command(name = "__enter", hide = true)]
    Enter(commands::flow::EnterArgs),
    /// The properties of a file (started by `check` itself)
    #[command(name = "__properties", hide = true)]
    Properties(commands::check::PropertiesArgs),
    /// Its data (started by `check` itself)
    #[command(name = "__transfer", hide = true)]
    Transfer(commands::check::TransferArgs),
    /// Manual pages and completions (for packages)
    #[command(name = "__pages", hide = true)]
    Pages(commands::pages::Args),
    /// Inside a guest of the virtual lab (started by the lab itself)
    #[command(name = commands::guest::INIT, hide = true)]
    Guest,
}

impl Command {
    /// Whether nothing but output is lost when the reader goes away, as in `ccactl list | head`.
    pub fn only_prints(&self) -> bool {
        matches!(self, Command::List(_) | Command::Show(_) | Command::Status(_) | Command::Diff(_))
    }
}

/// The command line with its help.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    for (name, examples) in EXAMPLES {
        command = command.mut_subcommand(name, |command| command.after_help(after_help(examples)));
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template).after_help("`ccactl COMMAND --help` has examples.").after_long_help(exit_codes())
}

/// Parses the arguments of this process.
pub fn parse() -> Result<Cli, clap::Error> {
    let matches = command().try_get_matches()?;
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.prints_json = has_json(&matches);
    Ok(cli)
}

fn has_json(matches: &ArgMatches) -> bool {
    let own = matches.try_get_one::<bool>("json").ok().flatten().copied().unwrap_or(false);
    own || matches.subcommand().is_some_and(|(_, matches)| has_json(matches))
}

/// Whether the arguments say so, where they are no command.
pub fn asks_for_json() -> bool {
    std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json")
}

fn after_help(examples: [&str; 2]) -> String {
    format!("Examples:\n  {}\n  {}", examples[0], examples[1])
}

fn exit_codes() -> String {
    let lines = EXIT_CODES.iter().map(|(code, meaning)| format!("\n  {code:<3}  {meaning}"));
    "Exit codes:".to_owned() + &lines.collect::<String>()
}

/// `Operate:` and its commands, and so on.
fn grouped(command: &clap::Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{heading}:");
        for name in names {
            let about = command.find_subcommand(name).and_then(|command| command.get_about()).cloned();
            let _ = writeln!(text, "  {name:<9} {}", about.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTH: usize = 80;

    #[test]
    fn every_command_is_in_one_group_and_has_examples_that_are_understood() {
        let command = command();
        let mut shown: Vec<&str> =
            command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let mut with_examples: Vec<&str> = EXAMPLES.iter().map(|(name, _)| *name).collect();
        for names in [&mut shown, &mut grouped, &mut with_examples] {
            names.sort_unstable();
        }
        assert_eq!((&grouped, &with_examples), (&shown, &shown));
        for (name, examples) in EXAMPLES {
            for example in examples {
                let words: Vec<&str> = example.split_whitespace().collect();
                assert_eq!(words[..2], ["ccactl", name], "{example}");
                if let Err(error) = self::command().try_get_matches_from(words) {
                    panic!("{example}: {error}");
                }
            }
        }
    }

    #[test]
    fn the_help_fits_a_terminal() {
        let help = command().term_width(WIDTH).render_help().to_string();
        for line in help.lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
        assert!(help.contains("Operate:\n  load "), "{help}");
        let long = command().render_long_help().to_string();
        assert!(long.contains("Exit codes:\n  0    done"), "{long}");
    }
}
