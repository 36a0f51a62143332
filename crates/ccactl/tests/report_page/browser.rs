//! Chromium behind its driver: one of each per test, ended by their process ids.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::webdriver::Session;
use serde_json::{Value, json};
use tempfile::TempDir;

const DRIVER: &str = "chromedriver";
/// What the driver says when it listens, followed by the port.
const LISTENING: &str = "started successfully on port ";
const START: Duration = Duration::from_secs(60);
/// A page is drawn in less than a second; a loaded machine may need longer.
const PATIENCE: Duration = Duration::from_secs(60);
/// What the browser says about the tests' reading of pixels, which the page itself never does.
const OF_THE_TESTS: &str = "Multiple readback operations using getImageData";
/// A browser that hangs ends a test after this time.
pub const LONGEST_TEST: Duration = Duration::from_secs(300);
/// No sandbox, as CI runs in containers and as root; nothing that talks to the network by itself.
const FLAGS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
];

/// Whether there is a browser; says so when there is none, and fails under CI, where a test must not be green by doing nothing.
pub fn available() -> bool {
    let found = Command::new(DRIVER).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        assert_ne!(
            std::env::var("CI").as_deref(),
            Ok("true"),
            "the tests of the page need {DRIVER}: cargo xtask setup"
        );
        eprintln!("not run: no {DRIVER}; `cargo xtask test` installs it");
    }
    found
}

/// The driver's process.
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    fn start() -> Driver {
        let mut process = Command::new(DRIVER)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver answered to --version");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        let (send, receive) = mpsc::channel();
        // Reads to the end, so that the driver never waits for a full pipe.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let port = line.split(LISTENING).nth(1).and_then(|rest| rest.trim_end_matches('.').parse().ok());
                // Nobody listens any more once the port is known.
                let _ = port.map(|port: u16| send.send(port));
            }
        });
        match receive.recv_timeout(START) {
            Ok(port) => Driver { process, port },
            Err(_) => {
                let _ = process.kill();
                panic!("chromedriver did not say its port within {START:?}");
            }
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // It may have ended by itself; waiting leaves no zombie either way.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The browser's folder, and with it the browser: a driver that is killed by a failing test leaves its browser running.
struct Profile(TempDir);

impl Drop for Profile {
    fn drop(&mut self) {
        let folder = self.0.path().to_str().expect("made of ASCII").to_owned();
        for process in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = process.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
            let command = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
            if String::from_utf8_lossy(&command).contains(&folder) {
                // SAFETY: a plain system call; only the browser of this test has the name of its folder among its arguments.
                unsafe { libc::kill(pid, libc::SIGKILL) };
            }
        }
    }
}

/// A page in a browser.
pub struct Browser {
    session: Session,
    // Dropped in this order: without its driver nobody starts the browser again.
    _driver: Driver,
    _profile: Profile,
}

impl Browser {
    /// Opens a file.
    pub async fn open(page: &Path) -> Browser {
        let browser = Browser::start().await;
        browser.goto(page).await;
        browser
    }

    /// With nothing to see yet.
    pub async fn start() -> Browser {
        let driver = Driver::start();
        let profile = Profile(TempDir::with_prefix("ccactl-chromium-").unwrap());
        let mut flags: Vec<String> = FLAGS.map(str::to_owned).to_vec();
        flags.push(format!("--user-data-dir={}", profile.0.path().display()));
        let capabilities = json!({
            "goog:chromeOptions": {"args": flags},
            "goog:loggingPrefs": {"browser": "ALL"},
            "timeouts": {"script": PATIENCE.as_millis() as u64},
        });
        let session = Session::new(driver.port, capabilities).await.expect("the driver starts a browser");
        Browser { session, _driver: driver, _profile: profile }
    }

    /// Opens another file, or the same one again.
    pub async fn goto(&self, page: &Path) {
        self.visit(&format!("file://{}", page.display())).await;
    }

    /// Opens what is there.
    pub async fn visit(&self, url: &str) {
        self.session.command("url", &json!({"url": url})).await.unwrap();
    }

    /// Runs a script; what it returns.
    pub async fn script(&self, script: &str, args: Vec<Value>) -> Value {
        let body = json!({"script": script, "args": args});
        self.session.command("execute/sync", &body).await.unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Waits until a script returns true.
    pub async fn until(&self, script: &str) {
        let end = std::time::Instant::now() + PATIENCE;
        while self.script(script, Vec::new()).await != json!(true) {
            assert!(std::time::Instant::now() < end, "not within {PATIENCE:?}: {script}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// A command of the browser's own protocol, for what WebDriver has no word for.
    pub async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.session.command("goog/cdp/execute", &body).await.unwrap()
    }

    /// Everything that was written to the console since the last call, errors of the page included.
    pub async fn console(&self) -> Vec<String> {
        let log = self.session.command("se/log", &json!({"type": "browser"})).await.unwrap();
        let messages = log.as_array().expect("a list of messages").iter().map(Value::to_string);
        messages.filter(|message| !message.contains(OF_THE_TESTS)).collect()
    }

    /// Moves the mouse, in CSS pixels of the window.
    pub async fn mouse(&self, kind: &str, (x, y): (f64, f64), pressed: bool) {
        let (button, buttons) = if pressed { ("left", 1) } else { ("none", 0) };
        let button = if kind == "mouseReleased" { "left" } else { button };
        let event = json!({"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1});
        self.devtools("Input.dispatchMouseEvent", event).await;
    }

    /// Presses and releases a key at what has the focus.
    pub async fn key(&self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.devtools("Input.dispatchKeyEvent", json!({"type": kind, "key": key})).await;
        }
    }

    /// What is on the screen, as PNG in base64.
    #[allow(dead_code, reason = "for the pictures of the documents alone")]
    pub async fn picture(&self, (width, height): (u32, u32)) -> String {
        let screen = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", screen).await;
        // Charts follow the size of the window, and the live page its server.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let taken = self.devtools("Page.captureScreenshot", json!({"format": "png"})).await;
        taken["data"].as_str().expect("a picture").to_owned()
    }

    /// Ends the browser; the driver ends with the value.
    pub async fn close(self) {
        self.session.close().await.unwrap();
    }
}
