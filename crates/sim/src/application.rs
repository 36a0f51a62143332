//! What the application behind a sender has to send, and when TCP takes it.

use crate::Nanos;
use crate::tcp::Sender;

/// Payload that is due at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// When.
    pub at_ns: Nanos,
    /// How much.
    pub bytes: u64,
}

/// The piece that follows the one that was due at the first time, if there was one, when TCP has taken it at the second; none
/// when there is no more.
pub type NextPiece = Box<dyn Fn(Option<Nanos>, Nanos) -> Option<Piece> + Send>;

/// What a flow has to send.
pub enum Data {
    /// There is always more.
    Endless,
    /// There is always more until that time.
    Until(Nanos),
    /// So many bytes.
    Bytes(u64),
    /// A piece at a time. They are taken in whole segments; what is left over goes with the next one.
    Pieces(NextPiece),
}

/// A socket with pieces takes no more while so much has not been sent (`TCP_NOTSENT_LOWAT`), as in the testbed.
const MOST_UNSENT_BYTES: u64 = 64 * 1024;

pub struct Application {
    data: Data,
    /// Bytes or endless data have been written.
    is_written: bool,
    /// Of the last piece: when it was due, and what of it the sender has not taken.
    before_ns: Option<Nanos>,
    waiting_bytes: u64,
    /// A moment is planned at which it writes on.
    sleeps: bool,
    has_ended: bool,
}

impl Application {
    pub fn new(data: Data) -> Application {
        Application { data, is_written: false, before_ns: None, waiting_bytes: 0, sleeps: false, has_ended: false }
    }

    /// All that it will ever send, if that is known.
    pub fn size(&self) -> Option<u64> {
        match self.data {
            Data::Bytes(bytes) => Some(bytes),
            Data::Endless | Data::Until(_) | Data::Pieces(_) => None,
        }
    }

    /// The moment that it waited for has come.
    pub fn wake(&mut self) {
        self.sleeps = false;
    }

    /// Gives the sender what it takes. When it has to be asked again at a time, that time.
    pub fn write(&mut self, now_ns: Nanos, sender: &mut Sender) -> Option<Nanos> {
        match &self.data {
            Data::Endless if !self.is_written => sender.write(now_ns, u64::MAX),
            Data::Bytes(bytes) if !self.is_written => sender.write(now_ns, *bytes),
            Data::Until(end_ns) if !self.is_written => {
                self.is_written = true;
                sender.write(now_ns, u64::MAX);
                return Some((*end_ns).max(now_ns));
            }
            Data::Until(end_ns) if now_ns >= *end_ns && !self.has_ended => {
                self.has_ended = true;
                sender.stop_writing();
            }
            Data::Pieces(_) => return self.write_pieces(now_ns, sender),
            Data::Endless | Data::Until(_) | Data::Bytes(_) => {}
        }
        self.is_written = true;
        None
    }

    fn write_pieces(&mut self, now_ns: Nanos, sender: &mut Sender) -> Option<Nanos> {
        let Data::Pieces(next) = &self.data else { return None };
        let mss = u64::from(sender.mss_bytes());
        while !self.sleeps && !self.has_ended {
            if self.waiting_bytes < mss {
                let Some(piece) = next(self.before_ns, now_ns) else {
                    self.has_ended = true;
                    break;
                };
                self.before_ns = Some(piece.at_ns);
                self.waiting_bytes += piece.bytes;
                if piece.at_ns > now_ns {
                    self.sleeps = true;
                    return Some(piece.at_ns);
                }
            }
            let room = MOST_UNSENT_BYTES.saturating_sub(sender.unsent_bytes()) / mss * mss;
            let taken = room.min(self.waiting_bytes / mss * mss);
            if taken == 0 {
                // With room for nothing it is asked again after the next ACK; with a piece of less than a segment, the next comes.
                if self.waiting_bytes >= mss {
                    break;
                }
                continue;
            }
            self.waiting_bytes -= taken;
            sender.write(now_ns, taken);
        }
        None
    }
}
