//! The live page in a browser, over real connections in a cgroup whose name wants to be more than a name.

use crate::browser::{self, Browser, LONGEST_TEST};
use crate::host::Host;
use crate::running::Running;
use crate::traffic::Traffic;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const HELPERS: &str = include_str!("../report_page/page.js");
const HOSTILE: &str = "<img src=x onerror=document.title=1>";
const FLOWS: usize = 12;
/// What Chromium itself says while the server is away.
const OF_THE_ABSENCE: &str = "net::ERR_";
const PHONE_PX: u32 = 400;

async fn ask(browser: &Browser, expression: &str) -> Value {
    browser.script(&format!("{HELPERS}\nreturn {expression};"), Vec::new()).await
}

const ROWS: &str = "document.querySelectorAll('#flows tbody tr').length";

#[test]
fn groups_flows_and_policies_are_shown_and_outlast_the_server() {
    let Some(host) = Host::with_root().filter(|_| browser::available()) else { return };
    // One with a colour of its own.
    host.ok(&["load", "f-bbrv2", "--cgroup", &host.cgroup(), "--create", "--as", &host.name()]);
    let traffic = Traffic::start(&host, HOSTILE, FLOWS);
    let cgroup = host.cgroup();
    let options = ["--cgroup", &cgroup, "--interval", "300ms", "--every", "50ms"];
    let server = Running::start(&host, &options);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bounded = async {
            let browser = Browser::start().await;
            browser.visit(&server.url()).await;
            shows(&browser, &host).await;
            searches(&browser).await;
            fits(&browser).await;
            assert_eq!(browser.console().await, Vec::<String>::new(), "the page writes nothing to the console");

            let address = server.address.clone();
            assert_eq!(server.end(Signal::SIGTERM).code(), Some(0));
            browser.until("return !document.getElementById('trouble').hidden;").await;
            let _server = Running::start(&host, &[&["--listen", &address][..], &options].concat());
            browser.until("return document.getElementById('trouble').hidden;").await;
            browser.script("window.before = document.getElementById('facts').textContent;", Vec::new()).await;
            browser.until("return document.getElementById('facts').textContent !== window.before;").await;
            let console = browser.console().await;
            let own: Vec<_> = console.iter().filter(|line| !line.contains(OF_THE_ABSENCE)).collect();
            assert_eq!(own, Vec::<&String>::new());
            browser.close().await;
        };
        tokio::time::timeout(LONGEST_TEST, bounded).await.expect("the browser answers");
    });
    drop(traffic);
}

/// Charts, tables and the policy; the name of the cgroup is text.
async fn shows(browser: &Browser, host: &Host) {
    browser.until(&format!("return {ROWS} === {FLOWS};")).await;
    browser.until("return document.querySelectorAll('figure.chart').length === 3;").await;
    for title in ["Goodput", "RTT", "Congestion window"] {
        browser.until(&format!("{HELPERS}\nreturn pixels(chart({title:?})).painted > 20;")).await;
    }
    let group =
        ask(browser, "document.querySelector('#charts .u-legend .u-series:nth-child(2) .u-label').textContent").await;
    let (group, name) = (group.as_str().unwrap(), host.name());
    assert!(group.starts_with(&name) && group.contains(HOSTILE) && group.ends_with(&format!("({FLOWS})")), "{group}");
    assert_eq!(ask(browser, "[document.querySelector('img'), document.title]").await, json!([null, "ccactl live"]));
    browser.until(&format!("return document.querySelector('#policies')?.textContent.includes({name:?});")).await;
}

/// By a port, sorted by the server.
async fn searches(browser: &Browser) {
    let first = "document.querySelector('#flows tbody td').textContent";
    let port = ask(browser, &format!("{first}.match(/:(\\d+)→/)[1]")).await;
    let script = "const input = document.getElementById('find'); input.value = arguments[0]; input.dispatchEvent(new Event('input'));";
    browser.script(script, vec![json!(format!(":{}", port.as_str().unwrap()))]).await;
    browser.until(&format!("return {ROWS} === 1;")).await;
    browser.script(script, vec![json!("")]).await;
    browser.until(&format!("return {ROWS} === {FLOWS};")).await;
    browser.script("document.querySelector('#flows thead button').click();", Vec::new()).await;
    browser.until("return document.querySelector('#flows th[aria-sort]') !== null;").await;
    browser.until(&format!("return {ROWS} === {FLOWS};")).await;
}

/// On a phone and in the dark.
async fn fits(browser: &Browser) {
    let screen = json!({"width": PHONE_PX, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    browser.until("return [...document.querySelectorAll('canvas')].every((c) => c.clientWidth <= innerWidth);").await;
    assert_eq!(ask(browser, "document.documentElement.scrollWidth").await, json!(PHONE_PX));
    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.devtools("Emulation.setEmulatedMedia", dark).await;
    let paper = ask(browser, "luminance(getComputedStyle(document.body).backgroundColor)").await;
    assert!(paper.as_f64().unwrap() < 0.1, "{paper}");
}
