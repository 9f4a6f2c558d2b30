"""The line `record`: what the recorder costs while fio uses a device, beside nothing and beside the kernel's tracing alone."""

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

from core import ENDING, Failed, Row, Skip, at_most, say

# Requests per second that fio is held to; none: as many as it gets.
RATES = [20_000, 100_000, None]
MEBIBYTES = 512
TRACING = "/sys/kernel/tracing"
# What `iosonar record` switches on, and the buffers that it takes.
EVENTS = ["block_bio_queue", "block_rq_complete", "block_bio_complete"]
BUFFER_KIB = 32 << 10
STATES = ["nothing", "kernel", "recorder"]


def line_record(bench):
    """iosonar record under fio on a loop device: loss, CPU, and what the job feels beside nothing and the kernel alone"""
    if os.geteuid() != 0 or not bench.fio_path:
        raise Skip("recording needs root, and fio to be recorded")
    turns, seconds = (1, 0.5) if bench.tiny else (max(bench.pairs, 10), 2)
    rows = []
    with LoopDevice() as device:
        for rate in RATES:
            rows += alternated(bench, device, rate, turns, seconds)
    return rows + [on_zram(bench, seconds)]


class LoopDevice:
    """A device of our own whose file lies in memory, so that no disk sets the pace."""

    def __enter__(self):
        # A signal between making it and knowing it would leave it behind.
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        try:
            self.dir = tempfile.mkdtemp(prefix="iosonar-bench.", dir="/dev/shm")
            image = os.path.join(self.dir, "image")
            with open(image, "wb") as file:
                for _ in range(MEBIBYTES):
                    file.write(bytes(1 << 20))
            made = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", image], capture_output=True, text=True)
            self.path = made.stdout.strip()
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
        if made.returncode != 0:
            shutil.rmtree(self.dir)
            raise Skip(f"no loop device: {made.stderr.strip()}")
        return self

    def __exit__(self, *_):
        subprocess.run(["losetup", "-d", self.path])
        shutil.rmtree(self.dir, ignore_errors=True)


class KernelAlone:
    """The events that the recorder switches on, into buffers that nobody reads."""

    def __init__(self, device):
        self.dir = os.path.join(TRACING, "instances", f"iosonar-bench-{os.getpid()}")
        self.number = os.stat(device).st_rdev

    def __enter__(self):
        if not os.path.isdir(os.path.dirname(self.dir)):
            raise Skip(f"tracing is not mounted at {TRACING}")
        os.mkdir(self.dir)
        self.write("tracing_on", "0")
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", BUFFER_KIB // os.cpu_count())
        packed = os.major(self.number) << 20 | os.minor(self.number)
        for event in EVENTS:
            self.write(f"events/block/{event}/filter", f"dev == {packed}")
            self.write(f"events/block/{event}/enable", "1")
        self.write("tracing_on", "1")

    def __exit__(self, *_):
        self.write("tracing_on", "0")
        self.write("events/enable", "0")
        os.rmdir(self.dir)

    def write(self, file, text):
        with open(os.path.join(self.dir, file), "w") as control:
            control.write(str(text))


class Recorder:
    """`iosonar record` while it is entered; afterwards what it says of itself."""

    def __init__(self, bench, device):
        self.bench, self.device, self.out = bench, device, bench.path("recording")

    def __enter__(self):
        command = [self.bench.iosonar, "record", self.device, "--out", self.out, "--no-progress"]
        self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.isdir(os.path.join(self.out, "events")):
            if self.child.poll() is not None:
                raise Failed(f"iosonar record: code {self.child.returncode}")
            time.sleep(0.01)
        return self

    def __exit__(self, *_):
        self.child.send_signal(signal.SIGINT)
        try:
            self.child.wait(60)
            with open(os.path.join(self.out, "recording.json")) as file:
                self.told = json.load(file)["counts"]
            with open(os.path.join(self.out, "summary.json")) as file:
                self.told["requests"] = json.load(file)["counts"]["all"]["total"]
        finally:
            self.child.kill()
            shutil.rmtree(self.out, ignore_errors=True)


def alternated(bench, device, rate, turns, seconds):
    """Windows of each state in turn, in an order that chance gives: rows of what the job felt and what the recorder took."""
    chance, windows = random.Random(1), {state: [] for state in STATES}
    for _ in range(turns):
        for state in chance.sample(STATES, len(STATES)):
            windows[state].append(window(bench, device.path, state, rate, seconds))
    what = f"{rate // 1000} k IOPS" if rate else "full speed"
    reached = statistics.median(job["iops"] for job in windows["nothing"])
    say(f"   {what}: the job reached {reached:,.0f} requests/s without tracing")
    return felt(what, windows) + taken(what, windows["recorder"])


def window(bench, device, state, rate, seconds):
    """A job of fio in one state: its rate, latency and CPU time, and what the recorder told."""
    held = [f"--rate_iops={rate}"] if rate else []
    arguments = [f"--filename={device}", "--readonly", "--ioengine=libaio", "--direct=1", "--rw=randread", "--bs=4k",
                 "--iodepth=32", "--time_based", f"--runtime={int(seconds * 1000)}ms", *held]
    if state == "kernel":
        with KernelAlone(device):
            return bench.fio(*arguments)
    if state == "recorder":
        with Recorder(bench, device) as recorder:
            job = bench.fio(*arguments)
        return {**job, "told": recorder.told}
    return bench.fio(*arguments)


FELT = [("iops", "requests per second", "k/s", 1e-3, 1), ("cpu_us", "fio's CPU time for a request", "us", 1, 2),
        ("latency_us", "mean latency", "us", 1, 1)]


def felt(what, windows):
    """What the job felt, each state beside nothing in the same turn."""
    rows = []
    for key, words, unit, scale, digits in FELT:
        for state, name in (("kernel", "kernel's tracing alone"), ("recorder", "iosonar record")):
            row = Row("record", f"{what}, {name}: {words}", unit, higher=key == "iops", digits=digits)
            row.other, row.has_interval = "no tracing", True
            for traced, bare in zip(windows[state], windows["nothing"]):
                row.add(traced[key] * scale, bare[key] * scale)
            rows.append(row)
    return rows


def taken(what, jobs):
    """What the recorder took, and what it lost."""
    share = Row("record", f"{what}: CPU of the recorder", "% of a CPU", "<= 5 at 100 k", digits=2)
    share.verdict = at_most(5)
    cost = Row("record", f"{what}: CPU of the recorder", "us/request", digits=3)
    kept = Row("record", f"{what}: requests in the recording; fio's", "k", "all, or counted", digits=1)
    kept.other = "fio"
    lost = Row("record", f"{what}: events that were lost, as it counts", "events", digits=0)
    for job in jobs:
        told = job["told"]
        share.add(told["cpu_seconds"] / job["seconds"] * 100)
        cost.add(told["cpu_seconds"] / max(told["requests"], 1) * 1e6)
        kept.add(told["requests"] / 1e3, job["requests"] / 1e3)
        lost.add(told["lost_events"])
    missing = sum(job["requests"] - job["told"]["requests"] for job in jobs if job["told"]["lost_events"] == 0)
    kept.verdict = lambda ours, theirs, ratio: missing
    return [share, cost, kept, lost]


def on_zram(bench, seconds):
    """zram has no requests: bios alone are recorded there."""
    device = bench.zram()
    with Recorder(bench, device) as recorder:
        job = bench.fio(f"--filename={device}", "--readonly", "--ioengine=psync", "--direct=1", "--rw=randread", "--bs=4k",
                        "--time_based", f"--runtime={int(seconds * 1000)}ms", "--rate_iops=20000")
    row = Row("record", "zram (bios only) at 20 k IOPS: requests in the recording; fio's", "k")
    row.other = "fio"
    row.add(recorder.told["requests"] / 1e3, job["requests"] / 1e3)
    return row
