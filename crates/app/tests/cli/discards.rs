//! Discards and write zeroes: generated, replayed, converted, and distinguished from reads and writes.

use crate::*;
use iosonar_archive::Outcome;
use iosonar_plan::Op;
use std::os::unix::fs::MetadataExt;

const LINES: &str = "\
    0.000000000 ; 16 ; 8 ; W ; 0.0 ; 0.0\n\
    # discard ; 0.001 ; 16 ; 64 ; 0.0 ; 0.0\n\
    0.002000000 ; 24 ; 8 ; W ; 0.0 ; 0.0\n\
    # write-zeroes ; 0.003 ; 128 ; 4096 ; 0.0 ; 0.0\n\
    0.004000000 ; 48 ; 8 ; R ; 0.0 ; 0.0\n";

#[test]
fn replay_issues_or_drops_discards() {
    let lab = lab();
    lab.file("a.load", LINES);
    lab.expect(0, &format!("replay a.load {SIM} -o whole"));
    let got: Vec<_> =
        sorted(&lab, "whole").iter().map(|r| (r.op, r.due.0 / MS, r.executed.length / 512)).collect();
    use Op::{Discard, Read, Write, WriteZeroes};
    let want = [(Write, 0, 8), (Discard, 1, 64), (Write, 2, 8), (WriteZeroes, 3, 4096), (Read, 4, 8)];
    assert_eq!(got, want);
    let text = lab.expect(0, "show --all whole").out;
    assert!(text.contains("  discard   ") && text.contains("  write-zeroes   "), "{text}");
    assert_eq!(count(&summary(&lab, "whole"), "other", "completed"), 2);
    let easier = lab.expect(0, &format!("replay a.load {SIM} --discard drop -o easier")).out;
    assert!(easier.contains("2 discards and write zeroes of the load were skipped"), "{easier}");
    assert!(sorted(&lab, "easier").iter().all(|r| r.op.is_transfer()));
    lab.file("only.load", "# discard ; 0.5 ; 8 ; 8\n");
    let refused = lab.expect(2, &format!("replay only.load {SIM} --discard drop")).err;
    assert!(refused.contains("--discard drop"), "{refused}");
}

#[test]
fn discard_waits_for_conflicting_write() {
    let lab = lab();
    // The write lasts 10 ms, and the discard, in the middle of it, is due after 1 ms.
    lab.file("a.load", "0 ; 16 ; 8 ; W ; 0.0 ; 0.0\n# discard ; 0.001 ; 20 ; 64\n");
    let sim = "-t dev --engine sim --sim-service 10ms --size 1MiB --no-progress";
    lab.expect(0, &format!("replay a.load {sim} -o r"));
    let records = sorted(&lab, "r");
    assert_eq!((records[1].op, records[1].blocked_by), (Op::Discard, Some(0)));
    assert_eq!(records[1].submitted, records[0].completed);
}

#[test]
fn conversions_filters_and_checks_keep_discards() {
    let lab = lab();
    lab.file("a.load", LINES);
    let lines = |text: &str| -> Vec<String> {
        let is_request =
            |line: &&str| line.starts_with("# ") && line.contains(';') || line.trim().starts_with('0');
        let plain = |line: &str| line.split_whitespace().collect::<String>().replace("000;", ";");
        text.lines().filter(is_request).map(plain).collect()
    };
    let want = ["#discard;0.001000;16;64;0.0;0.0", "#write-zeroes;0.003000;128;4096;0.0;0.0"];
    let has_both = |text: &str| want.iter().all(|line| lines(text).iter().any(|l| l == line));
    lab.expect(0, "convert a.load b.load.gz");
    assert!(has_both(&plain_of(&lab.path("b.load.gz"))), "{:?}", lines(&plain_of(&lab.path("b.load.gz"))));
    lab.expect(0, "convert a.load made");
    assert!(has_both(&lab.expect(0, "convert made -").out));
    // Filters of places apply to discards, too.
    let shifted = lab.expect(0, "filter slip:1,8 a.load").out;
    assert!(shifted.contains("# discard ; ") && shifted.contains(" ; 24 ; 64 ; "), "{shifted}");
    let fio = lab.expect(0, "convert a.load c.iolog");
    assert_eq!(
        std::fs::read_to_string(lab.path("c.iolog")).unwrap().matches(" trim ").count(),
        1,
        "{}",
        fio.err
    );
    lab.expect(0, &format!("replay a.load {SIM} -o ran"));
    lab.expect(0, "check ran a.load");
    lab.file("fewer.load", LINES.replace("# discard ;", "# no ;"));
    assert!(lab.expect(5, "check ran fewer.load").out.contains("discard"));
    // A result is exported to blkreplay's text, and imported again.
    lab.expect(0, "export ran --to replay -o ran.replay");
    lab.expect(0, "import ran.replay -o again");
    let ops = |name| sorted(&lab, name).iter().map(|r| (r.op, r.executed)).collect::<Vec<_>>();
    assert_eq!(ops("again"), ops("ran"));
}

#[test]
fn generated_discards_free_the_blocks_of_a_file() {
    let lab = lab();
    let blocks = || std::fs::metadata(lab.path("t.img")).unwrap().blocks();
    for engine in ["uring", "threads"] {
        lab.file("t.img", vec![1; 1 << 20]);
        let before = blocks();
        let ended = lab
            .run(&format!("run -t t.img --rw randtrim --bs 16k --engine {engine} --no-progress -o {engine}"));
        if ended.code == 2 {
            println!("SKIPPED: discards with engine {engine}, because {}", ended.err);
            continue;
        }
        assert_eq!(ended.code, 0, "{}", ended.err);
        let records = lab.records(engine);
        assert!(records.len() == 64 && records.iter().all(|r| r.op == Op::Discard));
        if records.iter().all(|r| r.outcome == Outcome::Failed) {
            println!("SKIPPED: freed blocks, because this file system punches no holes");
            continue;
        }
        assert!(blocks() < before / 4, "{engine}: {} of {before} blocks", blocks());
        assert!(std::fs::read(lab.path("t.img")).unwrap() == vec![0; 1 << 20]);
    }
    let mixed =
        format!("run {SIM} --rw randrw --rwmixread 40 --rwmixtrim 30 --rwmixzeroes 10 --number-ios 4000");
    lab.expect(0, &format!("{mixed} -o mixed"));
    let records = lab.records("mixed");
    let count = |op| records.iter().filter(|r| r.op == op).count();
    assert_eq!(count(Op::Read), 1600);
    let near = |op, want: usize| assert!(count(op).abs_diff(want) < 160, "{op}: {}", count(op));
    near(Op::Write, 800);
    near(Op::Discard, 1200);
    near(Op::WriteZeroes, 400);
}

#[test]
fn rejects_unsupported_discards_with_remedy() {
    let lab = lab();
    lab.file("t.img", vec![1; 1 << 20]);
    lab.file("a.load", LINES);
    for (line, part) in [
        ("run -t t.img --rw trim --engine aio", "use --engine uring or threads"),
        ("replay a.load -t t.img --engine aio", "--discard drop"),
        ("run -t t.img --rw read --rwmixtrim 5", "--rwmixtrim has no effect with --rw read"),
        ("run -t t.img --rw trim --rwmixzeroes 5", "--rwmixzeroes has no effect with --rw trim"),
        ("run -t t.img --rw rw --rwmixread 60 --rwmixtrim 50", "110 percent"),
        ("run -t t.img --rw write --rwmixtrim 101", "--rwmixtrim"),
        ("run -t t.img --rw trim --fill-random 5", "--fill-random has no effect"),
        ("run -t t.img --rw trimwrite", "--rwmixtrim 50"),
        (
            "run -t t.img --rw write --rwmixtrim 5 --data sequenced --verify contents --verify-immediate",
            "remove --verify",
        ),
        ("run -t /dev/null --rw trim --size 1m --destroy", ""),
    ] {
        let refused = lab.run(line);
        assert_eq!(refused.code, 2, "{line}: {}", refused.err);
        assert!(refused.err.contains(part), "{line}: {}", refused.err);
    }
    assert!(std::fs::read(lab.path("t.img")).unwrap() == vec![1; 1 << 20], "nothing was touched");
}
