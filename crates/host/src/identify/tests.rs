//! Identification on fake trees.

use super::*;
use crate::fixture::Tree;
use std::os::unix::net::UnixListener;

fn refusal(path: &Path) -> String {
    identify(path, &Root::default()).unwrap_err().to_string()
}

/// The message names the path as typed, the problem, and the remedy.
fn assert_says(path: &Path, parts: &[&str]) {
    let text = refusal(path);
    assert!(text.starts_with(&path.display().to_string()), "{text}");
    for part in parts {
        assert!(text.contains(part), "{text} lacks {part}");
    }
}

#[test]
fn rejects_missing_path_with_os_error() {
    assert_says(Path::new("/no/such/target"), &["No such file or directory", "check the spelling"]);
}

#[test]
fn rejects_path_through_a_file() {
    assert_says(Path::new("/proc/self/stat/x"), &["Not a directory", "is a file"]);
}

#[test]
fn rejects_targets_without_blocks() {
    let directory = tempfile::tempdir().unwrap();
    assert_says(directory.path(), &["is a directory", "give a file in it"]);
    assert_says(Path::new("/dev/urandom"), &["is a character device", "give the block device"]);
    let socket = directory.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    assert_says(&socket, &["is a socket", "give a regular file"]);
    let fifo = directory.path().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, FileType::Fifo, rustix::fs::Mode::RUSR, 0).unwrap();
    assert_says(&fifo, &["is a FIFO", "give a regular file"]);
}

#[test]
fn rejects_proc_and_sysfs_files() {
    for (path, file_system) in [
        ("/proc/sys/vm/swappiness", "proc"),
        ("/proc/self/stat", "proc"),
        ("/sys/kernel/uevent_seqnum", "sysfs"),
    ] {
        assert_says(Path::new(path), &[&format!("is a file of {file_system},"), "give a regular file"]);
    }
}

#[test]
fn null_zero_and_full_are_targets() {
    for name in ["/dev/null", "/dev/zero", "/dev/full"] {
        let facts = identify(Path::new(name), &Root::default()).unwrap();
        assert!(matches!(facts.kind, TargetKind::MemoryDevice(_)) && facts.devices().is_empty(), "{name}");
    }
}

#[test]
fn empty_file_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    assert_says(file.path(), &["of 0 bytes", "write data to it first"]);
}

fn device(number: &str) -> Node {
    let path = PathBuf::from("typed");
    let kind = NodeKind::Block(number.parse().unwrap());
    Node { path: path.clone(), resolved: path, unwritable: None, unreadable: None, kind }
}

#[test]
fn empty_device_is_refused() {
    let tree = Tree::new();
    tree.disk("sda", "8:0", 0);
    let text = facts(device("8:0"), &tree.root()).unwrap_err().to_string();
    assert!(text.contains("block device of 0 bytes") && text.contains("insert its medium"), "{text}");
}

#[test]
fn device_without_sysfs_is_refused() {
    let text = facts(device("8:0"), &Tree::new().root()).unwrap_err().to_string();
    assert!(text.contains("/sys/dev/block/8:0") && text.contains("mount sysfs"), "{text}");
}

#[test]
fn block_size_comes_from_queue_of_the_disk() {
    let tree = Tree::new();
    tree.disk("sda", "8:0", 100).partition("sda", "sda1", "8:1", 80);
    tree.file("/sys/class/block/sda/queue/logical_block_size", "4096\n");
    let facts = facts(device("8:1"), &tree.root()).unwrap();
    assert_eq!(facts.logical_block_size, BlockSize { bytes: 4096, source: BlockSizeSource::Queue });
    assert_eq!(facts.size, 80 * 512);
}

#[test]
fn block_size_of_a_file_falls_back_to_the_device_below() {
    let tree = Tree::new();
    tree.disk("sda", "8:0", 100).file("/sys/class/block/sda/queue/logical_block_size", "4096\n");
    tree.mountinfo("self", "1 0 8:0 / / rw - ext4 /dev/sda rw\n").file("/f", "data");
    let mut node = Node::probe(&tree.path("/f")).unwrap();
    let NodeKind::Regular(file) = &mut node.kind else { panic!() };
    file.direct_io = DirectIo::NotReported;
    let found = facts(node.clone(), &tree.root()).unwrap();
    assert_eq!(found.logical_block_size, BlockSize { bytes: 4096, source: BlockSizeSource::DeviceBelow });
    tree.mountinfo("self", "1 0 0:9 / / rw - tmpfs tmpfs rw\n");
    let found = facts(node, &tree.root()).unwrap();
    assert_eq!(found.logical_block_size, BlockSize { bytes: 512, source: BlockSizeSource::Assumed });
}

#[test]
fn facts_round_trip_through_json() {
    let tree = Tree::new();
    tree.disk("loop1", "7:1", 100).attach("loop1", "/image").file("/image", "data");
    let facts = facts(device("7:1"), &tree.root()).unwrap();
    let text = serde_json::to_string(&facts).unwrap();
    assert_eq!(serde_json::from_str::<TargetFacts>(&text).unwrap(), facts, "{text}");
}
