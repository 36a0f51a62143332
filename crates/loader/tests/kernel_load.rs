//! Loads, switches, unloads and their interruptions on the real kernel: what is there afterwards, and what is not.

mod common;

use ccactl_abi::EcnNeed;
use ccactl_abi::layout::{POLICY_ECN, Policy};
use ccactl_host::state::{Presence, SHARED_MAPS};
use ccactl_loader::cgroup;
use ccactl_loader::{Change, Error, LoadRequest, Loader, State};
use common::drops::{Drop, Loss};
use common::net::{Connection, LOOPBACK, algorithm_of, choose, in_own_netns};
use common::{Host, attached_programs, named, plain, registered, with};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread;

fn policies(loader: &Loader) -> MapHandle {
    MapHandle::from_pinned_path(loader.paths().bpffs.join("policies")).unwrap()
}

#[test]
fn the_same_load_twice_changes_nothing() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    let request = LoadRequest::new(named("f-bbrv2", &name), host.cgroup("a")).create(true);
    let first = host.loader.load(&request).unwrap();
    assert_eq!((first.change, first.created_cgroup), (Change::Attached, true));
    assert_eq!((first.algorithm.as_str(), first.kernel_name.as_str()), ("f-bbrv2", name.as_str()));
    let before = host.loader.status().unwrap();

    let second = host.loader.load(&request).unwrap();
    assert_eq!((second.change, second.created_cgroup), (Change::Unchanged, false));
    assert_eq!(host.loader.status().unwrap(), before);
    assert_eq!(attached_programs(&host.directory("a")).len(), 1);
}

#[test]
fn unload_leaves_nothing() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true)).unwrap();
    assert!(registered().contains(&name));
    assert_eq!(host.leftovers().len(), 3, "folder, name and program are seen: {:?}", host.leftovers());

    let outcome = host.loader.unload(&host.cgroup("a")).unwrap().unwrap();
    assert_eq!((outcome.kernel_name, outcome.still_in_use), (name, false));
    assert_eq!(host.leftovers(), Vec::<String>::new(), "at once, not some time later");
    assert_eq!(host.loader.unload(&host.cgroup("a")).unwrap(), None, "a second unload finds nothing");
    assert_eq!(host.loader.status().unwrap(), []);
}

/// An application that chose one of ours by itself keeps it, and the kernel its name, until its socket is closed.
#[test]
fn unload_tells_when_an_applications_socket_keeps_the_algorithm_and_the_next_call_collects_it() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true)).unwrap();
    let connection = in_own_netns(|| {
        let connection = Connection::over(LOOPBACK[0]);
        choose(&connection.active, &name);
        connection
    });
    let outcome = host.loader.unload(&host.cgroup("a")).unwrap().unwrap();
    assert!(outcome.still_in_use);
    assert!(registered().contains(&name));
    assert_eq!(host.loader.census().unwrap().elsewhere, [(name.clone(), 1)].into());
    connection.move_both_ways(100_000);
    drop(connection);
    host.loader.unload_all().unwrap();
    host.assert_no_leftovers();
}

#[test]
fn cgroups_share_a_registered_algorithm_and_the_last_one_takes_it_along() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    for cgroup in ["a", "b"] {
        host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup(cgroup)).create(true)).unwrap();
    }
    host.loader.unload(&host.cgroup("a")).unwrap();
    assert!(registered().contains(&name));
    assert_eq!(host.inside("b", || algorithm_of(&TcpListener::bind("127.0.0.1:0").unwrap())), name);
    host.loader.unload(&host.cgroup("b")).unwrap();
    host.assert_no_leftovers();
}

#[test]
fn another_algorithm_replaces_the_policy_and_the_former_one_goes_unless_used() {
    let Some(host) = Host::new() else { return };
    let (first, second) = (host.name("a"), host.name("b"));
    let load = |cgroup: &str, algorithm: &str, name: &str| {
        let request = LoadRequest::new(named(algorithm, name), host.cgroup(cgroup)).create(true);
        host.loader.load(&request).unwrap().change
    };
    load("a", "reno", &first);
    load("b", "reno", &first);
    assert_eq!(load("a", "cubic", &second), Change::Switched { from: first.clone() });
    assert!(registered().contains(&first), "b still uses it");
    assert_eq!(load("b", "cubic", &second), Change::Switched { from: first.clone() });
    assert!(!registered().contains(&first));

    let to_native = host.loader.load(&LoadRequest::new(plain("native:reno"), host.cgroup("a"))).unwrap();
    assert_eq!(to_native.change, Change::Switched { from: second });
    let status = host.loader.status_of(&host.cgroup("a")).unwrap().unwrap();
    assert_eq!((status.algorithm.as_str(), status.kernel_name.as_str()), ("native:reno", "reno"));
}

#[test]
fn the_same_name_with_other_tunables_is_refused_and_with_the_defaults_spelled_out_it_is_the_same() {
    let Some(host) = Host::new() else { return };
    let row = ccactl_abi::Algorithm::by_name("f-bbrv2").unwrap();
    let tunable = row.tunables.iter().find(|tunable| tunable.max_raw > tunable.default_raw).unwrap();
    let (default, other) = (tunable.display(tunable.default_raw), tunable.display(tunable.default_raw + 1));
    let request = LoadRequest::new(named("f-bbrv2", &host.name("r")), host.cgroup("a")).create(true);
    host.loader.load(&request).unwrap();

    let spelled_out = host.loader.load(&with(&request, tunable.name, &default)).unwrap();
    assert_eq!(spelled_out.change, Change::Unchanged);
    let before = host.loader.status().unwrap();
    let error = host.loader.load(&with(&request, tunable.name, &other)).unwrap_err();
    assert!(matches!(error, Error::OtherTunables { .. }), "{error}");
    let message = error.to_string();
    assert!(message.contains("--as") && message.contains(&format!("{}={other}", tunable.name)), "{message}");
    assert_eq!(host.loader.status().unwrap(), before);
}

#[test]
fn tunables_are_read_back_from_the_pins() {
    let Some(host) = Host::new() else { return };
    let row = ccactl_abi::Algorithm::by_name("f-bbrv2").unwrap();
    let raised: Vec<_> = row.tunables.iter().filter(|tunable| tunable.max_raw > tunable.default_raw).take(2).collect();
    let mut request = LoadRequest::new(named("f-bbrv2", &host.name("r")), host.cgroup("a")).create(true);
    for tunable in &raised {
        request = with(&request, tunable.name, &tunable.display(tunable.default_raw + 1));
    }
    host.loader.load(&request).unwrap();
    let status = Loader::with_paths(host.loader.paths().clone()).unwrap().status().unwrap().remove(0);
    assert_eq!(status.state, State::Active);
    assert_eq!(status.tunables.len(), row.tunables.len());
    for setting in status.tunables {
        let step = i64::from(raised.iter().any(|tunable| tunable.name == setting.tunable.name));
        assert_eq!(setting.raw, setting.tunable.default_raw + step, "{}", setting.tunable.name);
    }
}

#[test]
fn a_name_that_somebody_else_registered_is_refused() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    host.loader.load(&LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true)).unwrap();
    let mut paths = host.loader.paths().clone();
    paths.bpffs.as_mut_os_string().push("-other");
    let other = Loader::with_paths(paths).unwrap();
    let error = other.load(&LoadRequest::new(named("reno", &name), host.cgroup("b")).create(true)).unwrap_err();
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    assert!(!other.paths().bpffs.exists());
    assert!(!host.directory("b").exists());
}

/// A program that the verifier rejects: built for the other prototype of `cong_control`.
#[test]
fn a_load_that_the_verifier_refuses_says_why_and_leaves_nothing() {
    let Some(host) = Host::new() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut paths = host.loader.paths().clone();
    paths.btf = file.path().to_owned();
    let args = if kernel_is_at_least(6, 10) { 2 } else { 4 };
    fs::write(file.path(), btf(args)).unwrap();
    let loader = Loader::with_paths(paths).unwrap();

    let error = loader.load(&LoadRequest::new(named("bbr", &host.name("r")), host.cgroup("a/b")).create(true));
    let message = match error {
        Err(error @ Error::Load { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(message.contains("bbr") && message.contains("cong_control"), "{message}");
    assert!(!message.contains('\n') && message.len() < 500, "{message}");
    assert!(!host.directory("a").exists(), "the cgroups that it had made are gone");
    host.assert_no_leftovers();
}

/// Kernels before 6.4 register the table itself; newer ones still can. What is pinned then is the map.
#[test]
fn without_struct_ops_links_all_the_same_works() {
    let Some(host) = Host::new() else { return };
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut paths = host.loader.paths().clone();
    paths.btf = file.path().to_owned();
    fs::write(file.path(), btf(if kernel_is_at_least(6, 10) { 4 } else { 2 })).unwrap();
    let loader = Loader::with_paths(paths).unwrap();
    let name = host.name("r");
    let folder = loader.paths().bpffs.join("algorithms").join(&name);
    let request = LoadRequest::new(named("bbr", &name), host.cgroup("a")).create(true);
    let load = || loader.load(&request).unwrap().change;

    assert_eq!(load(), Change::Attached);
    assert!(folder.join("map").exists() && !folder.join("link").exists());
    assert_eq!(load(), Change::Unchanged);
    assert_eq!(loader.status().unwrap().remove(0).state, State::Active);
    let seen = host.inside("a", || in_own_netns(|| Connection::over(LOOPBACK[0]).algorithms()));
    assert_eq!(seen, [name.as_str(); 3]);
    loader.unload(&host.cgroup("a")).unwrap();
    assert_eq!(host.leftovers(), Vec::<String>::new());

    // Killed after the registration and before the pin: only the record leads to the table.
    load();
    fs::remove_file(folder.join("map")).unwrap();
    assert!(registered().contains(&name), "nothing but a deletion unregisters it");
    assert_eq!(loader.status().unwrap().remove(0).state, State::Unregistered);
    assert_eq!(load(), Change::Attached);
    loader.unload_all().unwrap();
    assert_eq!(host.leftovers(), Vec::<String>::new());
    assert!(loader.probe().iter().all(|result| result.problem.is_none()));
}

#[test]
fn a_load_that_fails_leaves_the_policy_that_was_there() {
    let Some(host) = Host::new() else { return };
    let request = LoadRequest::new(named("reno", &host.name("r")), host.cgroup("a")).create(true);
    host.loader.load(&request).unwrap();
    let before = host.loader.status().unwrap();
    for bad in [
        LoadRequest::new(plain("reno"), host.cgroup("missing")),
        LoadRequest::new(plain("native:no_such_algo"), host.cgroup("a")),
        LoadRequest::new(plain("reno"), "/"),
    ] {
        host.loader.load(&bad).unwrap_err();
        assert_eq!(host.loader.status().unwrap(), before, "{bad:?}");
    }
    assert!(!host.directory("missing").exists());
}

#[test]
fn a_removed_cgroup_is_reported_and_its_policy_unloaded_by_id() {
    let Some(host) = Host::new() else { return };
    let request = LoadRequest::new(named("reno", &host.name("r")), host.cgroup("a")).create(true);
    let id = host.loader.load(&request).unwrap().cgroup_id;
    fs::remove_dir(host.directory("a")).unwrap();

    let status = host.loader.status().unwrap().remove(0);
    assert_eq!((status.cgroup, status.cgroup_id, status.state), (None, id, State::CgroupRemoved));
    assert!(matches!(host.loader.unload(&host.cgroup("a")), Err(Error::CgroupMissing { .. })));
    host.loader.unload_id(id).unwrap();
    assert!(matches!(host.loader.unload_id(id), Err(Error::NoSuchPolicy { .. })));
    host.assert_no_leftovers();
}

/// Each state is one in which a kill between two steps leaves the pins.
#[test]
fn whatever_a_killed_load_or_unload_leaves_the_next_call_completes() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    let request = LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true);
    let bpffs = host.loader.paths().bpffs.clone();
    let algorithm = bpffs.join("algorithms").join(&name);
    let load = || host.loader.load(&request).unwrap();
    let cut: [(&str, &dyn Fn(u64)); 4] = [
        ("attached, policy not written; or policy removed, rest still there", &|id| {
            policies(&host.loader).delete(&id.to_ne_bytes()).unwrap();
        }),
        ("record pinned, not registered", &|id| {
            policies(&host.loader).delete(&id.to_ne_bytes()).unwrap();
            fs::remove_file(algorithm.join("link")).unwrap();
            fs::remove_file(bpffs.join("cgroups").join(id.to_string()).join("link")).unwrap();
        }),
        ("policy without registration", &|_| fs::remove_file(algorithm.join("link")).unwrap()),
        ("policy without program", &|id| {
            fs::remove_file(bpffs.join("cgroups").join(id.to_string()).join("link")).unwrap();
        }),
    ];
    for (state, cut) in cut {
        // The next call is the load again …
        cut(load().cgroup_id);
        assert_eq!(load().change, Change::Attached, "{state}");
        assert_eq!(host.loader.status().unwrap().remove(0).state, State::Active, "{state}");
        assert_eq!(host.inside("a", || algorithm_of(&TcpListener::bind("127.0.0.1:0").unwrap())), name, "{state}");
        // … or an unload.
        cut(cgroup::id(&host.directory("a")).unwrap());
        host.loader.unload(&host.cgroup("a")).unwrap();
        host.assert_no_leftovers();
    }
}

#[test]
fn status_tells_a_missing_program_and_a_missing_registration() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    let request = LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true);
    let id = host.loader.load(&request).unwrap().cgroup_id;
    let bpffs = &host.loader.paths().bpffs;
    let state = || host.loader.status().unwrap().remove(0).state;
    assert_eq!(state(), State::Active);
    fs::remove_file(bpffs.join("algorithms").join(&name).join("link")).unwrap();
    assert_eq!(state(), State::Unregistered);
    fs::remove_file(bpffs.join("cgroups").join(id.to_string()).join("link")).unwrap();
    assert_eq!(state(), State::Detached);
}

#[test]
fn the_trace_map_stays_while_a_recorder_runs() {
    let Some(host) = Host::new() else { return };
    let paths = host.loader.paths();
    let trace_map = paths.bpffs.join("cca_trace_map");
    let request = LoadRequest::new(named("reno", &host.name("r")), host.cgroup("a")).create(true);
    host.loader.load(&request).unwrap();
    let recorder = Presence::announce(&paths.bpffs).unwrap();
    host.loader.unload(&host.cgroup("a")).unwrap();
    assert!(trace_map.exists());
    let mut left: Vec<_> = fs::read_dir(&paths.bpffs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["cca_trace_map", "recorders"]);
    drop(recorder);
    host.assert_no_leftovers();
}

#[test]
fn loads_at_the_same_time_do_not_disturb_each_other() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    let cgroups = ["a", "b", "c", "d"];
    thread::scope(|scope| {
        for cgroup in cgroups {
            let loader = Loader::with_paths(host.loader.paths().clone()).unwrap();
            let request = LoadRequest::new(named("reno", &name), host.cgroup(cgroup)).create(true);
            scope.spawn(move || loader.load(&request).unwrap());
        }
    });
    let states: Vec<_> = host.loader.status().unwrap().into_iter().map(|status| status.state).collect();
    assert_eq!(states, [State::Active; 4]);
    thread::scope(|scope| {
        for cgroup in cgroups {
            let loader = Loader::with_paths(host.loader.paths().clone()).unwrap();
            let cgroup = host.cgroup(cgroup);
            scope.spawn(move || loader.unload(&cgroup).unwrap().unwrap());
        }
    });
    host.assert_no_leftovers();
}

/// The kernel's dctcp, set in SYN_SENT, turns into its reno. What negotiates ECN has the SYN ask instead (kernel_ecn.rs).
#[test]
fn no_policy_sets_its_algorithm_before_the_handshake_is_over() {
    let Some(host) = Host::new() else { return };
    let name = host.name("r");
    let request = LoadRequest::new(named("reno", &name), host.cgroup("a")).create(true);
    let id = host.loader.load(&request).unwrap().cgroup_id;
    let while_connecting = || host.inside("a", || in_own_netns(algorithm_of_a_pending_connection));
    assert_ne!(while_connecting(), name);

    let map = policies(&host.loader);
    let bytes = map.lookup(&id.to_ne_bytes(), MapFlags::ANY).unwrap().unwrap();
    let mut policy: Policy = bytemuck::pod_read_unaligned(&bytes);
    assert_eq!(policy.flags & POLICY_ECN, 0, "reno does not negotiate ECN");
    policy.flags |= POLICY_ECN;
    map.update(&id.to_ne_bytes(), bytemuck::bytes_of(&policy), MapFlags::ANY).unwrap();
    assert_ne!(while_connecting(), name);
}

/// Connects to a port whose answers are lost.
fn algorithm_of_a_pending_connection() -> String {
    use nix::errno::Errno;
    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
    use std::os::fd::AsRawFd;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let _loss = Loss::start(Drop::FromPort(port));
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let client = socket(AddressFamily::Inet, SockType::Stream, flags, None).unwrap();
    assert_eq!(connect(client.as_raw_fd(), &SockaddrIn::new(127, 0, 0, 1, port)), Err(Errno::EINPROGRESS));
    algorithm_of(&client)
}

#[test]
fn probe_loads_every_algorithm_and_leaves_nothing() {
    let Some(host) = Host::new() else { return };
    let before = registered();
    let results = host.loader.probe();
    assert_eq!(results.len(), ccactl_abi::ALGORITHMS.len() + ccactl_abi::RECEIVERS.len());
    for result in results {
        assert_eq!(result.problem, None, "{}", result.algorithm.name);
        assert!(!result.classic_ecn || result.algorithm.ecn == EcnNeed::Accurate, "{}", result.algorithm.name);
    }
    let scratch = format!("cp{:x}_", std::process::id());
    assert!(!registered().iter().any(|name| name.starts_with(&scratch)), "{before:?} -> {:?}", registered());
    host.assert_no_leftovers();
    for map in SHARED_MAPS {
        assert!(!Path::new("/sys/fs/bpf").join(map).exists(), "libbpf's own pin path is not used");
    }
}

fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let release = nix::sys::utsname::uname().unwrap().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// Type information with just what the preflight looks at (Documentation/bpf/btf.rst): `cong_control` with so many
/// arguments, and no struct_ops links.
fn btf(args: u32) -> Vec<u8> {
    const INT: u32 = 1;
    const PTR: u32 = 2;
    const STRUCT: u32 = 4;
    const FUNC_PROTO: u32 = 13;
    let mut strings = vec![0_u8];
    let mut string = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let info = |kind: u32, members: u32| kind << 24 | members;
    let mut types = vec![string("int"), info(INT, 0), 4, 32];
    types.extend([0, info(FUNC_PROTO, args), 0]);
    types.extend((0..args).flat_map(|_| [0, 1]));
    types.extend([0, info(PTR, 0), 2]);
    types.extend([string("tcp_congestion_ops"), info(STRUCT, 1), 8, string("cong_control"), 3, 0]);
    types.extend([string("bpf_struct_ops_tcp_congestion_ops"), info(STRUCT, 0), 0]);

    let types: Vec<u8> = types.into_iter().flat_map(u32::to_ne_bytes).collect();
    let mut btf = Vec::new();
    btf.extend(0xeb9f_u16.to_ne_bytes());
    btf.extend([1, 0]);
    for word in [24, 0, types.len() as u32, types.len() as u32, strings.len() as u32] {
        btf.extend(word.to_ne_bytes());
    }
    btf.extend(types);
    btf.extend(strings);
    btf
}
