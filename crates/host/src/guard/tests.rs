//! The guard on fake trees.

use super::*;
use crate::fixture::Tree;
use crate::identify::facts;
use crate::node::{Node, NodeKind};

/// A tree with the disk `sda` and its partitions `sda1` and `sda2`.
fn tree() -> Tree {
    let tree = Tree::new();
    tree.disk("sda", "8:0", 4000).partition("sda", "sda1", "8:1", 1000).partition("sda", "sda2", "8:2", 2000);
    tree
}

fn device(number: &str, tree: &Tree) -> TargetFacts {
    let node = Node {
        path: PathBuf::from("/dev/typed"),
        resolved: tree.path("/dev/typed"),
        unwritable: None,
        unreadable: None,
        kind: NodeKind::Block(number.parse().unwrap()),
    };
    facts(node, &tree.root()).unwrap()
}

/// A regular file of the tree (a real file).
fn file(path: &str, tree: &Tree) -> TargetFacts {
    tree.file(path, "data");
    crate::identify(&tree.path(path), &tree.root()).unwrap()
}

fn uses(facts: &TargetFacts, tree: &Tree) -> Vec<String> {
    match check(facts, Intent::Write, true, &tree.root()) {
        Err(Refusal::InUse { uses, .. }) => uses.iter().map(Use::to_string).collect(),
        other => panic!("not refused as in use: {other:?}"),
    }
}

fn assert_used(number: &str, tree: &Tree, says: &str) {
    let uses = uses(&device(number, tree), tree);
    assert!(uses.iter().any(|text| text.contains(says)), "{number}: {uses:?} do not say {says:?}");
}

/// Free according to the tree: then the guard requires the user's consent.
fn assert_free(number: &str, tree: &Tree) {
    let refusal = check(&device(number, tree), Intent::Write, false, &tree.root()).unwrap_err();
    assert!(matches!(refusal, Refusal::NeedsDestroy { .. }), "{number}: {refusal}");
}

#[test]
fn reading_is_always_allowed() {
    let tree = tree();
    tree.mountinfo("self", "1 0 8:1 / /home rw - ext4 /dev/sda1 rw\n");
    let permit = check(&device("8:1", &tree), Intent::ReadOnly, false, &tree.root());
    assert!(matches!(permit, Ok(Permit::ReadOnly)));
}

#[test]
fn mounted_partition_forbids_itself_and_the_disk_but_not_its_neighbour() {
    let tree = tree();
    tree.mountinfo("self", "1 0 8:1 / /home rw - ext4 /dev/sda1 rw\n");
    assert_used("8:1", &tree, "sda1 is mounted on /home");
    assert_used("8:0", &tree, "sda1 is mounted on /home");
    assert_free("8:2", &tree);
}

#[test]
fn mounted_disk_forbids_its_partitions() {
    let tree = tree();
    tree.mountinfo("self", "1 0 8:0 / /all rw - ext4 /dev/sda rw\n");
    assert_used("8:1", &tree, "sda is mounted on /all");
}

#[test]
fn mount_in_another_namespace_forbids_writing() {
    let tree = tree();
    tree.link("/proc/self/ns/mnt", "mnt:[1]")
        .link("/proc/7/ns/mnt", "mnt:[1]")
        .link("/proc/8/ns/mnt", "mnt:[2]");
    tree.mountinfo("7", "1 0 8:2 / /never-read rw - ext4 /dev/sda2 rw\n");
    tree.mountinfo("8", "1 0 8:1 / /inside rw - ext4 /dev/sda1 rw\n");
    assert_used("8:0", &tree, "sda1 is mounted on /inside in the mount namespace of process 8");
    assert_free("8:2", &tree);
}

#[test]
fn member_of_mounted_btrfs_forbids_writing() {
    let tree = tree();
    tree.file("/sys/fs/btrfs/U-1/devices/sda2/x", "");
    assert_used("8:2", &tree, "sda2 belongs to the mounted btrfs U-1");
}

#[test]
fn swap_forbids_writing() {
    let tree = tree();
    tree.file("/proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 65532 0 -2\n");
    assert_used("8:2", &tree, "sda2 is swap space");
    assert_used("8:0", &tree, "sda2 is swap space");
    assert_free("8:1", &tree);
}

#[test]
fn swap_file_forbids_itself_only() {
    let tree = Tree::new();
    let (swap, other) = (file("/swap file", &tree), file("/other", &tree));
    tree.file("/proc/swaps", "Filename Type Size Used Priority\n/swap\\040file file 65532 0 -2\n");
    assert!(uses(&swap, &tree)[0].contains("is swap space"));
    assert!(check(&other, Intent::Write, false, &tree.root()).is_ok());
}

#[test]
fn held_partition_forbids_the_disk() {
    let tree = tree();
    tree.disk("dm-0", "252:0", 1000).stack("dm-0", "sda1");
    assert_used("8:1", &tree, "sda1 carries the device dm-0");
    assert_used("8:0", &tree, "sda1 carries the device dm-0");
    assert_free("8:2", &tree);
}

#[test]
fn names_holder_by_its_dm_name() {
    let tree = tree();
    tree.disk("dm-0", "252:0", 1000).stack("dm-0", "sda1");
    tree.file("/sys/class/block/dm-0/dm/name", "vg-home\n");
    assert_used("8:0", &tree, "sda1 carries the device dm-0 (vg-home), so");
}

#[test]
fn does_not_read_suspended_device() {
    let tree = tree();
    tree.disk("dm-0", "252:0", 1000).stack("dm-0", "sda1");
    tree.file("/sys/class/block/dm-0/dm/name", "vg-home\n").file("/sys/class/block/dm-0/dm/suspended", "1\n");
    let refusal = check(&device("252:0", &tree), Intent::Write, false, &tree.root()).unwrap_err().to_string();
    assert!(refusal.contains("could not look for signatures (dm-0 (vg-home) is suspended"), "{refusal}");
}

#[test]
fn log_of_mounted_file_system_forbids_writing() {
    let tree = tree();
    tree.mountinfo("self", "1 0 8:16 / /data rw - xfs /dev/sdb rw,attr2,logdev=/dev/sda2,noquota\n");
    assert_used("8:2", &tree, "sda2 serves the file system that is mounted on /data");
    assert_used("8:0", &tree, "sda2 serves the file system that is mounted on /data");
    assert_free("8:1", &tree);
}

#[test]
fn held_disk_forbids_its_partitions() {
    let tree = tree();
    tree.disk("dm-0", "252:0", 1000).stack("dm-0", "sda");
    assert_used("8:1", &tree, "sda carries the device dm-0");
}

#[test]
fn sibling_volumes_do_not_forbid_each_other() {
    let tree = tree();
    tree.disk("dm-0", "252:0", 100).disk("dm-1", "252:1", 100).stack("dm-0", "sda1").stack("dm-1", "sda1");
    assert_free("252:0", &tree);
    tree.mountinfo("self", "1 0 252:0 / /home rw - ext4 /dev/mapper/home rw\n");
    assert_used("252:0", &tree, "dm-0 is mounted");
    assert_free("252:1", &tree);
}

#[test]
fn device_backing_a_loop_device_is_rejected() {
    let tree = tree();
    tree.disk("loop3", "7:3", 100).attach("loop3", "/dev/sda1");
    let loop_device = device("7:3", &tree);
    let TargetKind::BlockDevice(found) = &loop_device.kind else { panic!("{loop_device:?}") };
    let crate::target::Role::Loop { below, .. } = &found.role else { panic!("{found:?}") };
    assert!(matches!(&**below, crate::target::Layer::BlockDevice(device) if device.name == "sda1"));
    assert_used("8:0", &tree, "sda1 carries loop3");
    assert_free("8:2", &tree);
    assert_free("7:3", &tree);
}

#[test]
fn loop_on_mounted_device_forbids_writing() {
    let tree = tree();
    tree.disk("loop3", "7:3", 100).attach("loop3", "/dev/sda1");
    tree.mountinfo("self", "1 0 8:1 / /home rw - ext4 /dev/sda1 rw\n");
    assert_used("7:3", &tree, "sda1 is mounted on /home");
}

#[test]
fn file_backing_a_loop_device_is_rejected() {
    let tree = Tree::new();
    let (image, other) = (file("/image", &tree), file("/other", &tree));
    tree.disk("loop3", "7:3", 100).attach("loop3", "/image");
    assert!(uses(&image, &tree)[0].contains("carries loop3"));
    assert!(check(&other, Intent::Write, false, &tree.root()).is_ok());
    assert_free("7:3", &tree);
    tree.disk("loop4", "7:4", 100).attach("loop4", "/image");
    assert_used("7:3", &tree, "carries loop4");
}

#[test]
fn read_only_target_is_refused_first() {
    let tree = tree();
    tree.file("/sys/class/block/sda1/ro", "1\n");
    tree.mountinfo("self", "1 0 8:1 / /home rw - ext4 /dev/sda1 rw\n");
    let refusal = check(&device("8:1", &tree), Intent::Write, true, &tree.root()).unwrap_err();
    assert!(refusal.to_string().contains("read-only flag is set; clear it"), "{refusal}");
}

#[test]
fn file_on_a_read_only_mount_is_refused() {
    let tree = Tree::new();
    tree.mountinfo("self", "1 0 8:1 / / ro - ext4 /dev/sda1 ro\n");
    let mut target = file("/f", &tree);
    target.path = PathBuf::from("typed");
    let refusal = check(&target, Intent::Write, true, &tree.root()).unwrap_err();
    assert!(refusal.to_string().starts_with("typed can't be written: the file system on / is"), "{refusal}");
}

#[test]
fn file_without_permission_is_refused() {
    let tree = Tree::new();
    let mut target = file("/f", &tree);
    target.unwritable = Some(Unwritable::Refused("Permission denied".into()));
    let refusal = check(&target, Intent::Write, true, &tree.root()).unwrap_err();
    assert!(refusal.to_string().contains("Permission denied; run as a user who may write it"), "{refusal}");
}

#[test]
fn device_needs_destroy_and_refusal_explains_how() {
    let tree = tree();
    let refusal = check(&device("8:0", &tree), Intent::Write, false, &tree.root()).unwrap_err().to_string();
    for part in ["/dev/typed", "2.0 MiB", "partition sda1", "partition sda2", "--destroy", "destroy = true"] {
        assert!(refusal.contains(part), "{refusal} lacks {part}");
    }
}

#[test]
fn writing_a_file_needs_no_destroy() {
    let tree = Tree::new();
    let target = file("/f", &tree);
    let Ok(Permit::Write(permit)) = check(&target, Intent::Write, false, &tree.root()) else { panic!() };
    assert!(permit.statement().contains("a regular file of 4 bytes"), "{}", permit.statement());
    assert_eq!(permit.claimed_devices(), 0);
}

#[test]
fn file_that_was_replaced_is_refused() {
    let tree = Tree::new();
    let target = file("/f", &tree);
    tree.file("/g", "data");
    std::fs::rename(tree.path("/g"), tree.path("/f")).unwrap();
    let refusal = check(&target, Intent::Write, false, &tree.root()).unwrap_err();
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
}

#[test]
fn refuses_writes_without_mountinfo() {
    let tree = tree();
    let target = device("8:0", &tree);
    std::fs::remove_file(tree.path("/proc/self/mountinfo")).unwrap();
    let refusal = check(&target, Intent::Write, true, &tree.root()).unwrap_err();
    assert!(refusal.to_string().contains("/proc/self/mountinfo"), "{refusal}");
}

#[test]
fn file_of_another_device_with_the_same_inode_is_not_swap() {
    let tree = Tree::new();
    let mut target = file("/f", &tree);
    tree.file("/proc/swaps", "Filename Type Size Used Priority\n/f file 65532 0 -2\n");
    let TargetKind::RegularFile(found) = &mut target.kind else { panic!() };
    found.device.minor += 1;
    let refusal = check(&target, Intent::Write, false, &tree.root()).unwrap_err();
    assert!(matches!(refusal, Refusal::Changed { .. }), "{refusal}");
}

/// Every source that the guard needs, and a target that depends on it.
#[test]
fn refuses_writes_without_any_required_source() {
    for (source, is_for_files) in [
        ("/proc/self/mountinfo", true),
        ("/proc/swaps", true),
        ("/sys", true),
        ("/sys/block", true),
        ("/sys/class/block", true),
        ("/sys/fs", true),
        ("/sys/devices/virtual/block/loop3", true),
        ("/sys/devices/virtual/block/sda/sda1/holders", false),
    ] {
        let tree = tree();
        tree.disk("loop3", "7:3", 100);
        let targets = [device("8:0", &tree), file("/f", &tree)];
        let path = tree.path(source);
        if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }.unwrap();
        for target in &targets[..if is_for_files { 2 } else { 1 }] {
            let refusal = check(target, Intent::Write, true, &tree.root()).unwrap_err();
            assert!(matches!(refusal, Refusal::Unknown { .. }), "{source}: {refusal}");
            let says = source.strip_prefix("/sys/devices/virtual").unwrap_or(source);
            let says =
                says.replace("/block/loop3", "/sys/block/loop*").replace("/block/sda/sda1", "block/sda1");
            assert!(refusal.to_string().contains(&says), "{source}: {refusal}");
        }
    }
}

#[test]
fn accepts_kernel_without_swap() {
    let tree = Tree::new();
    let target = file("/f", &tree);
    std::fs::remove_file(tree.path("/proc/swaps")).unwrap();
    let is_free = || check(&target, Intent::Write, false, &tree.root()).is_ok();
    assert!(!is_free());
    tree.file("/proc/meminfo", "MemTotal: 9 kB\nSwapTotal:             0 kB\n");
    assert!(is_free());
    tree.file("/proc/meminfo", "MemTotal: 9 kB\nSwapTotal:          4096 kB\n");
    assert!(!is_free());
    tree.file("/proc/swaps", "");
    assert!(!is_free());
}

#[test]
fn mounted_btrfs_missing_in_sysfs_forbids_writing() {
    let tree = Tree::new();
    let target = file("/f", &tree);
    tree.mountinfo("self", "1 0 0:33 / / rw - btrfs /dev/sda rw\n");
    let refusal = check(&target, Intent::Write, false, &tree.root()).unwrap_err();
    assert!(refusal.to_string().contains("/sys/fs/btrfs can't be read"), "{refusal}");
}

#[test]
fn null_device_needs_no_safety_source() {
    let tree = Tree::new();
    std::fs::remove_dir_all(tree.path("/sys")).unwrap();
    let null = crate::identify(Path::new("/dev/null"), &tree.root()).unwrap();
    assert!(check(&null, Intent::Write, false, &tree.root()).is_ok());
}
