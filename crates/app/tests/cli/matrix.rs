//! Matrices of file operations: cells, repetitions, continuation, pictures.

use crate::live::Running;
use crate::*;
use iosonar_testkit::{Ended, until};
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
fn every_cell_is_measured_the_requested_number_of_times() {
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
    until("the test file grows", || lab.path("t.tmp").metadata().is_ok_and(|file| file.len() > 0));
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
    // Cells measured before were not measured again, unless their part was incomplete.
    let after = results(&lab, "m");
    let kept = before.iter().filter(|cell| after.contains(cell)).count();
    assert!(kept + 2 >= before.len(), "{kept} of {}", before.len());
    assert!(lab.path("m/part-1").exists() && !lab.path("m/part-2").exists());
    // No cell is missing: nothing is measured.
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
    // From the picture for light pages, and from the one for dark ones.
    assert_eq!(page.matches("href=\"#cell-").count(), 60);
    // Cells that vary more than they differ are hatched, in pictures and on the page.
    let cells = std::fs::read(lab.path("m/cells.json")).unwrap();
    let table: iosonar_cells::Table = serde_json::from_slice(&cells).unwrap();
    let hatched: usize = table.grids().iter().flat_map(|grid| grid.noisy()).flatten().map(usize::from).sum();
    assert_eq!(page.matches("data-hatched=").count(), 2 * hatched);
    assert_eq!(page.contains("Hatched cells vary more than the cells differ"), hatched > 0);
    let read = &table.grids()[1];
    let hatched: usize = read.noisy().into_iter().flatten().map(usize::from).sum();
    assert_eq!((read.test, heat.matches("data-hatched=").count()), ("read", hatched));
    // One record size has no surface.
    lab.expect(0, "matrix t.tmp --sizes 64k,128k --records 4k --tests write --repeat 1 -o n");
    assert!(lab.path("n/cuts-write-sync.png").exists() && !lab.path("n/surface-write-sync.png").exists());
    // A single repetition says nothing about noise.
    assert!(!std::fs::read_to_string(lab.path("n/matrix.html")).unwrap().contains("data-hatched="));
}

#[test]
fn names_invalid_options_and_creates_nothing() {
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

/// The cells of finished phases come from the log, and the test file of the killed part is no obstacle.
#[test]
fn a_matrix_that_was_killed_is_continued() {
    slow!();
    let lab = lab();
    let words = "matrix t.tmp --sizes 64k..4m --records 4k --tests write,read --repeat 60";
    let running = Running::of(&mut lab.command(&format!("{words} -o m")));
    // Some phases have finished.
    lab.until_logged("m/part-1", 40_000);
    running.signal("KILL");
    assert_ne!(running.end().code, 0);
    let left = lab.path("t.tmp");
    let listed = lab.expect(0, "matrix --resume m --dry-run").out;
    let missing: usize = listed.lines().last().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(missing > 0 && missing < 840, "{listed}");
    // A file of another program stays, whatever its name.
    let own = std::fs::read(&left).unwrap_or_default();
    lab.file("t.tmp", "precious");
    let refused = lab.expect(2, "matrix --resume m").err;
    assert!(refused.contains("cells are taken from the log"), "{refused}");
    assert!(refused.contains("t.tmp: the file exists") && refused.contains("--destroy"), "{refused}");
    assert_eq!(std::fs::read(&left).unwrap(), b"precious");
    match own.is_empty() {
        true => std::fs::remove_file(&left).unwrap(),
        false => std::fs::write(&left, own).unwrap(),
    }
    let resumed = lab.expect(0, "matrix --resume m").err;
    assert!(resumed.contains(&format!("{missing} cells to measure")), "{resumed}");
    let found = repetitions(&lab, "m");
    assert!(found.len() == 14 && found.values().all(|repeats| repeats.len() == 60), "{found:?}");
    assert!(!left.exists());
    // The CPU time of the killed part is unknown.
    let cells = results(&lab, "m");
    let unknown = cells.iter().filter(|cell| cell["cpu_ns"].is_null()).count();
    assert!(
        unknown >= 1 && unknown == cells.len() - missing,
        "{unknown} of {}, {missing} missing",
        cells.len()
    );
    lab.expect(0, "matrix --resume m");
    assert_eq!(results(&lab, "m"), cells);
}

#[test]
fn measures_whole_matrix_in_one_process() {
    let lab = lab();
    let running = Running::of(
        &mut lab.command("matrix t.tmp --sizes 64k..4m --records 4k --tests write --repeat 900 -o m"),
    );
    until("the question is written", || lab.path("m/part-1").exists());
    let refused = lab.expect(2, "matrix --resume m").err;
    assert!(refused.contains("another process measures this matrix"), "{refused}");
    running.signal("INT");
    running.end();
}

/// Progress and remaining time are those of the whole matrix.
#[test]
fn progress_covers_the_whole_matrix() {
    slow!();
    let lab = lab();
    let words = "matrix t.tmp --sizes 256k..4m --records 4k --tests write,read --repeat 80 -o m --progress json \
                 --progress-every 50ms";
    let told = lab.expect(0, words).err;
    let lines: Vec<Value> = told.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    // 256, 512, 1024, 2048 and 4096 KiB, written and read 80 times.
    let bytes = 7936 * 1024 * 2 * 80u64;
    assert!(!lines.is_empty(), "{told}");
    let mut last = 0.0;
    for line in lines {
        assert_eq!(line["expected_bytes"], bytes, "{line}");
        let done = line["done"].as_f64().unwrap();
        assert!(
            (last..=1.0).contains(&done)
                && (done - line["bytes"].as_f64().unwrap() / bytes as f64).abs() < 1e-9
        );
        assert_eq!(line["left_ns"].is_u64(), done >= 0.01, "{line}");
        last = done;
    }
}

/// A table beside itself, beside one in which everything is faster by half, and beside one that lacks cells.
#[test]
fn matrices_are_compared_cell_by_cell() {
    let lab = lab();
    lab.expect(0, "matrix t.tmp --sizes 64k,128k --records 4k,64k --tests write,read --repeat 3 -o m");
    let text = std::fs::read_to_string(lab.path("m/cells.json")).unwrap();
    let changed = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut table: Value = serde_json::from_str(&text).unwrap();
        change(&mut table);
        lab.file(name, table.to_string());
    };
    let factor = |table: &mut Value, factor: f64| {
        for cell in table["results"].as_array_mut().unwrap() {
            cell["bytes_per_second"] = (cell["bytes_per_second"].as_f64().unwrap() * factor).into();
        }
    };
    changed("a.json", &|_| ());
    changed("b.json", &|table| factor(table, 1.5));
    changed("c.json", &|table| {
        factor(table, 0.5);
        table["results"].as_array_mut().unwrap().retain(|cell| cell["file_bytes"] == 65_536);
    });
    let comparisons = |words: &str| {
        let json = lab.expect(0, &format!("compare {words} --json")).out;
        serde_json::from_str::<Value>(&json).unwrap()["comparisons"].as_array().unwrap().clone()
    };
    let cells = |comparison: &Value| comparison["cells"].as_array().unwrap().clone();
    let same = comparisons("m a.json");
    assert_eq!(cells(&same[0]).len(), 8);
    for cell in cells(&same[0]) {
        assert_eq!((&cell["change_percent"], &cell["verdict"]), (&0.0.into(), &"no-difference-shown".into()));
    }
    let several = comparisons("a.json b.json c.json");
    assert_eq!(several.len(), 2);
    for cell in cells(&several[0]) {
        assert!((cell["change_percent"].as_f64().unwrap() - 50.0).abs() < 1e-6, "{cell}");
    }
    assert_eq!(cells(&several[1]).len(), 4);
    let missing = several[1]["only_in_a"].as_array().unwrap();
    assert!(missing.len() == 4 && missing.iter().all(|cell| cell["file_bytes"] == 131_072));
    let told = lab.expect(0, "compare a.json c.json").out;
    assert!(told.contains("Only in A (4): write 128KiB/4KiB sync"), "{told}");

    lab.expect(0, "compare a.json b.json c.json --html change.html");
    let page = std::fs::read_to_string(lab.path("change.html")).unwrap();
    // For each comparison two tests with three maps.
    assert_eq!(page.matches("<figure>").count(), 2 * 2 * 3);
    assert!(page.contains("+50 %") && page.contains("-50 %") && !page.contains("<script"));
    let csv = lab.expect(0, "compare a.json b.json c.json --csv").out;
    assert!(csv.starts_with("matrix,row,test,") && csv.contains("\n2,cell,write,131072,"), "{csv}");
    lab.expect(2, "compare a.json b.json --html change.html");
    lab.expect(2, "compare a.json m/part-1");
    lab.file("d.json", "{\"version\": 9}");
    lab.expect(2, "compare a.json d.json");
}

/// A regression ends the comparison with code 1. Rates without noise make sure that it is shown.
#[test]
fn regression_sets_exit_code() {
    let lab = lab();
    let table = |name: &str, factor: f64| {
        let cell = |repeat: u64| {
            let rate = 1e9 * factor * (1.0 + 0.001 * repeat as f64);
            serde_json::json!({
                "test": "read", "file_bytes": 65536, "record_bytes": 4096, "streams": 1, "method": "sync", "repeat": repeat,
                "bytes": 65536, "ops": 16, "elapsed_ns": 65536, "bytes_per_second": rate, "kib_per_second": 1,
                "ops_per_second": 1.0, "fsync_ns": 0, "close_ns": 0, "fsync_timed": false, "close_timed": false,
                "cached_before": null, "cached_after": null, "latency": null, "cpu_ns": 1, "per_stream": []
            })
        };
        let cells: Vec<Value> = (0..5).map(cell).collect();
        let json = serde_json::json!({ "version": 1, "tool": "t", "command": "c", "results": cells });
        lab.file(name, json.to_string());
    };
    table("a.json", 1.0);
    table("slow.json", 0.7);
    table("fast.json", 1.5);
    for (other, condition, code) in [
        ("slow.json", "read < -10%", 1),
        ("slow.json", "read < -60%", 0),
        ("fast.json", "read < -10%", 0),
        ("slow.json", "cells < -10%", 1),
        ("a.json", "any < -1%", 0),
        ("slow.json", "write < -10%", 2),
    ] {
        let mut command = lab.command(&format!("compare a.json {other}"));
        let ended = Ended::of(command.args(["--fail-if", condition]).output().unwrap());
        assert_eq!(ended.code, code, "{other} {condition}: {} {}", ended.out, ended.err);
    }
}

/// IOzone's output is imported as a table, and compared with another one: half as fast in each cell.
#[test]
fn tables_of_iozone_are_imported_and_compared() {
    let lab = lab();
    let text = |factor: u64| {
        let row = |kb: u64, rates: [u64; 4]| {
            let rates: String = rates.iter().map(|rate| format!("{:>9}", rate * factor)).collect();
            format!("{kb:>16}{:>8}{rates}\n", 64)
        };
        let head =
            "\tOutput is in kBytes/sec\n              kB  reclen    write  rewrite    read    reread\n";
        let rows = [row(1024, [30_000, 48_000, 13_000, 20_000]), row(2048, [57_000, 14_000, 11_000, 15_000])];
        format!("{head}{}\niozone test complete.\n", rows.concat())
    };
    lab.file("old.txt", text(2));
    lab.file("new.txt", text(1));
    let ended = lab.expect(0, "import iozone old.txt");
    assert_eq!(ended.out.trim(), "old.json");
    lab.expect(0, "import iozone new.txt -o new.json");
    let table: Value = serde_json::from_slice(&std::fs::read(lab.path("new.json")).unwrap()).unwrap();
    let results = table["results"].as_array().unwrap();
    assert_eq!(results.len(), 8);
    assert_eq!(results.iter().map(|cell| cell["kib_per_second"].as_u64().unwrap()).max(), Some(57_000));
    let compared = lab.expect(0, "compare old.json new.json --csv").out;
    // Each cell, and each test over its cells.
    assert_eq!(compared.matches(",-50.0000,").count(), 8 + 4, "{compared}");
    lab.expect(0, "compare old.json old.json");
    // Neither is replaced, and text that is not IOzone's is refused.
    assert!(lab.expect(2, "import iozone old.txt -o new.json").err.contains("--out new.json"));
    lab.file("other.txt", "nothing of IOzone\n");
    assert!(lab.expect(2, "import iozone other.txt").err.contains("there are no figures of IOzone"));
    assert!(lab.expect(2, "import old.txt new.txt -o x").err.contains("2 inputs are named"));
}
