//! Archives with given records, and their texts.
#![allow(dead_code, reason = "each test file uses its own part")]

use iosonar_archive::{
    ARCHIVE_VERSION, Archive, ArchiveWriter, Outcome, Record, RunInfo, RunState, Stalls, TargetInfo,
};
use iosonar_dialect_blkreplay::{ImportError, Imported, export, import};
use iosonar_plan::{Extent, Nanos, Op, Plan};
use std::path::Path;

/// 1986-11-24 18:22:48 UTC and a bit.
pub const STARTED: u64 = 533_240_568_000_000_123;

/// Two targets, the first with a difficult path.
pub fn plan(engine: &str) -> Plan {
    let text = format!(
        r#"
        version = 2
        run_id = 77
        seed = 1
        depth = 4
        engine = {engine}
        fill = {{ random_percent = 30 }}
        overlap = {{ policy = "order", strong = 2 }}
        [[target]]
        path = "/dev/a;b has blocks=7 started at x"
        workload = {{ kind = "trace", file = "l" }}
        [[target]]
        path = "/dev/second"
        workload = {{ kind = "trace", file = "l" }}
        "#
    );
    Plan::from_toml(&text).unwrap()
}

fn target(path: &str) -> TargetInfo {
    TargetInfo {
        path: path.into(),
        source: "l".into(),
        size: 1000 * 512,
        block: 512,
        max_requested_end: 1500 * 512,
        rounded_requests: 0,
        input_lines: 12,
        bad_lines: 0,
        back_shifts: 0,
        max_waiting: Some(3),
        max_in_flight: Some(4),
        expected_requests: None,
        hole_bytes: 0,
        hole_range_bytes: 0,
        cached_bytes: None,
        written: None,
        extents: None,
        left_out_flushes: 0,
        left_out_discards: 0,
        checks: None,
        ended_early: None,
        issued_hash: String::new(),
    }
}

pub fn run(plan: &Plan) -> RunInfo {
    RunInfo {
        part: None,
        hosts: Vec::new(),
        directory: None,
        archive_version: ARCHIVE_VERSION,
        tool: "iosonar 9.9.9".into(),
        command: String::new(),
        started_unix_ns: STARTED,
        origin_monotonic_ns: 0,
        state: RunState::Finished,
        targets: plan.targets.iter().map(|t| target(&t.path.display().to_string())).collect(),
        recorder_stalls: Stalls::default(),
        push_back_stalls: Stalls::default(),
        buffer_stalls: Stalls::default(),
        setup: Default::default(),
        cpu: Default::default(),
        is_import: false,
        recorded: None,
        processes: Vec::new(),
        verified: None,
        phases: Vec::new(),
        passes: Vec::new(),
    }
}

pub fn archive(dir: &Path, plan: &Plan, run: &RunInfo, records: &[Record]) -> Archive {
    let writer = ArchiveWriter::create(dir, plan, &serde_json::Value::Null, run).unwrap();
    writer.record_log().unwrap().append(records).unwrap();
    writer.finish().unwrap()
}

/// Text of one target of an archive with these records.
pub fn export_with(plan: &Plan, run: &RunInfo, records: &[Record], target: u16) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let archive = archive(&scratch.path().join("a"), plan, run, records);
    let mut text = Vec::new();
    export(&archive, target, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

pub fn export_threads(records: &[Record]) -> String {
    let plan = plan(r#"{ kind = "threads" }"#);
    export_with(&plan, &run(&plan), records, 0)
}

pub fn import_text(text: &str) -> Result<(Vec<Record>, Imported), ImportError> {
    let mut records = Vec::new();
    let imported = import(text.as_bytes(), "r.replay", &mut |record| {
        records.push(*record);
        Ok(())
    })?;
    Ok((records, imported))
}

pub fn sectors(start: u64, count: u64) -> Extent {
    Extent::from_sectors(start, count).unwrap()
}

/// An executed request of 8 sectors: due, delay and latency in nanoseconds.
pub fn completed(op: Op, sector: u64, due: u64, delay: u64, latency: u64) -> Record {
    Record {
        op,
        load_time: Nanos(due),
        due: Nanos(due),
        submitted: Some(Nanos(due + delay)),
        completed: Some(Nanos(due + delay + latency)),
        reap_lag: Nanos(0),
        requested: sectors(sector, 8),
        executed: sectors(sector, 8),
        result: 4096,
        ..Record::default()
    }
}

pub fn failed(record: Record, result: i64) -> Record {
    Record { outcome: Outcome::Failed, result, ..record }
}

pub fn unsent(record: Record, outcome: Outcome) -> Record {
    Record { outcome, submitted: None, completed: None, result: 0, ..record }
}
