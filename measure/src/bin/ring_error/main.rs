//! `cargo xtask vm ring`: how far the send ring of BBRv2 and its descendants is from what Google's kernel stores with every packet.
//!
//! `ring_error [--kernel KERNEL] [--duration SECONDS]`. This program is also init of the guest (`__guest`), the bench in it (`__measure`) and
//! that bench's traffic (`__flow`).

mod guest;
mod table;

use ccactl_lab::kernel::Cache;
use ccactl_lab::{Clock, End, GuestCommand, Lab, Qemu, Task};
use ccactl_testbed::traffic;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use table::Row;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// First argument of init, of a measurement in the guest, and of its traffic.
const INIT: &str = "__guest";
const MEASURE: &str = "__measure";
const FLOW: &str = "__flow";

const MEMORY_MIB: u32 = 1024;
/// In the host's time, for all of it.
const LIMIT: Duration = Duration::from_secs(2 * 3600);
/// In the guest's time, for one run.
const COMMAND_LIMIT_S: u64 = 600;

/// Those that have the ring.
const ALGORITHMS: &[&str] = &["bbrv2", "f-bbrv2", "bbrv3"];

/// Where they are measured: in words, and as fields of a link.
const PATHS: &[(&str, &str)] = &[
    ("50 Mbit/s, 40 ms, 0.5 BDP", "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '0.5bdp'\n"),
    ("50 Mbit/s, 40 ms, 4 BDP", "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '4bdp'\n"),
    (
        "50 Mbit/s, 40 ms, 1 BDP, 0.5 % random loss",
        "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '1bdp'\nloss = 0.005\n",
    ),
    // A window of 520 packets: two bursts share a slot.
    ("50 Mbit/s, 120 ms, 1 BDP", "rate = '50Mbit/s'\nbase_rtt = '120ms'\nbuffer = '1bdp'\n"),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [INIT, ..] => ccactl_lab::guest::main().map_err(Failure::from),
        [MEASURE, file] => guest::measure(file),
        [FLOW, end] => flow(end),
        _ => run(words.into_iter()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ring_error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn flow(end: &str) -> Result<(), Failure> {
    let end: traffic::End = serde_json::from_str(end)?;
    Ok(end.run()?)
}

fn run(mut words: impl Iterator<Item = String>) -> Result<(), Failure> {
    let (mut kernel, mut duration_s) = ("6.18".to_owned(), 10);
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("expected a value after {word}"))?;
        match word.as_str() {
            "--kernel" => kernel = value,
            "--duration" => duration_s = value.parse()?,
            _ => return Err(format!("no option {word}: expected --kernel or --duration").into()),
        }
    }
    let kernel = Cache::of_user()?.kernel(&kernel.parse()?, &mut |line| eprintln!("{line}"))?;
    let release = kernel.release.clone();
    let lab = Lab {
        qemu: Qemu::of_user(),
        kernel,
        clock: Clock::Virtual,
        memory_mib: MEMORY_MIB,
        program: std::env::current_exe()?,
        init_argument: INIT.to_owned(),
        limit: LIMIT,
    };
    println!("{}", table::markdown(&release, duration_s, &rows(&lab, duration_s)?));
    Ok(())
}

fn rows(lab: &Lab, duration_s: u32) -> Result<Vec<Row>, Failure> {
    let cells: Vec<_> =
        ALGORITHMS.iter().flat_map(|algorithm| PATHS.iter().map(move |path| (*algorithm, path))).collect();
    let mut task = Task::default();
    for (index, (algorithm, (_, link))) in cells.iter().enumerate() {
        let file = format!("job/{index}.toml");
        let words = [MEASURE, &format!("/{file}")].map(str::to_owned);
        task.commands.push(GuestCommand { arguments: words.into(), limit_s: COMMAND_LIMIT_S });
        task.files.push((file, scenario(algorithm, link, duration_s).into_bytes()));
    }
    let results = lab.run(&task, &std::env::temp_dir(), &AtomicBool::new(false))?;
    let row = |(index, (algorithm, (path, _))): (usize, &(&'static str, &(&'static str, &str)))| match &results
        .outcome
        .commands[index]
        .end
    {
        End::Exited(0) => Ok(Row { algorithm, path, errors: serde_json::from_str(&results.stdout(index)?)? }),
        end => Err(format!("{algorithm}, {path}: {end:?}: {}", results.stderr(index)?.trim()).into()),
    };
    cells.iter().enumerate().map(row).collect()
}

fn scenario(algorithm: &str, link: &str, duration_s: u32) -> String {
    format!(
        "name = 'ring'\ndescription = 'One flow'\nduration = '{duration_s}s'\nevery = '{duration_s}s'\n[link]\n{link}\
         [[flow]]\nname = 'flow'\nalgorithm = '{algorithm}'\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_a_scenario() {
        for algorithm in ALGORITHMS {
            assert!(ccactl_abi::Algorithm::by_name(algorithm).is_some(), "{algorithm}");
            for (_, link) in PATHS {
                ccactl_scenario::Scenario::parse("x.toml", &scenario(algorithm, link, 10)).unwrap();
            }
        }
    }
}
