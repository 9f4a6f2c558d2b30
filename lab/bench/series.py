"""The line `series`: what sampling the counters of the machine costs."""

import json
import os
import shutil

from core import Row, at_most

INTERVALS = {"10ms": "10 ms", "100ms": "100 ms", "1s": "1 s"}


def line_series(bench):
    """sampling the counters of devices, CPUs and memory during a run: CPU time of its thread, in percent of one CPU"""
    target = bench.path("target")
    with open(target, "wb") as file:
        file.truncate(64 << 20)
    rows = []
    try:
        for interval, name in INTERVALS.items():
            row = Row("series", f"a sample every {name}: CPU time", "% of a CPU", "<= 1" if interval == "10ms" else "", digits=3)
            if interval == "10ms":
                row.verdict = at_most(1)
            each = Row("series", f"a sample every {name}: CPU time of a sample", "us", digits=1)
            for _ in range(bench.pairs):
                share, of_sample = cost(bench, target, interval)
                row.add(share)
                each.add(of_sample)
            rows += [row, each]
    finally:
        os.remove(target)
    return rows


def cost(bench, target, interval):
    """Percent of a CPU, and microseconds of a sample. The run has next to nothing to do: its threads stay out of the way."""
    out, seconds = bench.path("run"), 1 if bench.tiny else 10
    bench.run([bench.iosonar, "run", "-t", target, "--buffered", "--engine", "sync", "--rw", "randread", "--bs", "4k", "--rate-iops",
               "100", "--time-based", "--runtime", f"{seconds}s", "--sample-every", interval, "--no-progress", "--out", out])
    with open(os.path.join(out, "run.json")) as file:
        sampling = json.load(file)["cpu"]["sampling_ns"]
    shutil.rmtree(out)
    # One at the start, one after each interval, one at the end.
    samples = seconds * 1e9 / {"10ms": 1e7, "100ms": 1e8, "1s": 1e9}[interval] + 2
    return sampling / (seconds * 1e9) * 100, sampling / samples / 1e3
