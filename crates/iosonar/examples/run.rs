//! Executes a plan on a simulated device, and prints the figures: `cargo run -p iosonar --example run`.

use iosonar::{Plan, Session, Silent};
use std::error::Error;
use std::sync::Arc;

const PLAN: &str = r#"
version = 2
run_id = 1
seed = 1
depth = 4
# 100 us for each request; `kind = "uring"` and a real path for `target` measure a device.
engine = { kind = "sim", service = "100us" }

[[target]]
path = "device"
size = "1GiB"

[target.workload]
kind = "generated"
order = "random"
block_size = "4KiB"
read_percent = 70
pace = { kind = "closed" }
stop = { requests = 10000 }
"#;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let plan = Plan::from_toml(PLAN)?;
    let folder = tempfile::tempdir()?;
    let concluded = Session::new(Arc::new(Silent)).run(plan, &folder.path().join("result"))?;
    let summary = &concluded.figures.summary;
    println!("{} requests completed", summary.counts.all.completed);
    if let Some(latency) = summary.latency.all {
        println!("latency: p50 {} us, max {} us", latency.p50_ns / 1_000, latency.max_ns / 1_000);
    }
    summary.cautions.iter().for_each(|caution| println!("caution: {}", caution.text));
    assert_eq!(summary.counts.all.completed, 10_000);
    Ok(())
}
