//! Memory that filters of loads hold is known before a run, and refused where it exceeds the available memory.

use iosonar_engine::{PrepareError, filter_room, prepare};
use iosonar_host::Root;
use iosonar_plan::Plan;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

/// A machine with `mib` MiB of available memory, and nothing else.
fn machine(dir: &Path, mib: u64) -> Root {
    std::fs::create_dir_all(dir.join("proc")).unwrap();
    std::fs::write(dir.join("proc/meminfo"), format!("MemAvailable: {} kB\n", mib << 10)).unwrap();
    Root::new(dir)
}

/// Replays a load of 1000 requests on `targets` pretended targets.
fn plan(dir: &Path, targets: usize, filter: &str) -> Plan {
    let load = dir.join("l.load");
    let lines: String = (0..1000).map(|i| format!("{i} ; 8 ; 8 ; R ; 0.0 ; 0.0\n")).collect();
    std::fs::write(&load, lines).unwrap();
    let mut text = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n[engine]\nkind = 'sim'\n".to_string();
    for i in 0..targets {
        let workload = format!("{{ kind = 'trace', file = '{}', filter = '{filter}' }}", load.display());
        write!(text, "[[target]]\npath = 'dev{i}'\nsize = '1MiB'\nworkload = {workload}\n").unwrap();
    }
    Plan::from_toml(&text).unwrap()
}

fn refusal(plan: Plan, root: &Root) -> Option<PrepareError> {
    prepare(plan, root, Arc::new(|_, _| {})).err()
}

#[test]
fn counts_requests_held_by_filters_as_run_memory() {
    let dir = tempfile::tempdir().unwrap();
    // 240 MiB of these may be used, and 2 million requests take 107 MiB: once is possible, twice is not.
    let root = machine(dir.path(), 400);
    let held = |targets| plan(dir.path(), targets, "repeat:2000 | reverse");
    let none = refusal(held(1), &root);
    assert!(none.is_none(), "{none:?}");
    let error = refusal(held(2), &root).expect("too much");
    assert!(matches!(error, PrepareError::Memory { .. }), "{error}");
    assert!(error.to_string().contains("213 MiB of requests that filters hold"), "{error}");
    // Requests that are read again are not held.
    assert!(refusal(plan(dir.path(), 2, "repeat:2000 | sample:2"), &root).is_none());
}

#[test]
fn never_reads_requests_beyond_memory_limit() {
    let dir = tempfile::tempdir().unwrap();
    let root = machine(dir.path(), 10);
    let error = refusal(plan(dir.path(), 1, "repeat:1000000000 | reverse"), &root).expect("too much");
    let most = (10 << 20) / 10 * 6 / 56;
    assert!(error.to_string().contains(&format!("memory has room for {most}: select fewer")), "{error}");
    assert_eq!(filter_room(&root).held_bytes(), 0);
}
