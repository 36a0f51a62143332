//! Time to check a policy file and to plan for it, by its number of tables. The host is one on paper, where every second
//! cgroup has a policy already.
//! `cargo run --release --manifest-path measure/Cargo.toml --bin policy_tables [TABLES…]`.

use ccactl_loader::cgroup::Mount;
use ccactl_loader::fleet::{Observed, Plan, PolicyFile};
use ccactl_loader::{PolicyStatus, State};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).map(|arg| arg.parse().expect("a number of tables")).collect();
    let sizes = if given.is_empty() { vec![500, 1000, 2000, 10_000, 20_000] } else { given };
    let mount = Mount::find("/proc/mounts".as_ref()).expect("a cgroup2 mount");
    println!("{:>8} {:>10} {:>10} {:>10}", "tables", "bytes", "check ms", "plan ms");
    for tables in sizes {
        let text = text(tables);
        let start = Instant::now();
        let file = PolicyFile::parse("policy.toml", &text, &mount).expect("a file without mistakes");
        let checked = start.elapsed();
        let observed = observed(&file, &mount);
        let start = Instant::now();
        let plan = Plan::new(&file, &observed, true);
        let planned = start.elapsed();
        assert_eq!(plan.steps.len(), tables + tables / 2, "every table, and as many policies that are to go");
        let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
        println!("{tables:>8} {:>10} {:>10.1} {:>10.1}", text.len(), ms(checked), ms(planned));
    }
}

fn text(tables: usize) -> String {
    let mut text = String::new();
    for i in 0..tables {
        writeln!(text, "[cgroup.\"/ccactl-tables/{i}\"]\nalgorithm = \"reno\"\nas = \"r{i}\"\n")
            .expect("a string takes all");
    }
    text
}

/// Every second cgroup has another policy than the file says, which holds the name that the next one is to get; as many
/// policies are not in the file.
fn observed(file: &PolicyFile, mount: &Mount) -> Observed {
    let policy = |cgroup: std::path::PathBuf, id: usize, name: String| PolicyStatus {
        cgroup: Some(cgroup),
        cgroup_id: id as u64,
        algorithm: "cubic".to_owned(),
        known: None,
        kernel_name: name,
        tunables: Vec::new(),
        attached_since: "2026-11-21T15:00:00Z".to_owned(),
        state: State::Active,
        enforce: false,
        canary: None,
        mended: 0,
    };
    let entries = file.entries.iter().enumerate().step_by(2);
    let listed = entries.clone().map(|(i, entry)| policy(entry.cgroup.clone(), i, format!("r{}", i + 1)));
    let others = entries.map(|(i, _)| policy(mount.path().join(format!("ccactl-other/{i}")), i + 1, format!("o{i}")));
    Observed {
        policies: listed.chain(others).collect(),
        missing: Default::default(),
        to_move: BTreeMap::new(),
        mount: mount.clone(),
    }
}
