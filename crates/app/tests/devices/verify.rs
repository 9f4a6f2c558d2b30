//! Verification on real targets, with faults injected from outside.

use crate::common::*;
use iosonar_testkit::{Image, Lab, LoopDevice};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;

fn faults(lab: &Lab) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path("out/faults.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until a block of the backing file has been written.
fn await_written(backing: &File, block: u64) -> [u8; 4096] {
    let mut bytes = [0; 4096];
    until("a block", || {
        backing.read_exact_at(&mut bytes, block * 4096).unwrap();
        bytes.iter().any(|byte| *byte != 0)
    });
    bytes
}

/// A loop device with direct I/O, and the file below it.
fn device_and_backing(mebibytes: u64) -> (LoopDevice, File) {
    let image = Image::sparse(mebibytes);
    let backing = File::options().read(true).write(true).open(image.path()).unwrap();
    (LoopDevice::of(image, &["--direct-io=on"]), backing)
}

/// Bytes change in the file below a loop device during the run: each place is reported with its kind.
#[test]
fn reports_changes_below_a_loop_device() {
    needs!();
    let (device, backing) = device_and_backing(8);
    let lab = lab();
    let args = format!(
        "run -t {} --destroy --rw write --bs 4k --size 4M --rate-iops 200 --verify final --no-progress -o out",
        device.text()
    );
    let run = lab.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    // Beyond the header, a bit; in it, some bytes; all of it; the write of another place.
    let mut bytes = await_written(&backing, 10);
    bytes[512 + 300] ^= 0x10;
    backing.write_all_at(&bytes, 10 * 4096).unwrap();
    let mut bytes = await_written(&backing, 12);
    bytes[20..40].fill(0x55);
    backing.write_all_at(&bytes, 12 * 4096).unwrap();
    await_written(&backing, 14);
    backing.write_all_at(&[0x77; 4096], 14 * 4096).unwrap();
    let bytes = await_written(&backing, 16);
    await_written(&backing, 18);
    backing.write_all_at(&bytes, 18 * 4096).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(5));
    let found: Vec<(String, u64, u64)> = faults(&lab).iter().map(class_and_place).collect();
    let at = |block: u64| block * 4096;
    let expected = [
        ("flipped", at(10) + 512, 512),
        ("header-damaged", at(12), 512),
        // The run has written the place only once: its earlier content is unknown.
        ("lost", at(14), 4096),
        ("duplicated", at(18), 4096),
    ];
    assert_eq!(found, expected.map(|(class, offset, length)| (class.to_string(), offset, length)));
    let all = faults(&lab);
    assert_eq!(all[0]["damaged"], serde_json::json!({ "bits": 1, "bytes": 1, "first": 300, "last": 300 }));
    assert_eq!((&all[2]["note"], &all[3]["belongs_at"]), (&"foreign".into(), &at(16).into()));
}

/// Another writer writes beside the run's places, and far from them.
#[test]
fn changes_outside_written_ranges_are_phantoms() {
    needs!();
    let (device, backing) = device_and_backing(8);
    let lab = lab();
    let args = format!(
        "run -t {} --destroy --rw write --bs 4k --offset 1M --size 2M --rate-iops 100 --verify final,outside=20000 --no-progress -o out",
        device.text()
    );
    let run = lab.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    let block = |megabytes: u64| (megabytes << 20) / 4096;
    // Before the region, after it, and in the last sector of the device, with a write that belongs elsewhere. Zeros are there already.
    let bytes = await_written(&backing, block(1) + 3);
    backing.write_all_at(&[0x77; 512], (1 << 20) - 512).unwrap();
    backing.write_all_at(&[0; 4096], 6 << 20).unwrap();
    backing.write_all_at(&[0x55; 4096], 3 << 20).unwrap();
    backing.write_all_at(&bytes[..512], (8 << 20) - 512).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(5));
    let found: Vec<(String, u64, u64)> = faults(&lab).iter().map(class_and_place).collect();
    let expected =
        [("phantom", (1 << 20) - 512, 512), ("phantom", 3 << 20, 4096), ("duplicated", (8 << 20) - 512, 512)];
    assert_eq!(found, expected.map(|(class, offset, length)| (class.to_string(), offset, length)));
    assert!(faults(&lab)[0]["first_bytes"].as_str().unwrap().starts_with("7777"));
}

fn class_and_place(fault: &Value) -> (String, u64, u64) {
    let number = |name: &str| fault[name].as_u64().unwrap();
    (fault["class"].as_str().unwrap().into(), number("offset"), number("length"))
}

/// Recorded loads on devices with blocks of 512 and 4096 bytes, under every policy: nothing is found.
#[test]
fn reports_no_faults_on_honest_devices() {
    needs!();
    for (name, options, policy) in [
        ("logs", "", "push-back"),
        ("database", "--sector-size=4096", "push-back"),
        ("logs", "--sector-size=4096", "order"),
        ("compiler", "", "order"),
        ("logs", "", "drop"),
        ("packages", "--sector-size=4096", "drop"),
        ("logs", "--sector-size=4096", "allow"),
        ("backup", "", "allow"),
    ] {
        let options: Vec<&str> = ["--direct-io=on", options].into_iter().filter(|o| !o.is_empty()).collect();
        let device = LoopDevice::of(Image::random(64), &options);
        let lab = lab();
        let replay = format!(
            "replay {} -t {} --destroy --asap --depth 16 --overlap {policy} --verify read,before-write,final,outside --no-progress -o out",
            iosonar_testkit::own_load(name).display(),
            device.text()
        );
        let ended = lab.expect_done(&replay);
        assert!(
            ended.out.contains("every one holds a version that it may hold"),
            "{name}, {policy}: {}",
            ended.out
        );
        assert!(faults(&lab).is_empty());
    }
}

/// A device that cannot be written is read, and checks write nothing there.
#[test]
fn verification_only_reads_read_only_devices() {
    needs!();
    let device = LoopDevice::of(Image::random(8), &["--direct-io=on", "--read-only"]);
    let lab = lab();
    let modes = "read,before-write,after-write,final";
    let run = format!(
        "run -t {} --rw randread --bs 4k --number-ios 1000 --verify {modes} --no-progress",
        device.text()
    );
    let ended = lab.expect(3, &format!("{run} -o out"));
    assert!(ended.out.contains("verify: NOTHING was checked"), "{}", ended.out);
}

/// Two partitions share the state of their disk. Each is read through itself, in any order, and changes beside the runs' writes are found
/// in both.
#[test]
fn reads_each_partition_through_its_own_device() {
    needs!();
    let (disk, backing) = device_and_backing(64);
    let partitions = [disk.partition(1, 1, 16), disk.partition(2, 32, 16)];
    let lab = lab();
    for (number, [first, second]) in [[0, 1], [1, 0]].into_iter().enumerate() {
        let (first, second) = (partitions[first].path().display(), partitions[second].path().display());
        let args = format!(
            "run -t {first} {second} --destroy --rw randwrite --bs 4k --size 4M --number-ios 2000 --iodepth 8 \
             --verify final,outside=50000 --no-progress -o ran-{number}"
        );
        let ended = lab.expect(0, &args);
        assert!(ended.out.contains("every one holds a version that it may hold"), "{}", ended.out);
    }
    // Beside the region of the second partition, during a run.
    let second = partitions[1].path().display();
    let args = format!(
        "run -t {} {second} --destroy --rw write --bs 4k --size 1M --rate-iops 50 --verify final,outside=50000 --no-progress -o out",
        partitions[0].path().display()
    );
    backing.write_all_at(&[0; 4096], 32 << 20).unwrap();
    let run = lab.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
    await_written(&backing, (32 << 20) / 4096);
    backing.write_all_at(&[0x66; 512], 40 << 20).unwrap();
    assert_eq!(run.wait_with_output().unwrap().status.code(), Some(5));
    let found: Vec<(String, u64, u64)> = faults(&lab).iter().map(class_and_place).collect();
    assert_eq!(found, [("phantom".to_string(), 8 << 20, 512)]);
    assert_eq!(faults(&lab)[0]["target"], 1);
}

/// An area below a loop device disappears: its edges are found with few reads, and it is one fault.
#[test]
fn unreadable_area_is_one_fault_found_with_few_reads() {
    needs!();
    let (device, backing) = device_and_backing(64);
    let lab = lab();
    let run = format!("run -t {} --destroy --rw write --bs 64k --no-progress -o out", device.text());
    lab.expect(0, &run);
    let image = backing.metadata().unwrap().len();
    assert_eq!(image, 64 << 20);
    for kept in [4096, (33 << 20) + 5 * 4096] {
        backing.set_len(kept).unwrap();
        let ended = lab.expect(5, "verify out --json --no-progress");
        let json: Value = serde_json::from_str(&ended.out).unwrap();
        let faults = json["faults"].as_array().unwrap();
        assert_eq!(faults.len(), 1, "{}", ended.out);
        let place = (&faults[0]["class"], &faults[0]["offset"], &faults[0]["length"]);
        assert_eq!(place, (&"unreadable".into(), &kept.into(), &(image - kept).into()));
        let scan = &json["verified"]["scan"];
        assert_eq!(scan["unreadable"], (image - kept) / 512);
        // All but some hundred blocks lie between others that fail.
        let tried = (image - kept) / 512 - scan["untried"].as_u64().unwrap();
        assert!(tried < 1000 * 8, "{scan}");
        let told = lab.expect(5, "verify out --no-progress").out;
        assert!(told.contains("could not be read") && told.contains("not tried"), "{told}");
        // The remaining data is checked anyway.
        assert!(json["verified"]["checked"].as_u64().unwrap() >= kept / 512, "{scan}");
        // Holes where the area was, for the next round.
        backing.set_len(image).unwrap();
        lab.expect(0, &run.replace("-o out", "-o again"));
        std::fs::remove_dir_all(lab.path("out")).unwrap();
        std::fs::rename(lab.path("again"), lab.path("out")).unwrap();
    }
}

/// Many small writes lie in the area: the number of rereads does not grow with theirs.
#[test]
fn rereads_unreadable_area_of_many_writes_as_one() {
    needs!();
    let (device, backing) = device_and_backing(16);
    let lab = lab();
    let run =
        "--destroy --rw randwrite --bs 512 --size 16M --number-ios 8000 --iodepth 16 --no-progress -o out";
    lab.expect(0, &format!("run -t {} {run}", device.text()));
    backing.set_len(4096).unwrap();
    let ended = lab.expect(5, "verify out --json --no-progress");
    let json: Value = serde_json::from_str(&ended.out).unwrap();
    let faults = json["faults"].as_array().unwrap();
    assert!(faults.len() > 100, "{}", faults.len());
    for fault in faults {
        assert_eq!(fault["class"], "unreadable");
        assert_eq!(fault["again"], serde_json::json!(["failed", "failed", "failed"]));
    }
    // Only writes in the area are bad.
    let bad: u64 = faults.iter().map(|fault| fault["length"].as_u64().unwrap()).sum();
    let checked = json["verified"]["checked"].as_u64().unwrap();
    assert!(bad / 512 + checked <= 8000 && bad / 512 > 6000, "{bad} {checked}");
}

/// Buffered requests smaller than a logical block: direct reads read whole blocks and check the sectors of interest.
#[test]
fn reads_whole_logical_blocks_where_requests_are_smaller() {
    needs!();
    let device = LoopDevice::of(Image::random(8), &["-b", "4096", "--direct-io=on"]);
    let lab = lab();
    let all = "read,before-write,after-write,final,outside=100";
    for (number, (engine, modes, policy)) in [
        ("uring", "final", "push-back"),
        ("threads", all, "allow"),
        ("sync", all, "order"),
        ("mmap", "read,final", "drop"),
        ("stdio", "final,sample=50%", "push-back"),
        ("aio", "read,outside=100", "allow"),
        ("posixaio", all, "push-back"),
        ("pvsync", "after-write,final", "push-back"),
    ]
    .into_iter()
    .enumerate()
    {
        let args = format!(
            "run -t {} --destroy --buffered --engine {engine} --rw randrw --bs 512 --number-ios 200 --overlap {policy} \
             --verify {modes} --no-progress -o r{number}",
            device.text()
        );
        let ended = lab.expect(0, &args);
        assert!(ended.out.contains("every one holds"), "{engine}: {}", ended.out);
        lab.expect(0, &format!("verify r{number} --no-progress"));
    }
    // A fault is still found, and read again in whole blocks.
    let args = format!(
        "run -t {} --destroy --buffered --rw randwrite --bs 512 --number-ios 50 --verify read,final --inject lost:at=20 --no-progress -o bad",
        device.text()
    );
    let ended = lab.expect(5, &args);
    assert!(ended.out.contains("lost") && !ended.out.contains("unreadable"), "{}", ended.out);
    // After a crash, too.
    let args = format!(
        "run -t {} --destroy --buffered --rw randwrite --bs 512 --number-ios 50 --journal j --fdatasync 10 --no-progress -o crash",
        device.text()
    );
    lab.expect(0, &args);
    lab.expect(0, "verify crash --mode after-crash --no-progress");
}

/// A file that the run creates on a file system over such a device.
#[test]
fn reads_whole_blocks_of_files_that_the_run_has_made() {
    needs!("mkfs.ext4");
    let device = LoopDevice::of(Image::sparse(64), &["-b", "4096", "--direct-io=on"]);
    iosonar_testkit::tool("mkfs.ext4", &["-q", "-F", device.text()]);
    let mounted = iosonar_testkit::Mounted::new(device.path(), "");
    let lab = lab();
    let path = mounted.path().join("made").display().to_string();
    let args = format!(
        "run -t {path} --create --buffered --rw write --bs 512 --io-size 64k --steps sequential --verify final --no-progress -o r"
    );
    let ended = lab.expect(0, &args);
    assert!(ended.out.contains("128 sectors checked"), "{}", ended.out);
}
