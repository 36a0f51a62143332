//! The smallest program for a guest: init, and one command that says what it sees.

use std::process::ExitCode;
use std::time::Duration;

const NAPS: u32 = 5000;
const NAP: Duration = Duration::from_micros(100);

/// Of the calendar.
fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("__guest") => match ccactl_lab::guest::main() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("guest: {error}");
                ExitCode::FAILURE
            }
        },
        Some("panic") => {
            // The kernel panics when a process writes this letter there.
            std::fs::write("/proc/sysrq-trigger", "c").map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
        }
        Some("naps") => {
            // Now, and after the CPU has been idle a few thousand times.
            println!("{}", now().as_nanos());
            (0..NAPS).for_each(|_| std::thread::sleep(NAP));
            println!("{}", now().as_nanos());
            ExitCode::SUCCESS
        }
        _ => {
            let now = now();
            println!("{}", now.as_nanos());
            println!(
                "{}",
                std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default()
            );
            println!("{:?}", std::collections::hash_map::RandomState::new());
            println!("{:?}", std::fs::read_to_string("/proc/sys/kernel/random/uuid"));
            println!("{:p}", &now);
            println!("{}", std::path::Path::new("/dev/net/tun").exists());
            ExitCode::from(7)
        }
    }
}
