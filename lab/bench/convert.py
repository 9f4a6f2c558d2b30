"""The line `convert`: how fast traces of each form are read and written, and that memory does not follow their length."""

import json
import os
import shutil
import sys

from core import Row, at_least

# Forms that are read, with what counts as binary: what each has to reach, in millions of requests per second of CPU time.
INPUTS = {"load": 1, "blkparse": 1, "ftrace": 1, "fio": 1, "seek-list": 1, "diskmon": 1, "msr": 1, "alibaba": 1,
          "tencent": 1, "blktrace": 5, "parquet": 5}
# One of each kind of reader: what holds memory is theirs, and what comes behind them.
MEMORY = ["load", "blkparse", "msr", "blktrace", "parquet"]
OUTPUTS = ["x.load", "x.load.gz", "x.iolog", "x.seek", "x.parquet"]

# Runs a program, then prints its CPU time in seconds and the most memory that it had, in KiB. That is looked at while it
# runs: the kernel's own account of children holds the memory of this interpreter, too, from before the program began.
MEASURED = """import json, re, resource, subprocess, sys, time
child, peak = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL), 0
while child.poll() is None:
    with open(f"/proc/{child.pid}/status") as status:
        told = re.search(r"VmHWM:\\s*(\\d+)", status.read())
    peak = int(told[1]) if told else peak
    time.sleep(0.002)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
# A child that ended before it was seen has the kernel's figure, which contains this process before it became another.
print(json.dumps({"cpu": used.ru_utime + used.ru_stime, "peak_kib": peak or used.ru_maxrss}))
sys.exit(child.returncode)"""


def line_convert(bench):
    """traces of every form to every form, and info: requests per second of CPU time; memory of 1 M and 10 M requests"""
    few, many = (2_000, 20_000) if bench.tiny else (1_000_000, 10_000_000)
    speeds, peaks = [], []
    for form in INPUTS:
        trace = made(bench, form, few)
        speeds += [speed(bench, form, trace, output, few) for output in OUTPUTS + ["info"]]
        small = converted(bench, trace, "x.load")["peak_kib"]
        removed(trace)
        if form in MEMORY:
            trace = made(bench, form, many)
            peaks.append(flatness(form, small, converted(bench, trace, "x.load")["peak_kib"], many))
            removed(trace)
    return speeds + peaks


def made(bench, form, requests):
    """The path of a trace, as it is named to the program."""
    path = bench.path(f"trace.{form}")
    if form == "parquet":
        bench.run([bench.helper, "archive", path, str(requests)], limit=300)
        return os.path.join(path, "records.parquet")
    bench.run([bench.helper, "trace", form, path, str(requests)], limit=300)
    return path


def removed(trace):
    directory, name = os.path.split(trace)
    if name == "records.parquet":
        shutil.rmtree(directory)
    for other in os.listdir(directory) if name != "records.parquet" else []:
        if other.startswith(name):
            os.remove(os.path.join(directory, other))


def converted(bench, trace, output):
    """What a conversion, or `info`, took."""
    out = bench.path(output)
    command = ["info", trace] if output == "info" else ["convert", trace, out]
    try:
        return json.loads(bench.run([sys.executable, "-c", MEASURED, bench.iosonar, *command], limit=300)[0])
    finally:
        if os.path.exists(out):
            os.remove(out)


def speed(bench, form, trace, output, requests):
    what = f"{form}: info" if output == "info" else f"{form} to {output[2:]}"
    row = Row("convert", what, "M requests/CPU s", higher=True, digits=2)
    if output != "info":
        aim = min(INPUTS[form], 5 if output == "x.parquet" else 1)
        row.aim, row.verdict = f">= {aim}", at_least(aim)
    for _ in range(bench.pairs):
        row.add(requests / converted(bench, trace, output)["cpu"] / 1e6)
    return row


def flatness(form, small, large, requests):
    row = Row("convert", f"{form} to load: peak memory of {requests:,} requests".replace(",", " "), "MiB", "< 1.2 times")
    row.other, row.verdict = "a tenth of them", lambda ours, theirs, ratio: ratio - 1.2
    row.add(large / 1024, small / 1024)
    return row
