//! Memory for expected state counts as memory of the run before it starts.

use iosonar_engine::{PrepareError, prepare};
use iosonar_host::Root;
use iosonar_plan::Plan;
use std::path::Path;
use std::sync::Arc;

/// A machine with `mib` MiB of available memory, and nothing else.
fn machine(dir: &Path, mib: u64) -> Root {
    std::fs::create_dir_all(dir.join("proc")).unwrap();
    std::fs::write(dir.join("proc/meminfo"), format!("MemAvailable: {} kB\n", mib << 10)).unwrap();
    Root::new(dir)
}

/// Random writes of 4 KiB to a simulated device.
fn plan(size: &str, verify: &str, stop: &str) -> Plan {
    let text = format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n{verify}\n[engine]\nkind = 'sim'\n[[target]]\npath = 'dev'\n\
         size = '{size}'\nworkload = {{ kind = 'generated', order = 'random', block_size = '4KiB', read_percent = 0, stop = {stop} }}\n"
    );
    Plan::from_toml(&text).unwrap()
}

#[test]
fn counts_verification_state_up_to_its_maximum() {
    const LONG: &str = "{ runtime = '1h' }";
    let dir = tempfile::tempdir().unwrap();
    // 240 MiB of these may be used, and buffers of the run take some of it.
    let root = machine(dir.path(), 400);
    let refusal = |plan| prepare(plan, &root, Arc::new(|_, _| {})).err();
    let on = "verify = { modes = 'read' }";
    let error = refusal(plan("1TiB", on, LONG)).expect("a GiB of state is too much");
    assert!(matches!(error, PrepareError::Memory { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("1024 MiB for --verify, which --verify-memory limits"), "{text}");
    for (size, verify, stop) in [
        ("1TiB", "", LONG),
        ("1TiB", "verify = { modes = 'read', memory = '64MiB' }", LONG),
        // 1.5 MiB for each GiB, or little for few requests.
        ("64GiB", on, LONG),
        ("1TiB", on, "{ requests = 100000 }"),
    ] {
        let none = refusal(plan(size, verify, stop));
        assert!(none.is_none(), "{size} {verify} {stop}: {none:?}");
    }
}
