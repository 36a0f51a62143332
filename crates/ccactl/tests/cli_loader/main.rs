//! apply, diff, load, unload, list, show, status, run and probe as a user sees them: output, messages, exit codes, leftovers.

mod apply;
mod apply_live;
mod canary;
mod drift;
mod fleet;
mod host;
mod input;
mod lifecycle;
mod missing;
mod own_file;
mod program;
mod run;
mod service;
mod terminal;
