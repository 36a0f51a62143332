//! A real S3 server on this machine: versitygw, with its objects as files below a folder of the test's own.
//!
//! `cargo xtask test` builds it, or says why not, and hands its path on in `CCACTL_S3_SERVER`.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub const ACCESS_KEY: &str = "ccactl-test";
pub const SECRET_KEY: &str = "only-for-this-test";
pub const BUCKET: &str = "tcp";
/// It starts in a fifth of a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends with the test.
pub struct Server {
    program: PathBuf,
    folder: TempDir,
    port: u16,
    child: Option<Child>,
}

impl Server {
    /// One with an empty bucket; `None` where there is no such program, which is a failure in CI.
    pub fn start() -> Option<Server> {
        let Some(program) = program() else {
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI needs versitygw: CCACTL_S3_SERVER, or in PATH");
            eprintln!("not run: needs versitygw in PATH");
            return None;
        };
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut server = Server { program, folder, port, child: None };
        server.up();
        Some(server)
    }

    /// Starts it again, on the same port and with what it had.
    pub fn up(&mut self) {
        let mut command = Command::new(&self.program);
        command.args(["--port", &format!("127.0.0.1:{}", self.port), "--access", ACCESS_KEY, "--secret", SECRET_KEY]);
        // Its metadata are in extended attributes: in files beside the objects they would part from them by a kill.
        command.args(["--quiet", "--keep-alive", "posix"]).arg(self.folder.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        self.child = Some(child);
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < deadline, "versitygw does not listen");
            sleep(Duration::from_millis(10));
        }
    }

    /// Kills it.
    pub fn down(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// What a client needs to know, in the words of the environment.
    pub fn settings(&self) -> [(String, String); 4] {
        [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
    }

    /// The files of the bucket's objects with this end, in order.
    pub fn objects(&self, end: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        collect(&self.folder.path().join(BUCKET), end, &mut found);
        found.sort();
        found
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.down();
    }
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CCACTL_S3_SERVER") {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("versitygw")).find(|program| program.is_file())
}

fn collect(folder: &Path, end: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, end, found);
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
}
