use super::*;

fn parse(pairs: &[(&str, &str)]) -> Result<Metadata, MetadataError> {
    Metadata::from_pairs(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

#[test]
fn only_the_schema_version_must_be_there() {
    for (text, schema_version) in [("1", 1), ("2", 2)] {
        let expected = Metadata { schema_version, ..Metadata::default() };
        assert_eq!(parse(&[("ccactl.schema_version", text)]).unwrap(), expected);
    }
    assert_eq!(parse(&[("ccactl.rows", "1")]), Err(MetadataError::NoVersion));
}

#[test]
fn another_version_names_itself_and_the_writer() {
    let error = parse(&[("ccactl.schema_version", "7"), ("ccactl.version", "3.1.0")]).unwrap_err();
    assert_eq!(error, MetadataError::OtherVersion { found: "7".to_owned(), writer: Some("3.1.0".to_owned()) });
}

#[test]
fn values_are_typed_and_unknown_fields_are_passed_over() {
    let metadata = parse(&[
        ("ccactl.schema_version", "1"),
        ("ccactl.link", r#"{"rate_bps": 50000000, "base_rtt_us": 40000, "later": 1}"#),
        ("ccactl.flows", r#"[{"cgroup_id": 18446744073709551615, "name": "a"}]"#),
        ("ccactl.drops", "3"),
    ])
    .unwrap();
    assert_eq!(metadata.link.unwrap().base_rtt_us, Some(40_000.0));
    assert_eq!(metadata.flows.unwrap()[0].cgroup_id, u64::MAX);
    assert_eq!(metadata.drops, Some(3));
}

#[test]
fn a_broken_value_names_its_key_where_a_reader_needs_it() {
    let error = parse(&[("ccactl.schema_version", "1"), ("ccactl.link", "{")]).unwrap_err();
    assert!(matches!(error, MetadataError::Value { key: Key::Link, .. }), "{error:?}");
    let loose = ["half_closed_samples", "drops_before", "canary"].map(|key| format!("ccactl.{key}"));
    for key in &loose {
        assert!(parse(&[("ccactl.schema_version", "1"), (key, "{")]).is_ok(), "{key}");
    }
}

/// The texts of a file, to the byte: other programs read them, and files of one recorder are compared.
#[test]
fn every_key_has_its_text_and_comes_back() {
    let bbr = AlgorithmInfo {
        kernel_name: "bpf_bbr".to_owned(),
        algorithm: "bbr".to_owned(),
        color: Some("#123456".to_owned()),
        modes: vec!["startup".to_owned()],
        v0: Some(ValueInfo { name: "a_pkts".to_owned(), doc: "some \"packets\"".to_owned() }),
        v1: None,
        tunables: serde_json::json!({"gain": "2.5"}),
    };
    let flow = FlowInfo {
        cgroup_id: u64::MAX,
        name: "main".to_owned(),
        algorithm: Some("bbr".to_owned()),
        base_rtt_us: Some(40_000.0),
        paths: BTreeMap::new(),
        way: Some("up".to_owned()),
    };
    let link = Link {
        rate_bps: 5e7,
        mean_rate_bps: Some(4.5e7),
        base_rtt_us: Some(40_000.5),
        buffer_bytes: Some(250_000.0),
        overhead_bytes: 0.0,
    };
    let metadata = Metadata {
        schema_version: 2,
        writer: Some("0.1.0".to_owned()),
        kernel: Some("6.18.0".to_owned()),
        host: Some("web-1".to_owned()),
        boot_id: Some("0f3c".to_owned()),
        labels: Some(BTreeMap::from([("site".to_owned(), "b \"east\"".to_owned())])),
        started: Some("2026-11-20T18:00:00.000Z".to_owned()),
        every: Some("ack".to_owned()),
        events: Some("open,close".to_owned()),
        filter: Some(Filter { port: Some(80), ..Filter::default() }.to_json()),
        buffer_bytes: Some(4096),
        half_closed_samples: Some(true),
        algorithms: Some(vec![bbr, AlgorithmInfo::unknown("cubic")]),
        duration_us: Some(7),
        rows: Some(3),
        rows_by_event: Some(BTreeMap::from([("sample".to_owned(), 3)])),
        drops: Some(6),
        drops_by_reason: Some(DropReasons { ring_full_samples: 1, ring_full_events: 2, no_storage: 3 }),
        dataset: Some("a-b".to_owned()),
        part: Some(0),
        part_started: Some("2026-11-20T18:01:00.000Z".to_owned()),
        drops_before: Some(5),
        parts: Some(1),
        recovered: Some(Recovered { rows: 3, until: None, truncated: true }),
        flows: Some(vec![flow]),
        link: Some(link),
        scenario: Some("a = 1\n".to_owned()),
        canary: Some(Canary {
            baseline: "cubic".to_owned(),
            canary: "bpf_bbr".to_owned(),
            share: 0.25,
            decided_us: Some(9_000_000),
        }),
        trigger: Some(TriggerInfo {
            condition: "cwnd < 4".to_owned(),
            flow_id: 7,
            netns: 8,
            at_us: 9,
            further: 1,
            suppressed: 2,
        }),
    };
    let expected = [
        (
            "algorithms",
            r##"[{"kernel_name":"bpf_bbr","algorithm":"bbr","color":"#123456","modes":["startup"],"v0":{"name":"a_pkts","doc":"some \"packets\""},"v1":null,"tunables":{"gain":"2.5"}},{"kernel_name":"cubic","color":null,"modes":[],"v0":null,"v1":null,"tunables":{}}]"##,
        ),
        ("boot_id", "0f3c"),
        ("buffer_bytes", "4096"),
        ("canary", r#"{"baseline":"cubic","canary":"bpf_bbr","share":0.25,"decided_us":9000000}"#),
        ("dataset", "a-b"),
        ("drops", "6"),
        ("drops_before", "5"),
        ("drops_by_reason", r#"{"ring_full_samples":1,"ring_full_events":2,"no_storage":3}"#),
        ("duration_us", "7"),
        ("events", "open,close"),
        ("every", "ack"),
        ("filter", r#"{"cgroup":null,"cgroup_id":null,"netns":null,"port":80,"pid":null,"algorithm":null}"#),
        (
            "flows",
            r#"[{"algorithm":"bbr","base_rtt_us":40000.0,"cgroup_id":18446744073709551615,"name":"main","way":"up"}]"#,
        ),
        ("half_closed_samples", "true"),
        ("host", "web-1"),
        ("kernel", "6.18.0"),
        ("labels", r#"{"site":"b \"east\""}"#),
        (
            "link",
            r#"{"base_rtt_us":40000.5,"buffer_bytes":250000,"mean_rate_bps":45000000.0,"overhead_bytes":0,"rate_bps":50000000}"#,
        ),
        ("part", "0"),
        ("part_started", "2026-11-20T18:01:00.000Z"),
        ("parts", "1"),
        ("recovered", r#"{"rows":3,"until":null,"truncated":true}"#),
        ("rows", "3"),
        ("rows_by_event", r#"{"sample":3}"#),
        ("scenario", "a = 1\n"),
        ("schema_version", "2"),
        ("started", "2026-11-20T18:00:00.000Z"),
        ("trigger", r#"{"condition":"cwnd < 4","flow_id":7,"netns":8,"at_us":9,"further":1,"suppressed":2}"#),
        ("version", "0.1.0"),
    ];
    let pairs = metadata.to_pairs();
    let found: Vec<_> = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let expected: Vec<_> = expected.iter().map(|(key, value)| (format!("ccactl.{key}"), *value)).collect();
    assert_eq!(found, expected.iter().map(|(key, value)| (key.as_str(), *value)).collect::<Vec<_>>());
    assert_eq!(Metadata::from_pairs(&pairs), Ok(metadata));
}
