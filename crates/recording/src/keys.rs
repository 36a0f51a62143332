//! The keys of the metadata, all of which begin with `ccactl.`.

/// The metadata keys as lines of a Markdown table.
#[must_use]
pub fn keys_table() -> String {
    let mut table = String::from("| key | there in | value |\n|---|---|---|\n");
    for Key { names, place, doc } in KEYS {
        let names: Vec<String> = names.iter().map(|name| format!("`ccactl.{name}`")).collect();
        table += &format!("| {} | {place} | {doc} |\n", names.join(", "));
    }
    table
}

/// One or more keys with the same place and a common description.
struct Key {
    names: &'static [&'static str],
    place: &'static str,
    doc: &'static str,
}

const fn key(names: &'static [&'static str], place: &'static str, doc: &'static str) -> Key {
    Key { names, place, doc }
}

#[rustfmt::skip]
static KEYS: &[Key] = &[
    key(&["schema_version"], "all", "`2`; readers take `1` too and refuse what they do not know"),
    key(&["version", "kernel"], "all", "of ccactl; `uname -r`"),
    key(&["started"], "all", "RFC 3339, UTC"),
    key(&["every", "events", "filter"], "all", "as asked: text; text; JSON `{cgroup, cgroup_id, netns, port, pid, algorithm}`"),
    key(&["buffer_bytes"], "all", "size of the ring buffer"),
    key(&["half_closed_samples"], "all", "`true` when sockets are sampled after one side has closed them"),
    key(&["algorithms"], "all", "JSON: list of `{kernel_name, algorithm, color, modes, v0, v1, tunables}`, loaded or seen; in a stream the whole registry"),
    key(&["duration_us", "rows"], "Parquet", "known at the end"),
    key(&["rows_by_event"], "Parquet", "JSON: rows by `event`"),
    key(&["drops", "drops_by_reason"], "Parquet", "rows lost; JSON `{ring_full_samples, ring_full_events, no_storage}`"),
    key(&["order"], "Parquet", "columns by which the rows of a row group are sorted: `netns,flow_id,time`, without `time` if a row came too late for its place. A file without the key is in order of `time`"),
    key(&["crc32"], "Parquet", "CRC-32 of the whole file with these eight digits being zeros; a reader refuses a file that differs"),
    key(&["dataset", "part"], "parts of `--rotate`", "id that they share; number from 0. `rows`, `rows_by_event`, `drops` and `duration_us` are those of the part"),
    key(&["drops_before"], "streams of parts", "rows lost before the part began"),
    key(&["parts"], "last part", "how many there are; `drops_by_reason` of the whole recording stands beside it"),
    key(&["recovered"], "files of `recover`", "JSON `{rows, until, truncated}`: whole rows, time of the last, whether the stream ended without its end mark. `drops` is then what the last row knew"),
    key(&["flows"], "testbed", "JSON: list of `{cgroup_id, name, algorithm, base_rtt_us, way}`; `way` past the bottleneck: `up`, `down` or `beside`"),
    key(&["link"], "testbed", "JSON `{rate_bps, mean_rate_bps, base_rtt_us, buffer_bytes, overhead_bytes}`"),
    key(&["scenario"], "testbed", "the resolved scenario, TOML"),
    key(&["canary"], "guarded roll-outs", "JSON `{canary, baseline, share}`, kernel names"),
];
