//! Options of IOzone that change how files are opened, filled, ordered and reported.

use crate::*;

/// The system calls of a command, one a line; `None` without strace.
fn calls(lab: &Lab, trace: &str, command: &str) -> Option<String> {
    let log = lab.path("calls").display().to_string();
    let filter = format!("trace={trace}");
    let wrapper = ["strace", "-f", "-y", "-qq", "-e", &filter, "-o", &log];
    if let Some(why) = iosonar_testkit::lacks(&["strace"]) {
        iosonar_testkit::skip(command, &why);
        return None;
    }
    let ended = iosonar_testkit::Ended::of(lab.command_under(&wrapper, command).output().unwrap());
    assert_eq!(ended.code, 0, "{command}: {}", ended.err);
    Some(std::fs::read_to_string(&log).unwrap())
}

/// The offsets that `--trace-offsets` prints for a test, in records of 64 KiB.
fn traced(out: &str, test: &str) -> Vec<u64> {
    let of_test = out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let of_test = of_test.filter(|words| words.len() == 6 && words[0] == test);
    of_test.map(|words| words[5].parse::<u64>().unwrap() / (64 << 10)).collect()
}

/// Acceptance 6.
#[test]
fn random_orders_match_iozone_or_follow_the_seed() {
    let lab = lab();
    let order = |words: &str| {
        let command = format!("iozone -r 64k -i 0 -i 2 --trace-offsets {words}");
        let out = lab.expect(0, &command).out;
        (traced(&out, "random_read"), traced(&out, "random_write"))
    };
    let iozones = vec![3, 15, 8, 1, 12, 9, 7, 2, 5, 0, 6, 10, 14, 13, 4, 11];
    assert_eq!(order("-s 1m --order iozone"), (iozones.clone(), iozones.clone()));
    assert_eq!(order("-s 1m --order iozone --seed 7").0, iozones);
    assert_eq!(order("-s 256k --order iozone"), (vec![0, 3, 1, 2], vec![0, 3, 1, 2]));
    let (read, write) = order("-s 1m");
    assert_eq!((read.clone(), write.clone()), order("-s 1m --seed 1"));
    let (other, _) = order("-s 1m --seed 2");
    assert!(read != other && read != write && read != iozones, "{read:?} {other:?} {write:?}");
    for mut places in [read, write, other] {
        places.sort_unstable();
        assert_eq!(places, (0..16).collect::<Vec<_>>());
    }
    let plan = lab.expect(0, "iozone -i 0 -i 2 --order iozone --show-plan").out;
    assert!(plan.contains("order = \"mersenne-shuffled\""), "{plan}");
    let steps =
        "run --buffered --no-progress --start-delay 0 -t f --create --rw write --bs 64k --engine sync";
    lab.expect(0, &format!("{steps} --steps mersenne-shuffled --size 1m -o steps"));
    let found: Vec<u64> = sorted(&lab, "steps").iter().map(|r| r.executed.offset / (64 << 10)).collect();
    assert_eq!(found, iozones);
    let refused = lab.expect(2, &format!("{steps} --steps mersenne-shuffled --size 2t -o n"));
    assert!(refused.err.contains("33554432 blocks are more than 16777216"), "{}", refused.err);
}

/// Share of equal bytes at equal places of two files, in percent.
fn equal_percent(a: &[u8], b: &[u8]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 * 100.0 / a.len() as f64
}

/// Acceptance 19.
#[test]
fn content_is_unique_or_as_duplicate_as_requested() {
    let lab = lab();
    let written = |words: &str| {
        let command = format!("iozone -t 2 -F a b -s 1m -r 64k -i 0 -i 1 -w {words}");
        let ended = lab.expect(0, &command);
        assert!(ended.out.contains("iozone test complete."), "{words}: {}", ended.err);
        ["a", "b"].map(|name| {
            let bytes = std::fs::read(lab.path(name)).unwrap();
            std::fs::remove_file(lab.path(name)).unwrap();
            bytes
        })
    };
    let pages = |bytes: &[u8]| {
        bytes.as_chunks::<4096>().0.iter().cloned().collect::<std::collections::HashSet<_>>().len()
    };
    let [a, b] = written("");
    assert!(crate::data::share_after_zlib(&a) > 0.95);
    assert_eq!(pages(&[a.clone(), b.clone()].concat()), 512);
    // Of unequal bytes one in 256 is equal by chance.
    assert!(equal_percent(&a, &b) < 1.0);
    for (words, percent) in
        [("-+w 50", 50.0), ("-+w 50 -+y 50", 50.0), ("-+w 50 -+y 50 -+C 50", 37.5), ("-+w 100", 100.0)]
    {
        let [a, b] = written(words);
        let equal = equal_percent(&a, &b);
        assert!((equal - percent).abs() < 1.0, "{words}: {equal}");
        assert!(words.contains("-+y") || pages(&a) == 256, "{words}");
    }
    // Another seed of the shared data changes the file; another skew changes the unique part.
    let [a, b] = written("-+w 50");
    assert!(equal_percent(&a, &written("-+w 50 -+S 2")[0]) < 1.0);
    assert_eq!(written("-+w 50 -+W 1")[0], b);
    assert_eq!(written("-+X")[0], vec![0xbb; 1 << 20]);
    assert_eq!(written("-+Z")[1], vec![0xa5; 1 << 20]);
}

/// Files with deduplicable content are checked by every test that reads them, and a wrong byte is found.
#[test]
fn content_to_deduplicate_is_verified() {
    let lab = lab();
    lab.expect(0, "iozone -s 512k -r 16k -+w 50 -+y 20");
    lab.expect(0, "iozone -s 512k -r 16k -+w 50 -i 0 -i 2 -i 12 -i 3 -i 5 -I");
    let run = "run --buffered --no-progress --start-delay 0 -t f --bs 8k --size 256k";
    let data = "--data dedupe:percent=50,unit=16k";
    lab.expect(0, &format!("{run} --rw write --create --steps sequential {data} -o write"));
    lab.expect(0, &format!("{run} --rw read {data} --verify contents -o read"));
    let mut bytes = std::fs::read(lab.path("f")).unwrap();
    bytes[100_000] ^= 1;
    std::fs::write(lab.path("f"), bytes).unwrap();
    lab.expect(5, &format!("{run} --rw read {data} --verify contents -o bad"));
}

/// Files are opened with the requested flag in each front end, and otherwise without such flags.
#[test]
fn open_flags_reach_the_kernel() {
    slow!();
    let lab = lab();
    lab.file("there", vec![1; 1 << 16]);
    let run = "run --buffered --no-progress --start-delay 0 -t there --rw read --bs 4k --engine sync -o";
    let iozone = "iozone -i 0 -i 1 -s 64k -f there --destroy -w";
    for (command, flag) in [
        (format!("{run} plain"), None),
        (format!("{run} sync --sync"), Some("O_SYNC")),
        (format!("{run} dsync --sync=dsync"), Some("O_DSYNC")),
        // On Linux it is the same flag.
        (format!("{run} rsync --sync=rsync"), Some("O_SYNC")),
        (iozone.to_string(), None),
        (format!("{iozone} -o"), Some("O_SYNC")),
        (format!("{iozone} -+D"), Some("O_DSYNC")),
        (format!("{iozone} -+D -o"), Some("O_SYNC")),
        (format!("{iozone} -+r"), Some("O_SYNC")),
    ] {
        let Some(text) = calls(&lab, "openat", &command) else { return };
        // By its name, or again through its descriptor.
        let is_own = |line: &&str| line.ends_with(&format!("{}>", lab.path("there").display()));
        let own: Vec<&str> = text.lines().filter(is_own).collect();
        assert!(!own.is_empty(), "{command}: {text}");
        let flagged = |name: &str| own.iter().any(|line| line.contains(name));
        for name in ["O_SYNC", "O_DSYNC"] {
            assert_eq!(flagged(name), flag == Some(name), "{command}: {own:#?}");
        }
    }
    let refused = lab.expect(2, &format!("{run} never --sync=often"));
    assert!(refused.err.contains("--sync=often: there are none, sync (O_SYNC)"), "{}", refused.err);
    let refused = lab.expect(2, "replay l.load -t there --sync=often");
    assert!(refused.err.contains("there is no flag 'often'"), "{}", refused.err);
}

/// Files of latencies, histograms and time stamps hold every request of their tests, and existing files are not touched.
#[test]
fn fixed_name_logs_contain_every_request() {
    let lab = lab();
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let remove = |name: &str| std::fs::remove_file(lab.path(name)).unwrap();
    lab.expect(0, "iozone -s 1m -s 256k -r 64k -i 0 -i 1 -Q -+z -+T --json out.json");
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
    let elapsed = |test: &str, bytes: u64| {
        let cells = json["results"].as_array().unwrap().iter();
        let mut cells = cells.filter(|cell| cell["test"] == test && cell["file_bytes"] == bytes);
        cells.next().unwrap()["elapsed_ns"].as_u64().unwrap() as f64 / 1000.0
    };
    for (test, name) in
        [("write", "wol.dat"), ("rewrite", "rwol.dat"), ("read", "rol.dat"), ("reread", "rrol.dat")]
    {
        let text = read(name);
        let mut sums = [0.0, 0.0];
        let mut offsets = [Vec::new(), Vec::new()];
        let mut place = 2;
        for line in text.lines() {
            if line.starts_with(&format!("# {test}: file")) {
                place = usize::from(line.contains("file 1024 kB"));
            } else if !line.starts_with('#') {
                let words: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
                assert!(words.len() == 3 && words[2] == 65_536.0, "{line}");
                sums[place] += words[1];
                offsets[place].push(words[0] as u64);
            }
        }
        assert_eq!(offsets, [4, 16].map(|n| (0..n).map(|i| i * 64).collect::<Vec<u64>>()), "{text}");
        for (place, bytes) in [(0, 256 << 10), (1, 1 << 20)] {
            // The time of a test is the sum of its latencies, and these have three digits after the point.
            assert!((sums[place] - elapsed(test, bytes)).abs() < 0.1, "{test}: {} {}", sums[place], json);
        }
        remove(name);
    }
    let histogram = read("Iozone_histogram_child_0.txt");
    let counts = histogram.lines().filter(|line| line.starts_with("Band ")).flat_map(str::split_whitespace);
    let counts = counts.filter_map(|word| word.split_once(':')?.1.parse::<u64>().ok());
    assert_eq!(counts.sum::<u64>(), 4 * (16 + 4), "{histogram}");
    assert_eq!(histogram.lines().count(), 8 * 10);
    let stamps = read("Child_0.log");
    assert_eq!(stamps.lines().count(), 8, "{stamps}");
    let times = stamps.lines().flat_map(|line| line.split([' ', ','])).filter(|word| word.starts_with("20"));
    let times: Vec<&str> = times.collect();
    assert!(times.len() == 16 && times.is_sorted(), "{stamps}");

    // Existing files stay, and a refusal creates none.
    let refused = lab.expect(2, "iozone -s 64k -i 0 -+T");
    assert!(refused.err.contains("-+T Child_0.log"), "{}", refused.err);
    assert_eq!(read("Child_0.log"), stamps);
    assert!(!lab.path("iozone.tmp").exists());
    remove("Child_0.log");
    lab.expect(0, "iozone -t 2 -s 256k -r 64k -i 0 -i 1 -x -Q -+T");
    for name in ["wol", "rwol", "rol", "rrol"] {
        for child in 0..2 {
            let text = read(&format!("Child_{child}_{name}.dat"));
            assert_eq!(text.lines().filter(|line| !line.starts_with('#')).count(), 4, "{text}");
        }
    }
    assert_eq!(read("Child_1.log").lines().count(), 4);
}

/// `-` is standard output, and no other output is there.
#[test]
fn cells_go_to_standard_output() {
    let lab = lab();
    let ended = lab.expect(0, "iozone -s 64k -i 0 -i 1 --trace-offsets --json -");
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["results"].as_array().unwrap().len(), 4);
    assert!(ended.err.contains("reclen") && ended.err.contains("iozone test complete."), "{}", ended.err);
    assert_eq!(traced(&ended.err, "read").len(), 16);
    let ended = lab.expect(0, "iozone -s 64k -i 0 -i 1 --csv - --json out.json");
    assert_eq!(ended.out.lines().count(), 5);
    let refused = lab.expect(2, "iozone -s 64k -i 0 --csv - --json -");
    assert!(refused.err.contains("--json - and --csv -"), "{}", refused.err);
    assert!(!lab.path("-").exists());
}

/// The old dense mode equals `-a -z -i 0 -i 1`.
#[test]
fn old_dense_mode_runs_a_matrix() {
    let lab = lab();
    let ended = lab.expect(0, "iozone -A --dry-run");
    assert!(ended.out.contains("146 pairs of sizes, 584 cells"), "{}", ended.out);
    let ended = lab.expect(0, "iozone -A -n 64k -g 64k");
    assert!(ended.err.contains("-A is an old form of -a -z -i 0 -i 1"), "{}", ended.err);
}

/// Mapped files follow the options: advice, and the first page through the descriptor.
#[test]
fn mapped_files_use_madvise_and_mixed_access() {
    slow!();
    let lab = lab();
    for (words, call, found) in [
        ("-B -+A 1", "madvise", "MADV_RANDOM"),
        ("-D -+A 2", "madvise", "MADV_SEQUENTIAL"),
        ("-G -+A 4", "madvise", "MADV_WILLNEED"),
        ("-B -Z", "pread64", ", 4096, 0) = 4096"),
        ("-B -Z", "pwrite64", ", 4096, 0) = 4096"),
    ] {
        let command = |words: &str| format!("iozone -s 256k -r 64k -i 0 -i 1 -+d {words}");
        let Some(text) = calls(&lab, call, &command(words)) else { return };
        // Each of four tests maps the file, and two of them write.
        let count = text.lines().filter(|line| line.contains(found)).count();
        assert!(count >= if call == "pwrite64" { 2 } else { 4 }, "{words}: {text}");
        let without = calls(&lab, call, &command("-B")).unwrap();
        assert!(!without.lines().any(|line| line.contains(found)), "{words}: {without}");
    }
    let refused = lab.expect(2, "iozone -i 0 -+A 5 -B");
    assert!(refused.err.contains("-+A 5: a whole number from 0 to 4"), "{}", refused.err);
    let run = "run --buffered --no-progress --start-delay 0 -t f --create --steps sequential --rw write --bs 64k --size 1m";
    lab.expect(0, &format!("{run} --engine mmap --madvise random -o advised"));
    assert!(
        lab.expect(2, &format!("{run} --engine sync --madvise random -o n")).err.contains("--engine mmap")
    );
}

/// Acceptance 13: with `-G` each record of a mapped file is flushed, with `-B` beside it or alone. One call more, for the whole
/// mapping, comes before the flush of the file.
#[test]
fn each_record_of_a_mapped_file_is_flushed() {
    let lab = lab();
    for words in ["-B -G", "-G"] {
        let Some(text) = calls(&lab, "msync", &format!("iozone -s 1m -r 64k -i 0 -+n {words}")) else {
            return;
        };
        let lengths: Vec<&str> = text
            .lines()
            .filter(|line| line.contains("MS_SYNC"))
            .filter_map(|line| line.split(", ").nth(1))
            .collect();
        let of_records = lengths.iter().filter(|length| **length == "65536").count();
        assert_eq!((of_records, lengths.len()), (16, 17), "{words}: {text}");
        assert_eq!(lengths.last(), Some(&"1048576"), "{words}: {text}");
    }
    let text = calls(&lab, "msync", "iozone -s 1m -r 64k -i 0 -+n -B").unwrap();
    assert!(!text.lines().any(|line| line.contains(", 65536, MS_SYNC")), "{text}");
}

/// Acceptance 11: a figure contains the flush with `-e` and the closing with `-c`, and only then. The calls come in the order of
/// the test in each case: writes, flush, close.
#[test]
fn flush_and_close_follow_writes_and_count_on_request() {
    let lab = lab();
    for words in ["", "-e", "-c", "-e -c"] {
        let command = format!("iozone -s 1m -r 64k -i 0 -+n {words} --json out.json");
        let _ = std::fs::remove_file(lab.path("out.json"));
        let Some(text) = calls(&lab, "write,fsync,close", &command) else { return };
        let on_file = text.lines().filter(|line| line.contains("/iozone.tmp>"));
        let names: Vec<&str> =
            on_file.filter_map(|line| line.split_once(' ')?.1.trim_start().split('(').next()).collect();
        let last_write = names.iter().rposition(|name| *name == "write").unwrap();
        let first_flush = names.iter().position(|name| *name == "fsync").unwrap();
        assert_eq!(names.iter().filter(|name| **name == "write").count(), 16, "{words}: {text}");
        assert!(last_write < first_flush && names[first_flush..].contains(&"close"), "{words}: {text}");
        let cell: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
        let cell = &cell["results"][0];
        let timed = (cell["fsync_timed"].as_bool(), cell["close_timed"].as_bool());
        assert_eq!(timed, (Some(words.contains("-e")), Some(words.contains("-c"))), "{words}: {cell}");
    }
}

/// With `-m` each record has a separate buffer, until all are used; without it, the same one is reused.
#[test]
fn buffers_are_used_in_turn() {
    let lab = lab();
    let addresses = |words: &str| -> Option<usize> {
        let log = lab.path("raw").display().to_string();
        // A file for each thread: in one for all, calls of others cut lines in two.
        let wrapper = ["strace", "-ff", "-qq", "-e", "trace=write", "-e", "raw=write", "-o", &log];
        if let Some(why) = iosonar_testkit::lacks(&["strace"]) {
            iosonar_testkit::skip("buffers_are_used_in_turn", &why);
            return None;
        }
        let run = lab.command_under(&wrapper, &format!("iozone -s 1m -r 64k -i 0 -+n {words}"));
        let ended = iosonar_testkit::Ended::of({ run }.output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        let logs = std::fs::read_dir(lab.path("")).unwrap().map(|entry| entry.unwrap().path());
        let logs = logs.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("raw."));
        let text: String = logs
            .map(|path| {
                let text = std::fs::read_to_string(&path).unwrap();
                std::fs::remove_file(path).unwrap();
                text
            })
            .collect();
        let of_records = text.lines().filter(|line| line.ends_with("= 0x10000"));
        let of_records = of_records.filter_map(|line| Some(line.split_once("write(")?.1));
        let places: Vec<&str> = of_records.filter_map(|words| words.split(", ").nth(1)).collect();
        assert_eq!(places.len(), 16, "{text}");
        Some(places.into_iter().collect::<std::collections::HashSet<_>>().len())
    };
    let Some(many) = addresses("-m") else { return };
    assert_eq!(many, 16);
    // The buffer of the request, and that of the next one, whose data is generated ahead.
    assert!(addresses("").unwrap() <= 2);
}

/// `-p` is part of the plan, with the size of `-S` or that of this machine; `-S` alone says that it has no effect.
#[test]
fn purges_the_cpu_cache() {
    let lab = lab();
    let plan = |words: &str| lab.expect(0, &format!("iozone -i 0 -i 1 -s 64k {words} --show-plan")).out;
    assert!(plan("-p -S 2048").contains("purge_cpu_cache = \"2MiB\""), "{}", plan("-p -S 2048"));
    assert!(plan("-p").contains("purge_cpu_cache = ") && !plan("-S 2048").contains("purge_cpu_cache"));
    lab.expect(0, "iozone -s 256k -r 64k -p -+d");
    let ended = lab.expect(0, "iozone -s 64k -i 0 -S 2048");
    assert!(ended.err.contains("-S has no effect without -p"), "{}", ended.err);
    let run = "run --buffered --no-progress --start-delay 0 -t f --create --steps sequential --rw write --bs 64k --size 1m";
    lab.expect(
        0,
        &format!("{run} --engine sync --buffer-set 16m --purge-cpu-cache 1m --data sequenced -o r"),
    );
    assert_eq!(lab.records("r").len(), 16);
    let refused = lab.expect(2, &format!("{run} --engine sync --purge-cpu-cache 2g -o n"));
    assert!(refused.err.contains("at most 1 GiB"), "{}", refused.err);
}
