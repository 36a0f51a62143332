//! load, unload, list, show, status, run and probe as a user sees them: output, messages, exit codes, leftovers.

mod canary;
mod host;
mod input;
mod lifecycle;
mod missing;
mod run;
