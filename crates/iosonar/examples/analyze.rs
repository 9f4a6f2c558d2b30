//! Reads a result: summary, findings, and its records one by one: `cargo run -p iosonar --example analyze -- RESULT`.

use iosonar::{Archive, Input, Plan, RunAnalysis, Session, Silent, SummaryOptions};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(result) => analyze(Path::new(&result)),
        None => analyze_a_new_one(),
    }
}

fn analyze(result: &Path) -> Result<(), Box<dyn Error>> {
    let input = Input::of_archive(Archive::open(result)?)?;
    let run = RunAnalysis::read(&input, &SummaryOptions::default())?;
    if let Some(judgement) = &run.summary.judgement {
        println!("verdict: {}", judgement.sentence);
    }
    run.findings.sentences().iter().for_each(|sentence| println!("finding: {sentence}"));
    let mut slowest = None;
    let archive = input.archive().expect("it was opened as one");
    archive.for_each_record(&mut |record| {
        slowest = slowest.max(record.latency().map(|latency| (latency, record.sequence)));
    })?;
    if let Some((latency, number)) = slowest {
        println!("request {number} was the slowest: {latency}");
    }
    Ok(())
}

/// Analyses a new result of a simulated device.
pub fn analyze_a_new_one() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let result = folder.path().join("result");
    let plan = Plan::from_toml(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 2\nengine = { kind = \"sim\", service = \"100us\" }\n\
         [[target]]\npath = \"device\"\nsize = \"1GiB\"\n\
         workload = { kind = \"generated\", order = \"random\", block_size = \"4KiB\", read_percent = 100, \
         pace = { kind = \"closed\" }, stop = { requests = 1000 } }\n",
    )?;
    Session::new(Arc::new(Silent)).run(plan, &result)?;
    analyze(&result)
}
