//! Brings kernels into the cache: `fetch 6.1 6.12 newest`.

use ccactl_lab::kernel::{Cache, Request};
use std::process::ExitCode;

fn main() -> ExitCode {
    for text in std::env::args().skip(1) {
        let fetched = text
            .parse::<Request>()
            .map_err(ccactl_lab::Error::from)
            .and_then(|request| Cache::of_user()?.kernel(&request, &mut |line| eprintln!("{line}")));
        match fetched {
            Ok(kernel) => println!("{text}: Linux {}", kernel.release),
            Err(error) => {
                eprintln!("{text}: {error}");
                return ExitCode::from(error.exit_code());
            }
        }
    }
    ExitCode::SUCCESS
}
