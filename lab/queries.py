#!/usr/bin/env python3
"""Runs the queries of docs/mpi.md for DuckDB and Polars, and compares their answers.

    queries.py PAGE RESULT

Prints one JSON object: the number of queries, and the answers of both.
"""

import ast
import json
import os
import re
import sys

import duckdb


def block(page, language):
    """The text of the page's only block in a language."""
    found = re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)
    assert len(found) == 1, f"{len(found)} blocks in {language}"
    return found[0]


def rows(answer):
    """An answer as rows of numbers and words; fractions are rounded, as they may differ in the last digit."""
    def plain(value):
        return round(value, 3) if isinstance(value, float) else value
    if len(answer) == 1 and len(answer[0]) == 1 and isinstance(answer[0][0], (list, tuple)):
        answer = [tuple(answer[0][0])]
    return [[plain(value) for value in row] for row in answer]


def with_duckdb(text):
    return [rows(duckdb.sql(query).fetchall()) for query in text.split(";") if query.strip()]


def with_polars(text):
    """Each line that is an expression is a query; the others prepare."""
    names, answers = {}, []
    for statement in ast.parse(text).body:
        code = ast.unparse(statement)
        if isinstance(statement, ast.Expr):
            answers.append(rows(eval(code, names).rows()))
        else:
            exec(code, names)
    return answers


def main():
    with open(sys.argv[1]) as page:
        page = page.read()
    os.chdir(os.path.dirname(os.path.abspath(sys.argv[2])))
    assert os.path.basename(sys.argv[2]) == "run1", "the page names run1"
    of_duckdb, of_polars = with_duckdb(block(page, "sql")), with_polars(block(page, "python"))
    json.dump({"queries": len(of_duckdb), "duckdb": of_duckdb, "polars": of_polars}, sys.stdout)


if __name__ == "__main__":
    main()
