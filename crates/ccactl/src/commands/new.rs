//! `ccactl new`

use crate::error::{Error, Result};
use ccactl_abi::layout::NAME_LEN;
use ccactl_abi::{Algorithm, native, objects};
use ccactl_host::outln;
use ccactl_host::output::{Replace, write};
use clap::ValueEnum;
use std::path::Path;
use std::process::ExitCode;

#[derive(clap::Args)]
pub struct Args {
    /// Name of the algorithm: lower case, digits, '-'; the file is NAME.bpf.c in this folder
    name: String,
    /// Begin with a copy of this one
    #[arg(long, value_name = "ALGO", default_value = "reno")]
    like: Like,
}

/// What stands in files of its own or is short enough to begin with.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Like {
    Reno,
    Cubic,
    Vegas,
    Bbr,
}

pub fn run(args: Args) -> Result<ExitCode> {
    let kernel_name = args.name.replace('-', "_");
    check(&args.name, &kernel_name)?;
    let like = args.like.to_possible_value().expect("every one has a name").get_name().to_owned();
    let file = format!("{}.bpf.c", args.name);
    let text = renamed(&like, &args.name, &kernel_name);
    match write(Path::new(&file), text.as_bytes(), Replace::Never) {
        Err(error) => return Err(Error::Refused(format!("{file}: {error}"))),
        Ok(()) => outln!("{file}: as {like}. Next: `ccactl load ./{file} --cgroup /try --create`"),
    }
    Ok(ExitCode::SUCCESS)
}

fn check(name: &str, kernel_name: &str) -> Result<()> {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.is_empty() || name.len() >= NAME_LEN || !name.bytes().all(is_fine) || name.starts_with('-') {
        return Err(Error::Argument(format!("the name {name:?}: expected 1 to 15 of a to z, 0 to 9 and '-'")));
    }
    if native::NAMES.contains(&kernel_name) || native::NAMES.contains(&name) {
        return Err(Error::Argument(format!("{name} is a name of Linux' own algorithms: choose another")));
    }
    if Algorithm::by_name(name).or_else(|| Algorithm::by_kernel_name(kernel_name)).is_some() {
        return Err(Error::Argument(format!("ccactl has an algorithm of the name {name}: choose another")));
    }
    Ok(())
}

/// The source under other names. What its functions are called is nobody's business but the file's.
fn renamed(like: &str, name: &str, kernel_name: &str) -> String {
    let algorithm = Algorithm::by_name(like).expect("it is built in");
    let source = objects::TEMPLATES.iter().find(|(file, _)| *file == like).expect("its source is built in").1;
    let in_quotes = |text: &str| format!("\"{text}\"");
    let without_color = source.lines().filter(|line| !line.starts_with("CC_COLOR("));
    without_color
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        .replace(&in_quotes(algorithm.kernel_name), &in_quotes(kernel_name))
        .replacen(&in_quotes(like), &in_quotes(name), 1)
}
