#!/usr/bin/env python3
"""Writers of log lines that wait until their lines are on disk.

    logs.py prepare DIRECTORY
    logs.py run DIRECTORY SECONDS

Many clients share one journal, whose lines are committed in groups: while one fsync runs, the next group gathers. Three
services have logs of their own, with an fsync now and then. Logs are rotated by size and compressed. The clients' rate
rises and falls with a period of a minute, with bursts.
"""

import gzip
import math
import os
import pathlib
import random
import shutil
import sys
import threading
import time

CLIENTS = 12
ROTATE = 2 << 20
KEEP = 4


class Log:
    """A file that lines are appended to, and that is rotated."""

    def __init__(self, path):
        self.path = path
        self.file = open(path, "ab", buffering=0)

    def append(self, data):
        self.file.write(data)
        os.fdatasync(self.file.fileno())
        if self.file.tell() > ROTATE:
            self.rotate()

    def rotate(self):
        self.file.close()
        old = self.path.with_name(f"{self.path.name}.{time.monotonic_ns()}")
        self.path.rename(old)
        self.file = open(self.path, "ab", buffering=0)
        with open(old, "rb") as source, gzip.open(f"{old}.gz", "wb", 6) as target:
            shutil.copyfileobj(source, target)
        old.unlink()
        for stale in sorted(self.path.parent.glob(f"{self.path.name}.*.gz"))[:-KEEP]:
            stale.unlink()


class Journal:
    """Lines of many clients, committed in groups."""

    def __init__(self, log):
        self.log = log
        self.lines = []
        self.changed = threading.Condition()
        self.committed = threading.Event()

    def commit(self, line):
        with self.changed:
            self.lines.append(line)
            done = self.committed
            self.changed.notify()
        done.wait(5)

    def run(self, until):
        while time.monotonic() < until:
            with self.changed:
                self.changed.wait_for(lambda: self.lines, 0.2)
                group, self.lines = self.lines, []
                done, self.committed = self.committed, threading.Event()
            if group:
                self.log.append(b"".join(group))
            done.set()


def line(chance, name):
    fields = " ".join(f"{chance.choice(WORDS)}={chance.randrange(10**6)}" for _ in range(chance.randrange(3, 30)))
    return f"{time.time():.6f} {name} {fields}\n".encode()


WORDS = "user path status bytes took cache host retry queue shard trace span code".split()


def client(journal, number, until):
    chance = random.Random(number)
    while time.monotonic() < until:
        journal.commit(line(chance, f"client{number}") * chance.choice((1, 1, 1, 8)))
        swing = 1.2 + math.sin(time.monotonic() * 2 * math.pi / 60)
        burst = 0.1 if chance.random() < 0.05 else 1
        time.sleep(min(2.0, chance.expovariate(1) * 0.4 / swing * burst))


def service(log, number, until):
    chance = random.Random(100 + number)
    while time.monotonic() < until:
        log.append(b"".join(line(chance, f"service{number}") for _ in range(chance.randrange(1, 60))))
        time.sleep(chance.uniform(0.1, 1.0))


def main():
    command, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    logs = directory / "logs"
    logs.mkdir(exist_ok=True)
    if command == "prepare":
        return
    until = time.monotonic() + float(sys.argv[3])
    journal = Journal(Log(logs / "journal"))
    jobs = [(journal.run, (until + 1,))]
    jobs += [(client, (journal, number, until)) for number in range(CLIENTS)]
    jobs += [(service, (Log(logs / f"service{number}"), number, until)) for number in range(3)]
    threads = [threading.Thread(target=job, args=arguments, daemon=True) for job, arguments in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
