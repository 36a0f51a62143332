#!/usr/bin/env python3
"""From a saved file to live connections on the new code: `dev_time.py CCACTL BPF_FOLDER`.

Copies of cubic and bbrv3 lie in an empty folder; ccactl dev watches. Twenty times a constant is changed, in the file or in
its header; the time runs from the write to the line that says that every live socket was moved and read back.
"""

import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

EDITS = 20
CONNECTIONS = 5
TCP_CONGESTION = 13

# Algorithm, file that is edited (None: the algorithm's own), what stands before its constant, first value.
CASES = [
    ("cubic", None, r"CC_TUNABLE\(u32, beta, ", 500),
    ("bbrv3", "bbr2_params.bpf.h", r"CC_GAIN\(u32, full_bw_growth, ", 1100),
]


def cgroup2():
    mounts = pathlib.Path("/proc/mounts").read_text().splitlines()
    return next(pathlib.Path(line.split()[1]) for line in mounts if line.split()[2] == "cgroup2")


def enter(cgroup):
    (cgroup / "cgroup.procs").write_text(str(os.getpid()))


def connections():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(CONNECTIONS)
    pairs = [(socket.create_connection(listener.getsockname()), listener.accept()[0]) for _ in range(CONNECTIONS)]
    return listener, pairs


def names(pairs):
    found = (end.getsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, 16) for pair in pairs for end in pair)
    return {name.split(b"\0")[0].decode() for name in found}


def measure(ccactl, bpf, room, case):
    name, header, before, first = case
    kernel_name = f"dev_time_{name}"
    text = (bpf / "cc" / f"{name}.bpf.c").read_text()
    text = re.sub(r'CC_ALGORITHM\(\s*"[a-z0-9-]+"', 'CC_ALGORITHM("dev-time"', text, count=1)
    text = re.sub(r'\.name = "[a-z0-9_]+"', f'.name = "{kernel_name}"', text)
    file = room / f"{name}.bpf.c"
    file.write_text(text)
    for path in (bpf / "include").glob("bbr*.h"):
        shutil.copy(path, room)
    edited = room / header if header else file
    original = edited.read_text()
    env = dict(os.environ, CCACTL_BPFFS=f"/sys/fs/bpf/ccactl-dev-time-{os.getpid()}", XDG_CACHE_HOME=str(room))
    name_of_cgroup = f"ccactl-dev-time-{os.getpid()}"
    cgroup, home = cgroup2() / name_of_cgroup, own_cgroup()
    command = [ccactl, "dev", str(file), "--cgroup", f"/{name_of_cgroup}"]
    dev = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, env=env)
    try:
        assert "is in force" in dev.stdout.readline() and "watching" in dev.stdout.readline()
        enter(cgroup)
        listener, pairs = connections()
        enter(home)
        took, objects = [], set()
        for edit in range(EDITS):
            time.sleep(0.5)
            changed, count = re.subn(f"({before})[0-9]+", rf"\g<1>{first + edit}", original, count=1)
            assert count == 1, f"{edited} has no {before}"
            start = time.monotonic()
            edited.write_text(changed)
            line = dev.stdout.readline()
            took.append(time.monotonic() - start)
            moved = int(re.search(r"(\d+) live sockets moved", line)[1])
            assert moved >= 2 * CONNECTIONS and names(pairs) == {kernel_name}, line
            status = json.loads(subprocess.check_output([ccactl, "status", "--json"], env=env))
            objects.add(status[0]["object"])
        assert len(objects) == EDITS, "each edit is other code"
        for ours, theirs in pairs:
            ours.sendall(b"x" * 1000)
            assert theirs.recv(2000)
            ours.close()
            theirs.close()
        listener.close()
    finally:
        dev.terminate()
        dev.wait(timeout=10)
        subprocess.run([ccactl, "unload", "--all"], env=env, stdout=subprocess.DEVNULL, check=False)
        cgroup.rmdir()
    took.sort()
    ms = [1000 * value for value in (statistics.median(took), took[-2], took[-1])]
    print(f"| `{name}` | {ms[0]:.0f} | {ms[1]:.0f} | {ms[2]:.0f} |", flush=True)


def own_cgroup():
    line = next(line for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::"))
    return cgroup2() / line[3:].lstrip("/")


def main():
    ccactl, bpf = sys.argv[1], pathlib.Path(sys.argv[2])
    print(f"{EDITS} edits, {CONNECTIONS} live connections, both ends; ms from the write until all were read back\n")
    print("| a copy of | median | p95 | largest |\n|---|---|---|---|")
    for case in CASES:
        with tempfile.TemporaryDirectory() as room:
            measure(ccactl, bpf, pathlib.Path(room), case)


main()
