//! Filling files, which needs no device: new ones, odd ones, parts of them, and refusals.

use crate::*;
use std::collections::HashSet;

/// Number of sectors of zeros, and of distinct sectors.
fn sectors(bytes: &[u8]) -> (usize, usize) {
    let all: Vec<&[u8]> = bytes.chunks(512).collect();
    let zero = all.iter().filter(|sector| sector.iter().all(|byte| *byte == 0)).count();
    (zero, all.iter().collect::<HashSet<_>>().len())
}

#[test]
fn a_new_file_is_created_and_filled() {
    let lab = lab();
    let filled = lab.expect(0, "fill new.img --size 3m --no-progress");
    assert!(filled.out.starts_with("filled 3.00 MiB of new.img in "), "{}", filled.out);
    assert_eq!(filled.out.lines().count(), 1, "no result is kept: {}", filled.out);
    let bytes = std::fs::read(lab.path("new.img")).unwrap();
    assert_eq!((bytes.len(), sectors(&bytes)), (3 << 20, (0, 6144)));
    let names: Vec<_> =
        std::fs::read_dir(lab.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["new.img"]);
    // A second fill writes other data into the same file.
    lab.expect(0, "fill new.img --no-progress");
    let again = std::fs::read(lab.path("new.img")).unwrap();
    assert_eq!(sectors(&[bytes, again].concat()), (0, 2 * 6144));
}

#[test]
fn fills_partial_blocks_through_page_cache() {
    let lab = lab();
    lab.file("odd.img", vec![0; (1 << 20) + 1000]);
    let filled = lab.expect(0, "fill odd.img --no-progress");
    assert!(filled.err.contains("odd.img is not made of whole blocks"), "{}", filled.err);
    let bytes = std::fs::read(lab.path("odd.img")).unwrap();
    assert_eq!((bytes.len(), sectors(&bytes)), ((1 << 20) + 1000, (0, 2050)));
    // A file smaller than a sector.
    lab.file("tiny.img", [0; 100]);
    lab.expect(0, "fill tiny.img --no-progress");
    assert_eq!(std::fs::read(lab.path("tiny.img")).unwrap().len(), 100);
}

#[test]
fn only_the_range_is_written() {
    let lab = lab();
    lab.file("a.img", vec![0; 4 << 20]);
    lab.expect(0, "fill a.img --offset 1m --size 1m --no-progress");
    let bytes = std::fs::read(lab.path("a.img")).unwrap();
    let mebibyte = |number: usize| sectors(&bytes[number << 20..(number + 1) << 20]).0;
    assert_eq!([0, 1, 2, 3].map(mebibyte), [2048, 0, 2048, 2048]);
    lab.file("b.img", vec![0; 4 << 20]);
    lab.expect(0, "fill b.img --percent 25 --engine threads --no-progress");
    assert_eq!(sectors(&std::fs::read(lab.path("b.img")).unwrap()).0, 3 * 2048);
}

#[test]
fn keeps_named_result_and_plan_does_the_same() {
    let lab = lab();
    lab.file("a.img", vec![0; 2 << 20]);
    let filled = lab.expect(0, "fill a.img --times 2 -o kept --json --no-progress");
    let facts: Value = serde_json::from_str(&filled.out).unwrap();
    assert_eq!((&facts["written_bytes"], &facts["result"]), (&(4 << 20).into(), &"kept".into()));
    assert_eq!((&facts["stopped_by"], &facts["times"]), (&Value::Null, &2.into()));
    let records = lab.records("kept");
    let writes: Vec<&Record> = records.iter().filter(|record| record.op == iosonar_plan::Op::Write).collect();
    assert_eq!(writes.iter().map(|record| record.pass).collect::<Vec<_>>(), [0, 0, 1, 1]);
    let plan = lab.expect(0, "fill a.img --show-plan").out;
    lab.file("plan.toml", plan);
    lab.file("a.img", vec![0; 2 << 20]);
    lab.expect(0, "run plan.toml --no-progress -o again");
    assert_eq!(sectors(&std::fs::read(lab.path("a.img")).unwrap()), (0, 4096));
}

#[test]
fn rejects_invalid_fill_requests() {
    let lab = lab();
    lab.file("a.img", vec![7; 1 << 20]);
    std::fs::create_dir(lab.path("dir")).unwrap();
    for (words, says) in [
        ("a.img --percent 0", "0 is not in 1..=100"),
        ("a.img --percent 101", "101 is not in 1..=100"),
        ("a.img --percent 50 --size 1m", "cannot be used with"),
        ("a.img --size 0%", "a share lies between 1% and 100%"),
        ("a.img --size 2m", "--size 2MiB: from --offset 0 on, a.img has 1048576 bytes"),
        ("a.img --offset 1m", "--offset 1MiB: a.img ends at byte 1048576"),
        ("a.img --times 0", "0 is not in 1..=1000"),
        ("a.img --bs 0", "--bs 0: a write has between 1 byte and 1GiB"),
        ("a.img -o a.img", "a.img"),
        ("nowhere.img", "nowhere.img does not exist: check the spelling, or give --size"),
        ("nowhere.img --percent 50", "give --size in bytes"),
        ("nowhere/new.img --size 1m", "nowhere/new.img"),
        ("dir", "dir is a directory"),
        ("/dev/null", "/dev/null keeps nothing"),
    ] {
        let refused = lab.expect(2, &format!("fill {words} --no-progress"));
        assert!(refused.err.contains(says), "{words}: {}", refused.err);
        assert_eq!((refused.out.as_str(), refused.err.contains("panicked")), ("", false));
    }
    assert_eq!(std::fs::read(lab.path("a.img")).unwrap(), vec![7; 1 << 20]);
    let count = std::fs::read_dir(lab.path("")).unwrap().count();
    assert_eq!(count, 2, "something was left");
}

#[test]
fn rejects_existing_result_before_any_output() {
    let lab = lab();
    std::fs::create_dir(lab.path("out")).unwrap();
    for more in ["", "--show-plan"] {
        let ended = lab.expect(2, &format!("fill new.img --size 1m -o out {more}"));
        assert!(ended.out.is_empty() && ended.err.contains("--out") && !lab.path("new.img").exists());
    }
}
