//! A proxy on the path: each end sees its own leg, and all data pass both.

use crate::figures::{last_run, run};
use crate::host::Host;
use crate::scenario::{Bench, flow};
use serde_json::Value;
use std::fs;

#[test]
fn flows_through_a_proxy_have_the_rtt_of_their_leg_and_their_data_pass_both() {
    let Some(host) = Host::with_root() else { return };
    let bench = Bench::new("4s", "");
    let links = "[link]\nrate = \"20Mbit/s\"\nbase_rtt = \"80ms\"\nbuffer = { bdp = 1 }\nduplex = true\n\
                 [[hop]]\nname = \"wifi\"\nrate = \"20Mbit/s\"\ndelay = \"5ms\"\nbuffer = \"100p\"\nduplex = true\n";
    let proxy = "[[proxy]]\nafter = \"wifi\"\nclient_algorithm = \"bbrv3\"\nserver_algorithm = \"native:cubic\"\n";
    let path = "path = [\"wifi\", \"link\"]\n";
    let flows = flow("up", "native:cubic", &format!("{path}stop = \"3s\""))
        + &flow("down", "native:cubic", &format!("{path}direction = \"download\"\nbytes = 500000"))
        + &flow("direct", "native:cubic", "");
    fs::write(bench.file(), format!("duration = \"4s\"\n{links}{proxy}{flows}")).unwrap();
    let (result, _, left) = run(&host, &bench);
    assert_eq!(left, Vec::<String>::new());
    let run = last_run(&result);
    let of = |flow: usize, field: &str| run["flows"][flow]["metrics"][field].as_u64().unwrap();
    // The senders: one on the near side of the proxy, two beyond the link of 80 ms.
    assert!((10_000..80_000).contains(&of(0, "rtt_min_us")), "{}", of(0, "rtt_min_us"));
    for flow in [1, 2] {
        assert!((80_000..90_000).contains(&of(flow, "rtt_min_us")), "{}", of(flow, "rtt_min_us"));
    }
    assert_eq!((&run["flows"][1]["received_bytes"], &run["flows"][1]["complete"]), (&500_000.into(), &true.into()));
    let up = run["flows"][0]["received_bytes"].as_u64().unwrap();
    assert!(up > 500_000, "{up}");
    let sent = |link: &str, way: &str| {
        let all = run["transmitters"].as_array().unwrap();
        let is_it = |transmitter: &&Value| transmitter["link"] == link && transmitter["way"] == way;
        all.iter().find(is_it).unwrap()["sent_wire_bytes"].as_u64().unwrap()
    };
    for link in ["wifi", "link"] {
        assert!(sent(link, "up") > up && sent(link, "down") > 500_000, "{link}");
    }
}
