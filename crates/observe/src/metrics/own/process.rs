//! Processor and memory of this process, under the names that Prometheus' own clients use.

use crate::metrics::page::Page;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{SysconfVar, sysconf};
use std::fs;

/// What `/proc/self/stat` says, in base units.
#[derive(Debug, PartialEq)]
struct Usage {
    cpu_seconds: f64,
    /// Since the boot of the machine.
    started_seconds: f64,
    virtual_bytes: f64,
    resident_bytes: f64,
}

/// Puts what /proc says onto the page; what it does not say is left out.
pub(crate) fn show(page: &mut Page) {
    let ticks_per_s = constant(SysconfVar::CLK_TCK);
    let page_bytes = constant(SysconfVar::PAGE_SIZE);
    let stat = fs::read_to_string("/proc/self/stat").ok();
    let usage = stat.zip(ticks_per_s).zip(page_bytes).and_then(|((stat, ticks), page)| parse(&stat, ticks, page));
    let booted = fs::read_to_string("/proc/stat").ok().and_then(|stat| boot_time(&stat));
    let open_files = fs::read_dir("/proc/self/fd").ok().map(|entries| entries.count() as f64);
    let max_files = getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft as f64);

    let one = |value: Option<f64>| value.map(|value| (vec![], value));
    let cpu = usage.as_ref().map(|usage| usage.cpu_seconds);
    page.counter("process_cpu_seconds_total", "Processor time of the exporter, user and system.", one(cpu));
    let resident = usage.as_ref().map(|usage| usage.resident_bytes);
    page.gauge("process_resident_memory_bytes", "Resident memory of the exporter.", one(resident));
    let virtual_ = usage.as_ref().map(|usage| usage.virtual_bytes);
    page.gauge("process_virtual_memory_bytes", "Virtual memory of the exporter.", one(virtual_));
    let started = usage.as_ref().zip(booted).map(|(usage, booted)| booted + usage.started_seconds);
    page.gauge("process_start_time_seconds", "Start of the exporter, seconds since the epoch.", one(started));
    page.gauge("process_open_fds", "Open files of the exporter.", one(open_files));
    page.gauge("process_max_fds", "Files that it may open.", one(max_files));
}

fn constant(variable: SysconfVar) -> Option<f64> {
    sysconf(variable).ok().flatten().map(|value| value as f64)
}

/// proc(5): fields count from 1, and the second one, the name in brackets, may hold anything.
fn parse(stat: &str, ticks_per_s: f64, page_bytes: f64) -> Option<Usage> {
    const FIRST_AFTER_NAME: usize = 3;
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_whitespace().collect();
    let field = |number: usize| fields.get(number - FIRST_AFTER_NAME)?.parse::<f64>().ok();
    Some(Usage {
        cpu_seconds: (field(14)? + field(15)?) / ticks_per_s,
        started_seconds: field(22)? / ticks_per_s,
        virtual_bytes: field(23)?,
        resident_bytes: field(24)? * page_bytes,
    })
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found_behind_a_name_with_brackets_and_spaces() {
        let stat = "4242 (a) b (c) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 3 0 777 8192 11 12 13";
        let expected =
            Usage { cpu_seconds: 2.0, started_seconds: 7.77, virtual_bytes: 8192.0, resident_bytes: 11.0 * 4096.0 };
        assert_eq!(parse(stat, 100.0, 4096.0), Some(expected));
        assert_eq!(parse("4242 (a) S 1", 100.0, 4096.0), None);
        assert_eq!(boot_time("cpu 1 2\nbtime 1700000000\n"), Some(1_700_000_000.0));
    }

    #[test]
    fn this_process_has_all_of_them() {
        let mut page = Page::default();
        show(&mut page);
        let text = page.text();
        for name in [
            "process_cpu_seconds_total",
            "process_resident_memory_bytes",
            "process_virtual_memory_bytes",
            "process_start_time_seconds",
            "process_open_fds",
            "process_max_fds",
        ] {
            assert!(text.contains(&format!("\n{name} ")), "{name} is missing in\n{text}");
        }
    }
}
