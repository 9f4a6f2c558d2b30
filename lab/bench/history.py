"""Results of ./bench that the repository keeps: one line of JSON for each run, and the page that shows them."""

import json
import os
import statistics
import subprocess

FILE = "history.jsonl"


def line_of(facts, load_average, pairs, rows):
    """A run as it is kept: what it ran on, and the medians of its rows."""
    return {**facts, "load_average": round(load_average, 2), "pairs": pairs, "rows": [row_of(row) for row in rows]}


def row_of(row):
    beyond, ratios = row.judged(), row.ratios()
    low, high = row.spread() if ratios else (None, None)
    median = lambda values: significant(statistics.median(values)) if values else None
    return {"line": row.line, "what": row.what, "unit": row.unit, "ours": median(row.ours), "theirs": median(row.theirs),
            "other": row.other, "ratio": median(ratios), "ratio_low": significant(low), "ratio_high": significant(high),
            "aim": row.aim, "met": None if beyond is None else beyond <= 0}


def significant(value):
    """Five digits: more are noise, and would make the file large."""
    return None if value is None else float(f"{value:.5g}")


def append(folder, line):
    """Adds a run. The file is written anew beside itself, so that it never ends in half a line."""
    path = os.path.join(folder, FILE)
    os.makedirs(folder, exist_ok=True)
    old = ""
    if os.path.exists(path):
        with open(path) as file:
            old = file.read()
    with open(path + ".new", "w") as file:
        file.write(old + json.dumps(line) + "\n")
    os.rename(path + ".new", path)


def draw(folder, helper):
    """Makes the page and its pictures of what is kept."""
    subprocess.run([helper, "history", os.path.join(folder, FILE), folder], check=True)
