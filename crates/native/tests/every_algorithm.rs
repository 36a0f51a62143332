//! What holds for every algorithm whatever the input: no undefined behaviour (the checked build traps), never a window of
//! zero, survival of callbacks before init and without socket storage.

mod common;

use ccactl_abi::ALGORITHMS;
use ccactl_native::path::{Flow, Link};
use ccactl_native::{AckSample, NAMES, RateSample, Socket, Unit};
use proptest::prelude::*;

/// One thing that can happen to a socket.
#[derive(Debug, Clone)]
enum Step {
    Init,
    InitInherited([u64; 13]),
    Release,
    CongAvoid(u32),
    PktsAcked(u32, i32, u32),
    CongControl(Box<RateSample>),
    SetState(u8),
    CwndEvent(u32),
    InAckEvent(u32),
    Ssthresh(bool),
    Undo(bool),
    Asked,
    Advance(u64),
    Cwnd(u32),
    Counters([u32; 8]),
    Rtt(u32, u32),
    Pacing(u64, u32),
    Record(bool),
    FailStorage(bool),
    DropStorage,
    RefuseAppLimited(bool),
}

fn sample() -> impl Strategy<Value = RateSample> {
    let small = prop_oneof![Just(-1_i64), Just(0), 1_i64..100_000, any::<i32>().prop_map(i64::from)];
    (
        any::<[u32; 2]>(),
        prop_oneof![-1_i32..100, any::<i32>()],
        small.clone(),
        small,
        prop_oneof![0_i32..50, 0_i32..1_000_000],
        prop_oneof![0_u32..50, 0_u32..1_000_000],
        0_u32..100_000,
        any::<[bool; 3]>(),
    )
        .prop_map(|(prior, delivered, interval_us, rtt_us, losses, acked_sacked, prior_in_flight, flags)| {
            RateSample {
                prior_mstamp: u64::from(prior[0]),
                prior_delivered: prior[1],
                delivered,
                delivered_ce: delivered.max(0) / 3,
                interval_us,
                snd_interval_us: interval_us as u32,
                rcv_interval_us: interval_us as u32,
                rtt_us,
                losses,
                acked_sacked,
                prior_in_flight,
                is_app_limited: flags[0],
                is_retrans: flags[1],
                is_ack_delayed: flags[2],
                ..RateSample::default()
            }
        })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Init),
        1 => any::<[u64; 13]>().prop_map(Step::InitInherited),
        1 => Just(Step::Release),
        8 => (0_u32..100_000).prop_map(Step::CongAvoid),
        8 => (0_u32..1000, any::<i32>(), any::<u32>()).prop_map(|(acked, rtt, flight)| Step::PktsAcked(acked, rtt, flight)),
        16 => sample().prop_map(|sample| Step::CongControl(Box::new(sample))),
        4 => (0_u8..5).prop_map(Step::SetState),
        2 => (0_u32..6).prop_map(Step::CwndEvent),
        2 => (0_u32..8).prop_map(Step::InAckEvent),
        3 => any::<bool>().prop_map(Step::Ssthresh),
        2 => any::<bool>().prop_map(Step::Undo),
        1 => Just(Step::Asked),
        8 => prop_oneof![0_u64..100_000, 0_u64..100_000_000].prop_map(Step::Advance),
        2 => prop_oneof![1_u32..100, 1_u32..10_000_000].prop_map(Step::Cwnd),
        6 => any::<[u32; 8]>().prop_map(Step::Counters),
        2 => (any::<u32>(), any::<u32>()).prop_map(|(srtt, min)| Step::Rtt(srtt, min)),
        2 => (any::<u64>(), 0_u32..3).prop_map(|(rate, status)| Step::Pacing(rate, status)),
        1 => any::<bool>().prop_map(Step::Record),
        1 => any::<bool>().prop_map(Step::FailStorage),
        1 => Just(Step::DropStorage),
        1 => any::<bool>().prop_map(Step::RefuseAppLimited),
    ]
}

fn apply(socket: &mut Socket, step: &Step) {
    match step {
        Step::Init => socket.init(),
        Step::InitInherited(bytes) => {
            socket.set_ca_priv(*bytes);
            socket.init_inherited();
        }
        Step::Release => socket.release(),
        Step::CongAvoid(acked) => socket.cong_avoid(0, *acked),
        Step::PktsAcked(pkts_acked, rtt_us, in_flight) => {
            socket.pkts_acked(&AckSample { pkts_acked: *pkts_acked, rtt_us: *rtt_us, in_flight: *in_flight });
        }
        Step::CongControl(sample) => socket.cong_control(0, 0, sample),
        Step::SetState(state) => socket.set_state(*state),
        Step::CwndEvent(event) => socket.cwnd_event(*event),
        Step::InAckEvent(flags) => socket.in_ack_event(*flags),
        Step::Ssthresh(store) => {
            let ssthresh = socket.ssthresh();
            if *store {
                socket.tp_mut().prior_cwnd = socket.cwnd();
                socket.tp_mut().snd_ssthresh = ssthresh;
            }
        }
        Step::Undo(store) => {
            let cwnd = socket.undo_cwnd();
            assert!(cwnd > 0, "undo to a window of zero");
            if *store {
                socket.tp_mut().snd_cwnd = cwnd;
            }
        }
        Step::Asked => {
            socket.min_tso_segs();
            assert!(socket.sndbuf_expand().is_none_or(|factor| factor > 0));
        }
        Step::Advance(by_us) => {
            socket.advance_us(*by_us);
            socket.tp_mut().delivered_mstamp = socket.time_us();
        }
        Step::Cwnd(cwnd) => socket.tp_mut().snd_cwnd = *cwnd,
        Step::Counters([delivered, lost, out, sacked, lost_out, retrans, lsndtime, flags]) => {
            let tp = socket.tp_mut();
            tp.delivered = tp.delivered.wrapping_add(delivered % 10_000);
            tp.delivered_ce = tp.delivered_ce.wrapping_add(delivered % 100);
            tp.lost = tp.lost.wrapping_add(lost % 1000);
            tp.packets_out = out % 1_000_000;
            tp.sacked_out = sacked % 1_000_000;
            tp.lost_out = lost_out % 1_000_000;
            tp.retrans_out = retrans % 1_000_000;
            tp.lsndtime = *lsndtime;
            tp.set_cwnd_limited(flags & 1 != 0);
            tp.app_limited = flags & 2;
            tp.snd_una = *out;
            tp.snd_nxt = *sacked;
            tp.tcp_wstamp_ns = u64::from(*retrans) * 1_000_000;
        }
        Step::Rtt(srtt_us, min_rtt_us) => {
            socket.tp_mut().srtt_us = *srtt_us;
            socket.tp_mut().rtt_min[0].v = *min_rtt_us;
        }
        Step::Pacing(rate, status) => {
            socket.tp_mut().inet_conn.sk.sk_pacing_rate = *rate;
            socket.tp_mut().inet_conn.sk.sk_pacing_status = *status;
        }
        Step::Record(recording) => socket.record(*recording),
        Step::FailStorage(fails) => socket.fail_storage(*fails),
        Step::DropStorage => socket.drop_storage(),
        Step::RefuseAppLimited(refuse) => socket.refuse_app_limited(*refuse),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn any_sequence_of_callbacks_leaves_a_window(
        name in prop::sample::select(NAMES),
        hz in prop::sample::select(&[100_u32, 250, 300, 1000][..]),
        seed in any::<u64>(),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        let mut socket = Socket::checked(name).expect("the name comes from the list");
        socket.set_hz(hz);
        socket.set_seed(seed);
        for step in &steps {
            apply(&mut socket, step);
            prop_assert!(socket.cwnd() > 0, "{} after {:?}", name, step);
        }
    }

    #[test]
    fn any_tunables_in_range_survive_a_path(
        row in prop::sample::select(ALGORITHMS),
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..3), 0..6),
        rate_mbps in 1_u64..60,
        base_rtt_us in 100_u64..200_000,
        buffer_milli in 50_u64..4000,
        loss_ppm in prop_oneof![Just(0_u32), 0_u32..50_000],
    ) {
        let mut socket = Socket::checked(row.name).expect("a row has a file");
        for (index, end) in picks {
            let Some(tunable) = (!row.tunables.is_empty()).then(|| index.get(row.tunables)) else { continue };
            let raw = [tunable.min_raw, tunable.default_raw, tunable.max_raw][usize::from(end)];
            prop_assert_eq!(socket.set_tunable(tunable.name, raw), Ok(()));
        }
        let link = Link { rate_bps: rate_mbps * 1_000_000, base_rtt_us, buffer_pkts: 0, loss_ppm }
            .with_buffer_milli_bdp(buffer_milli);
        let mut flow = Flow::new(socket, link, 1);
        flow.run_for_us(1_000_000, |flow| assert!(flow.socket.cwnd() > 0));
        prop_assert!(flow.stats().delivered_pkts > 0);
    }
}

#[test]
fn every_callback_survives_before_init_and_without_storage() {
    for &name in NAMES {
        let mut socket = Socket::checked(name).expect("the name comes from the list");
        let everything = |socket: &mut Socket| {
            for state in 0..5 {
                socket.cong_control(0, 0, &RateSample::default());
                socket.cong_control(0, 0, &common::sample(0, 0, 0));
                socket.cong_control(0, 0, &common::sample(0, 10, 40_000));
                socket.cong_avoid(0, 1);
                socket.pkts_acked(&AckSample { pkts_acked: 1, rtt_us: 0, in_flight: 0 });
                socket.set_state(state);
                for event in 0..6 {
                    socket.cwnd_event(event);
                }
                socket.in_ack_event(7);
                assert!(socket.ssthresh() >= 2 && socket.undo_cwnd() > 0, "{name}");
                socket.min_tso_segs();
                socket.sndbuf_expand();
                assert!(socket.cwnd() > 0, "{name}");
            }
        };
        everything(&mut socket);
        socket.fail_storage(true);
        socket.init();
        everything(&mut socket);
        socket.fail_storage(false);
        socket.init();
        everything(&mut socket);
        socket.drop_storage();
        everything(&mut socket);
        socket.release();
        everything(&mut socket);
    }
}

#[test]
fn the_native_build_has_the_registrys_names_hooks_and_tunables() {
    for row in ALGORITHMS {
        for checked in [false, true] {
            let unit = Unit::by_name(row.name, checked).expect("a row has a file");
            assert_eq!(unit.kernel_name(), row.kernel_name);
            let (mut hooks, mut listed) = (unit.hooks(), row.hooks.to_vec());
            hooks.sort_unstable();
            listed.sort_unstable();
            assert_eq!(hooks, listed, "{}", row.name);
            assert_eq!(unit.tunables().len(), row.tunables.len(), "{}", row.name);
            for tunable in row.tunables {
                let found = unit.tunable(tunable.name).expect("a tunable of the row is one of the file");
                assert_eq!(found.default_raw(), tunable.default_raw, "{}.{}", row.name, tunable.name);
            }
        }
    }
    assert!(NAMES.len() == ALGORITHMS.len() && Unit::by_name("no-such-algorithm", false).is_none());
}

#[test]
fn the_plain_and_the_checked_build_do_the_same() {
    for &name in NAMES {
        let run = |mut socket: Socket| {
            socket.record(true);
            let mut flow = Flow::new(socket, common::link(1500), 1);
            flow.run_for_us(3_000_000, |_| {});
            (flow.stats(), flow.socket.cwnd(), flow.socket.pacing_rate(), flow.socket.trace())
        };
        let plain = run(Socket::new(name).expect("the name comes from the list"));
        let checked = run(Socket::checked(name).expect("the name comes from the list"));
        assert_eq!(plain, checked, "{name}");
        let trace = plain.3.expect("every algorithm publishes");
        let modes = ALGORITHMS.iter().find(|row| row.name == name).expect("a file has a row").modes;
        assert!((trace.mode as usize) < modes.len(), "{name}: mode {} of {modes:?}", trace.mode);
    }
}
