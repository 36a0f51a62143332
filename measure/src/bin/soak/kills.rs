//! ccactl is killed at random moments of its commands, with all connections alive: what it leaves is what it says, the next
//! command works, and nobody notices.

use crate::leftovers::registered;
use crate::settings::Settings;
use crate::world::{ALGORITHMS, World};
use crate::{Faults, Result};
use ccactl_testbed::traffic::checked::Sample;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A kill comes at a moment of the command's usual duration and this much beyond.
const BEYOND: f64 = 1.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    Load,
    Swap,
    Rollback,
    Unload,
}

impl Action {
    /// In an order in which each makes the next one possible.
    pub const ALL: [Action; 4] = [Action::Load, Action::Swap, Action::Rollback, Action::Unload];

    pub fn name(self) -> &'static str {
        match self {
            Action::Load => "load",
            Action::Swap => "swap",
            Action::Rollback => "rollback",
            Action::Unload => "unload",
        }
    }
}

/// Of one action.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub usual: Duration,
    pub kills: u32,
    /// Of those: the command had ended by itself before.
    pub too_late: u32,
    /// Sockets were between two algorithms when it was killed.
    pub mixed: u32,
}

/// A policy in `ccactl status --json`.
#[derive(Debug, Deserialize)]
struct Status {
    cgroup_id: u64,
    kernel_name: String,
    state: String,
    sockets: StatusSockets,
}

#[derive(Debug, Deserialize)]
struct StatusSockets {
    total: u64,
    as_policy: u64,
    by_algorithm: BTreeMap<String, u64>,
}

#[derive(Default)]
pub struct Kills {
    pub by_action: BTreeMap<Action, Tally>,
    /// What `status` called the policy after a kill, how often.
    pub states: BTreeMap<String, u32>,
    pub sample: Sample,
    pub elapsed: Duration,
    pub faults: Faults,
}

pub fn run(world: &mut World, settings: &Settings) -> Result<Kills> {
    let mut random = StdRng::seed_from_u64(settings.seed ^ 1);
    let mut kills = Kills::default();
    let started = Instant::now();
    let actions = if settings.kills > 0 { &Action::ALL[..] } else { &[] };
    for &action in actions {
        let usual = usual_duration(world, action)?;
        kills.by_action.insert(action, Tally { usual, ..Tally::default() });
    }
    for number in 1..=settings.kills {
        world.go_on()?;
        let faults = one_kill(world, &mut random, &mut kills)?;
        kills.faults.extend(faults.into_iter().map(|fault| format!("kill {number}: {fault}")));
        if number % 10 == 0 || number == settings.kills {
            eprintln!("{number} kills · {} faults", kills.faults.len());
        }
    }
    kills.faults.extend(last_unload(world, &mut kills.sample)?);
    kills.elapsed = started.elapsed();
    Ok(kills)
}

/// How long the command takes when nobody disturbs it.
fn usual_duration(world: &World, action: Action) -> Result<Duration> {
    let algorithm = match action {
        Action::Load => ALGORITHMS[1],
        _ => ALGORITHMS[2],
    };
    let args = arguments(world, action, algorithm);
    let before = Instant::now();
    let output = world.ccactl(&args).output()?;
    let usual = before.elapsed();
    if output.status.success() { Ok(usual) } else { Err(failure(&args, &output).into()) }
}

fn arguments(world: &World, action: Action, algorithm: &str) -> Vec<OsString> {
    let mut args: Vec<OsString> = vec![action.name().into()];
    if matches!(action, Action::Load | Action::Swap) {
        args.extend([algorithm.into(), "--as".into(), world.name(algorithm).into()]);
    }
    args.extend(["--cgroup".into(), world.cgroup().into()]);
    args
}

fn failure(args: &[OsString], output: &std::process::Output) -> String {
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let code = output.status.code().map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    format!("`ccactl {}` ended with {code}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim())
}

fn one_kill(world: &mut World, random: &mut StdRng, kills: &mut Kills) -> Result<Faults> {
    let current = policy(world)?;
    let action = if current.is_empty() { Action::Load } else { Action::ALL[random.random_range(0..Action::ALL.len())] };
    let algorithm = world.another(random, &current);
    let tally = kills.by_action.entry(action).or_default();
    let at = tally.usual.mul_f64(random.random_range(0.0..BEYOND));
    let mut child =
        world.ccactl(&arguments(world, action, algorithm)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    std::thread::sleep(at);
    child.kill()?;
    tally.kills += 1;
    // A signal leaves no code.
    tally.too_late += u32::from(child.wait()?.code().is_some());

    let what = format!("{} to {algorithm} after {:.1} ms", action.name(), at.as_secs_f64() * 1e3);
    let sample = world.sample()?;
    let mut faults = sample.faults(world.sockets());
    faults.extend(status_faults(world, action, &sample, &mut kills.states)?);
    tally.mixed += u32::from(sample.algorithms.len() > 1);
    faults.extend(next_command_faults(world, random)?);
    kills.sample = world.sample()?;
    faults.extend(kills.sample.faults(world.sockets()));
    Ok(faults.into_iter().map(|fault| format!("{what}: {fault}")).collect())
}

#[derive(Deserialize)]
struct Found {
    policies: Vec<Status>,
}

/// What `ccactl status --json` says about the cgroup.
fn status(world: &World) -> Result<Option<Status>> {
    let args = ["status".into(), "--json".into()];
    let output = world.ccactl(&args).output()?;
    if !output.status.success() {
        return Err(failure(&args, &output).into());
    }
    let found: Found = serde_json::from_slice(&output.stdout)?;
    Ok(found.policies.into_iter().find(|policy| policy.cgroup_id == world.cgroup_id()))
}

/// Kernel name of the policy; empty when there is none.
fn policy(world: &World) -> Result<String> {
    Ok(status(world)?.map_or_else(String::new, |status| status.kernel_name))
}

/// What `status` says of the live sockets against what their owner sees.
fn status_faults(world: &World, action: Action, sample: &Sample, states: &mut BTreeMap<String, u32>) -> Result<Faults> {
    let status = status(world)?;
    let state = status.as_ref().map_or("no policy", |status| &status.state);
    *states.entry(state.to_owned()).or_default() += 1;
    let mut faults = Faults::new();
    let ours = registered(&world.name_prefix());
    for (name, count) in sample.algorithms.iter().filter(|(name, _)| name.starts_with(&world.name_prefix())) {
        if !ours.contains(name) {
            faults.push(format!("{count} sockets have {name}, which is not registered"));
        }
        if status.is_none() {
            faults.push(format!("status knows no policy, but {count} sockets have {name}"));
        }
    }
    let Some(Status { state, sockets, .. }) = &status else { return Ok(faults) };
    for (name, count) in &sample.algorithms {
        let told = sockets.by_algorithm.get(name).copied().unwrap_or(0);
        if !(*count..=count + world.listeners()).contains(&told) {
            faults.push(format!("{count} sockets have {name}, status says {told}"));
        }
    }
    if sockets.total != world.sockets() + world.listeners() {
        faults.push(format!("status counts {} sockets of {}", sockets.total, world.sockets() + world.listeners()));
    }
    // A load leaves live sockets alone, all else moves them.
    if state == "active" && action != Action::Load && sockets.as_policy != sockets.total {
        faults.push(format!(
            "status calls the policy active, but {} of {} sockets differ",
            sockets.total - sockets.as_policy,
            sockets.total
        ));
    }
    Ok(faults)
}

/// A swap after the kill brings all sockets to one algorithm.
fn next_command_faults(world: &mut World, random: &mut StdRng) -> Result<Faults> {
    let current = policy(world)?;
    let algorithm = world.another(random, &current);
    if current.is_empty() {
        run_to_end(world, Action::Load, algorithm)?;
    }
    let mut swapped = run_to_end(world, Action::Swap, algorithm);
    if swapped.is_err() && policy(world)?.is_empty() {
        // The swap has completed the unload that was killed, and so found no policy.
        run_to_end(world, Action::Load, algorithm)?;
        swapped = run_to_end(world, Action::Swap, algorithm);
    }
    if let Err(error) = swapped {
        return Ok(vec![format!("the next command: {error}")]);
    }
    let sample = world.sample()?;
    let name = world.name(algorithm);
    if sample.algorithms.get(&name) == Some(&world.sockets()) {
        return Ok(Faults::new());
    }
    Ok(vec![format!("after the next swap: expected all sockets to have {name}, found {:?}", sample.algorithms)])
}

fn run_to_end(world: &World, action: Action, algorithm: &str) -> Result<()> {
    let args = arguments(world, action, algorithm);
    let output = world.ccactl(&args).output()?;
    if output.status.success() { Ok(()) } else { Err(failure(&args, &output).into()) }
}

/// After it no socket has an algorithm of ours, although all connections live.
fn last_unload(world: &mut World, sample: &mut Sample) -> Result<Faults> {
    run_to_end(world, Action::Unload, "")?;
    *sample = world.sample()?;
    let mut faults = sample.faults(world.sockets());
    if let Some(name) = sample.algorithms.keys().find(|name| name.starts_with(&world.name_prefix())) {
        faults.push(format!("after the last unload sockets still have {name}: {:?}", sample.algorithms));
    }
    if let Some(status) = status(world)? {
        faults.push(format!("after the last unload there is still a policy: {status:?}"));
    }
    Ok(faults)
}
