//! The cost of the program itself: all figures are there, and no file stays. No time is asserted.

use crate::*;
use std::process::Stdio;

const SHORT: &str = "calibrate --rounds 2 --duration 20ms --dir .";

fn names(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path("")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn measures_engines_timer_clock_and_memory_copies() {
    let lab = lab();
    let measured = lab.expect(0, &format!("{SHORT} --json"));
    let facts: Value = serde_json::from_str(&measured.out).unwrap();
    let engines = facts["engines"].as_array().unwrap();
    let known = ["null", "uring", "aio", "posixaio", "threads", "sync", "vsync", "pvsync", "stdio", "mmap"];
    for name in known {
        let row = engines.iter().find(|row| row["engine"] == name).unwrap();
        let [median, least, greatest] =
            ["median", "min", "max"].map(|of| row["ns_per_request"][of].as_f64().unwrap());
        assert!(least > 0.0 && least <= median && median <= greatest, "{row}");
        assert!(
            row["requests"].as_u64().unwrap() > 0 && row["cpu_ns_per_request"]["min"].as_f64().unwrap() > 0.0
        );
        assert_eq!(row["most_requests_per_second"].as_f64().unwrap(), 1e9 / least);
    }
    let timers = facts["timers"].as_array().unwrap();
    assert_eq!((timers.len(), &timers[0]["spin_ns"]), (2, &0.into()));
    for timer in timers {
        // 20 ms at 2000 requests per second, twice.
        assert_eq!(timer["requests"], 80);
        assert!(timer["late_p50_ns"]["median"].as_f64() <= timer["late_p99_ns"]["median"].as_f64());
    }
    assert_eq!(facts["copies"].as_array().unwrap().len(), 2);
    assert!(
        facts["clock"]["least_step_ns"].as_u64().unwrap() > 0
            && facts["clock"]["cost_ps"].as_u64().unwrap() > 0
    );
    assert!(facts["machine"]["kernel"].is_string() && facts["machine"]["clock_source"].is_string());
    assert!(names(&lab).is_empty());
}

#[test]
fn table_states_how_it_was_measured() {
    let lab = lab();
    let table = lab.expect(0, SHORT).out;
    for word in
        ["machine  ", "clock    ", "timer    asleep until due: ", "memory   copies of 64.0 MiB: ", "  mmap  "]
    {
        assert!(table.contains(word), "no '{word}' in\n{table}");
    }
    assert!(table.contains("Medians of 2 rounds of 20ms each."), "{table}");
    assert!(names(&lab).is_empty());
}

#[test]
fn rejects_invalid_calibrations() {
    let lab = lab();
    for (words, says) in [
        ("--duration 1ms", "--duration 1ms: a round takes between 10ms and 1s"),
        ("--duration 2s", "--duration 2s"),
        ("--rounds 0", "0 is not in 1..=1000"),
        ("--dir nowhere", "no directory can be created in nowhere"),
    ] {
        let refused = lab.expect(2, &format!("calibrate {words}"));
        assert!(refused.err.contains(says) && refused.out.is_empty(), "{words}: {}", refused.err);
    }
}

#[test]
fn sigint_leaves_no_files() {
    let lab = lab();
    let mut command = lab.command("calibrate --rounds 1000 --dir .");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let file = || names(&lab).first().is_some_and(|dir| lab.path(dir).join("file").exists());
    iosonar_testkit::until("the file", file);
    iosonar_testkit::signal(child.id(), "INT");
    let ended = iosonar_testkit::Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.out.is_empty() && names(&lab).is_empty(), "{}{:?}", ended.out, names(&lab));
}
