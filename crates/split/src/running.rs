//! The running proxy: one thread that waits for events, and all that it has open.

use crate::connection::{Connection, Side, Turn};
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::listener::Listener;
use crate::options::{Destination, Options};
use crate::pipe::Pool;
use crate::proxy::Event;
use crate::server;
use crate::socket::{self, Shape};
use crate::tally::{Complaints, Failure, Tally};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::{HashSet, VecDeque};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

/// How often it is looked whether a signal has come, or time is up.
const LOOK_MS: u16 = 100;
/// Until accepting is tried again after the system had no more files or memory.
const SHORTAGE: Duration = Duration::from_millis(100);
/// Events that are taken at once.
const EVENTS: usize = 512;
/// Connections that are accepted before others have their turn.
const ACCEPTS: usize = 64;
/// In events, that of the listener; others are twice the place of the connection, and one more for the server leg.
const LISTENER: u64 = u64::MAX;

/// Of a leg: changes only, as the connection remembers what it was told.
const LEG_EVENTS: EpollFlags = EpollFlags::EPOLLIN
    .union(EpollFlags::EPOLLOUT)
    .union(EpollFlags::EPOLLPRI)
    .union(EpollFlags::EPOLLRDHUP)
    .union(EpollFlags::EPOLLET);

/// Whether new connections are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepting {
    Yes,
    /// Not before.
    Paused(Instant),
    No,
}

/// All that is open.
pub(crate) struct Running<'a> {
    options: &'a Options,
    listener: &'a Listener,
    /// Of the client legs and the server legs.
    shapes: (&'a Shape, &'a Shape),
    limits: Limits,
    tell: &'a mut dyn FnMut(Event<'_>),
    epoll: Epoll,
    accepting: Accepting,
    connections: Vec<Option<Connection>>,
    /// Places that are free, and those that become so once no event can be under way for what was there.
    free: Vec<usize>,
    left: Vec<usize>,
    /// Connections that have used up their turn.
    again: Vec<usize>,
    /// When servers have to have answered by; all have the same time.
    answers: VecDeque<(Instant, usize)>,
    /// Server legs, from and to: what comes in between the same two is a loop.
    own: HashSet<(SocketAddr, SocketAddr)>,
    pool: Pool,
    tally: Tally,
    complaints: Complaints,
}

impl<'a> Running<'a> {
    pub(crate) fn begin(
        options: &'a Options,
        listener: &'a Listener,
        shapes: (&'a Shape, &'a Shape),
        limits: Limits,
        tell: &'a mut dyn FnMut(Event<'_>),
    ) -> Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(Error::system("make an epoll instance"))?;
        epoll.add(&listener.socket, listener_event()).map_err(Error::system("wait for connections"))?;
        Ok(Self {
            options,
            listener,
            shapes,
            limits,
            tell,
            epoll,
            accepting: Accepting::Yes,
            connections: Vec::new(),
            free: Vec::new(),
            left: Vec::new(),
            again: Vec::new(),
            answers: VecDeque::new(),
            own: HashSet::new(),
            pool: Pool::default(),
            tally: Tally::default(),
            complaints: Complaints::default(),
        })
    }

    /// Connections that are open.
    pub(crate) fn open(&self) -> usize {
        self.connections.len() - self.free.len() - self.left.len()
    }

    /// Waits for events, a moment at most, and does what they ask for.
    pub(crate) fn step(&mut self) -> Result<()> {
        let mut events = [EpollEvent::empty(); EVENTS];
        let timeout = if self.again.is_empty() { EpollTimeout::from(LOOK_MS) } else { EpollTimeout::ZERO };
        let count = match self.epoll.wait(&mut events, timeout) {
            Ok(count) => count,
            Err(Errno::EINTR) => 0,
            Err(errno) => return Err(Error::system("wait for events")(errno)),
        };
        // Before the events, which may ask for the same connections.
        for place in std::mem::take(&mut self.again) {
            if let Some(connection) = &mut self.connections[place] {
                connection.is_queued = false;
                self.turn(place);
            }
        }
        for event in &events[..count] {
            match event.data() {
                LISTENER => self.accept()?,
                data => self.attend((data / 2) as usize, data % 2 == 1, event.events()),
            }
        }
        self.give_up_on_silent_servers();
        self.free.append(&mut self.left);
        self.resume()
    }

    /// From now on connections only end. Those that the kernel has accepted for us are reset.
    pub(crate) fn accept_no_more(&mut self) -> Result<()> {
        if self.accepting == Accepting::Yes {
            self.epoll.delete(&self.listener.socket).map_err(Error::system("take the listener away"))?;
        }
        self.accepting = Accepting::No;
        self.listener.close();
        let (open, within) = (self.open(), self.options.drain);
        if open > 0 {
            (self.tell)(Event::Draining { open, within });
        }
        Ok(())
    }

    /// Resets what is left.
    pub(crate) fn finish(mut self) -> Tally {
        self.tally.resets_at_end = self.open() as u64;
        for place in 0..self.connections.len() {
            if let Some(connection) = self.remove(place) {
                connection.reset(&mut self.pool);
            }
        }
        self.tally
    }

    fn accept(&mut self) -> Result<()> {
        for _ in 0..ACCEPTS {
            if self.open() >= self.limits.connections {
                return self.pause(Duration::ZERO);
            }
            match self.listener.accept() {
                Ok(client) => self.split(client),
                Err(Errno::EAGAIN) => break,
                Err(Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM) => return self.pause(SHORTAGE),
                // The connection has gone by itself (accept(2) hands on what happened to it).
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn pause(&mut self, length: Duration) -> Result<()> {
        self.epoll.delete(&self.listener.socket).map_err(Error::system("pause the listener"))?;
        self.accepting = Accepting::Paused(Instant::now() + length);
        self.tally.pauses += 1;
        if self.tally.pauses == 1 {
            let (open, files) = (self.open(), self.limits.files);
            (self.tell)(Event::Paused { open, files });
        }
        Ok(())
    }

    fn resume(&mut self) -> Result<()> {
        let Accepting::Paused(until) = self.accepting else { return Ok(()) };
        if self.open() < self.limits.connections && Instant::now() >= until {
            self.epoll.add(&self.listener.socket, listener_event()).map_err(Error::system("wait for connections"))?;
            self.accepting = Accepting::Yes;
        }
        Ok(())
    }

    /// Opens the other leg of a connection that has come in.
    fn split(&mut self, client: OwnedFd) {
        self.tally.connections += 1;
        // One that is reset already has no peer.
        let (Ok(peer), Ok(local)) = (socket::peer(&client), socket::local(&client)) else {
            self.tally.resets_by_client += 1;
            return;
        };
        let to = match &self.options.destination {
            Destination::Server(server) => *server,
            Destination::Original(_) => local,
        };
        // Dropped with an error, the client is reset.
        let added = self.check_client(&client, peer, local).and_then(|()| self.add(client, peer, to));
        match added {
            Ok(()) => self.tally.peak = self.tally.peak.max(self.open() as u64),
            Err(failure) => self.complain(&failure, to),
        }
    }

    fn check_client(&self, client: &OwnedFd, peer: SocketAddr, local: SocketAddr) -> Result<(), Failure> {
        if self.own.contains(&(peer, local)) {
            return Err(Failure::Looped);
        }
        if let Destination::Original(targets) = &self.options.destination
            && !targets.iter().any(|target| target.contains(local))
        {
            return Err(Failure::Direct);
        }
        check_algorithm(client, "client", self.shapes.0)
    }

    fn add(&mut self, client: OwnedFd, peer: SocketAddr, to: SocketAddr) -> Result<(), Failure> {
        let keep = self.options.keep_client_address.then_some(peer);
        let server = server::begin(to, keep, self.shapes.1)?;
        let from = socket::local(&server).map_err(server::failure)?;
        let answer_by = Instant::now() + self.options.connect_timeout;
        let place = self.free.pop().unwrap_or_else(|| {
            self.connections.push(None);
            self.connections.len() - 1
        });
        let watch = |socket: &OwnedFd, side: u64| {
            self.epoll.add(socket, EpollEvent::new(LEG_EVENTS, place as u64 * 2 + side)).map_err(server::failure)
        };
        if let Err(failure) = watch(&client, 0).and_then(|()| watch(&server, 1)) {
            self.free.push(place);
            return Err(failure);
        }
        self.own.insert((from, to));
        self.answers.push_back((answer_by, place));
        self.connections[place] = Some(Connection::new(client, server, (peer, from, to), answer_by));
        Ok(())
    }

    /// Does what an event of a leg asks for.
    fn attend(&mut self, place: usize, is_server: bool, events: EpollFlags) {
        let Some(connection) = &mut self.connections[place] else { return };
        let side = if is_server { Side::Server } else { Side::Client };
        if let Err(errno) = connection.note(side, events) {
            return self.fail(place, side, errno);
        }
        if connection.answer_by.is_some() {
            if !is_server || !events.contains(EpollFlags::EPOLLOUT) {
                return;
            }
            connection.answer_by = None;
            if let Err(failure) = check_algorithm(connection.socket(Side::Server), "server", self.shapes.1) {
                return self.give_up(place, &failure);
            }
        }
        self.turn(place);
    }

    fn turn(&mut self, place: usize) {
        let Some(connection) = &mut self.connections[place] else { return };
        match connection.turn(&mut self.pool) {
            Turn::Wait => {}
            Turn::Again if connection.is_queued => {}
            Turn::Again => {
                connection.is_queued = true;
                self.again.push(place);
            }
            Turn::Done => {
                let ended = self.remove(place).map(|connection| connection.finish(&mut self.pool));
                self.tally.completed += u64::from(matches!(ended, Some(Ok(()))));
            }
            Turn::Failed(side, errno) => self.fail(place, side, errno),
            Turn::NoPipe(errno) => self.give_up(place, &Failure::NoResources(errno.desc().to_owned())),
        }
    }

    /// A leg has failed: the other one is reset.
    fn fail(&mut self, place: usize, side: Side, errno: Errno) {
        let Some(connection) = &self.connections[place] else { return };
        let is_connected = connection.answer_by.is_none() || side == Side::Client;
        match (errno, side) {
            (Errno::ECONNRESET | Errno::EPIPE | Errno::ENOTCONN, _) if is_connected => {
                match side {
                    Side::Client => self.tally.resets_by_client += 1,
                    Side::Server => self.tally.resets_by_server += 1,
                }
                self.reset(place);
            }
            _ => self.give_up_on(place, side, &server::failure(errno)),
        }
    }

    fn give_up(&mut self, place: usize, failure: &Failure) {
        self.give_up_on(place, Side::Server, failure);
    }

    fn give_up_on(&mut self, place: usize, side: Side, failure: &Failure) {
        if let Some(connection) = &self.connections[place] {
            self.complain(failure, connection.peer(side));
        }
        self.reset(place);
    }

    fn complain(&mut self, failure: &Failure, peer: SocketAddr) {
        if let Some(line) = self.complaints.count(failure, peer, Instant::now(), &mut self.tally.failures) {
            (self.tell)(Event::Failed(&line));
        }
    }

    fn give_up_on_silent_servers(&mut self) {
        while let Some(&(by, place)) = self.answers.front() {
            let is_waiting = self.connections[place].as_ref().is_some_and(|found| found.answer_by == Some(by));
            if is_waiting && Instant::now() < by {
                return;
            }
            self.answers.pop_front();
            if is_waiting {
                self.give_up(place, &Failure::TimedOut);
            }
        }
    }

    fn reset(&mut self, place: usize) {
        if let Some(connection) = self.remove(place) {
            connection.reset(&mut self.pool);
        }
    }

    fn remove(&mut self, place: usize) -> Option<Connection> {
        let connection = self.connections[place].take()?;
        let (up, down) = connection.bytes();
        self.tally.bytes_up += up;
        self.tally.bytes_down += down;
        self.own.remove(&connection.server_leg());
        self.left.push(place);
        Some(connection)
    }
}

/// An algorithm may have been replaced by a route, a policy, or by itself.
fn check_algorithm(socket: &OwnedFd, leg: &'static str, shape: &Shape) -> Result<(), Failure> {
    let found = socket::algorithm_of(socket).map_err(server::failure)?;
    let expected = shape.algorithm.clone();
    if found == expected { Ok(()) } else { Err(Failure::OtherAlgorithm { leg, expected, found }) }
}

fn listener_event() -> EpollEvent {
    EpollEvent::new(EpollFlags::EPOLLIN, LISTENER)
}
