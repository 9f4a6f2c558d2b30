//! Data written to a real file: its writers, and its compressibility. Acceptance 35.

use crate::*;
use iosonar_content::{HEADER, SectorHeader};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;

const SECTORS: u64 = 2_048;

/// 32 writes of 64 sectors, each once, over 1 MiB; then half a target that is only read.
fn load() -> String {
    let times: Vec<String> = (0..33).map(|i| format!("0.{i:03}")).collect();
    let write = |i: usize| (times[i].as_str(), (i as u64 * 7 % 32) * 64, 64, 'W');
    let mut load: Vec<_> = (0..32).map(write).collect();
    load.push((times[32].as_str(), SECTORS, 64, 'R'));
    rows(&load)
}

/// Replays the load and returns the file's contents.
fn written(lab: &Lab, name: &str, options: &str) -> Vec<u8> {
    let path = lab.target(name, 2 * SECTORS * 512);
    lab.file("l.load", load());
    lab.expect(
        0,
        &format!("replay l.load -t {name} --start-grace 0 --no-progress {options} -o {name}.result"),
    );
    let mut bytes = std::fs::read(path).unwrap();
    let rest = bytes.split_off((SECTORS * 512) as usize);
    assert!(rest.iter().all(|b| *b == 0), "what the load does not write stays as it was");
    bytes
}

/// Whether this file can be opened with `O_DIRECT`.
pub fn opens_directly(path: &std::path::Path) -> bool {
    let o_direct = if cfg!(any(target_arch = "aarch64", target_arch = "arm")) { 0o200_000 } else { 0o40_000 };
    std::fs::File::options().read(true).custom_flags(o_direct).open(path).is_ok()
}

/// Whether files in a lab can be opened with `O_DIRECT`.
pub fn has_direct_io(lab: &Lab) -> bool {
    opens_directly(&lab.file("probe", ""))
}

pub fn share_after_zlib(bytes: &[u8]) -> f64 {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap().len() as f64 / bytes.len() as f64
}

fn sectors(bytes: &[u8]) -> &[[u8; 512]] {
    bytes.as_chunks::<512>().0
}

/// Asserts that every sector's header names its writer.
fn headers_are_right(lab: &Lab, name: &str, bytes: &[u8], run_id: u64) {
    let records = sorted(lab, &format!("{name}.result"));
    for (at, sector) in sectors(bytes).iter().enumerate() {
        let header = SectorHeader::decode(sector).unwrap_or_else(|e| panic!("sector {at}: {e}"));
        assert_eq!((header.run_id, header.sector, header.target, header.pass), (run_id, at as u64, 0, 0));
        let record = &records[header.sequence as usize];
        assert!(record.executed.offset <= at as u64 * 512 && at as u64 * 512 < record.executed.end());
        assert_eq!(header.due_ns, record.due.0);
    }
}

fn fills(access: &str) {
    let lab = lab();
    let zeros = written(&lab, "zeros", &format!("{access} --run-id 5 --fill-random 0"));
    headers_are_right(&lab, "zeros", &zeros, 5);
    assert!(sectors(&zeros).iter().all(|s| s[HEADER..].iter().all(|b| *b == 0)));

    let full = written(&lab, "full", &format!("{access} --run-id 6"));
    headers_are_right(&lab, "full", &full, 6);
    let share = share_after_zlib(&full);
    assert!(share > 0.98, "{share}");
    let distinct: std::collections::HashSet<_> = sectors(&full).iter().map(|s| &s[HEADER..]).collect();
    assert_eq!(distinct.len(), SECTORS as usize, "no two sectors are equal");

    let half = written(&lab, "half", &format!("{access} --run-id 7 --fill-random 50"));
    headers_are_right(&lab, "half", &half, 7);
    let share = share_after_zlib(&half);
    assert!((0.45..0.60).contains(&share), "{share}");
}

#[test]
fn buffered_writes_carry_headers_and_requested_fill() {
    fills("--buffered");
}

#[test]
fn direct_writes_carry_headers_and_requested_fill() {
    if has_direct_io(&lab()) {
        fills("");
    } else {
        iosonar_testkit::skip(
            "direct_writes_carry_headers_and_requested_fill",
            "no O_DIRECT on the temporary directory",
        );
    }
}

#[test]
fn only_equal_run_ids_write_equal_bytes() {
    let lab = lab();
    for fill in [0, 100] {
        let run = |name: &str, id: u64| {
            written(&lab, name, &format!("--buffered --fill-random {fill} --run-id {id}"))
        };
        let first = run(&format!("a{fill}"), 11);
        assert!(first == run(&format!("b{fill}"), 11), "fill {fill}: equal ids write different bytes");
        let other = run(&format!("c{fill}"), 12);
        assert!(sectors(&first).iter().zip(sectors(&other)).all(|(a, b)| a != b));
    }
}

/// Asserts that no compressor saves space, and no block of 4 KiB appears twice in all of `contents`.
fn is_incompressible_and_unique(contents: &[Vec<u8>]) {
    let mut blocks = std::collections::HashSet::new();
    for (number, bytes) in contents.iter().enumerate() {
        let share = share_after_zlib(bytes);
        assert!(share > 0.95, "content {number}: {share}");
        assert!(bytes.chunks(4096).all(|block| blocks.insert(block)), "content {number} has a block again");
    }
}

// Small requests, large ones whose data is made in slices, several workers, due times, and a mix with reads.
#[test]
fn runs_write_unique_incompressible_data_by_default() {
    slow!();
    for (name, size, pattern) in [
        ("small", 1 << 20, "--rw randwrite --bs 4k --iodepth 8"),
        ("large", 4 << 20, "--rw write --bs 1m --iodepth 4"),
        ("odd", 17 * (68 << 10), "--rw write --bs 68k --iodepth 2"),
        ("jobs", 1 << 20, "--rw randwrite --bs 16k --numjobs 3 --overlap allow"),
        ("due", 1 << 20, "--rw write --bs 64k --rate-iops 4000 --iodepth 2"),
        ("steps", 1 << 20, "--steps sequential --rw write --bs 32k"),
    ] {
        let lab = lab();
        let run = |target: &str, more: &str| {
            let path = lab.target(target, size);
            let args = format!("run -t {target} --size {size} {pattern} --buffered --no-progress {more}");
            lab.expect(0, &format!("{args} -o {target}.result"));
            std::fs::read(path).unwrap()
        };
        let once = run("once", "--run-id 5");
        assert!(once == run("again", "--run-id 5"), "{name}: equal ids write different bytes");
        let twice = run("twice", "--run-id 5 --passes 2");
        let other = run("other", "");
        for bytes in [&once, &twice, &other] {
            let headers = sectors(bytes).iter().map(|s| SectorHeader::decode(s).expect(name));
            assert!(headers.enumerate().all(|(at, header)| header.sector == at as u64), "{name}");
        }
        is_incompressible_and_unique(&[once, twice, other]);
    }
}

#[test]
fn replays_and_plans_default_to_incompressible_data() {
    let lab = lab();
    is_incompressible_and_unique(&[written(&lab, "a", "--buffered"), written(&lab, "b", "--buffered")]);
    let shown = lab.expect(0, "run -t t.img --rw write --bs 4k --size 1m --buffered --show-plan").out;
    assert!(shown.contains("[fill]\nrandom_percent = 100\n"), "{shown}");
    for (name, fill, random) in
        [("full", "", true), ("empty", "[fill]\n", true), ("zeros", "[fill]\nrandom_percent = 0\n", false)]
    {
        lab.file("t.img", vec![0; 1 << 20]);
        lab.file("plan.toml", shown.replace("[fill]\nrandom_percent = 100\n", fill));
        lab.expect(0, &format!("run plan.toml --no-progress -o {name}"));
        let share = share_after_zlib(&std::fs::read(lab.path("t.img")).unwrap());
        assert!(if random { share > 0.95 } else { share < 0.1 }, "{name}: {share}");
    }
}

#[test]
fn front_ends_keep_data_patterns_of_their_tools() {
    let lab = lab();
    let path = lab.file("t.img", vec![0xff; 1 << 20]);
    let plan = lab.expect(0, "blkreplay t.img --show-plan").out;
    assert!(plan.contains("[fill]\nrandom_percent = 0\n"), "{plan}");
    let xdd = "xdd -target t.img -op write -reqsize 8 -blocksize 4096 -numreqs 8";
    let plan = lab.expect(0, &format!("{xdd} -show-plan")).out;
    assert!(plan.contains("random_percent = 0\n") && plan.contains("byte = 0\n"), "{plan}");
    lab.expect(0, xdd);
    let bytes = std::fs::read(path).unwrap();
    assert!(
        bytes[..8 * 8 * 4096].iter().all(|b| *b == 0) && bytes[8 * 8 * 4096..].iter().all(|b| *b == 0xff)
    );
}

#[test]
fn a_run_without_an_id_gets_a_new_one() {
    let lab = lab();
    let first = written(&lab, "a", "--buffered --fill-random 100");
    assert!(first != written(&lab, "b", "--buffered --fill-random 100"));
}

#[test]
fn reads_do_not_change_the_target() {
    let lab = lab();
    lab.file("t.img", vec![0x5a; 1 << 20]);
    lab.file("l.load", load().replace("; W ;", "; R ;"));
    let ended = lab.expect(
        0,
        "replay l.load -t t.img --buffered --start-grace 0 --no-progress -o r --start 0 --end 0.031",
    );
    assert!(!ended.err.contains("overwritten"), "{}", ended.err);
    assert!(std::fs::read(lab.path("t.img")).unwrap().iter().all(|b| *b == 0x5a));
    let dry = lab.expect(0, "replay l.load -t t.img --dry-run --start-grace 0 --no-progress -o dry");
    assert!(!dry.err.contains("overwritten"), "{}", dry.err);
}

// A dry run touches nothing, writes or not.
#[test]
fn engines_without_io_do_not_touch_the_target() {
    let lab = lab();
    lab.file("l.load", load());
    for engine in ["null", "sim"] {
        lab.file("t.img", vec![0x5a; 1 << 20]);
        lab.expect(
            0,
            &format!("replay l.load -t t.img --engine {engine} --start-grace 0 --no-progress -o {engine}"),
        );
        assert!(std::fs::read(lab.path("t.img")).unwrap().iter().all(|b| *b == 0x5a), "{engine}");
    }
}
