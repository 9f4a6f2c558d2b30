#!/usr/bin/env python3
"""Runs the program on damaged archives, traces, plans and command lines, and checks how it ends.

    lab/mutate.py PROGRAM [--runs N] [--seed N] [--only KIND] [--jobs N] [--run I] [--keep DIR] [--scratch DIR]

First the program itself makes a set of good inputs (seeds). Each run then copies the inputs of one command into an empty
directory, damages one of them, the command line, or both, and runs the command there. The command must end:

  - with a code of docs/exit-codes.md: never by a signal, never by a panic;
  - within the time limit. A command that issues requests may run long if that is what it was told; SIGINT must end it;
  - with a message if it fails, which begins with the program's name, or is one of the argument parser's;
  - without a trace if it was refused (code 2): no new file, no new directory, no changed byte. A command that only
    converts or prints leaves nothing if it breaks (code 1), either; plot and report may, because they also end with 1
    where no request completed. No command changes its inputs;
  - without temporary files.

Run I of seed N is always the same. A finding is kept with its inputs and a script that repeats it. The exit code is 1 if
there are findings, 2 if the command line is wrong.

Nothing outside of the scratch directory can be harmed: as root the commands run as a user who owns nothing else, their
memory and files are limited, and no word and no plan may name a device but /dev/null and /dev/zero. Filter steps that run
a shell command are never mutated.
"""

import argparse
import collections
import concurrent.futures
import gzip
import hashlib
import json
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
FIXTURES = REPOSITORY / "crates/trace/tests/fixtures"
TARGET = "t.img"
# Codes of docs/exit-codes.md; 130 and 143 only after a signal of ours.
CODES = {0, 1, 2, 3, 5}
LIMIT_SECONDS = 20
# A command that issues requests gets SIGINT after this time.
PATIENCE_SECONDS = 4
MEMORY = 16 << 30
LARGEST_FILE = 256 << 20
# A user who owns no files.
NOBODY = 64999

RUNNERS = {"run", "replay", "knee", "xdd", "blkreplay", "record", "live"}
# Commands whose standard output is for people, or JSON.
PRINTERS = {"show", "info", "analyze", "compare", "check", "plot", "report", "knee", "live"}

HUGE = [b"0", b"-1", b"1", b"4294967295", b"2147483648", b"9223372036854775807", b"9223372036854775808",
        b"18446744073709551615", b"18446744073709551616", b"1e308", b"-1e308", b"NaN", b"inf", b"1e-320", b"0.0000000001",
        b"9" * 40, b"0" * 300, b"1" + b"0" * 400, b"0x7f", b"\xd9\xa3", b""]
WORDS = ["", "-", "--", "-1", "0", "1", "NaN", "inf", "-inf", "1e308", "18446744073709551615", "18446744073709551616",
         "9223372036854775807", "9" * 50, "1.5", "0.0000000001", "1s", "1us", "100000h", "1KiB", "16EiB", "1..2", "2..1", "..", "0..0",
         "50", "100", "101", "a", "all", "none", "random", "=", ",", ":", "|", "'", '"', "\t", "\n", "a\nb", "\x1b[2J", "é", "\u202e",
         "nowhere", "nowhere/x", ".", "./", "/", "x" * 300, "x" * 100000, TARGET, "new", "new/", "new/x", "-o", "--out", "--help", "--version",
         "--no-such-option", "-Z", "--target", "/dev/null", "/dev/zero", "b\udcff"]


class Case:
    """A command and the inputs that it needs. Words in braces name inputs; `mutable` are those that may be damaged."""

    def __init__(self, kind, line, mutable=(), stdin=None, weight=10):
        self.kind, self.words, self.stdin, self.weight = kind, shlex.split(line), stdin, weight
        self.inputs = [word[1:-1] for word in re.findall(r"\{[^}]+\}", line)]
        self.words = [re.sub(r"[{}]", "", word) for word in self.words]
        if stdin:
            self.inputs.append(stdin)
        self.mutable = list(mutable) or self.inputs

    @property
    def command(self):
        return self.words[0]


SIM = "--engine sim --size 1MiB --no-progress --start-grace 0"
RUN = "--engine sim --size 1MiB --no-progress"


def cases(seeds):
    """All commands, with the inputs that exist."""
    made = []

    def add(kind, lines, weight=10, **how):
        made.extend(Case(kind, line, weight=weight, **how) for line in lines)

    archives = sorted(p.name for p in seeds.iterdir() if (p / "run.json").exists())
    for a in archives:
        b = "{run}" if a != "run" else "{two}"
        add("archive", [f"show {{{a}}}", f"show {{{a}}} --json --deskew", f"show {{{a}}} --show-plan", f"analyze {{{a}}}",
                        f"analyze {{{a}}} --json --one-device", f"convert --to csv {{{a}}} -o new.csv", f"convert --to json {{{a}}}",
                        f"convert --to replay {{{a}}} --target 0 -o new.replay", f"info {{{a}}} --json",
                        f"convert {{{a}}} new.load.gz", f"convert {{{a}}} --to archive new",
                        f"compare {{{a}}} {b} --fail-if 'p99 > +10%'", f"live {{{a}}} --once",
                        f"check {{{a}}} {{small.load}}", f"plot {{{a}}} --text", f"report {{{a}}} --text"], 4)
        add("archive", [f"plot {{{a}}} -o pictures --only delay --svg --data", f"report {{{a}}} -o page.html --side-car"], 1)
    add("archive", ["analyze {run} {two} --each --csv", "compare {run} {two} {cut} --json", "run {run/plan.toml} " + "--out new"], 4)
    add("knee", ["show {knee}", "show {knee} --json", "compare {knee} {knee-b}", "compare {knee} {knee-b} --json", "analyze {knee}",
                 "live {knee} --once", "plot {knee} --text", "report {knee} --text", "info {knee}"])
    traces = sorted(p.name for p in seeds.iterdir() if p.name.startswith("trace-"))
    for trace in traces:
        add("trace", [f"info {{{trace}}} --json", f"convert {{{trace}}} new.load", f"convert {{{trace}}} new.archive --to archive",
                      f"convert {{{trace}}} --to fio new.log --timing exact", f"convert {{{trace}}} parts --split device",
                      f"analyze {{{trace}}}", f"check {{run}} {{{trace}}}"], 2, mutable=[trace])
    add("trace", ["convert {trace-blktrace.blktrace.0} {trace-blktrace.blktrace.1} new.load --guess-timing",
                  "info {trace-blktrace.blktrace.0} {trace-blktrace.blktrace.1}"])
    for load in ["small.load", "small.load.gz", "result.replay", "odd.load.gz"]:
        add("load", [f"replay {{{load}}} -t {TARGET} -o new {SIM}", f"replay {{{load}}} -t {TARGET} -o new {SIM} --backward sort --skip-bad",
                     f"replay {{{load}}} {{{load}}} -t {TARGET} {SIM} --asap --dry-run", f"analyze {{{load}}} --json",
                     f"plot {{{load}}} --text", f"filter 'spread:2,align=8 | repeat:2' {{{load}}} -o new.load.gz",
                     f"derive overload {{{load}}} --window 1s --split 1,2 -o new", f"derive ramp {{{load}}} -o new.load",
                     f"derive adjacent {{{load}}} {{{load}}} -o new.load.gz", f"knee -t {TARGET} {{{load}}} {SIM[:-16]} -o new",
                     f"import {{{load}}} -o new", f"report {{{load}}} -o page.html"], 4)
        add("load", [f"plot {{{load}}} -o pictures --only ws_log --svg --data"], 1)
    add("load", [f"replay {{small.load}} -t {{{TARGET}}} -o new --no-progress --start-grace 0 --engine threads --depth 4",
                 f"replay {{small.load}} -t {{{TARGET}}} -o new --no-progress --start-grace 0"], mutable=["small.load"])
    add("blkreplay", [f"blkreplay {TARGET} --start-grace=0 --fake-io --no-progress", f"blkreplay {{{TARGET}}} --start-grace=0 --no-o-direct --out=new"],
        20, stdin="small.load", mutable=["small.load"])
    for plan in sorted(p.name for p in seeds.iterdir() if p.name.startswith("plan-")):
        add("plan", [f"run {{{plan}}} -o new --no-progress", f"run {{{plan}}} --show-plan", f"run {{{plan}}} --dry-run --no-progress",
                     f"run {{{plan}}} {{small.load}} -o new"], 12, mutable=[plan])
    for setup in sorted(p.name for p in seeds.iterdir() if p.name.startswith("setup-")):
        add("setup", [f"xdd -setup {{{setup}}} -out new", f"xdd -setup {{{setup}}} -show-plan",
                      f"xdd -op read -setup {{{setup}}} {{{TARGET}}} -output new.out -csvout new.csv"], 12, mutable=[setup])
    add("setup", [f"xdd -op read -targets 1 {{{TARGET}}} -numreqs 8 -reqsize 8 -seek load {{trace-list.seek}} -out new",
                  f"xdd -op write -targets 1 {{{TARGET}}} -numreqs 8 -reqsize 8 -seek load {{trace-list.seek}} -seek save new.seek -ts detailed -ts output new -verbose"],
        30, mutable=["trace-list.seek"])
    add("places", ["report {run} --places {places} -o page.html", "report {two} --places {places} --text"], 8, mutable=["places"])
    steps = ["select:0..2 | spread:2.0,align=8", "repeat:3,offset=8 | slip:every=4,increase=8", "subst:R,W | reverse | shift:1s", "sample:3 | scale:0.5",
             "resize:factor=2,min=1,max=64", "merge:small.load,offset=8,shift=1s"]
    for step in steps:
        add("filter", [f"filter '{step}' {{small.load}} -o new.load", f"filter '{step}' {{small.load}}",
                       f"replay {{small.load}} -t {TARGET} {SIM} --filter '{step}' -o new", f"derive ramp {{small.load}} --filter '{step}'"], 6)
    add("words", [f"run --rw randrw --bs 4k --iodepth 8 --number-ios 200 -t {TARGET} {RUN} -o new",
                  f"run --rw randwrite --bssplit 4k/60:64k/40 --random-distribution zipf:1.1 --number-ios 100 -t {TARGET} {RUN} -o new --rate-iops 1000 --rate-process poisson",
                  f"run --steps 'random' --rw read --bs 4k --io-size 64k -t {TARGET} {RUN} --passes 3",
                  f"run --rw write --bs 4k --number-ios 16 --create -t fresh.img --data sequenced --verify contents --verify-immediate -o new --no-progress",
                  f"generate bursts new.load --duration 2s --size 1MiB --rate 10", "generate mixed new.load.gz --duration 2s --reads 30 --seed 4",
                  f"knee -t {TARGET} {RUN} -o new --from 10 --to 10000 --duration 2s", f"knee -t {TARGET} {RUN} --json",
                  "record nowhere -o new --duration 1s", "record --cleanup", "compare {run} {two} --json",
                  f"xdd -op write -targets 1 {{{TARGET}}} -reqsize 8 -mbytes 1 -passes 2 -verbose -datapattern random -queuedepth 2 -rwratio 50 -ts output new -ts detailed",
                  f"xdd -op read -targets 2 {{{TARGET}}} {{{TARGET}}} -reqsize 8 -numreqs 10 -throttle ops 1000 -lockstep 0 1 op 2 op 1 -output new.out",
                  f"blkreplay {TARGET} --start-grace=0 --simulate-io=0.001 --with-partial --strong=2 --threads=8"], 25)
    return [case for case in made if all((seeds / name).exists() for name in case.inputs)]


# --- seeds ----------------------------------------------------------------------------------------------------------

PLANS = {
    "plan-series.toml": ["run", "--steps", "random", "--rw", "read", "--bs", "4k", "--io-size", "64k", "--passes", "2", "-t", TARGET],
    "plan-pattern.toml": ["run", "--rw", "randrw", "--bssplit", "4k/60:64k/40", "--random-distribution", "zipf:1.1", "--number-ios", "100",
                          "--rate-iops", "10000", "-t", TARGET],
    "plan-replay.toml": ["replay", "small.load", "-t", TARGET, "--start-grace", "0"],
    "plan-filter.toml": ["replay", "small.load", "-t", TARGET, "--start-grace", "0", "--filter", "repeat:2 | spread:2 | merge:odd.load.gz"],
    "plan-jobs.toml": ["run", "--rw", "write", "--bs", "4k", "--numjobs", "2", "--number-ios", "20", "-t", TARGET, "u.img", "--passes", "2"],
    "plan-verify.toml": ["run", "--steps", "sequential", "--rw", "write", "--bs", "4k", "--io-size", "64k", "-t", TARGET, "--verify", "contents",
                         "--verify-immediate", "--data", "sequenced"],
}
SETUPS = {
    "setup-plain": f"-op write -targets 1 {TARGET} -reqsize 8 -numreqs 20 -passes 2 -verbose\n",
    "setup-many": f"-targets 2 {TARGET} {TARGET} -op read\n-reqsize 4 -blocksize 512\n-numreqs 16 -queuedepth 2 -rwratio 50 -seek random -seek range 100\n"
                  "-throttle ops 5000\n-lockstep 0 1 op 2 op 1\n-id \"a run\" -qthreadinfo -deskew\n",
    "setup-stamps": f"-op write -targets 1 {TARGET} -reqsize 8 -numreqs 10 -ts detailed -ts output stamps -ts dump dumped -datapattern ascii HELLO\n",
}
TABLES = {
    "trace-alibaba.csv": "".join(f"{419 + i % 2},{'RW'[i % 2]},{879273164800 + i * 4096},{4096 * (1 + i % 4)},{1577808144360767 + i * 100}\n" for i in range(40)),
    "trace-tencent.csv": "".join(f"{1538323200 + i // 8},{6160447 + i * 8},8,{i % 2},{1283 + i % 3}\n" for i in range(40)),
    "trace-msr.csv": "".join(f"{128166372003061629 + i * 1000},hm,{i % 2},{['Read', 'Write'][i % 2]},{383496192 + i * 512},{512 * (1 + i % 9)},{413 + i}\n" for i in range(40)),
    "trace-list.seek": "#Ordinal Location Reqsize Operation Time1 Time2\n" + "".join(
        f"{i:010} {i * 8 % 64:012} 8 {'rw'[i % 2]} {i * 1000:016} {0:016}\n" for i in range(20)),
}


def unpacked(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def first_lines(data, count):
    return b"".join(data.splitlines(keepends=True)[:count])


def make_seeds(program, seeds):
    """Good inputs, most of them made by the program. Large ones are cut, so that damage hits something that matters."""

    def run(*words, code=0, stdin=None):
        ended = subprocess.run([program, *words], cwd=seeds, capture_output=True, stdin=stdin or subprocess.DEVNULL, timeout=120)
        if ended.returncode != code:
            sys.exit(f"cannot make seeds: {shlex.join(words)} ended with {ended.returncode}: {ended.stderr.decode(errors='replace')}")
        return ended.stdout

    (seeds / TARGET).write_bytes(random.Random(1).randbytes(1 << 20))
    (seeds / "u.img").write_bytes(bytes(1 << 20))
    (seeds / "places").write_text("# places\n0 64KiB boot\n64KiB 512KiB data/ibdata1\n600KiB 1KiB tail\n")
    for name, text in [*SETUPS.items(), *TABLES.items()]:
        (seeds / name).write_text(text)
    run("generate", "mixed", "small.load", "--duration", "2s", "--size", "1MiB", "--rate", "50")
    run("filter", "sample:1", "small.load", "-o", "small.load.gz")
    shutil.copy(REPOSITORY / "crates/app/tests/fixtures/odd.load.gz", seeds / "odd.load.gz")
    sim = shlex.split(SIM)
    run("replay", "small.load", "-t", TARGET, "-o", "run", *sim, "--sim-errors", "20", code=1)
    run("replay", "small.load", "small.load", "-t", TARGET, "u.img", "-o", "two", *sim, "--speed", "2")
    run("xdd", "-op", "write", "-targets", "1", TARGET, "-reqsize", "8", "-mbytes", "1", "-passes", "2", "-out", "xdd", "-seek", "random")
    run("convert", "--to", "replay", "run", "-o", "result.replay")
    run("convert", "result.replay", "-o", "imported")
    for name in ["knee", "knee-b"]:
        run("knee", "-t", TARGET, *shlex.split(RUN), "--from", "100", "--to", "3000", "--duration", "1s", "-o", name)
    for name, words in PLANS.items():
        (seeds / name).write_bytes(run(*words, "--engine", "sim", "--size", "1MiB", "--show-plan"))
    make_cut_archives(program, seeds)
    make_traces(seeds)
    run("convert", "trace-blktrace.blktrace.0", "trace-blktrace.blktrace.1", "recorded", "--to", "archive")


def make_cut_archives(program, seeds):
    """Archives of runs that were killed: one whose log is whole, and one whose log ends within a frame."""
    words = ["run", "--rw", "read", "--bs", "4k", "--rate-iops", "500", "--time-based", "--runtime", "60", "-t", TARGET, "--engine", "threads", "--no-progress", "-o", "killed"]
    running = subprocess.Popen([program, *words], cwd=seeds, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    log = seeds / "killed/records.log"
    end = time.monotonic() + 60
    while time.monotonic() < end and not (log.exists() and log.stat().st_size > 2000):
        time.sleep(0.1)
    running.kill()
    running.wait()
    if not log.exists():
        sys.exit("cannot make seeds: a run that was killed left no log")
    shutil.copytree(seeds / "killed", seeds / "cut")
    with open(seeds / "cut/records.log", "r+b") as cut:
        cut.truncate(cut.seek(0, os.SEEK_END) - 37)


def make_traces(seeds):
    app = REPOSITORY / "crates/app/tests/fixtures"
    for i in "01":
        shutil.copy(app / f"tiny.blktrace.{i}", seeds / f"trace-blktrace.blktrace.{i}")
    (seeds / "trace-diskmon.log").write_bytes(first_lines(unpacked(app / "diskmon.log.gz"), 60))
    for name, path, lines in [("trace-blkparse.txt", "blktrace/mixed.default.gz", 150), ("trace-ftrace.txt", "tracefs/mixed.context.trace.gz", 150),
                              ("trace-perf.txt", "perf/mixed.script.gz", 150), ("trace-fio3.log", "fio/files.v3.log", 80),
                              ("trace-fio2.log", "fio/waits.v2.log", 80)]:
        (seeds / name).write_bytes(first_lines(unpacked(FIXTURES / path), lines))
    (seeds / "trace-blkparse.txt.gz").write_bytes(gzip.compress((seeds / "trace-blkparse.txt").read_bytes(), mtime=0))
    shutil.copy(seeds / "run/records.parquet", seeds / "trace-records.parquet")


# --- damage ---------------------------------------------------------------------------------------------------------

def damage_bytes(rng, data, others):
    """One mutation of bytes, whatever they mean."""
    data = bytearray(data)
    size = len(data)
    at = rng.randrange(size) if size else 0
    length = min(size - at, rng.choice([1, 2, 4, 8, 16, 64, 512, 4096])) if size else 0
    how = rng.randrange(14)
    if how == 0:
        for _ in range(rng.choice([1, 1, 2, 8, 64])):
            if size:
                data[rng.randrange(size)] ^= 1 << rng.randrange(8)
    elif how == 1:
        data[at:at + length] = rng.randbytes(length)
    elif how == 2:
        data[at:at] = rng.randbytes(rng.choice([1, 3, 16, 300]))
    elif how == 3:
        del data[at:at + length]
    elif how == 4:
        del data[at:]
    elif how == 5:
        data[at:at] = data[at:at + length] * rng.choice([1, 2, 50])
    elif how == 6:
        other = rng.choice(others)()
        cut = rng.randrange(len(other) + 1)
        data[at:] = other[cut:cut + (1 << 20)]
    elif how == 7:
        width = rng.choice([1, 2, 4, 8])
        value = rng.choice([0, 1, (1 << 8 * width) - 1, (1 << 8 * width - 1) - 1, 1 << 8 * width - 1, rng.getrandbits(8 * width)])
        data[at:at + width] = value.to_bytes(width, rng.choice(["little", "big"]))
    elif how in (8, 9, 10):
        replace_number(rng, data)
    elif how == 11:
        replace_word(rng, data)
    elif how == 12:
        move_line(rng, data)
    else:
        data[at:at] = rng.choice([b"\xff\xfe", b"\x00", b"\r\n", b"\n" * 1000, b" " * 70000, b"\xef\xbb\xbf", b"\xc3\x28", b"\x1b[31m", b"[[" * 5000, b'"'])
    return bytes(data)


def replace_number(rng, data):
    numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?", data[:1 << 16]))
    if numbers:
        number = rng.choice(numbers)
        data[number.start():number.end()] = rng.choice(HUGE)


def replace_word(rng, data):
    words = list(re.finditer(rb"[A-Za-z_-]{2,}", data[:1 << 16]))
    if words:
        word, other = rng.choice(words), rng.choice(words)
        data[word.start():word.end()] = other.group()


def move_line(rng, data):
    lines = bytes(data).splitlines(keepends=True)
    if lines:
        line = lines.pop(rng.randrange(len(lines)))
        for _ in range(rng.choice([0, 1, 2, 40])):
            lines.insert(rng.randrange(len(lines) + 1), line)
        data[:] = b"".join(lines)


VALUES = [None, True, -1, 0, 1, 0.5, 1e308, -1e308, 1 << 32, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 1 << 64, 10 ** 30, "", "x", "1s", "NaN", "\u0000",
          "x" * 10000, [], [[]], {}, {"a": 1}, [None] * 1000]


def damage_json(rng, data):
    """A value of another type or size, a key that lacks, an element too many: still JSON."""
    whole = json.loads(data)
    places = []

    def walk(value):
        keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
        for key in list(keys):
            places.append((value, key))
            walk(value[key])

    walk(whole)
    if not places:
        return data
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        parent, key = rng.choice(places)
        how = rng.randrange(4)
        try:
            if how == 0:
                del parent[key]
            elif how == 1 and isinstance(parent, list):
                parent.extend([parent[key]] * rng.choice([1, 2, 300]))
            elif how == 2:
                parent[key] = rng.choice(places)[0]
                json.dumps(whole)
            else:
                parent[key] = rng.choice(VALUES)
        except (KeyError, IndexError):
            pass
        except ValueError:
            return data
    return json.dumps(whole).encode()


TOML_VALUES = ["-1", "0", "1", "18446744073709551615", "9223372036854775807", "1e308", "nan", "inf", "true", '""', '"x"', '"0"', '"1s"', '"-1s"', '"1EiB"', '"16EiB"',
               '"18446744073709551615"', '"1e30"', "[]", "[1]", "{}", "{ a = 1 }", "1979-05-27", '"0B"', '"1B"', '"513B"', '"1TiB"', '"random"', '"all"', '"nowhere"',
               '"."', '"1ns"', '"100000h"', '"\\u0000"', '"' + "x" * 5000 + '"']


def damage_toml(rng, data):
    """A value, a key or a table exchanged, doubled or left out: most of it still TOML."""
    lines = data.decode(errors="replace").splitlines()
    settings = [i for i, line in enumerate(lines) if " = " in line]
    tables = [i for i, line in enumerate(lines) if line.startswith("[")]
    if not settings:
        return data
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        i, j = rng.choice(settings), rng.choice(settings)
        key, other = lines[i].split(" = ")[0], lines[j].split(" = ", 1)
        how = rng.randrange(6)
        if how <= 2:
            lines[i] = f"{key} = {rng.choice(TOML_VALUES)}"
        elif how == 3 and len(other) == 2:
            lines[i] = f"{key} = {other[1]}"
        elif how == 4:
            lines[i] = ""
        elif tables:
            begin = rng.choice(tables)
            end = next((t for t in tables if t > begin), len(lines))
            lines.extend(lines[begin:end] * rng.choice([1, 1, 2, 30]))
    return "\n".join(lines).encode() + b"\n"


LOG_HEADER, LOG_FRAME = 16, 12


def damage_log(rng, data, others):
    """Damage within a frame of a records.log whose checksum is then made right: count, length, checksum, payload."""
    frames, at = [], LOG_HEADER
    while at + LOG_FRAME <= len(data):
        count, length, _ = struct.unpack_from("<III", data, at)
        frames.append((count, data[at + LOG_FRAME:at + LOG_FRAME + length]))
        at += LOG_FRAME + length
    if not frames:
        return damage_bytes(rng, data, others)
    i = rng.randrange(len(frames))
    count, payload = frames[i]
    frames[i] = (count + rng.choice([0, 0, 0, 1, -1, 1 << 20]), damage_bytes(rng, payload, others)[:1 << 20])
    rng.random() < 0.2 and rng.shuffle(frames)
    return data[:LOG_HEADER] + b"".join(
        struct.pack("<III", count & 0xffffffff, len(payload), zlib.crc32(payload)) + payload for count, payload in frames)


def damage_file(rng, path, others):
    """Damages one file where it lies."""
    how = rng.randrange(40)
    if how < 4:
        return damage_entry(rng, path, how)
    data = path.read_bytes()
    packed = data[:2] == b"\x1f\x8b" and rng.random() < 0.6
    if packed:
        data = gzip.decompress(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if path.suffix == ".json" and rng.random() < 0.7 and parses(data):
            data = damage_json(rng, data)
        elif path.suffix == ".toml" and rng.random() < 0.8:
            data = damage_toml(rng, data)
        elif path.name == "records.log" and rng.random() < 0.6:
            data = damage_log(rng, data, others)
        else:
            data = damage_bytes(rng, data, others)
        data = data[:4 << 20]
    path.write_bytes(gzip.compress(data, 1, mtime=0) if packed else data)


def parses(data):
    try:
        json.loads(data)
        return True
    except (ValueError, RecursionError):
        return False


def damage_entry(rng, path, how):
    """Something else in the place of a file."""
    path.unlink()
    if how == 0:
        path.mkdir()
    elif how == 1:
        path.symlink_to(rng.choice([path.name, "nowhere", ".", "../" + path.name, "/dev/null", "run.json"]))
    elif how == 2:
        path.write_bytes(b"")
    else:
        path.write_bytes(bytes(rng.choice([1, 16, 4096, 1 << 20])))


def damage_directory(rng, directory, others):
    """Damages an archive: one of its files, or which files it has."""
    files = sorted(p for p in directory.rglob("*") if p.is_file())
    if not files:
        return
    path, other = rng.choice(files), rng.choice(files)
    how = rng.randrange(12)
    if how < 7:
        damage_file(rng, path, others)
    elif how == 7:
        path.unlink()
    elif how == 8:
        held = path.read_bytes()
        path.write_bytes(other.read_bytes())
        other.write_bytes(held)
    elif how == 9:
        path.write_bytes(rng.choice(others)())
    elif how == 10:
        path.chmod(0)
    else:
        for file in rng.sample(files, rng.randrange(1, len(files) + 1)):
            file.unlink()


def damage_words(rng, words, options):
    """One mutation of a command line. Its first word, the command, stays."""
    words = list(words)
    i = rng.randrange(1, len(words)) if len(words) > 1 else 1
    how = rng.randrange(12)
    if how == 0 and i < len(words):
        del words[i]
    elif how == 1 and i < len(words):
        words.insert(rng.randrange(1, len(words) + 1), words[i])
    elif how == 2 and i < len(words):
        j = rng.randrange(1, len(words))
        words[i], words[j] = words[j], words[i]
    elif how in (3, 4) and i < len(words):
        data = bytearray(os.fsencode(words[i]))
        replace_number(rng, data)
        words[i] = os.fsdecode(bytes(data))
    elif how == 5:
        words.insert(i, rng.choice(WORDS))
    elif how == 6 and i < len(words):
        words[i] = rng.choice(WORDS)
    elif how in (7, 8, 9):
        # Front ends have options in another form; elsewhere an option of the same command is likelier to get far.
        own = options.get(words[0], [])
        option = rng.choice(own if own and rng.random() < 0.8 else rng.choice(sorted(options.items()))[1] or ["--no-such-option"])
        value = rng.choice([*WORDS, "1", "2", "8", "4k", "1ms", "2s", "10%"])
        words[i:i] = [f"{option}={value}"] if rng.random() < 0.2 else [option, value] if rng.random() < 0.7 else [option]
    elif how == 10 and i < len(words) and words[i]:
        data = bytearray(os.fsencode(words[i]))
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        words[i] = os.fsdecode(bytes(data).replace(b"\0", b"?"))
    elif i < len(words):
        words = words[:i]
    return words


def options_of(program):
    """The options of each command, as its help names them."""
    found = {}
    for command in re.findall(r"^  (\w+) ", text_of(program, "--help").split("Usage:")[1].split("Options:")[0], re.M):
        if command == "help":
            continue
        asked = {"xdd": ["-fullhelp"], "blkreplay": ["--help"]}.get(command, ["--help"])
        pattern = r"(?:^|, )\s*(-[a-z][\w-]*)" if command == "xdd" else r"^\s+(?:-\w, )?(--[\w-]+)"
        found[command] = sorted(set(re.findall(pattern, text_of(program, command, *asked), re.M)))
    return found


def text_of(program, *words):
    return subprocess.run([program, *words], capture_output=True, stdin=subprocess.DEVNULL, text=True, timeout=60).stdout


# --- one run --------------------------------------------------------------------------------------------------------

DEVICES = re.compile(rb"/(?:dev|sys|proc)/(?!(?:null|zero)\b)")


def is_safe(words, work, case):
    """Whether neither the words nor a plan, a setup file or the plan of an archive name a device, or a shell command."""
    texts = [os.fsencode(word) for word in words]
    for path in work.rglob("*"):
        if path.is_file() and not path.is_symlink() and (path.suffix == ".toml" or path.name.startswith(("setup", "plan"))) and os.access(path, os.R_OK):
            texts.append(path.read_bytes())
    return not any(DEVICES.search(text) or b"cmd" in text for text in texts)


class Run:
    """Run I of a seed: which command, which damage. Equal numbers make equal runs."""

    def __init__(self, lab, number):
        self.lab, self.number = lab, number
        self.rng = random.Random(f"{lab.seed}/{number}")
        self.case = self.rng.choices(lab.cases, [case.weight for case in lab.cases])[0]

    def prepare(self, work):
        """Fills the directory `work`; returns the words."""
        rng, case = random.Random(f"{self.lab.seed}/{self.number}/damage"), self.case
        for name in dict.fromkeys([*case.inputs, TARGET, "u.img", "small.load", "odd.load.gz"]):
            source, copy = self.lab.seeds / name, work / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, copy, dirs_exist_ok=True) if source.is_dir() else shutil.copy(source, copy)
        words = list(case.words)
        on_words = case.kind in ("words", "filter") or rng.random() < 0.25
        if case.mutable and case.kind != "filter" and not (on_words and rng.random() < 0.7):
            path = work / rng.choice(case.mutable)
            damage_directory(rng, path, self.lab.others) if path.is_dir() else damage_file(rng, path, self.lab.others)
        if on_words:
            for _ in range(rng.choice([1, 1, 2, 3])):
                words = damage_words(rng, words, self.lab.options)
        return words

    def execute(self):
        with tempfile.TemporaryDirectory(dir=self.lab.scratch, prefix=f"run{self.number}.", ignore_cleanup_errors=True) as scratch:
            scratch = pathlib.Path(scratch)
            work = scratch / "work"
            for directory in [work, scratch / "tmp"]:
                directory.mkdir()
            words = [word for word in self.prepare(work) if "\0" not in word]
            if sum(len(os.fsencode(word)) for word in words) > 1 << 20 or not is_safe(words, work, self.case):
                return Ended(self, words, skipped=True)
            if os.geteuid() == 0:
                hand_over(scratch)
            before = listing(work)
            code, how, out, err = self.start(scratch, work, words)
            ended = Ended(self, words, code, how, out, err)
            ended.judge(before, listing(work), listing(scratch / "tmp"))
            make_removable(scratch)
            return ended

    def start(self, scratch, work, words):
        environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(scratch / "tmp"), "HOME": str(scratch), "RUST_BACKTRACE": "0", "TERM": "dumb", "TZ": "UTC"}
        stdin = work / self.case.stdin if self.case.stdin else None
        identity = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with open(stdin if stdin and stdin.is_file() and os.access(stdin, os.R_OK) else os.devnull, "rb") as source, \
                open(scratch / "out", "wb") as out, open(scratch / "err", "wb") as err:
            process = subprocess.Popen([self.lab.program, *words], cwd=work, stdin=source, stdout=out, stderr=err, env=environment,
                                       start_new_session=True, restore_signals=False, preexec_fn=limit, **identity)
            how = self.wait(process, words[0] if words else "")
        read = lambda name: (scratch / name).read_bytes()[:1 << 20].decode(errors="replace")
        return process.returncode, how, read("out"), read("err")

    def wait(self, process, command):
        """How it ended: by itself, after SIGINT, or only when it was killed."""
        try:
            process.wait(PATIENCE_SECONDS if command in RUNNERS else self.lab.limit)
            return "itself"
        except subprocess.TimeoutExpired:
            pass
        try:
            if command in RUNNERS:
                process.send_signal(signal.SIGINT)
                process.wait(self.lab.limit)
                return "interrupted"
        except subprocess.TimeoutExpired:
            pass
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return "hang"


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)


def hand_over(directory):
    for path in [directory, *directory.rglob("*")]:
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def make_removable(directory):
    for path in directory.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)


def listing(directory):
    """Every path below a directory with what is there."""
    found = {}
    for path in sorted(directory.rglob("*")):
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode):
            readable = os.access(path, os.R_OK)
            content = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() if readable and facts.st_size < 64 << 20 else str(facts.st_size)
        else:
            content = os.readlink(path) if path.is_symlink() else "directory" if path.is_dir() else "special"
        found[str(path.relative_to(directory))] = content
    return found


class Ended:
    """How a run ended, and what is wrong with that."""

    def __init__(self, run, words, code=None, how="", out="", err="", skipped=False):
        self.run, self.words, self.code, self.how, self.out, self.err, self.skipped = run, words, code, how, out, err, skipped
        self.findings = []

    def judge(self, before, after, temporary):
        find = self.findings.append
        if self.how == "hang":
            find("hang: still running at the time limit")
        elif self.code < 0:
            find(f"died of {signal.Signals(-self.code).name}")
        elif self.code not in CODES and not (self.how == "interrupted" and self.code == 130):
            find(f"ended with code {self.code}, which docs/exit-codes.md does not have")
        if "panicked" in self.err or "stack backtrace" in self.err or "has overflowed its stack" in self.err:
            find("panicked")
        if self.code in (1, 2, 5) and not (self.err.strip() or self.out.strip()):
            find(f"ended with {self.code} and no message")
        if self.code == 2 and not re.search(r"^(iosonar|xdd|blkreplay|error|Usage)\b|^Measures storage", self.err + ("" if self.err else self.out), re.M | re.I):
            find("was refused without a message that names the program")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", self.err.replace("\r", "")):
            find("control characters in a message")
        # JSON may contain DEL unescaped.
        if self.words and self.words[0] in PRINTERS and re.search(r"[\x00-\x08\x0b-\x1f]", self.out):
            find("control characters on standard output")
        self.judge_files(before, after, temporary)

    def judge_files(self, before, after, temporary):
        new = sorted(set(after) - set(before))
        targets = {TARGET, "u.img"}
        changed = sorted(p for p in before if after.get(p) != before[p] and p not in targets)
        command = self.words[0] if self.words else ""
        if self.code == 2 and (new or changed or any(after.get(p) != before.get(p) for p in targets)):
            self.findings.append("left behind or changed after a refusal: " + ", ".join(generic(p) for p in [*new, *changed] or sorted(targets))[:200])
        elif self.code == 1 and new and command not in RUNNERS and command not in ("plot", "report"):
            self.findings.append("left behind after a failure: " + ", ".join(generic(p) for p in new)[:200])
        if changed and self.code != 2:
            self.findings.append("changed an input: " + ", ".join(changed)[:200])
        if temporary:
            self.findings.append("temporary files stay: " + ", ".join(sorted(temporary))[:200])

    def signature(self, finding):
        """Equal for findings that are probably one mistake."""
        said = self.err if "panicked" in finding or "died" in finding else ""
        said = re.sub(r"\d+", "N", " ".join(said.split()))[:160]
        return f"{self.words[0] if self.words else '(no word)'}: {re.sub(r'[0-9]+', 'N', finding)} {said}".strip()


def generic(path):
    return re.sub(r"\d{8}-\d{6}", "STAMP", path)


# --- all runs -------------------------------------------------------------------------------------------------------

class Lab:
    def __init__(self, arguments, scratch):
        self.seed, self.limit, self.keep = arguments.seed, arguments.limit, pathlib.Path(arguments.keep).absolute()
        self.scratch = scratch
        # A copy that anyone may execute, and that no build replaces.
        self.program = str(scratch / "iosonar")
        shutil.copy(arguments.program, self.program)
        scratch.chmod(0o755)
        self.seeds = scratch / "seeds"
        self.seeds.mkdir()
        make_seeds(self.program, self.seeds)
        self.options = options_of(self.program)
        self.cases = [case for case in cases(self.seeds) if arguments.only in (None, case.kind)]
        if not self.cases:
            sys.exit(f"there is no kind {arguments.only}; the kinds are: {', '.join(sorted({c.kind for c in cases(self.seeds)}))}")
        files = sorted(p for p in self.seeds.rglob("*") if p.is_file() and p.stat().st_size < 1 << 20)
        self.others = [path.read_bytes for path in files]
        self.lock = threading.Lock()
        self.kinds, self.codes, self.found = collections.Counter(), collections.Counter(), collections.Counter()

    def one(self, number):
        try:
            ended = Run(self, number).execute()
        except Exception as error:
            raise RuntimeError(f"run {number} of seed {self.seed}: the script itself failed") from error
        with self.lock:
            self.kinds[ended.run.case.kind] += not ended.skipped
            self.codes["not run, because it names a device or a shell command" if ended.skipped else
                       f"interrupted, {ended.code}" if ended.how == "interrupted" else f"code {ended.code}"] += 1
            for finding in ended.findings:
                self.report(ended, finding)

    def report(self, ended, finding):
        signature = ended.signature(finding)
        self.found[signature] += 1
        if self.found[signature] > 2:
            return
        place = self.keep / f"{self.seed}-{ended.run.number}"
        print(f"finding in run {ended.run.number} of seed {self.seed}, {ended.run.case.kind}: {signature}\n    kept in {place}", flush=True)
        if place.exists():
            return
        (place / "inputs").mkdir(parents=True)
        ended.run.prepare(place / "inputs")
        stdin = ended.run.case.stdin or "/dev/null"
        (place / "again").write_text(f"#!/bin/sh\n# {finding}\ncd \"$(dirname \"$0\")/inputs\" || exit\n\"${{1:-iosonar}}\" {shlex.join(ended.words)} < {stdin}\n",
                                     errors="surrogateescape")
        (place / "again").chmod(0o755)
        (place / "stdout").write_text(ended.out, errors="surrogateescape")
        (place / "stderr").write_text(f"code {ended.code}, {ended.how}\n{ended.err}", errors="surrogateescape")


def left_elsewhere():
    """Files of the commands' user where everyone may write."""
    places = [pathlib.Path(p) for p in ["/tmp", "/var/tmp", "/dev/shm"]]
    return [str(p) for place in places if place.is_dir() for p in place.iterdir() if p.lstat().st_uid == NOBODY] if os.geteuid() == 0 else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the iosonar to run")
    parser.add_argument("--runs", type=int, default=1000, help="how many runs [1000]")
    parser.add_argument("--seed", type=int, default=1, help="which runs [1]")
    parser.add_argument("--run", type=int, help="only this run of the seed")
    parser.add_argument("--only", metavar="KIND", help="only inputs of this kind: archive, trace, plan, words …")
    parser.add_argument("--jobs", type=int, default=2, help="commands at the same time [2]")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help=f"time limit of a command in seconds [{LIMIT_SECONDS}]")
    parser.add_argument("--nice", type=int, default=19, help="niceness of the commands [19]")
    parser.add_argument("--seconds", type=float, help="start no run after this time")
    parser.add_argument("--keep", default="mutants", help="where findings are kept [mutants]")
    parser.add_argument("--scratch", help="where commands run [the directory for temporary files]")
    arguments = parser.parse_args()
    begin = time.monotonic()
    os.nice(arguments.nice)
    with tempfile.TemporaryDirectory(dir=arguments.scratch, prefix="iosonar-mutate.", ignore_cleanup_errors=True) as scratch:
        lab = Lab(arguments, pathlib.Path(scratch))
        numbers = [arguments.run] if arguments.run is not None else range(arguments.runs)

        def one(number):
            if not (arguments.seconds and time.monotonic() - begin > arguments.seconds):
                lab.one(number)

        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            for result in [pool.submit(one, number) for number in numbers]:
                result.result()
    for path in left_elsewhere():
        lab.found[f"file left in {path}"] += 1
        print(f"finding: {path} belongs to the commands' user")
    count = lambda counter: ", ".join(f"{name} {n}" for name, n in sorted(counter.items()))
    print(f"seed {lab.seed}: {sum(lab.kinds.values())} runs in {time.monotonic() - begin:.0f} s ({count(lab.kinds)})")
    print(f"ends: {count(lab.codes)}")
    for signature, n in lab.found.most_common():
        print(f"{n:6} × {signature}")
    print(f"{sum(lab.found.values())} findings, {len(lab.found)} different")
    sys.exit(1 if lab.found else 0)


if __name__ == "__main__":
    main()
