//! Traces of the kernel's block events: which completion ends which request, and the meaning of the letters.

use crate::*;
use iosonar_archive::{Marks, Outcome};

/// Copies a trace into the lab under its own name.
fn trace<'a>(lab: &Lab, name: &'a str) -> &'a str {
    lab.file(name, std::fs::read(fixture_path(&format!("traces/{name}"))).expect("a trace"));
    name
}

/// The latencies of an archive in microseconds, in the order of the requests; `None` without a completion.
fn latencies_us(lab: &Lab, archive: &str) -> Vec<Option<u64>> {
    sorted(lab, archive).iter().map(|record| record.latency().map(|latency| latency.0 / 1000)).collect()
}

fn is_guessed(record: &Record) -> bool {
    record.marks.has(Marks::AMBIGUOUS)
}

#[test]
fn merged_flushes_have_separate_completions() {
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
fn failed_flush_is_recorded_as_failed() {
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
    // blkparse prints an errno as unsigned 16 bits; flushes without a completion end with the device's.
    let text = std::fs::read_to_string(fixture_path("traces/fsync-flush.blkparse")).unwrap();
    lab.file("u", text.replace("C  FN 0 [0]", "C  FN 0 [65531]"));
    lab.expect(0, "convert u b");
    let results: Vec<i64> = sorted(&lab, "b").iter().map(|record| record.result).collect();
    assert_eq!(results, [4096, -5, 4096, -5]);
    assert_eq!(latencies_us(&lab, "b"), [260, 20_010, 270, 18_010].map(Some));
}

#[test]
fn blkparse_flushes_keep_their_process() {
    let lab = lab();
    let info = lab.expect(0, &format!("info {}", trace(&lab, "fsync-flush.blkparse"))).out;
    assert!(info.contains("paranoid: 4 requests, 8192 bytes"), "{info}");
}

#[test]
fn fua_write_ends_with_its_post_flush() {
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
fn marks_guessed_latencies_of_converted_archives() {
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
    let text = lab.expect(0, "show --all a").out;
    assert!(text.contains("trace-incomplete") && text.contains("their latencies are guessed"), "{text}");
}

fn info(lab: &Lab, name: &str) -> Value {
    serde_json::from_str(&lab.expect(0, &format!("info --json {name}")).out).unwrap()
}

// blkparse prints times before its first event without their sign, in 64 or in 32 bits of seconds.
#[test]
fn times_before_the_first_event_are_negative() {
    let lab = lab();
    let name = trace(&lab, "time-below-zero.blkparse");
    let cut = std::fs::read_to_string(lab.path(name)).unwrap();
    lab.file("wide", cut.replace("1266874889.", "18446744073."));
    for name in [name, "wide"] {
        let text = lab.expect(0, &format!("convert {name} -")).out;
        let requests: Vec<Vec<&str>> =
            text.lines().skip(2).map(|line| line.split(';').take(2).map(str::trim).collect()).collect();
        let wanted = [["0.000000000", "4096"], ["0.039551616", "2048"], ["0.539551616", "8192"]];
        assert_eq!(requests, wanted, "{name}");
        assert_eq!(info(&lab, name)["demand"]["span"]["last_ns"], 539_551_616, "{name}");
        lab.expect(0, &format!("convert {name} {name}.archive"));
        assert_eq!(latencies_us(&lab, &format!("{name}.archive")), [200, 100, 300].map(Some));
    }
}

#[test]
fn completions_without_start_are_not_requests() {
    let lab = lab();
    let name = trace(&lab, "cut-start.blkparse");
    let told = info(&lab, name);
    assert_eq!((&told["requests"], &told["kinds"]["writes"]), (&1.into(), &0.into()));
    assert_eq!(told["demand"]["counts"]["all"]["bytes"], 4096);
    assert_eq!(told["ends"]["without_begin"], 2);
    for out in ["x.load", "x.archive", "y.load --timing exact"] {
        let ended = lab.expect(0, &format!("convert {name} {out}"));
        assert!(ended.err.contains(": 1 requests"), "{}", ended.err);
    }
    assert!(lab.expect(0, &format!("convert {name} z")).err.contains("2 ends without a start"));
    assert_eq!(lab.records("x.archive").len(), 1);
}

// The driver requeues a request before it takes it.
#[test]
fn info_and_conversions_count_a_requeued_request_once() {
    let lab = lab();
    let line =
        |n: u64, letter: char| format!("  8,0    1 {n:8}     0.00000{n}000   42  {letter}   R 8 + 8 [0]\n");
    let events = |letters: &str| (1..).zip(letters.chars()).map(|(n, c)| line(n, c)).collect::<String>();
    lab.file("requeued", events("DRDC"));
    lab.file("again", events("DDC"));
    for name in ["requeued", "again"] {
        assert_eq!(info(&lab, name)["requests"], 1, "{name}");
        lab.expect(0, &format!("convert {name} {name}.archive"));
        assert_eq!(lab.records(&format!("{name}.archive")).len(), 1, "{name}");
    }
    let load = lab.expect(0, "convert requeued -").out;
    assert_eq!(load.lines().count(), 3, "{load}");
}

#[test]
fn zone_operations_are_appends_or_ignored() {
    let lab = lab();
    let name = trace(&lab, "zone.ftrace");
    let told = info(&lab, name);
    let kinds = ["writes", "write-zeroes", "others"].map(|kind| told["kinds"][kind].as_u64().unwrap());
    assert_eq!(kinds, [1, 0, 2]);
    assert_eq!(told["demand"]["counts"]["all"]["bytes"], 131_072);
    let ended = lab.expect(0, &format!("convert {name} -"));
    assert!(ended.out.contains(" 524288 ;  256 ; W ;") && !ended.out.contains("# write"), "{}", ended.out);
    assert!(ended.err.contains("2 others"), "{}", ended.err);
    // An append is issued at the start of its zone, and ends where it was written.
    let moved = std::fs::read_to_string(lab.path(name)).unwrap();
    lab.file("moved", moved.replace("complete: 259,1 ZAS () 524288", "complete: 259,1 ZAS () 524800"));
    lab.expect(0, "convert moved a");
    let record = sorted(&lab, "a")[0];
    assert_eq!((sector(&record), record.latency().unwrap().0), (524_800, 200_000));
    // Without other operations on zones, the letter N with a length is a zeroing, which is reported.
    lab.file("zeroing", moved.lines().skip(4).map(|line| format!("{line}\n")).collect::<String>());
    let ended = lab.expect(0, "convert zeroing -");
    assert!(ended.out.contains("# write-zeroes"), "{}", ended.out);
    assert!(ended.err.contains("letter N"), "{}", ended.err);
}

#[test]
fn pairs_cumulative_completions_of_split_discard() {
    let lab = lab();
    lab.expect(0, &format!("convert {} a --at queue", trace(&lab, "discard-cumulative.blkparse")));
    assert_eq!(latencies_us(&lab, "a"), [Some(500)]);
    assert_eq!(sorted(&lab, "a")[0].requested.length, 40 * 512);
    assert!(
        !lab.expect(0, "convert discard-cumulative.blkparse b --at queue").err.contains("without a start")
    );
}

#[test]
fn rejects_mixed_devices_before_writing() {
    let lab = lab();
    let line =
        |n: u64| format!("  8,{}    1 {n:8}     0.{n:09}   42  Q   R {} + 8 [db]\n", n / 9_999 * 16, n * 8);
    lab.file("t", (1..10_000).map(line).collect::<String>());
    let ended = lab.expect(2, "convert t -");
    assert!(ended.out.is_empty() && ended.err.contains("2 devices"), "{}", ended.err);
    assert_eq!(lab.expect(0, "convert t - --device 8,0").out.lines().count(), 2 + 9_998);
}

#[test]
fn rejects_text_without_readable_lines() {
    let lab = lab();
    let name = trace(&lab, "biosnoop-plain.txt");
    for command in ["info biosnoop-plain.txt", "convert biosnoop-plain.txt x.load"] {
        let ended = lab.expect(2, command);
        assert!(ended.err.contains("none of the forms"), "{}", ended.err);
    }
    for form in [
        "blkparse",
        "ftrace",
        "fio",
        "fio-latency",
        "seek-list",
        "diskmon",
        "msr",
        "alibaba",
        "tencent",
        "spc",
        "fiu",
        "netapp",
    ] {
        for command in [format!("info --from {form} {name}"), format!("convert --from {form} {name} x.load")]
        {
            let ended = lab.expect(2, &command);
            assert!(
                ended.err.contains("such as '") || ended.err.contains("a log of fio starts with"),
                "{command}: {}",
                ended.err
            );
        }
    }
}

#[test]
fn partition_requests_use_partition_offsets() {
    let lab = lab();
    trace(&lab, "partition.blkparse");
    let ended = lab.expect(0, "convert partition.blkparse - --device 8,18 --at queue");
    let requests: Vec<&str> = ended.out.lines().skip(2).map(str::trim).collect();
    assert_eq!(requests.len(), 1, "{}", ended.out);
    assert!(requests[0].contains("2047952") && requests[0].contains("R"), "{}", ended.out);
    // The disk's own numbers select both requests, at their places on the disk.
    assert_eq!(lab.expect(0, "convert partition.blkparse - --device 8,16").out.lines().count(), 2 + 2);
    let ended = lab.expect(2, "convert partition.blkparse - --device 8,19");
    assert!(ended.err.contains("no such device"), "{}", ended.err);
}

#[test]
fn dumps_of_hfplayer_have_requests_of_blocks_with_latencies() {
    let lab = lab();
    lab.expect(0, &format!("convert {} a", trace(&lab, "netapp.csv")));
    let requests = sorted(&lab, "a");
    assert_eq!(requests.iter().map(|r| r.requested.offset).collect::<Vec<_>>(), [1024, 2048]);
    assert_eq!(latencies_us(&lab, "a"), [Some(200), Some(200)]);
}

#[test]
fn lines_without_direction_need_an_option() {
    let lab = lab();
    trace(&lab, "commas.blkparse");
    let ended = lab.expect(2, "info commas.blkparse");
    assert!(ended.err.contains("--direction write"), "{}", ended.err);
    let ended = lab.expect(0, "convert commas.blkparse a --direction write --at queue");
    assert!(!ended.err.contains("damaged"), "{}", ended.err);
    let summary = summary(&lab, "a");
    assert_eq!(summary["counts"]["write"]["completed"], 2, "{summary}");
    trace(&lab, "partition.blkparse");
    let ended = lab.expect(2, "info partition.blkparse --direction write");
    assert!(ended.err.contains("remove the option"), "{}", ended.err);
    lab.file("x.load", "0.1 ; 8 ; 8 ; R ; 0.0 ; 0.0\n");
    let ended = lab.expect(2, "info x.load --direction write");
    assert!(ended.err.contains("only text of blkparse"), "{}", ended.err);
}

// The data written by recorded programs is unknown.
#[test]
fn recordings_get_no_cautions_about_data() {
    let lab = lab();
    lab.expect(0, &format!("convert {} a", trace(&lab, "fsync-flush.blkparse")));
    let summary = summary(&lab, "a");
    let about_data = ["trivial-data", "unmapped-target", "fresh-or-warm-mapping", "wrong-size-device"];
    assert!(!cautions(&summary).iter().any(|id| about_data.contains(id)), "{}", summary["cautions"]);
    assert!(!lab.expect(0, "show --all a").out.contains("compressible"));
}

/// A recording has no configured depth or rate, and shows the observed maximum in flight.
#[test]
fn recording_shows_max_in_flight_and_no_target_rate() {
    let lab = lab();
    let event = |ms: u64, action: char, sector: u64| {
        format!("  8,0    0  {:6} {:14.9}  1234  {action}   R {sector} + 8 [fio]\n", ms + 1, ms as f64 / 1e3)
    };
    // Three overlap from 20 ms on.
    let events = [(0, 'D', 0), (10, 'D', 8), (20, 'D', 16), (30, 'C', 8), (40, 'C', 0), (50, 'C', 16)];
    lab.file("t", events.map(|(ms, action, sector)| event(ms, action, sector)).concat());
    lab.expect(0, "convert --to archive t r");
    let summary: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
    assert_eq!(summary["in_flight"]["peak"]["requests"], 3, "{:#}", summary["in_flight"]);
    assert!(
        summary["throughput"]["demanded"].is_null() && summary["throughput"]["delivered_share"].is_null()
    );
    let text = lab.expect(0, "show --all r").out;
    assert!(text.contains("wanted        none (recorded)") && text.contains(", max 3 at 20.0 ms"), "{text}");
}

/// A storage engineer asks which requests a load consists of, and from which processes.
#[test]
fn recording_shows_read_and_sequential_share_per_process() {
    let lab = lab();
    let request = |n: u64, op: &str, sector: u64, name: &str, pid: u64| {
        let line = |action, ms: u64| {
            let time = ms as f64 / 1e3;
            format!("  8,0    0  {n:6} {time:14.9}  {pid}  {action}   {op} {sector} + 8 [{name}]\n")
        };
        line('D', 2 * n) + &line('C', 2 * n + 1)
    };
    // Two processes take turns; the log of one is written in a row.
    let lines: String = (1..=6)
        .flat_map(|n| {
            [request(2 * n, "R", 1000 * (7 - n), "db", 11), request(2 * n + 1, "W", 8 * n, "log", 12)]
        })
        .collect();
    lab.file("t", lines);
    lab.expect(0, "convert --to archive t r");
    let processes = summary(&lab, "r")["processes"].clone();
    let of =
        |n: usize| ["name", "reads", "writes", "sequential"].map(|field| processes[n][field].to_string());
    assert_eq!(of(0), ["\"db\"", "6", "0", "0"]);
    assert_eq!(of(1), ["\"log\"", "0", "6", "5"]);
    let text = lab.expect(0, "show --all r").out;
    let lines = |name: &str| {
        text.lines()
            .find(|line| line.starts_with(name))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    assert_eq!(lines("  all        ").unwrap_or_default(), "all 12 50.0 % 41.7 % 0 48.0 KiB", "{text}");
    assert_eq!(lines("  log").unwrap_or_default(), "log 6 0 % 83.3 % 0 24.0 KiB", "{text}");
}
