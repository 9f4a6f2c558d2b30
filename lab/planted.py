#!/usr/bin/env python3
"""Runs the planted results, and writes the story and the pictures of each: planted.py PLANTED.toml DIRECTORY IOSONAR."""

import pathlib
import subprocess
import sys
import tomllib

SIM = ["--engine", "sim", "--size", "1GiB", "--no-progress", "-t", "dev"]


def bursts(count, requests, rate, between_ms, same_place):
    """Bursts of reads at random places, or of writes of one place, as a load."""
    lines = ["start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0"]
    for burst in range(count):
        for request in range(requests):
            time = burst * between_ms / 1e3 + request / rate
            sector = (burst * requests + request) * 0x9E3779B97F4A7C15 % 2**64 % 200_000 * 8
            sector, op = (0, "W") if same_place else (sector, "R")
            lines.append(f"{time:.9f} ; {sector} ; 8 ; {op} ; 0.0 ; 0.0")
    return "\n".join(lines) + "\n"


def main():
    planted, folder, iosonar = sys.argv[1:]
    for result in tomllib.loads(pathlib.Path(planted).read_text())["result"]:
        name = result["name"]
        out = pathlib.Path(folder, name)
        if "burst" in result:
            load = pathlib.Path(folder, f"{name}.load")
            load.write_text(bursts(*result["burst"], result.get("same_place", False)))
            words = ["replay", str(load), *result["replay"].split(), *SIM]
        elif "plan" in result:
            plan = pathlib.Path(folder, f"{name}.toml")
            plan.write_text(result["plan"])
            words = ["run", str(plan), "--no-progress"]
        else:
            words = ["run", "--direct", "1", "--randseed", "7", *result["run"].split(), *SIM]
        subprocess.run([iosonar, *words, "-o", str(out)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        story = subprocess.run([iosonar, "show", str(out)], stdout=subprocess.PIPE, check=True).stdout
        out.with_suffix(".txt").write_bytes(story)
        subprocess.run([iosonar, "plot", str(out), "--png"], stdout=subprocess.DEVNULL, check=False)
        print(f"   {name}: {story.decode().splitlines()[0]}")


if __name__ == "__main__":
    main()
