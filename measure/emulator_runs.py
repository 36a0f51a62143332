#!/usr/bin/env python3
"""Whole runs over fast links, and where their emulator spends its time:
`emulator_runs.py CCACTL [--links N] [--mbit N] [--rtt-ms N] [--runs N] [--profile]`.

Each link has a flow of native CUBIC and a buffer of two BDP. A run takes ten seconds. With --profile, perf watches the
emulator for three seconds of each run.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

SECONDS = 10
PERF_SECONDS = 3

# Part of the work, and the functions with which it begins. A sample belongs to the first part that one of its callers names.
PARTS = [
    ("sleeping and waking up", ["hrtimer_nanosleep", "do_epoll_wait", "do_sys_poll"]),
    ("waking up the receiver", ["sock_def_readable"]),
    ("TCP of the hosts", ["netif_receive_skb", "__netif_receive_skb"]),
    ("reading a device", ["vfs_read", "ksys_read", "read"]),
    ("writing to a device, without TCP", ["vfs_write", "vfs_writev", "do_writev", "writev", "__GI___writev"]),
]
REST = "the emulator itself"


def scenario(links, mbit, rtt_ms):
    """One link, and so many hops beside it."""
    link = f'rate = "{mbit}Mbit/s"\nbuffer = {{ bytes = {mbit * 125 * rtt_ms * 2} }}\n'
    every = 'every = "rtt"\n' if links > 1 else ""
    text = f'duration = "{SECONDS}s"\n{every}[link]\nbase_rtt = "{rtt_ms}ms"\n{link}'
    text += '[[flow]]\nname = "flow-0"\nalgorithm = "native:cubic"\n'
    for i in range(1, links):
        text += f'[[hop]]\nname = "hop-{i}"\ndelay = "{rtt_ms / 2}ms"\n{link}'
        text += f'[[flow]]\nname = "flow-{i}"\nalgorithm = "native:cubic"\npath = ["hop-{i}"]\n'
    return text


def emulator_threads(pid):
    """Their ids, and whether they are there by now."""
    return [task.name for task in pathlib.Path(f"/proc/{pid}/task").iterdir() if name_of(task) == "ccactl-emulator"]


def name_of(task):
    """Of a thread; none of one that has ended meanwhile."""
    try:
        return (task / "comm").read_text().strip()
    except OSError:
        return None


def resident_kib(pid):
    """Memory of the process that is mapped."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1))


def run(ccactl, file, folder, profile):
    """Result of one run, its memory in KiB, and the samples of perf."""
    output = folder / "out"
    shutil.rmtree(output, ignore_errors=True)
    command = [ccactl, "bench", file, "-o", output, "--attempts", "1", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 30
    while not emulator_threads(process.pid) and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(SECONDS - PERF_SECONDS - 1)
    memory, samples = resident_kib(process.pid), None
    if profile:
        data = folder / "perf.data"
        threads = ",".join(emulator_threads(process.pid))
        record = ["perf", "record", "-g", "-q", "-t", threads, "-o", data, "--", "sleep", str(PERF_SECONDS)]
        subprocess.run(record, check=True, stderr=subprocess.DEVNULL)
        script = ["perf", "script", "-i", data, "-F", "period,ip,sym"]
        samples = subprocess.run(script, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    process.wait(timeout=120)
    return json.loads((output / "result.json").read_text())["runs"][0], memory, samples


def parts(samples):
    """Share of each part."""
    total, by_part = 0, dict.fromkeys([name for name, _ in PARTS] + [REST], 0)
    for sample in samples.strip().split("\n\n"):
        head, *stack = sample.splitlines()
        callers = {line.split()[1] for line in stack if len(line.split()) > 1}
        name = next((name for name, begins in PARTS if callers & set(begins)), REST)
        period = int(head.split()[0])
        by_part[name] += period
        total += period
    return {name: period / total for name, period in by_part.items()}


def main():
    """Prints the table of the runs, and that of the parts."""
    parser = argparse.ArgumentParser(prog="cargo xtask bench runs")
    parser.add_argument("ccactl")
    parser.add_argument("--links", type=int, default=1)
    parser.add_argument("--mbit", type=int, nargs="+", default=[100, 400, 1000, 2500])
    parser.add_argument("--rtt-ms", type=int, default=10)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    if args.profile and not shutil.which("perf"):
        parser.exit(1, "bench runs --profile: expected the program perf, found none: install linux-perf\n")
    shares = {}
    print("| links | Mbit/s | valid | utilisation | lateness p50 / p99 / p99.9 [µs] | CPUs of the emulator | memory [MiB] |")
    print("|---:|---:|---|---:|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for mbit in args.mbit:
            file = folder / f"fast-{mbit}.toml"
            file.write_text(scenario(args.links, mbit, args.rtt_ms))
            for _ in range(args.runs):
                result, memory, samples = run(args.ccactl, file, folder, args.profile)
                link, late = result["link"], result["link"]["lateness"]
                why = "yes" if result["valid"] else "no: " + "; ".join(result["problems"])
                percentiles = " / ".join(f"{late[name]:.0f}" for name in ("p50_us", "p99_us", "p999_us"))
                cpus = result["cpu"]["emulator_s"] / SECONDS
                row = f"| {args.links} | {mbit} | {why} | {link['utilisation'] * 100:.1f} % | {percentiles} "
                print(f"{row}| {cpus:.2f} | {memory / 1024:.0f} |", flush=True)
                if samples:
                    shares[mbit] = parts(samples)
    if shares:
        print("\n| share of the emulator's time | " + " | ".join(f"{mbit} Mbit/s" for mbit in shares) + " |")
        print("|---|" + "---:|" * len(shares))
        for name in [name for name, _ in PARTS] + [REST]:
            print(f"| {name} | " + " | ".join(f"{share[name] * 100:.0f} %" for share in shares.values()) + " |")


if __name__ == "__main__":
    main()
