"""The lines of ./bench: runs ours and the other in turn, compares each pair, prints a table.

Only Python's own library. A line is a function that fills rows; a row is one figure with its aim.
"""

import argparse
import datetime
import gzip
import json
import math
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import time

import convert
import history
import hosts
import iozone
import record
import series
import validity
import verify
from core import BLOCK, ENDING, Bench, Failed, Row, Skip, as_fast, at_least, at_most, per_request, say

HELP = """\
Runs what iosonar is measured by, ours and the other in turn, several times; prints medians, the ratio
ours / theirs of the pairs with its range, and whether the aim is met. A missed aim is no failure: the exit
code is 0 unless something could not be run. What is counted: docs/performance.md.

  ./bench                  all lines, a few minutes
  ./bench null uring       only these
  ./bench --pairs 7        more repetitions: a narrower picture on a noisy machine
  ./bench --tiny           each line for a moment: shows that it works, the figures mean nothing

  ./bench --keep           keep the results in docs/bench, and draw their history
  ./bench --history        measure nothing, and draw the history again

Results are appended to target/bench/results.jsonl, one JSON object for each row; with --keep to
docs/bench/history.jsonl, too, one JSON object for each run.
"""

POISSON_RATE = 10_000
SPIN_US = 100


# --- the lines -----------------------------------------------------------------------------------------------------

def line_null(bench):
    """closed loop without I/O: CPU time per request, every request recorded"""
    # fio gives CPU time in whole milliseconds: for 20 000 requests it is often 0.
    count = 200_000 if bench.tiny else 4_000_000
    size = count * BLOCK
    ours_args = ["run", "-t", "nothing", "--engine", "null", "--size", str(size), "--rw", "randread", "--bs", "4k",
                 "--iodepth", "32", "--number-ios", str(count)]
    fio_args = ["--ioengine=null", "--rw=randread", "--bs=4k", "--iodepth=32", f"--size={size}"]
    logged = Row("null", "run phase, fio writes a log too", "ns CPU/request", "<= 100")
    logged.verdict = at_most(100)
    plain = Row("null", "run phase, fio without a log", "ns CPU/request")
    whole = Row("null", "whole process, fio writes a log too", "ns CPU/request")
    # Records are summed up while they are encoded: the phases cannot be told apart.
    after = Row("null", "encoding and summing up, afterwards", "ns CPU/record", "<= 195")
    after.verdict = at_most(195)
    logged.other = whole.other = "fio null + log"
    plain.other = "fio null"
    for _ in range(bench.pairs):
        ours = bench.ours(ours_args)
        with_log = bench.fio(*fio_args, "--write_lat_log=lat", "--log_avg_msec=0")
        without = bench.fio(*fio_args)
        logged.add(per_request(ours, "run_cpu"), per_request(with_log, "run_cpu"))
        plain.add(per_request(ours, "run_cpu"), per_request(without, "run_cpu"))
        whole.add(per_request(ours, "process_cpu"), per_request(with_log, "process_cpu"))
        after.add((ours["timings"]["encode_ns"] + ours["timings"]["summary_ns"]) / ours["requests"])
    return [logged, plain, whole, after]


def closed_on_zram(bench, line, engine, depth, flags):
    device = bench.zram()
    milliseconds = 100 if bench.tiny else 3_000
    ours_args = ["run", "-t", device, "--engine", line, "--rw", "randread", "--bs", "4k", "--iodepth", str(depth),
                 "--time-based", "--runtime", f"{milliseconds}ms"]
    fio_args = [f"--filename={device}", "--readonly", f"--ioengine={engine}", "--direct=1", "--rw=randread", "--bs=4k",
                f"--iodepth={depth}", "--time_based", f"--runtime={milliseconds}ms", *flags]
    speed = Row(line, f"4 KiB random reads on zram, depth {depth}", "k requests/s", "ratio >= 1", higher=True)
    speed.verdict = as_fast
    cost = Row(line, "run phase, theirs the whole process", "ns CPU/request")
    speed.other = cost.other = f"fio {engine}"
    for _ in range(bench.pairs):
        ours, theirs = bench.ours(ours_args), bench.fio(*fio_args)
        rate = lambda result: None if result is None else result["requests"] / result["seconds"] / 1e3
        speed.add(rate(ours), rate(theirs))
        # fio counts its issuing thread alone, not the kernel's workers that serve its ring.
        cost.add(per_request(ours, "run_cpu"), per_request(theirs, "process_cpu"))
    return [speed, cost]


def line_threads(bench):
    """blocking reads of a zram device, one at a time, beside fio psync"""
    return closed_on_zram(bench, "threads", "psync", 1, [])


def line_uring(bench):
    """io_uring on a zram device, 32 deep, registered files and buffers, beside fio io_uring"""
    return closed_on_zram(bench, "uring", "io_uring", 32, ["--registerfiles=1", "--fixedbufs=1", "--hipri=0"])


def line_fill(bench):
    """writes to a file in memory: zeros, incompressible data, and fio's with scrambled and with refilled buffers"""
    rows = []
    for size, depth, label in ((4 << 10, 32, "4 KiB"), (1 << 20, 4, "1 MiB")):
        rows += fill_of_size(bench, size, depth, label)
    return rows


def fill_of_size(bench, size, depth, label):
    """The file lies in memory: the target takes hardly longer than the data, so this is the worst case for its maker."""
    if not os.access("/dev/shm", os.W_OK):
        raise Skip("there is no /dev/shm to write to")
    target = os.path.join("/dev/shm", f"iosonar-bench-{os.getpid()}")
    region, total = 64 << 20, (64 << 20 if bench.tiny else 2 << 30)
    shape = ["--rw", "randwrite", "--bs", str(size), "--iodepth", str(depth), "--size", str(region), "--norandommap"]
    ours = ["run", "-t", target, "--buffered", "--overlap", "allow", "--number-ios", str(total // size), *shape]
    theirs = [f"--filename={target}", "--ioengine=io_uring", f"--io_size={total}", "--fallocate=none", *shape]
    rows = {}
    for other, said in (("zeros", "ours, zeros"), ("scrambled", "fio, scrambled buffers"),
                        ("refilled", "fio, --refill_buffers")):
        speed = Row("fill", f"{label} incompressible writes to memory", "GB/s", higher=True, digits=2)
        cost = Row("fill", f"{label} incompressible, run phase, fio the whole process", "ns CPU/KiB")
        speed.other = cost.other = said
        rows[other] = (speed, cost)
    rate = lambda result: None if result is None else result["requests"] * size / result["seconds"] / 1e9
    # fio counts its issuing thread alone, not the kernel's workers that serve its ring.
    phase = lambda name: "run_cpu" if name in ("full", "zeros") else "process_cpu"
    busy = lambda name, r: None if r is None else r[phase(name)] / r["requests"] / size * 1024e9
    try:
        with open(target, "wb") as file:
            for _ in range(region >> 20):
                file.write(bytes(1 << 20))
        for turn in range(bench.pairs):
            runs = [("full", lambda: bench.ours([*ours, "--fill-random", "100"])),
                    ("zeros", lambda: bench.ours([*ours, "--fill-random", "0"])),
                    ("scrambled", lambda: bench.fio(*theirs)),
                    ("refilled", lambda: bench.fio(*theirs, "--refill_buffers"))]
            done = {name: run() for name, run in (runs if turn % 2 == 0 else runs[::-1])}
            for other, (speed, cost) in rows.items():
                speed.add(rate(done["full"]), rate(done[other]))
                cost.add(busy("full", done["full"]), busy(other, done[other]))
    finally:
        if os.path.exists(target):
            os.remove(target)
    return [row for pair in rows.values() for row in pair]


def line_burst(bench):
    """a million requests due at once, push-back, all threads on one CPU"""
    count = 20_000 if bench.tiny else 1_000_000
    chance = random.Random(1)
    blocks = (64 << 30) // BLOCK
    load, iolog = bench.path("burst.load"), bench.path("burst.iolog")
    with open(load, "w") as ours, open(iolog, "w") as theirs:
        theirs.write("fio version 2 iolog\n/bench add\n/bench open\n")
        for _ in range(count):
            block, op = chance.randrange(blocks), chance.random() < 0.5
            ours.write(f"0.0 ; {block * 8} ; 8 ; {'R' if op else 'W'} ; 0.0 ; 0.0\n")
            theirs.write(f"/bench {'read' if op else 'write'} {block * BLOCK} {BLOCK}\n")
        theirs.write("/bench close\n")
    ours_args = ["replay", load, "-t", "nothing", "--engine", "null", "--size", "64g", "--overlap", "push-back", "--asap"]
    fio_args = ["--ioengine=null", f"--read_iolog={iolog}", "--replay_no_stall=1", "--iodepth=128"]
    wall = Row("burst", "by the clock, one CPU", "M requests/s", ">= 1", higher=True, digits=2)
    busy = Row("burst", "by CPU time of the run phase", "M requests/s", ">= 1", higher=True, digits=2)
    wall.verdict = busy.verdict = at_least(1.0)
    wall.other = busy.other = "fio read_iolog"
    for _ in range(bench.pairs):
        ours, theirs = bench.ours(ours_args, pin=True), bench.fio(*fio_args, pin=True)
        rate = lambda result, key: None if result is None else result["requests"] / max(result[key], 1e-3) / 1e6
        wall.add(rate(ours, "seconds"), rate(theirs, "seconds"))
        busy.add(rate(ours, "run_cpu"), rate(theirs, "run_cpu"))
    return [wall, busy]


def poisson_args(milliseconds):
    return ["run", "-t", "nothing", "--engine", "null", "--size", "2g", "--rw", "randread", "--bs", "4k", "--iodepth",
            "32", "--rate-iops", str(POISSON_RATE), "--rate-process", "poisson", "--spin", f"{SPIN_US}us", "--time-based", "--runtime",
            f"{milliseconds}ms"]


def microseconds(nanoseconds):
    return nanoseconds / 1e3


def line_poisson(bench):
    """10 000 requests a second at random times: how late, beside a bare spinning loop"""
    milliseconds = 300 if bench.tiny else 10_000
    half = Row("poisson", "lateness, median", "us", "<= 1", digits=3)
    half.verdict = at_most(1.0)
    most = Row("poisson", "lateness, 99th percentile", "us", "<= bare + 10", digits=3)
    most.verdict = lambda ours, theirs, ratio: ours - theirs - 10
    drift = Row("poisson", "last tenth less first tenth, medians", "us", "<= 1", digits=3)
    drift.verdict = at_most(1.0)
    cpu = Row("poisson", "CPU time, whole process", "s", digits=2)
    for row in (half, most, drift, cpu):
        row.other = "bare loop"
    for _ in range(bench.pairs):
        ours = bench.ours(poisson_args(milliseconds))
        bare = bench.help_program("bare", POISSON_RATE, POISSON_RATE * milliseconds // 1_000, SPIN_US)
        health = ours["summary"]["health"]
        half.add(microseconds(health["issue_error"]["p50_ns"]), microseconds(bare["p50_ns"]))
        most.add(microseconds(health["issue_error"]["p99_ns"]), microseconds(bare["p99_ns"]))
        ours_drift = health["issue_error_drift"]["drift_ns"] if health["issue_error_drift"] else 0
        drift.add(microseconds(ours_drift), microseconds(bare["drift_ns"]))
        cpu.add(ours["process_cpu"], bare["cpu_ns"] / 1e9)
    return [half, most, drift, cpu]


def line_stall(bench):
    """the same, stopped for half a second on the way: lateness must come back"""
    milliseconds, stop = (600, (0.25, 0.1)) if bench.tiny else (5_000, (1.5, 0.5))
    end = Row("stall", "lateness at the end, median", "us", "<= 10", digits=3)
    end.verdict = at_most(10)
    most = Row("stall", "greatest lateness: the stall was seen", "ms")
    end.other = most.other = "bare loop"
    for _ in range(bench.pairs):
        ours = bench.ours(poisson_args(milliseconds), stop=stop)
        bare = bench.help_program("bare", POISSON_RATE, POISSON_RATE * milliseconds // 1_000, SPIN_US, stop=stop)
        summary = ours["summary"]
        end.add(microseconds(summary["health"]["at_end"]["delay_p50_ns"]), microseconds(bare["at_end_p50_ns"]))
        most.add(summary["delay"]["all"]["max_ns"] / 1e6, bare["max_ns"] / 1e6)
    return [end, most]


def line_iolog(bench):
    """the same arrivals from a file, beside fio read_iolog with their times"""
    seconds = 0.3 if bench.tiny else 5
    chance, now, due = random.Random(1), 0.0, []
    while now < seconds:
        due.append(int(now * 1e6))
        now += chance.expovariate(POISSON_RATE)
    load, iolog = bench.path("arrivals.load"), bench.path("arrivals.iolog")
    with open(load, "w") as ours, open(iolog, "w") as theirs:
        theirs.write("fio version 3 iolog\n0 /bench add\n0 /bench open\n")
        for number, time_us in enumerate(due):
            ours.write(f"{time_us // 1_000_000}.{time_us % 1_000_000:06} ; {number % 1024 * 8} ; 8 ; R ; 0.0 ; 0.0\n")
            theirs.write(f"{time_us} /bench read {number % 1024 * BLOCK} {BLOCK}\n")
        theirs.write(f"{due[-1]} /bench close\n")
    ours_args = ["replay", load, "-t", "nothing", "--engine", "null", "--size", "64m", "--spin", f"{SPIN_US}us"]
    fio_args = ["--ioengine=null", f"--read_iolog={iolog}", "--replay_no_stall=0", "--iodepth=1",
                "--write_lat_log=replay", "--log_avg_msec=0"]
    end = Row("iolog", f"lateness at the end of {seconds:g} s", "ms")
    elapsed = Row("iolog", "time from the first to the last request", "s", f"{due[-1] / 1e6:.3g}", digits=3)
    elapsed.verdict = lambda ours, theirs, ratio: ours - due[-1] / 1e6 - 0.05
    end.other = elapsed.other = "fio read_iolog"
    for _ in range(bench.pairs):
        ours = bench.ours(ours_args)
        theirs = None
        try:
            theirs = bench.fio(*fio_args, limit=seconds * 4 + 5)
        except Failed as failed:
            say(f"   {failed}: it drifted beyond the time limit")
        last, late = None, None
        if theirs:
            with open(bench.path("replay_lat.1.log")) as log:
                seen = [int(line.split(",")[0]) for line in log]
            at_end = len(seen) - max(len(seen) // 100, 1)
            late = statistics.median(s - d / 1e3 for s, d in list(zip(seen, due))[at_end:])
            last = seen[-1] / 1e3
        end.add(ours["summary"]["health"]["at_end"]["delay_p50_ns"] / 1e6, late)
        elapsed.add(ours["summary"]["span"]["last_completed_ns"] / 1e9, last)
    return [end, elapsed]


def line_parse(bench):
    """decoded text of a load to requests, one thread"""
    lines, rounds = (20_000, 1) if bench.tiny else (1_000_000, 3)
    row = Row("parse", "lines of a .load, from memory", "M lines/s", ">= 5", higher=True, digits=2)
    row.verdict = at_least(5.0)
    for _ in range(bench.pairs):
        result = bench.help_program("parse", lines, rounds, pin=True)
        row.add(result["lines"] / max(result["cpu_ns"], 1) * 1e3)
    return [row]


def line_clock(bench):
    """what one reading of the clock costs, and which one the archive names"""
    row = Row("clock", "one reading of the clock of a run", "ns", "the cheaper")
    row.other = "clock_gettime"
    row.verdict = lambda ours, theirs, ratio: ours - theirs * 1.05
    said = Row("clock", "the same, as the archive tells", "ns")
    for _ in range(bench.pairs):
        result = bench.help_program("clock")
        row.add(result["cost_ps"] / 1e3, result["clock_gettime_cost_ps"] / 1e3)
        clock = bench.ours(["run", "-t", "nothing", "--engine", "null", "--size", "1m", "--rw", "read"])["run"]["means"]["clock"]
        said.what = f"the same, as the archive tells: {clock['source']}"
        said.add(clock["cost_ps"] / 1e3)
    return [row, said]


def line_analyze(bench):
    """figures and pictures of a load like a small server's; each statistic of 10 and 100 million records"""
    return analyze_load(bench) + analyze_records(bench)


def web_load(path, requests, seconds):
    """A load like a web server's: files of 4 to 64 KiB by Zipf's law, read whole; a log that grows; small writes of
    metadata, a tenth of them not aligned to 4 KiB; a rate that swells and ebbs."""
    draw = random.Random(1)
    files, places, place = 60_000, [], 2048
    for _ in range(files):
        pages = min(16, 1 + int(draw.expovariate(0.4)))
        places.append((place * 8, pages * 8))
        place += pages + draw.randrange(64)
    log, time_ns = place * 8, 0
    mean = seconds * 1e9 / requests
    with gzip.open(path, "wt", compresslevel=6) as out:
        out.write("start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n")
        for _ in range(requests):
            kind = draw.random()
            if kind < 0.7:
                sector, length = places[min(files - 1, int(draw.paretovariate(0.6)) * 7919 % files)]
                op = "R"
            elif kind < 0.85:
                sector, length, op = log, 8, "W"
                log += 8
            else:
                sector, length, op = draw.randrange(place) * 8, 8, "W"
                if draw.random() < 0.5:
                    sector, length = sector + draw.randrange(8), draw.choice((1, 2, 3))
            out.write(f"{time_ns // 10**9:6}.{time_ns % 10**9:09} ; {sector:12} ; {length:4} ; {op} ; 0.0 ; 0.0\n")
            swell = 1 + 0.7 * math.sin(time_ns / 1e9 / 600)
            time_ns += int(draw.expovariate(1) * mean / swell)


def analyze_load(bench):
    load = bench.path("web.load.gz")
    requests, seconds = (2_000, 60) if bench.tiny else (270_000, 3600)
    web_load(load, requests, seconds)
    rows = [Row("analyze", "web server's load of 270 000 requests: figures", "s", "<= 0.1", digits=3),
            Row("analyze", "figures and all static pictures (PNG)", "s", "<= 0.7", digits=3)]
    commands = [["analyze", load], ["plot", load, "--png", "--force", "--out", bench.path("plots")]]
    for row, limit, command in zip(rows, (0.1, 0.7), commands):
        row.verdict = at_most(limit)
        for _ in range(bench.pairs):
            begin = time.monotonic()
            bench.run([bench.iosonar, *command])
            row.add(time.monotonic() - begin)
    return rows


# The last needs all pages of a terabyte in a table that holds 4 Mi of them.
STATISTICS = ["read", "course", "figures", "pictures", "stalls", "demand", "everything"]


def analyze_records(bench):
    rows, peaks, counts = [], {}, []
    for millions in ((0.01, 0.02) if bench.tiny else (10, 100)):
        counts.append(millions * 1e6)
        archive = bench.path(f"records-{millions}")
        bench.run([bench.helper, "archive", archive, str(int(millions * 1e6))], limit=900)
        for which in STATISTICS:
            row = Row("analyze", f"{millions} M records: {which}", "M/s", higher=True, digits=2)
            if which == "course":
                row.aim, row.verdict = ">= 10", at_least(10.0)
            result = bench.help_program("statistic", which, archive, limit=900)
            row.add(result["records"] / result["seconds"] / 1e6)
            peaks.setdefault(which, []).append(result["peak_bytes"])
            rows.append(row)
        if millions == 100 or bench.tiny:
            begin = time.monotonic()
            bench.run([bench.iosonar, "plot", archive, "--png", "--force", "--only", "sonar", "--out", bench.path("sonar")], limit=900)
            row = Row("analyze", f"{millions} M records: iosonar plot --only sonar", "s", digits=1)
            row.add(time.monotonic() - begin)
            rows.append(row)
        shutil.rmtree(archive)
    # Metadata of the file: its row groups.
    small, large = peaks.pop("read")
    row = Row("analyze", "peak memory of read: growth for each record", "B", "< 0.2", digits=2)
    row.verdict = at_most(0.2)
    row.add((large - small) / (counts[1] - counts[0]))
    rows.append(row)
    for which, (small, large) in peaks.items():
        row = Row("analyze", f"peak memory of {which}, MiB: ten times the records", "MiB", "< 1.5 times", digits=0)
        row.other, row.verdict = "a tenth of them", lambda ours, theirs, ratio: ratio - 1.5
        row.add(large / 2**20, small / 2**20)
        rows.append(row)
    return rows


# Millions of requests of a run, and the largest size of its page in MB.
PAGES = [(1, 16), (10, 14), (100, 22)]


# Runs a program, then prints the most memory that it had, in KiB.
WITH_PEAK = """import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""


def line_report(bench):
    """the report page: how long writing takes beyond the analysis, its size, its memory, its speed in Chromium"""
    rows, peaks = [], []
    for millions, most_mb in ((0.01, 16), (0.02, 14)) if bench.tiny else PAGES:
        archive, page = bench.path(f"records-{millions}"), bench.path(f"page-{millions}.html")
        bench.run([bench.helper, "archive", archive, str(int(millions * 1e6))], limit=900)
        rows.append(report_written(bench, millions, archive, page, peaks))
        size = Row("report", f"{millions} M requests: size of the page", "MB", f"<= {most_mb}", digits=2)
        size.verdict = at_most(most_mb)
        size.add(os.path.getsize(page) / 1e6)
        rows += [size, *report_opened(bench, millions, page)]
        shutil.rmtree(archive)
    memory = Row("report", "peak memory, MiB: most requests, then fewer", "MiB", "< 1.5 times", digits=0)
    memory.other, memory.verdict = "fewer", lambda ours, theirs, ratio: ratio - 1.5
    memory.add(peaks[-1] / 2**20, peaks[-2] / 2**20)
    return rows + [memory]


def report_written(bench, millions, archive, page, peaks):
    """What report takes and analyze does not: choosing requests, packing, writing."""
    row = Row("report", f"{millions} M requests: writing, beyond analyze", "M/s", ">= 5", higher=True, digits=2)
    row.verdict, peak = at_least(5), 0
    for _ in range(1 if millions >= 100 else bench.pairs):
        times = []
        for command in (["analyze", archive], ["report", archive, "--force", "-o", page]):
            begin = time.monotonic()
            told = bench.run([sys.executable, "-c", WITH_PEAK, bench.iosonar, *command], limit=900)[0]
            times.append(time.monotonic() - begin)
        peak = max(peak, int(told.split()[-1]) * 1024)
        row.add(millions / max(times[1] - times[0], 1e-3))
    peaks.append(peak)
    return row


# What page.mjs measures, its words, and the most it should be (spec of the page, 4.7).
FELT = [("paint_ms", "first paint", 1000), ("ready_ms", "until it can be used", 2000),
        ("frame_median_ms", "a frame of zooming and panning, median", 17),
        ("frame_p95_ms", "the same, 95th percentile", 25), ("brush_frame_ms", "a brush: main thread for its first frame, the sonar and its histograms", 10),
        ("brush_ms", "a brush: until everything is drawn again", None)]


def report_opened(bench, millions, page):
    if not (shutil.which("node") and shutil.which("chromium")):
        say("no Node.js or no Chromium: how the page feels is not measured")
        return []
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.mjs")
    if not os.path.isdir(os.path.join(os.path.dirname(script), "..", "..", "web", "node_modules")):
        bench.run(["npm", "--prefix", os.path.join(os.path.dirname(script), "..", "..", "web"), "ci", "--silent"], limit=300)
    rows = {key: Row("report", f"{millions} M requests, Chromium: {words}", "ms", f"<= {most}" if most else "") for key, words, most in FELT}
    for key, _, most in FELT:
        if most:
            rows[key].verdict = at_most(most)
    for _ in range(bench.pairs):
        felt = json.loads(bench.run(["node", script, page], limit=300)[0])
        for key, row in rows.items():
            row.add(felt[key])
    return list(rows.values())


def line_xdd(bench):
    """XDD's command line on zram beside fio psync; lockstep on the null engine beside a futex; a thousand targets"""
    rows = [xdd_on_zram(bench, depth) for depth in (1, 8, 32)]
    return rows + [lockstep_on_null(bench), thousand_targets(bench)]


def xdd_on_zram(bench, depth):
    device = bench.zram()
    seconds, blocks = 1 if bench.tiny else 3, (2 << 30) // BLOCK
    command = [bench.iosonar, "xdd", "-op", "read", "-targets", "1", device, "-dio", "-blocksize", str(BLOCK), "-reqsize", "1",
               "-seek", "random", "-seek", "range", str(blocks), "-queuedepth", str(depth), "-timelimit", str(seconds)]
    fio_args = [f"--filename={device}", "--readonly", "--ioengine=psync", "--direct=1", "--rw=randread", "--bs=4k", "--thread",
                f"--numjobs={depth}", "--group_reporting", "--norandommap", "--time_based", f"--runtime={seconds}s"]
    row = Row("xdd", f"4 KiB random reads on zram, queue depth {depth}, every request on record", "k requests/s", "ratio >= 1",
              higher=True)
    row.verdict, row.other = as_fast, "fio psync"
    for _ in range(bench.pairs):
        text, _, _ = bench.run(command)
        combined = next(line for line in text.splitlines() if line.startswith("Combined"))
        theirs = bench.fio(*fio_args)
        # Label, T, Q, Bytes, Ops, Time, Rate, IOPS: as XDD's users take them.
        row.add(float(combined.split()[7]) / 1e3, None if theirs is None else theirs["requests"] / theirs["seconds"] / 1e3)
    return row


def null_plan(targets, requests, coordination=""):
    head = f"""version = 2
run_id = 1
seed = 1
depth = 1
[engine]
kind = "null"
[overlap]
policy = "allow"
{coordination}
"""
    target = f"""[[target]]
path = "nothing"
size = "1GiB"
[target.workload]
kind = "generated"
order = "sequential"
block_size = "4KiB"
read_percent = 100
at_end = "extend"
stop = {{ requests = {requests} }}
"""
    return head + target * targets


def lockstep_on_null(bench):
    requests = 2_000 if bench.tiny else 200_000
    plan = bench.path("lockstep.toml")
    coordination = """[[coordination.lockstep]]
master = 0
slave = 1
every = { ops = 1 }
task = { ops = 1 }
starts = "wait"
ends = "complete\""""
    with open(plan, "w") as file:
        file.write(null_plan(2, requests, coordination))
    row = Row("xdd", "lockstep op 1 op 1 on null: tasks of the slave", "k/s", digits=0)
    row.other = "bare futex ping-pong"
    for _ in range(bench.pairs):
        ours, bare = bench.ours(["run", plan]), bench.help_program("pingpong", requests)
        row.add(requests / ours["seconds"] / 1e3, bare["rounds"] / bare["seconds"] / 1e3)
    return row


def thousand_targets(bench):
    plan = bench.path("thousand.toml")
    with open(plan, "w") as file:
        file.write(null_plan(20 if bench.tiny else 1000, 1))
    row = Row("xdd", "1000 targets on null: the whole process with one request each", "s", "<= 2", digits=2)
    row.verdict = at_most(2.0)
    for _ in range(bench.pairs):
        begin = time.monotonic()
        bench.ours(["run", plan])
        row.add(time.monotonic() - begin)
    return row


def line_live(bench):
    """what the live view costs a run: beside the same run that shows nothing"""
    count, seconds, pairs = (20_000, 1, 1) if bench.tiny else (10_000_000, 10, max(bench.pairs, 6))
    closed = ["run", "-t", "nothing", "--engine", "null", "--size", "40g", "--rw", "randread", "--bs", "4k",
              "--iodepth", "32", "--number-ios", str(count)]
    paced = ["run", "-t", "nothing", "--engine", "null", "--size", "1g", "--rw", "randrw", "--rate-iops", "1000",
             "--spin", "0us", "--time-based", "--runtime", str(seconds)]
    speed = Row("live", "requests per second, closed loop", "M requests/s", "ratio 1 +- 0.01", higher=True, digits=2)
    speed.verdict = lambda ours, theirs, ratio: abs(ratio - 1) - 0.01
    cost = Row("live", "run phase", "ns CPU/request")
    own = Row("live", f"run phase, 1000 requests/s for {seconds} s", "% of one CPU", "+ 0.5", digits=2)
    own.verdict = lambda ours, theirs, ratio: ours - theirs - 0.5
    speed.other = cost.other = own.other = "shows nothing"
    for number in range(pairs):
        # Who goes first goes second the next time.
        def both(arguments):
            with_view = lambda: bench.ours(arguments, shown="--live", terminal=True)
            without = lambda: bench.ours(arguments)
            if number % 2:
                second = without()
                return with_view(), second
            return with_view(), without()
        ours, theirs = both(closed)
        rate = lambda result: result["requests"] / result["seconds"] / 1e6
        speed.add(rate(ours), rate(theirs))
        cost.add(per_request(ours, "run_cpu"), per_request(theirs, "run_cpu"))
        ours, theirs = both(paced)
        share = lambda result: result["run_cpu"] / result["seconds"] * 100
        own.add(share(ours), share(theirs))
    return [speed, cost, own]


LINES = {name[len("line_"):]: function for name, function in list(globals().items()) if name.startswith("line_")}
LINES |= {"convert": convert.line_convert, "hosts": hosts.line_hosts, "record": record.line_record, "iozone": iozone.line_iozone,
          "series": series.line_series, "validity": validity.line_validity, "verify": verify.line_verify}


# --- printing ------------------------------------------------------------------------------------------------------

def number(value, digits):
    if value is None:
        return "-"
    return f"{value:,.{digits}f}".replace(",", " ")


def cells(row):
    median = lambda values: statistics.median(values) if values else None
    ratios = row.ratios()
    has_ratio = ratios and (row.unit != "us" or row.has_interval)
    ratio = "{:.2f} ({:.2f}-{:.2f})".format(median(ratios), *row.spread()) if has_ratio else "-"
    beyond = row.judged()
    mark = "" if beyond is None else "met" if beyond <= 0 else f"MISSED by {number(beyond, max(row.digits, 2))}"
    if row.verdict is as_fast and ratios and min(ratios) < 1 < max(ratios):
        mark += ", not decided: the range contains 1"
    return [row.line, row.what, number(median(row.ours), row.digits), number(median(row.theirs), row.digits), row.other,
            row.unit, ratio, row.aim, mark]


def table(rows):
    head = ["line", "what", "ours", "theirs", "", "unit", "ratio (range)", "aim", ""]
    grid = [head] + [cells(row) for row in rows]
    widths = [max(len(line[i]) for line in grid) for i in range(len(head))]
    right = {2, 3}
    for line in grid:
        print("  ".join(c.rjust(w) if i in right else c.ljust(w) for i, (c, w) in enumerate(zip(line, widths))).rstrip())


def machine(bench):
    def command(*words):
        try:
            return subprocess.run(words, capture_output=True, text=True, cwd=bench.args.home).stdout.strip()
        except OSError:
            return ""
    model = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    fio = command(bench.fio_path, "--version") if bench.fio_path else "none"
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), "cpu": model,
            "cpus": len(os.sched_getaffinity(0)), "kernel": platform.release(),
            "commit": command("git", "rev-parse", "--short=12", "HEAD"), "fio": fio,
            "changed": bool(command("git", "status", "--porcelain", "--untracked-files=no"))}


def keep(bench, facts, rows):
    with open(os.path.join(bench.out_dir, "results.jsonl"), "a") as file:
        for row in rows:
            beyond = row.judged()
            fields = {"line": row.line, "what": row.what, "unit": row.unit, "ours": row.ours, "theirs": row.theirs,
                      "other": row.other, "ratios": row.ratios(), "aim": row.aim, "tiny": bench.tiny,
                      "met": None if beyond is None else beyond <= 0}
            file.write(json.dumps({**facts, **fields, "load": os.getloadavg()[0]}) + "\n")


def arguments():
    parser = argparse.ArgumentParser(prog="./bench", description=HELP, formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="lines:\n" + "\n".join(f"  {n:9} {f.__doc__}" for n, f in LINES.items()))
    parser.add_argument("lines", nargs="*", metavar="LINE", help="only these lines")
    parser.add_argument("--tiny", action="store_true", help="each line for a moment, one pair")
    parser.add_argument("--pairs", type=int, metavar="N", help="repetitions of ours and theirs in turn; default: 3")
    parser.add_argument("--keep", action="store_true", help="keep the results in the repository, in docs/bench")
    parser.add_argument("--history", action="store_true", help="only draw what is kept again")
    parser.add_argument("--history-dir", metavar="DIR", help=argparse.SUPPRESS)
    parser.add_argument("--programs", metavar="DIR", help="do not build: iosonar and iosonar-bench lie here")
    parser.add_argument("--list", action="store_true", help="print the names of the lines")
    parser.add_argument("--home", default=".", help=argparse.SUPPRESS)
    parser.add_argument("--target-dir", default="target", help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = [name for name in args.lines if name not in LINES]
    if unknown:
        parser.error(f"no line {unknown[0]}: there are {', '.join(LINES)}")
    if args.pairs is not None and args.pairs < 1:
        parser.error("--pairs: at least 1")
    if args.keep and args.tiny and not args.history_dir:
        parser.error("--keep: the figures of --tiny mean nothing")
    args.history_dir = os.path.abspath(args.history_dir or os.path.join(args.home, "docs", "bench"))
    # Programs run in a directory of their own.
    args.target_dir = os.path.abspath(args.target_dir)
    args.programs = args.programs and os.path.abspath(args.programs)
    return args


def end_on(number, _frame):
    sys.exit(128 + number)


def main():
    args = arguments()
    if args.list:
        print("\n".join(LINES))
        return 0
    for number_ in ENDING:
        signal.signal(number_, end_on)
    if args.history:
        history.draw(args.history_dir, os.path.join(args.programs or os.path.join(args.target_dir, "release"), "iosonar-bench"))
        return 0
    bench, rows, code = Bench(args), [], 0
    try:
        facts, load_average = machine(bench), os.getloadavg()[0]
        print(f"{facts['date']}  {facts['cpu']}, {facts['cpus']} CPUs, kernel {facts['kernel']}, {facts['fio']}, "
              f"commit {facts['commit']}{' and changes' if facts['changed'] else ''}")
        print(f"medians of {bench.pairs} pairs; load average {load_average:.1f}"
              + ("; TINY: the figures mean nothing" if bench.tiny else ""), flush=True)
        for name in args.lines or LINES:
            say(f"== {name}: {LINES[name].__doc__}")
            try:
                done = LINES[name](bench)
            except Skip as why:
                print(f"SKIPPED: {name}: {why}")
                continue
            except Failed as why:
                print(f"FAILED: {name}: {why}")
                code = 1
                continue
            keep(bench, facts, done)
            rows += done
        table(rows)
        if args.keep and rows and code == 0:
            history.append(args.history_dir, history.line_of(facts, load_average, bench.pairs, rows))
            history.draw(args.history_dir, bench.helper)
    finally:
        bench.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
