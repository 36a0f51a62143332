//! How long and how hard.

use std::time::{SystemTime, UNIX_EPOCH};

pub const USAGE: &str = "usage: soak [--quick] [--seed N] [--connections N] [--swaps N] [--kills N]";

pub struct Settings {
    pub connections: u32,
    pub swaps: u32,
    pub kills: u32,
    pub seed: u64,
}

impl Settings {
    /// `None` for what is not understood.
    pub fn parse(args: impl Iterator<Item = String>) -> Option<Self> {
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let mut settings = Self { connections: 2000, swaps: 200, kills: 50, seed: u64::from(clock.subsec_nanos()) };
        let mut args = args;
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--quick" => (settings.connections, settings.swaps, settings.kills) = (200, 20, 10),
                "--seed" => settings.seed = args.next()?.parse().ok()?,
                "--connections" => settings.connections = args.next()?.parse().ok().filter(|count| *count > 0)?,
                "--swaps" => settings.swaps = args.next()?.parse().ok()?,
                "--kills" => settings.kills = args.next()?.parse().ok()?,
                _ => return None,
            }
        }
        Some(settings)
    }
}
