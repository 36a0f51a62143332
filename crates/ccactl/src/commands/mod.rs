//! One file per subcommand: parse, call the library, print. No logic of their own.
pub mod bench;
pub mod bench_view;
pub mod demo;
pub mod flow;
pub mod list;
pub mod load;
pub mod output;
pub mod probe;
pub mod record;
pub mod report;
pub mod rollback;
pub mod run;
pub mod show;
pub mod sockets_view;
pub mod status;
pub mod swap;
pub mod unload;
