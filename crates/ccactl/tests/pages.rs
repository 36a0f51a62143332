//! The commands of README.md, of the tutorials and of the how-to pages. A block that follows `<!-- run -->` is run, and prints what the page shows, up to
//! numbers. Any other block stands below a `<!-- not run: REASON -->`, which holds to the next heading.

use nix::unistd::geteuid;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUN: &str = "<!-- run -->";
const NOT_RUN: &str = "<!-- not run: ";
/// Printed by the script after each command.
const END_OF_COMMAND: &str = "@@@ end of command @@@";
/// For all commands of a page together.
const AT_MOST: &str = "120s";

/// Commands of one page that are run one after the other.
struct Step {
    /// Line of the page, from 1.
    line: usize,
    command: String,
    /// What the page shows; none for a block without output (`sh`).
    expected: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README.md, the tutorials and the how-to pages.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md")];
    for folder in ["docs/tutorials", "docs/how-to"] {
        let found = std::fs::read_dir(root().join(folder)).unwrap();
        let files = found.map(|entry| entry.unwrap().path());
        pages.extend(files.filter(|path| path.extension().is_some_and(|extension| extension == "md")));
    }
    pages.sort();
    pages
}

/// The steps that are run, and the lines of the blocks that are neither run nor said not to be.
fn steps(text: &str) -> (Vec<Step>, Vec<usize>) {
    let (mut steps, mut undecided) = (Vec::new(), Vec::new());
    let (mut run, mut not_run) = (false, false);
    let mut lines = text.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        if line.starts_with('#') {
            not_run = false;
        } else if line == RUN {
            run = true;
        } else if line.starts_with(NOT_RUN) {
            not_run = true;
        } else if let Some(language) = line.strip_prefix("```").filter(|rest| !rest.is_empty()) {
            let block: Vec<(usize, &str)> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            match language {
                "console" | "sh" if run => steps.extend(commands(language, &block)),
                "console" | "sh" if !not_run => undecided.push(i + 1),
                _ => {}
            }
            run = false;
        } else if line == "```" {
            lines.by_ref().find(|(_, line)| *line == "```");
        }
    }
    (steps, undecided)
}

fn commands(language: &str, block: &[(usize, &str)]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut goes_on = false;
    for &(i, text) in block {
        let command = if language == "sh" { Some(text) } else { text.strip_prefix("# ") };
        match (command, steps.last_mut()) {
            (_, Some(step)) if goes_on => {
                step.command.push('\n');
                step.command.push_str(text);
                goes_on = text.ends_with('\\');
            }
            (Some(command), _) => {
                goes_on = command.ends_with('\\');
                let expected = (language == "console").then(String::new);
                steps.push(Step { line: i + 1, command: command.to_owned(), expected });
            }
            (None, Some(Step { expected: Some(expected), .. })) => {
                expected.push_str(text);
                expected.push('\n');
            }
            (None, _) => panic!("line {}: an output before a command", i + 1),
        }
    }
    steps
}

/// Lines without what differs from run to run and from host to host: numbers are `N`, blanks are single, empty lines are gone.
fn comparable(text: &str) -> Vec<String> {
    // Where hosts with a hybrid hierarchy mount cgroup2.
    let text = text.replace("/sys/fs/cgroup/unified/", "/sys/fs/cgroup/");
    let line = |line: &str| {
        let words: Vec<String> = line.split_whitespace().map(without_numbers).collect();
        words.join(" ")
    };
    text.lines().map(line).filter(|line| !line.is_empty()).collect()
}

fn without_numbers(word: &str) -> String {
    let mut out = String::new();
    let mut signs = word.chars().peekable();
    while let Some(sign) = signs.next() {
        if !sign.is_ascii_digit() {
            out.push(sign);
            continue;
        }
        out.push('N');
        let mut rest = signs.clone();
        while let Some(next) = rest.next() {
            let fraction = next == '.' && rest.peek().is_some_and(char::is_ascii_digit);
            if !next.is_ascii_digit() && !fraction {
                break;
            }
            signs.next();
        }
    }
    out
}

/// Runs a page's steps in one shell, in a folder of their own; what each printed.
fn run(steps: &[Step], folder: &Path, bpffs: &Path) -> Vec<String> {
    let mut script = String::from("exec 2>&1 </dev/null\n");
    for step in steps {
        // The exit code of a command is what `echo $?` shows next.
        script += &format!("{}\nstatus=$?; printf '\\n{END_OF_COMMAND}\\n'; (exit $status)\n", step.command);
    }
    let ccactl = Path::new(env!("CARGO_BIN_EXE_ccactl")).parent().unwrap();
    let path = format!("{}:{}", ccactl.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("timeout");
    shell.args(["--signal=INT", "--kill-after=10s", AT_MOST, "bash", "-c", &script]);
    shell.current_dir(folder).env("PATH", path).env("CCACTL_BPFFS", bpffs).env("XDG_CACHE_HOME", folder);
    let output = shell.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut printed: Vec<String> = text.split(END_OF_COMMAND).map(str::to_owned).collect();
    printed.pop();
    printed
}

/// Removes what the pages may have left when one of their commands failed.
struct Leftovers<'a>(&'a Path);

impl Drop for Leftovers<'_> {
    fn drop(&mut self) {
        let mut unload = Command::new(env!("CARGO_BIN_EXE_ccactl"));
        let _ = unload.args(["unload", "--all", "--remove-cgroup"]).env("CCACTL_BPFFS", self.0).output();
    }
}

#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let mut missing = Vec::new();
    for page in pages() {
        let (_, undecided) = steps(&std::fs::read_to_string(&page).unwrap());
        missing.extend(undecided.into_iter().map(|line| format!("{}:{line}", page.display())));
    }
    assert_eq!(missing, Vec::<String>::new(), "write `{RUN}` above the block, or `{NOT_RUN}REASON -->`");
}

#[test]
fn the_commands_that_are_run_print_what_the_pages_show() {
    if !geteuid().is_root() {
        assert_ne!(std::env::var("CI").as_deref(), Ok("true"), "CI runs the kernel tests, so it needs root");
        eprintln!("not run: needs root");
        return;
    }
    let bpffs = PathBuf::from(format!("/sys/fs/bpf/ccactl-test-pages-{}", std::process::id()));
    let mut run_at_all = 0;
    for page in pages() {
        let (steps, _) = steps(&std::fs::read_to_string(&page).unwrap());
        let folder = tempfile::tempdir().unwrap();
        let _leftovers = Leftovers(&bpffs);
        let printed = run(&steps, folder.path(), &bpffs);
        for (step, printed) in steps.iter().zip(&printed) {
            let place = format!("{}:{}: {}", page.display(), step.line, step.command);
            if let Some(expected) = &step.expected {
                assert_eq!(comparable(printed), comparable(expected), "{place}");
            }
        }
        assert_eq!(printed.len(), steps.len(), "{}: not all commands ended in {AT_MOST}: {printed:?}", page.display());
        run_at_all += steps.len();
    }
    assert!(run_at_all > 0, "no page has a command that is run");
}

#[test]
fn numbers_and_blanks_do_not_count_and_words_do() {
    assert_eq!(comparable("a  5.3 ms, 41 of 41\n\n2026-11-21T16:53:27Z\n"), ["a N ms, N of N", "N-N-NTN:N:NZ"]);
    assert_ne!(comparable("moved 3"), comparable("kept 3"));
}
