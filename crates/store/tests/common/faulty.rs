//! A store of a few lines that fails on demand, and counts what it is given.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What it does with a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Mode {
    /// As a store should.
    Fine,
    /// Answers with this status and code.
    Answers(u16, &'static str),
    /// Takes the request and says nothing.
    Silent,
    /// Puts the object, and cuts the connection before it says so.
    CutsAfterPut,
    /// As a store that knows no conditions.
    Overwrites,
    /// Refuses names with this in them, for what the object is.
    RefusesNamed(&'static str),
    /// Says that names with this in them are there, and does not find them.
    ClaimsNamed(&'static str),
}

#[derive(Debug, Default)]
pub struct Content {
    pub objects: HashMap<String, Vec<u8>>,
    /// Puts that made or changed an object, by name.
    pub puts: HashMap<String, u32>,
    pub requests: u32,
}

pub struct Faulty {
    pub port: u16,
    pub content: Arc<Mutex<Content>>,
    mode: Arc<Mutex<Mode>>,
    running: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Faulty {
    /// Has a port, and does not listen yet.
    pub fn new() -> Faulty {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Faulty { port, content: Arc::default(), mode: Arc::new(Mutex::new(Mode::Fine)), running: None }
    }

    pub fn up(mut self, mode: Mode) -> Faulty {
        self.begin(mode);
        self
    }

    pub fn begin(&mut self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
        if self.running.is_some() {
            return;
        }
        let listener = TcpListener::bind(("127.0.0.1", self.port)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (is_ended, mode, content) =
            (Arc::new(AtomicBool::new(false)), Arc::clone(&self.mode), Arc::clone(&self.content));
        let ends = Arc::clone(&is_ended);
        let work = move || {
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => {
                        let (mode, content) = (mode.lock().unwrap().clone(), Arc::clone(&content));
                        thread::spawn(move || answer(stream, &mode, &content));
                    }
                    Err(_) => thread::sleep(Duration::from_millis(2)),
                }
            }
        };
        self.running = Some((is_ended, thread::spawn(work)));
    }

    pub fn end(&mut self) {
        if let Some((is_ended, thread)) = self.running.take() {
            is_ended.store(true, Ordering::Relaxed);
            thread.join().unwrap();
        }
    }

    /// Names of the parts that it has, in order, without the mark.
    pub fn parts(&self) -> Vec<String> {
        let content = self.content.lock().unwrap();
        let mut names: Vec<String> =
            content.objects.keys().filter(|name| !name.ends_with("_ccactl")).cloned().collect();
        names.sort();
        names
    }

    /// Whether every object was put once.
    pub fn has_each_once(&self) -> bool {
        self.content.lock().unwrap().puts.values().all(|&puts| puts == 1)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.end();
    }
}

fn answer(stream: TcpStream, mode: &Mode, content: &Mutex<Content>) -> Option<()> {
    stream.set_nonblocking(false).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let (method, rest) = line.split_once(' ')?;
    let (method, name) = (method.to_owned(), rest.split_whitespace().next()?.trim_start_matches('/').to_owned());
    let (mut length, mut is_create) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        is_create |= header.starts_with("if-none-match:");
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut stream = reader.into_inner();
    let mut content = content.lock().unwrap();
    content.requests += 1;
    let refused = matches!(mode, Mode::RefusesNamed(part) if name.contains(part));
    match (mode, method.as_str()) {
        (Mode::Answers(status, code), _) => say(&mut stream, *status, error(code).as_bytes()),
        (Mode::Silent, _) => {
            drop(content);
            thread::sleep(Duration::from_secs(5));
            Some(())
        }
        (Mode::ClaimsNamed(part), "PUT") if name.contains(part) => {
            say(&mut stream, 412, error("PreconditionFailed").as_bytes())
        }
        (_, "PUT") if refused => say(&mut stream, 400, error("EntityTooLarge").as_bytes()),
        (_, "PUT") if is_create && *mode != Mode::Overwrites && content.objects.contains_key(&name) => {
            say(&mut stream, 412, error("PreconditionFailed").as_bytes())
        }
        (_, "PUT") => {
            content.objects.insert(name.clone(), body);
            *content.puts.entry(name.clone()).or_default() += 1;
            if *mode == Mode::CutsAfterPut && !name.ends_with("_ccactl") {
                Some(())
            } else {
                say(&mut stream, 200, b"")
            }
        }
        (_, "GET") => match content.objects.get(&name) {
            Some(object) => say(&mut stream, 200, object),
            None => say(&mut stream, 404, error("NoSuchKey").as_bytes()),
        },
        _ => say(&mut stream, 501, error("NotImplemented").as_bytes()),
    }
}

fn error(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>as asked</Message></Error>")
}

fn say(stream: &mut TcpStream, status: u16, body: &[u8]) -> Option<()> {
    let head = format!(
        "HTTP/1.1 {status} As asked\r\nETag: \"1\"\r\nLast-Modified: Thu, 26 Nov 2026 11:00:00 GMT\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()
}
