//! A build without object stores.

use super::{Args, location_in};
use crate::commands::record::Signals;
use crate::error::{Error, Result};
use ccactl_suites::folder::{Experiment, SuiteFolder};
use std::path::PathBuf;
use std::process::ExitCode;

fn lacking(what: &str) -> Error {
    Error::Argument(format!(
        "{what}: this ccactl was built without object stores; the packages have them, and so has `cargo build --release \
         --package ccactl --features object-store`"
    ))
}

/// There is none.
pub enum Upload {}
/// There is none.
pub enum Sending {}

impl Upload {
    pub fn prepare(location: Option<&str>, _: &Args) -> Result<Option<Upload>> {
        location.map_or(Ok(None), |text| Err(lacking(&format!("-o {text}"))))
    }

    pub fn folder(&self) -> PathBuf {
        match *self {}
    }

    pub fn start(self) -> Result<Sending> {
        match self {}
    }
}

impl Sending {
    pub fn progress(&self) -> String {
        match *self {}
    }

    pub fn end(self, _: &Signals) -> Sending {
        match self {}
    }

    pub fn location(&self) -> &str {
        match *self {}
    }

    pub fn is_complete(&self) -> bool {
        match *self {}
    }

    pub fn print(&self) {
        match *self {}
    }

    pub fn json(&self) -> Option<serde_json::Value> {
        match *self {}
    }
}

/// There is none.
pub enum Cells {}

impl Cells {
    pub fn open(location: &str) -> Result<Cells> {
        Err(lacking(&format!("--store {location}")))
    }

    pub fn experiment(&self) -> Result<Option<Experiment>> {
        match *self {}
    }

    pub fn check(&self, _: &Experiment) -> Result<()> {
        match *self {}
    }

    pub fn bring(&self, _: &SuiteFolder, _: &[&str]) -> Result<()> {
        match *self {}
    }

    pub fn send(&self, _: &SuiteFolder, _: &[&str]) -> Result<()> {
        match *self {}
    }
}

/// Nothing was copied.
pub struct Copies;

pub fn fetch(paths: &mut [PathBuf]) -> Result<Copies> {
    match paths.iter().find_map(|path| location_in(path)) {
        Some(text) => Err(lacking(text)),
        None => Ok(Copies),
    }
}

pub fn send(_: Option<PathBuf>, _: bool) -> Result<ExitCode> {
    Err(lacking("send"))
}
