//! One connection of a client, and what carries its two directions.

use crate::pipe::{Pipe, Pool};
use crate::socket;
use nix::errno::Errno;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{MsgFlags, Shutdown, recv, shutdown};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::time::Instant;

/// What one turn moves at most in each direction, so that one connection does not keep the others waiting.
const TURN_BYTES: u64 = 1024 * 1024;

/// One of the two legs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Towards the client.
    Client,
    /// Towards the server.
    Server,
}

/// What a connection needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// An event.
    Wait,
    /// Another turn.
    Again,
    /// Nothing: both directions have ended in order.
    Done,
    /// To be reset, as this leg has failed.
    Failed(Side, Errno),
    /// To be reset, for want of a pipe.
    NoPipe(Errno),
}

/// One leg. Events are edges, so that what they said is kept.
#[derive(Debug)]
struct Leg {
    socket: OwnedFd,
    readable: bool,
    writable: bool,
    /// An urgent byte comes, which splice(2) stops before.
    urgent: bool,
    /// Its peer sends no more, and all has been read.
    ended: bool,
    /// Nothing more is sent.
    shut: bool,
}

/// One direction.
#[derive(Debug, Default)]
struct Way {
    pipe: Option<Pipe>,
    bytes: u64,
}

/// Both legs, and what is between them.
#[derive(Debug)]
pub(crate) struct Connection {
    client: Leg,
    server: Leg,
    up: Way,
    down: Way,
    /// Addresses of the client, of the server leg and of the server.
    places: (SocketAddr, SocketAddr, SocketAddr),
    /// Until when the server has to answer; `None` once it has.
    pub(crate) answer_by: Option<Instant>,
    /// Whether another turn is due.
    pub(crate) is_queued: bool,
}

impl Connection {
    /// `places`: addresses of the client, of the server leg and of the server.
    pub(crate) fn new(
        client: OwnedFd,
        server: OwnedFd,
        places: (SocketAddr, SocketAddr, SocketAddr),
        answer_by: Instant,
    ) -> Self {
        let (up, down) = (Way::default(), Way::default());
        let (client, server) = (Leg::new(client), Leg::new(server));
        Self { client, server, up, down, places, answer_by: Some(answer_by), is_queued: false }
    }

    /// Who is at the far end of a leg.
    pub(crate) fn peer(&self, side: Side) -> SocketAddr {
        match side {
            Side::Client => self.places.0,
            Side::Server => self.places.2,
        }
    }

    /// The server leg, from and to.
    pub(crate) fn server_leg(&self) -> (SocketAddr, SocketAddr) {
        (self.places.1, self.places.2)
    }

    /// Bytes from client to server, and back.
    pub(crate) fn bytes(&self) -> (u64, u64) {
        (self.up.bytes, self.down.bytes)
    }

    /// The socket of a leg.
    pub(crate) fn socket(&self, side: Side) -> &OwnedFd {
        &self.leg(side).socket
    }

    fn leg(&self, side: Side) -> &Leg {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    /// Takes note of an event. An error that came with it is to be dealt with before anything else.
    pub(crate) fn note(&mut self, side: Side, events: EpollFlags) -> Result<(), Errno> {
        if events.contains(EpollFlags::EPOLLERR)
            && let Some(errno) = socket::error_of(self.socket(side))
        {
            return Err(errno);
        }
        let leg = match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        };
        let ended = EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP;
        leg.urgent |= events.contains(EpollFlags::EPOLLPRI);
        leg.readable |= events.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLPRI | ended);
        leg.writable |= events.intersects(EpollFlags::EPOLLOUT | EpollFlags::EPOLLHUP);
        Ok(())
    }

    /// Moves what can be moved, both ways.
    pub(crate) fn turn(&mut self, pool: &mut Pool) -> Turn {
        let Self { client, server, up, down, .. } = self;
        let up = up.carry((Side::Client, client), (Side::Server, server), pool);
        let down = if matches!(up, Turn::Wait | Turn::Again | Turn::Done) {
            down.carry((Side::Server, server), (Side::Client, client), pool)
        } else {
            return up;
        };
        match (up, down) {
            (Turn::Done, down) => down,
            (Turn::Again, Turn::Wait | Turn::Done) => Turn::Again,
            (Turn::Wait, Turn::Done) => Turn::Wait,
            (_, down) => down,
        }
    }

    /// Closes both legs in order.
    pub(crate) fn finish(self, pool: &mut Pool) -> nix::Result<()> {
        socket::end_in_order(&self.client.socket)?;
        socket::end_in_order(&self.server.socket)?;
        self.reset(pool);
        Ok(())
    }

    /// Drops both legs, which resets what has not ended in order.
    pub(crate) fn reset(self, pool: &mut Pool) {
        for way in [self.up, self.down] {
            if let Some(pipe) = way.pipe {
                pool.give(pipe);
            }
        }
    }
}

impl Leg {
    fn new(socket: OwnedFd) -> Self {
        // Accepted with data, or connected at once: events tell.
        Self { socket, readable: false, writable: false, urgent: false, ended: false, shut: false }
    }
}

impl Way {
    /// Moves bytes until one of the legs cannot, or others have their turn.
    fn carry(&mut self, (from_side, from): (Side, &mut Leg), (to_side, to): (Side, &mut Leg), pool: &mut Pool) -> Turn {
        let enough = self.bytes + TURN_BYTES;
        while !to.shut {
            let read = match self.read(from, pool) {
                Ok(read) => read,
                Err(Halt::Leg(errno)) => return Turn::Failed(from_side, errno),
                Err(Halt::Pipe(errno)) => return Turn::NoPipe(errno),
            };
            let written = match self.write(to) {
                Ok(written) => written,
                Err(errno) => return Turn::Failed(to_side, errno),
            };
            if let Some(pipe) = self.pipe.take_if(|pipe| pipe.held() == 0) {
                pool.give(pipe);
            }
            if from.ended && self.pipe.is_none() {
                if let Err(errno) = shutdown(to.socket.as_raw_fd(), Shutdown::Write) {
                    return Turn::Failed(to_side, errno);
                }
                to.shut = true;
            } else if self.bytes >= enough {
                return Turn::Again;
            } else if !read && !written {
                return Turn::Wait;
            }
        }
        Turn::Done
    }

    /// Whether something was read, be it the end.
    fn read(&mut self, from: &mut Leg, pool: &mut Pool) -> Result<bool, Halt> {
        if !from.readable || from.ended || self.pipe.as_ref().is_some_and(Pipe::is_full) {
            return Ok(false);
        }
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            none => none.insert(pool.take().map_err(Halt::Pipe)?),
        };
        match pipe.fill(from.socket.as_fd()) {
            // The end, or an urgent byte in front of it.
            Ok(0) => return take_byte(from, pipe),
            Ok(_) => {}
            // The leg or the pipe, whose parts are used up before its bytes: once it is empty it is the leg.
            Err(Errno::EAGAIN) if pipe.held() > 0 => return Ok(false),
            Err(Errno::EAGAIN) if from.urgent => {
                from.urgent = false;
                return take_byte(from, pipe);
            }
            Err(Errno::EAGAIN) => {
                from.readable = false;
                return Ok(false);
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(Halt::Leg(errno)),
        }
        Ok(true)
    }

    /// Whether something was written.
    fn write(&mut self, to: &mut Leg) -> nix::Result<bool> {
        let Some(pipe) = self.pipe.as_mut().filter(|pipe| pipe.held() > 0 && to.writable) else { return Ok(false) };
        match pipe.drain(to.socket.as_fd()) {
            Ok(moved) => self.bytes += moved as u64,
            Err(Errno::EAGAIN) => {
                to.writable = false;
                return Ok(false);
            }
            Err(Errno::EINTR) => {}
            Err(errno) => return Err(errno),
        }
        Ok(true)
    }
}

/// Why a direction does not go on.
enum Halt {
    Leg(Errno),
    Pipe(Errno),
}

/// splice(2) stops before an urgent byte; only recv(2) gets past it.
fn take_byte(from: &mut Leg, pipe: &mut Pipe) -> Result<bool, Halt> {
    let mut byte = [0];
    match recv(from.socket.as_raw_fd(), &mut byte, MsgFlags::MSG_DONTWAIT) {
        Ok(0) => from.ended = true,
        Ok(_) => pipe.push(byte[0]).map_err(Halt::Pipe)?,
        // It is not there yet; its event is still to come.
        Err(Errno::EAGAIN) => {}
        Err(errno) => return Err(Halt::Leg(errno)),
    }
    Ok(true)
}
