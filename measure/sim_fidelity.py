#!/usr/bin/env python3
"""The simulator beside the kernel, ACK by ACK: one flow of each algorithm, in the virtual lab and in the simulator.

    sim_fidelity.py CCACTL FOLDER [--kernel 6.18] [--jobs 2] [--paths NAME,…] [--only NAME,…]

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
name = "fidelity-{name}"
description = "One flow over a drop-tail bottleneck, a row for each ACK"
duration = "{duration}"
every = "ack"

[link]
{link}

[[flow]]
name = "flow"
algorithm = "cubic"
"""
# Name, length, link; those of docs/fidelity.md with one flow, and a longer one.
PATHS = {
    "20m-40ms": ("8s", "rate = '20Mbit/s'\nbase_rtt = '40ms'\nbuffer = '1bdp'"),
    "20m": ("4s", "rate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '1bdp'"),
    "50m-shallow": ("3s", "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '0.5bdp'"),
    "50m-deep": ("3s", "rate = '50Mbit/s'\nbase_rtt = '40ms'\nbuffer = '2bdp'"),
    "10m-loss": ("6s", "rate = '10Mbit/s'\nbase_rtt = '100ms'\nbuffer = '1bdp'\nloss = 0.005"),
    "marks": ("4s", "rate = '20Mbit/s'\nbase_rtt = '20ms'\nbuffer = '2bdp'\necn_threshold = '20p'"),
}
# It needs ECN, which only this path gives. Prague needs a newer kernel than the one compared with.
WITH_ECN = {"dctcp"}
NOT_HERE = {"prague"}
MARKS = "marks"


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


def compared(lab, sim):
    """Two cells: of the ACKs before the first loss, and of the whole run."""
    of_lab, of_sim = samples(lab), samples(sim)
    first_loss = lambda rows: rows.filter(pl.col("lost_pkts") > 0)["bytes_acked"].min()
    losses = [bytes_acked for bytes_acked in map(first_loss, [of_lab, of_sim]) if bytes_acked]
    before = pl.col("bytes_acked") < min(losses, default=1 << 62)
    once = lambda rows: rows.filter(before).unique("bytes_acked", keep="last")
    both = once(of_lab).join(once(of_sim), on="bytes_acked", suffix="_sim").sort("bytes_acked")
    apart = (both["cwnd_pkts"].cast(pl.Int64) - both["cwnd_pkts_sim"].cast(pl.Int64)).abs()
    rtt = (both["rtt_us"].cast(pl.Int64) - both["rtt_us_sim"].cast(pl.Int64)).abs() / both["rtt_us"]
    near = (rtt <= 0.01).sum() / max(1, len(both))
    equal = (apart == 0).sum() / max(1, len(both))
    acks = f"{100 * equal:.0f} % of {len(both)}, {apart.max() or 0}; {100 * near:.0f} %"
    (goodput, rtt_ms, resent, _), lab_figures = figures(sim), figures(lab)
    whole = f"{goodput / lab_figures[0]:.2f}, {rtt_ms / lab_figures[1]:.2f}; {lab_figures[2]:.0f} / {resent:.0f}"
    return acks, whole


def table(title, paths, algorithms, cells):
    print(f"\n{title}\n\n| algorithm | {' | '.join(paths)} |\n|---|{'---:|' * len(paths)}")
    for algorithm in algorithms:
        print(f"| `{algorithm}` | {' | '.join(cells.get((path, algorithm), '') for path in paths)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ccactl", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kernel", default="6.18")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--paths", default=",".join(PATHS), metavar="NAME,…")
    parser.add_argument("--only", default="", metavar="NAME,…")
    args = parser.parse_args()
    algorithms = args.only.split(",") if args.only else []
    if not algorithms:
        listed = json.loads(subprocess.run([args.ccactl, "list", "--json"], capture_output=True, check=True).stdout)
        algorithms = [of["name"] for of in listed["algorithms"] if of["kind"] == "send" and of["name"] not in NOT_HERE]
    paths = args.paths.split(",")
    places = {"lab": ["--lab", f"vm:{args.kernel}"], "sim": ["--sim"]}

    def both(path, scenario, algorithm):
        folders = {name: scenario.parent / f"{algorithm}-{name}" for name in places}
        troubles = [bench(args.ccactl, scenario, algorithm, place, folders[name]) for name, place in places.items()]
        for name, trouble in zip(places, troubles):
            if trouble:
                return (f"none of the {name}: {trouble[0]}",) * 2
        return compared(folders["lab"], folders["sim"])

    wanted = []
    for path in paths:
        duration, link = PATHS[path]
        scenario = args.folder / path / "fidelity.toml"
        scenario.parent.mkdir(parents=True, exist_ok=True)
        scenario.write_text(SCENARIO.format(name=path, duration=duration, link=link))
        wanted += [(path, scenario, name) for name in algorithms if (name in WITH_ECN) == (path == MARKS)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = dict(zip([(path, name) for path, _, name in wanted], pool.map(lambda of: both(*of), wanted)))
    acks = "ACKs before the first loss at which cwnd is equal; largest difference [packets]; RTT within 1 %"
    whole = "The whole run, simulated over the lab's: goodput, mean RTT; packets sent again, lab / simulated"
    for title, at in [(acks, 0), (whole, 1)]:
        table(title, paths, algorithms, {key: cells[at] for key, cells in found.items()})


if __name__ == "__main__":
    main()
