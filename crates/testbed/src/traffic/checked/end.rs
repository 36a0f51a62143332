//! One end of all connections: a process with one thread that waits for events, sends by a budget of bytes and answers questions.

use super::connection::{Connection, GREETING_BYTES, Received, greeting, parse_greeting};
use super::report::{Sample, Totals, WrongByte};
use super::socket::{congestion_control, tcp_info};
use super::stream::{Direction, Mismatch};
use crate::clock;
use crate::traffic::protocol::{READY, line_reader, say};
use ccactl_link::Nanos;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::TryRecvError;

/// How often data is sent and questions are looked for.
const TICK: Nanos = 5_000_000;
/// The budget of bytes does not grow beyond that of this time, whatever held the process up.
const MAX_BUDGET_OF: Nanos = 50_000_000;
/// A piece has between 1 and this many bytes, as often short as long.
const MAX_PIECE_BYTES: usize = 16 * 1024;
const READ_BYTES: usize = 64 * 1024;
const EVENTS_AT_ONCE: usize = 256;
/// Each socket's cwnd is read once in so many ticks while data moves.
const INSPECT_EVERY_TICKS: usize = 40;
/// How long the orderly end of all connections may take.
const FINISH_WITHIN: Nanos = 60_000_000_000;
/// Descriptors beside the connections.
const OTHER_FILES: u64 = 256;
/// Tokens from here on are listening sockets.
const FIRST_LISTENER: u64 = 1 << 32;

/// Which end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Opens the connections.
    Client,
    /// Accepts them.
    Server,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Server => "server",
        }
    }
}

/// What an end is to do; the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOptions {
    /// Which end.
    pub side: Side,
    /// Where the server listens; connection `i` goes to address `i` modulo their number.
    pub addresses: Vec<IpAddr>,
    /// First port of each address.
    pub first_port: u16,
    /// Number of ports of each address.
    pub ports: u16,
    /// Number of connections.
    pub connections: u32,
    /// Makes the bytes and the sizes of the pieces.
    pub seed: u64,
    /// What each connection sends at once when it is open.
    pub opening_bytes: usize,
    /// What all connections of this end send together from then on.
    pub rate_bytes_per_s: u64,
}

impl EndOptions {
    fn address(&self, number: u32) -> SocketAddr {
        let families = self.addresses.len() as u32;
        let port = self.first_port + ((number / families) % u32::from(self.ports)) as u16;
        SocketAddr::new(self.addresses[(number % families) as usize], port)
    }

    fn every_address(&self) -> impl Iterator<Item = SocketAddr> {
        let port_of = |i| self.first_port + i;
        self.addresses
            .iter()
            .flat_map(move |address| (0..self.ports).map(move |i| SocketAddr::new(*address, port_of(i))))
    }
}

/// Runs an end; standard input and output belong to [`super::CheckedLoad`].
///
/// # Errors
/// When a port cannot be taken, a connection cannot be opened, or the other side of the talk is gone.
pub fn run(options: EndOptions) -> io::Result<()> {
    let lines = line_reader();
    let mut end = End::new(options)?;
    match end.options.side {
        Side::Client => end.connect_all()?,
        Side::Server => end.listen()?,
    }
    say(READY)?;
    loop {
        end.turn()?;
        match lines.try_recv() {
            Err(TryRecvError::Empty) => {}
            Err(TryRecvError::Disconnected) => return Err(io::Error::from(ErrorKind::UnexpectedEof)),
            Ok(line) => match line.as_str() {
                "sample" => say(&serde_json::to_string(&end.sample()?)?)?,
                "stop" => {
                    end.stopping = true;
                    say(&serde_json::to_string(&end.sample()?)?)?;
                }
                "finish" => return say(&serde_json::to_string(&end.finish()?)?),
                _ => {
                    let message = format!("expected sample, stop or finish, found {line:?}");
                    return Err(io::Error::new(ErrorKind::InvalidData, message));
                }
            },
        }
    }
}

/// What an event can be about, by its token.
enum Slot {
    /// Accepted, and has not said yet which connection it is.
    Newcomer {
        socket: TcpStream,
        greeting: [u8; GREETING_BYTES],
        said: usize,
    },
    Open(Box<Connection>),
    /// Ended; a fault, because nothing ends before the finish.
    Gone,
}

struct End {
    options: EndOptions,
    epoll: Epoll,
    listeners: Vec<TcpListener>,
    slots: Vec<Slot>,
    /// Faults, and the readings of cwnd.
    counts: Sample,
    /// Payload of connections that are gone.
    buried: (u64, u64),
    stopping: bool,
    random: StdRng,
    budget_bytes: f64,
    next_tick: Nanos,
    last_tick: Nanos,
    next_sender: usize,
    next_inspected: usize,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
}

impl End {
    fn new(options: EndOptions) -> io::Result<Self> {
        allow_files(u64::from(options.connections) + OTHER_FILES)?;
        let now = clock::now();
        let side = match options.side {
            Side::Client => 0,
            Side::Server => 1,
        };
        Ok(Self {
            random: StdRng::seed_from_u64(options.seed ^ side),
            options,
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            listeners: Vec::new(),
            slots: Vec::new(),
            counts: Sample::default(),
            buried: (0, 0),
            stopping: false,
            budget_bytes: 0.0,
            next_tick: now,
            last_tick: now,
            next_sender: 0,
            next_inspected: 0,
            buffer: vec![0; READ_BYTES],
            scratch: vec![0; READ_BYTES],
        })
    }

    fn listen(&mut self) -> io::Result<()> {
        for address in self.options.every_address().collect::<Vec<_>>() {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            let token = FIRST_LISTENER + self.listeners.len() as u64;
            self.epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, token))?;
            self.listeners.push(listener);
        }
        Ok(())
    }

    fn connect_all(&mut self) -> io::Result<()> {
        for number in 0..self.options.connections {
            let address = self.options.address(number);
            let mut socket = TcpStream::connect(address)
                .map_err(|error| io::Error::new(error.kind(), format!("connection {number} to {address}: {error}")))?;
            socket.write_all(&greeting(self.options.seed, number))?;
            socket.set_nonblocking(true)?;
            let slot = self.slots.len();
            self.watch(&socket, slot)?;
            self.slots.push(Slot::Gone);
            self.open(slot, socket, number);
        }
        Ok(())
    }

    fn watch(&self, socket: &TcpStream, slot: usize) -> io::Result<()> {
        Ok(self.epoll.add(socket, EpollEvent::new(EpollFlags::EPOLLIN, slot as u64))?)
    }

    /// The number of a connection is known: data goes from here on.
    fn open(&mut self, slot: usize, socket: TcpStream, number: u32) {
        let outgoing = match self.options.side {
            Side::Client => Direction::ToServer,
            Side::Server => Direction::ToClient,
        };
        let mut connection = Box::new(Connection::new(socket, number, self.options.seed, outgoing, clock::now()));
        let opening = self.options.opening_bytes.min(self.scratch.len());
        let sent = connection.send(&mut self.scratch[..opening]);
        self.slots[slot] = Slot::Open(connection);
        if let Err(error) = sent {
            self.bury(slot, &error);
        }
    }

    /// Waits for events until the next tick at most, and does what the tick is for.
    fn turn(&mut self) -> io::Result<()> {
        self.handle_events()?;
        let now = clock::now();
        if now >= self.next_tick {
            self.next_tick = now + TICK;
            if !self.stopping && self.options.rate_bytes_per_s > 0 {
                self.send_round(now);
                self.inspect(self.slots.len().div_ceil(INSPECT_EVERY_TICKS))?;
            }
            self.last_tick = now;
        }
        Ok(())
    }

    fn handle_events(&mut self) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS_AT_ONCE];
        let left_ms = self.next_tick.saturating_sub(clock::now()).div_ceil(1_000_000);
        let timeout = EpollTimeout::from(u16::try_from(left_ms).unwrap_or(u16::MAX));
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(nix::Error::EINTR) => 0,
            Err(error) => return Err(error.into()),
        };
        for event in &events[..count] {
            match event.data().checked_sub(FIRST_LISTENER) {
                Some(listener) => self.accept(listener as usize)?,
                None => self.receive(event.data() as usize),
            }
        }
        Ok(())
    }

    fn accept(&mut self, listener: usize) -> io::Result<()> {
        loop {
            match self.listeners[listener].accept() {
                Ok((socket, _)) => {
                    socket.set_nonblocking(true)?;
                    self.watch(&socket, self.slots.len())?;
                    self.slots.push(Slot::Newcomer { socket, greeting: [0; GREETING_BYTES], said: 0 });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The connection went away before it was accepted.
                Err(error) if error.raw_os_error() == Some(libc::ECONNABORTED) => self.counts.resets += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn receive(&mut self, slot: usize) {
        match &mut self.slots[slot] {
            Slot::Gone => {}
            Slot::Newcomer { .. } => self.greet(slot),
            Slot::Open(connection) => {
                let number = connection.number;
                match connection.receive(&mut self.buffer, &mut self.scratch, clock::now()) {
                    Ok(Received::Fine) => {}
                    Ok(Received::Wrong(mismatch)) => self.note_wrong(number, mismatch),
                    Ok(Received::End) => {
                        // Without this the end would be reported for ever.
                        let _ = self.epoll.delete(&connection.socket);
                        if !self.stopping {
                            self.counts.ended_early += 1;
                        }
                    }
                    Err(error) => self.bury(slot, &error),
                }
            }
        }
    }

    fn greet(&mut self, slot: usize) {
        let Slot::Newcomer { socket, greeting, said } = &mut self.slots[slot] else { return };
        match socket.read(&mut greeting[*said..]) {
            Ok(0) => self.bury(slot, &io::Error::from_raw_os_error(libc::ENOTCONN)),
            Ok(length) => {
                *said += length;
                if *said < GREETING_BYTES {
                    return;
                }
                let number = parse_greeting(self.options.seed, *greeting);
                let Slot::Newcomer { socket, .. } = std::mem::replace(&mut self.slots[slot], Slot::Gone) else {
                    return;
                };
                match number.filter(|number| *number < self.options.connections) {
                    Some(number) => self.open(slot, socket, number),
                    // Its first bytes were not those that the client wrote.
                    None => self.counts.wrong_bytes += GREETING_BYTES as u64,
                }
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => self.bury(slot, &error),
        }
    }

    fn note_wrong(&mut self, connection: u32, mismatch: Mismatch) {
        self.counts.wrong_bytes += mismatch.count;
        self.counts.first_wrong.get_or_insert_with(|| WrongByte {
            connection,
            at: self.options.side.name().to_owned(),
            position: mismatch.position,
            expected: mismatch.expected,
            found: mismatch.found,
        });
    }

    /// A connection has failed: what it was is counted, its socket closed.
    fn bury(&mut self, slot: usize, error: &io::Error) {
        if let Slot::Open(connection) = std::mem::replace(&mut self.slots[slot], Slot::Gone) {
            self.buried.0 += connection.sent_bytes();
            self.buried.1 += connection.received_bytes();
        }
        match error.raw_os_error() {
            Some(libc::ECONNRESET | libc::EPIPE) => self.counts.resets += 1,
            errno => *self.counts.errors.entry(errno.unwrap_or(libc::EIO)).or_default() += 1,
        }
    }

    /// Gives pieces of random size to the connections in turn until the budget is spent or all had theirs.
    fn send_round(&mut self, now: Nanos) {
        let rate = self.options.rate_bytes_per_s as f64 / 1e9;
        let elapsed = (now - self.last_tick).min(MAX_BUDGET_OF);
        self.budget_bytes = (self.budget_bytes + rate * elapsed as f64).min(rate * MAX_BUDGET_OF as f64);
        for _ in 0..self.slots.len() {
            if self.budget_bytes <= 0.0 {
                return;
            }
            let slot = self.next_sender % self.slots.len();
            self.next_sender = slot + 1;
            let Slot::Open(connection) = &mut self.slots[slot] else { continue };
            let longest = self.random.random_range(0..=MAX_PIECE_BYTES.ilog2());
            let length = self.random.random_range(1..=1usize << longest);
            match connection.send(&mut self.scratch[..length]) {
                Ok(taken) => self.budget_bytes -= taken as f64,
                Err(error) => self.bury(slot, &error),
            }
        }
    }

    /// Reads the cwnd of the next `count` sockets.
    fn inspect(&mut self, count: usize) -> io::Result<()> {
        for _ in 0..count.min(self.slots.len()) {
            let slot = self.next_inspected % self.slots.len();
            self.next_inspected = slot + 1;
            if let Slot::Open(connection) = &self.slots[slot] {
                let info = tcp_info(&connection.socket)?;
                self.counts.read_cwnd(Some(info.tcpi_snd_cwnd), 1);
            }
        }
        Ok(())
    }

    /// Counts, and a look at every open socket.
    fn sample(&mut self) -> io::Result<Sample> {
        let mut sample = self.counts.clone();
        (sample.sent_bytes, sample.received_bytes) = self.buried;
        let now = clock::now();
        for slot in &self.slots {
            let Slot::Open(connection) = slot else { continue };
            sample.sent_bytes += connection.sent_bytes();
            sample.received_bytes += connection.received_bytes();
            if connection.ended {
                continue;
            }
            sample.alive += 1;
            let info = tcp_info(&connection.socket)?;
            sample.read_cwnd(Some(info.tcpi_snd_cwnd), 1);
            if let Some(count) = sample.states.get_mut(usize::from(info.tcpi_ca_state)) {
                *count += 1;
            }
            sample.retransmitted_pkts += u64::from(info.tcpi_total_retrans);
            sample.longest_silence_ms = sample.longest_silence_ms.max(now.saturating_sub(connection.heard) / 1_000_000);
            *sample.algorithms.entry(congestion_control(&connection.socket)?).or_default() += 1;
        }
        self.counts.read_cwnd(sample.min_cwnd_pkts, sample.cwnd_readings - self.counts.cwnd_readings);
        Ok(sample)
    }

    /// Closes every connection in order: what is still in the sockets arrives first.
    fn finish(&mut self) -> io::Result<Totals> {
        self.stopping = true;
        for slot in 0..self.slots.len() {
            if let Slot::Open(connection) = &self.slots[slot]
                && let Err(error) = connection.close_sending()
            {
                self.bury(slot, &error);
            }
        }
        let give_up = clock::now() + FINISH_WITHIN;
        let open = |slots: &[Slot]| slots.iter().any(|slot| matches!(slot, Slot::Open(one) if !one.ended));
        while open(&self.slots) && clock::now() < give_up {
            self.turn()?;
        }
        let mut counts = self.counts.clone();
        (counts.sent_bytes, counts.received_bytes) = self.buried;
        let mut streams = BTreeMap::new();
        for slot in &self.slots {
            let Slot::Open(connection) = slot else { continue };
            counts.sent_bytes += connection.sent_bytes();
            counts.received_bytes += connection.received_bytes();
            if connection.ended {
                streams.insert(connection.number, connection.totals());
            }
        }
        Ok(Totals { counts, streams })
    }
}

/// Raises the limit of open files where it is lower.
fn allow_files(count: u64) -> io::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= count {
        return Ok(());
    }
    setrlimit(Resource::RLIMIT_NOFILE, count, hard.max(count)).map_err(|errno| {
        io::Error::new(
            io::Error::from(errno).kind(),
            format!("expected room for {count} open files, found a limit of {soft} (at most {hard}): {errno}"),
        )
    })
}
