//! `records.parquet` as it is, in pandas, Polars and DuckDB.

use crate::common::*;
use iosonar_archive::{CsvWriter, Marks, Record};
use iosonar_testkit::LoopDevice;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// The interpreter that `IOSONAR_PYTHON` names, or the one made by `lab/python-env.sh`: this test, run alone, should not be skipped
/// unnoticed because of a variable.
fn readers() -> Result<String, String> {
    let made = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/venv/bin/python");
    let python = std::env::var("IOSONAR_PYTHON").unwrap_or(made.into());
    let why = "no interpreter with pandas, pyarrow, polars and duckdb; lab/python-env.sh makes one";
    Some(python).filter(|path| Path::new(path).exists()).ok_or(why.into())
}

/// The type that a reader must find for a column.
fn kind(column: &str) -> &'static str {
    match column {
        "op" | "outcome" => "text",
        "target" | "worker" | "pass" | "phase" => "u32",
        "result" => "i64",
        mark if Marks::ALL.iter().any(|(_, name)| *name == mark) => "bool",
        _ => "u64",
    }
}

/// Figures that every reader must find.
fn want(records: &[Record]) -> Value {
    let sum = |get: &dyn Fn(&Record) -> Option<u64>| records.iter().filter_map(get).sum::<u64>();
    let number = |of: &dyn Fn(&Record) -> bool| records.iter().filter(|r| of(r)).count();
    json!({
        "rows": records.len(),
        "sequence": sum(&|r| Some(r.sequence)),
        "due_ns": sum(&|r| Some(r.due.0)),
        "submitted_ns": sum(&|r| r.submitted.map(|t| t.0)),
        "completed_ns": sum(&|r| r.completed.map(|t| t.0)),
        "released_ns": sum(&|r| r.released.map(|t| t.0)),
        "executed_offset_bytes": sum(&|r| Some(r.executed.offset)),
        "executed_length_bytes": sum(&|r| Some(r.executed.length)),
        "result": records.iter().map(|r| r.result).sum::<i64>(),
        "submitted_absent": number(&|r| r.submitted.is_none()),
        "released_absent": number(&|r| r.released.is_none()),
        "writes": number(&|r| r.op.is_write()),
        "completed": number(&|r| r.is_completed()),
        "pushed": number(&|r| r.is_pushed()),
    })
}

#[test]
fn pandas_polars_and_duckdb_read_the_same_values() {
    needs!();
    let python = or_skip!(readers());
    let device = LoopDevice::random(16);
    let lab = lab();
    let header = CsvWriter::new(Vec::new(), "").and_then(CsvWriter::finish).unwrap();
    let header = String::from_utf8(header).unwrap();
    lab.file("load", load_text(&conflicting(5000, 16_384, 64, 10_000)));
    for policy in ["push-back", "drop"] {
        lab.expect_done(&format!(
            "replay load -t {} --destroy --start-grace 0.1 --overlap {policy} -o {policy}",
            device.text()
        ));
        let want = want(&lab.records(policy));
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/readers.py");
        let output = Command::new(&python).arg(script).arg(lab.path(policy)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = found.as_object().unwrap();
        assert_eq!(found.keys().collect::<Vec<_>>(), ["duckdb", "pandas", "polars"]);
        for (reader, found) in found {
            println!("{policy}: {reader} {} agrees on {} rows", found["version"], found["figures"]["rows"]);
            assert_eq!(found["figures"], want, "{reader}, {policy}");
            let types = found["types"].as_object().unwrap();
            let columns: Vec<&str> = header.trim_end().split(',').filter(|name| *name != "stamp").collect();
            assert_eq!(types.len(), columns.len(), "{reader}");
            for column in columns {
                assert_eq!(types[column], kind(column), "{column} in {reader}");
            }
        }
    }
}

#[test]
fn queries_of_the_page_on_ranks_agree() {
    let python = or_skip!(readers());
    let lab = lab();
    lab.expect(0, "generate mixed a.load --duration 20s --rate 500 --size 1GiB --seed 5");
    lab.run("replay a.load --engine sim --size 1GiB --sim-service 90us --sim-errors 100 --no-progress -t dev -o run1");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(python);
    command.arg(root.join("lab/queries.py")).arg(root.join("docs/mpi.md")).arg(lab.path("run1"));
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["queries"], 5);
    assert_eq!(found["duckdb"], found["polars"]);
    let records = lab.records("run1");
    let of = |op: &str, failed: bool| {
        records.iter().filter(|r| r.op.name() == op && r.is_completed() != failed).count()
    };
    assert_eq!(found["duckdb"][0][0], json!(["read", "completed", of("read", false)]));
}

/// Acceptance 21 of IOzone's part: openpyxl reads the workbook, and its figures are those of the JSON.
#[test]
fn openpyxl_reads_the_workbook_of_a_matrix() {
    let python = or_skip!(readers());
    let lab = lab();
    lab.expect(0, "iozone -a -n 64k -g 256k -b matrix.xlsx --json matrix.json");
    lab.file("read.py", READ_WORKBOOK);
    let read = Command::new(python).arg("read.py").current_dir(lab.path(".")).output().unwrap();
    assert!(read.status.success(), "{}", String::from_utf8_lossy(&read.stderr));
    let found: Value = serde_json::from_slice(&read.stdout).unwrap();
    let want: Value = serde_json::from_slice(&std::fs::read(lab.path("matrix.json")).unwrap()).unwrap();
    let results = want["results"].as_array().unwrap();
    let cell = |r: &Value| {
        let kib = |name: &str| r[name].as_u64().unwrap() >> 10;
        json!([r["test"], kib("file_bytes"), kib("record_bytes"), r["kib_per_second"]])
    };
    let mut want: Vec<String> = results.iter().map(|r| cell(r).to_string()).collect();
    let mut found: Vec<String> = found.as_array().unwrap().iter().map(Value::to_string).collect();
    want.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, want);
}

/// Every cell with a figure, of every sheet.
const READ_WORKBOOK: &str = "
import json, openpyxl
cells = []
for sheet in openpyxl.load_workbook('matrix.xlsx').worksheets:
    rows = list(sheet.iter_rows(min_row=4, values_only=True))
    for row in rows[1:]:
        for record, figure in zip(rows[0][1:], row[1:]):
            if figure is not None:
                cells.append([sheet.title, row[0], record, figure])
print(json.dumps(cells))
";
