//! Discards of real devices: discards by mkfs are recorded, replayed, and found in the kernel's own trace of the replay.

use crate::common::*;
use crate::record::{check_kernel, recorder, stop};
use iosonar_archive::{Outcome, Record};
use iosonar_plan::Op;
use iosonar_testkit::{Image, LoopDevice, Mounted, tool};

fn completed(records: &[Record], op: Op) -> usize {
    records.iter().filter(|r| r.op == op && r.outcome == Outcome::Completed).count()
}

#[test]
fn replays_mkfs_discards_as_recorded() {
    needs!("mkfs.ext4", "blkdiscard");
    for engine in ["uring", "threads"] {
        let lab = lab();
        let device = LoopDevice::of(Image::sparse(64), &[]);
        or_skip!(check_kernel(&lab, &device));
        let running = recorder(&lab, &device, "", "first");
        tool("mkfs.ext4", &["-q", "-E", "discard", device.text()]);
        tool("blkdiscard", &["-f", "-o", "1048576", "-l", "4194304", device.text()]);
        assert!(stop(running).contains(" 0 lost"));
        let recorded = lab.records("first").iter().filter(|r| r.op == Op::Discard).count();
        assert!(recorded > 1, "{recorded} discards");
        lab.expect(0, "convert first load.load");

        let other = LoopDevice::random(64);
        let running = recorder(&lab, &other, "", "second");
        let replay =
            format!("replay load.load -t {} --destroy --start-grace 0.2 --engine {engine}", other.text());
        lab.expect(0, &format!("{replay} -o ran"));
        assert!(stop(running).contains(" 0 lost"));
        let checked = lab.expect(0, "check ran second").out;
        println!("{engine}: {recorded} discards\n{checked}");
        assert_eq!(completed(&lab.records("ran"), Op::Discard), recorded);

        lab.expect_done(&format!("{replay} --discard drop -o easier"));
        assert!(caution(&summary(&lab, "easier"), "discards-dropped").is_some());
    }
}

#[test]
fn rejects_device_without_discard_before_touching_it() {
    let lab = lab();
    let memory = Mounted::ramfs();
    let file = memory.path().join("image");
    std::fs::write(&file, vec![1; 16 << 20]).unwrap();
    let without = LoopDevice::buffered(&file);
    let line = |device: &LoopDevice| format!("run -t {} --destroy --number-ios 10 --bs 64k", device.text());
    let refused = lab.expect(2, &format!("{} --rw trim", line(&without))).err;
    assert!(refused.contains("queue/discard_max_bytes is 0"), "{refused}");
    let device = LoopDevice::random(16);
    for engine in ["uring", "threads"] {
        // Every device supports write zeroes.
        let zeroes = "--rw write --rwmixzeroes 100";
        lab.expect_done(&format!("{} {zeroes} --engine {engine} -o zeroes-{engine}", line(&without)));
        assert_eq!(completed(&lab.records(&format!("zeroes-{engine}")), Op::WriteZeroes), 10);
        lab.expect(0, &format!("{} --rw trim --engine {engine} -o trim-{engine}", line(&device)));
        assert_eq!(completed(&lab.records(&format!("trim-{engine}")), Op::Discard), 10);
    }
}
