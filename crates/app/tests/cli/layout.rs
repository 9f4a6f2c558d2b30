//! Layout of files, as far as it needs no device: refusals, names, directories, forms. Maps themselves are compared with other tools in
//! `devices layout::`.

use crate::*;
use iosonar_plan::Op;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

/// A file of 64 KiB that is written to disk.
fn written(lab: &Lab, name: &str) {
    let path = lab.file(name, vec![7; 65_536]);
    std::fs::File::open(path).unwrap().sync_all().unwrap();
}

/// Whether the file system of the lab has maps.
pub fn has_maps(lab: &Lab) -> bool {
    written(lab, "probe");
    lab.run("layout map probe").code == 0
}

#[test]
fn rejects_non_regular_files_without_opening() {
    let lab = lab();
    let made = std::process::Command::new("mkfifo").arg(lab.path("fifo")).status().unwrap();
    assert!(made.success());
    let _socket = std::os::unix::net::UnixListener::bind(lab.path("socket")).unwrap();
    for verb in ["map", "evict", "cached"] {
        for (name, words) in [
            ("fifo", "it is a FIFO (named pipe) and no regular file"),
            ("socket", "it is a socket"),
            ("/dev/null", "it is a character device"),
            ("nowhere", "No such file"),
        ] {
            let mut child = lab.command(&format!("layout {verb} {name}")).spawn().unwrap();
            // A command that blocks in open(2) would never end.
            for _ in 0..500 {
                if child.try_wait().unwrap().is_some() {
                    break;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            let is_over = child.try_wait().unwrap().is_some();
            if !is_over {
                child.kill().unwrap();
            }
            let ended = iosonar_testkit::Ended::of(child.wait_with_output().unwrap());
            assert!(is_over, "layout {verb} {name} blocks");
            assert_eq!((ended.code, ended.out.as_str()), (2, ""), "{verb} {name}: {}", ended.err);
            assert!(ended.err.contains(name) && ended.err.contains(words), "{verb}: {}", ended.err);
        }
    }
}

#[test]
fn shows_free_space_of_the_containing_file_system() {
    let lab = lab();
    written(&lab, "a");
    assert!(std::process::Command::new("mkfifo").arg(lab.path("fifo")).status().unwrap().success());
    for (name, words) in [
        ("fifo", "iosonar: fifo: it is no regular file and no directory: name one"),
        ("nowhere", "iosonar: nowhere: No such file"),
        ("/proc", "iosonar: /proc: proc does not report its free space by GETFSMAP"),
    ] {
        let ended = lab.expect(2, &format!("layout free {name}"));
        assert!(ended.err.contains(words), "{}", ended.err);
    }
    let ended = lab.run("layout free --json a");
    if ended.code == 2 {
        assert!(ended.err.contains("iosonar: a: ") && ended.err.contains("free space"), "{}", ended.err);
        return iosonar_testkit::skip("free_space", "the directory for temporary files reports none");
    }
    let value: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&value["version"], &value["path"]), (&1.into(), &"a".into()));
    assert!(value["free_space"]["ranges"].as_u64() > Some(0), "{value:#}");
    let text = lab.expect(0, "layout free . --no-sync").out;
    assert!(text.starts_with(".: ") && text.contains("% OF FREE"), "{text}");
    let text =
        lab.expect(0, "layout run . --size 64k --methods buffered+64k --rounds 1 --no-progress -o r").out;
    assert!(text.contains("\nfree space before: "), "{text}");
    let answer = std::fs::read(lab.path("r/layout.json")).unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert!(answer["free_space"]["ranges"].as_u64() > Some(0), "{answer:#}");
    assert_eq!(answer["methods"][0].get("free_space"), None);
}

#[test]
fn names_failing_files_and_continues_with_others() {
    let lab = lab();
    if !has_maps(&lab) {
        return iosonar_testkit::skip(
            "files_that_fail",
            "the directory for temporary files has no extent maps",
        );
    }
    written(&lab, "a");
    let ended = lab.expect(1, "layout map nowhere a --json");
    let value: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!((&value["files"][0]["path"], &value["errors"][0]["path"]), (&"a".into(), &"nowhere".into()));
    assert!(ended.err.contains("iosonar: nowhere: No such file"), "{}", ended.err);
    assert_eq!(lab.expect(1, "layout cached nowhere a").out.lines().count(), 3);
}

#[test]
fn map_json_has_version_and_sizes_in_bytes() {
    let lab = lab();
    if !has_maps(&lab) {
        return iosonar_testkit::skip(
            "json_of_a_map",
            "the directory for temporary files has no extent maps",
        );
    }
    written(&lab, "a");
    std::fs::File::options().write(true).open(lab.path("a")).unwrap().set_len(1 << 20).unwrap();
    let value: Value = serde_json::from_str(&lab.expect(0, "layout map --json a").out).unwrap();
    assert_eq!(value["version"], 1);
    let file = &value["files"][0];
    for (field, expected) in [
        ("size_bytes", 1u64 << 20),
        ("written_bytes", 65_536),
        ("hole_bytes", (1 << 20) - 65_536),
        ("holes", 1),
    ] {
        assert_eq!(file[field], expected, "{field}: {file:#}");
    }
    for field in [
        "unwritten_bytes",
        "beyond_eof_bytes",
        "shared_bytes",
        "encoded_bytes",
        "inline_bytes",
        "delalloc_bytes",
        "unknown_bytes",
        "gap_bytes",
        "backward_jumps",
        "extent_size_hint_bytes",
    ] {
        assert!(file[field].is_u64(), "{field}: {file:#}");
    }
    assert!(file.as_object().unwrap().contains_key("groups_used"));
    assert_eq!(
        file["histogram"].as_array().unwrap().iter().map(|c| c["bytes"].as_u64().unwrap()).sum::<u64>(),
        65_536
    );
    for field in ["min", "median", "max", "mean"] {
        assert!(file["record_bytes"][field].is_number(), "{field}");
    }
    assert!(file["extents"].as_array().is_some_and(|rows| rows.len() > 1));
    let value: Value = serde_json::from_str(&lab.expect(0, "layout map --json --summary a").out).unwrap();
    assert!(value["files"][0].get("extents").is_none());
}

#[test]
fn directories_are_walked_and_names_are_shown_escaped() {
    let lab = lab();
    if !has_maps(&lab) {
        return iosonar_testkit::skip("directories", "the directory for temporary files has no extent maps");
    }
    std::fs::create_dir_all(lab.path("tree/deep")).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"tree/deep/a\x1b[31m\nb");
    std::fs::write(lab.path("").join(odd), [7; 4096]).unwrap();
    written(&lab, "tree/plain");
    std::os::unix::fs::symlink("..", lab.path("tree/up")).unwrap();
    for args in ["layout map tree", "layout map tree --extents", "layout evict tree", "layout cached tree"] {
        let ended = lab.run(args);
        assert!(ended.out.contains("a\\u{1b}[31m\\nb"), "{args}: {}{}", ended.out, ended.err);
        assert!(!ended.out.contains('\x1b') && !ended.err.contains('\x1b'), "{args}");
        assert!(ended.out.contains("tree/plain") && !ended.out.contains("probe"), "{args}: {}", ended.out);
    }
    let text = lab.expect(0, "layout map tree --top 1").out;
    assert!(text.contains("and 1 more file;") && text.contains("2 files, 68.0 KiB: "), "{text}");
    let only = lab.expect(0, "layout map tree/plain --unit blocks").out;
    assert!(only.contains("in blocks of 4096 bytes") && only.contains("[0..15]:"), "{only}");
}

#[test]
fn evicting_an_uncached_file_succeeds() {
    let lab = lab();
    lab.target("sparse", 1 << 20);
    let value: Value = serde_json::from_str(&lab.expect(0, "layout evict --json sparse").out).unwrap();
    assert_eq!((&value["version"], &value["files"][0]["evicted"]), (&1.into(), &true.into()));
    assert_eq!(value["files"][0]["after"]["cached_pages"], 0);
    let value: Value = serde_json::from_str(&lab.expect(0, "layout cached --json sparse").out).unwrap();
    let file = &value["files"][0];
    assert_eq!(
        (&file["state"], &file["pages"], &file["dirty_pages"]),
        (&"cold".into(), &256.into(), &0.into())
    );
}

#[test]
fn picture_format_follows_name_and_replaces_nothing() {
    let lab = lab();
    if !has_maps(&lab) {
        return iosonar_testkit::skip("a_picture", "the directory for temporary files has no extent maps");
    }
    for (name, start) in [("a.png", &b"\x89PNG"[..]), ("a.svg", b"<svg "), ("A.PNG", b"\x89PNG")] {
        let text = lab.expect(0, &format!("layout map --summary --picture {name} probe")).out;
        assert!(text.contains("mapping record") && !text.contains("FILE-OFFSET"), "{text}");
        assert!(std::fs::read(lab.path(name)).unwrap().starts_with(start), "{name}");
    }
    let svg = std::fs::read_to_string(lab.path("a.svg")).unwrap();
    assert!(svg.contains("Blocks of probe") && svg.contains("offset in the file"));
    for (args, words) in [
        ("layout map --picture a.png probe", "exists"),
        ("layout map --picture a.gif probe", "give a name that ends in .png or .svg"),
        ("layout map --picture b.png .", "it shows one file"),
        ("layout map --picture b.png probe a.png", "it shows one file"),
    ] {
        let ended = lab.expect(2, args);
        assert!(ended.err.contains(words) && ended.out.is_empty(), "{args}: {}", ended.err);
    }
    assert!(!lab.path("b.png").exists() && !lab.path("a.gif").exists());
    lab.expect(0, "layout map --picture a.png --force probe");
    // A mapped file is never replaced by its picture.
    std::fs::copy(lab.path("probe"), lab.path("probe.png")).unwrap();
    lab.expect(2, "layout map --picture probe.png --force probe.png");
    assert_eq!(std::fs::read(lab.path("probe.png")).unwrap().len(), 65_536);
}

/// Acceptance 44: counts are derived, and the last write is short.
#[test]
fn created_file_has_exactly_the_requested_size() {
    let lab = lab();
    if !has_maps(&lab) {
        return;
    }
    lab.expect(
        0,
        "layout run . --size 1000001 --methods buffered+64k,buffered+whole --rounds 3 --no-progress -o r",
    );
    let answer: serde_json::Value =
        serde_json::from_slice(&std::fs::read(lab.path("r/layout.json")).unwrap()).unwrap();
    for method in answer["methods"].as_array().unwrap() {
        assert_eq!(
            (&method["files"][0]["size_bytes"], &method["created_bytes"]),
            (&1_000_001.into(), &1_000_001.into())
        );
        assert!(method["scan"].as_array().unwrap().iter().all(|scan| scan["bytes"] == 1_000_001));
    }
    let same = lab.expect(
        0,
        "layout run . --size 64k --methods buffered+64k,direct+64k --rounds 4 --no-progress --json -o s",
    );
    let again = lab.expect(
        0,
        "layout run . --size 64k --methods buffered+64k,direct+64k --rounds 4 --no-progress --json -o t",
    );
    let orders = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["scan_orders"].clone();
    assert_eq!(orders(&same.out), orders(&again.out));
    // Files are removed, and so are the directories created for them.
    lab.expect(0, "layout run . --size 64k --methods direct+4k+dirs=2 --rounds 1 --no-progress -o u");
    let left: Vec<_> =
        std::fs::read_dir(lab.path("")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("iosonar-")), "{left:?}");
    lab.expect(0, "layout run . --size 64k --methods direct+4k --rounds 1 --keep --no-progress -o v");
    assert_eq!(lab.path("iosonar-direct+4k").metadata().unwrap().len(), 65_536);
    let exists = lab.expect(2, "layout run . --size 64k --methods direct+4k --rounds 1 --no-progress -o w");
    assert!(exists.err.contains("iosonar-direct+4k"), "{}", exists.err);
    assert_eq!(lab.path("iosonar-direct+4k").metadata().unwrap().len(), 65_536);
    let dir = lab.path("iosonar-direct+4k+dirs=2-2.dir");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("file"), "precious").unwrap();
    lab.expect(2, "layout run . --size 64k --methods direct+4k+dirs=2 --rounds 1 --no-progress -o x");
    assert_eq!(std::fs::read(dir.join("file")).unwrap(), b"precious");
    assert!(!lab.path("iosonar-direct+4k+dirs=2-1.dir").exists());
}

/// A file that is reopened for each write is flushed after several of them, within the time of its creation.
#[test]
fn a_file_is_flushed_after_several_openings() {
    let lab = lab();
    if !has_maps(&lab) {
        return;
    }
    let method = "buffered+4k+reopen=4k+fsync=16k";
    lab.expect(0, &format!("layout run . --size 64k --methods {method} --rounds 1 --no-progress -o r"));
    let records = lab.records("r/create");
    let passes = |op: Op| {
        let of_op = records.iter().filter(|r| r.op == op && r.is_completed() && r.phase == 0);
        of_op.map(|r| r.pass).collect::<Vec<_>>()
    };
    assert_eq!(passes(Op::Fsync), [3, 7, 11, 15]);
    assert_eq!(passes(Op::Close), (0..16).collect::<Vec<_>>());
    let refused = lab.expect(2, "layout run . --size 64k --methods buffered+4k+reopen=8k+fsync=20k").err;
    assert!(refused.contains("fsync= is larger than reopen= and no multiple of it"), "{refused}");
}

#[test]
fn rejects_impossible_experiments() {
    let lab = lab();
    for (args, words) in [
        ("--size 0", "--size"),
        ("--size 1m --methods dirct", "'dirct'"),
        ("--size 1m --methods direct+64k,direct+64k", "named twice"),
        ("--size 100000 --methods truncate+buffered+64k+random", "no multiple"),
        ("--size 1000 --methods direct+4k", "no multiple"),
        ("--size 1m --methods buffered+64k+fsync=100k", "no multiple"),
        ("--size 1m --age holes=0", "--age"),
        ("--size 1m --fs ext4", "--scratch"),
        ("--size 1m --scratch 1m", "make it larger"),
        ("--size 1e", "free"),
        ("--size 1m --rounds 0", "--rounds"),
    ] {
        let refused = lab.expect(2, &format!("layout run . --no-progress -o r {args}"));
        assert!(refused.err.contains(words), "{args}: {}", refused.err);
        assert!(!lab.path("r").exists(), "{args}");
    }
    lab.file("file", "");
    let refused = lab.expect(2, "layout run file --size 1m");
    assert!(refused.err.contains("no directory"), "{}", refused.err);
}
