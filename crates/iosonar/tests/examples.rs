//! Runs the examples of the library.

#[path = "../examples/analyze.rs"]
#[allow(dead_code, reason = "an argument of this test is none of the example")]
mod analyze;
#[path = "../examples/compare.rs"]
mod compare;
#[path = "../examples/replay.rs"]
mod replay;
#[path = "../examples/run.rs"]
mod run;
#[path = "../examples/workload.rs"]
mod workload;

type Ran = Result<(), Box<dyn std::error::Error>>;

#[test]
fn run_executes_a_plan() -> Ran {
    run::main()
}

#[test]
fn replay_replays_a_load() -> Ran {
    replay::main()
}

#[test]
fn workload_issues_the_requests_of_an_iterator() -> Ran {
    workload::main()
}

#[test]
fn analyze_reads_a_result() -> Ran {
    analyze::analyze_a_new_one()
}

#[test]
fn compare_finds_a_slower_device() -> Ran {
    compare::main()
}
