//! What IOzone's options add between and around the requests of a test.

use crate::iozone::cells;
use crate::*;
use iosonar_plan::Op;

/// The reads, writes and flushes of a phase that are requests, in order.
fn requests(lab: &Lab, dir: &str, phase: u16) -> Vec<Record> {
    let mut found: Vec<Record> = lab.records(dir);
    found.retain(|r| r.phase == phase && r.sequence < Record::STEPS);
    found.sort_by_key(|r| r.submitted);
    found
}

/// From the end of a request to the start of the next one.
fn gaps(records: &[Record]) -> Vec<u64> {
    records.windows(2).map(|pair| pair[1].submitted.unwrap().0 - pair[0].completed.unwrap().0).collect()
}

/// `-J`: no request starts before the pause is over, and the pauses are part of the time only if asked (`-+J`).
#[test]
fn think_time_separates_requests_and_counts_if_asked() {
    let lab = lab();
    for (words, counts) in [("-J 3", false), ("-J 3 -+J", true)] {
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

/// `-+b`: so much is written, then flushed; nothing happens for a while after it. Flushes count, pauses do not.
#[test]
fn bursts_are_flushed_and_followed_by_a_pause() {
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
