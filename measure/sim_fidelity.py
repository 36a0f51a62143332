#!/usr/bin/env python3
"""The simulator beside the kernel, ACK by ACK: one flow of each algorithm in the virtual lab and in the simulator.

    sim_fidelity.py CCACTL FOLDER [--kernel 6.18] [--jobs 2] [--scenario FILE] [--only NAME,…]

Results stay in FOLDER, and what is there is not run again. Compared are rows at which the same bytes were acknowledged, up to the
first loss; then the figures of the whole run. Needs the Python module `polars` (`pip install polars`).
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess

import polars as pl

SCENARIO = """
name = "fidelity"
description = "One flow over a drop-tail bottleneck, a row for each ACK"
duration = "8s"
every = "ack"

[link]
rate = "20Mbit/s"
base_rtt = "40ms"
buffer = "1bdp"

[[flow]]
name = "flow"
algorithm = "cubic"
"""
# Those need ECN, which this path does not give.
WITH_ECN = {"dctcp", "prague"}


def bench(ccactl, scenario, algorithm, place, folder):
    """Why there is no result, if there is none."""
    if (folder / "result.json").exists():
        return None
    command = [ccactl, "bench", scenario, "--algorithm", algorithm, *place, "-q", "-o", folder]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1:] or ["no word"]


def samples(folder):
    rows = pl.read_parquet(folder / "run-1" / "recording.parquet").sort("t_us")
    return rows.filter(pl.col("event") == "sample")


def figures(folder):
    metrics = json.loads((folder / "result.json").read_text())["runs"][0]["flows"][0]["metrics"]
    return metrics["goodput_bps"] / 1e6, metrics["rtt_mean_us"] / 1e3, metrics["retrans_pkts"], metrics["cwnd_mean_pkts"]


def compared(algorithm, lab, sim):
    of_lab, of_sim = samples(lab), samples(sim)
    first_loss = lambda rows: rows.filter(pl.col("lost_pkts") > 0)["bytes_acked"].min()
    losses = [bytes_acked for bytes_acked in map(first_loss, [of_lab, of_sim]) if bytes_acked]
    before = pl.col("bytes_acked") < min(losses, default=1 << 62)
    once = lambda rows: rows.filter(before).unique("bytes_acked", keep="last")
    both = once(of_lab).join(once(of_sim), on="bytes_acked", suffix="_sim").sort("bytes_acked")
    equal = both["cwnd_pkts"] == both["cwnd_pkts_sim"]
    apart = (both["cwnd_pkts"].cast(pl.Int64) - both["cwnd_pkts_sim"].cast(pl.Int64)).abs().max() or 0
    rtt = (both["rtt_us"].cast(pl.Int64) - both["rtt_us_sim"].cast(pl.Int64)).abs().median() or 0
    first = "–" if equal.all() else str(both["bytes_acked"][int((~equal).arg_max())] // 1448)
    pairs = [f"{a:.1f} / {b:.1f}" for a, b in zip(figures(lab)[:2], figures(sim)[:2])]
    counts = [f"{a:.0f} / {b:.0f}" for a, b in zip(figures(lab)[2:], figures(sim)[2:])]
    share = f"{100 * equal.sum() / max(1, len(both)):.0f} % of {len(both)}"
    return f"| `{algorithm}` | {share} | {first} | {apart} | {rtt:.0f} | {' | '.join(pairs + counts)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ccactl", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kernel", default="6.18")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--scenario", type=pathlib.Path)
    parser.add_argument("--only", default="", metavar="NAME,…")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    scenario = args.scenario or args.folder / "fidelity.toml"
    if not args.scenario:
        scenario.write_text(SCENARIO)
    algorithms = args.only.split(",") if args.only else []
    if not algorithms:
        listed = json.loads(subprocess.run([args.ccactl, "list", "--json"], capture_output=True, check=True).stdout)
        algorithms = [of["name"] for of in listed["algorithms"] if of["name"] not in WITH_ECN and of["kind"] == "send"]
    places = {"lab": ["--lab", f"vm:{args.kernel}"], "sim": ["--sim"]}

    def both(algorithm):
        folders = {name: args.folder / f"{algorithm}-{name}" for name in places}
        troubles = [bench(args.ccactl, scenario, algorithm, place, folders[name]) for name, place in places.items()]
        for name, trouble in zip(places, troubles):
            if trouble:
                return f"| `{algorithm}` | no result of the {name}: {trouble[0]} |"
        return compared(algorithm, folders["lab"], folders["sim"])

    print("| algorithm | equal cwnd, of ACKs | first other at segment | apart by [packets] | RTT apart by [µs] "
          "| goodput [Mbit/s] | mean RTT [ms] | retransmitted | mean cwnd |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for line in pool.map(both, algorithms):
            print(line, flush=True)


if __name__ == "__main__":
    main()
