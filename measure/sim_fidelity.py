#!/usr/bin/env python3
"""The simulator beside the kernel, ACK by ACK: one flow of each algorithm, in the virtual lab and in the simulator.

    sim_fidelity.py CCACTL FOLDER [--kernel 6.18] [--jobs 2] [--paths NAME,…] [--only NAME,…] [--itself] [--start TIME]

Results stay in FOLDER, and what is there is not run again. Compared are rows at which the same bytes were acknowledged, up to the
first loss; then the figures of the whole run. With `--itself` the lab is compared with itself: what a kernel differs by from itself.
`--start` says when the flow of the run beside the lab's begins, 0s, with `--itself` 2300us. Needs the Python module `polars`
(`pip install polars`).
"""

import argparse
import concurrent.futures
import json
import pathlib
import subprocess
import tomllib

import polars as pl

SCENARIO = """
name = "fidelity-{name}"
description = "One flow over a drop-tail bottleneck, a row for each ACK"
duration = "{duration_s}s"
every = "ack"

[link]
{link}

[[flow]]
name = "flow"
algorithm = "cubic"
start = "{start}"
"""
# A path of two flows is for twins in a kernel alone.
LISTED = tomllib.loads((pathlib.Path(__file__).parent / "paths.toml").read_text())["path"]
PATHS = {path["name"]: path for path in LISTED if "joins_s" not in path}
# It needs ECN, which only this path gives. Prague needs a newer kernel than the one compared with.
WITH_ECN = {"dctcp"}
NOT_HERE = {"prague"}
# Another phase of the guest's tick, every 4 ms, and of the millisecond in which hosts count RTTs.
LATER = "2300us"


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
    return metrics["goodput_bps"] / 1e6, metrics["rtt_mean_us"] / 1e3, metrics["retrans_pkts"]


def compared(lab, other):
    """Two cells: of the ACKs before the first loss, and of the whole run."""
    of_lab, of_other = samples(lab), samples(other)
    first_loss = lambda rows: rows.filter(pl.col("lost_pkts") > 0)["bytes_acked"].min()
    losses = [bytes_acked for bytes_acked in map(first_loss, [of_lab, of_other]) if bytes_acked]
    before = pl.col("bytes_acked") < min(losses, default=1 << 62)
    once = lambda rows: rows.filter(before).unique("bytes_acked", keep="last")
    both = once(of_lab).join(once(of_other), on="bytes_acked", suffix="_other").sort("bytes_acked")
    apart = (both["cwnd_pkts"].cast(pl.Int64) - both["cwnd_pkts_other"].cast(pl.Int64)).abs()
    rtt = (both["rtt_us"].cast(pl.Int64) - both["rtt_us_other"].cast(pl.Int64)).abs() / both["rtt_us"]
    near = (rtt <= 0.01).sum() / max(1, len(both))
    equal = (apart == 0).sum() / max(1, len(both))
    acks = f"{100 * equal:.0f} % of {len(both)}, {apart.max() or 0}; {100 * near:.0f} %"
    (goodput, rtt_ms, resent), lab_figures = figures(other), figures(lab)
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
    parser.add_argument("--itself", action="store_true", help="the lab beside itself")
    parser.add_argument("--start", metavar="TIME", help="of the flow beside the lab's")
    args = parser.parse_args()
    algorithms = args.only.split(",") if args.only else []
    if not algorithms:
        listed = json.loads(subprocess.run([args.ccactl, "list", "--json"], capture_output=True, check=True).stdout)
        algorithms = [of["name"] for of in listed["algorithms"] if of["kind"] == "send" and of["name"] not in NOT_HERE]
    paths = args.paths.split(",")
    in_lab = ["--lab", f"vm:{args.kernel}"]
    start = args.start or (LATER if args.itself else "0s")
    later = "later" if start == LATER else f"later-{start}"
    name = later if args.itself else "sim" if start == "0s" else f"sim-{start}"
    other = (name, in_lab if args.itself else ["--sim"], start)

    def one(path, algorithm, name, place, start):
        """Its folder, and why it has no result if it has none."""
        scenario = args.folder / path / f"from-{start}.toml"
        folder = scenario.parent / f"{algorithm}-{name}"
        return folder, bench(args.ccactl, scenario, algorithm, place, folder)

    def both(path, algorithm):
        runs = {name: one(path, algorithm, name, place, start) for name, place, start in [("lab", in_lab, "0s"), other]}
        for name, (_, trouble) in runs.items():
            if trouble:
                return (f"none of the {name}: {trouble[0]}",) * 2
        return compared(*(folder for folder, _ in runs.values()))

    for path in paths:
        of = {key: PATHS[path][key] for key in ["name", "duration_s", "link"]}
        (args.folder / path).mkdir(parents=True, exist_ok=True)
        for begin in {"0s", start}:
            (args.folder / path / f"from-{begin}.toml").write_text(SCENARIO.format(start=begin, **of))
    has_marks = lambda path: PATHS[path].get("marks", False)
    wanted = [(path, name) for path in paths for name in algorithms if (name in WITH_ECN) == has_marks(path)]
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = dict(zip(wanted, pool.map(lambda of: both(*of), wanted)))
    acks = "ACKs before the first loss at which cwnd is equal; largest difference [packets]; RTT within 1 %"
    whole = f"The whole run, {other[0]} over lab: goodput, mean RTT; packets sent again, lab / {other[0]}"
    for title, at in [(acks, 0), (whole, 1)]:
        table(title, paths, algorithms, {key: cells[at] for key, cells in found.items()})


if __name__ == "__main__":
    main()
