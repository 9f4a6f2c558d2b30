//! IOzone's command line. Numbers in comments are those of the acceptance checks in `spec/iozone-and-layout.md`, section 7.

use crate::live::Running;
use crate::*;
use iosonar_plan::Op;
use iosonar_testkit::until;
use std::collections::BTreeMap;

/// The cells of a JSON output, by test, file and record size in KiB.
pub fn cells(lab: &Lab, file: &str) -> BTreeMap<(String, u64, u64), Value> {
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path(file)).unwrap()).unwrap();
    let results = json["results"].as_array().unwrap().iter().cloned();
    let key = |cell: &Value| {
        let size = |name: &str| cell[name].as_u64().unwrap() >> 10;
        (cell["test"].as_str().unwrap().to_string(), size("file_bytes"), size("record_bytes"))
    };
    results.map(|cell| (key(&cell), cell)).collect()
}

/// The offsets of the reads or writes of a phase, in records, in the order of their numbers.
fn offsets(lab: &Lab, dir: &str, phase: u16, record: u64) -> Vec<u64> {
    let mut found: Vec<(u64, u64)> = lab
        .records(dir)
        .iter()
        .filter(|r| r.phase == phase && matches!(r.op, Op::Read | Op::Write))
        .map(|r| (r.sequence, r.executed.offset / record))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, place)| place).collect()
}

/// 1
#[test]
fn three_tests_produce_six_results() {
    let lab = lab();
    lab.expect(0, "iozone -s 1m -r 64k -i 0 -i 1 -i 2 --json out.json");
    let cells = cells(&lab, "out.json");
    let names: Vec<&str> = cells.keys().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["random_read", "random_write", "read", "reread", "rewrite", "write"]);
    for cell in cells.values() {
        let (bytes, ns) = (cell["bytes"].as_u64().unwrap(), cell["elapsed_ns"].as_u64().unwrap());
        assert_eq!((bytes, cell["ops"].as_u64()), (1 << 20, Some(16)));
        let rate = bytes as f64 * 1e9 / ns as f64 / 1024.0;
        assert!((cell["kib_per_second"].as_u64().unwrap() as f64 - rate).abs() <= 1.0, "{cell}");
    }
    assert!(!lab.path("iozone.tmp").exists());
}

/// 2, 3: the page's example, and the sizes of the matrix.
#[test]
fn matrix_sizes_match_iozone() {
    let lab = lab();
    let page = "iozone -azR -i 0 -i 1 -i 2 -n 1M -g 10M -r 64K -M -b result_file.xls -f test_file";
    let ended = lab.expect(0, page);
    let rows: Vec<Vec<&str>> = ended
        .out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.get(1) == Some(&"64") && words.len() == 8)
        .collect();
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["1024", "2048", "4096", "8192"]);
    for words in
        ["Machine = Linux", "\"Random write report\"", "Output is in kBytes/sec", "iozone test complete."]
    {
        assert!(ended.out.contains(words), "{}", ended.out);
    }
    let sheet = std::fs::read(lab.path("result_file.xls")).unwrap();
    assert_eq!(sheet[..8], [9, 0, 4, 0, 2, 0, 0x10, 0]);
    assert!(!lab.path("test_file").exists());

    let listed = |words: &str| -> Vec<(u64, u64)> {
        let out = lab.expect(0, &format!("iozone {words} --dry-run")).out;
        let numbers =
            |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect::<Vec<Option<u64>>>();
        out.lines()
            .filter_map(|line| Some((numbers(line).get(1).copied()??, numbers(line).get(2).copied()??)))
            .collect()
    };
    let pairs = listed("-a");
    assert_eq!((pairs.len(), listed("-a -z").len()), (126, 146));
    let least =
        |pairs: &[(u64, u64)]| pairs.iter().filter(|(file, _)| *file == 32 << 10).map(|(_, r)| *r).min();
    assert_eq!((least(&pairs), least(&listed("-a -z"))), (Some(64), Some(4)));
    assert!(pairs.iter().all(|(file, record)| record <= file));
}

/// 8, 9, 10, and the order of random tests.
#[test]
fn orders_match_the_tests() {
    let lab = lab();
    lab.expect(0, "iozone -s 1m -r 64k -i 0 -i 2 -i 3 -i 4 -i 5 -j 5 --out r");
    let phases: Vec<String> = run_phases(&lab, "r");
    let places = |test: &str| {
        let number = phases.iter().position(|name| name.starts_with(&format!("{test} "))).unwrap();
        offsets(&lab, "r", number as u16, 65_536)
    };
    let all: Vec<u64> = (0..16).collect();
    assert_eq!((places("write"), places("rewrite")), (all.clone(), all.clone()));
    assert_eq!(places("backward_read"), all.iter().rev().copied().collect::<Vec<_>>());
    assert_eq!(places("record_rewrite"), [0; 16]);
    let strided = places("stride_read");
    assert_eq!(strided[..4], [0, 5, 10, 15]);
    assert_eq!(strided[4..8], [1, 6, 11, 2]);
    for test in ["random_read", "random_write"] {
        let mut sorted = places(test);
        assert_ne!(sorted, all);
        sorted.sort_unstable();
        assert_eq!(sorted, all, "{test}");
    }
    assert_ne!(places("random_read"), places("random_write"));
    lab.expect(0, "iozone -s 1m -r 64k -i 0 -i 2 --out again");
    let random = run_phases(&lab, "again").iter().position(|name| name.starts_with("random_read")).unwrap();
    assert_eq!(offsets(&lab, "again", random as u16, 65_536).len(), 16);
    let warned = lab.expect(0, "iozone -s 64k -r 4k -i 0 -i 5");
    assert!(warned.err.contains("stride read: 1 files have 17 records or fewer"), "{}", warned.err);
}

fn run_phases(lab: &Lab, dir: &str) -> Vec<String> {
    let info: Value =
        serde_json::from_slice(&std::fs::read(lab.path(dir).join("run.json")).unwrap()).unwrap();
    let phases = info["phases"].as_array().unwrap().iter();
    phases.map(|phase| phase["name"].as_str().unwrap().to_string()).collect()
}

/// 11: every step has a record after the requests; flush and close count only with `-e` and `-c`.
#[test]
fn flush_and_close_count_on_request() {
    let lab = lab();
    for (words, fsync, close) in
        [("", false, false), ("-e", true, false), ("-c", false, true), ("-e -c", true, true)]
    {
        let _ = std::fs::remove_file(lab.path("out.json"));
        lab.expect(0, &format!("iozone -s 1m -r 64k -i 0 {words} --json out.json --out r"));
        let cells = cells(&lab, "out.json");
        for (number, test) in [(0, "write"), (1, "rewrite")] {
            let cell = &cells[&(test.to_string(), 1024, 64)];
            assert_eq!((&cell["fsync_timed"], &cell["close_timed"]), (&fsync.into(), &close.into()));
            let records = lab.records("r");
            let took = |ops: &[Op]| -> u64 {
                let of = records.iter().filter(|r| r.phase == number && ops.contains(&r.op));
                of.map(|r| r.latency().unwrap().0).sum()
            };
            let all: &[Op] = match (fsync, close) {
                (false, false) => &[Op::Write],
                (true, false) => &[Op::Write, Op::Fsync],
                (false, true) => &[Op::Write, Op::Close],
                (true, true) => &[Op::Write, Op::Fsync, Op::Close],
            };
            assert_eq!(cell["elapsed_ns"].as_u64(), Some(took(all)), "{words}");
            let last =
                records.iter().filter(|r| r.phase == number && r.op == Op::Write).map(|r| r.completed).max();
            let flushed = records.iter().find(|r| r.phase == number && r.op == Op::Fsync).unwrap();
            assert!(flushed.submitted >= last.unwrap());
        }
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
}

/// 13, 14: mapped files and asynchronous requests.
#[test]
fn every_method_writes_whole_files() {
    let lab = lab();
    for words in ["-B", "-D", "-G", "-B -G", "-H 4", "-k 4", "-I", "-o", "-W"] {
        let _ = std::fs::remove_file(lab.path("out.json"));
        let ended = lab.run(&format!(
            "iozone {words} -s 1m -r 64k -i 0 -i 1 -i 2 -i 3 -i 4 -i 5 -+d -w --json out.json"
        ));
        if words == "-I" && ended.code == 2 && ended.err.contains("O_DIRECT") {
            iosonar_testkit::skip("direct I/O of IOzone", "this file system has none");
            continue;
        }
        assert_eq!(ended.code, 0, "{words}: {}", ended.err);
        assert_eq!(cells(&lab, "out.json").len(), 9, "{words}");
        let bytes = std::fs::read(lab.path("iozone.tmp")).unwrap();
        assert_eq!(bytes.len(), 1 << 20, "{words}");
        let (words, _) = bytes.as_chunks::<8>();
        assert!((0..).zip(words).all(|(place, word)| u64::from_le_bytes(*word) == place * 8));
        std::fs::remove_file(lab.path("iozone.tmp")).unwrap();
    }
    let _ = std::fs::remove_file(lab.path("out.json"));
    lab.expect(0, "iozone -i 9 -i 10 -i 11 -i 12 -s 1m -r 4k -V 165 -w --json out.json");
    assert_eq!(cells(&lab, "out.json").len(), 8);
    assert_eq!(std::fs::read(lab.path("iozone.tmp")).unwrap(), vec![165; 1 << 20]);
}

/// 16, 18
#[test]
fn streams_stop_with_the_first_or_run_to_completion() {
    let lab = lab();
    for (words, whole) in [("", false), ("-x", true)] {
        let _ = std::fs::remove_file(lab.path("out.json"));
        let ended = lab.expect(0, &format!("iozone -t 3 -s 2m -r 4k -C -w {words} --json out.json"));
        assert!(ended.out.contains("Children see throughput for  3 initial writers"), "{}", ended.out);
        assert_eq!(ended.out.matches("Child[2]").count(), 13, "{}", ended.out);
        let json: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
        for cell in json["results"].as_array().unwrap() {
            let streams = cell["per_stream"].as_array().unwrap();
            let of = |name: &str| streams.iter().map(|s| s[name].as_u64().unwrap()).collect::<Vec<_>>();
            assert!(of("all_bytes").contains(&(2 << 20)), "one is done: {cell}");
            // Streams count up to the end of the first one that is done, which counts whole.
            assert!(of("bytes").contains(&(2 << 20)), "the first that is done counts whole: {cell}");
            let writes = cell["test"].as_str().unwrap().contains("write");
            assert!(!(whole || writes) || of("all_bytes") == [2 << 20; 3], "{cell}");
            assert!(!whole || of("bytes") == [2 << 20; 3], "{cell}");
            let sum: f64 = streams.iter().map(|s| s["bytes_per_second"].as_f64().unwrap()).sum();
            assert!((sum / cell["bytes_per_second"].as_f64().unwrap() - 1.0).abs() < 1e-9);
        }
        for number in 0..3 {
            let file = lab.path(&format!("iozone.DUMMY.{number}"));
            assert_eq!(file.metadata().unwrap().len(), 2 << 20);
            std::fs::remove_file(file).unwrap();
        }
    }
    let _ = std::fs::remove_file(lab.path("out.json"));
    lab.expect(0, "iozone -+n -i 0 -i 1 -s 1m --json out.json");
    let names: Vec<String> = cells(&lab, "out.json").into_keys().map(|(name, ..)| name).collect();
    assert_eq!(names, ["read", "write"]);
}

/// The mixed test has the requested number of readers, and reports each half.
#[test]
fn reports_mix_readers_and_writers_separately() {
    let lab = lab();
    for (words, readers) in [("", 2), ("-+p 75", 3), ("-+K 1", 1)] {
        let command = format!("-t 4 -s 256k -i 0 -i 8 -x {words}");
        let _ = std::fs::remove_file(lab.path("out.json"));
        let ended = lab.expect(0, &format!("iozone {command} --json out.json"));
        assert!(ended.out.contains("Readers of the mix") && ended.out.contains("Writers of the mix"));
        let cell = cells(&lab, "out.json")[&("mixed".to_string(), 256, 4)].clone();
        let streams = cell["per_stream"].as_array().unwrap();
        assert_eq!(streams.len(), 4);
        let plan =
            iosonar_plan::Plan::from_toml(&lab.expect(0, &format!("iozone {command} --show-plan")).out)
                .unwrap();
        let mixed = plan.phases.last().unwrap().jobs.iter();
        let reads = |job: &&iosonar_plan::Job| !job.workload.generator().unwrap().writes();
        assert_eq!(mixed.filter(reads).count(), readers, "{words}");
        for (number, stream) in streams.iter().enumerate() {
            let (read, all) = (stream["read_bytes"].as_u64(), stream["bytes"].as_u64());
            let reads = !plan.phases.last().unwrap().jobs[number].workload.generator().unwrap().writes();
            assert_eq!(read, if reads { all } else { Some(0) }, "{words} {number}");
        }
    }
}

/// 21, for the forms that need no other program: the table, CSV and JSON hold the same numbers.
#[test]
fn all_output_formats_contain_the_same_figures() {
    let lab = lab();
    let ended = lab.expect(0, "iozone -a -n 64k -g 256k -R --json out.json --csv out.csv -b out.xlsx");
    let cells = cells(&lab, "out.json");
    assert_eq!(cells.len(), (5 + 6 + 7) * 13);
    let csv = std::fs::read_to_string(lab.path("out.csv")).unwrap();
    assert_eq!(csv.lines().count(), cells.len() + 1);
    for line in csv.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let size = |place: usize| fields[place].parse::<u64>().unwrap() >> 10;
        let cell = &cells[&(fields[0].to_string(), size(1), size(2))];
        assert_eq!(cell["kib_per_second"].to_string(), fields[9], "{line}");
    }
    let mut rows = 0;
    for line in ended.out.lines() {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        if numbers.len() == 15 && line.split_whitespace().count() == 15 {
            rows += 1;
            let mut of_table = numbers[2..].to_vec();
            let of_row =
                cells.iter().filter(|((_, file, record), _)| (*file, *record) == (numbers[0], numbers[1]));
            let mut of_json: Vec<u64> =
                of_row.map(|(_, cell)| cell["kib_per_second"].as_u64().unwrap()).collect();
            of_table.sort_unstable();
            of_json.sort_unstable();
            assert_eq!(of_table, of_json, "{line}");
        }
    }
    assert_eq!(rows, 18);
    assert!(std::fs::read(lab.path("out.xlsx")).unwrap().starts_with(b"PK"));
}

/// 26: one line names the option, and nothing is created.
#[test]
fn rejects_invalid_command_lines() {
    let lab = lab();
    for (words, why) in [
        ("-s abc", "-s abc"),
        ("-s 0", "-s 0"),
        ("-r 32m", "-r 32MiB"),
        ("-s 64k -r 128k", "-r 128KiB"),
        ("-i 13", "-i 13"),
        ("-i abc", "-i abc"),
        ("-t 2 -a", "-t: -a"),
        ("-t 2 -F one", "-F needs one file for each of 2"),
        ("-f /nonexistent/x", "/nonexistent/x"),
        ("-H 2 -B", "-H"),
        ("-V", "-V needs"),
        ("-+Q", "-+Q"),
        ("-X trajectory", "-X trajectory"),
        ("-Y trajectory", "-Y trajectory"),
        ("-X /dev/null", "-X /dev/null"),
        ("-J 0", "-J 0"),
        ("-+b 64k", "-+b 64k"),
        ("-+L", "-+L"),
        ("-K -s 4k", "-K"),
        ("-i 1", "iozone.tmp"),
        ("-w --json iozone.tmp", "--json iozone.tmp"),
    ] {
        let ended = lab.expect(2, &format!("iozone {words}"));
        assert!(ended.err.lines().any(|line| line.contains(why)), "{words}: {}", ended.err);
        let left: Vec<_> = std::fs::read_dir(lab.path(".")).unwrap().collect();
        assert!(left.is_empty(), "{words}: {left:?}");
    }
    assert!(lab.expect(2, "iozone").err.contains("-a"));
    assert!(lab.expect(0, "iozone -h").out.contains("-+n"));
}

/// 28, and files that the tool did not create.
#[test]
fn keeps_foreign_files() {
    let lab = lab();
    let own = vec![7u8; 1 << 20];
    lab.file("own", &own);
    for words in ["-i 0", "-i 2", "-a", "-i 0 -i 1 -w"] {
        let ended = lab.expect(2, &format!("iozone -s 1m -f own {words}"));
        assert!(ended.err.contains("--destroy"), "{}", ended.err);
    }
    let before = lab.path("own").metadata().unwrap().modified().unwrap();
    lab.expect(0, "iozone -+E -f own -s 1m -r 64k -i 1 -i 3 -i 5");
    lab.expect(2, "iozone -+E -f own -s 1m -i 0");
    let short = lab.expect(2, "iozone -+E -f own -s 2m -i 1");
    assert!(short.err.contains("1048576"), "{}", short.err);
    assert_eq!(lab.path("own").metadata().unwrap().modified().unwrap(), before);
    assert_eq!(std::fs::read(lab.path("own")).unwrap(), own);
    lab.expect(0, "iozone -s 64k -f own -i 0 --destroy");
    assert!(!lab.path("own").exists());
}

/// SIGINT: completed measurements are printed, and the test file is removed.
#[test]
fn signal_keeps_completed_measurements() {
    let lab = lab();
    let running = Running::of(&mut lab.command("iozone -a -i 0 -i 1 --json out.json"));
    until("the test file grows", || {
        lab.path("iozone.tmp").metadata().is_ok_and(|file| file.len() >= 1 << 20)
    });
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.out.contains("iozone test not complete."), "{}", ended.out);
    let cells = cells(&lab, "out.json");
    assert!(!cells.is_empty() && cells.len() < 126 * 4, "{}", cells.len());
    assert!(!lab.path("iozone.tmp").exists());
}

/// The plan and the command line are equivalent.
#[test]
fn the_plan_runs_the_same_requests() {
    let lab = lab();
    let words = "-s 256k -r 4k -i 0 -i 1 -i 2";
    let plan = lab.expect(0, &format!("iozone {words} --show-plan")).out;
    lab.file("plan.toml", &plan);
    lab.expect(0, "run plan.toml --no-progress -o planned");
    lab.expect(0, &format!("iozone {words} --out typed"));
    let hash = |dir: &str| {
        let info: Value =
            serde_json::from_slice(&std::fs::read(lab.path(dir).join("run.json")).unwrap()).unwrap();
        info["targets"][0]["issued_hash"].clone()
    };
    assert_eq!(hash("planned"), hash("typed"));
    assert!(plan.contains("[phase.cell]\ntest = \"write\"") && plan.contains("must_be_new = true"), "{plan}");
}

/// Rates, pauses and delays are in the records; a paced stream has the requested rate.
#[test]
fn streams_are_paced_delayed_and_bound() {
    let lab = lab();
    let words = "-t 2 -s 64k -r 4k -i 0 -i 1 -+n -d 20000 -+O 200 -+q 1 -P 0 -x";
    lab.expect(0, &format!("iozone {words} --json out.json --out run"));
    for cell in cells(&lab, "out.json").values() {
        for stream in cell["per_stream"].as_array().unwrap() {
            // 16 requests, one every 5 ms; the first may be late.
            assert!(stream["elapsed_ns"].as_u64().unwrap() >= 30_000_000, "{stream}");
        }
    }
    let records = lab.records("run");
    let first = |phase: u16, target: u16| {
        let of = |r: &&iosonar_archive::Record| r.phase == phase && r.target == target && r.op.is_transfer();
        records.iter().filter(of).map(|r| r.due).min().unwrap().0
    };
    assert!(first(0, 1) >= first(0, 0) + 19_000_000);
    let last = records.iter().filter(|r| r.phase == 0).filter_map(|r| r.completed).max().unwrap().0;
    assert!(first(1, 0) >= last + 990_000_000);
    let refused = lab.expect(2, "iozone -P 8000 -i 0");
    assert!(refused.err.contains("-P 8000: there is no such CPU"), "{}", refused.err);
    assert!(lab.expect(2, "iozone -d 5 -i 0").err.contains("-d has no effect without -t"));
}

/// CPU use is part of the report, and refused without one.
#[test]
fn cpu_use_is_reported() {
    let lab = lab();
    let ended = lab.expect(0, "iozone -R -+u -i 0 -+n -s 1m -r 64k");
    assert!(ended.out.contains("\"Writer CPU utilization report, in percent\""), "{}", ended.out);
    assert!(lab.expect(2, "iozone -+u -i 0").err.contains("-+u prints into the report: add -R"));
    assert!(lab.expect(0, "iozone -t 2 -+u -i 0 -s 1m").out.contains("CPU utilization per process"));
}
