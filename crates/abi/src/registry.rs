//! What is known of an algorithm. All of it stands in its C file; [`crate::about`] reads it from the object.

use crate::about::AboutError;
use serde::Serialize;
use siphasher::sip::SipHasher13;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Mutex, PoisonError};

/// Which end of a connection an algorithm decides for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// What a socket sends (`bpf/cc/`).
    Send,
    /// What window a socket offers (`bpf/rcv/`).
    Receive,
}

/// What an algorithm takes as its congestion signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// Packet loss.
    Loss,
    /// Queueing delay.
    Delay,
    /// Loss and delay together.
    Hybrid,
    /// An explicit model of the path (bandwidth and propagation delay).
    Model,
    /// Explicit congestion notification.
    Ecn,
}

impl Family {
    /// In the order in which lists show them.
    pub const ALL: [Family; 5] = [Self::Loss, Self::Delay, Self::Hybrid, Self::Model, Self::Ecn];

    /// As files name it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Delay => "delay",
            Self::Hybrid => "hybrid",
            Self::Model => "model",
            Self::Ecn => "ecn",
        }
    }
}

/// Which explicit congestion notification an algorithm needs; its connections ask for it in the SYN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnNeed {
    /// None.
    None,
    /// That of RFC 3168, or more: packets are ECT(0).
    Classic,
    /// Accurate ECN (RFC 9768) and nothing less; packets are ECT(1), the identifier of L4S (RFC 9331).
    Accurate,
}

/// The switch with which an algorithm of [`EcnNeed::Accurate`] does with [`EcnNeed::Classic`], if it has it.
pub const CLASSIC_ECN: &str = "classic_ecn";

/// A parameter that the user may set before the load: a `const volatile` of the BPF object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tunable {
    /// Name in `--set NAME=VALUE` and of the variable in `.rodata`.
    pub name: &'static str,
    /// Unit of the value as the user writes it; empty for a pure number.
    pub unit: &'static str,
    /// Stored integer = user value × `scale` (1 for integers, 1000 for three decimals).
    pub scale: u32,
    /// Default, as stored.
    pub default_raw: i64,
    /// Smallest accepted value, as stored.
    pub min_raw: i64,
    /// Largest accepted value, as stored.
    pub max_raw: i64,
    /// What it does, in one line.
    pub doc: &'static str,
    /// Paper, RFC section or kernel file that names it.
    pub source: &'static str,
}

/// Why a value given by the user was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TunableError {
    /// The text is not a decimal number.
    NotANumber,
    /// More decimals than the tunable resolves.
    TooFine {
        /// Number of decimals that the tunable keeps.
        decimals: u32,
    },
    /// Outside `min_raw..=max_raw`.
    OutOfRange,
}

impl Tunable {
    /// Parses a user's decimal text into the stored integer, exactly (no floating point).
    ///
    /// # Errors
    /// [`TunableError`] when the text is not a number, is finer than the scale, or is out of range.
    pub fn parse(&self, text: &str) -> Result<i64, TunableError> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !all_digits(whole) || !all_digits(fraction) {
            return Err(TunableError::NotANumber);
        }
        let decimals = self.scale.ilog10();
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > decimals as usize {
            return Err(TunableError::TooFine { decimals });
        }
        let padded = format!("{whole}{fraction:0<width$}", width = decimals as usize);
        let magnitude: i64 = padded
            .trim_start_matches('0')
            .parse()
            .or_else(|_| if padded.bytes().all(|b| b == b'0') { Ok(0) } else { Err(TunableError::OutOfRange) })?;
        let raw = if negative { -magnitude } else { magnitude };
        if (self.min_raw..=self.max_raw).contains(&raw) { Ok(raw) } else { Err(TunableError::OutOfRange) }
    }

    /// The stored integer as the user would write it.
    #[must_use]
    pub fn display(&self, raw: i64) -> String {
        if self.scale == 1 {
            return raw.to_string();
        }
        let decimals = self.scale.ilog10() as usize;
        let scale = u64::from(self.scale);
        let magnitude = raw.unsigned_abs();
        let text = format!("{}.{:0decimals$}", magnitude / scale, magnitude % scale);
        let text = text.trim_end_matches('0').trim_end_matches('.');
        if raw < 0 { format!("-{text}") } else { text.to_owned() }
    }
}

/// A named set of values for tunables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Preset {
    /// Name in `--preset NAME`.
    pub name: &'static str,
    /// Tunable and value as stored, in the order in which the file has them.
    pub values: &'static [(&'static str, i64)],
    /// What it stands for, in one line.
    pub doc: &'static str,
    /// Paper, RFC section or kernel file that it is of.
    pub source: &'static str,
}

/// Name and meaning of one of the two free values of the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TraceValue {
    /// Short name with its unit, such as `origin_pkts`.
    pub name: &'static str,
    /// What it is, in one line.
    pub doc: &'static str,
}

/// An algorithm. Its texts are those of its object, which stays for as long as the process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Algorithm {
    /// Which end it decides for.
    pub kind: Kind,
    /// User-facing name; also the file stem under `bpf/cc/` or `bpf/rcv/`.
    pub name: &'static str,
    /// Name registered with the kernel: at most 15 bytes, never a native one. Of one that receives, its name.
    pub kernel_name: &'static str,
    /// Congestion signal.
    pub family: Family,
    /// One sentence.
    pub summary: &'static str,
    /// Paper, RFC or source that defines it.
    pub reference: &'static str,
    /// Members of `struct tcp_congestion_ops` that the object fills.
    pub hooks: &'static [&'static str],
    /// Which ECN its connections ask for in the SYN.
    pub ecn: EcnNeed,
    /// Parameters in the order in which they are shown.
    pub tunables: &'static [Tunable],
    /// Named sets of them, in the order of the file.
    pub presets: &'static [Preset],
    /// Names of the values of `cca_trace.mode`, by index.
    pub modes: &'static [&'static str],
    /// Meaning of `cca_trace.v0`.
    pub v0: Option<TraceValue>,
    /// Meaning of `cca_trace.v1`.
    pub v1: Option<TraceValue>,
    /// Colour in every figure, from a colour-blind-safe set.
    pub color: &'static str,
    /// The compiled BPF object.
    #[serde(skip)]
    pub elf: Elf,
}

/// Those of objects from elsewhere.
static READ: Mutex<Vec<&'static Algorithm>> = Mutex::new(Vec::new());

/// The bytes of an object.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Elf(pub &'static [u8]);

impl fmt::Debug for Elf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0.len())
    }
}

impl Algorithm {
    /// Looks one of [`crate::ALGORITHMS`] up by its user-facing name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Algorithm> {
        crate::ALGORITHMS.iter().find(|a| a.name == name)
    }

    /// What to set so that every kernel takes it. Tunables as the user writes them.
    #[must_use]
    pub fn settings_of_any_kernel(&self) -> &'static [(&'static str, &'static str)] {
        if self.ecn == EcnNeed::Accurate && self.tunable(CLASSIC_ECN).is_some() { &[(CLASSIC_ECN, "1")] } else { &[] }
    }

    /// The same by its kernel name (the default one, not an `--as` name).
    #[must_use]
    pub fn by_kernel_name(name: &str) -> Option<&'static Algorithm> {
        crate::ALGORITHMS.iter().find(|a| a.kernel_name == name)
    }

    /// The receiving algorithm with this user-facing name.
    #[must_use]
    pub fn receiver_by_name(name: &str) -> Option<&'static Algorithm> {
        crate::RECEIVERS.iter().find(|a| a.name == name)
    }

    /// All that ccactl has built in, of both kinds.
    fn built_in() -> impl Iterator<Item = &'static Algorithm> {
        crate::ALGORITHMS.iter().chain(crate::RECEIVERS.iter())
    }

    /// What an object from elsewhere says about itself. It stays in memory as long as the process lives, once.
    ///
    /// # Errors
    /// [`AboutError`].
    pub fn of_object(elf: Vec<u8>) -> Result<&'static Algorithm, AboutError> {
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let known = Self::built_in().chain(read.iter().copied()).find(|known| known.object() == elf);
        if let Some(known) = known {
            return Ok(known);
        }
        let algorithm: &'static Algorithm = Box::leak(Box::new(crate::about::read(elf.leak())?));
        read.push(algorithm);
        Ok(algorithm)
    }

    /// The algorithm with this [`Algorithm::hash`], built in or read before.
    #[must_use]
    pub fn by_hash(hash: u64) -> Option<&'static Algorithm> {
        let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        Self::built_in().chain(read.iter().copied()).find(|known| known.hash() == hash)
    }

    /// Whether ccactl has this very object built in.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        Self::built_in().any(|built_in| built_in.name == self.name && built_in.object() == self.object())
    }

    /// Names its code: stable over releases of Rust and of ccactl (SipHash-1-3 of the object).
    #[must_use]
    pub fn hash(&self) -> u64 {
        let mut hasher = SipHasher13::new();
        hasher.write(self.object());
        hasher.finish()
    }

    /// Looks a tunable up by name.
    #[must_use]
    pub fn tunable(&self, name: &str) -> Option<&'static Tunable> {
        self.tunables.iter().find(|t| t.name == name)
    }

    /// The compiled BPF object.
    #[must_use]
    pub fn object(&self) -> &'static [u8] {
        self.elf.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAIN: Tunable = Tunable {
        name: "gain",
        unit: "",
        scale: 1000,
        default_raw: 1200,
        min_raw: 1000,
        max_raw: 10_000,
        doc: "",
        source: "",
    };

    #[test]
    fn a_decimal_value_is_scaled_exactly() {
        assert_eq!(GAIN.parse("1.3"), Ok(1300));
        assert_eq!(GAIN.parse("2"), Ok(2000));
        assert_eq!(GAIN.parse("1.2340"), Ok(1234));
        assert_eq!(GAIN.display(1300), "1.3");
        assert_eq!(GAIN.display(2000), "2");
    }

    #[test]
    fn what_is_not_a_number_too_fine_or_out_of_range_is_refused() {
        for text in ["", ".", "abc", "1e3", "0x10", "1.2.3", " 1", "1 ", "--1"] {
            assert_eq!(GAIN.parse(text), Err(TunableError::NotANumber), "{text:?}");
        }
        assert_eq!(GAIN.parse("1.2345"), Err(TunableError::TooFine { decimals: 3 }));
        for text in ["0.9", "10.001", "-1.5", "99999999999999999999"] {
            assert_eq!(GAIN.parse(text), Err(TunableError::OutOfRange), "{text:?}");
        }
    }

    #[test]
    fn zero_is_a_number() {
        let from_zero = Tunable { min_raw: 0, scale: 1, ..GAIN };
        assert_eq!(from_zero.parse("0"), Ok(0));
        assert_eq!(from_zero.parse("000"), Ok(0));
    }
}
