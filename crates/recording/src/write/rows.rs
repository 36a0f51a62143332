//! How the values of each column come from samples.

use super::text::TextColumn;
use super::{Clock, EVENT_NAMES, KnownAlgorithm, Resolver};
use crate::columns::{Column, Type};
use arrow_array::types::{ArrowPrimitiveType, Float32Type, Int64Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{ArrayRef, BooleanArray, PrimitiveArray, RecordBatch, TimestampNanosecondArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use ccactl_abi::layout::{self, Sample, Trace, name_str};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// What turns samples into columns besides the samples: the clock and the algorithms seen so far.
pub struct Context {
    clock: Clock,
    resolve: Resolver,
    /// Few names, asked for per row: a list is faster than a map. `None` = asked, nobody knows it.
    seen: Vec<([u8; layout::NAME_LEN], Option<KnownAlgorithm>)>,
}

impl Context {
    /// A context that has seen nothing yet.
    #[must_use]
    pub fn new(clock: Clock, resolve: Resolver) -> Context {
        Context { clock, resolve, seen: Vec::new() }
    }

    /// Looks up the names that are new in these samples; to be called before [`batch`].
    pub fn learn(&mut self, samples: &[Sample]) {
        let mut last = None;
        for sample in samples {
            if last == Some(sample.algorithm) {
                continue;
            }
            last = Some(sample.algorithm);
            if !self.seen.iter().any(|(name, _)| *name == sample.algorithm) {
                self.seen.push((sample.algorithm, (self.resolve)(name_str(&sample.algorithm))));
            }
        }
    }

    /// µs from the start of the recording to this monotonic time.
    #[must_use]
    pub fn elapsed_us(&self, monotonic_ns: u64) -> u64 {
        self.clock.elapsed_us(monotonic_ns)
    }

    /// Algorithms seen that somebody knows.
    pub fn known(&self) -> impl Iterator<Item = &KnownAlgorithm> {
        self.seen.iter().filter_map(|(_, known)| known.as_ref())
    }

    /// Kernel names seen that nobody knows: the native algorithms and those of others.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        self.seen.iter().filter(|(_, known)| known.is_none()).map(|(name, _)| name_str(name))
    }

    fn algorithm(&self, sample: &Sample) -> Option<&KnownAlgorithm> {
        self.seen.iter().find(|(name, _)| *name == sample.algorithm).and_then(|(_, known)| known.as_ref())
    }
}

/// The values of a column. A new column does not compile without its own.
#[rustfmt::skip]
fn values(column: Column, s: &[Sample], cx: &Context) -> ArrayRef {
    match column {
        Column::Time =>                times(s, cx),
        Column::TUs =>                 num::<UInt64Type>(s, |s| cx.clock.elapsed_us(s.time_ns)),
        Column::Event =>               names(s, &EVENT_NAMES, |s| s.event),
        Column::FlowId =>              num::<UInt64Type>(s, |s| s.flow_id),
        Column::CgroupId =>            num::<UInt64Type>(s, |s| s.cgroup_id),
        Column::Netns =>               num::<UInt32Type>(s, |s| s.netns),
        Column::Src =>                 addresses(s, |s| s.saddr),
        Column::Dst =>                 addresses(s, |s| s.daddr),
        Column::Sport =>               num::<UInt16Type>(s, |s| s.sport),
        Column::Dport =>               num::<UInt16Type>(s, |s| s.dport),
        Column::Algorithm =>           algorithms(s),
        Column::CaState =>             names(s, &CA_STATES, |s| s.ca_state),
        Column::Previous =>            previous(s),
        Column::CwndPkts =>            num::<UInt32Type>(s, |s| s.cwnd_pkts),
        Column::SsthreshPkts =>        opt::<UInt32Type>(s, |s| Some(s.ssthresh_pkts).filter(|&v| v < layout::INFINITE_SSTHRESH)),
        Column::InflightPkts =>        num::<UInt32Type>(s, |s| s.inflight_pkts),
        Column::SndWndBytes =>         num::<UInt32Type>(s, |s| s.snd_wnd_bytes),
        Column::RcvWndBytes =>         num::<UInt32Type>(s, |s| s.rcv_wnd_bytes),
        Column::RcvLimitBytes =>       opt::<UInt32Type>(s, |s| nonzero(s.rcv_limit_bytes)),
        Column::RcvRttUs =>            opt::<UInt32Type>(s, |s| nonzero(s.rcv_rtt_us)),
        Column::RcvMinRttUs =>         opt::<UInt32Type>(s, |s| nonzero(s.rcv_min_rtt_us)),
        Column::SrttUs =>              opt::<UInt32Type>(s, |s| nonzero(s.srtt_us)),
        Column::RttUs =>               opt::<UInt32Type>(s, |s| nonzero(s.rtt_us)),
        Column::MinRttUs =>            opt::<UInt32Type>(s, |s| Some(s.min_rtt_us).filter(|&v| v != u32::MAX)),
        Column::MssBytes =>            num::<UInt32Type>(s, |s| s.mss_bytes),
        Column::PacingRateBps =>       opt::<UInt64Type>(s, pacing_rate_bps),
        Column::DeliveryRateBps =>     opt::<UInt64Type>(s, delivery_rate_bps),
        Column::BytesAcked =>          num::<UInt64Type>(s, |s| s.bytes_acked),
        Column::BytesSent =>           num::<UInt64Type>(s, |s| s.bytes_sent),
        Column::BytesRetrans =>        num::<UInt64Type>(s, |s| s.bytes_retrans),
        Column::BytesReceived =>       num::<UInt64Type>(s, |s| s.bytes_received),
        Column::RetransPkts =>         num::<UInt32Type>(s, |s| s.retrans_pkts),
        Column::RtoCount =>            num::<UInt32Type>(s, |s| s.rto_count),
        Column::LostPkts =>            num::<UInt32Type>(s, |s| s.lost_pkts),
        Column::DeliveredPkts =>       num::<UInt32Type>(s, |s| s.delivered_pkts),
        Column::DeliveredCePkts =>     num::<UInt32Type>(s, |s| s.delivered_ce_pkts),
        Column::DeliveredCeBytes =>    opt::<UInt64Type>(s, |s| (s.ecn_mode == layout::ECN_ACCURATE).then_some(s.delivered_ce_bytes)),
        Column::EcnMode =>             names(s, &ECN_MODES, |s| s.ecn_mode),
        Column::AppLimited =>          flag(s, layout::FLAG_APP_LIMITED),
        Column::CwndLimited =>         flag(s, layout::FLAG_CWND_LIMITED),
        Column::DurationUs =>          at_close::<UInt64Type>(s, |s| since_opened_us(s, s.time_ns)),
        Column::CompletionUs =>        at_close::<UInt64Type>(s, |s| since_opened_us(s, s.progress_ns)),
        Column::RttMeanUs =>           at_close::<UInt32Type>(s, rtt_mean_us),
        Column::RttMinUs =>            at_close::<UInt32Type>(s, |s| nonzero(s.rtt_min_us)),
        Column::DroppedRows =>         num::<UInt64Type>(s, |s| s.dropped_rows),
        Column::TraceMode =>           modes(s, cx),
        Column::TraceBwBps =>          traced::<UInt64Type>(s, |t| bound_bps(t.bw_bps)),
        Column::TraceBwLoBps =>        traced::<UInt64Type>(s, |t| bound_bps(t.bw_lo_bps)),
        Column::TraceBwHiBps =>        traced::<UInt64Type>(s, |t| bound_bps(t.bw_hi_bps)),
        Column::TraceMinRttUs =>       traced::<UInt32Type>(s, |t| bound(t.min_rtt_us)),
        Column::TraceInflightLoPkts => traced::<UInt32Type>(s, |t| bound(t.inflight_lo_pkts)),
        Column::TraceInflightHiPkts => traced::<UInt32Type>(s, |t| bound(t.inflight_hi_pkts)),
        Column::TracePacingGain =>     traced::<Float32Type>(s, |t| gain(t.pacing_gain_milli)),
        Column::TraceCwndGain =>       traced::<Float32Type>(s, |t| gain(t.cwnd_gain_milli)),
        Column::TraceV0 =>             free_value(s, cx, |t| t.v0, |a| a.v0.is_some()),
        Column::TraceV1 =>             free_value(s, cx, |t| t.v1, |a| a.v1.is_some()),
    }
}

/// Names of the congestion states, by `ca_state` of a sample.
pub const CA_STATES: [&str; 5] = ["open", "disorder", "cwr", "recovery", "loss"];

/// Names of the modes of ECN, by `ecn_mode` of a sample.
pub const ECN_MODES: [&str; 3] = ["off", "classic", "accecn"];

/// What Arrow calls the type of a column.
fn data_type(kind: Type) -> DataType {
    match kind {
        Type::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
        Type::U16 => DataType::UInt16,
        Type::U32 => DataType::UInt32,
        Type::U64 => DataType::UInt64,
        Type::I64 => DataType::Int64,
        Type::F32 => DataType::Float32,
        Type::Text => DataType::Utf8View,
        Type::Flag => DataType::Boolean,
    }
}

/// The schema with these metadata.
#[must_use]
pub fn schema(metadata: &BTreeMap<String, String>) -> SchemaRef {
    let field = |column: &Column| {
        let facts = column.facts();
        Field::new(facts.name, data_type(facts.kind), facts.is_nullable)
    };
    let fields: Vec<Field> = Column::ALL.iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, metadata.clone()))
}

/// A column that has another type than docs/schema.md gives, if there is one. The encodings of the Parquet file are chosen for
/// the types of the columns: its writer panics at others.
#[must_use]
pub fn column_of_other_type(found: &Schema) -> Option<&str> {
    let differs = |field: &Field| match Column::named(field.name()).map(|column| column.facts().kind) {
        // A stream has either.
        Some(Type::Text) => !matches!(field.data_type(), DataType::Utf8View | DataType::Utf8),
        Some(expected) => *field.data_type() != data_type(expected),
        None => false,
    };
    found.fields().iter().find(|field| differs(field)).map(|field| field.name().as_str())
}

/// Samples as a batch of `schema` (of [`schema`]).
///
/// # Panics
/// When `schema` is not one of [`schema`].
#[must_use]
pub fn batch(schema: &SchemaRef, samples: &[Sample], context: &Context) -> RecordBatch {
    let columns = Column::ALL.iter().map(|&column| values(column, samples, context)).collect();
    RecordBatch::try_new(Arc::clone(schema), columns).expect("schema and values come from one table")
}

fn times(samples: &[Sample], context: &Context) -> ArrayRef {
    let times = samples.iter().map(|s| context.clock.unix_ns_of(s.time_ns));
    Arc::new(TimestampNanosecondArray::from_iter_values(times).with_timezone("UTC"))
}

fn num<T: ArrowPrimitiveType>(samples: &[Sample], value: impl Fn(&Sample) -> T::Native) -> ArrayRef {
    Arc::new(PrimitiveArray::<T>::from_iter_values(samples.iter().map(value)))
}

fn opt<T: ArrowPrimitiveType>(samples: &[Sample], value: impl Fn(&Sample) -> Option<T::Native>) -> ArrayRef {
    let values: Vec<T::Native> = samples.iter().map(|sample| value(sample).unwrap_or_default()).collect();
    let nulls = NullBuffer::from(BooleanBuffer::collect_bool(samples.len(), |row| value(&samples[row]).is_some()));
    Arc::new(PrimitiveArray::<T>::new(values.into(), Some(nulls)))
}

fn at_close<T: ArrowPrimitiveType>(samples: &[Sample], value: impl Fn(&Sample) -> Option<T::Native>) -> ArrayRef {
    opt::<T>(samples, |sample| Some(sample).filter(|s| s.event == layout::EVENT_CLOSE).and_then(&value))
}

fn traced<T: ArrowPrimitiveType>(samples: &[Sample], value: impl Fn(&Trace) -> Option<T::Native>) -> ArrayRef {
    opt::<T>(samples, |sample| trace(sample).and_then(&value))
}

fn flag(samples: &[Sample], bit: u8) -> ArrayRef {
    let values = BooleanBuffer::collect_bool(samples.len(), |row| samples[row].flags & bit != 0);
    Arc::new(BooleanArray::new(values, None))
}

/// One of a few names by its number.
fn names(samples: &[Sample], names: &[&str], number: impl Fn(&Sample) -> u8) -> ArrayRef {
    let mut column = TextColumn::new(samples.len());
    for sample in samples {
        let number = usize::from(number(sample)) % names.len();
        column.push(number, number, |text| text.push_str(names[number]));
    }
    column.finish(None)
}

fn algorithms(samples: &[Sample]) -> ArrayRef {
    let mut column = TextColumn::new(samples.len());
    for sample in samples {
        column.push(sample.algorithm, slot(&sample.algorithm), |text| text.push_str(name_str(&sample.algorithm)));
    }
    column.finish(None)
}

/// What there was before the change that the row tells.
fn previous(samples: &[Sample]) -> ArrayRef {
    let is_change = |sample: &Sample| matches!(sample.event, layout::EVENT_CA_STATE | layout::EVENT_ALGORITHM);
    let mut column = TextColumn::new(samples.len());
    for sample in samples {
        match sample.event {
            layout::EVENT_CA_STATE => {
                let state = usize::from(sample.previous_ca_state) % CA_STATES.len();
                column.push([state as u8; layout::NAME_LEN], state, |text| text.push_str(CA_STATES[state]));
            }
            layout::EVENT_ALGORITHM => {
                let name = sample.previous_algorithm;
                column.push(name, slot(&name), |text| text.push_str(name_str(&name)));
            }
            _ => column.push_none(),
        }
    }
    let changes = BooleanBuffer::collect_bool(samples.len(), |row| is_change(&samples[row]));
    column.finish(Some(changes.into()))
}

fn addresses(samples: &[Sample], bytes: impl Fn(&Sample) -> [u8; 16]) -> ArrayRef {
    let mut column = TextColumn::new(samples.len());
    for sample in samples {
        let key = (sample.family, bytes(sample));
        column.push(key, slot(&key.1), |text| write!(text, "{}", address(key.0, &key.1)).expect("writing into memory"));
    }
    column.finish(None)
}

/// Where a [`TextColumn`] remembers what it made of these bytes.
fn slot(bytes: &[u8; 16]) -> usize {
    let bits = u128::from_ne_bytes(*bytes);
    // The golden ratio spreads what differs in a few bits; the uppermost are the best of the product.
    (((bits >> 64) as u64 ^ bits as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// An address of a sample. IPv4 over an IPv6 socket is IPv4 on the wire and shown as such.
#[must_use]
pub fn address(family: u8, bytes: &[u8; 16]) -> IpAddr {
    let v6 = Ipv6Addr::from(*bytes);
    if family == 4 {
        return Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into();
    }
    v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
}

fn trace(sample: &Sample) -> Option<&Trace> {
    (sample.flags & layout::FLAG_TRACE != 0).then_some(&sample.trace)
}

/// A mode without a name is shown by number: an algorithm of others, or a registry that lags behind its file.
fn modes(samples: &[Sample], context: &Context) -> ArrayRef {
    let mut column = TextColumn::new(samples.len());
    for sample in samples {
        let Some(mode) = trace(sample).map(|trace| trace.mode) else {
            column.push_none();
            continue;
        };
        column.push((sample.algorithm, mode), slot(&sample.algorithm) + mode as usize, |text| {
            let names = context.algorithm(sample).map_or(&[][..], |known| known.algorithm.modes);
            match names.get(mode as usize) {
                Some(name) => text.push_str(name),
                None => write!(text, "{mode}").expect("writing into memory"),
            }
        });
    }
    let traced = BooleanBuffer::collect_bool(samples.len(), |row| trace(&samples[row]).is_some());
    column.finish(Some(traced.into()))
}

/// A free value is there when the registry names it; of an algorithm that it does not know both are shown.
fn free_value(
    samples: &[Sample],
    context: &Context,
    value: fn(&Trace) -> i64,
    is_named: fn(&ccactl_abi::Algorithm) -> bool,
) -> ArrayRef {
    opt::<Int64Type>(samples, |sample| {
        let is_named = context.algorithm(sample).is_none_or(|known| is_named(known.algorithm));
        trace(sample).filter(|_| is_named).map(value)
    })
}

fn nonzero(value: u32) -> Option<u32> {
    (value != 0).then_some(value)
}

fn bound(value: u32) -> Option<u32> {
    nonzero(value).filter(|&v| v != layout::UNBOUNDED_U32)
}

fn bound_bps(value: u64) -> Option<u64> {
    (value != 0 && value != layout::UNBOUNDED_U64).then_some(value)
}

fn gain(milli: u32) -> Option<f32> {
    nonzero(milli).map(|milli| milli as f32 / 1000.0)
}

/// From the end of the handshake to a moment on the same clock; `None` when one of them is not known.
#[must_use]
pub fn since_opened_us(sample: &Sample, moment_ns: u64) -> Option<u64> {
    let is_known = sample.opened_ns != 0 && moment_ns != 0;
    is_known.then(|| moment_ns.saturating_sub(sample.opened_ns) / 1000)
}

/// Mean over all RTT samples of the connection.
#[must_use]
pub fn rtt_mean_us(sample: &Sample) -> Option<u32> {
    sample.rtt_sum_us.checked_div(u64::from(sample.rtt_samples)).and_then(|mean| mean.try_into().ok())
}

/// `None`: unpaced.
#[must_use]
pub fn pacing_rate_bps(sample: &Sample) -> Option<u64> {
    (sample.pacing_rate_bytes_per_s != u64::MAX).then(|| sample.pacing_rate_bytes_per_s.saturating_mul(8))
}

/// The kernel's last rate sample.
#[must_use]
pub fn delivery_rate_bps(sample: &Sample) -> Option<u64> {
    if sample.delivery_interval_us == 0 || sample.delivery_pkts == 0 {
        return None;
    }
    let bits = u128::from(sample.delivery_pkts) * u128::from(sample.mss_bytes) * 8 * 1_000_000;
    u64::try_from(bits / u128::from(sample.delivery_interval_us)).ok()
}
