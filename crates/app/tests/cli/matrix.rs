//! Matrices of file operations: cells, repetitions, continuation, pictures.

use crate::live::{Running, wait_until};
use crate::*;
use std::collections::{BTreeMap, BTreeSet};

/// Test, method, streams, file and record size in KiB.
type Key = (String, String, u64, u64, u64);

fn key(cell: &Value) -> Key {
    let number = |name: &str| cell[name].as_u64().unwrap();
    let word = |name: &str| cell[name].as_str().unwrap().to_string();
    (
        word("test"),
        word("method"),
        number("streams"),
        number("file_bytes") >> 10,
        number("record_bytes") >> 10,
    )
}

fn results(lab: &Lab, dir: &str) -> Vec<Value> {
    let text = std::fs::read(lab.path(dir).join("cells.json")).unwrap();
    let json: Value = serde_json::from_slice(&text).unwrap();
    json["results"].as_array().unwrap().clone()
}

/// Repetitions of each cell.
fn repetitions(lab: &Lab, dir: &str) -> BTreeMap<Key, BTreeSet<u64>> {
    let mut found: BTreeMap<Key, BTreeSet<u64>> = BTreeMap::new();
    for cell in results(lab, dir) {
        assert!(found.entry(key(&cell)).or_default().insert(cell["repeat"].as_u64().unwrap()), "{cell}");
    }
    found
}

#[test]
fn every_cell_is_measured_as_often_as_wanted() {
    let lab = lab();
    let out = lab.expect(
        0,
        "matrix t.tmp --sizes 64k..256k --records 4k,128k --tests write,read --methods sync,mmap --streams 1,2 --repeat 3 -o m",
    );
    let found = repetitions(&lab, "m");
    // Three files with 4 KiB, two with 128 KiB.
    assert_eq!(found.len(), 2 * 2 * 2 * 5);
    assert!(found.values().all(|repeats| repeats.iter().copied().eq(0..3)));
    for cell in results(&lab, "m") {
        let number = |name: &str| cell[name].as_u64().unwrap();
        assert_eq!(number("bytes"), number("ops") * number("record_bytes"), "{cell}");
        let counted: u64 = cell["histogram"].as_array().unwrap().iter().map(|s| s[1].as_u64().unwrap()).sum();
        assert!(counted >= number("ops"), "{cell}");
    }
    assert!(out.out.contains("write, 2 streams, mmap: median of 3 in MiB/s"), "{}", out.out);
    assert!(out.out.contains("cells wrote into the page cache"), "{}", out.out);
    let csv = std::fs::read_to_string(lab.path("m/cells.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 40 * 3);
    assert!(["t.tmp", "t.tmp.0", "t.tmp.1"].iter().all(|name| !lab.path(name).exists()));
}

/// Each repetition has its own order, the same for the same seed.
#[test]
fn the_order_is_random_and_repeatable() {
    let lab = lab();
    let listing = |more: &str| {
        let words = format!("matrix t.tmp --sizes 64k..1m --records 4k..64k --dry-run --repeat 2 {more}");
        lab.expect(0, &words).out
    };
    let order = listing("");
    assert_eq!(order, listing(""));
    assert_ne!(order, listing("--seed 2"));
    let rows: Vec<&str> = order.lines().skip(1).collect();
    let (first, second) = rows.split_at(25);
    let cut = |row: &&str| row[10..].to_string();
    let (first, second): (Vec<_>, Vec<_>) =
        (first.iter().map(cut).collect(), second[..25].iter().map(cut).collect());
    assert_ne!(first, second);
    let sorted = |rows: &[String]| rows.iter().cloned().collect::<BTreeSet<_>>();
    assert_eq!(sorted(&first), sorted(&second));
    assert!(order.ends_with("300 cells\n"), "{order}");
    assert!(!lab.path("t.tmp").exists());
}

#[test]
fn a_matrix_that_was_interrupted_is_continued() {
    let lab = lab();
    let words = "matrix t.tmp --sizes 64k..2m --records 4k --tests write,read --repeat 40";
    let running = Running::of(&mut lab.command(&format!("{words} -o m")));
    wait_until("the test file grows", || lab.path("t.tmp").metadata().is_ok_and(|file| file.len() > 0));
    running.signal("INT");
    let ended = running.end();
    assert_eq!(ended.code, 130, "{}", ended.err);
    assert!(ended.err.contains("iosonar matrix --resume m"), "{}", ended.err);
    assert!(!lab.path("t.tmp").exists());
    let before = results(&lab, "m");
    assert!(before.len() < 480, "{}", before.len());
    let other = lab.expect(2, "matrix t.tmp --sizes 64k --records 4k --resume m").err;
    assert!(other.contains("--resume m: its"), "{other}");
    lab.expect(0, &format!("{words} --resume m --no-records"));
    let found = repetitions(&lab, "m");
    assert!(found.len() == 12 && found.values().all(|repeats| repeats.len() == 40), "{found:?}");
    // What was measured before was not measured again, unless its part was not whole.
    let after = results(&lab, "m");
    let kept = before.iter().filter(|cell| after.contains(cell)).count();
    assert!(kept + 2 >= before.len(), "{kept} of {}", before.len());
    assert!(lab.path("m/part-1").exists() && !lab.path("m/part-2").exists());
    // Nothing is missing: nothing is measured.
    lab.expect(0, "matrix --resume m");
    assert_eq!(results(&lab, "m"), after);
}

#[test]
fn a_page_and_pictures_show_every_cell() {
    let lab = lab();
    lab.expect(0, "matrix t.tmp --sizes 64k..256k --records 4k..64k --tests write,read --repeat 2 -o m");
    for name in ["heat-write-sync", "cuts-write-sync", "surface-read-sync"] {
        assert!(lab.path("m").join(format!("{name}.png")).exists(), "{name}");
    }
    let heat = std::fs::read_to_string(lab.path("m/heat-read-sync.svg")).unwrap();
    assert_eq!(heat.matches("data-cell=").count(), 15);
    let page = std::fs::read_to_string(lab.path("m/matrix.html")).unwrap();
    assert_eq!(page.matches("class=\"cell\"").count(), 30);
    assert_eq!(page.matches("href=\"#cell-").count(), 30);
    // One record size has no surface.
    lab.expect(0, "matrix t.tmp --sizes 64k,128k --records 4k --tests write --repeat 1 -o n");
    assert!(lab.path("n/cuts-write-sync.png").exists() && !lab.path("n/surface-write-sync.png").exists());
}

#[test]
fn mistakes_are_named_and_nothing_is_created() {
    let lab = lab();
    lab.file("mine", "precious");
    for (words, named) in [
        ("matrix t.tmp --tests reed -o m", "--tests reed"),
        ("matrix t.tmp --tests read -o m", "--tests: read needs a file"),
        ("matrix t.tmp --tests write,mixed -o m", "--tests mixed"),
        ("matrix t.tmp --methods sink -o m", "--methods sink"),
        ("matrix t.tmp --methods sync,mmap --tests fwrite -o m", "fwrite makes calls of its own"),
        ("matrix t.tmp --depth 4 -o m", "--depth 4"),
        ("matrix t.tmp --methods mmap --direct -o m", "--direct: mmap"),
        ("matrix t.tmp --sizes 4k --records 64k -o m", "--records"),
        ("matrix t.tmp --sizes 8k..4k -o m", "--sizes"),
        ("matrix t.tmp --repeat 0 -o m", "--repeat"),
        ("matrix a b --streams 3 -o m", "--streams 3"),
        ("matrix mine --sizes 64k --records 4k -o m", "mine: the file exists"),
        ("matrix t.tmp --sizes 64k --records 4k -o mine", "--out mine"),
        ("matrix --resume nowhere", "--resume nowhere"),
        ("matrix", "FILE"),
    ] {
        let err = lab.expect(2, words).err;
        assert!(err.contains(named), "{words}: {err}");
        assert!(!lab.path("m").exists() && !lab.path("t.tmp").exists(), "{words}");
    }
    assert_eq!(std::fs::read(lab.path("mine")).unwrap(), b"precious");
}
