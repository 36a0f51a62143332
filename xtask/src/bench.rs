//! `cargo xtask bench NAME`: what each algorithm costs, what a recording costs, how long a swap takes and how punctual the
//! emulator is, as the tables of `docs/performance.md`.

use crate::error::{self, Error, Result};
use crate::measure;
use crate::setup::{self, Scope};
use crate::shell::{self, heading};

/// Builds and runs `measure/src/bin/cost`.
pub fn algorithms(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let program = measure::program("cost")?;
    heading("bench");
    shell::run(shell::program(program).args(args))
}

/// Builds `ccactl` and runs `measure/src/bin/record_cost`.
pub fn collector(args: &[&str]) -> Result {
    measure::with_ccactl("record_cost", "bench", args)
}

/// Builds `ccactl` and runs `measure/src/bin/bystanders.rs`.
pub fn bystanders(args: &[&str]) -> Result {
    measure::with_ccactl("bystanders", "bench", args)
}

/// Builds `ccactl` and runs `measure/src/bin/swap_time`.
pub fn swap(args: &[&str]) -> Result {
    measure::with_ccactl("swap_time", "bench", args)
}

/// Builds `ccactl` and runs `measure/dev_time.py`.
pub fn dev() -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = measure::ccactl()?;
    heading("bench");
    let script = shell::root().join("measure/dev_time.py");
    shell::run(shell::program("python3").arg(script).arg(ccactl).arg(shell::root().join("bpf")))
}

/// Builds `measure/src/bin/emulator_path` and `measure/rattan`, and runs the first beside the second.
pub fn emulator(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let program = measure::program("emulator_path")?;
    let rattan = shell::target_dir().join("bench-rattan");
    let mut build = shell::cargo();
    build.args(["build", "--release", "--locked", "--manifest-path", "measure/rattan/Cargo.toml", "--target-dir"]);
    shell::run(build.arg(&rattan))?;
    heading("bench");
    let rattan = rattan.join("release/ccactl-bench-rattan").display().to_string();
    let beside = [1, 2].map(|workers| format!("rattan, {workers} worker{}={rattan} {workers}", ["", "s"][workers - 1]));
    shell::run(shell::program(program).args(beside.iter().flat_map(|beside| ["--beside", beside])).args(args))
}

/// Builds `ccactl` and runs `measure/emulator_runs.py`.
pub fn runs(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = measure::ccactl()?;
    heading("bench");
    let script = shell::root().join("measure/emulator_runs.py");
    shell::run(shell::program("python3").arg(script).arg(ccactl).args(args))
}

/// Builds the example `dumbbell` of `crates/sim` and runs `measure/sim_speed.py`.
pub fn simulator(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let mut build = shell::cargo();
    shell::run(build.args(["build", "--release", "--locked", "-p", "ccactl-sim", "--example", "dumbbell"]))?;
    heading("bench");
    let script = shell::root().join("measure/sim_speed.py");
    let dumbbell = shell::target_dir().join("release/examples/dumbbell");
    shell::run(shell::program("python3").arg(script).arg(dumbbell).args(args))
}

/// Builds `ccactl` and runs `measure/sim_fidelity.py`; results stay, as each takes a minute in the lab.
pub fn fidelity(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = measure::ccactl()?;
    heading("fidelity");
    let script = shell::root().join("measure/sim_fidelity.py");
    let folder = shell::target_dir().join("sim-fidelity");
    shell::run(shell::program("python3").arg(script).arg(ccactl).arg(folder).args(args))
}

/// Rows of the recording that [`report`] reads unless another number is given.
const REPORT_ROWS: u64 = 100_000_000;
/// A row takes some 13 bytes; the file stays, so that the next run need not make it anew.
const REPORT_FOLDER: &str = "bench-report";

/// Builds both, and runs `measure/fleet_speed.py` in a folder that is removed.
pub fn fleet(args: &[&str]) -> Result {
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = measure::ccactl()?;
    let synthetic = measure::program("synthetic_big")?;
    let folder = shell::target_dir().join("bench-fleet");
    let _ = std::fs::remove_dir_all(&folder);
    heading("bench");
    let script = shell::root().join("measure/fleet_speed.py");
    let done = shell::run(shell::program("python3").arg(script).arg(ccactl).arg(synthetic).arg(&folder).args(args));
    let _ = std::fs::remove_dir_all(&folder);
    done
}

/// Builds `ccactl` and `measure/src/bin/synthetic_big`, has it write a recording, and runs `measure/report_speed.py` on it.
pub fn report(args: &[&str]) -> Result {
    let rows = match args {
        [] => REPORT_ROWS,
        [rows] => rows
            .parse()
            .map_err(|_| Error::new(error::USAGE, format!("bench report takes a number of rows, found `{rows}`")))?,
        _ => return Err(Error::new(error::USAGE, "bench report takes one number of rows".to_owned())),
    };
    setup::tools(Scope::Build)?;
    heading("build");
    let ccactl = measure::ccactl()?;
    let synthetic = measure::program("synthetic_big")?;
    let folder = shell::target_dir().join(REPORT_FOLDER);
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&format!("cannot create {}", folder.display()), &e))?;
    let file = folder.join(format!("{rows}.parquet"));
    if !file.exists() {
        heading("recording");
        let unfinished = folder.join(format!("{rows}.partial"));
        shell::run(shell::program(synthetic).arg(&unfinished).arg(rows.to_string()))?;
        std::fs::rename(&unfinished, &file).map_err(|e| Error::io(&format!("cannot name {}", file.display()), &e))?;
    }
    heading("bench");
    let script = shell::root().join("measure/report_speed.py");
    shell::run(shell::program("python3").arg(script).arg(ccactl).arg(file))
}
