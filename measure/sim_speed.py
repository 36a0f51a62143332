#!/usr/bin/env python3
"""Packets in a second of CPU time: the simulator beside ns-3, CUBIC flows over one bottleneck, in turns.

    sim_speed.py DUMBBELL [ROUNDS]

DUMBBELL is the example of crates/sim. Without the Python module `ns3` (`pip install ns3`) only the simulator is measured, and
the output says so.
"""

import importlib.util
import json
import resource
import statistics
import subprocess
import sys
import time

# Flows, Mbit/s, base RTT in ms, buffer in BDP, seconds of virtual time. With more flows, more of the wall time is theirs to start.
CASES = [(1, 100, 20, 1, 10), (100, 1000, 20, 1, 2), (10_000, 10_000, 20, 1, 0.5)]
LIMIT_S = 900


def ns3(flows, rate_mbps, rtt_ms, buffer_bdp, seconds):
    """One run of ns-3; prints what the simulator prints."""
    from ns import ns

    set_default = ns.Config.SetDefault
    set_default("ns3::TcpL4Protocol::SocketType", ns.StringValue("ns3::TcpCubic"))
    set_default("ns3::TcpSocket::SegmentSize", ns.UintegerValue(1448))
    set_default("ns3::TcpSocket::InitialCwnd", ns.UintegerValue(10))
    for name in ["SndBufSize", "RcvBufSize"]:
        set_default("ns3::TcpSocket::" + name, ns.UintegerValue(1 << 26))
    ends = ns.NodeContainer()
    ends.Create(2)
    left, right = ends.Get(0), ends.Get(1)
    ns.InternetStackHelper().Install(ends)
    buffer_pkts = max(2, int(rate_mbps * 1e3 * rtt_ms / 8 / 1500 * buffer_bdp))
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate_mbps}Mbps"))
    link.SetChannelAttribute("Delay", ns.StringValue(f"{rtt_ms / 2}ms"))
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.StringValue(f"{buffer_pkts}p"))
    devices = link.Install(ends)
    addresses = ns.Ipv4AddressHelper()
    addresses.SetBase(ns.Ipv4Address("10.0.0.0"), ns.Ipv4Mask("255.255.255.0"))
    interfaces = addresses.Assign(devices)
    # The queue of the device is the bottleneck's: there is none above it.
    ns.TrafficControlHelper().Uninstall(devices)
    sinks = []
    for i in range(flows):
        port = 1024 + i
        source = ns.BulkSendHelper("ns3::TcpSocketFactory", ns.InetSocketAddress(interfaces.GetAddress(1), port).ConvertTo())
        source.SetAttribute("MaxBytes", ns.UintegerValue(0))
        source.SetAttribute("SendSize", ns.UintegerValue(14480))
        source.Install(left).Start(ns.Seconds(1e-6 * i))
        here = ns.InetSocketAddress(ns.Ipv4Address.GetAny(), port).ConvertTo()
        sink = ns.PacketSinkHelper("ns3::TcpSocketFactory", here).Install(right)
        sink.Start(ns.Seconds(0))
        sinks.append(sink)
    ns.Simulator.Stop(ns.Seconds(seconds))
    begin = time.process_time()
    ns.Simulator.Run()
    cpu_s = time.process_time() - begin
    received = sum(right.GetApplication(i).GetTotalRx() for i in range(flows))
    packets = received // 1448
    print(json.dumps({
        "packets": packets,
        "packets_per_s": packets / cpu_s,
        "goodput_mbps": received * 8 / seconds / 1e6,
        "memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }))


def once(command):
    """What a program prints in its last line; none when it takes too long or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(lines[-1]) if lines else None


def main(dumbbell, rounds):
    print("| flows | Mbit/s | simulated s | | packets/s | goodput Mbit/s | memory MiB | times ns-3 |")
    print("|---:|---:|---:|---|---:|---:|---:|---:|")
    for case in CASES:
        words = [str(number) for number in case]
        commands = {
            "simulator": [dumbbell, "cubic", *words],
            "ns-3": [sys.executable, __file__, "--ns3", *words],
        }
        if importlib.util.find_spec("ns") is None:
            del commands["ns-3"]
            print("no ns-3: pip install ns3", file=sys.stderr)
        results = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                result = once(command)
                if result:
                    results[name].append(result)
        ratio = "–"
        if "ns-3" in results and all(len(of) == rounds for of in results.values()):
            pairs = zip(results["simulator"], results["ns-3"])
            ratio = f"{statistics.median(a['packets_per_s'] / b['packets_per_s'] for a, b in pairs):.0f}"
        for name, of in results.items():
            if not of:
                print(f"| {case[0]} | {case[1]} | {case[4]} | {name} | failed, or more than {LIMIT_S} s | | | |")
                continue
            middle = {key: statistics.median(result[key] for result in of) for key in of[0]}
            print(
                f"| {case[0]} | {case[1]} | {case[4]} | {name} | {middle['packets_per_s']:.0f} | {middle['goodput_mbps']:.1f} "
                f"| {middle['memory_mib']:.0f} | {ratio if name == 'simulator' else ''} |",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1] == "--ns3":
        flows, rate_mbps, rtt_ms, buffer_bdp = (int(word) for word in sys.argv[2:6])
        ns3(flows, rate_mbps, rtt_ms, buffer_bdp, float(sys.argv[6]))
    else:
        main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
