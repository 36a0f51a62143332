//! What an operator is promised (docs/reliability.md), tried from outside: other namespaces, other users, stopped and
//! killed processes, pins that somebody has removed.

#[path = "../cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
mod lease;
#[path = "../cli_swap/live.rs"]
#[allow(dead_code, reason = "shared with the tests of swap")]
mod live;
mod lost_pins;
mod messages;
mod namespaces;
#[path = "../cli_bench/scenario.rs"]
#[allow(dead_code, reason = "shared with the tests of bench")]
mod scenario;
mod stopped;
mod strangers;
