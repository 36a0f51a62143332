//! The proxy that docs/how-to/exporter.md recommends, on loopback: TLS, a password, and the unix socket behind it.

#[path = "cli_loader/host.rs"]
#[allow(dead_code, reason = "shared with the tests of load")]
mod host;

use host::{Host, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const CONFIGURATION: &str = include_str!("../../../packaging/nginx/ccactl-exporter.conf");

/// A process that does not outlive its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn openssl(args: &[&str], input: &str) -> Output {
    let mut openssl = Command::new("openssl")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    openssl.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = openssl.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// Status and body of a page, with the certificate checked.
fn get(folder: &Path, port: u16, page: &str, args: &[&str]) -> (String, String) {
    let url = format!("https://localhost:{port}{page}");
    let certificate = folder.join("cert.pem");
    let output = Command::new("curl")
        .args(["-s", "--max-time", "20", "-w", "\n%{http_code}", "--cacert", certificate.to_str().unwrap()])
        .args(args)
        .arg(url)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.to_owned(), body.to_owned())
}

#[test]
#[ignore = "needs nginx, whose package starts a server: run it by hand, with openssl and curl"]
fn the_documented_proxy_asks_for_a_password_over_tls() {
    let Some(host) = Host::with_root() else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    let key = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30"];
    openssl(&[&key[..], &subject, &["-keyout", &at("key.pem"), "-out", &at("cert.pem")]].concat(), "");
    let hash = String::from_utf8(openssl(&["passwd", "-apr1", "-stdin"], "secret").stdout).unwrap();
    fs::write(at("htpasswd"), format!("prometheus:{hash}")).unwrap();

    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let site = CONFIGURATION
        .replace("/etc/nginx/ccactl/", &at(""))
        .replace("/run/ccactl/", &at(""))
        .replace("listen [::]:9443", &format!("listen [::1]:{port}"))
        .replace("listen 9443", &format!("listen 127.0.0.1:{port}"));
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {};\n", at(kind)))
        .concat();
    let log = at("error.log");
    let frame = format!(
        "user root;\ndaemon off;\npid {};\nevents {{}}\nhttp {{\naccess_log off;\n{paths}{site}}}\n",
        at("nginx.pid")
    );
    fs::write(at("nginx.conf"), frame).unwrap();

    let listen = format!("unix:{}", at("exporter.sock"));
    let mut exporter = host.command(&["exporter", "--port", "1", "--listen", &listen]);
    let _exporter = Running(exporter.stderr(Stdio::null()).spawn().unwrap());
    eventually("the exporter listens", || Path::new(&at("exporter.sock")).exists());
    let _nginx = Nginx(Command::new("nginx").args(["-e", &log, "-c", &at("nginx.conf")]).spawn().unwrap());
    let password = ["-u", "prometheus:secret"];
    eventually("nginx answers", || get(folder.path(), port, "/healthz", &[]) == ("200".to_owned(), "ok\n".to_owned()));
    assert_eq!(get(folder.path(), port, "/metrics", &[]).0, "401");
    assert_eq!(get(folder.path(), port, "/metrics", &["-u", "prometheus:wrong"]).0, "401");
    let (status, page) = get(folder.path(), port, "/metrics", &password);
    assert_eq!(status, "200");
    assert!(page.contains("\nccactl_build_info{"), "{page}");
    assert_eq!(get(folder.path(), port, "/other", &password).0, "404");
}

/// Its workers end with their master when that is told to end, not when it is killed.
struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = kill(Pid::from_raw(self.0.id().try_into().unwrap()), Signal::SIGTERM);
        let _ = self.0.wait();
    }
}
