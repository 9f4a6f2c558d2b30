#!/usr/bin/env python3
"""Circles of files that use each other: for each room the files of its largest one.

    lab/circles.py            a line for each room: files of the largest circle, files of the room, room
    lab/circles.py ROOM       the files of the largest circle of a room (a directory of crates/)

A file uses another one if it names it in a path from `crate`, `super` or `self`, also through a name that the other one's parent exports.
That a parent declares its children and names things of them by `child::thing` does not count, nor do tests (`#[cfg(test)] mod`).
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent / "crates"
PATH = re.compile(r"\b(crate|super|self)((?:::\w+)+)")
TREE = re.compile(r"\b((?:crate|super|self)(?:::\w+)*)::\{")


def product(text):
    """A file without its tests and comments."""
    at = re.search(r"#\[cfg\(test\)\]\nmod \w+ \{", text)
    text = text[: at.start()] if at else text
    return re.sub(r"//[^\n]*", "", text)


def flat(text):
    """Paths of a file, with each `a::{b, c}` as `a::b` and `a::c`."""
    paths = [whole.group(0) for whole in PATH.finditer(text)]
    for tree in TREE.finditer(text):
        depth, at, items = 1, tree.end(), [""]
        while depth and at < len(text):
            sign = text[at]
            depth += (sign == "{") - (sign == "}")
            if sign == "," and depth == 1:
                items.append("")
            elif depth:
                items[-1] += sign
            at += 1
        for item in items:
            item = item.strip()
            paths += [f"{tree.group(1)}::{part}" for part in ([item] if "{" not in item else [item.split("::{")[0]])]
    return paths


def modules(source):
    """The files of a room by the path of their module."""
    found = {}
    for path in source.rglob("*.rs"):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] in ("mod", "lib", "main"):
            parts.pop()
        if "tests" not in parts and not any(part.endswith("_tests") for part in parts):
            found[tuple(parts)] = path
    return found


def exports(own, text, known):
    """By name: the modules from which a file exports names of others."""
    found = {}
    for inner, names in re.findall(r"\bpub(?:\(crate\)|\(super\))? use (?:self::)?([a-z]\w*(?:::[a-z]\w*)*)::(\{[^}]*\}|\w+)", text):
        target = (*own, *inner.split("::"))
        while target and target not in known:
            target = target[:-1]
        for name in re.findall(r"\w+", names):
            found[name] = target
    return found


def uses(own, text, known, exported):
    """The modules that a file names."""
    for path in flat(text):
        words = path.split("::")
        base = list(own) if words[0] == "self" else []
        while words and words[0] in ("crate", "self", "super"):
            if words[0] == "super":
                base = base or list(own)
                base = base[:-1]
            words.pop(0)
        target = tuple(base)
        for word in (word.strip() for word in words):
            if (*target, word) in known:
                target = (*target, word)
            else:
                target = exported.get(target, {}).get(word, target)
        if target != own and target in known:
            yield target


def reached(graph, start):
    """The files that a file uses, directly or through others."""
    found, waiting = set(), [start]
    while waiting:
        new = set(graph[waiting.pop()]) - found
        found |= new
        waiting += new
    return found


def largest(room):
    known = modules(room / "src")
    texts = {own: product(path.read_text()) for own, path in known.items()}
    exported = {own: exports(own, text, known) for own, text in texts.items()}
    graph = {own: sorted(set(uses(own, text, known, exported))) for own, text in texts.items()}
    # The root re-exports everything: what it names is no use by it.
    graph[()] = []
    reach = {own: reached(graph, own) for own in graph}
    circles = ([other for other in reach[own] if own in reach[other]] for own in graph)
    return max(circles, key=len, default=[]), len(known)


def main():
    rooms = [path.parent for path in ROOT.rglob("Cargo.toml")]
    if len(sys.argv) > 1:
        part, _ = largest(ROOT / sys.argv[1])
        print("\n".join(sorted("::".join(module) or "lib" for module in part)))
        return
    for room in sorted(rooms):
        part, files = largest(room)
        print(f"{len(part):4} {files:4} {room.relative_to(ROOT)}")


main()
