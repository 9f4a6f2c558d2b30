//! Operations that IOzone's options add between and around the requests of a test.

use crate::iozone::cells;
use crate::live::Running;
use crate::*;
use iosonar_plan::Op;
use iosonar_testkit::until;
use std::os::unix::fs::MetadataExt;

/// The reads, writes and flushes of a phase that are requests, in order.
fn requests(lab: &Lab, dir: &str, phase: u16) -> Vec<Record> {
    let mut found: Vec<Record> = lab.records(dir);
    found.retain(|r| r.phase == phase && r.sequence < Record::STEPS);
    found.sort_by_key(|r| r.submitted);
    found
}

/// Times from the end of a request to the start of the next one.
fn gaps(records: &[Record]) -> Vec<u64> {
    records.windows(2).map(|pair| pair[1].submitted.unwrap().0 - pair[0].completed.unwrap().0).collect()
}

/// `-J`: no request starts before the pause is over, and the pauses are part of the time only if asked (`-+J`).
#[test]
fn think_time_separates_requests_and_counts_on_request() {
    let lab = lab();
    for (words, counts) in [("-J 3", false), ("-J 3 -+J", true)] {
        let _ = std::fs::remove_file(lab.path("out.json"));
        lab.expect(0, &format!("iozone -s 64k -r 4k -i 0 -i 1 {words} --json out.json --out run"));
        for (phase, test) in (0..).zip(["write", "rewrite", "read", "reread"]) {
            let requests = requests(&lab, "run", phase);
            assert_eq!(requests.len(), 16);
            assert!(gaps(&requests).iter().all(|gap| *gap >= 3_000_000), "{test}: {:?}", gaps(&requests));
            let in_flight: u64 = requests.iter().map(|r| r.latency().unwrap().0).sum();
            let span = requests[15].completed.unwrap().0 - requests[0].submitted.unwrap().0;
            let cell = &cells(&lab, "out.json")[&(test.to_string(), 64, 4)];
            let want = if counts { span } else { in_flight };
            assert_eq!(cell["elapsed_ns"].as_u64(), Some(want), "{words} {test}");
            assert_eq!(cell["think_timed"], counts);
        }
        std::fs::remove_dir_all(lab.path("run")).unwrap();
    }
}

/// `-+b`: each burst of writes is followed by a flush and a pause. Flushes count, pauses do not.
#[test]
fn bursts_end_with_flush_and_pause() {
    let lab = lab();
    lab.expect(0, "iozone -s 64k -r 4k -i 0 -i 1 -+n -+b 16k,20 --json out.json --out run");
    let writes = requests(&lab, "run", 0);
    let flushes: Vec<usize> = (0..writes.len()).filter(|n| writes[*n].op == Op::Fsync).collect();
    assert_eq!((writes.len(), flushes), (20, vec![4, 9, 14, 19]));
    for (number, gap) in gaps(&writes).iter().enumerate() {
        assert!(number % 5 != 4 || *gap >= 20_000_000, "{number}: {gap}");
    }
    let took: u64 = writes.iter().map(|r| r.latency().unwrap().0).sum();
    let cell = &cells(&lab, "out.json")[&("write".to_string(), 64, 4)];
    assert_eq!((cell["elapsed_ns"].as_u64(), cell["ops"].as_u64()), (Some(took), Some(16)));
    let reads = requests(&lab, "run", 1);
    assert_eq!((reads.len(), gaps(&reads).iter().filter(|gap| **gap >= 20_000_000).count()), (16, 3));
}

/// `-K`: before records 0 and 100 of a sequential reader two other places are read; their time counts, their bytes do not.
#[test]
fn jitter_adds_time_but_no_bytes() {
    let lab = lab();
    lab.expect(0, "iozone -s 800k -r 4k -i 0 -i 1 -i 3 -+n -V 7 -K --json out.json --out run");
    let reads = requests(&lab, "run", 1);
    let places: Vec<(usize, u64)> = reads
        .iter()
        .enumerate()
        .filter(|(_, r)| r.executed.length == 1)
        .map(|(place, r)| (place, r.executed.offset))
        .collect();
    assert_eq!((reads.len(), places), (204, vec![(0, 0), (1, 4096), (102, 0), (103, 4096)]));
    let took: u64 = reads.iter().map(|r| r.latency().unwrap().0).sum();
    let cells = cells(&lab, "out.json");
    let cell = &cells[&("read".to_string(), 800, 4)];
    assert_eq!(cell["elapsed_ns"].as_u64(), Some(took));
    assert_eq!((cell["bytes"].as_u64(), cell["ops"].as_u64()), (Some(800 << 10), Some(200)));
    assert_eq!((requests(&lab, "run", 0).len(), requests(&lab, "run", 2).len()), (200, 200));
}

/// `-+l`, `-+L`, `-+V`: all streams write one file, which stays until the end with the data of each. Each record's lock is taken and
/// released by separate calls.
#[test]
fn records_are_locked_and_streams_share_a_file() {
    let lab = lab();
    for (words, shared) in [("-+l", false), ("-+L", true), ("-+V", true)] {
        let line = format!("iozone -t 3 -x -s 256k -r 4k {words} -+d -w --json out.json --out run");
        let _ = std::fs::remove_file(lab.path("out.json"));
        lab.expect(0, &line);
        let found = cells(&lab, "out.json");
        assert_eq!(found.len(), 13, "{words}");
        for cell in found.values() {
            let streams = cell["per_stream"].as_array().unwrap().iter();
            assert!(streams.map(|s| s["all_bytes"].as_u64()).eq([Some(256 << 10); 3]), "{words} {cell}");
        }
        for number in 0..3 {
            let file = lab.path(&format!("iozone.DUMMY.{number}"));
            assert_eq!(file.exists(), number == 0 || !shared, "{words}");
            if file.exists() {
                let bytes = std::fs::read(&file).unwrap();
                let (words, _) = bytes.as_chunks::<8>();
                assert_eq!(bytes.len(), 256 << 10);
                assert!((0..).zip(words).all(|(place, word)| u64::from_le_bytes(*word) == place * 8));
                std::fs::remove_file(&file).unwrap();
            }
        }
        std::fs::remove_dir_all(lab.path("run")).unwrap();
    }
    lab.expect(0, "iozone -t 2 -+L -s 64k -i 0 -i 1 -F one one");
    assert!(!lab.path("one").exists());
}

/// A lock that another process holds on a record delays this record, and no other.
#[test]
fn lock_wait_is_part_of_request_latency() {
    let lab = lab();
    let file = lab.file("own", vec![7u8; 64 << 10]);
    let held = std::fs::File::options().read(true).write(true).open(&file).unwrap();
    iosonar_os::lock_range(&held, iosonar_os::LockKind::Write, 8 << 12, 4096).unwrap();
    let running = Running::of(&mut lab.command("iozone -+E -f own -s 64k -r 4k -i 1 -+n -+l --out run"));
    let inode = format!(":{} ", file.metadata().unwrap().ino());
    until("a record waits for its lock", || {
        let locks = std::fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("-> OFDLCK") && line.contains(&inode))
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(held);
    assert_eq!(running.end().code, 0);
    let reads = requests(&lab, "run", 0);
    let longest = reads.iter().max_by_key(|r| r.latency()).unwrap();
    assert_eq!(longest.executed.offset, 8 << 12);
    assert!(longest.latency().unwrap().0 >= 300_000_000);
}

/// `-X`, `-Y`: requests follow the places, order, sizes and pauses of the file.
#[test]
fn requests_follow_telemetry_files() {
    let lab = lab();
    lab.file("writes", "# offset size delay\n0 4096\n65536 8192 30\n8192 512\n");
    lab.file("reads", "65536 100 20\n0 4096\n");
    lab.expect(0, "iozone -X writes -Y reads -w --json out.json --out run");
    let places = |phase: u16| {
        let of = |r: &Record| (r.op, r.executed.offset, r.executed.length);
        requests(&lab, "run", phase).iter().map(of).collect::<Vec<_>>()
    };
    let writes = [(Op::Write, 0, 4096), (Op::Write, 65_536, 8192), (Op::Write, 8192, 512)];
    assert_eq!([places(0), places(1)], [writes, writes]);
    let reads = [(Op::Read, 65_536, 100), (Op::Read, 0, 4096)];
    assert_eq!([places(2), places(3)], [reads, reads]);
    let pauses = gaps(&requests(&lab, "run", 0));
    assert!(pauses[0] >= 30_000_000, "{pauses:?}");
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
    let bytes: Vec<_> =
        json["results"].as_array().unwrap().iter().map(|cell| cell["bytes"].as_u64()).collect();
    assert_eq!(bytes, [Some(12_800), Some(12_800), Some(4196), Some(4196)]);
    assert_eq!(lab.path("iozone.tmp").metadata().unwrap().len(), 65_536 + 8192);
    std::fs::remove_file(lab.path("iozone.tmp")).unwrap();
    // Without a trajectory for writes the file is first written in order.
    std::fs::remove_file(lab.path("out.json")).unwrap();
    lab.expect(0, "iozone -Y reads -+n --json out.json");
    for (text, why) in [
        ("0 4096\n4096\n", "-X bad: line 2: '4096' has 1 fields"),
        ("0 4096 1 1\n", "-X bad: line 1: '0 4096 1 1' has 4 fields"),
    ] {
        lab.file("bad", text);
        let refused = lab.expect(2, "iozone -X bad --json never.json");
        assert!(refused.err.contains(why) && !lab.path("never.json").exists(), "{}", refused.err);
        assert!(!lab.path("iozone.tmp").exists());
    }
    lab.file("far", "1048576 4096\n");
    assert!(lab.expect(2, "iozone -X writes -Y far").err.contains("-Y reads beyond"));
}
