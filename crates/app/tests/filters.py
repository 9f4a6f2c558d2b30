#!/usr/bin/env python3
"""What blkreplay's pipe modules make of a load, straight from their formulas and nothing else.

    filters.py LOAD < PIPELINES

PIPELINES is a JSON list of pipelines, each a list of steps such as ["spread", "1.5", 8, 100]. For each pipeline a line
"# rows N" is printed, and N rows "nanoseconds sector length letter". Numbers are whole numbers and fractions throughout.

The loads that the tests use hold no request that was pushed back (a lower-case letter) and no letters such as RA, which
some of the modules treat in ways of their own.
"""

import gzip
import json
import re
import sys
from fractions import Fraction
from math import floor

SECOND = 1_000_000_000


def nanoseconds(text):
    whole, _, fraction = text.partition(".")
    return int(whole) * SECOND + int((fraction + "0" * 9)[:9])


def read(path):
    """The rows of a load: lines that begin with a number and a semicolon."""
    with open(path, "rb") as file:
        is_gzip = file.read(2) == b"\x1f\x8b"
    rows = []
    with (gzip.open if is_gzip else open)(path, "rt") as lines:
        for line in lines:
            if re.match(r"\s*[0-9.]+\s*;", line):
                time, sector, length, op = (cell.strip() for cell in line.split(";")[:4])
                rows.append((nanoseconds(time), int(sector), int(length), op[0].upper()))
    return rows


def select(rows, begin, end):
    return [row for row in rows if Fraction(begin) <= Fraction(row[0], SECOND) < Fraction(end)]


def repeat(rows, times, offset):
    """The engine shifts a load that begins anew: its first time becomes the last one before."""
    if not rows:
        return []
    lasts = rows[-1][0] - rows[0][0]
    return [(t + k * lasts, s + k * offset, l, op) for k in range(times) for t, s, l, op in rows]


def slip(rows, every, increase):
    return [(t, s + i // every * increase, l, op) for i, (t, s, l, op) in enumerate(rows, 1)]


def subst(rows, old, new):
    return [(t, s, l, new if op == old else op) for t, s, l, op in rows]


def spread(rows, factor, align, offset):
    place = lambda s: floor(s * Fraction(factor) / align) * align + s % align + offset
    return [(t, place(s), l, op) for t, s, l, op in rows]


def resize(rows, factor, least, most):
    return [(t, s, min(max(floor(l * Fraction(factor)), least), most), op) for t, s, l, op in rows]


def reverse(rows):
    return [(time, *row[1:]) for (time, *_), row in zip(rows, reversed(rows))]


def scale(rows, factor):
    return [(floor(t * Fraction(factor)), *row) for t, *row in rows]


def shift(rows, seconds):
    return [(t + floor(Fraction(seconds) * SECOND), *row) for t, *row in rows]


def sample(rows, one_of):
    return rows[::one_of]


def merge(rows, path, offset, seconds):
    others = [(t, s + offset, l, op) for t, s, l, op in shift(read(path), seconds)]
    return sorted(rows + others, key=lambda row: row[0])


def only(rows, op):
    """What a command does that looks for a letter."""
    return [row for row in rows if row[3] == op]


def head(rows, count):
    return rows[:count]


STEPS = (select, repeat, slip, subst, spread, resize, reverse, scale, shift, sample, merge, only, head)
NAMED = {step.__name__: step for step in STEPS}


def main():
    load = read(sys.argv[1])
    for pipeline in json.load(sys.stdin):
        rows = load
        for name, *words in pipeline:
            rows = NAMED[name](rows, *words)
        print("# rows", len(rows))
        sys.stdout.writelines("%d %d %d %s\n" % row for row in rows)


main()
