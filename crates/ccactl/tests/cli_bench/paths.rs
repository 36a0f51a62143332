//! Paths of several links, downloads, repeated transfers, queue disciplines and settings of hosts, with the kernel's TCP.

use crate::figures::{last_run, run};
use crate::host::Host;
use crate::scenario::{Bench, flow};
use arrow_array::{Array, StringArray, UInt64Array};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// What the scenarios of these tests have before their flows.
fn bench(duration: &str, link: &str, rest: &str) -> Bench {
    let bench = Bench::new(duration, "");
    let text = format!("duration = \"{duration}\"\n[link]\n{link}\n{rest}");
    fs::write(bench.file(), text).unwrap();
    bench
}

/// Every packet that was offered is accounted for, by flow and by transmitter.
fn assert_conserved(run: &Value) {
    let sum = |of: &Value, names: &[&str]| names.iter().map(|name| of[*name].as_u64().unwrap()).sum::<u64>();
    for transmitter in run["transmitters"].as_array().unwrap() {
        let out = ["delivered_packets", "dropped_full_packets", "dropped_early_packets", "lost_packets"];
        let out = sum(transmitter, &out) + sum(transmitter, &["lost_wireless_packets", "queued_packets"]);
        assert_eq!(transmitter["offered_packets"].as_u64().unwrap(), out, "{transmitter}");
    }
    let offered = |of: &Value| sum(of, &["offered_packets", "return_offered_packets"]);
    let ended = |of: &Value| {
        let data = ["delivered_packets", "dropped_full_packets", "dropped_early_packets", "lost_packets"];
        let back = ["returned_packets", "return_dropped_packets", "return_lost_packets", "lost_wireless_packets"];
        sum(of, &data) + sum(of, &back)
    };
    let ends = || run["flows"].as_array().unwrap().iter().chain(run["udp"].as_array().unwrap()).map(|end| &end["link"]);
    let inside = run["inside_packets"].as_u64().unwrap();
    assert_eq!(ends().map(offered).sum::<u64>(), ends().map(ended).sum::<u64>() + inside, "{run}");
}

#[test]
fn an_application_limits_its_flow_and_gathered_acks_come_late() {
    let Some(host) = Host::with_root() else { return };
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 2 }\nack_batch = \"40ms\"";
    let made = "application = { rate = \"4Mbit/s\", steps = [{ at = \"2s\", rate = \"0bit/s\" }, { at = \"3s\", rate = \"4Mbit/s\" }] }";
    let (result, _, left) = run(&host, &bench("5s", link, &flow("limited", "native:cubic", made)));
    assert_eq!(left, Vec::<String>::new());
    let flow = &last_run(&result)["flows"][0];
    // Two seconds, a pause of one, two more; the last piece may be on its way.
    let expected = 4e6 / 8.0 * 4.0;
    let received = flow["received_bytes"].as_f64().unwrap();
    assert!((0.9 * expected..=expected + 10_000.0).contains(&received), "{received} of {expected}");
    assert_eq!(flow["socket_empty"], Value::Null, "it is the application that leaves the socket empty");
    // The path has 20 ms; an ACK waits for up to 40 ms more.
    let rtt = |name: &str| flow["metrics"][name].as_f64().unwrap();
    assert!(rtt("rtt_min_us") >= 20_000.0 && rtt("rtt_mean_us") > 28_000.0, "{}", flow["metrics"]);
}

/// At this rate devices hand over segments of 64 KiB, packets leave in bundles, and each link has a thread of its own.
#[test]
fn fast_links_with_nothing_in_common_carry_every_byte_once() {
    let Some(host) = Host::with_root() else { return };
    let link = "rate = \"300Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = { bdp = 2 }";
    let hop = "[[hop]]\nname = \"other\"\nrate = \"300Mbit/s\"\ndelay = \"10ms\"\nbuffer = { bdp = 4 }\nduplex = true\nloss = 0.001\n";
    let up = flow("up", "native:cubic", "bytes = 30000001");
    let down = flow("down", "native:cubic", "bytes = 30000003\npath = [\"other\"]\ndirection = \"download\"");
    let (result, _, left) = run(&host, &bench("20s", link, &format!("{hop}{up}{down}")));
    assert_eq!(left, Vec::<String>::new());
    let run = last_run(&result);
    assert_conserved(run);
    for (flow, bytes, least_rtt_us) in [(&run["flows"][0], 30_000_001, 10_000), (&run["flows"][1], 30_000_003, 20_000)]
    {
        assert_eq!((&flow["complete"], &flow["received_bytes"]), (&true.into(), &bytes.into()), "{flow}");
        assert!(flow["metrics"]["rtt_min_us"].as_u64().unwrap() >= least_rtt_us, "{flow}");
        // Data, and not bundles, are what the link counts: 1448 bytes of payload in 1500.
        let link = &flow["link"];
        let packets = link["delivered_packets"].as_u64().unwrap();
        assert!((bytes / 1448..bytes / 1448 * 21 / 20).contains(&packets), "{packets} packets for {bytes} bytes");
    }
    let sent: Vec<u64> =
        run["transmitters"].as_array().unwrap().iter().map(|of| of["sent_wire_bytes"].as_u64().unwrap()).collect();
    assert!(sent[0] > 30_000_001 && sent[2] > 30_000_003, "the link's, then the hop's in both directions: {sent:?}");
    assert!(run["flows"][1]["link"]["lost_packets"].as_u64().unwrap() > 0, "a thousandth of 20 000");
}

#[test]
fn a_download_comes_in_exactly_as_many_transfers_of_exactly_as_many_bytes() {
    let Some(host) = Host::with_root() else { return };
    let name = host.name();
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 2 }\nduplex = true";
    let download = format!("as = \"{name}\"\ndirection = \"download\"\nbytes = 200000\nrepeat = 5\ngap = \"50ms\"");
    let flows = flow("down", "vegas", &download) + &flow("up", "native:reno", "bytes = 100000\nrepeat = 2");
    let (result, _, left) = run(&host, &bench("6s", link, &flows));
    assert_eq!(left, Vec::<String>::new());

    let run = last_run(&result);
    for (flow, transfers, bytes) in [(&run["flows"][0], 5, 200_000), (&run["flows"][1], 2, 100_000)] {
        let all = flow["transfers"].as_array().unwrap();
        assert_eq!((all.len(), &flow["complete"]), (transfers, &json!(true)), "{flow}");
        assert_eq!(flow["completion"]["complete"].as_u64(), Some(transfers as u64));
        assert_eq!(flow["received_bytes"].as_u64(), Some(transfers as u64 * bytes));
        let mut ended_ns = 0;
        for transfer in all {
            assert_eq!(transfer["bytes"].as_u64(), Some(bytes));
            let (start_ns, us) = (transfer["start_ns"].as_u64().unwrap(), transfer["completion_us"].as_u64().unwrap());
            // The handshake takes one RTT of 20 ms, the first data another half.
            assert!(start_ns >= ended_ns && us >= 30_000, "one after the other: {transfer}");
            assert!(transfer["connect_us"].as_u64().unwrap() >= 20_000);
            ended_ns = start_ns + us * 1000;
        }
    }
    // A flow whose sending socket had another algorithm would have ended the bench with an error.
    assert_eq!(run["flows"][0]["kernel_name"], name);
    assert_eq!(run["flows"][0]["metrics"]["acked_bytes"], 1_000_000, "the recording is that of the sending sockets");
    let down = run["transmitters"].as_array().unwrap().iter().find(|t| t["link"] == "link" && t["way"] == "down");
    assert!(down.unwrap()["sent_wire_bytes"].as_u64().unwrap() > 1_000_000, "its data passed the link");
    assert_conserved(run);
}

#[test]
fn an_endless_download_is_stopped_at_its_stop() {
    let Some(host) = Host::with_root() else { return };
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 2 }\nduplex = true";
    let flows = flow("down", "native:cubic", "direction = \"download\"\nstop = \"2s\"");
    let (result, _, left) = run(&host, &bench("3s", link, &flows));
    assert_eq!(left, Vec::<String>::new());
    let flow = &last_run(&result)["flows"][0];
    // 2 s at 20 Mbit/s are 5 MB.
    let received = flow["received_bytes"].as_u64().unwrap();
    assert!((1_000_000..5_000_000).contains(&received), "{received}");
    assert_eq!((&flow["complete"], &flow["transfers"]), (&Value::Null, &json!([])));
}

#[test]
fn two_hops_add_their_delays_and_the_slower_one_has_the_queue() {
    let Some(host) = Host::with_root() else { return };
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 1 }";
    let hop = "[[hop]]\nname = \"access\"\nrate = \"100Mbit/s\"\ndelay = \"15ms\"\nbuffer = \"200p\"\n";
    let flows = flow("far", "native:cubic", "path = [\"access\", \"link\"]") + &flow("near", "native:cubic", "");
    let (result, _, left) = run(&host, &bench("4s", link, &(hop.to_owned() + &flows)));
    assert_eq!(left, Vec::<String>::new());
    let run = last_run(&result);
    let rtt_min_us = |flow: usize| run["flows"][flow]["metrics"]["rtt_min_us"].as_u64().unwrap();
    assert!(rtt_min_us(0) >= 50_000 && rtt_min_us(1) >= 20_000, "{} and {}", rtt_min_us(0), rtt_min_us(1));
    assert!(rtt_min_us(1) < 50_000, "{}", rtt_min_us(1));
    let queueing = |link: &str| {
        let transmitters = run["transmitters"].as_array().unwrap();
        transmitters.iter().find(|t| t["link"] == link).unwrap()["queueing"]["mean_us"].as_f64().unwrap()
    };
    assert!(queueing("link") > queueing("access"), "{} and {}", queueing("link"), queueing("access"));
    assert_conserved(run);
}

#[test]
fn a_step_of_the_rate_is_visible_in_the_series_of_the_link() {
    let Some(host) = Host::with_root() else { return };
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"10ms\"\nbuffer = \"50p\"\nrate_steps = [{ at = \"2s\", rate = \"5Mbit/s\" }]";
    let udp = "[[udp]]\nname = \"noise\"\nrate = \"40Mbit/s\"\n";
    let bench = bench("4s", link, &(flow("one", "native:reno", "") + udp));
    let (result, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());
    let run = last_run(&result);
    let series = bench.output().join(run["directory"].as_str().unwrap()).join("link.parquet");
    let rows = sent_by_second(&series);
    // The link is overloaded at either rate: what it sends is its rate, to a packet per interval of 10 ms.
    for (second, mbit) in [(1, 20.0), (3, 5.0)] {
        assert!((rows[second] - mbit).abs() < 0.2, "second {second}: {rows:?} Mbit/s");
    }
    assert_conserved(run);
}

/// Mean rate of the link's way up in each second, Mbit/s.
fn sent_by_second(file: &Path) -> [f64; 4] {
    let reader = ParquetRecordBatchReaderBuilder::try_new(fs::File::open(file).unwrap()).unwrap().build().unwrap();
    let mut bits = [0.0; 4];
    for batch in reader {
        let batch = batch.unwrap();
        let column = |name: &str| batch.column_by_name(name).unwrap().as_any();
        let times = column("time_us").downcast_ref::<UInt64Array>().unwrap();
        let rates = column("rate_bps").downcast_ref::<UInt64Array>().unwrap();
        let ways = column("way").downcast_ref::<StringArray>().unwrap();
        for row in (0..times.len()).filter(|row| ways.value(*row) == "up") {
            bits[((times.value(row) - 1) / 1_000_000) as usize] += rates.value(row) as f64 / 100.0;
        }
    }
    bits.map(|bits| bits / 1e6)
}

#[test]
fn every_queue_discipline_carries_tcp_and_accounts_for_every_packet() {
    if Host::with_root().is_none() {
        return;
    }
    let disciplines = [
        "drop-tail",
        "drop-head",
        "red",
        "exponential-red",
        "rem",
        "codel",
        "pie",
        "fq-codel",
        "sfq",
        "drr",
        "wfq",
        "classes",
        "cbq",
        "ack-first",
        "cba",
    ];
    // Two at a time: the machine that runs the tests may be small.
    for pair in disciplines.chunks(2) {
        std::thread::scope(|scope| {
            for discipline in pair {
                scope.spawn(|| carries_tcp(&Host::new(), discipline));
            }
        });
    }
}

fn carries_tcp(host: &Host, discipline: &str) {
    let link = format!(
        "rate = \"10Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = {{ bdp = 4 }}\nqueue = \"{discipline}\"\nduplex = true\nloss = 0.001"
    );
    let flows = flow("one", "native:cubic", "") + &flow("two", "native:reno", "direction = \"download\"");
    let (result, _, left) = run(host, &bench("2s", &link, &flows));
    assert_eq!(left, Vec::<String>::new(), "{discipline}");
    let run = last_run(&result);
    for flow in run["flows"].as_array().unwrap() {
        let received = flow["received_bytes"].as_u64().unwrap();
        assert!(received > 200_000, "{discipline}: {received} bytes in 2 s at 10 Mbit/s");
    }
    assert_conserved(run);
}

#[test]
fn settings_of_a_host_hold_in_its_namespace_and_nowhere_else() {
    let Some(host) = Host::with_root() else { return };
    let mine = || fs::read_to_string("/proc/sys/net/ipv4/tcp_rmem").unwrap();
    let before = mine();
    let link = "rate = \"20Mbit/s\"\nbase_rtt = \"20ms\"\nbuffer = { bdp = 1 }";
    let folder = tempfile::tempdir().unwrap();
    // The command of each flow writes down what holds where it runs, then sends a little.
    let told = |name: &str| {
        let file = folder.path().join(name).display().to_string();
        let script = format!(
            "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv4/tcp_wmem /proc/sys/net/ipv4/tcp_ecn > {file}; \
             ip -details link show ccactl0 | grep -o 'gso_max_segs [0-9]*' | cut -d ' ' -f 2 >> {file}; \
             head -c 100000 /dev/zero > /dev/tcp/$CCACTL_SERVER/$CCACTL_PORT"
        );
        flow(name, "native:reno", &format!("command = [\"bash\", \"-c\", \"{script}\"]"))
    };
    let hosts = "[host.all]\nrcvbuf_max = 1000000\n[host.one]\nrcvbuf_max = 200000\nsndbuf_max = 150000\ngso_max_segs = 3\n\
        sysctl = { \"ipv4/tcp_ecn\" = \"1\" }\n";
    let bench = bench("2s", link, &(told("one") + &told("two") + hosts));
    let (_, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());
    let words = |name: &str| {
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        text.split_whitespace().map(|word| word.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(words("one"), [4096, 200_000, 200_000, 4096, 150_000, 150_000, 1, 3]);
    let two = words("two");
    assert_eq!(two[..6], [4096, 262_144, 1_000_000, 4096, 262_144, 67_108_864]);
    assert_eq!(two[7], 65_535);
    assert_ne!(two[6], 1, "the setting of one host is not that of another");
    assert_eq!(mine(), before, "the host's own settings are as they were");
}
