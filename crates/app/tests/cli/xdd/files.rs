//! Files that are created, recreated, reopened, allocated, deleted; and directories prepended to their names.

use super::*;
use std::os::unix::fs::MetadataExt;

// Check 38.
#[test]
fn recreates_or_reopens_files_between_passes() {
    let lab = lab();
    let inode = || lab.path("N").metadata().unwrap().ino();
    lab.file("N", [1; 100_000]);
    // A hard link keeps the old inode from being reused.
    std::fs::hard_link(lab.path("N"), lab.path("old")).unwrap();
    let before = inode();
    let ended =
        xdd(&lab, 0, "-op write -targets 1 N -reqsize 8 -numreqs 4 -passes 3 -recreatefiles -verbose");
    assert_ne!(inode(), before);
    assert_eq!(lab.path("N").metadata().unwrap().len(), 32_768);
    assert!(ended.out.contains("OpenTime_usec"));
    let all = rows(&ended.out);
    let opened = |row: &Row| row.more[0].parse::<f64>().unwrap() > 0.0;
    assert!(opened(labelled(&all, "T PASS0002")[0]) && opened(labelled(&all, "T PASS0003")[0]), "{all:?}");
    let before = inode();
    for queue in [1, 3] {
        let args = "-op write -targets 1 N -reqsize 8 -numreqs 4 -passes 3 -reopen -verbose";
        let ended = xdd(&lab, 0, &format!("{args} -queuedepth {queue}"));
        assert_eq!(inode(), before);
        assert!(ended.out.contains("OpenTime_usec"));
    }
    assert!(!xdd(&lab, 0, "-op read -targets 1 F -reqsize 8 -numreqs 4 -passes 2").out.contains("OpenTime"));
}

#[test]
fn each_pass_writes_a_separate_file() {
    let lab = lab();
    for depth in [1, 3] {
        let args = "-op write -targets 1 g1 -reqsize 8 -numreqs 4 -passes 3 -createnewfiles -datapattern x";
        xdd(&lab, 0, &format!("{args} -queuedepth {depth}"));
        for pass in 1..=3 {
            let name = format!("g1.{pass:08}");
            assert!(std::fs::read(lab.path(&name)).unwrap() == [b'x'; 32_768], "{name}");
            std::fs::remove_file(lab.path(&name)).unwrap();
        }
        assert!(!lab.path("g1").exists() && !lab.path("g1.00000004").exists());
    }
}

// Check 40, and that no file of the same name elsewhere is touched: the real program deletes it.
#[test]
fn prepends_directory_to_name_verbatim() {
    let lab = lab();
    std::fs::create_dir(lab.path("d")).unwrap();
    let write = "-op write -targets 1 N -reqsize 8 -numreqs 2 -passes 2";
    lab.file("N", b"mine");
    xdd(&lab, 0, &format!("{write} -targetdir d/"));
    assert_eq!(lab.path("d/N").metadata().unwrap().len(), 16_384);
    let ended = xdd(&lab, 0, &format!("{write} -targetdir d"));
    assert_eq!(lab.path("dN").metadata().unwrap().len(), 16_384);
    assert!(ended.err.contains("no slash"), "{}", ended.err);
    let made = lab.path("d/N").metadata().unwrap().ino();
    std::fs::hard_link(lab.path("d/N"), lab.path("d/old")).unwrap();
    xdd(&lab, 0, &format!("{write} -targetdir d/ -recreatefiles"));
    assert_ne!(lab.path("d/N").metadata().unwrap().ino(), made);
    xdd(&lab, 0, &format!("{write} -targetdir d/ -deletefile"));
    assert!(!lab.path("d/N").exists());
    assert_eq!(std::fs::read(lab.path("N")).unwrap(), b"mine");
    assert!(lab.path("dN").exists());
}

#[test]
fn deletes_files_at_end_on_request() {
    let lab = lab();
    xdd(&lab, 0, "-op read -targets 2 F G -reqsize 8 -numreqs 2 -deletefile target 1");
    assert!(lab.path("F").exists() && !lab.path("G").exists());
    xdd(&lab, 0, "-op write -targets 1 N -reqsize 8 -numreqs 2 -passes 2 -createnewfiles -deletefile");
    let left: Vec<String> = snapshot(&lab).into_keys().filter(|name| name.contains("/N")).collect();
    assert!(left.is_empty(), "{left:?}");
    // Also with added passes, the last of which came too late.
    xdd(
        &lab,
        0,
        "-op write -targets 1 N -reqsize 8 -numreqs 4 -createnewfiles -deletefile -runtime 0.2 -throttle ops 200",
    );
    let left: Vec<String> = snapshot(&lab).into_keys().filter(|name| name.contains("/N")).collect();
    assert!(left.is_empty(), "{left:?}");
    // A refused command deletes nothing.
    xdd(&lab, 2, "-op read -targets 1 H -deletefile");
    assert!(lab.path("H").exists());
}

// Check 41.
#[test]
fn start_offset_leaves_a_hole() {
    let lab = lab();
    xdd(&lab, 0, "-startoffset 100 -op write -reqsize 8 -numreqs 4 -targets 1 N -datapattern x");
    let all = std::fs::read(lab.path("N")).unwrap();
    assert_eq!(all.len(), 135_168);
    assert!(all[..102_400].iter().all(|b| *b == 0) && all[102_400..].iter().all(|b| *b == b'x'));
}

// Writing a part of a file leaves the rest.
#[test]
fn partial_write_keeps_rest_of_file() {
    let lab = lab();
    lab.file("N", vec![0xee; 100_000]);
    xdd(&lab, 0, "-op write -targets 1 N -reqsize 1 -numreqs 2 -startoffset 10 -datapattern x -syncwrite");
    let all = std::fs::read(lab.path("N")).unwrap();
    assert_eq!(all.len(), 100_000);
    assert!(all[10_240..12_288].iter().all(|b| *b == b'x'));
    assert!(all[..10_240].iter().chain(&all[12_288..]).all(|b| *b == 0xee));
}

// Check 42.
#[test]
fn space_is_allocated_before_writing() {
    let lab = lab();
    let ended = lab.run("xdd -preallocate 1000 -op write -targets 1 N -numreqs 4 -reqsize 8");
    let file = lab.path("N").metadata();
    match ended.code {
        0 => {
            let file = file.unwrap();
            assert_eq!(file.len(), 32_768);
            assert!(file.blocks() * 512 >= 1_024_000, "{} blocks", file.blocks());
        }
        code => assert!(code == 2 && ended.err.contains("allocat"), "{}", ended.err),
    }
    // It has no effect on reads.
    let blocks = lab.path("F").metadata().unwrap().blocks();
    xdd(&lab, 0, "-preallocate 1000 -op read -targets 1 F -numreqs 4 -reqsize 8");
    assert_eq!(lab.path("F").metadata().unwrap().blocks(), blocks);
}

#[test]
fn direct_io_is_used_or_rejected() {
    let lab = lab();
    let ended = lab.run("xdd -dio -op write -targets 1 N -reqsize 8 -numreqs 4 -datapattern x");
    match ended.code {
        0 => {
            assert!(ended.out.contains("Direct I/O, enabled"), "{}", ended.out);
            assert!(std::fs::read(lab.path("N")).unwrap() == [b'x'; 32_768]);
        }
        // File systems in memory may lack it.
        code => assert!(code == 2 && ended.err.contains("direct"), "{}", ended.err),
    }
}

// Section 1: character devices need no permission; they store nothing, so the result is stamped.
#[test]
fn reads_and_writes_null_zero_and_full_devices() {
    let lab = lab();
    assert_eq!(
        moved(&lab, "-op write -targets 1 /dev/null -reqsize 64 -numreqs 10 -passes 2 -deletefile"),
        (1_310_720, 20)
    );
    assert!(std::path::Path::new("/dev/null").exists());
    xdd(
        &lab,
        0,
        "-op read -targets 1 /dev/zero -reqsize 64 -numreqs 10 -datapattern hex 00 -verify contents -out z",
    );
    let stamps = std::fs::read_to_string(lab.path("z").join("summary.json")).unwrap();
    assert!(stamps.contains("NOT A STORAGE RESULT"), "{stamps}");
    let ended = xdd(&lab, 1, "-op write -targets 1 /dev/full -numreqs 3");
    assert!(ended.err.contains("No space left"), "{}", ended.err);
    let refused = xdd(&lab, 2, "-op read -targets 1 /dev/zero -dio -numreqs 3");
    assert!(refused.err.contains("no direct I/O"), "{}", refused.err);
    let refused = xdd(&lab, 2, "-op write -targets 1 /dev/urandom -numreqs 3");
    assert!(refused.err.contains("only null, zero and full are targets"), "{}", refused.err);
}
