//! Verdicts on features that the kernel of this machine lacks, in a virtual machine with a stock kernel: NFS, control groups of version 2,
//! SCSI, NVMe, persistent memory, and another clock.

use crate::common::*;
use crate::validity::Judged;

const PROGRAMS: [&str; 2] = ["addpart", "mkfs.ext4"];
const MODULES: [&str; 10] = [
    "brd rd_nr=1 rd_size=16384",
    "scsi_debug dev_size_mb=32 physblk_exp=3 delay=0",
    "sd_mod",
    "ext4",
    "nfsd",
    "nfsv4",
    "virtio_blk",
    "nvme",
    "nd_pmem",
    "virtio_pmem",
];
const NVME: [&str; 4] =
    ["-blockdev", "driver=null-co,node-name=nvme0,size=33554432", "-device", "nvme,serial=lab,drive=nvme0"];

const PERSISTENT_MEMORY: [&str; 6] = [
    "-m",
    "slots=1,maxmem=1G",
    "-object",
    "memory-backend-ram,id=memory,size=32M",
    "-device",
    "virtio-pmem-pci,memdev=memory",
];

/// A detector's level for each run, by the names in `vm_judged.sh`.
const SAYS: [(&str, &str, &str); 18] = [
    ("a clock of the CPU", "coarse-clock", "ok"),
    ("a clock of the board", "coarse-clock", "caution"),
    ("partition 1", "misaligned", "caution"),
    ("partition 2", "misaligned", "ok"),
    ("no limit", "own-limit", "ok"),
    ("a limit of the device", "own-limit", "fail"),
    ("a limit of the CPU", "cpu-disturbed", "fail"),
    ("NFS, direct reads", "reads-not-from-device", "ok"),
    // The server's cache is reported where the client's own is used.
    ("NFS, cold reads", "reads-not-from-device", "caution"),
    ("NFS, warm reads", "reads-not-from-device", "fail"),
    ("NFS, writes", "writes-not-on-device", "fail"),
    ("NFS, flushed writes", "writes-not-on-device", "ok"),
    ("NVMe", "reads-not-from-device", "ok"),
    ("NVMe, writes", "writes-not-on-device", "fail"),
    ("NVMe, flushed writes", "writes-not-on-device", "ok"),
    ("NVMe", "not-observable", "-"),
    ("NVMe", "memory-target", "ok"),
    ("persistent memory", "memory-target", "fail"),
];

#[test]
fn verdicts_are_correct_on_emulated_hardware() {
    let mut command = or_skip!(machine(&PROGRAMS));
    let _turn = turn();
    command.args(MODULES.iter().flat_map(|module| ["-m", module]));
    command.args(NVME.iter().chain(&PERSISTENT_MEMORY).flat_map(|word| ["-a", word]));
    command.args(["-d", "64"].repeat(2)).args(["-t", "240"]).arg(script("vm_judged.sh"));
    let ended = iosonar_testkit::Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    assert!(!ended.out.contains("-- failed"), "{}", ended.out);
    let answers: Vec<(&str, &str)> =
        ended.out.split("== ").skip(1).map(|answer| answer.split_once('\n').unwrap()).collect();
    let judged = |name: &str| {
        let (_, answer) =
            answers.iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("{name}"));
        Judged(serde_json::from_str(answer).unwrap_or_else(|_| panic!("{name}: {answer}")))
    };
    for (name, id, level) in SAYS {
        let judged = judged(name);
        assert_eq!(judged.level(id), level, "{name}, {id}: {:#}", judged.0);
    }
    // The machine has one slow CPU, for which threads wait anyway.
    let throttled = |name| judged(name).evidence("cpu-disturbed", "throttled_share");
    assert_eq!(throttled("no limit"), Some(0.0));
    assert!(throttled("a limit of the CPU") > Some(0.5));
}
