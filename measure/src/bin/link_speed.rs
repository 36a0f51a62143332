//! Time per packet of every discipline, default parameters: how much of a punctual thread the link model takes.
//!
//! `cargo run --release --manifest-path measure/Cargo.toml --bin link_speed`

use ccactl_link::queue::{
    Cba, Cbq, Classes, CoDel, Drr, DualPi2, ExponentialRed, FqCoDel, Pie, Policer, Red, Rem, Sfq, Wfq,
};
use ccactl_link::{Capacity, DelayLine, Discipline, Ecn, Item, Link, LinkConfig, Output, WireConfig};
use std::time::Instant;

const PACKETS: u32 = 2_000_000;
const SIZE_BYTES: u32 = 1514;
const FLOWS: u32 = 100;
const BUFFER_PACKETS: u64 = 1000;
/// 1514 bytes take 1211.2 ns, and one arrives every µs: the buffer is always full and every fifth packet is dropped.
const RATE_BPS: u64 = 10_000_000_000;
const GAP_NS: u64 = 1000;

fn main() {
    let disciplines = [
        ("drop-tail", Discipline::DropTail),
        ("drop-head", Discipline::DropHead),
        ("RED", Discipline::Red(Red::default())),
        ("exponential RED", Discipline::ExponentialRed(ExponentialRed::default())),
        ("REM", Discipline::Rem(Rem::default())),
        ("CoDel", Discipline::CoDel(CoDel::default())),
        ("PIE", Discipline::Pie(Pie::default())),
        ("policer", Discipline::Policer(Policer::default())),
        ("DualPI2", Discipline::DualPi2(DualPi2::default())),
        ("FQ-CoDel", Discipline::FqCoDel(FqCoDel::default())),
        ("SFQ", Discipline::Sfq(Sfq::default())),
        ("DRR", Discipline::Drr(Drr::default())),
        ("WFQ", Discipline::Wfq(Wfq::default())),
        ("classes", Discipline::Classes(Classes::default())),
        ("CBQ", Discipline::Cbq(Cbq::default())),
        ("ACK first", Discipline::AckFirst),
        ("CBA", Discipline::Cba(Cba::default())),
    ];
    println!("| discipline | ns per packet | packets sent |\n|---|---:|---:|");
    for (name, queue) in disciplines {
        let begin = Instant::now();
        let sent = overload(queue);
        let ns = begin.elapsed().as_nanos() as f64 / f64::from(PACKETS);
        println!("| {name} | {ns:.0} | {sent} |");
    }
}

/// Every packet enters the queue or is dropped, and what is sent passes a delay line.
fn overload(queue: Discipline) -> u64 {
    let wire = WireConfig { delay: vec![(0, 10_000_000)], ..WireConfig::default() };
    let config = LinkConfig { queue, wire, ..LinkConfig::drop_tail(RATE_BPS, Capacity::Packets(BUFFER_PACKETS)) };
    let mut link = Link::new(config);
    link.reserve(2 * BUFFER_PACKETS as usize + 1);
    let mut on_the_wire = DelayLine::with_capacity(20_000);
    let mut arrived = 0;
    for packet in 0..PACKETS {
        let now = u64::from(packet) * GAP_NS;
        while let Some(output) = link.pop(now) {
            if let Output::Sent(departure) = output {
                on_the_wire.push(departure.due, departure.packet);
            }
        }
        while on_the_wire.pop(now).is_some() {
            arrived += 1;
        }
        let (flow, class) = (packet % FLOWS, (packet % 2) as u8);
        link.enqueue(now, Item { packet, size_bytes: SIZE_BYTES, flow, class, is_ack: false, ecn: Ecn::NotCapable });
    }
    arrived
}
