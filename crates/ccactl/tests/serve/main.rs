//! `ccactl serve` as a process: who is let in, what is streamed, what a browser shows.

#[path = "../report_page/browser.rs"]
#[allow(dead_code, reason = "shared with the tests of a report's page")]
mod browser;
#[path = "../cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
mod page;
mod running;
mod traffic;
#[path = "../report_page/webdriver.rs"]
mod webdriver;

use host::{Host, failed};
use nix::sys::signal::Signal;
use running::{Answer, Running};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

/// More readers than a team has.
const READERS: usize = 200;

#[test]
fn only_whoever_has_the_url_gets_anything() {
    let Some(host) = Host::with_root() else { return };
    let server = Running::start(&host, &[]);
    let page = server.get("");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<title>ccactl live</title>"), "{}", page.body);
    assert!(page.head.contains("content-security-policy: default-src 'none'; script-src 'self'"), "{}", page.head);
    assert!(page.head.contains("cache-control: no-store") && page.head.contains("referrer-policy: no-referrer"));
    let guess = "0".repeat(server.token().len());
    for path in
        ["/", "/metrics", &format!("/{guess}/"), &format!("/{guess}/events"), &format!("/{guess}/files/0/x.html")]
    {
        let refused = server.ask(path, &server.address);
        assert_eq!(
            (refused.status, refused.body.as_str()),
            (403, "refused: this needs the URL that `ccactl serve` printed\n")
        );
    }
    // Another site's name that leads here, as by DNS rebinding.
    let path = format!("/{}/", server.token());
    assert_eq!(server.ask(&path, "evil.example").status, 421);
    let short = server.ask(path.trim_end_matches('/'), &server.address);
    assert!(short.status == 303 && short.head.contains(&format!("location: {path}")), "{}", short.head);
    assert_eq!(server.ask(&path, &server.address.replace("127.0.0.1", "localhost")).status, 200);
    assert_eq!(server.end(Signal::SIGTERM).code(), Some(0));

    // The token is its owner's, and outlives the server, so that an open page goes on.
    let file = host.run.path().join("state/serve-token");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0);
    let again = Running::start(&host, &["--host", "edge1.example"]);
    assert_eq!(path, format!("/{}/", again.token()));
    assert_eq!(again.ask(&path, "edge1.example").status, 200);
}

#[test]
fn a_stream_begins_with_what_was_and_goes_on_every_moment() {
    let Some(host) = Host::with_root() else { return };
    let (name, cgroup) = (host.name(), host.cgroup());
    host.ok(&host.load_args(&name, &cgroup));
    let server = Running::start(&host, &["--interval", "200ms", "--every", "50ms"]);
    let (history, ticks, around) = server.listen(5);
    assert!(history["groups"].is_array(), "{history}");
    let times: Vec<f64> = ticks.iter().map(|tick| tick["t_s"].as_f64().unwrap()).collect();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let columns = ticks[0]["tables"]["flows"]["columns"].as_array().unwrap();
    assert!(columns.iter().any(|column| column[0] == "goodput" && column[1] == "Mbit/s"), "{columns:?}");
    let policy = around["policies"].as_array().unwrap().iter().find(|policy| policy["kernel_name"] == name.as_str());
    let policy = policy.unwrap_or_else(|| panic!("no {name} in {around}"));
    assert_eq!((policy["cgroup"].as_str(), policy["state"].as_str()), (Some(cgroup.as_str()), Some("active")));
    assert!(policy["history"].is_array());
}

#[test]
fn many_readers_and_slow_ones_cost_no_other_reader_its_figures() {
    let Some(host) = Host::with_root() else { return };
    let server = Running::start(&host, &["--interval", "200ms"]);
    // They ask, and read nothing at all.
    let slow: Vec<TcpStream> = (0..READERS).map(|_| server.open("events")).collect();
    let begun = Instant::now();
    let (_, ticks, _) = server.listen(10);
    assert!(ticks.len() == 10 && begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!(server.get("").status, 200);
    // Each of them has its own: what they did not read is there.
    let mut some = slow.into_iter().next().unwrap();
    let mut bytes = [0; 4096];
    assert!(some.read(&mut bytes).unwrap() > 0);
    assert_eq!(server.end(Signal::SIGTERM).code(), Some(0), "open streams do not keep it");
}

#[test]
fn results_are_listed_and_read_and_nothing_outside() {
    let Some(host) = Host::with_root() else { return };
    let results = host.run.path().join("results");
    fs::create_dir_all(results.join("bench-1")).unwrap();
    fs::write(results.join("bench-1/result.json"), r#"{"aggregate": null}"#).unwrap();
    fs::write(results.join("bench-1/report.html"), "<p>a bench").unwrap();
    fs::write(host.run.path().join("secret.html"), "secret").unwrap();
    let server = Running::start(&host, &["--results", results.to_str().unwrap()]);
    let listed: Value = serde_json::from_str(&server.get("results").body).unwrap();
    let found = &listed["folders"][0]["found"][0];
    assert_eq!(
        (found["kind"].as_str(), found["page"].as_str()),
        (Some("bench"), Some("bench-1/report.html")),
        "{listed}"
    );
    let files = listed["files"].as_str().unwrap().trim_start_matches("..");
    let read = |path: &str| server.ask(&format!("{files}{path}"), &server.address);
    let Answer { status, head, body } = read("0/bench-1/report.html");
    assert_eq!((status, body.as_str()), (200, "<p>a bench"));
    assert!(head.contains("content-security-policy: sandbox allow-scripts;"), "{head}");
    for outside in
        ["0/../secret.html", "0/%2e%2e/secret.html", "0/..%2fsecret.html", "0//etc/hostname", "9/x.html", "0/bench-1"]
    {
        let refused = read(outside);
        assert!(matches!(refused.status, 400 | 403 | 404), "{outside}: {}", refused.status);
        assert!(!refused.body.contains("secret\n"), "{outside}");
    }
    assert_eq!(server.get("figures/0/bench-1/result.json").body, r#"{"aggregate": null}"#);
    // It changes while it is read.
    fs::remove_dir_all(&results).unwrap();
    assert_eq!(read("0/bench-1/report.html").status, 404);
    let listed: Value = serde_json::from_str(&server.get("results").body).unwrap();
    assert_eq!(listed["folders"][0]["found"].as_array().map(Vec::len), Some(0), "{listed}");
}

#[test]
fn what_cannot_be_served_is_said_in_one_line() {
    let Some(host) = Host::with_root() else { return };
    failed(
        &running::command(&host, &["--results", "/none"]).output().unwrap(),
        2,
        &["--results /none", "expected a folder"],
    );
    let server = Running::start(&host, &[]);
    let short = running::command(&host, &["--interval", "50ms"]).output().unwrap();
    failed(&short, 2, &["--interval: expected 100ms or more"]);
    let taken = running::command(&host, &["--listen", &server.address]).output().unwrap();
    failed(&taken, 1, &["cannot listen on", "another process listens there"]);
}
