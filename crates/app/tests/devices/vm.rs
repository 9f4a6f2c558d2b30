//! The write guard in a virtual machine with a stock kernel: device mapper, LVM, MD and bcache for real.

use crate::common::*;

/// Capital words of a reason, and their values.
type Words = &'static [(&'static str, &'static str)];

/// Ways of being in use, by the name and with the reason that docs/safety.md gives, and its words in `vm.sh`.
const USED: [(&str, &str, Words); 15] = [
    ("below a device of device mapper", HELD, &[("DEVICE", "vda"), ("HOLDER", "dm-0 (plain)")]),
    ("a device of device mapper below another", HELD, &[("DEVICE", "dm-0"), ("HOLDER", "dm-1 (upper)")]),
    ("two levels below", HELD, &[("DEVICE", "vda"), ("HOLDER", "dm-0 (plain)")]),
    (
        "a partition of it is below device mapper",
        "PARTITION carries the device HOLDER",
        &[("PARTITION", "vda1"), ("HOLDER", "dm-0 (onpart)")],
    ),
    ("a path of a multipath device", HELD, &[("DEVICE", "vda"), ("HOLDER", "dm-0 (paths)")]),
    ("opened encryption (dm-crypt)", HELD, &[("DEVICE", "vda"), ("HOLDER", "dm-0 (opened)")]),
    ("a physical volume of LVM", HELD, &[("DEVICE", "vdb"), ("HOLDER", "dm-0 (group-home)")]),
    (
        "a mounted logical volume",
        "DEVICE is mounted on DIRECTORY",
        &[("DEVICE", "dm-0"), ("DIRECTORY", "/mnt")],
    ),
    ("below a mounted logical volume", HELD, &[("DEVICE", "vdb"), ("HOLDER", "dm-0 (group-home)")]),
    ("a member of an MD array", HELD, &[("DEVICE", "vdc"), ("HOLDER", "md0")]),
    ("an MD array below LVM", HELD, &[("DEVICE", "md0"), ("HOLDER", "dm-2 (upper-data)")]),
    ("a member of an MD array below LVM", HELD, &[("DEVICE", "vdd"), ("HOLDER", "md0")]),
    ("the backing device of bcache", HELD, &[("DEVICE", "vde"), ("HOLDER", "bcache0")]),
    ("where zram writes back to", UNSEEN, &[("DEVICE", "vda")]),
    ("exported by the kernel's SCSI target", UNSEEN, &[("DEVICE", "vda")]),
];

const HELD: &str = "DEVICE carries the device HOLDER";
const UNSEEN: &str =
    "DEVICE is claimed exclusively by the kernel or by a program that can't be seen from here";

/// The same ways, for the page on safety.
pub const WAYS: [(&str, &str); USED.len()] = {
    let mut ways = [("", ""); USED.len()];
    let mut at = 0;
    while at < USED.len() {
        ways[at] = (USED[at].0, USED[at].1);
        at += 1;
    }
    ways
};

/// The other cases there: name, status, whether it is touched, and the message.
const OTHERS: [(&str, i32, bool, &str); 5] = [
    (
        "a suspended device does not hold up the guard",
        2,
        false,
        "could not look for signatures (dm-0 (plain) is suspended, so nothing can be read or written)",
    ),
    ("a free volume beside a mounted one needs the word", 2, false, "--destroy"),
    ("a free volume beside a mounted one can be written", 0, true, "will be overwritten"),
    (
        "a member of a stopped array needs the word",
        2,
        false,
        "linux_raid_member (part of a RAID or of a volume group)",
    ),
    (
        "without libblkid nobody can look",
        2,
        false,
        "could not look for signatures (libblkid is not installed, which names signatures; it belongs to util-linux: ",
    ),
];

const PROGRAMS: [&str; 9] =
    ["lvm", "dmsetup", "mdadm", "cryptsetup", "make-bcache", "mkfs.ext4", "addpart", "delpart", "blkid"];
const MODULES: [&str; 13] = [
    "dm-mod",
    "dm-crypt",
    "dm-multipath",
    "dm-round-robin",
    "raid1",
    "bcache",
    "zram",
    "ext4",
    "xts",
    "algif_skcipher",
    "configfs",
    "target_core_mod",
    "target_core_iblock",
];
const DISKS: usize = 5;

#[test]
fn every_kind_of_holder_forbids_writing() {
    let mut command = or_skip!(machine(&PROGRAMS));
    let _turn = shared_turn();
    let lab = lab();
    let load = lab.file("load", load_text(&conflicting(20, 4096, 16, 0)));
    command.args(["-f", &format!("{}:/load", load.display())]);
    command.args(MODULES.iter().flat_map(|module| ["-m", module]));
    command.args(["-d", "48"].repeat(DISKS)).args(["-t", "120"]).arg(script("vm.sh"));
    let ended = iosonar_testkit::Ended::of(command.output().unwrap());
    println!("{}", ended.out);
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    assert!(!ended.out.contains("-- failed"), "{}", ended.out);

    let answers: Vec<&str> = ended.out.split("== ").skip(1).collect();
    for (name, reason, words) in USED {
        let reason = words.iter().fold(reason.to_owned(), |text, (word, it)| text.replace(word, it));
        judge(&answers, name, 2, false, &format!("in use and is never written while it is: {reason}"));
    }
    for (name, status, touched, says) in OTHERS {
        judge(&answers, name, status, touched, says);
    }
    assert_eq!(answers.len(), USED.len() + OTHERS.len());
}

#[track_caller]
fn judge(answers: &[&str], name: &str, status: i32, touched: bool, says: &str) {
    let answer = answers.iter().find(|answer| answer.lines().next() == Some(name));
    let answer = answer.unwrap_or_else(|| panic!("the machine did not come to: {name}"));
    assert!(answer.contains(says), "{answer}\nlacks {says:?}");
    assert!(answer.contains(&format!("-- status {status}\n")), "{answer}\ndid not end with {status}");
    assert_eq!(answer.contains("-- touched"), touched, "{answer}");
}
