//! In the guest: a bench with the measuring programs attached.

use crate::Failure;
use crate::table::Errors;
use ccactl_abi::objects;
use ccactl_scenario::Scenario;
use ccactl_testbed::bench::{self, Backend, Interrupt, Limits, Options, OutputDir};
use libbpf_rs::{MapCore, MapFlags, ObjectBuilder};
use std::sync::atomic::AtomicBool;

/// Runs the scenario of a file; prints [`Errors`] as JSON.
pub fn measure(file: &str) -> Result<(), Failure> {
    let scenario = Scenario::parse(file, &std::fs::read_to_string(file)?)?;
    let object = ObjectBuilder::default().open_memory(objects::RING_ERROR)?.load()?;
    let attached: Vec<_> = object.progs_mut().map(|program| program.attach()).collect::<Result<_, _>>()?;
    let options = Options {
        program: std::env::current_exe()?,
        limits: Limits::default(),
        attempts: 1,
        backend: Backend::Emulator,
        phase_ns: None,
    };
    let folder = tempfile::tempdir()?;
    let output = OutputDir::prepare(&folder.path().join("bench"))?;
    let result = bench::bench(&scenario, &options, &output, Interrupt(&AtomicBool::new(false)), &mut |_| {})?;
    let problems: Vec<&String> = result.runs.iter().flat_map(|run| &run.problems).collect();
    if !problems.is_empty() {
        return Err(format!("the run is not valid: {problems:?}").into());
    }
    drop(attached);
    let errors = object.maps().find(|map| map.name() == "errors").ok_or("an object without the map `errors`")?;
    let value = errors.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY)?.ok_or("a map without its only value")?;
    println!("{}", serde_json::to_string(&Errors::of_bytes(&value)?)?);
    Ok(())
}
