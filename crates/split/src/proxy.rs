//! A proxy from its claims to its end.

use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::listener::Listener;
use crate::options::{Destination, Options};
use crate::running::Running;
use crate::socket::{Shape, be_transparent};
use crate::steer::Steering;
use crate::tally::Tally;
use ccactl_loader::{HeldAlgorithm, Loadable, ReceivingCgroup};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The receiving algorithm that keeps a queue near a delay.
const UPLOAD_ALGORITHM: &str = "rledbat";

/// What there is to say while a proxy runs.
#[derive(Debug)]
pub enum Event<'a> {
    /// Clients can connect.
    Ready {
        /// Where.
        listen: SocketAddr,
        /// Where their connections go on to.
        destination: &'a Destination,
        /// Of the client legs.
        client: &'a HeldAlgorithm,
        /// Of the server legs.
        server: &'a HeldAlgorithm,
    },
    /// Connections have failed.
    Failed(&'a str),
    /// No more connections are accepted for the moment. Said once.
    Paused {
        /// Open connections.
        open: usize,
        /// `RLIMIT_NOFILE`.
        files: u64,
    },
    /// No more connections are accepted at all.
    Draining {
        /// Open connections.
        open: usize,
        /// How long they have.
        within: Duration,
    },
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { listen, destination, client, server } => {
                write!(
                    f,
                    "splitting connections from {listen} to {destination}; client legs: {client}, server legs: {server}"
                )
            }
            Self::Failed(line) => f.write_str(line),
            Self::Paused { open, files } => write!(
                f,
                "accepting pauses while {open} connections are open: the file descriptors (RLIMIT_NOFILE={files}) are \
                 enough for no more; a higher hard limit (`ulimit -Hn`) is taken up by itself"
            ),
            Self::Draining { open, within } => {
                write!(f, "no more connections; {open} open ones have {within:?} to end, then they are reset")
            }
        }
    }
}

/// A proxy that has all it needs, and does not listen yet. Dropping it, or the end of its process, takes everything back.
#[derive(Debug)]
pub struct Proxy {
    options: Options,
    listener: Listener,
    client_shape: Shape,
    server_shape: Shape,
    limits: Limits,
    client_algorithm: HeldAlgorithm,
    server_algorithm: HeldAlgorithm,
    _receiving: Option<ReceivingCgroup>,
}

impl Proxy {
    /// Registers the algorithms and claims the port, in the calling thread's network namespace.
    ///
    /// # Errors
    /// [`Error`], with nothing left behind.
    pub fn claim(options: Options) -> Result<Self> {
        let limits = Limits::raise()?;
        let receiver = options.upload_target.map(receiver).transpose()?;
        let client_algorithm = HeldAlgorithm::find(&options.client_algorithm, 0)?;
        let server_algorithm = HeldAlgorithm::find(&options.server_algorithm, 1)?;
        let shape = |algorithm: &HeldAlgorithm, is_transparent| Shape {
            algorithm: algorithm.kernel_name().to_owned(),
            buffer_bytes: options.buffer_bytes,
            is_transparent,
        };
        let is_original = matches!(options.destination, Destination::Original(_));
        let client_shape = shape(&client_algorithm, is_original);
        let server_shape = shape(&server_algorithm, options.keep_client_address);
        if is_original || options.keep_client_address {
            check_transparent()?;
        }
        let receiving = receiver.map(ReceivingCgroup::create).transpose()?;
        let claim = || Listener::claim(&options, &client_shape);
        let listener = receiving.as_ref().map_or_else(|| Ok(claim()), |cgroup| cgroup.within(claim))??;
        Ok(Self {
            options,
            listener,
            client_shape,
            server_shape,
            limits,
            client_algorithm,
            server_algorithm,
            _receiving: receiving,
        })
    }

    /// Splits connections until `stop` is set or the time is up, and drains them then; `stop` set once more ends that. The
    /// flag is taken back each time.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn run(self, stop: &AtomicBool, tell: &mut dyn FnMut(Event<'_>)) -> Result<Tally> {
        self.listener.listen()?;
        let steering = match &self.options.destination {
            Destination::Original(targets) => Some(Steering::begin(&self.listener.socket, targets)?),
            Destination::Server(_) => None,
        };
        tell(Event::Ready {
            listen: self.listener.address,
            destination: &self.options.destination,
            client: &self.client_algorithm,
            server: &self.server_algorithm,
        });
        // What the algorithms and the cgroup hold lives until the last connection has ended.
        let Self { options, listener, client_shape, server_shape, limits, .. } = &self;
        let mut running = Running::begin(options, listener, (client_shape, server_shape), *limits, tell)?;
        let end = options.duration.map(|duration| Instant::now() + duration);
        while !stop.swap(false, Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
            running.step()?;
        }
        drop(steering);
        running.accept_no_more()?;
        let end = Instant::now() + options.drain;
        while running.open() > 0 && !stop.swap(false, Ordering::Relaxed) && Instant::now() < end {
            running.step()?;
        }
        Ok(running.finish())
    }
}

/// The receiving algorithm for an upload target.
fn receiver(target: Duration) -> Result<Loadable> {
    // What is finer than the tunable is refused by it.
    let milliseconds = (target.as_secs_f64() * 1e3).to_string();
    Loadable::receiver(UPLOAD_ALGORITHM, &[("target_ms".to_owned(), milliseconds)], None)
        .map_err(|cause| Error::UploadTarget { cause })
}

/// The right to it is missing now or never.
fn check_transparent() -> Result<()> {
    let any = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    let probe = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)
        .map_err(Error::system("open a TCP socket"))?;
    be_transparent(&probe, any).map_err(|_| Error::NotTransparent)
}
