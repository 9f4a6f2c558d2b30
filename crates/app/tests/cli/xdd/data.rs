//! Data patterns, and their verification.

use super::*;

fn bytes(lab: &Lab, name: &str) -> Vec<u8> {
    std::fs::read(lab.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

// Check 31.
#[test]
fn writes_requested_bytes_and_text() {
    let lab = lab();
    let write = "-op write -targets 1 N -reqsize 1 -numreqs 2";
    assert_eq!(moved(&lab, &format!("-datapattern x {write}")), (2048, 2));
    assert!(bytes(&lab, "N") == [b'x'; 2048]);
    xdd(&lab, 0, &format!("{write} -datapattern ascii HELLO"));
    let mut want = vec![0; 2048];
    want[..5].copy_from_slice(b"HELLO");
    want[1024..1029].copy_from_slice(b"HELLO");
    assert!(bytes(&lab, "N") == want);
    xdd(&lab, 0, &format!("{write} -datapattern hex a5"));
    assert!(bytes(&lab, "N") == [0xa5; 2048]);
    xdd(&lab, 0, write);
    assert!(bytes(&lab, "N") == [0; 2048], "zeros unless given");
}

// Check 32.
#[test]
fn sequenced_words_contain_their_offset() {
    let lab = lab();
    let words = |name: &str, from: usize| {
        let all = bytes(&lab, name);
        let (words, rest) = all[from..].as_chunks::<8>();
        assert!(rest.is_empty());
        words.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>()
    };
    xdd(
        &lab,
        0,
        "-op write -targets 1 N -blocksize 1024 -reqsize 1 -numreqs 4 -datapattern sequenced -queuedepth 2",
    );
    assert_eq!(words("N", 0), (0..512).map(|n| 8 * n).collect::<Vec<_>>());
    xdd(&lab, 0, "-op write -targets 1 M -reqsize 1 -numreqs 4 -datapattern sequenced -startoffset 10");
    assert_eq!(words("M", 10_240), (0..512).map(|n| 10_240 + 8 * n).collect::<Vec<_>>());
    assert!(bytes(&lab, "M")[..10_240].iter().all(|b| *b == 0));
}

// Section 0: different in every request of a run, equal in two runs.
#[test]
fn random_data_differs_by_request_and_not_by_run() {
    let lab = lab();
    for name in ["N", "M"] {
        xdd(&lab, 0, &format!("-op write -targets 1 {name} -reqsize 4 -numreqs 8 -datapattern random"));
    }
    let all = bytes(&lab, "N");
    assert!(all == bytes(&lab, "M"));
    let requests: std::collections::BTreeSet<&[u8]> = all.chunks(4096).collect();
    assert_eq!(requests.len(), 8);
    assert!(all.iter().filter(|b| **b == 0).count() < 400, "about one of 256");
}

// Check 36, for every pattern that can be checked.
#[test]
fn verify_immediate_reads_back_each_write() {
    let lab = lab();
    for pattern in ["x", "hex 0f", "sequenced", "random", "ascii HELLO"] {
        for depth in [1, 3] {
            let args = format!("-op write -targets 1 N -reqsize 4 -numreqs 10 -passes 2 -queuedepth {depth}");
            let ended = xdd(&lab, 0, &format!("{args} -datapattern {pattern} -verify immediate"));
            assert!(
                ended.out.contains("No errors reported in 20 requests checked"),
                "{pattern}: {}",
                ended.out
            );
            assert_eq!(total(&ended), (81_920, 20), "what is read back is no operation");
        }
    }
    // Zeros are a pattern, too.
    let ended = xdd(&lab, 0, "-op write -targets 1 N -reqsize 4 -numreqs 10 -verify immediate");
    assert!(ended.out.contains("No errors reported in 10 requests checked"), "{}", ended.out);
}

#[test]
fn every_pass_of_reads_is_checked() {
    let lab = lab();
    for (pattern, verify) in
        [("x", "contents"), ("sequenced", "location"), ("sequenced", "compare"), ("ascii HI", "contents")]
    {
        xdd(&lab, 0, &format!("-op write -targets 1 N -reqsize 4 -numreqs 10 -datapattern {pattern}"));
        let read = format!(
            "-op read -targets 1 N -reqsize 4 -numreqs 10 -passes 3 -verify {verify} -datapattern {pattern}"
        );
        let ended = xdd(&lab, 0, &read);
        assert!(ended.out.contains("No errors reported in 30 requests checked"), "{pattern}: {}", ended.out);
        // One byte in the third request, the first of it so that location sees it as well.
        let mut all = bytes(&lab, "N");
        all[8192] ^= 0x40;
        all[8195] ^= 0x01;
        lab.file("N", &all);
        let ended = xdd(&lab, 5, &read);
        assert!(
            ended.out.contains("There were 3 Miscompares detected in 30 requests checked"),
            "{}",
            ended.out
        );
        assert_eq!(total(&ended), (122_880, 30), "data that is wrong was read");
        let told: Vec<&str> = ended.err.lines().filter(|line| line.contains("miscompare")).collect();
        assert_eq!(told.len(), 3, "{}", ended.err);
        assert!(
            told[1].contains("in pass 2, operation 2, at byte 0 of the request at byte 8192"),
            "{told:?}"
        );
        assert!(told[0].contains("2 bytes are bad"), "{told:?}");
    }
}

#[test]
fn warns_that_pattern_without_verify_checks_nothing() {
    let lab = lab();
    let ended = xdd(&lab, 0, "-op read -targets 1 F -reqsize 4 -numreqs 10 -datapattern sequenced");
    assert!(ended.err.contains("-datapattern") && ended.err.contains("-verify"), "{}", ended.err);
    assert!(!ended.out.contains("errors reported"), "{}", ended.out);
    let ended = xdd(&lab, 3, "-op write -targets 1 N -reqsize 4 -numreqs 10 -datapattern x -verify contents");
    assert!(ended.err.contains("nothing is read here"), "{}", ended.err);
}

// -align and -sharedmemory change the place of data in memory, not its content.
#[test]
fn memory_options_do_not_change_data() {
    let lab = lab();
    for option in ["-align 8", "-align target 0 100", "-sharedmemory", "-sharedmemory -align 16"] {
        let args =
            format!("-targets 1 N -reqsize 4 -numreqs 10 -queuedepth 2 -datapattern sequenced {option}");
        xdd(&lab, 0, &format!("-op write {args}"));
        let ended = xdd(&lab, 0, &format!("-op read {args} -verify contents"));
        assert!(ended.out.contains("No errors reported in 10 requests checked"), "{option}: {}", ended.out);
    }
}
