//! Identity and write guard on real loop devices.

mod lab;

use iosonar_evidence::{DeviceCounter, Series};
use iosonar_host::environment;
use iosonar_host::guard::{self, Intent, Look, Permit, Refusal, WritePermit};
use iosonar_host::sampler::Sampler;
use iosonar_host::{
    BlockDevice, BlockSizeSource, DirectIo, Fact, Layer, RegularFile, Role, Root, TargetFacts, TargetKind,
    Unwritable, identify,
};
use iosonar_testkit::{Image, LoopDevice, Mounted, MountedElsewhere, Swap, Zram, open_exclusively, tool};
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::Path;

fn facts(path: &Path) -> TargetFacts {
    identify(path, &Root::default()).unwrap()
}

fn device(facts: &TargetFacts) -> &BlockDevice {
    match &facts.kind {
        TargetKind::BlockDevice(device) => device,
        other => panic!("not a device: {other:?}"),
    }
}

fn file(facts: &TargetFacts) -> &RegularFile {
    match &facts.kind {
        TargetKind::RegularFile(file) => file,
        other => panic!("not a file: {other:?}"),
    }
}

fn ask(path: &Path, destroy: bool) -> Result<WritePermit, Refusal> {
    let facts = facts(path);
    assert!(matches!(guard::check(&facts, Intent::ReadOnly, false, &Root::default()), Ok(Permit::ReadOnly)));
    match guard::check(&facts, Intent::Write, destroy, &Root::default())? {
        Permit::Write(permit) => Ok(permit),
        Permit::ReadOnly => panic!("asked for writing, allowed to read"),
    }
}

/// Refused despite the user's consent, with a message that contains this.
fn assert_in_use(path: &Path, says: &str) {
    let refusal = ask(path, true).unwrap_err();
    assert!(matches!(refusal, Refusal::InUse { .. }), "{refusal}");
    let text = refusal.to_string();
    assert!(text.starts_with(path.to_str().unwrap()) && text.contains(says), "{text} lacks {says:?}");
}

fn contents(path: &Path) -> guard::Contents {
    match ask(path, false).unwrap_err() {
        Refusal::NeedsDestroy { contents, .. } => *contents,
        other => panic!("{other}"),
    }
}

#[test]
fn plain_device_needs_destroy_and_is_claimed_by_permit() {
    needs_root!();
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    assert_eq!(contents(plain.path()).whole, Look::NothingKnown);
    let permit = ask(plain.path(), true).unwrap();
    assert!(permit.statement().contains("8.0 MiB"), "{}", permit.statement());
    assert_eq!(permit.claimed_devices(), 1);
    assert_in_use(plain.path(), "claimed exclusively");
    assert!(File::options().read(true).write(true).open(plain.path()).is_ok());
    drop(permit);
    assert!(ask(plain.path(), true).is_ok());
}

#[test]
fn loop_device_facts_resolve_to_file_and_disk() {
    needs_root!();
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    let facts = facts(plain.path());
    let open = File::open(plain.path()).unwrap();
    assert_eq!(facts.size, 8 << 20);
    assert_eq!(facts.size, iosonar_os::blockdev::size(&open).unwrap());
    assert_eq!(
        facts.logical_block_size.bytes,
        u64::from(iosonar_os::blockdev::logical_block_size(&open).unwrap())
    );
    assert!(!iosonar_os::blockdev::is_read_only(&open).unwrap());
    assert_eq!(device(&facts).driver, Fact::Known("loop".to_owned()));
    let Role::Loop { backing_file, direct_io, below, .. } = &device(&facts).role else { panic!("{facts:?}") };
    assert_eq!((backing_file, direct_io), (&image.path(), &Fact::Known(true)));
    let Layer::RegularFile(backing) = &**below else { panic!("{below:?}") };
    assert!(backing.file_system.known().is_some(), "{backing:?}");
    assert_eq!(facts.devices()[0].name, plain.name());
}

#[test]
fn link_to_a_device_keeps_the_path_as_typed() {
    needs_root!();
    let image = Image::random(1);
    let plain = LoopDevice::on(&image.path(), &[]);
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("my disk");
    symlink(plain.path(), &link).unwrap();
    let facts = facts(&link);
    assert_eq!((facts.path.as_path(), facts.resolved.as_path()), (link.as_path(), plain.path()));
}

#[test]
fn detects_4096_byte_logical_blocks() {
    needs_root!();
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &["-b", "4096"]);
    let facts = facts(plain.path());
    assert_eq!(
        (facts.logical_block_size.bytes, facts.logical_block_size.source),
        (4096, BlockSizeSource::Queue)
    );
    assert_eq!(iosonar_os::blockdev::logical_block_size(File::open(plain.path()).unwrap()).unwrap(), 4096);
}

#[test]
fn rejects_read_only_device_first() {
    needs_root!();
    let image = Image::random(1);
    let plain = LoopDevice::on(&image.path(), &["-r"]);
    assert_eq!(facts(plain.path()).unwritable, Some(Unwritable::DeviceFlag));
    assert!(matches!(ask(plain.path(), true), Err(Refusal::ReadOnlyTarget { .. })));
}

#[test]
fn device_without_a_medium_is_refused() {
    needs_root!();
    let Some(empty) = Zram::empty() else {
        println!("SKIPPED: this kernel has no zram");
        return;
    };
    let text = identify(&empty.path(), &Root::default()).unwrap_err().to_string();
    assert!(text.contains("of 0 bytes"), "{text}");
}

#[test]
fn names_signature_and_rejects_mounted_device() {
    needs_root!("mkfs.ext4");
    let image = Image::random(16);
    let plain = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", "-E", "nodiscard", "-L", "precious", plain.path().to_str().unwrap()]);
    let Look::Found(found) = contents(plain.path()).whole else { panic!("no signature found") };
    assert!(found.starts_with("ext4 file system \"precious\" (UUID "), "{found}");
    let mounted = Mounted::new(plain.path(), "rw");
    assert_in_use(plain.path(), &format!("is mounted on {}", mounted.path().display()));
    drop(mounted);
    let permit = ask(plain.path(), true).unwrap();
    assert!(permit.statement().contains("ext4 file system"), "{}", permit.statement());
}

#[test]
fn permit_prevents_mounting() {
    needs_root!("mkfs.ext4");
    let image = Image::random(16);
    let plain = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", plain.path().to_str().unwrap()]);
    let permit = ask(plain.path(), true).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("mount")
        .args([plain.path(), directory.path()])
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(!status.success());
    drop(permit);
}

#[test]
fn device_mounted_in_another_namespace_is_refused() {
    needs_root!("mkfs.ext4", "unshare");
    let image = Image::random(16);
    let plain = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", plain.path().to_str().unwrap()]);
    let elsewhere = MountedElsewhere::new(plain.path());
    assert_in_use(plain.path(), &format!("in the mount namespace of process {}", elsewhere.process()));
}

#[test]
fn mounted_partition_forbids_disk_but_not_neighbour() {
    needs_root!("mkfs.ext4", "addpart", "delpart");
    let image = Image::random(32);
    let disk = LoopDevice::on(&image.path(), &[]);
    let first = disk.partition(1, 1, 16);
    let second = disk.partition(2, 17, 8);
    tool("mkfs.ext4", &["-q", first.path().to_str().unwrap()]);
    let whole = contents(disk.path());
    assert!(matches!(&whole.parts[0].look, Look::Found(found) if found.starts_with("ext4")), "{whole}");
    assert_eq!(whole.parts[1].look, Look::NothingKnown);
    let mounted = Mounted::new(first.path(), "rw");
    let says = format!("{}p1 is mounted on {}", disk.name(), mounted.path().display());
    assert_in_use(disk.path(), &says);
    assert_in_use(first.path(), &says);
    let permit = ask(second.path(), true).unwrap();
    assert!(permit.statement().contains("8.0 MiB"), "{}", permit.statement());
    let facts = facts(second.path());
    let Role::Partition { start, disk: whole, .. } = &device(&facts).role else { panic!("{facts:?}") };
    assert_eq!((start, whole.name.as_str()), (&Fact::Known(17 << 20), disk.name()));
    let places: Vec<_> = whole.partitions.iter().map(|p| (p.name.clone(), p.start, p.size)).collect();
    let name = |number| format!("{}p{number}", disk.name());
    assert_eq!(places, [(name(1), 1 << 20, 16 << 20), (name(2), 17 << 20, 8 << 20)]);
}

#[test]
fn mounted_disk_forbids_its_partition() {
    needs_root!("mkfs.ext4", "addpart", "delpart");
    let image = Image::random(32);
    let disk = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", disk.path().to_str().unwrap()]);
    let part = disk.partition(1, 20, 8);
    let _mounted = Mounted::new(disk.path(), "rw");
    assert_in_use(part.path(), &format!("{} is mounted", disk.name()));
}

#[test]
fn partition_and_disk_held_exclusively_forbid_each_other() {
    needs_root!("addpart", "delpart");
    let image = Image::random(16);
    let disk = LoopDevice::on(&image.path(), &[]);
    let part = disk.partition(1, 1, 8);
    let held = open_exclusively(part.path()).unwrap();
    assert_in_use(disk.path(), "claimed exclusively");
    assert_in_use(part.path(), "claimed exclusively");
    drop(held);
    let _held = open_exclusively(disk.path()).unwrap();
    assert_in_use(part.path(), "claimed exclusively");
}

#[test]
fn swap_on_a_device_and_on_a_file_is_refused() {
    needs_root!("mkswap", "swapon", "swapoff");
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    let swap = Swap::on(plain.path());
    assert_in_use(plain.path(), "is swap space");
    drop(swap);
    let mkswapped = contents(plain.path()).whole;
    assert!(matches!(&mkswapped, Look::Found(found) if found.starts_with("swap")), "{mkswapped}");
}

#[test]
fn swap_file_is_refused() {
    needs_root!("mkswap", "swapon", "swapoff");
    let image = Image::random(8);
    let swap = Swap::on(&image.path());
    let refusal = ask(&image.path(), true).unwrap_err().to_string();
    drop(swap);
    assert!(refusal.contains("swap") || refusal.contains("busy"), "{refusal}");
    assert!(ask(&image.path(), false).is_ok());
}

#[test]
fn file_that_backs_a_loop_device_is_refused() {
    needs_root!();
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    assert_in_use(&image.path(), &format!("carries {}", plain.name()));
    let hard_link = image.path().with_extension("link");
    std::fs::hard_link(image.path(), &hard_link).unwrap();
    assert_in_use(&hard_link, &format!("carries {}", plain.name()));
    drop(plain);
    assert!(ask(&image.path(), false).is_ok());
}

#[test]
fn rejects_hard_link_to_backing_file_of_loop_device() {
    needs_root!();
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    let renamed = image.path().with_extension("renamed");
    std::fs::hard_link(image.path(), &renamed).unwrap();
    std::fs::remove_file(image.path()).unwrap();
    assert_in_use(&renamed, &format!("carries {}", plain.name()));
}

#[test]
fn two_loop_devices_on_one_file_forbid_each_other() {
    needs_root!();
    let image = Image::random(8);
    let first = LoopDevice::on(&image.path(), &[]);
    let second = LoopDevice::on(&image.path(), &[]);
    assert_in_use(first.path(), &format!("carries {}", second.name()));
    assert_in_use(second.path(), &format!("carries {}", first.name()));
}

#[test]
fn loop_device_on_a_loop_device_forbids_the_lower_one() {
    needs_root!("mkfs.ext4");
    let image = Image::random(16);
    let lower = LoopDevice::on(&image.path(), &[]);
    let upper = LoopDevice::on(lower.path(), &[]);
    assert_in_use(lower.path(), &format!("carries {}", upper.name()));
    let permit = ask(upper.path(), true).unwrap();
    assert_eq!(permit.claimed_devices(), 2);
    drop(permit);
    let names: Vec<String> = facts(upper.path()).devices().iter().map(|device| device.name.clone()).collect();
    assert_eq!(names[..2], [upper.name(), lower.name()]);
    tool("mkfs.ext4", &["-q", lower.path().to_str().unwrap()]);
    let _mounted = Mounted::new(lower.path(), "rw");
    assert_in_use(upper.path(), &format!("{} is mounted", lower.name()));
}

#[test]
fn xfs_file_facts_include_alignment_and_device_below() {
    needs_root!("mkfs.xfs");
    let image = Image::sparse(320);
    let plain = LoopDevice::on(&image.path(), &["-b", "4096"]);
    tool("mkfs.xfs", &["-q", "-K", plain.path().to_str().unwrap()]);
    let mounted = Mounted::new(plain.path(), "rw");
    let path = mounted.path().join("data");
    std::fs::write(&path, vec![1; 1 << 20]).unwrap();
    let facts = facts(&path);
    assert_eq!((facts.size, facts.logical_block_size.bytes), (1 << 20, 4096));
    assert_eq!(facts.logical_block_size.source, BlockSizeSource::StatxDioalign);
    assert!(matches!(file(&facts).direct_io, DirectIo::Aligned { offset: 4096, .. }));
    let found = file(&facts).file_system.known().unwrap();
    assert_eq!((found.kind.as_str(), found.mount_point.as_path()), ("xfs", mounted.path()));
    assert!(matches!(&found.below[0], Layer::BlockDevice(device) if device.name == plain.name()));
    assert!(ask(&path, false).is_ok());
    assert_in_use(plain.path(), "is mounted");
}

#[test]
fn detects_emulated_direct_io_on_ext4() {
    needs_root!("mkfs.ext4");
    let image = Image::random(32);
    let plain = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", plain.path().to_str().unwrap()]);
    let mounted = Mounted::new(plain.path(), "data=journal");
    let path = mounted.path().join("data");
    std::fs::write(&path, [1; 4096]).unwrap();
    let facts = facts(&path);
    assert_eq!(file(&facts).direct_io, DirectIo::Unsupported);
    assert_eq!(facts.logical_block_size.source, BlockSizeSource::DeviceBelow);
}

#[test]
fn file_that_cannot_be_written_is_refused() {
    needs_root!("mkfs.ext4", "chattr");
    let image = Image::random(16);
    let plain = LoopDevice::on(&image.path(), &[]);
    tool("mkfs.ext4", &["-q", plain.path().to_str().unwrap()]);
    let mounted = Mounted::new(plain.path(), "rw");
    let path = mounted.path().join("data");
    std::fs::write(&path, [1; 4096]).unwrap();
    tool("chattr", &["+i".as_ref(), path.as_os_str()]);
    let refusal = ask(&path, true).unwrap_err().to_string();
    assert!(refusal.contains("chattr -i"), "{refusal}");
    drop(mounted);
    let mounted = Mounted::new(plain.path(), "ro");
    let refusal = ask(&mounted.path().join("data"), true).unwrap_err().to_string();
    assert!(refusal.contains("mounted read-only"), "{refusal}");
}

#[test]
fn counters_match_bytes_read_exactly() {
    needs_root!("dd");
    let image = Image::random(8);
    let plain = LoopDevice::on(&image.path(), &[]);
    let mut sampler = Sampler::of_machine(&[facts(plain.path())], &Root::default());
    let mut value = |counter: DeviceCounter| {
        let wanted = Series::device(plain.name(), counter);
        let wanted = sampler.series().iter().position(|known| *known == wanted).unwrap();
        let mut out = Vec::new();
        sampler.sample(&mut out);
        out.into_iter().find(|(series, _)| usize::from(series.0) == wanted).unwrap().1
    };
    let sectors_and_reads = |value: &mut dyn FnMut(DeviceCounter) -> f64| {
        (value(DeviceCounter::ReadSectors), value(DeviceCounter::ReadIos))
    };
    let before = sectors_and_reads(&mut value);
    let input = format!("if={}", plain.path().display());
    tool("dd", &[input.as_str(), "of=/dev/null", "bs=64k", "count=16", "iflag=direct", "status=none"]);
    let after = sectors_and_reads(&mut value);
    assert_eq!((after.0 - before.0, after.1 - before.1), (2048.0, 16.0));
}

#[test]
fn environment_includes_the_targets() {
    needs_root!();
    let image = Image::random(1);
    let plain = LoopDevice::on(&image.path(), &[]);
    let found = environment::capture(&[facts(plain.path())], &Root::default()).by("test");
    let text = serde_json::to_string_pretty(&found).unwrap();
    assert!(text.contains(plain.name()), "{text}");
    assert_eq!(serde_json::from_str::<environment::Environment>(&text).unwrap(), found);
}
