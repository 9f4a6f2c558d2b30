//! `iosonar convert` and `iosonar info`: traces of all forms, against the output of other programs for the same traces.

use crate::*;
use std::io::Write;

/// Time, sector, length, letter and latency of each line, in the words of `conv.expected.json`, which knows neither flushes
/// nor FUA.
fn rows(text: &str) -> Vec<(u64, u64, u64, String, u64)> {
    let time = |cell: &str| {
        let (seconds, fraction) = cell.split_once('.').unwrap();
        seconds.parse::<u64>().unwrap() * S + format!("{fraction:0<9}").parse::<u64>().unwrap()
    };
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(';').map(str::trim).collect();
        let number = |i: usize| cells[i].parse::<u64>().unwrap();
        (time(cells[0]), number(1), number(2), cells[3][..1].to_string(), time(cells[5]))
    };
    text.lines().filter(|line| !line.starts_with(['#', 's'])).map(row).collect()
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(fixture_path("conv.expected.json")).unwrap()).unwrap()
}

fn tiny(lab: &Lab) {
    fixture(lab, "tiny.blktrace.0");
    fixture(lab, "tiny.blktrace.1");
}

// 67
#[test]
fn converts_blktrace_to_a_load() {
    let (lab, expected) = (lab(), expected());
    tiny(&lab);
    let ended = lab.expect(0, "convert tiny.blktrace.0 tiny.blktrace.1 -");
    let want: Vec<(u64, u64, u64, String)> = serde_json::from_value(expected["plain"].clone()).unwrap();
    let got: Vec<_> = rows(&ended.out).into_iter().map(|(t, s, l, op, _)| (t, s, l, op)).collect();
    assert_eq!(got, want);
    assert!(ended.err.contains("an event Q (queue)"), "{}", ended.err);
    let discards = ended.out.lines().filter(|line| line.starts_with("# discard ; "));
    assert_eq!(discards.count(), 1, "{}", ended.out);
    let (flush, fua) = ("# flush ;      0.005000000 ; 0.0 ; 0.0\n", " ;         5000 ;    8 ; WF ; ");
    assert!(ended.out.contains(flush) && ended.out.contains(fua), "{}", ended.out);
    // The prefix stands for the files of all CPUs; one CPU alone has fewer lines.
    assert_eq!(rows(&lab.expect(0, "convert tiny -").out).len(), 9);
    assert_eq!(rows(&lab.expect(0, "convert tiny.blktrace.0 -").out).len(), 5);
    let info: Value = serde_json::from_str(&lab.expect(0, "info --json tiny").out).unwrap();
    for (letter, name) in [("Q", "Q queue"), ("G", "G get request"), ("I", "I insert"), ("D", "D issue")] {
        assert_eq!(info["besides"][format!("events {name}")], expected["event_counts"][letter]);
    }
    assert_eq!(info["request_is_event"], "queue");
    assert_eq!(info["kinds"]["discards"], 1);
    assert_eq!(info["kinds"]["flushes"], 1);
}

#[test]
fn info_lists_the_processes_of_a_trace() {
    let lab = lab();
    let script = fixture_path("../../../trace/tests/fixtures/perf/mixed.script.gz");
    std::fs::copy(script, lab.path("perf.gz")).unwrap();
    let info: Value = serde_json::from_str(&lab.expect(0, "info --json perf.gz").out).unwrap();
    let processes = info["processes"].as_array().unwrap();
    let requests: Vec<u64> = processes.iter().map(|process| process["requests"].as_u64().unwrap()).collect();
    assert!(requests.len() > 1 && requests.is_sorted_by(|a, b| a >= b), "{processes:?}");
    assert_eq!(requests.iter().sum::<u64>(), info["requests"].as_u64().unwrap());
    let busiest = format!(
        "  processes          {}: {} requests, ",
        processes[0]["name"].as_str().unwrap(),
        requests[0]
    );
    assert!(lab.expect(0, "info perf.gz").out.contains(&busiest), "{busiest}");
}

// Files may stand on both sides of an option.
#[test]
fn output_file_may_follow_an_option() {
    let lab = lab();
    tiny(&lab);
    lab.expect(0, "convert tiny --to fio new.log");
    assert!(std::fs::read_to_string(lab.path("new.log")).unwrap().starts_with("fio version 3"));
    lab.expect(0, "generate bursts a.load --duration 1s");
    lab.expect(0, "replay a.load -t t --engine sim --size 1GiB --start-grace 0 -o a");
    lab.expect(0, "compare a --json a");
    assert!(lab.expect(2, "convert tiny").err.contains("only one file"));
    assert!(lab.expect(2, "compare a").err.contains("only one run"));
}

// Escape sequences in a trace must not reach the terminal.
#[test]
fn messages_about_damaged_lines_have_no_control_characters() {
    let lab = lab();
    let line = |time: &str| format!("{time} ; 8 ; 8 ; R ; 0.0 ; 0.0\n");
    lab.file("bad.load", [line("0.0"), line("0.\u{1b}[2J\u{9b}1"), line("2.0")].concat());
    let refused = lab.expect(2, "replay bad.load -t t --engine sim --size 1GiB");
    let skipped = lab.expect(0, "convert bad.load -");
    let head = "orig_start ; sector ; length ; op ; replay_delay ; replay_duration\n";
    lab.file("bad.replay", [head, &line("0.0"), &line("0.\u{1b}[2J\u{9b}1")].concat());
    let imported = lab.run("import bad.replay -o imported");
    for ended in [refused, skipped, imported] {
        let is_obeyed = |c: char| c.is_control() && c != '\n';
        assert!(!ended.err.contains(is_obeyed), "{:?}", ended.err);
        assert!(ended.err.contains("\\u{1b}[2J\\u{9b}"), "{}", ended.err);
    }
}

#[test]
fn flushing_writes_keep_their_flags_or_are_counted() {
    let lab = lab();
    let line = |n: u64, what: &str| {
        format!("  8,0    1 {n:8}     0.00000{n}000   42  Q {what} {} + 8 [db]\n", n * 8)
    };
    let text: String = (1..).zip(["WS", "WFS", "FWS", "FWFS", "RA"]).map(|(n, what)| line(n, what)).collect();
    lab.file("trace", text);
    let ended = lab.expect(0, "convert trace -");
    let letters: Vec<_> = ended.out.lines().skip(2).map(|line| line.split(" ; ").nth(3).unwrap()).collect();
    assert_eq!(letters, ["W", "WF", "WP", "WPF", "R"]);
    assert!(!ended.err.contains("FUA"), "{}", ended.err);
    let ended = lab.expect(0, "convert --to fio trace -");
    assert_eq!(ended.out.matches(" write ").count(), 4);
    let counted = "3 writes had FUA or a preflush, for which this form has no word";
    assert!(ended.err.contains(counted), "{}", ended.err);
}

// 67
#[test]
fn guessed_timing_matches_blkreplay_script() {
    let (lab, expected) = (lab(), expected());
    tiny(&lab);
    let ended = lab.expect(0, "convert --guess-timing tiny -");
    let want: Vec<(u64, u64, u64, String, u64)> =
        serde_json::from_value(expected["with_timing"].clone()).unwrap();
    assert_eq!(rows(&ended.out), want);
    assert!(
        ended.out.contains("# flush ;      0.005000000 ;   0.000000000 ;   0.000700000\n"),
        "{}",
        ended.out
    );
    assert!(ended.err.contains("2 requests without an end, 1 ends without a start"), "{}", ended.err);
    assert_eq!(ended.out.matches("an end without a start").count(), 1);
    assert!(ended.err.contains("for analysis, not for replays"));
}

// 68
#[test]
fn converts_diskmon_log_to_one_load_per_disk() {
    let (lab, expected) = (lab(), expected());
    fixture(&lab, "diskmon.log.gz");
    let refused = lab.expect(2, "convert diskmon.log.gz x.load");
    assert!(
        refused.err.contains("2 devices (disk0  disk1)") && refused.err.contains("--split device"),
        "{}",
        refused.err
    );
    assert!(!lab.path("x.load").exists());
    lab.expect(0, "convert --split device diskmon.log.gz win.load.gz");
    for disk in ["0", "1"] {
        let text = lab.expect(0, &format!("filter shift:0 win.disk{disk}.load.gz")).out;
        let want = expected["diskmon"][disk].as_array().unwrap();
        let got = rows(&text);
        assert_eq!(got.len(), want.len());
        for (row, want) in got.iter().zip(want) {
            let nanos = |v: &Value| v.as_str().unwrap().parse::<f64>().unwrap() * 1e9;
            assert_eq!(
                (row.0, row.1, row.2),
                (nanos(&want[0]).round() as u64, want[1].as_u64().unwrap(), want[2].as_u64().unwrap())
            );
            assert_eq!((row.3.as_str(), row.4), (want[3].as_str().unwrap(), nanos(&want[4]).round() as u64));
        }
    }
    lab.expect(0, "convert --device disk1 diskmon.log.gz one.load");
    assert_eq!(rows(&std::fs::read_to_string(lab.path("one.load")).unwrap()).len(), 2);
}

const LOAD: &str = "\
     0.000000000 ;           16 ;    8 ; W ; 0.0 ; 0.0
     0.001000000 ;           24 ;    8 ; R ; 0.0 ; 0.0
     0.002000000 ;           64 ;   16 ; R ; 0.0 ; 0.0
     0.500000000 ;           16 ;    8 ; W ; 0.0 ; 0.0
";

#[test]
fn loads_round_trip_through_every_written_format() {
    let lab = lab();
    lab.file("a.load", LOAD);
    let want = rows(LOAD);
    for (file, more) in [
        ("a.iolog", ""),
        ("b.iolog", "--to fio2"),
        ("c.iolog.gz", ""),
        ("d.seek", "--block-size 512"),
        ("e.parquet", ""),
        ("f.iosonar", ""),
        ("g.load.gz", ""),
    ] {
        lab.expect(0, &format!("convert {more} a.load {file}"));
        let block = if file.ends_with(".seek") { "--block-size 512" } else { "" };
        let back = rows(&lab.expect(0, &format!("convert {block} {file} -")).out);
        assert_eq!(back, want, "{file}");
    }
    let show = lab.expect(0, "show --all f.iosonar").out;
    assert!(show.contains('4'), "{show}");
    let again = lab.expect(2, "convert a.load a.iolog");
    assert!(again.err.contains("exists already"), "{}", again.err);
}

#[test]
fn exact_completions_produce_an_archive() {
    let lab = lab();
    tiny(&lab);
    lab.expect(0, "convert tiny t.iosonar");
    let records = lab.records("t.iosonar");
    let (requests, others): (Vec<&iosonar_archive::Record>, Vec<_>) =
        records.iter().partition(|r| r.op.is_transfer());
    let flushes: Vec<_> = others.into_iter().filter(|r| r.op == iosonar_plan::Op::Flush).collect();
    let latency = |r: &&iosonar_archive::Record| r.latency().map(|l| l.0);
    assert_eq!(flushes.iter().map(&latency).collect::<Vec<_>>(), [Some(700_000)]);
    let latencies: Vec<Option<u64>> = requests.iter().map(latency).collect();
    let want = [300_000, 150_000, 120_000, 900_000, 400_000, 2_500_000];
    assert_eq!(latencies[..6], want.map(Some));
    assert_eq!(latencies[6..], [None, Some(100_000), None]);
    let info: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("t.iosonar/run.json")).unwrap()).unwrap();
    let notices = info["means"]["notices"].to_string();
    assert!(notices.contains("2 requests without an end, 1 ends without a start"), "{notices}");
}

#[test]
fn reports_and_counts_damage_and_fails_when_strict() {
    let lab = lab();
    lab.file(
        "bad.csv",
        "128166372003061629,hm,1,Read,383496192,32768,413\n128166372003061630,hm,1,Read,x,32768,413\n",
    );
    let ended = lab.expect(0, "convert bad.csv bad.load");
    assert!(ended.err.contains("bad.csv: line 2: the offset 'x'"), "{}", ended.err);
    assert!(ended.err.contains("1 entries are damaged"), "{}", ended.err);
    lab.expect(3, "convert --strict bad.csv strict.load");
    tiny(&lab);
    let cut = std::fs::read(lab.path("tiny.blktrace.0")).unwrap();
    lab.file("cut.blktrace.0", &cut[..cut.len() - 10]);
    let ended = lab.expect(3, "convert --strict cut.blktrace.0 cut.load");
    assert!(
        ended.err.contains("byte 1440: the trace is cut off: 38 bytes of an event of 48"),
        "{}",
        ended.err
    );
    lab.file("text", "hello\nworld\n");
    let refused = lab.expect(2, "convert text x.load");
    assert!(refused.err.contains("--from") && refused.err.contains("blktrace"), "{}", refused.err);
    lab.file("empty", "");
    lab.file("empty.gz", gzip(b""));
    for command in ["info empty", "info empty.gz", "convert empty.gz x.load"] {
        assert!(lab.expect(2, command).err.contains("it is empty"), "{command}");
    }
    lab.file("a.load", LOAD);
    lab.expect(0, "convert a.load a.parquet");
    let mut command = lab.command("convert - x.load");
    let ended = iosonar_testkit::Ended::of(
        command.stdin(std::fs::File::open(lab.path("a.parquet")).unwrap()).output().unwrap(),
    );
    assert!(ended.code == 2 && ended.err.contains("-: Parquet is read from its end"), "{}", ended.err);
    lab.expect(2, "info missing");
}

#[test]
fn info_reports_large_lengths_and_late_times() {
    let lab = lab();
    let late = "9000000000.0 ; 0 ; 8 ; R\n9000000000.5 ; 8 ; 8 ; R\n";
    lab.file("long.load", format!("0.0 ; 0 ; 8 ; R\n1.0 ; 8 ; 8589934592 ; R\n{late}"));
    let told = lab.expect(0, "info long.load").out;
    assert!(told.contains("peak               2 requests in a second"), "{told}");
    assert!(told.contains("length             8 .. 8589934592 sectors"), "{told}");
    assert!(told.contains("sectors            0 .. 8589934600\n"), "{told}");
}

#[test]
fn reads_traces_with_tens_of_thousands_of_devices() {
    let lab = lab();
    let row = |n: u64| format!("{},R,{},4096,{}\n", n * 7919 % 70_001, n * 4096, 1_577_808_144_000_000 + n);
    lab.file("many.csv", (0..200_000).map(row).collect::<String>());
    let begun = std::time::Instant::now();
    let refused = lab.expect(2, "convert many.csv x.load");
    assert!(refused.err.contains("the trace has 65536 devices"), "{}", refused.err);
    assert!(refused.err.contains("there are more than 65536 devices: '"), "{}", refused.err);
    lab.expect(0, "convert --keep-order --device 7919 many.csv x.load");
    // Where each name is looked for among all, it takes minutes.
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}

#[test]
fn rejects_unknown_device_and_lists_known_ones() {
    let lab = lab();
    fixture(&lab, "diskmon.log.gz");
    tiny(&lab);
    for (command, words) in [
        (
            "convert --device disk7 diskmon.log.gz x.load",
            "diskmon.log.gz has no such device; those that it has: disk0  disk1",
        ),
        ("convert --device 7:4 --device 9,9 tiny x.load", "--device 9,9: "),
        ("info --device disk7 diskmon.log.gz", "disk0  disk1"),
    ] {
        let refused = lab.expect(2, command).err;
        assert!(refused.contains(words), "{command}: {refused}");
    }
    lab.file("a.load", LOAD);
    assert!(lab.expect(2, "convert --device sda a.load x.load").err.contains("names no devices"));
    assert!(!lab.path("x.load").exists());
    lab.expect(0, &format!("replay a.load {SIM} --start-grace 0 -o ran"));
    lab.expect(0, "convert --device dev ran x.load");
}

#[test]
fn keeps_events_before_and_after_damage() {
    let lab = lab();
    tiny(&lab);
    let mut damaged = std::fs::read(lab.path("tiny.blktrace.0")).unwrap();
    damaged[480] ^= 0xff;
    lab.file("bad.blktrace.0", damaged);
    lab.file("bad.blktrace.1", std::fs::read(lab.path("tiny.blktrace.1")).unwrap());
    let ended = lab.expect(0, "convert bad -");
    assert_eq!(rows(&ended.out).len(), 9);
    let place =
        "byte 480: of bad.blktrace.0: the trace is damaged: 48 bytes, up to the next event at byte 528";
    assert!(ended.err.contains(place), "{}", ended.err);
    assert!(ended.err.contains("48 bytes of the trace are damaged"), "{}", ended.err);
    lab.expect(3, "convert --strict bad bad.load");
    lab.expect(3, "info --strict bad");
}

#[test]
fn keeps_whole_lines_of_truncated_compressed_trace() {
    let lab = lab();
    let line = |n: u64| format!("128166372{n:09},hm,1,Read,{},4096,413\n", n * 7919 % 100_003 * 4096);
    let text: String = (0..20_000).map(line).collect();
    let whole = gzip(text.as_bytes());
    lab.file("cut.csv.gz", &whole[..whole.len() / 2]);
    let ended = lab.expect(0, "convert cut.csv.gz -");
    let kept = rows(&ended.out);
    assert!(kept.len() > 1000, "{}", kept.len());
    let place = format!("line {}: what follows this is lost, because the gzip stream is cut off", kept.len());
    assert!(ended.err.contains(&place), "{}", ended.err);
    lab.expect(3, "convert --strict cut.csv.gz cut.load");
    lab.expect(3, "info --strict cut.csv.gz");
    // A wrong checksum does not locate the damage.
    let mut damaged = whole.clone();
    *damaged.iter_mut().nth_back(7).unwrap() ^= 1;
    lab.file("sum.csv.gz", damaged);
    let ended = lab.expect(0, "convert sum.csv.gz -");
    assert_eq!(rows(&ended.out).len(), 20_000);
    assert!(ended.err.contains("requests that were read of them can be wrong"), "{}", ended.err);
    lab.file("none.csv.gz", &whole[..11]);
    assert!(lab.expect(2, "convert none.csv.gz -").err.contains("cut off"));
}

#[test]
fn sorts_backward_times_and_reports_it() {
    let lab = lab();
    let row = |t: u64, sector: u64| format!("1,R,{},4096,{}\n", sector * 512, 1_577_808_144_000_000 + t);
    lab.file("a.csv", row(5, 8) + &row(3, 16) + &row(9, 24));
    let ended = lab.expect(0, "convert a.csv -");
    let seen: Vec<(u64, u64)> = rows(&ended.out).iter().map(|r| (r.0, r.1)).collect();
    assert_eq!(seen, [(0, 16), (2000, 8), (6000, 24)]);
    assert!(ended.err.contains("1 requests that were brought to their places in time"), "{}", ended.err);
    let kept = rows(&lab.expect(0, "convert --keep-order a.csv -").out);
    assert_eq!(kept.iter().map(|r| r.1).collect::<Vec<_>>(), [8, 16, 24]);
}

#[test]
fn fio_replays_written_logs() {
    let lab = lab();
    if std::process::Command::new("fio").arg("--version").output().is_err() {
        return iosonar_testkit::skip("fio_replays_written_logs", "fio is not installed");
    }
    lab.file("a.load", LOAD);
    lab.target("target", 1 << 20);
    for (to, log) in [("fio", "three.log"), ("fio2", "two.log")] {
        lab.expect(0, &format!("convert --to {to} --fio-file target a.load {log}"));
        let mut fio = std::process::Command::new("fio");
        let log = format!("--read_iolog={log}");
        let told = fio
            .args(["--name=r", &log, "--ioengine=psync", "--output-format=json"])
            .current_dir(lab.path(""));
        let told = String::from_utf8(told.output().unwrap().stdout).unwrap();
        let json: Value = serde_json::from_str(&told[told.find('{').unwrap_or(0)..])
            .unwrap_or_else(|e| panic!("{e}: {told}"));
        let job = &json["jobs"][0];
        assert_eq!((&job["read"]["total_ios"], &job["write"]["total_ios"]), (&2.into(), &2.into()), "{told}");
        assert_eq!(job["read"]["io_bytes"], 24 * 512);
        // The last request is due half a second after the first.
        assert!(job["job_runtime"].as_u64().is_some_and(|ms| ms > 100), "{told}");
    }
}

/// File names in the directory, sorted.
fn names(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path("")).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn records_keep_their_device() {
    let lab = lab();
    fixture(&lab, "diskmon.log.gz");
    lab.expect(0, "convert diskmon.log.gz d.iosonar");
    let run: Value =
        serde_json::from_str(&std::fs::read_to_string(lab.path("d.iosonar/run.json")).unwrap()).unwrap();
    assert_eq!(run["state"]["state"], "finished");
    let targets: Vec<&str> =
        run["targets"].as_array().unwrap().iter().map(|t| t["path"].as_str().unwrap()).collect();
    assert_eq!(targets, ["disk0", "disk1"]);
    let records = lab.records("d.iosonar");
    for (number, disk) in targets.iter().enumerate() {
        let of_disk: Vec<&Record> = records.iter().filter(|r| usize::from(r.target) == number).collect();
        let numbers: Vec<u64> = of_disk.iter().map(|r| r.sequence).collect();
        assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>(), "{disk}");
        let alone = rows(&lab.expect(0, &format!("convert --device {disk} diskmon.log.gz -")).out);
        let places = |of: &[&Record]| of.iter().map(|r| r.executed.offset / 512).collect::<Vec<_>>();
        assert_eq!(places(&of_disk), alone.iter().map(|row| row.1).collect::<Vec<_>>(), "{disk}");
        let end = of_disk.iter().map(|r| r.requested.end()).max();
        assert_eq!(run["targets"][number]["max_requested_end"].as_u64(), end, "{disk}");
    }
    // The same device in two traces is one target.
    lab.expect(0, "convert diskmon.log.gz diskmon.log.gz twice.iosonar");
    assert_eq!(lab.records("twice.iosonar").len(), 2 * records.len());
    let run = std::fs::read_to_string(lab.path("twice.iosonar/run.json")).unwrap();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["targets"].as_array().unwrap().len(), 2);
}

#[test]
fn failed_conversion_leaves_no_output() {
    let lab = lab();
    // Time runs backward over more requests than are held.
    let row = |t: u64| format!("1,R,4096,4096,{}\n", 1_577_808_144_000_000 + t);
    let late: String = (0..70_000).map(|n| row(n + 10)).chain([row(0)]).collect();
    lab.file("late.csv", late);
    for out in ["x.iosonar", "x.parquet", "x.load.gz"] {
        let refused = lab.expect(2, &format!("convert late.csv {out}"));
        assert!(refused.err.contains("time runs backward"), "{}", refused.err);
        assert_eq!(names(&lab), ["late.csv"], "{out}");
    }
}

#[test]
fn killed_conversion_leaves_no_output_and_no_obstacle() {
    let lab = lab();
    lab.file("a.load", LOAD);
    for out in ["x.iosonar", "x.parquet"] {
        let mut killed =
            lab.command(&format!("convert - {out}")).stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mut trace = killed.stdin.take().unwrap();
        // Longer than the part read to recognise the form.
        trace.write_all(LOAD.repeat(400).as_bytes()).unwrap();
        // A file of another program stays, whatever its name.
        lab.file(&format!(".{out}.partial"), "thesis");
        let dir = format!(".iosonar-convert-{}-0", killed.id());
        let begun = lab.path(&format!("{dir}/archive/records.parquet.tmp"));
        iosonar_testkit::until("the archive is begun", || begun.exists());
        killed.kill().unwrap();
        killed.wait().unwrap();
        drop(trace);
        assert!(begun.exists() && !lab.path(out).exists(), "{out}");
        lab.expect(0, &format!("convert a.load {out}"));
        assert_eq!(rows(&lab.expect(0, &format!("convert {out} -")).out), rows(LOAD));
    }
    let theirs = [".x.iosonar.partial", ".x.parquet.partial"];
    assert_eq!(names(&lab), [&theirs[..], &["a.load", "x.iosonar", "x.parquet"]].concat());
    assert!(theirs.iter().all(|file| std::fs::read(lab.path(file)).unwrap() == b"thesis"));
}

/// The temporary archive of a killed conversion stays until a conversion that is not refused.
#[test]
fn refused_conversion_removes_nothing_in_tmpdir() {
    let lab = lab();
    lab.file("a.load", LOAD);
    fixture(&lab, "diskmon.log.gz");
    std::fs::create_dir(lab.path("tmp")).unwrap();
    let command = |words: &str| {
        let mut command = lab.command(words);
        command.env("TMPDIR", lab.path("tmp"));
        command
    };
    let mut killed = command("convert - --to csv").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut trace = killed.stdin.take().unwrap();
    // Longer than the part read to recognise the form.
    trace.write_all(LOAD.repeat(400).as_bytes()).unwrap();
    let dir = format!("tmp/.iosonar-convert-{}-0", killed.id());
    let begun = lab.path(&format!("{dir}/.iosonar-convert-{}-0/archive/records.parquet.tmp", killed.id()));
    iosonar_testkit::until("the archive is begun", || begun.exists());
    killed.kill().unwrap();
    killed.wait().unwrap();
    drop(trace);
    let ended = |words: &str, code| {
        let output = command(words).output().unwrap();
        iosonar_testkit::Ended::of(output).with_code(code, words)
    };
    // The first three are refused before the conversion, the last one after it.
    for (words, why) in [
        ("convert nothing --to csv", "nothing"),
        ("convert a.load --to csv -o a.load", "--out a.load"),
        ("convert nothing --to csv -o a.load", "--out a.load"),
        ("convert diskmon.log.gz --to replay", "--target 0 … 1"),
    ] {
        let ended = ended(words, 2);
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
        assert!(begun.exists(), "{words}");
    }
    ended("convert a.load --to csv", 0);
    assert_eq!(std::fs::read_dir(lab.path("tmp")).unwrap().count(), 0);
}

/// Three requests through io_uring, in tracefs's form: the first one is tried twice, the second one at once, the third one fails and does
/// not come again.
pub const TRIED_TWICE: &str = "\
fio-10 [001] ..... 2.000100: block_bio_queue: 7,0 R 0 + 1536 [fio]
fio-10 [001] ..... 2.000105: block_bio_complete: 7,0 R 0 + 1536 [-11]
fio-10 [001] ..... 2.000200: block_bio_queue: 7,0 R 2048 + 8 [fio]
iou-wrk-10-12 [000] ..... 2.000500: block_bio_queue: 7,0 R 0 + 1536 [iou-wrk-10]
iou-wrk-10-12 [000] ..... 2.000510: block_split: 7,0 R 0 / 1024 [iou-wrk-10]
<idle>-0 [001] ..s.. 2.000900: block_rq_complete: 7,0 R () 2048 + 8 be,0,2 [0]
<idle>-0 [001] ..s.. 2.001500: block_rq_complete: 7,0 R () 0 + 1024 be,0,2 [0]
<idle>-0 [001] ..s.. 2.002500: block_rq_complete: 7,0 R () 1024 + 512 be,0,2 [0]
fio-10 [001] ..... 2.003000: block_bio_queue: 7,0 R 4096 + 8 [fio]
fio-10 [001] ..... 2.003005: block_bio_complete: 7,0 R 4096 + 8 [-11]
";

#[test]
fn counts_eagain_retries_once() {
    let lab = lab();
    lab.file("twice.ftrace", TRIED_TWICE);
    let told = "1 requests were first tried without waiting, ended with EAGAIN, and were issued again: each counts once";
    let ended = lab.expect(0, "convert twice.ftrace -");
    let seen: Vec<(u64, u64)> = rows(&ended.out).iter().map(|r| (r.0, r.1)).collect();
    assert_eq!(seen, [(100_000, 2048), (400_000, 0), (2_900_000, 4096)]);
    assert!(ended.err.contains(told), "{}", ended.err);
    // With latencies: from the second try to the end of the last part. A request that never came again has failed.
    let ended = lab.expect(0, "convert twice.ftrace ar");
    assert!(ended.err.contains(told), "{}", ended.err);
    let records = sorted(&lab, "ar");
    let latency = |n: usize| records[n].latency().map(|l| l.0);
    assert_eq!((records.len(), latency(0), latency(1)), (3, Some(700_000), Some(2_000_000)));
    let shown: Value = serde_json::from_str(&lab.expect(0, "show ar --json").out).unwrap();
    assert_eq!((count(&shown, "all", "completed"), count(&shown, "all", "failed")), (2, 1));
    let info: Value = serde_json::from_str(&lab.expect(0, "info --json twice.ftrace").out).unwrap();
    assert_eq!(info["requests"], 3);
    assert!(lab.expect(0, "info twice.ftrace").out.contains(told));
    // The worker's name does not identify the requesting process.
    let of_fio = rows(&lab.expect(0, "convert twice.ftrace - --process fio").out);
    assert_eq!(of_fio.len(), 3);
    let checked = lab.expect(0, "check ar twice.ftrace");
    assert!(checked.out.contains("and nothing else") && checked.out.contains("EAGAIN"), "{}", checked.out);
}

#[test]
fn recordings_show_no_issue_delay() {
    let lab = lab();
    lab.file("twice.ftrace", TRIED_TWICE);
    lab.expect(0, "convert twice.ftrace ar");
    let shown = lab.expect(0, "show --all ar").out;
    assert!(!shown.contains("due to submission") && shown.contains("does not apply"), "{shown}");
    assert!(!shown.contains("delay p50"), "{shown}");
    for (args, at) in [("show ar --json", ""), ("analyze ar --json", "/summary")] {
        let json: Value = serde_json::from_str(&lab.expect(0, args).out).unwrap();
        let of =
            |path: &str| json.pointer(&format!("{at}{path}")).unwrap_or_else(|| panic!("{args}: {path}"));
        assert_eq!(of("/delay/all"), &Value::Null, "{args}");
        assert_eq!(of("/limits/delay/result"), "not-applicable", "{args}");
        assert_eq!(of("/limits/latency/result"), "passed", "{args}");
        assert_eq!(of("/health/at_end"), &Value::Null, "{args}");
    }
    assert!(!lab.expect(0, "analyze ar").out.contains("due to submission"));
    let ended = lab.expect(0, "plot ar --svg -o pictures --data");
    assert!(ended.err.contains("delays are not known: g04.delay.setpoint"), "{}", ended.err);
    let names: Vec<String> = std::fs::read_dir(lab.path("pictures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().any(|name| name == "sheet.svg") && names.iter().any(|name| name.contains("latency"))
    );
    assert!(!names.iter().any(|name| name.starts_with("g04.delay")), "{names:?}");
    lab.expect(0, "report ar -o page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(!page.contains("Delay: due to submission") && !page.contains("\"id\":\"delay.due\""));
    // A result with delays keeps them.
    lab.file("r.load", "0.0 ; 8 ; 8 ; R ; 0.001 ; 0.002\n1.0 ; 16 ; 8 ; R ; 0.003 ; 0.002\n");
    lab.expect(0, "convert r.load known");
    let json: Value = serde_json::from_str(&lab.expect(0, "show known --json").out).unwrap();
    assert_eq!(
        (&json["delay"]["all"]["max_ns"], &json["limits"]["delay"]["result"]),
        (&3_000_000.into(), &"passed".into())
    );
}

#[test]
fn trailing_garbage_after_gzip_is_reported_and_loses_no_data() {
    let lab = lab();
    let line = |n: u64| format!("128166372{n:09},hm,1,Read,{},4096,413\n", n * 7919 % 100_003 * 4096);
    let whole = gzip((0..5_000).map(line).collect::<String>().as_bytes());
    lab.file("more.csv.gz", [&whole[..], b"trailing bytes"].concat());
    let ended = lab.expect(0, "convert more.csv.gz -");
    assert_eq!(rows(&ended.out).len(), 5_000);
    assert!(ended.err.contains("line 5000: trailing garbage follows the gzip stream"), "{}", ended.err);
    assert!(!ended.err.contains("can be wrong"), "{}", ended.err);
    lab.expect(3, "convert --strict more.csv.gz more.load");
    lab.expect(3, "info --strict more.csv.gz");
    // Zeros fill up the blocks of a tape.
    lab.file("tape.csv.gz", [&whole[..], &[0; 700]].concat());
    assert_eq!(rows(&lab.expect(0, "convert --strict tape.csv.gz -").out).len(), 5_000);
}
