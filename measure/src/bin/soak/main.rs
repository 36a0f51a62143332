//! Swaps live connections under load, and kills ccactl while it does so: `cargo xtask soak`.
//!
//! Prints what happens as it happens and, at the end, the section of `docs/reliability.md`. Ends with 1 when anything was lost,
//! changed, reset or left behind.

mod kills;
mod leftovers;
mod settings;
mod summary;
mod swaps;
mod world;

use settings::Settings;
use std::process::ExitCode;
use world::World;

/// What went wrong, in words.
type Faults = Vec<String>;
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let Some(settings) = Settings::parse(std::env::args().skip(1)) else {
        eprintln!("soak: {}", settings::USAGE);
        return ExitCode::from(ccactl_abi::exit::USAGE);
    };
    match run(&settings) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            eprintln!("\nsoak: {} faults (repeat with --seed {}):", faults.len(), settings.seed);
            faults.iter().for_each(|fault| eprintln!("  {fault}"));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("soak: {error} (repeat with --seed {})", settings.seed);
            ExitCode::FAILURE
        }
    }
}

fn run(settings: &Settings) -> Result<Faults> {
    eprintln!("seed {}; {} connections", settings.seed, settings.connections);
    let mut world = World::start(settings)?;
    let (swaps, kills) = match load_phases(&mut world, settings) {
        Ok(phases) => phases,
        Err(error) => {
            // Nothing is left behind then either.
            world.end()?;
            return Err(error);
        }
    };
    let ending = world.end()?;
    print!("{}", summary::markdown(settings, &swaps, &kills, &ending));
    Ok([swaps.faults, kills.faults, ending.faults].concat())
}

fn load_phases(world: &mut World, settings: &Settings) -> Result<(swaps::Swaps, kills::Kills)> {
    Ok((swaps::run(world, settings)?, kills::run(world, settings)?))
}
