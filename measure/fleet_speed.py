#!/usr/bin/env python3
"""Summaries of parts: time over nodes, time and memory of a recording longer than the disk.

    fleet_speed.py CCACTL SYNTHETIC_BIG FOLDER [ROWS]

First a recording of ROWS (100 million) in 60 parts is summed up on 1, 2 and 3 nodes. Nodes work one after the other, as they would
on machines of their own: here they would share two CPUs and their memory. All have done their part when the slowest one has. Then ten
times as many rows are made, folded and removed, part by part. At last there is a tenth as many connections of five rows each.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

PARTS = 60
NODES = 3
FLOWS = 200


def ended(process):
    """Peak MiB and output of a process that must succeed."""
    output, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"`{' '.join(map(str, process.args))}` failed with {process.returncode}: {errors.decode()}")
    return usage.ru_maxrss / 1024, output


def started(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def shares(things, count):
    """Neighbours stay together: their summaries add up at once."""
    return [things[len(things) * i // count : len(things) * (i + 1) // count] for i in range(count)]


def over_nodes(ccactl, synthetic, folder, rows):
    recording = folder / "recording"
    recording.mkdir()
    maker = subprocess.Popen([synthetic, recording, str(rows), str(FLOWS), "--parts", str(PARTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    parts = []
    for line in maker.stdout:
        parts.append(pathlib.Path(line.strip()))
        maker.stdin.write("\n")
        maker.stdin.flush()
    maker.wait()
    peak, whole = ended(started([ccactl, "report", recording, "--json"]))
    print(f"{rows} rows of {FLOWS} flows in {PARTS} parts, {sum(part.stat().st_size for part in parts) / 1e9:.2f} GB; "
          f"the report of the rows takes {peak:.0f} MiB\n")
    print("| nodes | slowest node [s] | efficiency | merge [s] | with it | largest node [MiB] | merge [MiB] | equal |")
    print("|---|---|---|---|---|---|---|---|")
    one = None
    for count in range(1, NODES + 1):
        summaries = [folder / f"{count}-{number}.summary" for number in range(count)]
        times_s, peaks = [], []
        for share, summary in zip(shares(parts, count), summaries):
            begun = time.monotonic()
            peaks.append(ended(started([ccactl, "report", "--partial", *share, "-o", summary]))[0])
            times_s.append(time.monotonic() - begun)
        map_s = max(times_s)
        begun = time.monotonic()
        merge_peak, merged = ended(started([ccactl, "report", "--merge", *summaries, "--json"]))
        merge_s = time.monotonic() - begun
        walls_s = [map_s, map_s + merge_s]
        one = one or walls_s
        efficiency, with_merge = [alone / wall / count for alone, wall in zip(one, walls_s)]
        equal = "yes" if json.loads(merged) == json.loads(whole) else "no"
        print(f"| {count} | {map_s:.1f} | {efficiency:.2f} | {merge_s:.1f} | {with_merge:.2f} | {max(peaks):.0f} | {merge_peak:.0f} | {equal} |",
              flush=True)
    for part in parts:
        part.unlink()


def part_by_part(ccactl, synthetic, recording, rows, options, parts):
    """Makes a recording, folds each part while the next one is made, and merges. Two parts are on the disk at a time."""
    recording.mkdir()
    command = [synthetic, recording, str(rows), *options, "--parts", str(parts)]
    maker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    begun, peak, summaries, folding = time.monotonic(), 0, [], None
    for line in maker.stdout:
        part = pathlib.Path(line.strip())
        maker.stdin.write("\n")
        maker.stdin.flush()
        if folding:
            peak = max(peak, ended(folding[0])[0])
            folding[1].unlink()
        summary = part.with_suffix(".summary")
        summaries.append(summary)
        folding = (started([ccactl, "report", "--partial", part, "-o", summary]), part)
    maker.wait()
    peak = max(peak, ended(folding[0])[0])
    folding[1].unlink()
    made_s = time.monotonic() - begun
    size = sum(summary.stat().st_size for summary in summaries)
    begun = time.monotonic()
    merge_peak, merged = ended(started([ccactl, "report", "--merge", *summaries, "--json"]))
    found = json.loads(merged)["recordings"][0]
    connections = len(found["flows"]) + found.get("pooled_flows", 0)
    print(f"| {found['rows']} | {connections} | {parts} | {made_s:.0f} | {peak:.0f} | {size / 1e6:.0f} | "
          f"{time.monotonic() - begun:.1f} | {merge_peak:.0f} |", flush=True)
    for summary in summaries:
        summary.unlink()


def main():
    ccactl, synthetic, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    rows = int(sys.argv[4]) if len(sys.argv) > 4 else 100_000_000
    folder.mkdir()
    over_nodes(ccactl, synthetic, folder, rows)
    print("\n| rows | flows | parts | making and folding [s] | largest summary process [MiB] | all summaries [MB] | merge [s] | merge [MiB] |")
    print("|---|---|---|---|---|---|---|---|")
    part_by_part(ccactl, synthetic, folder / "long", 10 * rows, [str(FLOWS)], 2 * PARTS)
    part_by_part(ccactl, synthetic, folder / "short", rows // 2, [str(FLOWS), "--connections"], 2 * PARTS)


main()
