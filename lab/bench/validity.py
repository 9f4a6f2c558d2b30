"""The line `validity`: how often clean runs get a caution, what detectors miss, and what keeping the evidence costs."""

import json
import os
import random
import re
import shutil

from core import Failed, Row, Skip, at_most, per_request, say

MIB = 1 << 20
SECONDS = 40
REQUESTS = 20_000


def line_validity(bench):
    """cautions of clean runs, detection rates over seeds, and the speed of a run with its counters sampled or not"""
    return [*simulated_clean(bench), *real_clean(bench), *simulated_wrong(bench), *rates(bench), *overhead(bench)]


# --- simulated runs -----------------------------------------------------------------------------------------------

def cautions(bench, *options):
    """Runs once; names of the cautions that its judgement has, those that are explained by others too."""
    out = bench.path("judged")
    summary_file = os.path.join(out, "summary.json")
    try:
        try:
            bench.run([bench.iosonar, "run", *options, "--no-progress", "--out", out])
        except Failed:
            # Where requests fail on purpose, the run has failed, and has a judgement.
            if not os.path.exists(summary_file):
                raise
        with open(summary_file) as summary:
            detections = json.load(summary)["judgement"]["detections"]
    finally:
        shutil.rmtree(out, ignore_errors=True)
    return [one["id"] for one in detections if one["level"] in ("caution", "fail")]


def device(seed, service_us, jitter_us, depth):
    return ["-t", "simulated", "--engine", "sim", "--size", "1g", "--rw", "randread", "--bs", "4k", "--seed", str(seed),
            "--sim-service", f"{service_us}us", "--sim-jitter", f"{jitter_us}us", "--iodepth", str(depth)]


def clean(seed):
    """A closed loop, or random arrivals that keep a device half busy; 20 000 requests in 40 s of the simulated clock. The level of a
    twentieth of that varies by 1 to 3 % by chance."""
    draw = random.Random(seed)
    depth, share = draw.choice((1, 4, 32)), draw.uniform(0.1, 0.5)
    if seed % 2:
        each_us = SECONDS * 1e6 / REQUESTS * depth
        pace = []
    else:
        each_us = SECONDS * 1e6 / REQUESTS * depth / 2
        pace = ["--rate-iops", str(REQUESTS // SECONDS), "--rate-process", "poisson", "--sim-channels", str(depth)]
    options = device(seed, round(each_us * (1 - share)), round(each_us * share), depth)
    return [*options, *pace, "--time-based", "--runtime", str(SECONDS)]


def simulated_clean(bench):
    runs = 10 if bench.tiny else 500
    row = Row("validity", f"{runs} simulated clean runs: runs with a caution", "runs", "<= 2", digits=0)
    row.verdict = at_most(2)
    found = [(seed, names) for seed in range(1, runs + 1) if (names := cautions(bench, *clean(seed)))]
    for seed, names in found:
        say(f"   seed {seed}: {', '.join(names)}")
    row.add(len(found))
    return [row]


# What is wrong, the caution, and the run of a seed.
WRONG = [
    ("a closed loop, every 10 s a stall of 1 s", "stalls-hidden",
     lambda seed: [*device(seed, 1500, 500, 1), "--sim-stall", "1s/10s", "--time-based", "--runtime", str(SECONDS)]),
    ("1.2 times the rate that the device can do", "cannot-keep-up",
     lambda seed: [*device(seed, 1500, 500, 4), "--sim-channels", "1", "--rate-iops", "600", "--rate-process", "poisson",
                   "--time-based", "--runtime", str(SECONDS)]),
    ("a closed loop that is 2.5 times as slow from 40 % of the time on", "not-steady",
     lambda seed: [*device(seed, 1500, 500, 1), "--sim-change", f"250@{SECONDS * 2 // 5}s", "--time-based", "--runtime", str(SECONDS)]),
    ("one request in 500 fails", "requests-not-done",
     lambda seed: [*device(seed, 1500, 500, 1), "--sim-errors", "500", "--time-based", "--runtime", str(SECONDS)]),
]


def simulated_wrong(bench):
    runs = 3 if bench.tiny else 50
    rows = []
    for what, name, options in WRONG:
        row = Row("validity", f"{runs} simulated runs, {what}: {name}", "runs", f">= {runs}", digits=0)
        row.verdict = lambda ours, theirs, ratio: runs - ours
        row.add(sum(name in cautions(bench, *options(seed)) for seed in range(1, runs + 1)))
        rows.append(row)
    return rows


# --- levels and latencies from seeds --------------------------------------------------------------------------------

LINE = re.compile(r"\| (?P<what>[^|]*) \| `(?P<name>[a-z-]+)` \| (?P<found>\d+) of (?P<seeds>\d+) \|")


def rates(bench):
    """The simulated device keeps its level. Levels that change are drawn beside the detectors, by a test of their room."""
    if bench.args.programs or not shutil.which("cargo"):
        say("nothing is built: the rates of crates/judge/src/rates.rs are not counted")
        return []
    command = ["cargo", "test", "--release", "--locked", "--quiet", "--manifest-path", os.path.join(bench.args.home, "Cargo.toml"),
               "--target-dir", bench.args.target_dir, "-p", "iosonar-judge", "--lib", "--", "--ignored", "--nocapture", "detection_rates"]
    os.environ["SEEDS"] = "10" if bench.tiny else "500"
    text, _, _ = bench.run(command, limit=1200)
    rows = []
    for line in LINE.finditer(text):
        row = Row("validity", f"{line['seeds']} runs, {line['what']}: {line['name']}", "runs", digits=0)
        row.add(int(line["found"]))
        rows.append(row)
    return rows


# --- real runs ----------------------------------------------------------------------------------------------------

def real_clean(bench):
    """Direct reads of a file that is fully written and on the disk. They are clean only where nobody else uses the machine: the
    load average after the simulated runs, which are one process, says so."""
    load = os.getloadavg()[0]
    if load > len(os.sched_getaffinity(0)):
        say(f"   load average {load:.1f}: others use this machine, so no real run is clean, and none is made")
        return []
    # A shorter run does not say whether the level stays.
    runs, seconds = (2, 0.5) if bench.tiny else (20, 30)
    target = bench.path("target")
    row = Row("validity", f"{runs} real clean runs of {seconds} s: runs with a caution", "runs", "<= 2", digits=0)
    row.verdict = at_most(2)
    try:
        with open(target, "wb") as file:
            for _ in range(64):
                file.write(os.urandom(MIB))
            file.flush()
            os.fsync(file.fileno())
        found = 0
        for number in range(runs):
            names = cautions(bench, "-t", target, "--rw", "randread", "--bs", "4k", "--iodepth", str((1, 4)[number % 2]),
                             "--time-based", "--runtime", f"{int(seconds * 1000)}ms")
            if names:
                say(f"   run {number + 1}: {', '.join(names)}")
                found += 1
        row.add(found)
    finally:
        os.remove(target)
    return [row]


# How often counters are sampled. At the start and at the end they always are.
EACH_SECOND, HUNDREDFOLD, NEVER_BETWEEN = "1s", "10ms", "1h"


def overhead(bench):
    """Runs whose counters are sampled each second, a hundred times a second, and at the start and the end only; each goes first in turn.
    What one sample a second costs is less than the noise of any machine; a hundred times as many show it."""
    milliseconds, rounds = (300, 1) if bench.tiny else (3_000, max(bench.pairs, 12))
    closed = ["--time-based", "--runtime", f"{milliseconds}ms", "--rw", "randread", "--bs", "4k", "--iodepth", "32"]
    targets = [("without I/O", ["-t", "nothing", "--engine", "null", "--size", "1g", "--norandommap"])]
    try:
        targets.append(("on zram", ["-t", bench.zram()]))
    except Skip as why:
        say(f"   {why}")
    rows = []
    for name, target in targets:
        row = Row("validity", f"4 KiB random reads {name}, depth 32: samples each second", "k requests/s", "ratio >= 0.99", higher=True)
        cost = Row("validity", f"the same {name}: run phase", "ns CPU/request", "ratio <= 1.01")
        many = Row("validity", f"the same {name}: 100 samples each second", "k requests/s", higher=True)
        one = Row("validity", f"the same {name}: cost of one of these 100", "% of the speed", "<= 1", digits=3)
        row.has_interval = cost.has_interval = many.has_interval = True
        row.other = cost.other = many.other = "at start and end only"
        row.verdict = lambda ours, theirs, ratio: 0.99 - ratio
        cost.verdict = lambda ours, theirs, ratio: ratio - 1.01
        one.verdict = at_most(1)
        sides = [EACH_SECOND, HUNDREDFOLD, NEVER_BETWEEN]
        for number in range(rounds):
            order = sides[number % 3:] + sides[:number % 3]
            done = {every: bench.ours(["run", *target, *closed, "--sample-every", every]) for every in order}
            rates = {every: result["requests"] / result["seconds"] / 1e3 for every, result in done.items()}
            row.add(rates[EACH_SECOND], rates[NEVER_BETWEEN])
            many.add(rates[HUNDREDFOLD], rates[NEVER_BETWEEN])
            one.add(1 - rates[HUNDREDFOLD] / rates[NEVER_BETWEEN])
            cost.add(per_request(done[EACH_SECOND], "run_cpu"), per_request(done[NEVER_BETWEEN], "run_cpu"))
        rows += [row, cost, many, one]
    return rows
