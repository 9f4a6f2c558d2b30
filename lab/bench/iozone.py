"""The line `iozone`: rates of file operations beside fio's, and how much of a matrix's time is measurement."""

import json
import os
import shutil
import time

from core import BLOCK, Row, Skip, as_fast, at_least, at_most

# Our methods, and the engine of fio that makes the same calls; fio has none for stdio.
METHODS = {"sync": "sync", "threads": "psync", "vsync": "vsync", "pvsync": "pvsync", "mmap": "mmap", "posixaio": "posixaio",
           "stdio": None}
# Our tests, and what fio calls them.
TESTS = {"write": "write", "rewrite": "write", "read": "read", "reread": "read", "random_read": "randread",
         "random_write": "randwrite"}
RECORDS = {BLOCK: "4 KiB", 64 << 10: "64 KiB"}


def line_iozone(bench):
    """file operations in memory and in the page cache beside fio; a default matrix: the share that is measurement"""
    rows = []
    for place, folder in places(bench):
        for record in RECORDS:
            for method in METHODS:
                rows += beside_fio(bench, place, os.path.join(folder, f"iosonar-bench-{os.getpid()}.tmp"), record, method)
    return rows + default_matrix(bench, "iozone") + default_matrix(bench, "matrix") + [small_cells(bench)]


def places(bench):
    """Where files lie: in memory, and on the file system of the results, in the page cache."""
    if not os.access("/dev/shm", os.W_OK):
        raise Skip("there is no /dev/shm to write to")
    return [("tmpfs", "/dev/shm"), ("page cache", bench.scratch)]


def beside_fio(bench, place, path, record, method):
    """Rates of all tests: in flight, and by the clock. Ours and fio's in turn on a file of the same name and size."""
    size = (1 << 20) if bench.tiny else (256 << 20)
    engine, rows = METHODS[method], {}
    for test in TESTS:
        what = f"{place}, {RECORDS[record]}, {method}, {test}"
        # fio fills the whole file before its engine mmap writes to it: that is no write of a new file.
        has_match = engine and (method, test) != ("mmap", "write")
        # fio's engine sync seeks before its latency starts, and ours after: the clock tells them apart.
        by_clock = (method, test) == ("sync", "random_read")
        aim = "ratio >= 1"
        in_flight = Row("iozone", f"{what}: in flight", "GB/s", aim if has_match and not seeks(method, test) else "",
                        higher=True, digits=2)
        clock = Row("iozone", f"{what}: by the clock", "GB/s", aim if by_clock else "", higher=True, digits=2)
        if has_match:
            in_flight.other = clock.other = f"fio {engine}"
            if not seeks(method, test):
                in_flight.verdict = as_fast
            if by_clock:
                clock.verdict = as_fast
        rows[test] = (in_flight, clock)
    for turn in range(bench.pairs if bench.args.pairs or bench.tiny else 5):
        sides = [lambda: ours(bench, path, size, record, method),
                 lambda: theirs(bench, path, size, record, engine) if engine else {}]
        first, second = (sides if turn % 2 == 0 else sides[::-1])
        found = (first(), second())
        our, their = found if turn % 2 == 0 else found[::-1]
        for test, (in_flight, clock) in rows.items():
            other = their.get(test, (None, None)) if in_flight.other else (None, None)
            in_flight.add(our[test][0], other[0])
            clock.add(our[test][1], other[1])
    return [row for pair in rows.values() for row in pair]


def seeks(method, test):
    """Whether each request is a seek and a read or write."""
    return method == "sync" and test.startswith("random")


def ours(bench, path, size, record, method):
    """GB/s of each test: while requests are in flight, and from the first submission to the last completion."""
    out = bench.path("matrix")
    try:
        bench.run([bench.iosonar, "matrix", path, "--sizes", str(size), "--records", str(record), "--all-pairs", "--methods",
                   method, "--tests", ",".join(TESTS), "--repeat", "1", "--no-records", "--no-progress", "--out", out])
        with open(os.path.join(out, "cells.json")) as file:
            cells = json.load(file)["results"]
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return {cell["test"]: (size / cell["elapsed_ns"], size / cell["per_stream"][0]["all_span_ns"]) for cell in cells}


def theirs(bench, path, size, record, engine):
    """The same of fio: by the sum of its latencies, and by its own runtime, which is in whole milliseconds."""
    if not bench.fio_path:
        return {}
    common = [f"--filename={path}", f"--ioengine={engine}", f"--bs={record}", f"--size={size}", "--iodepth=1", "--thread",
              "--fallocate=none", "--invalidate=0", "--fadvise_hint=0", "--fsync_on_close=1"]
    jobs = list(TESTS.items())
    found = {}
    try:
        # The file is new for the first job only: fio makes the file of a reading job before any starts.
        for group in (jobs[:1], jobs[1:]):
            report, words = bench.path("fio.json"), []
            for name, rw in group:
                words += [f"--name={name}", "--stonewall", f"--rw={rw}", *common]
            bench.run([bench.fio_path, "--output-format=json", f"--output={report}", *words])
            with open(report) as file:
                text = file.read()
            for job in json.loads(text[text.index("{"):])["jobs"]:
                done = job["write" if "write" in TESTS[job["jobname"]] else "read"]
                latencies = done["lat_ns"]["mean"] * done["total_ios"]
                found[job["jobname"]] = (done["io_bytes"] / latencies, done["io_bytes"] / max(done["runtime"], 1) / 1e6)
    finally:
        if os.path.exists(path):
            os.remove(path)
    return found


def default_matrix(bench, command):
    """All tests of all 126 default pairs in memory: how long, and which part of it is in a record as a timed step."""
    path, out = f"/dev/shm/iosonar-bench-{os.getpid()}.tmp", bench.path("whole")
    sizes = (["-n", "64k", "-g", "256k"], ["--sizes", "64k..256k"]) if bench.tiny else ([], [])
    words = {"iozone": ["iozone", "-a", *sizes[0], "-f", path, "--out", out],
             "matrix": ["matrix", path, *sizes[1], "--tests", "all", "--repeat", "1", "--no-progress", "--out", out]}[command]
    took = Row("iozone", f"default matrix by {command}: all of it", "s")
    asked = Row("iozone", f"default matrix by {command}: requests in flight", "%")
    steps = Row("iozone", f"default matrix by {command}: requests and file operations", "%")
    data = Row("iozone", f"default matrix by {command}: making data, and the loop between requests", "%")
    tests = Row("iozone", f"default matrix by {command}: tests, from first to last request, and file operations", "%",
                ">= 80")
    tests.verdict = at_least(80)
    for _ in range(bench.pairs):
        begin = time.monotonic()
        bench.run([bench.iosonar, *words], limit=900)
        seconds = time.monotonic() - begin
        archive = out if command == "iozone" else os.path.join(out, "part-1")
        spent = spent_in(bench, archive)
        shutil.rmtree(out)
        took.add(seconds)
        asked.add(spent["transfers"] / seconds * 100)
        steps.add((spent["transfers"] + spent["steps"]) / seconds * 100)
        data.add(spent["between"] / seconds * 100)
        tests.add(sum(spent.values()) / seconds * 100)
    return [took, asked, steps, data, tests]


def spent_in(bench, archive):
    """Seconds of an archive's requests, of its other operations, and of the loop between requests."""
    text, _, _ = bench.run([bench.iosonar, "convert", archive, "--to", "csv"], limit=900)
    lines = iter(text.splitlines())
    head = next(lines).split(",")
    op, phase, begun, ended = (head.index(name) for name in ("op", "phase", "submitted_ns", "completed_ns"))
    transfers, steps, spans = 0, 0, {}
    for line in lines:
        fields = line.split(",")
        start, end = int(fields[begun]), int(fields[ended])
        if fields[op] not in ("R", "W", "read", "write"):
            steps += end - start
            continue
        transfers += end - start
        first, last, sum_ = spans.get(fields[phase], (start, end, 0))
        spans[fields[phase]] = (min(first, start), max(last, end), sum_ + end - start)
    between = sum(last - first - sum_ for first, last, sum_ in spans.values())
    return {"transfers": transfers / 1e9, "steps": steps / 1e9, "between": between / 1e9}


def small_cells(bench):
    """What a cell costs that has next to nothing to measure: 16 requests."""
    path, out = f"/dev/shm/iosonar-bench-{os.getpid()}.tmp", bench.path("small")
    repeats = 5 if bench.tiny else 200
    row = Row("iozone", "a cell of 16 requests, archive and conclusion included", "ms/cell", "<= 10", digits=2)
    row.verdict = at_most(10)

    def seconds(times):
        begin = time.monotonic()
        bench.run([bench.iosonar, "matrix", path, "--sizes", "64k", "--records", "4k", "--tests", "write,read", "--repeat",
                   str(times), "--no-progress", "--out", out])
        shutil.rmtree(out)
        return time.monotonic() - begin

    for _ in range(bench.pairs):
        row.add(max(seconds(1 + repeats) - seconds(1), 1e-6) / (2 * repeats) * 1e3)
    return row
