//! The terminal: what is drawn, and what keys do.

mod app;
mod detail;
mod draw;
mod frame;
mod help;
mod notes;
mod run;
mod table;
#[cfg(test)]
mod tests;
mod theme;

pub use app::{App, View};
pub use draw::draw;
pub use notes::Notes;
pub use run::{Error, run};
pub use theme::Theme;
