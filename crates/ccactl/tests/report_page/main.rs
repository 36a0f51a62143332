//! The page of a report in a real browser: drawn without an error, and it does what it offers.
//!
//! Chromium and its driver are needed: without them the tests say so and pass, unless CI=true, where they fail.

#[path = "../../../report/tests/common/mod.rs"]
mod common;

mod browser;
mod fixture;
mod webdriver;

use std::future::Future;

use browser::{Browser, LONGEST_TEST};
use serde_json::{Value, json};
use tempfile::TempDir;

const HELPERS: &str = include_str!("page.js");
/// Time charts of the fixture, by the beginning of their headings, and the one that is not over time.
const CHARTS: [&str; 8] = [
    "Goodput",
    "RTT",
    "Congestion window",
    "Losses and timeouts",
    "Algorithm phase",
    "Jain index",
    "Time-sequence",
    "ECDF of the RTT",
];
/// WCAG 2.1 AA for text.
const LEGIBLE: f64 = 4.5;
/// A phone in portrait.
const PHONE_PX: u32 = 360;

/// Runs a test in a browser that shows the page of the three flows.
fn with_page<F: Future<Output = Browser>>(test: impl FnOnce(Browser) -> F) {
    let folder = TempDir::new().unwrap();
    with_browser(|| fixture::page(folder.path(), &[fixture::three_flows()]), test);
}

fn with_browser<F: Future<Output = Browser>>(
    page: impl FnOnce() -> std::path::PathBuf,
    test: impl FnOnce(Browser) -> F,
) {
    if !browser::available() {
        return;
    }
    let page = page();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let bounded = async {
            let browser = Browser::open(&page).await;
            scroll_through(&browser).await;
            let browser = test(browser).await;
            let console = browser.console().await;
            assert_eq!(console, Vec::<String>::new(), "the page writes nothing to the console");
            browser.close().await;
        };
        tokio::time::timeout(LONGEST_TEST, bounded).await.expect("the browser answers");
    });
}

/// A recording is drawn when it comes near the screen.
async fn scroll_through(browser: &Browser) {
    browser
        .until(
            "const waiting = document.querySelector('[data-charts]:not([data-drawn])');
             waiting?.scrollIntoView();
             return waiting === null;",
        )
        .await;
}

async fn ask(browser: &Browser, expression: &str, args: Vec<Value>) -> Value {
    browser.script(&format!("{HELPERS}\nreturn {expression};"), args).await
}

async fn place(browser: &Browser, title: &str, share: f64) -> (f64, f64) {
    let place = ask(browser, "place(arguments[0], arguments[1])", vec![json!(title), json!(share)]).await;
    (place[0].as_f64().unwrap(), place[1].as_f64().unwrap())
}

/// Puts the mouse over a share of a chart's width, and reads the legend of a chart.
async fn hover(browser: &Browser, over: &str, share: f64, of: &str) -> Value {
    let at = place(browser, over, share).await;
    browser.mouse("mouseMoved", at, false).await;
    // Values follow in the next frame.
    browser
        .script("requestAnimationFrame(() => requestAnimationFrame(() => (window.framed = true)));", Vec::new())
        .await;
    browser.until("const framed = window.framed; if (framed) window.framed = false; return framed === true;").await;
    ask(browser, "legend(arguments[0])", vec![json!(of)]).await
}

/// The number in front of a unit: `65.00 ms`.
fn number(legend: &Value, name: &str) -> f64 {
    let text = legend[name]["value"].as_str().unwrap_or_else(|| panic!("no {name} in {legend}"));
    text.split(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{name}: {text}"))
}

async fn pixels(browser: &Browser, title: &str) -> (u64, u64) {
    let found = ask(browser, "pixels(chart(arguments[0]))", vec![json!(title)]).await;
    (found["painted"].as_u64().unwrap(), found["sum"].as_u64().unwrap())
}

#[test]
fn every_chart_is_drawn() {
    with_page(|browser| async move {
        let titles = ask(&browser, "charts().map(titleOf)", Vec::new()).await;
        let titles: Vec<&str> = titles.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!(titles.len(), CHARTS.len(), "{titles:?}");
        for title in CHARTS {
            let (painted, _) = pixels(&browser, title).await;
            assert!(painted > 20, "{title}: {painted} pixels of {titles:?}");
        }
        browser
    });
}

#[test]
fn hovering_shows_the_values_of_that_moment_in_every_chart() {
    with_page(|browser| async move {
        for share in [0.1, 0.5, 0.83] {
            let rtt = hover(&browser, "Congestion window", share, "RTT").await;
            let t_s = number(&rtt, "time");
            assert!((t_s - 10.0 * share).abs() < 0.1, "at {share} of 10 s: {rtt}");
            let expected = fixture::left_rtt_ms(t_s);
            assert!((number(&rtt, "left") - expected).abs() < 0.15, "expected {expected}: {rtt}");
            assert_eq!(rtt["right"]["value"], "60.00 ms");
            let cwnd = ask(&browser, "legend('Congestion window')", Vec::new()).await;
            let moved = if t_s < fixture::SWAP_US as f64 / 1e6 { "80 packets" } else { "30 packets" };
            assert_eq!(cwnd["moved"]["value"], moved, "at {t_s} s");
            // 20 packets of 1448 bytes every 10 ms.
            let goodput = ask(&browser, "legend('Goodput')", Vec::new()).await;
            assert!((number(&goodput, "left") - 23.17).abs() < 0.03, "{goodput}");
        }
        // Half of the ramp's samples are below its middle.
        let ecdf = hover(&browser, "ECDF of the RTT", 0.5, "ECDF of the RTT").await;
        let (rtt_ms, share) = (number(&ecdf, "RTT"), number(&ecdf, "bbrv2"));
        assert!((share - (rtt_ms - 40.0) * 2.0).abs() < 1.5, "{ecdf}");
        browser
    });
}

#[test]
fn a_flow_is_hidden_in_every_chart_by_mouse_and_by_key() {
    with_page(|browser| async move {
        let charts = ["Goodput", "RTT", "Congestion window", "Losses and timeouts"];
        let mut before = Vec::new();
        for title in charts {
            before.push(pixels(&browser, title).await);
        }
        let name = "[...chart('RTT').querySelectorAll('.u-legend th')].find((th) => th.textContent === 'right')";
        ask(&browser, &format!("{name}.click()"), Vec::new()).await;
        for title in &charts[..3] {
            let shown = ask(&browser, "legend(arguments[0])", vec![json!(title)]).await;
            assert_eq!(
                (&shown["right"]["off"], &shown["right"]["pressed"]),
                (&json!(true), &json!("false")),
                "{title}"
            );
            assert_eq!((&shown["left"]["off"], &shown["left"]["pressed"]), (&json!(false), &json!("true")), "{title}");
        }
        for (title, before) in charts.iter().zip(&before) {
            let hidden = pixels(&browser, title).await;
            assert!(hidden.0 < before.0 && hidden.1 != before.1, "{title}: {hidden:?} of {before:?}");
        }
        ask(&browser, &format!("{name}.focus()"), Vec::new()).await;
        browser.key("Enter").await;
        for (title, before) in charts.iter().zip(&before) {
            assert_eq!(pixels(&browser, title).await, *before, "{title} is as it was");
        }
        browser
    });
}

#[test]
fn a_zoom_by_mouse_or_key_goes_through_all_charts_and_back() {
    with_page(|browser| async move {
        let (from, to) = (place(&browser, "RTT", 0.25).await, place(&browser, "RTT", 0.5).await);
        browser.mouse("mouseMoved", from, false).await;
        browser.mouse("mousePressed", from, true).await;
        browser.mouse("mouseMoved", to, true).await;
        browser.mouse("mouseReleased", to, false).await;
        for chart in ["RTT", "Goodput", "Congestion window"] {
            let (first, last) = (hover(&browser, chart, 0.02, "RTT").await, hover(&browser, chart, 0.98, "RTT").await);
            let (first, last) = (number(&first, "time"), number(&last, "time"));
            assert!((first - 2.55).abs() < 0.2 && (last - 4.95).abs() < 0.2, "{chart}: {first} s to {last} s");
        }
        ask(&browser, "chart('RTT').querySelector('.plot').focus()", Vec::new()).await;
        browser.key("0").await;
        let last = hover(&browser, "Goodput", 0.98, "RTT").await;
        assert!((number(&last, "time") - 9.8).abs() < 0.2, "{last}");
        browser.key("+").await;
        let first = hover(&browser, "Goodput", 0.02, "RTT").await;
        assert!(number(&first, "time") > 1.5, "zoomed in around the middle: {first}");
        browser
    });
}

#[test]
fn the_page_can_be_read_in_the_dark_and_in_the_light() {
    with_page(|browser| async move {
        for (scheme, dark) in [("dark", true), ("light", false)] {
            let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
            browser.devtools("Emulation.setEmulatedMedia", json!({"features": features})).await;
            let paper = ask(&browser, "luminance(getComputedStyle(document.body).backgroundColor)", Vec::new()).await;
            assert_eq!(paper.as_f64().unwrap() < 0.1, dark, "{scheme}: {paper}");
            let lowest = ask(&browser, "lowestContrast()", Vec::new()).await;
            assert!(lowest["contrast"].as_f64().unwrap() >= LEGIBLE, "{scheme}: {lowest}");
            for title in CHARTS {
                assert!(pixels(&browser, title).await.0 > 20, "{scheme}: {title}");
            }
        }
        browser
    });
}

/// Gives the page a phone's screen: its charts follow, and nothing is wider than the screen.
async fn fits_a_phone(browser: &Browser) {
    let screen = json!({"width": PHONE_PX, "height": 740, "deviceScaleFactor": 2, "mobile": true});
    browser.devtools("Emulation.setDeviceMetricsOverride", screen).await;
    browser.until("return [...document.querySelectorAll('canvas')].every((c) => c.clientWidth <= innerWidth);").await;
    let width = ask(browser, "document.documentElement.scrollWidth", Vec::new()).await;
    assert_eq!(width, json!(PHONE_PX));
}

#[test]
fn a_phone_shows_all_of_it_without_scrolling_sideways() {
    with_page(|browser| async move {
        fits_a_phone(&browser).await;
        for title in CHARTS {
            assert!(pixels(&browser, title).await.0 > 20, "{title}");
        }
        browser
    });
}

#[test]
fn paper_has_the_charts_and_not_the_buttons() {
    with_page(|browser| async move {
        browser.devtools("Emulation.setEmulatedMedia", json!({"media": "print"})).await;
        browser.script("dispatchEvent(new Event('beforeprint'));", Vec::new()).await;
        assert_eq!(
            ask(&browser, "document.querySelector('.toolbar').checkVisibility()", Vec::new()).await,
            json!(false)
        );
        for title in CHARTS {
            assert!(pixels(&browser, title).await.0 > 20, "{title}");
            let shown =
                ask(&browser, "chart(arguments[0]).querySelector('canvas').checkVisibility()", vec![json!(title)]);
            assert_eq!(shown.await, json!(true), "{title}");
        }
        browser.script("dispatchEvent(new Event('afterprint'));", Vec::new()).await;
        browser.devtools("Emulation.setEmulatedMedia", json!({"media": ""})).await;
        let printed = browser.devtools("Page.printToPDF", json!({})).await;
        let pdf = printed["data"].as_str().unwrap();
        assert!(pdf.starts_with("JVBERi0"), "base64 of %PDF-");
        browser
    });
}

#[test]
fn several_recordings_are_put_side_by_side() {
    let folder = TempDir::new().unwrap();
    let fixtures = [(100_000, 20), (100_000, 22), (400_000, 15), (400_000, 16)].map(|(b, s)| fixture::pair(b, s));
    let page = || fixture::page(folder.path(), &fixtures);
    with_browser(page, |browser| async move {
        let titles = ask(&browser, "charts().map(titleOf).slice(0, 2)", Vec::new()).await;
        assert_eq!(titles, json!(["Goodput of a flow [Mbit/s]", "Mean RTT [ms]"]));
        assert!(pixels(&browser, "Goodput of a flow").await.0 > 50);
        // 20 and 22 of 30 packets: 70 % of the link, beside 30 %.
        let cells = "[...document.querySelectorAll('table.heat')].map((t) => [...t.querySelectorAll('td')].map((c) => c.firstChild.textContent))";
        let cells = ask(&browser, cells, Vec::new()).await;
        assert_eq!(cells, json!([["–", "70 %", "30 %", "–"], ["–", "52 %", "48 %", "–"]]));
        // 21 packets of 1448 bytes every 10 ms at the smaller buffer.
        let hovered = hover(&browser, "Goodput of a flow", 0.05, "Goodput of a flow").await;
        assert!((number(&hovered, "bbrv2") - 24.3).abs() < 0.1, "{hovered}");
        assert!(hovered["bbrv2"]["value"].as_str().unwrap().contains('±'), "{hovered}");
        browser
    });
}

fn with_crowd<F: Future<Output = Browser>>(flows: u64, test: impl FnOnce(Browser, u64) -> F) {
    let folder = TempDir::new().unwrap();
    let page = folder.path().join("page.html");
    with_browser(
        || fixture::page(folder.path(), &[fixture::crowd(flows)]),
        |browser| test(browser, std::fs::metadata(&page).unwrap().len()),
    );
}

/// Names in the table of flows, as it is shown.
const SHOWN: &str = "[...document.querySelectorAll('[data-flows] tbody:first-of-type tr')].map((tr) => tr.querySelector('td').firstChild.textContent)";

#[test]
fn many_flows_are_shown_by_groups_with_each_one_at_hand() {
    with_crowd(24, |browser, _| async move {
        let titles = ask(&browser, "charts().map(titleOf)", Vec::new()).await;
        let expected = [
            "Goodput [Mbit/s]",
            "RTT [ms]",
            "Congestion window [packets]",
            "ECDF of the goodput [Mbit/s]",
            "ECDF of the RTT [ms]",
        ];
        assert_eq!(titles, json!(expected));
        for title in ["Goodput", "RTT", "ECDF of the goodput"] {
            assert!(pixels(&browser, title).await.0 > 50, "{title}");
        }
        // Twelve flows each: the middle one of bbrv2 has 9 packets of 1448 bytes every 100 ms.
        let goodput = hover(&browser, "Goodput", 0.5, "Goodput").await;
        let (cubic, bbrv2) = (number(&goodput, "cubic (12)"), number(&goodput, "bbrv2 (12)"));
        assert!((cubic / bbrv2 - 2.0).abs() < 0.2 && (bbrv2 - 1.04).abs() < 0.1, "{goodput}");
        // The flow that differs is marked, comes first, and one click shows it alone.
        browser.script("document.querySelector('[data-flows]').open = true;", Vec::new()).await;
        let first = ask(&browser, "document.querySelector('tr.different').textContent", Vec::new()).await;
        let slow = format!(":{}→", 10_000 + fixture::SLOW);
        assert!(
            first.as_str().unwrap().contains(&slow) && first.as_str().unwrap().contains("little goodput"),
            "{first}"
        );
        browser.script("document.querySelector('tr.different button').click();", Vec::new()).await;
        let lines = "[...document.querySelectorAll('[data-lines] .u-legend')[0].querySelectorAll('.u-series:not(.u-off) th')].map((th) => th.textContent)";
        let shown = ask(&browser, lines, Vec::new()).await;
        let shown: Vec<&str> = shown.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(shown.len() == 2 && shown[1].contains(&slow), "time and one flow: {shown:?}");
        // The phone has all of it.
        fits_a_phone(&browser).await;
        browser
    });
}

#[test]
fn five_thousand_flows_are_sorted_and_searched_on_a_small_page() {
    with_crowd(5000, |browser, bytes| async move {
        assert!(bytes < 5_000_000, "{bytes} bytes");
        browser.script("document.querySelector('[data-flows]').open = true;", Vec::new()).await;
        let told = "document.querySelector('.finder span').textContent";
        assert_eq!(ask(&browser, told, Vec::new()).await, json!("5,000 found, the first 200 are shown"));
        // Goodput, smallest first: one click is the largest.
        for _ in 0..2 {
            browser.script("document.querySelectorAll('[data-flows] thead button')[2].click();", Vec::new()).await;
        }
        let slowest = ask(&browser, &format!("{SHOWN}[0]"), Vec::new()).await;
        assert!(slowest.as_str().unwrap().contains(&format!(":{}→", 10_000 + fixture::SLOW)), "{slowest}");
        let search = "const input = document.querySelector('.finder input'); input.value = ':12345'; input.dispatchEvent(new Event('input'));";
        browser.script(search, Vec::new()).await;
        assert_eq!(ask(&browser, told, Vec::new()).await, json!("1 found"));
        browser
    });
}
