//! Locations of requests, from the reports of time stamps and saved lists.

use super::*;
use std::collections::BTreeSet;

const READ: &str = "-op read -targets 1 F -reqsize 8";

#[test]
fn sequential_locations_follow_offsets() {
    let lab = lab();
    assert_eq!(locations(&lab, &format!("{READ} -numreqs 4")), [0, 8, 16, 24]);
    assert_eq!(
        locations(&lab, &format!("{READ} -numreqs 2 -startoffset 100 -passes 3 -passoffset 10")),
        [100, 108, 110, 118, 120, 128]
    );
    // Target k is moved by k times this many blocks.
    xdd(
        &lab,
        0,
        &format!("{TS} -op read -targets 3 F F F -reqsize 8 -numreqs 2 -targetoffset 1000 -startoffset 1"),
    );
    for target in 0..3 {
        let all: Vec<u64> = stamps(&lab, target).iter().map(|stamp| stamp.location).collect();
        let first = 1 + 1000 * u64::from(target);
        assert_eq!(all, [first, first + 8]);
    }
}

// Checks 17 and 19.
#[test]
fn seek_none_repeats_and_interleave_steps() {
    let lab = lab();
    assert_eq!(
        locations(&lab, &format!("{READ} -seek none -startoffset 100 -numreqs 3 -passes 2")),
        [100; 6]
    );
    assert_eq!(
        locations(&lab, &format!("{READ} -seek none -passoffset 5 -numreqs 2 -passes 2")),
        [0, 0, 5, 5]
    );
    assert_eq!(locations(&lab, &format!("{READ} -seek interleave 4 -numreqs 5")), [0, 32, 64, 96, 128]);
    assert_eq!(
        locations(&lab, &format!("{READ} -seek stagger -seek range 4096 -numreqs 5")),
        [0, 1020, 2040, 3060, 4080]
    );
}

// Check 20.
#[test]
fn queue_depth_does_not_change_locations() {
    let lab = lab();
    let of_thread =
        |thread: u32| -> Vec<u64> { stamps_of(&lab, 0, thread).iter().map(|stamp| stamp.location).collect() };
    xdd(&lab, 0, &format!("{TS} -op read -targets 1 F -queuedepth 2 -reqsize 64 -numreqs 5"));
    assert_eq!((of_thread(0), of_thread(1)), (vec![0, 128, 256], vec![64, 192]));
    for order in ["", "-seek random", "-seek stagger", "-seek interleave 3"] {
        let mut first: Option<Vec<u64>> = None;
        let depths: &[u32] = if order.is_empty() { &[1, 2, 3, 4, 5, 6, 7, 8] } else { &[1, 3, 8] };
        for &depth in depths {
            xdd(&lab, 0, &format!("{TS} {READ} {order} -seek range 4096 -queuedepth {depth} -numreqs 19"));
            let mut all: Vec<u64> = (0..depth).flat_map(of_thread).collect();
            all.sort_unstable();
            assert_eq!(all.len(), 19);
            if order.is_empty() {
                assert_eq!(all, (0..19).map(|n| 8 * n).collect::<Vec<_>>());
            }
            assert_eq!(*first.get_or_insert_with(|| all.clone()), all, "{order} {depth}");
        }
    }
}

#[test]
fn random_stays_in_range_and_is_repeatable() {
    let lab = lab();
    let random = format!("{READ} -seek random -seek range 1000 -startoffset 300 -numreqs 200");
    let first = locations(&lab, &random);
    assert!(first.iter().all(|at| (300..=300 + 1000 - 8).contains(at)), "{first:?}");
    assert!(first.iter().collect::<BTreeSet<_>>().len() > 100);
    assert_eq!(locations(&lab, &random), first);
    assert_eq!(locations(&lab, &format!("{random} -seek seed 72058")), first);
    assert_ne!(locations(&lab, &format!("{random} -seek seed 1")), first);
    // Each pass repeats them, unless they are to change.
    let twice = locations(&lab, &format!("{random} -passes 2"));
    assert_eq!(twice, [first.clone(), first.clone()].concat());
    let changed = locations(&lab, &format!("{random} -passes 2 -randomize"));
    assert_eq!(changed[..200], first[..]);
    assert_ne!(changed[200..], first[..]);
    assert_eq!(locations(&lab, &format!("{random} -passes 2 -randomize")), changed);
    // Without a range the amount of a pass is the range.
    let small = locations(&lab, &format!("{READ} -seek random -numreqs 50"));
    assert!(small.iter().all(|at| *at <= 50 * 8 - 8), "{small:?}");
    let ended = xdd(&lab, 0, &format!("{READ} -seek random -numreqs 50"));
    assert!(ended.out.contains("Seek range, 400"), "{}", ended.out);
}

fn list(lab: &Lab, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(lab.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    text.lines().filter(|line| !line.starts_with('#')).map(ToString::to_string).collect()
}

// Check 23, and section 2.7.
#[test]
fn saved_seek_list_reloads_unchanged() {
    let lab = lab();
    let random = format!("{TS} {READ} -seek random -seek range 4096 -numreqs 50 -seek save a");
    xdd(&lab, 0, &random);
    let first = stamps(&lab, 0);
    xdd(&lab, 0, &format!("{TS} {READ} -numreqs 50 -seek load a.T0Q0.txt -seek save b"));
    assert_eq!(list(&lab, "a.T0Q0.txt"), list(&lab, "b.T0Q0.txt"));
    assert_eq!(list(&lab, "a.T0Q0.txt").len(), 50);
    let locations = |stamps: &[Stamp]| stamps.iter().map(|stamp| stamp.location).collect::<Vec<_>>();
    assert_eq!(locations(&stamps(&lab, 0)), locations(&first));
    // All threads together traverse it once.
    let ended = xdd(&lab, 0, &format!("{TS} {READ} -numreqs 50 -seek load a.T0Q0.txt -queuedepth 4"));
    assert_eq!(total(&ended).1, 50);
    let mut all: Vec<u64> = (0..4).flat_map(|thread| locations(&stamps_of(&lab, 0, thread))).collect();
    let mut want = locations(&first);
    all.sort_unstable();
    want.sort_unstable();
    assert_eq!(all, want);
    // And the list needs no other amount.
    assert_eq!(moved(&lab, "-op read -targets 1 F -seek load a.T0Q0.txt"), (50 * 8192, 50));
    // The format.
    xdd(&lab, 0, &format!("{READ} -numreqs 4 -throttle ops 100 -seek save c"));
    assert_eq!(
        std::fs::read_to_string(lab.path("c.T0Q0.txt")).unwrap(),
        "# Longest seek=8, Shortest seek=8, Average seek distance=6\n\
         #Ordinal Location Reqsize Operation Time1 Time2\n\
         0000000000 000000000000 8 r 0000010000000000 0000000000000000\n\
         0000000001 000000000008 8 r 0000020000000000 0000000000000000\n\
         0000000002 000000000016 8 r 0000030000000000 0000000000000000\n\
         0000000003 000000000024 8 r 0000040000000000 0000000000000000\n"
    );
}

// Check 25, and operations of a list.
#[test]
fn seek_list_sets_operation_and_size_and_may_be_short() {
    let lab = lab();
    lab.file("three", "# a list\n0 10 1 r 0 0\n1 20 2 r 0 0\n\n2 5 3 r 0 0\n");
    let ended = xdd(&lab, 0, &format!("{TS} -op read -targets 1 F -numreqs 5 -seek load three"));
    assert_eq!(total(&ended), (6 * 1024, 3));
    assert!(ended.err.contains("is to get 5 requests, and its seek list holds 3"), "{}", ended.err);
    let all: Vec<u64> = stamps(&lab, 0).iter().map(|stamp| stamp.location).collect();
    assert_eq!(all, [10, 20, 5]);
    assert_eq!(moved(&lab, "-op read -targets 1 F -numreqs 2 -seek load three"), (3 * 1024, 2));
    // Letters hold where writing is allowed.
    lab.file("mixed", "0 10 1 w 0 0\n1 20 2 r 0 0\n2 5 3 w 0 0\n");
    for op in ["-op write", "-rwratio 50"] {
        let ended =
            xdd(&lab, 0, &format!("{TS} {op} -targets 1 G -datapattern x -numreqs 3 -seek load mixed"));
        let letters: Vec<String> = stamps(&lab, 0).iter().map(|stamp| stamp.op.clone()).collect();
        assert_eq!((total(&ended), letters.concat().as_str()), ((6 * 1024, 3), "wrw"));
    }
    let bytes = std::fs::read(lab.path("G")).unwrap();
    assert_eq!(bytes.iter().filter(|b| **b == b'x').count(), 4 * 1024);
    assert!(bytes[5 * 1024..8 * 1024].iter().chain(&bytes[10 * 1024..11 * 1024]).all(|b| *b == b'x'));
    // And are refused where writing is not allowed, before anything is touched.
    for (name, text) in [
        ("mixed", "0 10 1 r 0 0\n1 20 2 w 0 0\n"),
        ("torn", "0 10 1 r 0\n"),
        ("empty", "# nothing\n"),
        ("zero", "0 10 0 r 0 0\n"),
    ] {
        lab.file(name, text);
        let before = snapshot(&lab);
        let ended =
            xdd(&lab, 2, &format!("{TS} -op read -targets 1 F -numreqs 3 -seek load {name} -output o"));
        assert!(ended.err.contains(name), "{}", ended.err);
        assert!(before == snapshot(&lab), "{name}");
    }
}

#[test]
fn histograms_count_each_location() {
    let lab = lab();
    let counts = |text: &str, name: &str| -> Vec<u64> {
        let lines = text.lines().filter(|line| line.starts_with(name));
        lines.map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap()).collect()
    };
    xdd(&lab, 0, &format!("{READ} -numreqs 100 -seek seekhist 4 -seek disthist 3 -seek save h"));
    let saved = std::fs::read_to_string(lab.path("h.T0Q0.txt")).unwrap();
    assert_eq!(counts(&saved, "#SeekHist"), [25, 25, 25, 25]);
    assert_eq!(counts(&saved, "#DistHist").iter().sum::<u64>(), 99);
    // Without a file the histogram goes to the error output.
    let ended = xdd(&lab, 0, &format!("{READ} -numreqs 100 -seek seekhist 4"));
    assert_eq!(counts(&ended.err.replace("xdd: ", ""), "#SeekHist"), [25, 25, 25, 25]);
}
