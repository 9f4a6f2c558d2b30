//! `records.parquet` as it is, in pandas, Polars and DuckDB.

use crate::common::*;
use iosonar_archive::Record;
use iosonar_testkit::LoopDevice;
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn readers() -> Result<String, String> {
    let why = "IOSONAR_PYTHON names no interpreter with pandas, pyarrow, polars and duckdb; lab/python-env.sh makes one";
    std::env::var("IOSONAR_PYTHON").ok().filter(|path| Path::new(path).exists()).ok_or(why.into())
}

/// What every reader must find.
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
fn pandas_polars_and_duckdb_agree_with_us() {
    needs!();
    let python = or_skip!(readers());
    let device = LoopDevice::random(16);
    let lab = lab();
    lab.file("load", load_text(&conflicting(5000, 16_384, 64, 10_000)));
    for policy in ["push-back", "drop"] {
        lab.expect(
            0,
            &format!(
                "replay load -t {} --destroy --start-grace 0.1 --overlap {policy} -o {policy}",
                device.text()
            ),
        );
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
            assert_eq!(types.len(), 28, "{reader}");
            for (column, kind) in types {
                let want = match column.as_str() {
                    "op" | "outcome" => "text",
                    "target" | "worker" | "pass" | "phase" => "u32",
                    "result" => "i64",
                    "pushed" | "ordered" | "wrapped" | "at_border" | "rounded" | "short" | "held"
                    | "no_buffer" | "ramp" | "ambiguous" => "bool",
                    _ => "u64",
                };
                assert_eq!(kind, want, "{column} in {reader}");
            }
        }
    }
}
