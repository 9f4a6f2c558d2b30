//! Signals that lie (docs/validity.md, "Signals that lie"): no detector falls for one. Those that need a device are in
//! `app/tests/devices/validity.rs`, those of one detector are next to it.

use crate::testing::Lab;
use iosonar_analyze::{DetectorId, Level, Verdict};

const READ: u64 = 65_536_000;

fn lab() -> Lab {
    Lab::new().latency_ns(10_000_000).reads(1_000, 65_536).cpu(10_000.0, 0.0)
}

#[track_caller]
fn level(lab: &Lab, id: DetectorId) -> Level {
    lab.judgement().of(id).map_or(Level::Unknown, |detection| detection.level)
}

/// Lie 1: process and loop device have counted all, and the disk below has seen nothing.
#[test]
fn judges_loop_device_by_underlying_disk() {
    let counted = || lab().process_read(READ).device_read("loop0", READ);
    let cached = counted().on_loop(false).device_read("vda", 0);
    assert_eq!(level(&cached, DetectorId::ReadsNotFromDevice), Level::Fail);
    assert_eq!(cached.judgement().verdict, Verdict::Fake);
    let honest = counted().on_loop(true).device_read("vda", READ);
    assert_eq!(level(&honest, DetectorId::ReadsNotFromDevice), Level::Ok);
}

/// Lie 2: a zram that was never written counts all bytes that are read.
#[test]
fn ignores_counters_of_memory_devices() {
    let zram = lab().process_read(READ).device_read("zram1", READ).on_device("zram1", "zram");
    assert_eq!(level(&zram, DetectorId::ReadsNotFromDevice), Level::Unknown);
    assert_eq!(zram.judgement().verdict, Verdict::Fake);
    let disk = lab().process_read(READ).device_read("vda", READ).on_disk("vda");
    assert_eq!(level(&disk, DetectorId::ReadsNotFromDevice), Level::Ok);
}

/// Lie 3: below FUSE and NFS honest reads are not counted either.
#[test]
fn uncounted_reads_are_unknown() {
    for kind in ["fuse.bindfs", "nfs4", "cifs", "9p", "virtiofs"] {
        let served = lab().process_read(0).on_file_system(kind, "");
        assert_eq!(level(&served, DetectorId::ReadsNotFromDevice), Level::Unknown, "{kind}");
        assert_eq!(served.judgement().verdict, Verdict::Care, "{kind}");
    }
    let local = lab().process_read(0).device_read("vda", 0).on_file_system("ext4", "vda");
    assert_eq!(local.judgement().verdict, Verdict::Fake);
}

/// Lie 8: write_bytes is 33 times too high if pages belong to large folios.
#[test]
fn ignores_process_write_bytes() {
    let written = |process: u64, device: u64| {
        let lab = Lab::new().writes(1_000, 65_536).on_file_system("ext4", "vda");
        lab.process_written(process).device_written("vda", device)
    };
    let over = written(33 * READ, READ);
    assert_eq!(level(&over, DetectorId::WritesNotOnDevice), Level::Ok);
    assert_eq!(over.judgement(), written(READ, READ).judgement());
    assert_eq!(level(&written(33 * READ, 0), DetectorId::WritesNotOnDevice), Level::Fail);
}

/// Lie 10: `queue/iostats` of a device is 0: its counters stand still, or, on zram, count nevertheless.
#[test]
fn disabled_counters_are_unknown() {
    let blind = lab().process_read(READ).device_read("vda", 0).on_disk("vda").iostats(false);
    assert_eq!(level(&blind, DetectorId::ReadsNotFromDevice), Level::Unknown);
    assert_eq!(blind.judgement().verdict, Verdict::Care);
    let counting = lab().process_read(READ).device_read("vda", 0).on_disk("vda").iostats(true);
    assert_eq!(counting.judgement().verdict, Verdict::Fake);
    let zram = lab().process_read(READ).device_read("zram1", READ).on_device("zram1", "zram").iostats(false);
    assert_eq!(level(&zram, DetectorId::MemoryTarget), Level::Fail);
}

/// Lie 11: a process also reads its own program, which has been counted for it.
#[test]
fn other_process_reads_do_not_hide_cached_reads() {
    let paging = 11 << 20;
    let cached = lab().process_read(READ + paging).device_read("vda", paging).on_disk("vda");
    assert_eq!(level(&cached, DetectorId::ReadsNotFromDevice), Level::Fail);
    let honest = lab().process_read(READ + paging).device_read("vda", READ).on_disk("vda");
    assert_eq!(level(&honest, DetectorId::ReadsNotFromDevice), Level::Ok);
    assert_eq!(level(&honest, DetectorId::ReadAmplification), Level::Ok);
}
