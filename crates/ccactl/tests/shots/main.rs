//! The pictures of the documents, made anew: `cargo xtask shots`.

#[path = "../report_page/browser.rs"]
#[allow(dead_code, reason = "shared with the tests of a report's page")]
mod browser;
#[path = "../../../report/tests/common/mod.rs"]
mod common;
#[path = "../report_page/fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of a report's page")]
mod fixture;
#[path = "../cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;
#[path = "../serve/running.rs"]
#[allow(dead_code, reason = "shared with the tests of serve")]
mod running;
#[path = "../blackbox/traffic.rs"]
mod silent;
#[path = "../serve/traffic.rs"]
mod traffic;
#[path = "../report_page/webdriver.rs"]
mod webdriver;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use browser::Browser;
use host::Host;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use running::Running;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

const WIDTH: u32 = 1200;

fn take(url: &str, name: &str, height: u32, wait: Duration) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let picture = runtime.block_on(async {
        let browser = Browser::start().await;
        browser.visit(url).await;
        tokio::time::sleep(wait).await;
        let picture = browser.picture((WIDTH, height)).await;
        browser.close().await;
        picture
    });
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/how-to/images");
    fs::write(folder.join(name), BASE64_STANDARD.decode(picture).unwrap()).unwrap();
}

fn file(path: &Path) -> String {
    format!("file://{}", path.display())
}

#[test]
#[ignore = "writes into docs/: cargo xtask shots"]
fn report() {
    let folder = tempfile::tempdir().unwrap();
    let page = fixture::page(folder.path(), &[fixture::crowd(24)]);
    take(&file(&page), "report.png", 1100, Duration::from_secs(1));
}

#[test]
#[ignore = "writes into docs/: cargo xtask shots"]
fn serve() {
    let host = Host::with_root().expect("needs root");
    host.ok(&["load", "f-bbrv2", "--cgroup", &host.cgroup(), "--create", "--as", &host.name()]);
    let web = format!("{}/web", host.cgroup());
    host.ok(&["load", "cubic", "--cgroup", &web, "--create", "--as", &format!("{}w", host.name())]);
    let _bulk = traffic::Traffic::start(&host, "bulk", 20);
    let _web = traffic::Traffic::start(&host, "web", 30);
    let server = Running::start(&host, &["--cgroup", &host.cgroup(), "--interval", "500ms"]);
    take(&server.url(), "serve.png", 1500, Duration::from_secs(20));
    host.ok(&["unload", "--cgroup", &web]);
}

#[test]
#[ignore = "writes into docs/: cargo xtask shots"]
fn blackbox() {
    let host = Host::with_root().expect("needs root");
    let (traffic, folder) = (silent::Traffic::start(), host.run.path().join("box"));
    let port = traffic.port.to_string();
    let args =
        ["record", "--ring", "5s", "--after", "2s", "--every", "20ms", "--trigger", "rto", "--port", &port, "-o"];
    let mut command = host.command(&[&args[..], &[folder.to_str().unwrap()]].concat());
    let mut kept = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    sleep(Duration::from_secs(6));
    traffic.silence(0..1);
    sleep(Duration::from_secs(3));
    kill(Pid::from_raw(kept.id().cast_signed()), Signal::SIGINT).unwrap();
    kept.wait().unwrap();
    let recording: PathBuf = fs::read_dir(&folder).unwrap().flatten().next().expect("a file").path();
    let page = host.run.path().join("page.html");
    host.ok(&["report", recording.to_str().unwrap(), "--html", page.to_str().unwrap()]);
    take(&file(&page), "blackbox.png", 1300, Duration::from_secs(1));
}
