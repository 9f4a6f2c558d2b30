//! The manual's examples as printed, typographic dashes included; only devices are files here.

use super::*;

// Example 1.
#[test]
fn basic_test_of_the_manual_runs() {
    let lab = lab();
    lab.target("dsk10d2s0", 64 << 20);
    let args = "–op read –targets 1 dsk10d2s0 –reqsize 128 -mbytes 64 –passes 3 –verbose";
    let all = rows(&xdd(&lab, 0, args).out);
    let of: Vec<(&str, u64, u64)> = all.iter().map(|row| (row.label.as_str(), row.bytes, row.ops)).collect();
    assert_eq!(
        of,
        [
            ("T PASS0001", 67_108_864, 512),
            ("T PASS0002", 67_108_864, 512),
            ("T PASS0003", 67_108_864, 512),
            ("T Average", 201_326_592, 1536),
            ("Combined", 201_326_592, 1536),
        ]
    );
}

// Example 2. Its time limit may end a pass on a slow machine.
#[test]
fn writes_two_files() {
    let lab = lab();
    let args = "–op write –targets 2 BIGFILE1 BIGFILE2 -blocksize 512 –reqsize 128 -mbytes 64 –verbose –pass count 3 -timelimit 10";
    let all = rows(&xdd(&lab, 0, args).out);
    assert_eq!(all.len(), 9);
    for row in all.iter().filter(|row| row.label.contains("PASS")) {
        assert!(row.ops <= 1024 && row.bytes == row.ops * 65_536 && row.kind == "write", "{row:?}");
        assert!(row.ops == 1024 || row.time >= 10.0, "{row:?}");
    }
    let sum: u64 = all.iter().filter(|row| row.label.contains("PASS")).map(|row| row.bytes).sum();
    assert_eq!(all.last().unwrap().bytes, sum);
    for name in ["BIGFILE1", "BIGFILE2"] {
        let size = lab.path(name).metadata().unwrap().len();
        assert!(size > 0 && size <= 64 << 20);
    }
}

// Example 4: the same locations in each pass and each run.
#[test]
fn random_reads_over_a_range() {
    let lab = lab();
    lab.target("dsk10d2s0", 4_000_000 * 1024);
    let args = "–op read –targets 1 dsk10d2s0 –reqsize 8 -mbytes 16 –passes 3 –verbose –seek random –seek range 4000000";
    let first = locations(&lab, args);
    assert_eq!(first.len(), 3 * 2048);
    assert!(first.iter().all(|at| *at <= 4_000_000 - 8));
    assert!(first.iter().any(|at| *at > 3_000_000) && first.iter().any(|at| *at < 1_000_000));
    assert!(first[..2048] == first[2048..4096] && first[..2048] == first[4096..]);
    assert!(locations(&lab, args) == first);
    let changed = locations(&lab, &format!("{args} -randomize"));
    assert!(changed[..2048] == first[..2048] && changed[2048..4096] != first[..2048]);
}

// Section 9.1 without the options that need a privilege or a time server; and every other spelling in the manual.
#[test]
fn accepts_other_spellings_of_the_manual() {
    let lab = lab();
    let args = "-op write -targets 2 targetfile1 targetfile2 -reqsize 64 -numreqs 10 -verbose –dio -passes 3 \
                -cvs csvoutput.csv -output output.txt –errout erroroutput.txt -ts output timestamp.csv -ts detailed \
                -syncwrite –deletefile";
    assert!(xdd(&lab, 0, args).out.is_empty());
    let table = std::fs::read_to_string(lab.path("csvoutput.csv")).unwrap();
    assert!(table.contains("T PASS0003"), "{table}");

    let read = "-op read -reqsize 1 -numreqs 3";
    xdd(&lab, 0, &format!("{TS} {read} -targets 2 F F -procoffset 100 -miall -timelimit 10.0"));
    let starts = |target| stamps(&lab, target).iter().map(|s| s.location).collect::<Vec<_>>();
    assert_eq!((starts(0), starts(1)), (vec![0, 1, 2], vec![100, 101, 102]));
    let both = |args: &str| locations(&lab, &format!("{read} -targets 1 F -seek random {args}"));
    assert_eq!(both("-range 4000"), both("-seek range 4000"));
    let reopened = xdd(&lab, 0, &format!("{read} -targets 1 F -passes 2 -reopenfiles -verbose")).out;
    assert!(reopened.contains("OpenTime"), "{reopened}");
}

// Section 5.3, with less to do.
#[test]
fn a_reader_follows_a_writer_on_one_target() {
    let lab = lab();
    let args = "-targets 2 disk1 disk1 -op target 0 write -op target 1 read -reqsize 1024 -mbytes 24 –lockstep 0 1 op 1 op 1 wait complete";
    let ended = xdd(&lab, 0, &format!("{args} {TS} -verbose"));
    let all = rows(&ended.out);
    let passes = labelled(&all, "T PASS0001");
    assert_eq!((passes[0].kind.as_str(), passes[0].ops), ("write", 24));
    assert_eq!((passes[1].kind.as_str(), passes[1].ops), ("read", 24));
    assert!(ended.out.contains("Master") && ended.out.contains("Slave"), "{}", ended.out);
    for (wrote, read) in stamps(&lab, 0).iter().zip(&stamps(&lab, 1)) {
        assert!(read.start >= wrote.end && read.location == wrote.location);
    }
}
