//! WebDriver (W3C) as far as the tests go: a session, and its commands, each one request with JSON both ways.
//!
//! A client of crates.io brings fifty packages for URLs and cookies, and through their macros features of `syn`, with which the
//! tests' dependencies would be compiled apart from those of `ccactl`.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_END: &[u8] = b"\r\n\r\n";

/// A browser's session at its driver.
pub struct Session {
    port: u16,
    id: String,
}

impl Session {
    /// Has the driver on this port start a browser.
    pub async fn new(port: u16, capabilities: Value) -> Result<Session, String> {
        let wanted = json!({"capabilities": {"alwaysMatch": capabilities}});
        let started = request(port, "POST", "/session", &wanted).await?;
        let id = started["sessionId"].as_str().ok_or_else(|| format!("a session without an id: {started}"))?;
        Ok(Session { port, id: id.to_owned() })
    }

    /// Sends a command, by its path below the session; what it returns.
    pub async fn command(&self, path: &str, body: &Value) -> Result<Value, String> {
        request(self.port, "POST", &format!("/session/{}/{path}", self.id), body).await
    }

    /// Ends the browser.
    pub async fn close(self) -> Result<(), String> {
        request(self.port, "DELETE", &format!("/session/{}", self.id), &json!({})).await.map(drop)
    }
}

/// The `value` of the answer; the driver's own words when it says no.
async fn request(port: u16, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let body = body.to_string();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let (head, answer) =
        exchange(port, request.as_bytes()).await.map_err(|error| format!("{method} {path}: {error}"))?;
    let mut answer: Value =
        serde_json::from_slice(&answer).map_err(|error| format!("{method} {path}: {error} after {head}"))?;
    let value = answer["value"].take();
    match head.split(' ').nth(1) {
        Some("200") => Ok(value),
        _ => Err(format!("{method} {path}: {value}")),
    }
}

/// Head and body of the answer.
async fn exchange(port: u16, request: &[u8]) -> std::io::Result<(String, Vec<u8>)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request).await?;
    let mut answer = Vec::new();
    loop {
        if let Some((head, length)) = head(&answer) {
            let begin = head.len() + HEAD_END.len();
            if answer.len() >= begin + length {
                return Ok((head, answer[begin..begin + length].to_vec()));
            }
        }
        if stream.read_buf(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The head, once it is whole, and the length of the body that it announces.
fn head(answer: &[u8]) -> Option<(String, usize)> {
    let end = answer.windows(HEAD_END.len()).position(|bytes| bytes == HEAD_END)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let length = head.lines().filter_map(|line| line.split_once(':'));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.next().and_then(|(_, value)| value.trim().parse().ok());
    Some((head, length.unwrap_or(0)))
}
