"""The line `verify`: what checking costs a run, beside the same run that checks nothing and beside fio's crc32c."""

import os
import subprocess

from core import BLOCK, Row, Skip, at_most
from record import LoopDevice

MIB = 1 << 20
DEPTH = 32
# Requests per second where the rate is held: below 50 000, and of timed requests.
HELD = 40_000
ARRIVALS = 10_000
LARGE_ARRIVALS = 500

PHASE = """[[phase]]
name = "{name}"
[[phase.job]]
target = 0
depth = {depth}
[phase.job.workload]
kind = "generated"
order = "{order}"
region = "{region}"
block_size = "{size}"
read_percent = {reads}
stop = {{ requests = {requests} }}
pace = {pace}
"""
CLOSED = '{ kind = "closed" }'


def line_verify(bench):
    """--verify beside no check and beside fio's verify=crc32c, on zram and a loop device; scan, memory, issue delay"""
    if os.geteuid() != 0:
        raise Skip("zram and loop devices need root")
    zram = bench.zram()
    try:
        rows = on_device(bench, zram, "zram")
    finally:
        # Other lines read a device that was never written.
        subprocess.run(["blkdiscard", zram], stderr=subprocess.DEVNULL)
    with LoopDevice() as device:
        rows += on_device(bench, device.path, "loop")
    return rows + [memory(bench)]


def plan_of(bench, device, region, modes):
    """Writes the region, then reads it: each phase is a line. The last is what the final scan is compared with."""
    seconds = 0.2 if bench.tiny else 2
    pace = lambda iops, process: f'{{ kind = "rate", iops = {iops}, process = "{process}" }}'
    timed = lambda name, size, iops, process: (name, DEPTH, "random", size, 50, int(iops * seconds), pace(iops, process))
    phases = [("fill", 4, "sequential", 16 * BLOCK, 0, region // (16 * BLOCK), CLOSED),
              ("reads", DEPTH, "random", BLOCK, 100, region // BLOCK, CLOSED),
              ("mixed", DEPTH, "random", BLOCK, 50, region // BLOCK, CLOSED),
              timed("held", BLOCK, HELD, "constant"),
              timed("timed", BLOCK, ARRIVALS, "poisson"),
              timed("large", 64 * BLOCK, LARGE_ARRIVALS, "poisson"),
              ("plain", 16, "sequential", MIB, 100, region // MIB, CLOSED)]
    head = f'version = 2\nrun_id = {bench.number + 1}\nseed = 1\ndepth = 1\ndestroy = true\n'
    head += f'verify = {{ modes = "{modes}" }}\n' if modes else ""
    head += f'[[target]]\npath = "{device}"\n'
    path = bench.path("verify.toml")
    with open(path, "w") as file:
        file.write(head)
        for name, depth, order, size, reads, requests, paced in phases:
            file.write(PHASE.format(name=name, depth=depth, order=order, region=region, size=size, reads=reads,
                                    requests=requests, pace=paced))
    return path, {phase[0]: number for number, phase in enumerate(phases)}


class Run:
    """A run of the plan: what each of its phases came to."""

    def __init__(self, bench, device, region, modes):
        plan, self.numbers = plan_of(bench, device, region, modes)
        self.result = bench.ours(["run", plan])
        self.scan = (self.result["run"].get("verified") or {}).get("scan")

    def part(self, name):
        return self.result["summary"]["parts"]["phases"][self.numbers[name]]

    def rate(self, name):
        """Thousand requests per second, from the first submission of the phase to its last completion."""
        return self.part(name)["delivered"]["requests_per_second"] / 1e3

    def gigabytes(self, name):
        return self.part(name)["delivered"]["bytes_per_second"] / 1e9

    def cpu(self, name):
        """CPU time of the issuing thread for a request, in nanoseconds."""
        own = [one for one in self.result["run"]["passes"] if one.get("phase", 0) == self.numbers[name]]
        return sum(one["cpu_ns"] for one in own) / self.part(name)["completed"]

    def late(self, name):
        return self.part(name)["delay"]["p99_ns"] / 1e3


def on_device(bench, device, kind):
    """Ours without and with checks, and fio's likewise, in turn; who goes first takes turns, too."""
    region = (16 if bench.tiny else 512) * MIB
    sides = {"bare": lambda: Run(bench, device, region, None),
             "checked": lambda: Run(bench, device, region, "read,final"),
             "fio": lambda: fio_reads(bench, device, region, True),
             "fio bare": lambda: fio_reads(bench, device, region, False)}
    turns = []
    for turn in range(bench.pairs):
        names = list(sides) if turn % 2 == 0 else list(sides)[::-1]
        done = {name: sides[name]() for name in names}
        turns.append(done)
    return closed_rows(kind, turns) + timed_rows(kind, turns) + [scan_row(kind, turns)]


def fio_reads(bench, device, region, is_checked):
    """fio checks what its reads give where it only reads, and in the order in which it wrote: so a job writes before that."""
    if not bench.fio_path:
        return None
    both = [f"--filename={device}", "--direct=1", "--ioengine=io_uring", f"--iodepth={DEPTH}", f"--bs={BLOCK}",
            f"--size={region}", "--registerfiles=1", "--fixedbufs=1"]
    checks = ["--verify=crc32c", "--verify_fatal=1"] if is_checked else []
    bench.fio(*both, "--rw=randwrite", *checks, *(["--do_verify=0"] if is_checked else []))
    return bench.fio(*both, "--rw=randread", *checks)


def row_of(kind, what, unit, aim, other, verdict, pairs, **options):
    row = Row("verify", f"{kind}: {what}", unit, aim, **options)
    row.other, row.verdict = other, verdict
    for ours, theirs in pairs:
        row.add(ours, theirs)
    return row


def share(least):
    """At least so much of the other's figure, by the ratios of the pairs."""
    return lambda ours, theirs, ratio: None if ratio is None else least - ratio


def closed_rows(kind, turns):
    checked = lambda figure, name: [(figure(turn["checked"], name), figure(turn["bare"], name)) for turn in turns]
    fio = lambda side: [turn[side] and turn[side]["iops"] / 1e3 for turn in turns]
    rate = lambda what, least, name: row_of(kind, what, "k requests/s", f"ratio >= {least}", "no check", share(least),
                                            checked(Run.rate, name), higher=True)
    rows = [rate("4 KiB random reads, --verify read", 0.8, "reads"),
            rate("4 KiB random reads and writes, --verify read", 0.8, "mixed"),
            rate(f"the same, held at {HELD // 1000} k/s", 0.95, "held"),
            row_of(kind, "random reads, issuing thread", "ns CPU/request", "", "no check", None, checked(Run.cpu, "reads"))]
    if turns[0]["fio"]:
        ours = [turn["checked"].rate("reads") for turn in turns]
        rows += [row_of(kind, "4 KiB random reads, checked", "k requests/s", "ratio >= 0.8", "fio verify=crc32c", share(0.8),
                        zip(ours, fio("fio")), higher=True),
                 row_of(kind, "fio's own, checked", "k requests/s", "", "fio, no check", None,
                        zip(fio("fio"), fio("fio bare")), higher=True)]
    return rows


def timed_rows(kind, turns):
    rows = []
    for name, what in (("timed", f"4 KiB at {ARRIVALS} random times a second"),
                       ("large", f"256 KiB at {LARGE_ARRIVALS} random times a second")):
        pairs = [(turn["checked"].late(name), turn["bare"].late(name)) for turn in turns]
        rows.append(row_of(kind, f"{what}: p99 issue delay", "us", "<= + 20", "no check",
                           lambda ours, theirs, ratio: ours - theirs - 20, pairs))
    return rows


def scan_row(kind, turns):
    """Bytes of the scan by its time, which contains the flush of the target, and second reads if there were any."""
    speed = lambda scan: scan["bytes"] / max(seconds(scan["end"]) - seconds(scan["start"]), 1e-9) / 1e9
    pairs = [(speed(turn["checked"].scan), turn["bare"].gigabytes("plain")) for turn in turns]
    return row_of(kind, "scan at the end", "GB/s", "ratio >= 0.8", "plain reads of 1 MiB", share(0.8), pairs, higher=True, digits=2)


def seconds(text):
    """A time of run.json, in its largest unit without a fraction."""
    units = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}
    digits = text.rstrip("numsh")
    return float(digits) * units[text[len(digits):]]


def memory(bench):
    """A device of 64 GiB whose requests are simulated; all of them lie on multiples of 4 KiB."""
    touched = (16 if bench.tiny else 1024) * MIB
    result = bench.ours(["run", "-t", "simulated", "--engine", "sim", "--rw", "write", "--bs", "64k", "--size", str(touched),
                         "--verify", "final"])
    row = Row("verify", f"state of {touched // MIB} MiB that were written, in 4 KiB units", "MiB/GiB", "<= 1.8", digits=2)
    row.verdict = at_most(1.8)
    row.add(result["run"]["verified"]["memory"] / MIB / (touched / (1 << 30)))
    return row
