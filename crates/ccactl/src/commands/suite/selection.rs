//! Which cells of which experiment: what every command on suites is asked.

use crate::commands::carrier::Carrier;
use crate::commands::lab;
use crate::error::Result;
use ccactl_lab::kernel::Kernel;
use ccactl_scenario::Variant;
use ccactl_suites::folder::Place;
use ccactl_suites::runner::{self, Ground, Only, Shard};
use ccactl_suites::{Plan, Request};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Name of a suite (`ccactl bench list`), or a scenario file with or without a matrix
    name: String,
    /// Only cells with these labels; several are alternatives
    #[arg(long, value_name = "AXIS=VALUE,…")]
    only: Vec<Only>,
    /// Only the cell of this name (`ccactl bench cells`)
    #[arg(long, value_name = "ID")]
    cell: Vec<String>,
    /// Only one of several parts, such as 2/8; cells are dealt out in turns
    #[arg(long, value_name = "PART/PARTS")]
    shard: Option<Shard>,
    /// Number of runs per cell
    #[arg(long, value_name = "N")]
    repeat: Option<u32>,
    /// Seed of random losses and queues; run N of a cell uses seed + N
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The scaled version of the scenario; says what it changes
    #[arg(long, conflicts_with = "as_printed")]
    quick: bool,
    /// Under the conditions that the printed figures were inferred to have; says what it assumes
    #[arg(long)]
    as_printed: bool,
    /// Any field, such as `duration=60s`
    #[arg(long, value_name = "FIELD=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    pub carrier: Carrier,
    #[command(flatten)]
    pub lab: lab::Args,
    /// Folder; a suite that was interrupted in it goes on [default: ./ccactl-bench-NAME, with -quick or -as-printed]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Args {
    /// The kernel of the lab's guests, if cells run in some.
    pub fn guests(&self) -> Result<Option<Kernel>> {
        Ok(self.lab.is_asked_for().then(|| self.lab.kernel()).transpose()?)
    }

    /// Whether one of several processes runs these cells.
    pub fn is_a_part(&self) -> bool {
        self.selection().is_a_part()
    }

    /// Where cells run.
    pub fn ground(&self) -> Ground {
        match self.carrier.backend() {
            _ if self.lab.is_asked_for() => Ground::Guests,
            backend if backend.needs_host() => Ground::Host,
            _ => Ground::Simulator,
        }
    }

    /// What is to be run, with guests of this kernel.
    pub fn plan(&self, guests: Option<&Kernel>) -> Result<Plan> {
        let as_printed = self.as_printed.then_some(Variant::AsPrinted);
        Ok(Plan::new(&Request {
            name: self.name.clone(),
            selection: self.selection(),
            repeat: self.repeat,
            seed: self.seed,
            variant: self.quick.then_some(Variant::Quick).or(as_printed),
            set: self.set.clone(),
            place: Place { backend: self.carrier.backend(), lab: guests.map(|kernel| kernel.release.clone()) },
            folder: self.output.clone(),
        })?)
    }

    /// The words of `ccactl bench run` that ask for the same matrix on another machine, into this folder.
    pub fn words(&self, folder: &Path) -> Vec<String> {
        let name = if Path::new(&self.name).is_file() { absolute(Path::new(&self.name)) } else { self.name.clone() };
        let option = |name: &str, value: String| [name.to_owned(), value];
        let mut words = vec![name];
        words.extend(self.repeat.into_iter().flat_map(|n| option("--repeat", n.to_string())));
        words.extend(self.seed.into_iter().flat_map(|n| option("--seed", n.to_string())));
        words.extend(self.quick.then(|| "--quick".to_owned()));
        words.extend(self.as_printed.then(|| "--as-printed".to_owned()));
        words.extend(self.set.iter().flat_map(|change| option("--set", change.clone())));
        words.extend(option("--link", self.carrier.backend().to_string()));
        words.extend(self.lab.words());
        words.extend(option("--output", absolute(folder)));
        words
    }

    fn selection(&self) -> runner::Selection {
        runner::Selection { only: self.only.clone(), cells: self.cell.clone(), shard: self.shard }
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        selection: Args,
    }

    #[test]
    fn the_words_for_another_machine_ask_for_the_same() {
        let words = |given: &[&str]| {
            let given = std::iter::once("run").chain(given.iter().copied());
            Command::try_parse_from(given).unwrap().selection.words(Path::new("/results"))
        };
        let plain = words(&["interaction-pairs"]);
        assert_eq!(plain, ["interaction-pairs", "--link", "emulator", "--output", "/results"]);
        let all = words(&[
            "aqm",
            "--repeat",
            "3",
            "--seed",
            "9",
            "--quick",
            "--set",
            "duration=5s",
            "--set",
            "link.loss=0.1",
            "--link",
            "netem",
            "--lab=vm:6.12",
            "--lab-limit",
            "90s",
            "--only",
            "axis=a",
            "--shard",
            "1/2",
        ]);
        let again: Vec<&str> = all.iter().map(String::as_str).collect();
        assert_eq!(words(&again), all);
        assert!(all.contains(&"vm:6.12".to_owned()) && all.contains(&"--quick".to_owned()), "{all:?}");
    }
}
