//! Scenarios in, exact commands out.

use ccactl_scenario::{Override, Scenario};
use ccactl_testbed::Unsupported;
use ccactl_testbed::netem::{Addresses, Plan, Transmitter};
use std::net::Ipv4Addr;

/// 20 Mbit/s, 40 ms, 100 000 bytes, two flows of which one has 10 ms more.
const BASE: &str = "duration = \"1s\"\n[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"40ms\"\nbuffer = \"100000B\"\n\
                    [[flow]]\nname = \"a\"\nalgorithm = \"reno\"\n\
                    [[flow]]\nname = \"b\"\nalgorithm = \"reno\"\nextra_rtt = \"10ms\"\n";

fn plan(changes: &[&str]) -> Result<Plan, Unsupported> {
    plan_with(Transmitter::TokenBucket, changes)
}

fn plan_with(transmitter: Transmitter<'_>, changes: &[&str]) -> Result<Plan, Unsupported> {
    let changes: Vec<Override> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let scenario = Scenario::parse_with("test.toml", BASE, &changes).unwrap();
    let host = |number| Ipv4Addr::new(10, 200, 1, number + 1);
    let hosts = (0..scenario.flows.len() + scenario.udp.len()).map(|number| host(number as u8)).collect();
    Plan::of(&scenario, &Addresses { hosts, server: Ipv4Addr::new(10, 200, 0, 1) }, transmitter)
}

/// The commands of `tc`, without what is the same in all.
fn queues(changes: &[&str]) -> Vec<String> {
    queues_of(plan(changes))
}

fn queues_of(plan: Result<Plan, Unsupported>) -> Vec<String> {
    let lines = plan.unwrap_or_else(|error| panic!("{error}")).lines;
    let lines = lines.iter().map(ToString::to_string);
    lines.filter_map(|line| line.strip_prefix("tc -n ").map(|rest| rest.replace("qdisc add dev ", ""))).collect()
}

/// The discipline below the token bucket.
fn discipline(changes: &[&str]) -> String {
    let queues = queues(changes);
    let of_far = queues.iter().find_map(|line| line.strip_prefix("near far parent 1:1 handle 2: "));
    of_far.unwrap_or_else(|| panic!("{queues:#?}")).to_owned()
}

/// Fields that are refused, with what is told of the first.
fn refused(changes: &[&str]) -> (Vec<String>, String) {
    let error = plan(changes).expect_err("refused");
    (error.lacks.iter().map(|lack| lack.field.clone()).collect(), error.to_string())
}

#[test]
fn a_bottleneck_is_a_token_bucket_and_its_delay_lies_behind_it() {
    assert_eq!(
        queues(&[]),
        [
            "near far root handle 1: tbf rate 20000000bit burst 3028 limit 100000",
            "near far parent 1:1 handle 2: bfifo limit 100000",
            // 20 ms of 20 Mbit/s are 833 of the smallest frames.
            "far rx root handle 1: netem limit 20833 delay 20000us",
            "near access root handle 1: netem limit 20833 delay 20000us",
            "access tx1 root handle 1: netem limit 20416 delay 10000us",
        ]
    );
}

#[test]
fn cables_have_fixed_neighbours_and_a_route_to_every_host() {
    let lines: Vec<String> = plan(&[]).unwrap().lines.iter().map(ToString::to_string).collect();
    let ip: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("ip -n ")).collect();
    assert_eq!(
        ip[..5],
        [
            "tx0 link add name ccactl0 address 02:cc:ac:00:00:01 mtu 1500 type veth peer name tx0 address 02:cc:ac:00:00:02 mtu 1500 netns access",
            "tx1 link add name ccactl0 address 02:cc:ac:00:01:01 mtu 1500 type veth peer name tx1 address 02:cc:ac:00:01:02 mtu 1500 netns access",
            "access link add name near address 02:cc:ac:00:02:01 mtu 1500 type veth peer name access address 02:cc:ac:00:02:02 mtu 1500 netns near",
            "near link add name far address 02:cc:ac:00:03:01 mtu 1500 type veth peer name near address 02:cc:ac:00:03:02 mtu 1500 netns far",
            "far link add name rx address 02:cc:ac:00:04:01 mtu 1500 type veth peer name ccactl0 address 02:cc:ac:00:04:02 mtu 1500 netns rx",
        ]
    );
    for expected in [
        "tx1 address add 10.200.1.2/32 dev ccactl0",
        "rx address add 10.200.0.1/32 dev ccactl0",
        "tx1 route add 10.200.0.1/32 dev ccactl0",
        "tx1 neighbour add 10.200.0.1 lladdr 02:cc:ac:00:01:02 nud permanent dev ccactl0",
        "access route add 10.200.1.2/32 dev tx1",
        "access route add 10.200.0.1/32 dev near",
        "near route add 10.200.0.1/32 dev far",
        "near route add 10.200.1.1/32 dev access",
        "near route add 10.200.1.2/32 dev access",
        "near neighbour add 10.200.1.2 lladdr 02:cc:ac:00:02:01 nud permanent dev access",
        "far route add 10.200.0.1/32 dev rx",
        "rx route add 10.200.1.1/32 dev ccactl0",
        "rx neighbour add 10.200.1.1 lladdr 02:cc:ac:00:04:01 nud permanent dev ccactl0",
    ] {
        assert!(ip.contains(&expected), "{expected} is not in {ip:#?}");
    }
}

#[test]
fn a_duplex_link_has_transmitter_and_wire_in_both_directions() {
    let queues = queues(&["link.duplex=true", "link.loss=0.01"]);
    assert_eq!(
        queues[3..6],
        [
            "far near root handle 1: tbf rate 20000000bit burst 3028 limit 100000",
            "far near parent 1:1 handle 2: bfifo limit 100000",
            "near access root handle 1: netem limit 20833 delay 20000us loss random 1%",
        ]
    );
    let plan = plan(&["link.duplex=true"]).unwrap();
    let down = plan.down.unwrap();
    assert_eq!((plan.up.transmitter.device.as_str(), down.transmitter.device.as_str()), ("far", "near"));
    assert_eq!(down.wire.unwrap().device, "access");
}

#[test]
fn without_a_transmitter_the_way_back_neither_loses_nor_varies() {
    let queues = queues(&["link.loss=0.005", "link.jitter=2ms"]);
    assert_eq!(
        queues[2..4],
        [
            "far rx root handle 1: netem limit 20916 delay 21000us 1000us rate 34359738360bit loss random 0.5%",
            "near access root handle 1: netem limit 20833 delay 20000us",
        ]
    );
}

#[test]
fn losses_in_bursts_and_reordering_are_those_of_the_scenario() {
    let chain = "link.loss={ gilbert_elliott = { good_to_bad = 0.001, bad_to_good = 0.25, loss_good = 0.01, loss_bad = 0.75 } }";
    let jitter = "link.jitter={ max = \"2ms\", reorder = true }";
    assert_eq!(
        queues(&[chain, jitter])[2],
        "far rx root handle 1: netem limit 20916 delay 21000us 1000us loss gemodel 0.1% 25% 75% 1%"
    );
}

#[test]
fn a_link_without_delay_has_no_wire() {
    let queues = queues(&["link.base_rtt=0s", "link.bdp_rtt=40ms"]);
    assert_eq!(queues.len(), 3, "{queues:#?}");
    assert!(plan(&["link.base_rtt=0s", "link.bdp_rtt=40ms"]).unwrap().up.wire.is_none());
}

#[test]
fn the_bucket_of_a_fast_link_holds_what_leaves_in_a_millisecond() {
    assert_eq!(
        queues(&["link.rate=1Gbit/s"])[0],
        "near far root handle 1: tbf rate 1000000000bit burst 125000 limit 100000"
    );
}

#[test]
fn disciplines_have_every_parameter_of_the_scenario() {
    for (changes, expected) in [
        (&["link.buffer=50p"][..], "pfifo limit 50"),
        (&["link.buffer=50p", "link.queue=drop-head"], "pfifo_head_drop limit 50"),
        (&["link.buffer=50p", "link.queue=codel"], "codel limit 50 target 5000us interval 100000us noecn"),
        (
            &["link.buffer=50p", "link.queue={ discipline = \"codel\", target = \"10ms\", ecn = true }"],
            "codel limit 50 target 10000us interval 100000us ecn",
        ),
        (
            &["link.buffer=50p", "link.queue=fq-codel"],
            "fq_codel limit 50 flows 1024 quantum 1514 target 5000us interval 100000us ecn memory_limit 1gb drop_batch 1",
        ),
        (
            &[
                "link.buffer=50p",
                "link.queue={ discipline = \"pie\", derandomise = true, mean_packet_bytes = 1514, update_interval = \"20ms\" }",
            ],
            "pie limit 50 target 15000us tupdate 20000us alpha 2 beta 20 noecn nobytemode",
        ),
    ] {
        assert_eq!(discipline(changes), expected);
    }
}

#[test]
fn what_the_kernel_cannot_do_is_refused_by_field() {
    for (changes, field, words) in [
        (&["link.queue=rem"][..], "link.queue", "drop-tail, drop-head, codel, fq-codel or pie, found rem"),
        (&["link.queue=exponential-red"], "link.queue", "found exponential-red"),
        (&["link.queue=red"], "link.queue", "not gentle"),
        (&["link.queue=sfq"], "link.queue", "127 packets"),
        (&["link.queue=drr"], "link.queue", "found drr"),
        (&["link.queue=wfq"], "link.queue", "found wfq"),
        (&["link.queue=classes"], "link.queue", "found classes"),
        (&["link.queue=cbq"], "link.queue", "found cbq, which current"),
        (&["link.queue=ack-first"], "link.queue", "found ack-first"),
        (&["link.queue=cba"], "link.queue", "found cba"),
        (
            &["link.queue=codel"],
            "link.buffer",
            "packets, which are what codel counts (such as \"66p\"), found 100000 bytes",
        ),
        (&["link.queue=drop-head"], "link.buffer", "what pfifo_head_drop counts"),
        (
            &["link.buffer=50p", "link.queue={ discipline = \"codel\", mtu_bytes = 1000 }"],
            "link.queue.mtu_bytes",
            "expected a full packet, 1514, found 1000",
        ),
        (
            &["link.buffer=50p", "link.queue={ discipline = \"codel\", target = \"1500ns\" }"],
            "link.queue.target",
            "whole microseconds, found 1500 ns",
        ),
        (
            &["link.buffer=50p", "link.queue={ discipline = \"fq-codel\", quantum_bytes = 100 }"],
            "link.queue.quantum_bytes",
            "at least 256, found 100",
        ),
        (&["link.ecn_threshold=10p"], "link.ecn_threshold", "found one"),
        (&["link.rate_steps=[{ at = \"500ms\", rate = \"10Mbit/s\" }]"], "link.rate_steps", "found steps"),
        (&["link.base_rtt_steps=[{ at = \"500ms\", base_rtt = \"10ms\" }]"], "link.base_rtt_steps", "found steps"),
        (&["link.wireless={ error = 0.1 }"], "link.wireless", "repeats no transmission"),
        (&["link.snoop=1bdp", "link.loss=0.01"], "link.snoop", "no such agent"),
        (&["link.overhead_bytes=38"], "link.overhead_bytes", "14, what the kernel counts, found 38"),
        (
            &["link.jitter={ max = \"2ms\", distribution = \"normal\", mean = \"1ms\", std_dev = \"1ms\" }"],
            "link.jitter.distribution",
            "found \"normal\"",
        ),
    ] {
        let (fields, text) = refused(changes);
        assert_eq!(fields, [field], "{text}");
        assert!(text.starts_with("--link netem: ") && text.contains(words), "{text}");
        assert!(text.ends_with("run it with --link emulator, or change it with --set"), "{text}");
    }
}

#[test]
fn everything_is_told_at_once() {
    let (fields, _) = refused(&["link.buffer=50p", "link.queue=pie", "link.overhead_bytes=38"]);
    // The default packet of PIE is the RFC's, and a full one is four times the overhead larger here.
    assert_eq!(
        fields,
        ["link.overhead_bytes", "link.queue.mean_packet_bytes", "link.queue.derandomise", "link.queue.update_interval"]
    );
}

#[test]
fn further_links_are_for_the_emulator() {
    let text = format!(
        "{BASE}path = [\"wifi\", \"link\"]\n[[hop]]\nname = \"wifi\"\nrate = \"54Mbit/s\"\ndelay = \"1ms\"\nbuffer = \"256p\"\n"
    );
    let scenario = Scenario::parse("test.toml", &text).unwrap();
    let addresses = Addresses { hosts: vec![Ipv4Addr::new(10, 200, 1, 1); 2], server: Ipv4Addr::new(10, 200, 0, 1) };
    let error = Plan::of(&scenario, &addresses, Transmitter::TokenBucket).unwrap_err();
    assert_eq!(error.lacks[0].field, "hop");
}

#[test]
fn what_the_kernel_has_to_have_is_named_with_module_and_option() {
    let plan = plan(&["link.buffer=50p", "link.queue=fq-codel", "link.loss=0.01"]).unwrap();
    let needs: Vec<_> = plan.needs.iter().map(|need| (need.kind, need.field, need.module(), need.config())).collect();
    assert_eq!(
        needs,
        [
            ("tbf", "link.rate", "sch_tbf", "CONFIG_NET_SCH_TBF".to_owned()),
            ("fq_codel", "link.queue", "sch_fq_codel", "CONFIG_NET_SCH_FQ_CODEL".to_owned()),
            ("netem", "link.base_rtt", "sch_netem", "CONFIG_NET_SCH_NETEM".to_owned()),
        ]
    );
}

const IN_BPF: Transmitter<'_> = Transmitter::Bpf(["up", "down"]);

#[test]
fn a_bottleneck_in_bpf_is_one_discipline_and_the_wire_stays_netems() {
    assert_eq!(
        queues_of(plan_with(IN_BPF, &["link.duplex=true", "link.down_buffer=50p"])),
        [
            "near far root handle 1: up",
            "far rx root handle 1: netem limit 20833 delay 20000us",
            "far near root handle 1: down",
            "near access root handle 1: netem limit 20833 delay 20000us",
            "access tx1 root handle 1: netem limit 20416 delay 10000us",
        ]
    );
    let needs = plan_with(IN_BPF, &[]).unwrap().needs;
    assert_eq!(needs.iter().map(|need| need.kind).collect::<Vec<_>>(), ["netem"], "ours is asked for elsewhere");
    for good in ["link.queue=codel", "link.overhead_bytes=66", "link.rate=10Gbit/s"] {
        assert!(plan_with(IN_BPF, &[good]).is_ok(), "{good}");
    }
}

#[test]
fn what_a_discipline_in_bpf_cannot_do_is_refused() {
    for (change, field) in [
        ("link.queue=fq-codel", "link.queue"),
        ("link.queue={ discipline = \"codel\", ecn = true }", "link.queue.ecn"),
        ("link.queue={ discipline = \"codel\", interval = \"4s\" }", "link.queue.interval"),
        ("link.ecn_threshold=20p", "link.ecn_threshold"),
        ("link.rate_steps=[{ at = \"1s\", rate = \"10Mbit/s\" }]", "link.rate_steps"),
    ] {
        let error = plan_with(IN_BPF, &[change]).unwrap_err();
        assert_eq!(error.lacks[0].field, field);
        assert!(error.to_string().starts_with("--link bpf: "), "{error}");
    }
}
