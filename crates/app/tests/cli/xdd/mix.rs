//! Reads and writes: the operation of each request, and how they are mixed.

use super::*;

const REST: &str = "-targets 1 G -seek none -reqsize 1";

fn letters(lab: &Lab, args: &str) -> String {
    xdd(lab, 0, &format!("{TS} {REST} {args}"));
    stamps(lab, 0).iter().map(|stamp| stamp.op.as_str()).collect()
}

// Check 28, and the bug of the real program that loses a read.
#[test]
fn reads_and_writes_are_spread_evenly() {
    let lab = lab();
    let reads = |args: &str| letters(&lab, args).matches('r').count();
    assert_eq!(letters(&lab, "-rwratio 50 -op write -numreqs 20"), "w".repeat(20));
    assert_eq!(letters(&lab, "-rwratio 50 -op read -numreqs 20"), "r".repeat(20));
    assert_eq!(reads("-op write -rwratio 50 -numreqs 20"), 10);
    for (percent, ops, want) in [
        ("30", 20, 6),
        ("70", 20, 14),
        ("0", 7, 0),
        ("100", 7, 7),
        ("33.3", 1000, 333),
        ("1", 100, 1),
        ("99", 100, 99),
    ] {
        assert_eq!(reads(&format!("-rwratio {percent} -numreqs {ops}")), want, "{percent}");
    }
    // Spread: the counts of any two groups of ten differ by at most one.
    let all = letters(&lab, "-rwratio 30 -numreqs 100");
    let tens: Vec<usize> =
        all.as_bytes().windows(10).map(|ten| ten.iter().filter(|b| **b == b'r').count()).collect();
    assert!(tens.iter().max().unwrap() - tens.iter().min().unwrap() <= 1, "{all}");
    assert_eq!(letters(&lab, "-rwratio 30 -numreqs 100"), all);
    // The threads of a target mix together as one would.
    xdd(&lab, 0, &format!("{TS} {REST} -rwratio 30 -numreqs 100 -queuedepth 3"));
    let shared: usize = (0..3).map(|q| stamps_of(&lab, 0, q).iter().filter(|s| s.op == "r").count()).sum();
    assert_eq!(shared, 30);
}

// Every thread has the mix, also where its period divides the queue depth; the total stays exact.
#[test]
fn every_queue_thread_keeps_the_mix() {
    let lab = lab();
    for (depth, percent, ops, want) in
        [(2, 50, 16, 8), (4, 25, 32, 8), (8, 75, 60, 45), (4, 50, 21, 11), (5, 20, 33, 7), (1, 50, 9, 5)]
    {
        let args = format!("{TS} {REST} -rwratio {percent} -numreqs {ops} -queuedepth {depth}");
        xdd(&lab, 0, &args);
        let mut total = 0;
        for thread in 0..depth {
            let mut reads = 0;
            let stamps = stamps_of(&lab, 0, thread);
            for (issued, stamp) in (1..).zip(&stamps) {
                reads += i64::from(stamp.op == "r");
                let strays = (reads * 100 - percent * issued).abs();
                assert!(strays < 100, "{args}: thread {thread} after {issued} operations: {reads} reads");
            }
            assert!(stamps.len() as i64 >= ops / i64::from(depth), "{args}");
            total += reads;
        }
        assert_eq!(total, want, "{args}");
    }
}

// Check 30.
#[test]
fn writes_only_on_request() {
    let lab = lab();
    let before = lab.file("F", vec![0x5a; 1 << 20]);
    let all = rows(&xdd(&lab, 0, "-targets 1 F -reqsize 8 -numreqs 100 -verbose").out);
    assert!(all.iter().all(|row| row.kind == "read"), "{all:?}");
    assert!(std::fs::read(before).unwrap() == vec![0x5a; 1 << 20]);
    let out = xdd(&lab, 0, "-rwratio 40 -targets 1 G -reqsize 8 -numreqs 10 -verbose").out;
    assert!(rows(&out).iter().all(|row| row.kind == "mixed"));
    assert!(out.contains("Read/write ratio, 40.00, 60.00"), "{out}");
}
