//! Contents of a device after a replay, and runs on files.

use crate::common::*;
use iosonar_archive::Record;
use iosonar_content::SectorHeader;
use iosonar_plan::{Extent, Op, SECTOR};
use iosonar_testkit::{Image, LoopDevice, Mounted, tool};
use serde_json::Value;

/// Asserts that each written sector is that of its last writer, and all others are unchanged.
fn assert_last_writers(records: &[Record], run_id: u64, before: &[u8], after: &[u8]) -> usize {
    let mut last: Vec<Option<&Record>> = vec![None; after.len() / SECTOR as usize];
    let mut writes: Vec<&Record> = records.iter().filter(|r| r.op == Op::Write && r.is_completed()).collect();
    writes.sort_by_key(|r| r.completed);
    for write in &writes {
        for sector in write.executed.offset / SECTOR..write.executed.end() / SECTOR {
            // Writes to one sector complete in the order of their requests.
            assert!(last[sector as usize].is_none_or(|earlier| earlier.sequence < write.sequence));
            last[sector as usize] = Some(write);
        }
    }
    let sectors = before.as_chunks::<512>().0.iter().zip(after.as_chunks::<512>().0);
    for (sector, ((old, new), last)) in sectors.zip(&last).enumerate() {
        let Some(write) = last else {
            assert!(old == new, "sector {sector} was not to be written");
            continue;
        };
        let header = SectorHeader::decode(new).unwrap_or_else(|error| panic!("sector {sector}: {error}"));
        let want = SectorHeader {
            phase: 0,
            run_id,
            target: write.target,
            pass: 0,
            sector: sector as u64,
            sequence: write.sequence,
            due_ns: write.due.0,
            index: (sector as u64 - write.executed.offset / SECTOR) as u16,
            length: (write.executed.length / SECTOR) as u16,
        };
        assert_eq!(header, want, "last written by {write:?}");
    }
    last.iter().flatten().count()
}

#[test]
fn target_contains_the_last_write() {
    needs!();
    for (policy, strong, fill) in [("push-back", 0, 0), ("push-back", 1, 50), ("order", 1, 100)] {
        let device = LoopDevice::random(8);
        let before = device.bytes();
        let lab = lab();
        lab.file("load", load_text(&conflicting(8000, 8192, 64, 10_000)));
        lab.expect_done(
            &format!(
                "replay load -t {} --destroy --start-grace 0.1 --overlap {policy} --strong {strong} --fill-random {fill} --run-id 77 -o out",
                device.text()
            ),
        );
        let records = lab.records("out");
        assert!(records.iter().any(|r| r.released.is_some()));
        let written = assert_last_writers(&records, 77, &before, &device.bytes());
        println!("{policy} {strong}: {written} sectors hold their last writer");
        assert!(written > 4000);
    }
}

#[test]
fn only_equal_run_ids_write_equal_bytes() {
    needs!();
    let lines = conflicting(2000, 8192, 64, 10_000);
    let written = |run_id: u64, policy: &str| {
        let device = LoopDevice::of(Image::sparse(4), &[]);
        let lab = lab();
        lab.file("load", load_text(&lines));
        lab.expect_done(
            &format!(
                "replay load -t {} --destroy --start-grace 0.1 --overlap {policy} --fill-random 70 --run-id {run_id} -o out",
                device.text()
            ),
        );
        device.bytes()
    };
    let first = written(5, "push-back");
    assert!(first == written(5, "push-back"));
    assert!(first == written(5, "order"));
    assert!(first != written(6, "push-back"));
}

#[test]
fn two_targets_replay_their_own_loads() {
    needs!();
    let devices = [LoopDevice::random(8), LoopDevice::random(8)];
    let before = devices.each_ref().map(LoopDevice::bytes);
    let lab = lab();
    let loads = [conflicting(3000, 16_384, 64, 200_000), conflicting(1000, 8192, 16, 500_000)];
    lab.file("a", load_text(&loads[0]));
    lab.file("b", load_text(&loads[1]));
    lab.expect(
        0,
        &format!(
            "replay a b -t {} -t {} --destroy --start-grace 0.2 --run-id 9 -o out",
            devices[0].text(),
            devices[1].text()
        ),
    );
    let records = in_order(lab.records("out"));
    for (target, lines) in loads.iter().enumerate() {
        let of_target: Vec<Record> =
            records.iter().filter(|r| usize::from(r.target) == target).copied().collect();
        assert_eq!(of_target.len(), lines.len());
        for (record, line) in of_target.iter().zip(lines) {
            assert_eq!((record.op, record.due.0), (line.op, line.time));
            assert_eq!(record.executed, Extent::from_sectors(line.sector, line.length).unwrap());
        }
        assert!(verdict(&of_target, 1).is_clean());
        assert_last_writers(&of_target, 9, &before[target], &devices[target].bytes());
    }
    // They ran concurrently: each started before the other ended.
    let ends = |target: u16| {
        let times = records.iter().filter(move |r| r.target == target);
        (
            times.clone().filter_map(|r| r.submitted).min().unwrap(),
            times.filter_map(|r| r.completed).max().unwrap(),
        )
    };
    let (a, b) = (ends(0), ends(1));
    assert!(a.0 < b.1 && b.0 < a.1);
}

#[test]
fn files_support_direct_buffered_and_sync_access() {
    needs!("mkfs.ext4");
    let disk = LoopDevice::random(64);
    tool("mkfs.ext4", &["-q", "-F", "-E", "nodiscard", disk.text()]);
    let mounted = Mounted::new(disk.path(), "rw");
    let file = mounted.path().join("target");
    let before = vec![0xa5; 4 << 20];
    for (options, stamped) in
        [("", false), ("--sync", false), ("--buffered", true), ("--buffered --sync", true)]
    {
        std::fs::write(&file, &before).unwrap();
        tool("sync", &["-f", file.to_str().unwrap()]);
        let lab = lab();
        lab.file("load", load_text(&conflicting(500, 8192, 16, 100_000)));
        let ended = lab.expect(
            0,
            &format!("replay load -t {} --start-grace 0.1 --run-id 3 {options} -o out", file.display()),
        );
        let records = in_order(lab.records("out"));
        assert_eq!(records.len(), 500);
        assert!(verdict(&records, 1).is_clean());
        assert_last_writers(&records, 3, &before, &std::fs::read(&file).unwrap());
        let summary: Value = serde_json::from_str(&lab.expect(0, "show out --json").out).unwrap();
        let stamp = "PAGE CACHE -- NOT A STORAGE RESULT";
        let stamps = summary["stamps"].as_array().unwrap();
        assert_eq!(stamps.iter().any(|s| s == stamp), stamped, "{options}");
        assert_eq!(ended.out.contains(stamp), stamped, "{}", ended.out);
        println!("{options:20} median latency {} ns", summary["latency"]["all"]["p50_ns"]);
    }
}
