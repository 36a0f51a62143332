//! What the object of an algorithm says about itself: the section `.ccactl` (`bpf/include/cc_about.bpf.h`), its table of
//! callbacks, and the initial values of its tunables.

use crate::layout::{self, CongestionOps, NAME_LEN};
use crate::registry::{Algorithm, EcnNeed, Elf, Family, Kind, Preset, TraceValue, Tunable};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol};
use std::mem::offset_of;

/// Version of the contract between files and ccactl (`CC_CONTRACT`).
pub const CONTRACT: u32 = 1;
const SECTION: &str = ".ccactl";
const OPS_SECTION: &str = ".struct_ops.link";
/// Of the program that `RCV_WINDOW` makes.
const RECEIVE_SECTION: &str = "sockops";
/// `TCP_CONG_NEEDS_ECN` of include/net/tcp.h.
const NEEDS_ECN: u32 = 2;
/// `TCP_CONG_NEEDS_ACCECN`.
const NEEDS_ACCECN: u32 = 4;

/// Why an object is not an algorithm of ours, as whoever wrote the file is to read it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AboutError {
    /// Not what clang makes of a `.bpf.c`.
    #[error("it is not a BPF object: {0}")]
    NotAnObject(String),
    /// Made without our headers.
    #[error("it says nothing about itself: expected CC_ALGORITHM(name, family, summary, reference) of cc.bpf.h")]
    Silent,
    /// Made with the headers of another ccactl.
    #[error(
        "its headers have contract {found}, this ccactl has {CONTRACT}: compile it again with the headers of this ccactl"
    )]
    Contract {
        /// What the object says.
        found: String,
    },
    /// A line that must be there.
    #[error("it has no {0}")]
    Missing(&'static str),
    /// A line that may be there once.
    #[error("it has two {0}")]
    Twice(&'static str),
    /// A value that is not as it must be.
    #[error("{what} '{found}': expected {expected}")]
    Bad {
        /// Of what.
        what: String,
        /// As it stands there.
        found: String,
        /// What may stand there.
        expected: String,
    },
}

type Result<T> = std::result::Result<T, AboutError>;

fn bad(what: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> AboutError {
    AboutError::Bad { what: what.into(), found: found.into(), expected: expected.into() }
}

/// Reads an object.
///
/// # Errors
/// [`AboutError`].
pub fn read(elf: &'static [u8]) -> Result<Algorithm> {
    let file = ElfFile64::<object::Endianness>::parse(elf).map_err(|e| AboutError::NotAnObject(e.to_string()))?;
    let about = About::of(&file)?;
    let [name, family, summary, reference] = about.algorithm;
    check_name(name)?;
    let kind = if file.section_by_name(RECEIVE_SECTION).is_some() { Kind::Receive } else { Kind::Send };
    let ops = match kind {
        Kind::Send => Ops::of(&file)?,
        Kind::Receive => Ops { name, hooks: vec!["window"], flags: 0 },
    };
    let expected = || Family::ALL.map(Family::label).join(", ");
    let ecn = ops.ecn();
    let family = Family::ALL.into_iter().find(|known| known.label() == family);
    let tunables = about.tunables.iter().map(|line| line.tunable(&file)).collect::<Result<Vec<Tunable>>>()?;
    check_tunables(&tunables)?;
    let presets = about.presets.iter().map(|line| preset(line, &tunables)).collect::<Result<Vec<Preset>>>()?;
    for (index, preset) in presets.iter().enumerate() {
        if presets[..index].iter().any(|other| other.name == preset.name) {
            return Err(bad("the preset", preset.name, "one line of this name"));
        }
    }
    Ok(Algorithm {
        kind,
        name,
        kernel_name: ops.name,
        family: family.ok_or_else(|| bad("the family", about.algorithm[1], expected()))?,
        summary,
        reference,
        hooks: ops.hooks.leak(),
        ecn,
        tunables: tunables.leak(),
        presets: presets.leak(),
        modes: about.modes.leak(),
        v0: about.v0,
        v1: about.v1,
        color: about.color.unwrap_or_else(|| color_of(name)),
        elf: Elf(elf),
    })
}

/// The lines, by their first field.
#[derive(Default)]
struct About {
    algorithm: [&'static str; 4],
    color: Option<&'static str>,
    modes: Vec<&'static str>,
    v0: Option<TraceValue>,
    v1: Option<TraceValue>,
    tunables: Vec<TunableLine>,
    /// Name, settings, meaning and source.
    presets: Vec<[&'static str; 4]>,
}

impl About {
    fn of(file: &ElfFile64<'static>) -> Result<Self> {
        let section = file.section_by_name(SECTION).ok_or(AboutError::Silent)?;
        let bytes = section.data().map_err(|e| AboutError::NotAnObject(e.to_string()))?;
        let (mut about, mut contract, mut is_named) = (Self::default(), None, false);
        for line in bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let line = str::from_utf8(line).map_err(|_| AboutError::NotAnObject(format!("{SECTION} is not text")))?;
            let (key, rest) = line.split_once('\t').unwrap_or((line, ""));
            let fields: Vec<&'static str> = rest.split('\t').collect();
            match (key, &fields[..]) {
                ("contract", [found]) => contract = Some(*found),
                ("algorithm", _) if is_named => return Err(AboutError::Twice("CC_ALGORITHM")),
                ("algorithm", &[name, family, summary, reference]) => {
                    about.algorithm = [name, family, summary, reference];
                    is_named = true;
                }
                ("color", &[color]) => about.color = Some(checked_color(color)?),
                ("modes", &[tag, names]) => about.modes = modes(tag, names)?,
                ("v0", &[name, doc]) => about.v0 = Some(TraceValue { name, doc }),
                ("v1", &[name, doc]) => about.v1 = Some(TraceValue { name, doc }),
                ("tunable", &[level, kind, name, scale, min, max, unit, doc, source]) => {
                    let level = level.parse().unwrap_or(u32::MAX);
                    about.tunables.push(TunableLine { level, kind, name, scale, min, max, unit, doc, source });
                }
                ("preset", &[name, settings, doc, source]) => about.presets.push([name, settings, doc, source]),
                _ => {
                    return Err(bad(
                        "the line",
                        line,
                        "one that a macro of cc_about.bpf.h makes, without tabs in texts",
                    ));
                }
            }
        }
        let contract = contract.ok_or(AboutError::Silent)?;
        if contract != CONTRACT.to_string() {
            return Err(AboutError::Contract { found: contract.to_owned() });
        }
        if !is_named {
            return Err(AboutError::Silent);
        }
        let [_, _, summary, reference] = about.algorithm;
        if summary.is_empty() || reference.is_empty() {
            return Err(AboutError::Missing("summary and reference in CC_ALGORITHM"));
        }
        // Its own before those of its headers, each in the order in which they stand there.
        about.tunables.sort_by_key(|line| line.level);
        Ok(about)
    }
}

fn check_name(name: &str) -> Result<()> {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if !name.is_empty() && name.len() < layout::TUNABLE_NAME_LEN && name.bytes().all(is_fine) {
        return Ok(());
    }
    Err(bad("the name", name, "1 to 31 of a to z, 0 to 9 and -"))
}

fn checked_color(color: &'static str) -> Result<&'static str> {
    let is_hex = |digits: &str| digits.len() == 6 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if color.strip_prefix('#').is_some_and(is_hex) { Ok(color) } else { Err(bad("CC_COLOR", color, "#RRGGBB")) }
}

/// `cubic_mode` and `CUBIC_SLOW_START, CUBIC_CONCAVE` → `slow-start`, `concave`.
fn modes(tag: &str, names: &str) -> Result<Vec<&'static str>> {
    let first = tag.rsplit_once('_').map_or(tag, |(first, _)| first);
    let prefix = format!("{}_", first.to_uppercase());
    let mode = |name: &str| match name.trim().strip_prefix(&prefix) {
        Some(rest) if rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') => {
            Ok(&*rest.to_lowercase().replace('_', "-").leak())
        }
        _ => Err(bad(format!("in CC_MODES of {tag}"), name.trim(), format!("a name that begins with {prefix}"))),
    };
    names.split(',').map(mode).collect()
}

/// One line of a tunable, as it stands in the section.
struct TunableLine {
    /// How deep the header with it was included; 0 for the file itself.
    level: u32,
    kind: &'static str,
    name: &'static str,
    scale: &'static str,
    min: &'static str,
    max: &'static str,
    unit: &'static str,
    doc: &'static str,
    source: &'static str,
}

impl TunableLine {
    fn tunable(&self, file: &ElfFile64<'static>) -> Result<Tunable> {
        let what = |part: &str| format!("tunable {}: {part}", self.name);
        let number = |part: &str, text: &str| {
            parse_integer(text).ok_or_else(|| bad(what(part), text, "a whole number, not an expression"))
        };
        let scale = match self.scale {
            "1" => 1,
            "1000" => 1000,
            other => return Err(bad(what("the scale"), other, "1 or 1000")),
        };
        let (min_raw, max_raw) = (number("the smallest value", self.min)?, number("the largest value", self.max)?);
        let (size, is_signed) =
            kind(self.kind).ok_or_else(|| bad(what("the type"), self.kind, "u8 to u64, s8 to s64"))?;
        let default_raw = initial_value(file, self.name, size, is_signed)
            .ok_or_else(|| bad(what("the variable"), self.name, "a const volatile that is not optimised away"))?;
        let bits = 8 * size - usize::from(is_signed);
        let most = i64::try_from((1_u128 << bits) - 1).unwrap_or(i64::MAX);
        let least = if is_signed { -most - 1 } else { 0 };
        if min_raw < least || max_raw > most {
            return Err(bad(
                what("its range"),
                format!("{min_raw} to {max_raw}"),
                format!("what a {} holds", self.kind),
            ));
        }
        if min_raw >= max_raw || !(min_raw..=max_raw).contains(&default_raw) {
            let expected = "a range with the default in it";
            return Err(bad(what("its range"), format!("{min_raw} to {max_raw}, default {default_raw}"), expected));
        }
        if self.doc.is_empty() || self.source.is_empty() {
            return Err(bad(what("meaning and source"), "", "one line each"));
        }
        let Self { name, unit, doc, source, .. } = *self;
        Ok(Tunable { name, unit, scale, default_raw, min_raw, max_raw, doc, source })
    }
}

/// A preset, with every value checked.
fn preset(&[name, settings, doc, source]: &[&'static str; 4], tunables: &[Tunable]) -> Result<Preset> {
    let what = format!("in the preset {name}");
    check_name(name)?;
    if doc.is_empty() || source.is_empty() {
        return Err(bad(format!("{what}: meaning and source"), "", "one line each"));
    }
    let mut values = Vec::new();
    for setting in settings.split_whitespace() {
        let (tunable, text) = setting.split_once('=').ok_or_else(|| bad(&what, setting, "TUNABLE=VALUE"))?;
        let known = tunables.iter().find(|known| known.name == tunable);
        let known = known.ok_or_else(|| bad(&what, tunable, "a tunable of this file"))?;
        if values.iter().any(|(name, _)| *name == known.name) {
            return Err(bad(&what, tunable, "each tunable once"));
        }
        let range = || format!("{} to {}", known.display(known.min_raw), known.display(known.max_raw));
        values.push((known.name, known.parse(text).map_err(|_| bad(&what, setting, range()))?));
    }
    if values.is_empty() {
        return Err(bad(what, settings, "one TUNABLE=VALUE or more"));
    }
    Ok(Preset { name, values: values.leak(), doc, source })
}

fn check_tunables(tunables: &[Tunable]) -> Result<()> {
    if tunables.len() > layout::MAX_TUNABLES {
        let expected = format!("at most {}", layout::MAX_TUNABLES);
        return Err(bad("the number of tunables", tunables.len().to_string(), expected));
    }
    for (index, tunable) in tunables.iter().enumerate() {
        if tunable.name.len() >= layout::TUNABLE_NAME_LEN {
            return Err(bad("the tunable", tunable.name, "a name of at most 31 characters"));
        }
        if tunables[..index].iter().any(|other| other.name == tunable.name) {
            return Err(bad("the tunable", tunable.name, "one line of this name"));
        }
    }
    Ok(())
}

/// `1000`, `-5`, `0x7fffffff`; with the suffixes of C.
fn parse_integer(text: &str) -> Option<i64> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let magnitude = match digits.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    magnitude.ok().map(|magnitude| if negative { -magnitude } else { magnitude })
}

/// Size in bytes and signedness of a type of `kernel_types.h`.
fn kind(name: &str) -> Option<(usize, bool)> {
    let (sign, bits) = name.split_at_checked(1)?;
    let is_signed = match sign {
        "u" => false,
        "s" => true,
        _ => return None,
    };
    let size = match bits {
        "8" => 1,
        "16" => 2,
        "32" => 4,
        "64" => 8,
        _ => return None,
    };
    Some((size, is_signed))
}

fn initial_value(file: &ElfFile64<'static>, name: &str, size: usize, is_signed: bool) -> Option<i64> {
    let symbol = file.symbols().find(|symbol| symbol.name() == Ok(name))?;
    let section = file.section_by_index(symbol.section_index()?).ok()?;
    if section.name() != Ok(".rodata") {
        return None;
    }
    let start = usize::try_from(symbol.address()).ok()?;
    let bytes = section.data().ok()?.get(start..start.checked_add(size)?)?;
    let mut wide = if is_signed && bytes.last()? & 0x80 != 0 { [0xff; 8] } else { [0; 8] };
    wide[..size].copy_from_slice(bytes);
    Some(i64::from_le_bytes(wide))
}

/// The table of callbacks, as it will be registered.
struct Ops {
    name: &'static str,
    hooks: Vec<&'static str>,
    flags: u32,
}

impl Ops {
    fn ecn(&self) -> EcnNeed {
        match self.flags & (NEEDS_ECN | NEEDS_ACCECN) {
            0 => EcnNeed::None,
            NEEDS_ECN => EcnNeed::Classic,
            _ => EcnNeed::Accurate,
        }
    }

    fn of(file: &ElfFile64<'static>) -> Result<Self> {
        let section =
            file.section_by_name(OPS_SECTION).ok_or(AboutError::Missing("table of callbacks: CC_OPS(name)"))?;
        let bytes = section.data().map_err(|e| AboutError::NotAnObject(e.to_string()))?;
        match bytes.len().cmp(&size_of::<CongestionOps>()) {
            std::cmp::Ordering::Less => return Err(AboutError::Missing("whole table of callbacks: CC_OPS(name)")),
            std::cmp::Ordering::Equal => {}
            std::cmp::Ordering::Greater => return Err(AboutError::Twice("tables of callbacks (CC_OPS)")),
        }
        let name = &bytes[offset_of!(CongestionOps, name)..][..NAME_LEN];
        let name = layout::name_str(name);
        let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if name.is_empty() || name.len() >= NAME_LEN || !name.bytes().all(is_fine) {
            return Err(bad("the .name of CC_OPS", name, "1 to 15 of a to z, 0 to 9 and _"));
        }
        // A relocation fills what is a function.
        let filled: Vec<u64> = section.relocations().map(|(offset, _)| offset).collect();
        let hooks = CongestionOps::HOOKS.iter().filter(|(_, offset)| filled.contains(&(*offset as u64)));
        let hooks: Vec<&str> = hooks.map(|(hook, _)| *hook).collect();
        for needed in ["ssthresh", "undo_cwnd"] {
            if !hooks.contains(&needed) {
                return Err(AboutError::Missing(match needed {
                    "ssthresh" => ".ssthresh in CC_OPS, which the kernel demands",
                    _ => ".undo_cwnd in CC_OPS, which the kernel demands",
                }));
            }
        }
        let flags = &bytes[offset_of!(CongestionOps, flags)..][..size_of::<u32>()];
        Ok(Self { name, hooks, flags: u32::from_le_bytes(flags.try_into().expect("four bytes")) })
    }
}

/// For files that choose none: of Paul Tol's qualitative schemes, which the common kinds of colour blindness tell apart.
const COLORS: [&str; 10] =
    ["#0077BB", "#33BBEE", "#009988", "#EE7733", "#CC3311", "#EE3377", "#882255", "#44AA99", "#999933", "#AA4499"];

/// The same name has the same colour in every figure (FNV-1a).
fn color_of(name: &str) -> &'static str {
    let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    COLORS[hash as usize % COLORS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_the_names_of_the_enum_without_its_own() {
        assert_eq!(modes("vegas_a_mode", "VEGAS_A_UP, VEGAS_A_SLOW_START").unwrap(), ["up", "slow-start"]);
        let error = modes("cubic_mode", "CUBIC_A, RENO_B").unwrap_err().to_string();
        assert_eq!(error, "in CC_MODES of cubic_mode 'RENO_B': expected a name that begins with CUBIC_");
        assert!(modes("cubic_mode", "CUBIC_A = 3").is_err(), "values are the positions");
    }

    #[test]
    fn whole_numbers_are_read_as_c_writes_them() {
        for (text, value) in [("0", 0), ("-5", -5), ("0x7fffffff", 0x7fff_ffff), ("1000000UL", 1_000_000)] {
            assert_eq!(parse_integer(text), Some(value), "{text}");
        }
        for text in ["", "1 << 3", "MAX", "--1", "1.5"] {
            assert_eq!(parse_integer(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_has_one_colour() {
        assert_eq!(color_of("mine"), color_of("mine"));
        assert!(COLORS.iter().all(|color| checked_color(color).is_ok()));
    }

    #[test]
    fn what_is_no_object_is_refused() {
        assert!(matches!(read(b"int main() {}"), Err(AboutError::NotAnObject(_))));
    }
}
