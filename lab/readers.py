#!/usr/bin/env python3
"""Opens the records of a result with pandas, Polars and DuckDB, as anybody would, and prints what each finds.

    readers.py RESULT

Prints one JSON object: for each reader its version, the columns' types in common words, and counts and sums. Sums are
those of 64-bit numbers, taken without floating point.
"""

import json
import sys
from pathlib import Path

import duckdb
import pandas
import polars

SUMS = [
    "sequence", "due_ns", "submitted_ns", "completed_ns", "released_ns",
    "executed_offset_bytes", "executed_length_bytes", "result",
]
ABSENT = ["submitted", "released"]
TYPES = {
    "uint64": "u64", "uint32": "u32", "int64": "i64", "bool": "bool", "object": "text", "str": "text", "string": "text",
    "u64": "u64", "u32": "u32", "i64": "i64",
    "UInt64": "u64", "UInt32": "u32", "Int64": "i64", "Boolean": "bool", "String": "text",
    "UBIGINT": "u64", "UINTEGER": "u32", "BIGINT": "i64", "BOOLEAN": "bool", "VARCHAR": "text",
}


def word(kind):
    """A reader's name of a type in common words; itself where there is none."""
    return TYPES.get(str(kind), str(kind))


def with_pandas(path):
    # Without its own nullable types, pandas turns columns with absent values into floating point.
    table = pandas.read_parquet(path, dtype_backend="numpy_nullable")
    figures = {"rows": len(table)}
    figures |= {column: int(table[column].sum()) for column in SUMS}
    figures |= {f"{name}_absent": int(table[f"{name}_ns"].isna().sum()) for name in ABSENT}
    figures |= {
        "writes": int((table["op"] == "write").sum()),
        "completed": int((table["outcome"] == "completed").sum()),
        "pushed": int(table["pushed"].sum()),
    }
    kinds = {column: word("bool" if str(kind) == "boolean" else kind) for column, kind in table.dtypes.items()}
    return {"version": pandas.__version__, "types": kinds, "figures": figures}


def with_polars(path):
    table = polars.read_parquet(path)
    figures = {"rows": table.height}
    figures |= {column: table[column].sum() for column in SUMS}
    figures |= {f"{name}_absent": table[f"{name}_ns"].null_count() for name in ABSENT}
    figures |= {
        "writes": (table["op"] == "write").sum(),
        "completed": (table["outcome"] == "completed").sum(),
        "pushed": table["pushed"].sum(),
    }
    return {"version": polars.__version__, "types": {c: word(k) for c, k in table.schema.items()}, "figures": figures}


def with_duckdb(path):
    table = duckdb.read_parquet(str(path))
    wanted = {"rows": "count(*)"}
    wanted |= {column: f"coalesce(sum({column}), 0)" for column in SUMS}
    wanted |= {f"{name}_absent": f"count(*) - count({name}_ns)" for name in ABSENT}
    wanted |= {
        "writes": "count(*) filter (op = 'write')",
        "completed": "count(*) filter (outcome = 'completed')",
        "pushed": "count(*) filter (pushed)",
    }
    row = table.aggregate(", ".join(wanted.values())).fetchall()[0]
    figures = dict(zip(wanted, map(int, row)))
    kinds = {column: word(kind) for column, kind in zip(table.columns, table.types)}
    return {"version": duckdb.__version__, "types": kinds, "figures": figures}


def main():
    path = Path(sys.argv[1]) / "records.parquet"
    found = {"duckdb": with_duckdb(path), "pandas": with_pandas(path), "polars": with_polars(path)}
    json.dump(found, sys.stdout, indent=2)


if __name__ == "__main__":
    main()
