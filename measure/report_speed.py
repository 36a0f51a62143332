#!/usr/bin/env python3
"""Time and memory of `ccactl report` beside DuckDB computing the same figures from the same file.

    report_speed.py CCACTL FILE [ROUNDS]

Both run as processes of their own, in turns. The figures of both are compared; they must agree. Without the Python module
`duckdb` (`pip install duckdb`) only ccactl is measured, and the output says so.
"""

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time

# Counters grow, so their ends are enough.
COUNTERS = """
    SELECT flow_id, min(t_us) AS first_us, max(t_us) AS last_us,
           max(bytes_acked) - min(bytes_acked) AS acked_bytes, max(bytes_sent) - min(bytes_sent) AS sent_bytes,
           max(bytes_retrans) - min(bytes_retrans) AS retrans_bytes,
           max(retrans_pkts) - min(retrans_pkts) AS retrans_pkts, max(lost_pkts) - min(lost_pkts) AS lost_pkts,
           max(delivered_pkts) - min(delivered_pkts) AS delivered_pkts
    FROM read_parquet('{file}') GROUP BY netns, flow_id ORDER BY flow_id
"""
# One step per row. The sort that LAG needs is the dear part, so it carries the fewest columns that suffice.
STEPS = """
    CREATE TEMP TABLE steps AS
    SELECT flow_id, rtt_us, before_cwnd, before_mode, t_us - before_us AS dt, delivered_pkts > before_delivered AS is_sample
    FROM (
        SELECT flow_id, t_us, rtt_us, delivered_pkts,
               lag(t_us) OVER w AS before_us, lag(cwnd_pkts) OVER w AS before_cwnd, lag(trace_mode) OVER w AS before_mode,
               lag(delivered_pkts) OVER w AS before_delivered
        FROM read_parquet('{file}')
        WINDOW w AS (PARTITION BY netns, flow_id ORDER BY t_us)
    )
"""
WINDOWS = "SELECT flow_id, sum(before_cwnd::DOUBLE * dt) / sum(dt) AS cwnd_mean_pkts FROM steps GROUP BY flow_id ORDER BY flow_id"
# How often each RTT occurs, then nearest-rank percentiles of the short list: cheaper than quantile_disc over all rows.
RTTS = """
    WITH counts AS (
        SELECT flow_id, rtt_us, count(*) AS n FROM steps WHERE is_sample AND rtt_us IS NOT NULL GROUP BY ALL
    ), ranks AS (
        SELECT flow_id, rtt_us, n, sum(n) OVER (PARTITION BY flow_id ORDER BY rtt_us) AS upto,
               sum(n) OVER (PARTITION BY flow_id) AS total
        FROM counts
    )
    SELECT flow_id, sum(rtt_us * n) / any_value(total)::DOUBLE AS rtt_mean_us, min(rtt_us) AS rtt_min_us,
           min(rtt_us) FILTER (upto >= ceil(0.50 * total)) AS rtt_p50_us,
           min(rtt_us) FILTER (upto >= ceil(0.95 * total)) AS rtt_p95_us,
           min(rtt_us) FILTER (upto >= ceil(0.99 * total)) AS rtt_p99_us
    FROM ranks GROUP BY flow_id ORDER BY flow_id
"""
PHASES = """
    SELECT flow_id, before_mode AS mode, sum(dt) AS time_us FROM steps WHERE before_mode IS NOT NULL GROUP BY ALL
    ORDER BY ALL
"""
# Bytes per flow and second from the counter's ends, Jain's index per second.
JAIN = """
    WITH ends AS (
        SELECT flow_id, t_us // 1000000 AS second, max(bytes_acked) AS upto
        FROM read_parquet('{file}') GROUP BY netns, flow_id, second
    ), shares AS (
        SELECT second, upto - lag(upto, 1, 0) OVER (PARTITION BY flow_id ORDER BY second) AS x FROM ends
    )
    SELECT second, sum(x) ** 2 / (count(*) * sum(x::DOUBLE ** 2)) AS jain FROM shares GROUP BY second ORDER BY second
"""


def duckdb_report(file):
    """The figures by DuckDB, as one JSON object."""
    import duckdb

    db = duckdb.connect()
    rows = lambda query: db.execute(query.replace("{file}", file)).fetchall()
    flows = {}
    for flow, first, last, acked, sent, retrans_bytes, retrans, lost, delivered in rows(COUNTERS):
        seconds = (last - first) / 1e6
        flows[flow] = {
            "goodput_bps": 8 * acked / seconds,
            "throughput_bps": 8 * sent / seconds,
            "retrans_pkts": retrans,
            "retrans_ratio": retrans_bytes / sent,
            "loss_ratio": lost / (lost + delivered),
            "phases": {},
        }
    db.execute(STEPS.replace("{file}", file))
    for flow, cwnd in rows(WINDOWS):
        flows[flow]["cwnd_mean_pkts"] = cwnd
    for flow, mean, least, p50, p95, p99 in rows(RTTS):
        flows[flow] |= {"rtt_mean_us": mean, "rtt_min_us": least, "rtt_p50_us": p50, "rtt_p95_us": p95, "rtt_p99_us": p99}
    for flow, mode, time_us in rows(PHASES):
        flows[flow]["phases"][mode] = time_us
    for flow in flows.values():
        known = sum(flow["phases"].values())
        flow["phases"] = {mode: us / known for mode, us in flow["phases"].items()}
    return {"flows": flows, "jain": dict(rows(JAIN))}


def measured(command):
    """Seconds, CPU seconds, peak MiB and output of a process."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"`{' '.join(command)}` failed with {process.returncode}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def check_equal(ours, theirs):
    """Ends with an error at the first figure on which the two differ."""
    def near(what, a, b, tolerance):
        if abs(a - b) > tolerance * max(abs(a), abs(b), 1e-9):
            sys.exit(f"the figures differ: {what} is {a} by ccactl and {b} by DuckDB")

    recording = ours["recordings"][0]
    if len(recording["flows"]) != len(theirs["flows"]):
        sys.exit(f"the figures differ: {len(recording['flows'])} flows by ccactl, {len(theirs['flows'])} by DuckDB")
    for flow in recording["flows"]:
        other = theirs["flows"][str(flow["flow_id"])]
        for key, value in other.items():
            if key == "phases":
                for phase in flow["phases"]:
                    near(f"{phase['mode']} of flow {flow['flow_id']}", phase["share"], value[phase["mode"]], 1e-9)
            else:
                # DuckDB's rates are over the time to the last row, ours to the last progress: a few ACKs.
                near(f"{key} of flow {flow['flow_id']}", flow[key], value, 1e-3 if key.endswith("put_bps") else 1e-9)
    for point in recording["fairness"]["series"]:
        # A step over the edge of a second is split by ccactl and counted whole by DuckDB.
        near(f"Jain index at {point['start_s']} s", point["jain"], theirs["jain"][str(int(point["start_s"]))], 1e-3)


def main():
    if sys.argv[1] == "--duckdb":
        print(json.dumps(duckdb_report(sys.argv[2])))
        return
    ccactl, file = sys.argv[1], sys.argv[2]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    tools = {"ccactl report": [ccactl, "report", file, "--json"]}
    if importlib.util.find_spec("duckdb"):
        tools["DuckDB"] = [sys.executable, __file__, "--duckdb", file]
    results = {name: [] for name in tools}
    for _ in range(rounds):
        for name, command in tools.items():
            results[name].append(measured(command))
    print("| | seconds (median; least … most) | CPU seconds | peak memory [MiB] |\n|---|---|---|---|")
    for name, runs in results.items():
        seconds = [run[0] for run in runs]
        cpu, peak = statistics.median(run[1] for run in runs), max(run[2] for run in runs)
        print(f"| {name} | {statistics.median(seconds):.1f} ({min(seconds):.1f} … {max(seconds):.1f}) | {cpu:.1f} | {peak:.0f} |")
    if "DuckDB" not in results:
        print("\nDuckDB was not measured: the Python module duckdb is missing (pip install duckdb)")
        return
    ours, theirs = (json.loads(results[name][-1][3]) for name in ("ccactl report", "DuckDB"))
    check_equal(ours, theirs)
    ratios = [a[0] / b[0] for a, b in zip(results["ccactl report"], results["DuckDB"])]
    print(f"\nThe figures agree. Time of ccactl / time of DuckDB: {statistics.median(ratios):.2f}")


main()
