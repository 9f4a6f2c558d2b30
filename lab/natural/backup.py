#!/usr/bin/env python3
"""A backup: tar and xz read a tree, and others go on changing it a little.

    backup.py prepare DIRECTORY
    backup.py run DIRECTORY SECONDS
"""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

FILES = 2500
WORDS = "the disk reads what a program asked for and answers when it can".split()


def content(chance, size):
    """Half of it can be compressed."""
    text = " ".join(chance.choice(WORDS) for _ in range(200)).encode()
    blocks = bytearray()
    while len(blocks) < size:
        blocks += chance.randbytes(1024) + text[:1024]
    return bytes(blocks[:size])


def prepare(directory):
    """Sizes as in a home directory: many small files, a few large ones, some 700 MiB."""
    chance = random.Random(3)
    for number in range(FILES):
        place = directory / "tree" / f"{number % 40:02}" / f"{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        size = min(64 << 20, int(chance.lognormvariate(11, 1.8)))
        (place / f"file{number}").write_bytes(content(chance, size))
    (directory / "database").write_bytes(content(chance, 64 << 20))
    os.sync()


def change(directory, chance, names, database):
    """What an office does meanwhile: a page of a database, or a small file that is read, or written anew."""
    kind = chance.random()
    if kind < 0.5:
        os.pwrite(database, chance.randbytes(8192), chance.randrange(8000) * 8192)
        os.fdatasync(database)
    elif kind < 0.8:
        name = chance.choice(names)
        if name.stat().st_size < 1 << 20:
            name.read_bytes()
    else:
        name = directory / "tree" / f"new{chance.randrange(50)}"
        with open(name, "wb") as file:
            file.write(chance.randbytes(chance.randrange(1000, 60000)))
            os.fsync(file.fileno())


def backup(directory):
    """Begins one. Files that change while they are read are no failure here."""
    shell = "tar -C tree --warning=no-file-changed --warning=no-file-removed -cf - . | xz -2 > backup.new.xz; mv backup.new.xz backup.xz"
    return subprocess.Popen(["sh", "-c", shell], cwd=directory, start_new_session=True)


def end(running):
    if running is not None and running.poll() is None:
        os.killpg(running.pid, signal.SIGTERM)
        running.wait()


def forget(names):
    """What the last backup left in the page cache has to be read from the disk again."""
    for name in names:
        file = os.open(name, os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)


def run(directory, seconds):
    until = time.monotonic() + seconds
    chance = random.Random(4)
    names = [path for path in (directory / "tree").rglob("file*") if path.is_file()]
    database = os.open(directory / "database", os.O_RDWR)
    running = None
    # Told to end, it leaves by the way of `finally`, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        while time.monotonic() < until:
            if running is None or running.poll() is not None:
                forget(names)
                running = backup(directory)
            change(directory, chance, names, database)
            time.sleep(chance.expovariate(12))
    finally:
        end(running)


def main():
    directory = pathlib.Path(sys.argv[2])
    if sys.argv[1] == "prepare":
        prepare(directory)
    else:
        run(directory, float(sys.argv[3]))


main()
