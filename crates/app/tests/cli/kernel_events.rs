//! Traces of the kernel's block events: which completion ends which request, and what its letters mean.

use crate::*;
use iosonar_archive::{Marks, Outcome};

/// Copies a trace into the lab under its own name.
fn trace<'a>(lab: &Lab, name: &'a str) -> &'a str {
    lab.file(name, std::fs::read(fixture_path(&format!("traces/{name}"))).expect("a trace"));
    name
}

/// The latencies of an archive in microseconds, in the order of the requests; `None` for one without an end.
fn latencies_us(lab: &Lab, archive: &str) -> Vec<Option<u64>> {
    sorted(lab, archive).iter().map(|record| record.latency().map(|latency| latency.0 / 1000)).collect()
}

fn is_guessed(record: &Record) -> bool {
    record.marks.has(Marks::AMBIGUOUS)
}

#[test]
fn flushes_that_the_kernel_joins_end_each_with_their_own_completion() {
    let lab = lab();
    let text = std::fs::read_to_string(fixture_path("traces/shared-flush.ftrace")).unwrap();
    let without_issues: String = text
        .lines()
        .filter(|line| !line.contains("block_rq_issue"))
        .map(|line| format!("{line}\n"))
        .collect();
    lab.file("with.trace", &text);
    lab.file("without.trace", without_issues);
    for name in ["with", "without"] {
        lab.expect(0, &format!("convert {name}.trace {name} --timing exact --at queue"));
        let wanted = [1001, 1991, 1982, 1973, 1001].map(Some);
        assert_eq!(latencies_us(&lab, name), wanted, "{name}");
        let records = sorted(&lab, name);
        assert!(records.iter().all(|r| r.outcome == Outcome::Completed), "{records:?}");
        let mean = summary(&lab, name)["in_flight"]["mean_time_weighted"].as_f64().unwrap();
        assert!(mean < 0.1, "{mean}");
    }
    assert!(!sorted(&lab, "with").iter().any(is_guessed));
}

#[test]
fn a_flush_that_failed_has_failed() {
    let lab = lab();
    let text = std::fs::read_to_string(fixture_path("traces/shared-flush.ftrace")).unwrap();
    let failed = |line: &str| {
        let is_last = line.contains("101.001");
        format!("{}\n", if is_last { line.replace("[0]", "[-5]") } else { line.to_string() })
    };
    lab.file("t", text.lines().map(failed).collect::<String>());
    lab.expect(0, "convert t a");
    let results: Vec<i64> = sorted(&lab, "a").iter().map(|record| record.result).collect();
    assert_eq!(results, [0, 0, 0, 0, -5]);
    // blkparse prints an errno as 16 bits without sign; without completions of their own, flushes end with the device's.
    let text = std::fs::read_to_string(fixture_path("traces/fsync-flush.blkparse")).unwrap();
    lab.file("u", text.replace("C  FN 0 [0]", "C  FN 0 [65531]"));
    lab.expect(0, "convert u b");
    let results: Vec<i64> = sorted(&lab, "b").iter().map(|record| record.result).collect();
    assert_eq!(results, [4096, -5, 4096, -5]);
    assert_eq!(latencies_us(&lab, "b"), [260, 20_010, 270, 18_010].map(Some));
}

#[test]
fn flushes_of_blkparse_have_their_process() {
    let lab = lab();
    let info = lab.expect(0, &format!("info {}", trace(&lab, "fsync-flush.blkparse"))).out;
    assert!(info.contains("paranoid: 4 requests, 8192 bytes"), "{info}");
}

#[test]
fn a_write_with_fua_ends_with_the_flush_after_it() {
    let lab = lab();
    lab.expect(0, &format!("convert {} a --at queue", trace(&lab, "fua-postflush.ftrace")));
    assert_eq!(latencies_us(&lab, "a"), [Some(9001)]);
    let both = Marks::FUA.with(Marks::PREFLUSH, true);
    assert!(sorted(&lab, "a")[0].marks.has(both));
    // To the driver the data is a write, and each flush around it a request.
    lab.expect(0, "convert fua-postflush.ftrace b --at issue");
    assert_eq!(latencies_us(&lab, "b"), [1995, 96, 6896].map(Some));
}

#[test]
fn converted_archives_say_which_latencies_are_guessed() {
    let lab = lab();
    let line = |at: u64, action: char, sector: u64| {
        let end = if action == 'C' { "[0]" } else { "[db]" };
        format!(
            "  8,0    1 {at:8}     {}.{:09}   42  {action}   R {sector} + 8 {end}\n",
            at / 1000,
            at % 1000 * 1_000_000
        )
    };
    let alike = [line(10, 'Q', 8), line(20, 'Q', 8), line(30, 'C', 8), line(40, 'C', 8)];
    let others = (3..100u64).flat_map(|n| [line(n * 20, 'Q', n * 64), line(n * 20 + 5, 'C', n * 64)]);
    lab.file("t", alike.into_iter().chain(others).collect::<String>());
    lab.expect(0, "convert t a");
    assert_eq!(sorted(&lab, "a").iter().filter(|r| is_guessed(r)).count(), 2);
    let text = lab.expect(0, "show a").out;
    assert!(text.contains("trace-incomplete") && text.contains("their latencies are guessed"), "{text}");
}
