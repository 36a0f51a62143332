//! One flow for other tools: what is written is read by a reader of its format.

mod common;

use ccactl_report::trail::{Changed, Trail, flow_named, qlog, xplot};
use ccactl_report::{Error, Options, open_all, summarize};
use common::{Fixture, Row};
use qlog::events::EventData;
use qlog::reader::{Event, QlogSeqReader};

const MS: u64 = 1000;

fn rows() -> Vec<Row> {
    let big = |row: Row| Row { cwnd_pkts: 20, ..row };
    let mut rows = vec![Row::at(1, 0), Row::at(2, 0)];
    rows.push(big(Row::at(1, 10 * MS).bytes(30_000, 10_000).rtt(20_000, 8)));
    let moved = Row { event: "algorithm", algorithm: "bbrv3", previous: Some("bpf_cubic"), ..Row::at(1, 15 * MS) };
    rows.push(big(moved.bytes(30_000, 10_000).rtt(20_000, 8)));
    let lost = Row { lost_pkts: 2, bytes_retrans: 3000, ..Row::at(1, 20 * MS) };
    rows.push(big(lost.bytes(50_000, 20_000).rtt(21_000, 16)));
    rows.push(Row::at(2, 20 * MS).bytes(1000, 1000).rtt(20_000, 1));
    rows
}

fn trail(flow: Option<&str>) -> Result<Trail, Error> {
    let folder = tempfile::tempdir().unwrap();
    let flows = r#"[{"cgroup_id":101,"name":"big"},{"cgroup_id":102,"name":"small"}]"#;
    let file = Fixture::new(rows()).meta("flows", flows).parquet(&folder.path().join("recording.parquet"));
    let recordings = open_all(&[file]).unwrap();
    let summary = summarize(&recordings, &Options::default()).unwrap();
    let flow = flow_named(&summary.recordings[0].flows, flow)?;
    Trail::read(&recordings[0], flow, &Options::default())
}

#[test]
fn a_trail_has_the_rows_of_its_flow_alone() {
    let found = trail(None).unwrap();
    assert_eq!((found.name.as_str(), found.moments.len()), ("big", 4));
    let last = found.moments[3];
    assert_eq!((last.acked_bytes, last.sent_bytes, last.retrans_bytes, last.lost_pkts), (20_000, 47_000, 3000, 2));
    let [change] = found.changes.as_slice() else { panic!("{:?}", found.changes) };
    assert_eq!(
        (change.what, change.from.as_deref(), change.to.as_str()),
        (Changed::Algorithm, Some("bpf_cubic"), "bbrv3")
    );
    assert_eq!(trail(Some("small")).unwrap().moments.len(), 2);
    let unknown = trail(Some("bg")).unwrap_err().to_string();
    assert_eq!(unknown, r#"--flow: expected a flow of the recording, found "bg"; there are: big, small"#);
}

#[test]
fn a_reader_of_qlog_understands_every_event() {
    let text = qlog(&trail(None).unwrap());
    let reader = QlogSeqReader::new(Box::new(text.as_bytes())).unwrap();
    assert_eq!(reader.qlog.title.as_deref(), Some("big"));
    let events: Vec<(f64, EventData)> = reader
        .map(|event| match event {
            Event::Qlog(event) => (event.time, event.data),
            Event::Json(unknown) => panic!("not of the drafts: {unknown:?}"),
        })
        .collect();
    let metrics = |at_ms: f64| {
        let found = events.iter().find_map(|(time, data)| match data {
            EventData::QuicMetricsUpdated(metrics) if *time == at_ms => Some(metrics.clone()),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("no metrics at {at_ms} ms: {events:?}"))
    };
    let (first, third, last) = (metrics(0.0), metrics(10.0), metrics(20.0));
    let mss = 1448;
    assert_eq!(first.congestion_window, Some(10 * mss));
    assert_eq!((third.congestion_window, third.latest_rtt), (Some(20 * mss), Some(20.0)));
    assert_eq!((last.congestion_window, last.latest_rtt), (None, Some(21.0)), "only what is new");
    let lost = events.iter().filter(|(_, data)| matches!(data, EventData::QuicPacketLost(_))).count();
    let said = events.iter().filter(
        |(_, data)| matches!(data, EventData::LogLevelInfo { message: Some(text), .. } if text.contains("bpf_cubic → bbrv3")),
    );
    assert_eq!((lost, said.count()), (2, 1));
}

#[test]
fn a_drawing_for_xplot_has_every_kind_of_line() {
    let text = xplot(&trail(None).unwrap());
    for (color, line) in [("white", "0.020000 30000 0.020000 47000"), ("red", "0.020000 20000 0.020000 23000")] {
        assert!(text.contains(&format!("{color}\nline {line}\n")), "{text}");
    }
    assert!(text.starts_with("double double\ntitle\nbig\n") && text.ends_with("go\n"), "{text}");
}
