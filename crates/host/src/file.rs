//! Regular files and their file systems.

use crate::mounts::{self, Mount};
use crate::node::{FileNode, Node, NodeKind};
use crate::target::{FileSystem, Layer, RegularFile, TargetFacts, TargetKind};
use crate::{Fact, Root, block};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// Maximum nesting of overlays.
const MAX_DEPTH: usize = 12;

/// Describes the regular file at `path`, and the layers below it.
pub(crate) fn describe(path: &Path, node: &FileNode, root: &Root) -> RegularFile {
    describe_below(path, node, root, 0)
}

/// The file system of `path`, with the layers below it. Symbolic links are followed.
pub fn file_system_of(path: &Path, root: &Root) -> Fact<FileSystem> {
    let mount_id = iosonar_os::statx::extra(path).ok().and_then(|extra| extra.mount_id);
    let resolved = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    file_system(&resolved, mount_id, root, 0)
}

/// Device or file at `path`, a name from sysfs.
pub(crate) fn layer_at(path: &Path, root: &Root, depth: usize) -> Layer {
    if let Some(number) = path.to_str().and_then(|path| block::number_at(path, root)) {
        return device_layer(number, root, depth);
    }
    match Node::probe(&root.path(path)) {
        Ok(Node { kind: NodeKind::Block(number), .. }) => device_layer(number, root, depth),
        Ok(Node { kind: NodeKind::Regular(node), .. }) => {
            Layer::RegularFile(describe_below(path, &node, root, depth))
        }
        Ok(Node { kind: NodeKind::Memory(number), .. }) => {
            Layer::Unknown(format!("character device {number}, which keeps nothing"))
        }
        Err(error) => Layer::Unknown(error.to_string()),
    }
}

fn describe_below(path: &Path, node: &FileNode, root: &Root, depth: usize) -> RegularFile {
    RegularFile {
        path: path.to_owned(),
        device: node.device,
        inode: node.inode,
        size: node.size,
        allocated: Fact::Known(node.allocated),
        born_ns: node.born_ns.map_or_else(|| Fact::absent("its file system does not keep it"), Fact::Known),
        modified_ns: Fact::Known(node.modified_ns),
        direct_io: node.direct_io,
        file_system: file_system(path, node.mount_id, root, depth),
        copied_from: None,
    }
}

/// File system of the lower overlay layer that holds a target, which would be copied to the upper one when opened for
/// writing; `None` for other targets.
pub fn lower_layer_of(target: &TargetFacts, root: &Root) -> Option<FileSystem> {
    let TargetKind::RegularFile(file) = &target.kind else { return None };
    let mounts = mounts::own(root).ok()?;
    let mount_id = iosonar_os::statx::extra(&file.path).ok().and_then(|extra| extra.mount_id);
    let mount = mounts::holding(&mounts, mount_id, &file.path).filter(|mount| mount.kind == "overlay")?;
    let layers = Layers::of(mount, &file.path);
    let lower = layers.holding_lower(root).filter(|_| !layers.is_in_upper(root))?;
    file_system_of_directory(lower, root, 0).known().cloned()
}

fn device_layer(number: crate::DevNumber, root: &Root, depth: usize) -> Layer {
    match block::describe_below(number, root, depth + 1) {
        Ok(device) => Layer::BlockDevice(Box::new(device)),
        Err(error) => Layer::Unknown(format!("{}: {error}", block::entry(number))),
    }
}

fn file_system(path: &Path, mount_id: Option<u64>, root: &Root, depth: usize) -> Fact<FileSystem> {
    if depth > MAX_DEPTH {
        return Fact::absent(format!("more than {MAX_DEPTH} layers below the target"));
    }
    let mounts = match mounts::own(root) {
        Ok(mounts) => mounts,
        Err(error) => return Fact::absent(format!("/proc/self/mountinfo: {error}")),
    };
    let Some(mount) = mounts::holding(&mounts, mount_id, path) else {
        return Fact::absent(format!("no mount in /proc/self/mountinfo holds {}", shown(&path)));
    };
    Fact::Known(FileSystem {
        kind: mount.kind.clone(),
        mount_point: mount.mount_point.clone(),
        source: mount.source.clone(),
        options: mount.options.clone(),
        super_options: mount.super_options.clone(),
        below: below(mount, path, root, depth),
    })
}

/// Devices, or for an overlay the file system of the layer that holds the file.
fn below(mount: &Mount, path: &Path, root: &Root, depth: usize) -> Vec<Layer> {
    if mount.number.major != 0 {
        return vec![device_layer(mount.number, root, depth)];
    }
    if mount.kind == "overlay" {
        return overlay(&Layers::of(mount, path), root, depth).into_iter().collect();
    }
    let members = block::number_at(&mount.source, root).map(|number| btrfs_members(number, root));
    members.into_iter().flatten().map(|number| device_layer(number, root, depth)).collect()
}

/// Directories of an overlay's layers, and the path of a file in them.
struct Layers {
    /// `None` if mounted read-only without one.
    upper: Option<PathBuf>,
    /// Uppermost first.
    lower: Vec<PathBuf>,
    file: PathBuf,
}

impl Layers {
    fn of(mount: &Mount, path: &Path) -> Layers {
        let below_mount = path.strip_prefix(&mount.mount_point).unwrap_or(path);
        let file = mount.root.strip_prefix("/").unwrap_or(&mount.root).join(below_mount);
        let options = || mount.super_options.split(',');
        let listed = options().filter_map(|option| option.strip_prefix("lowerdir="));
        // Format of the newer mount interface.
        let single = options().filter_map(|option| option.strip_prefix("lowerdir+="));
        let lower = listed.flat_map(|list| list.split(':')).chain(single).map(PathBuf::from).collect();
        Layers { upper: mount.super_option("upperdir").map(PathBuf::from), lower, file }
    }

    fn is_in_upper(&self, root: &Root) -> bool {
        let is_there = |upper: &PathBuf| root.path(upper.join(&self.file)).symlink_metadata().is_ok();
        self.upper.as_ref().is_some_and(is_there)
    }

    /// The lower layer that has the file. Directories are in all layers at once, and writes go to the upper one.
    fn holding_lower(&self, root: &Root) -> Option<&Path> {
        let has = |lower: &&PathBuf| {
            root.path(lower.join(&self.file)).symlink_metadata().is_ok_and(|found| found.is_file())
        };
        self.lower.iter().find(has).map(PathBuf::as_path)
    }

    /// Directory of the layer that holds the file; for a file in no layer, the one where it would be created.
    fn directory(&self, root: &Root) -> Option<&Path> {
        let lower = if self.is_in_upper(root) { None } else { self.holding_lower(root) };
        lower.or(self.upper.as_deref()).or(self.lower.first().map(PathBuf::as_path))
    }
}

fn overlay(layers: &Layers, root: &Root, depth: usize) -> Option<Layer> {
    Some(match file_system_of_directory(layers.directory(root)?, root, depth + 1) {
        Fact::Known(file_system) => Layer::FileSystem(file_system),
        Fact::Absent { absent } => Layer::Unknown(absent),
    })
}

fn file_system_of_directory(directory: &Path, root: &Root, depth: usize) -> Fact<FileSystem> {
    let mount_id = iosonar_os::statx::extra(&root.path(directory)).ok().and_then(|extra| extra.mount_id);
    file_system(directory, mount_id, root, depth)
}

/// All devices of a btrfs; for other file systems only the given one.
fn btrfs_members(number: crate::DevNumber, root: &Root) -> Vec<crate::DevNumber> {
    let members = block::btrfs_volumes(root).unwrap_or_default().into_iter().map(|volume| volume.members);
    members.into_iter().find(|members| members.contains(&number)).unwrap_or_else(|| vec![number])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn overlay_resolves_to_file_system_of_upper_layer() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 1000);
        tree.mountinfo(
            "self",
            "1 0 8:0 / / rw - ext4 /dev/sda rw\n\
             2 1 0:40 / /o rw - overlay overlay rw,lowerdir=/l,upperdir=/u,workdir=/w\n",
        );
        let found = file_system(Path::new("/o/f"), None, &tree.root(), 0);
        let Layer::FileSystem(upper) = &found.known().unwrap().below[0] else { panic!("{found:?}") };
        assert_eq!(upper.kind, "ext4");
        assert!(matches!(&upper.below[0], Layer::BlockDevice(device) if device.name == "sda"));
    }

    #[test]
    fn overlay_file_resolves_to_lower_layer_until_copied_up() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 1000).disk("sdb", "8:16", 1000);
        tree.mountinfo(
            "self",
            "1 0 8:0 / /up rw - ext4 /dev/sda rw\n2 0 8:16 / /low rw - xfs /dev/sdb rw\n\
             3 1 0:40 /d /o rw - overlay overlay rw,lowerdir=/none:/low/l,upperdir=/up/u,workdir=/up/w\n",
        );
        tree.file("/low/l/d/f", "prepared").file("/low/l/d/sub/g", "");
        let layer = |path: &str| match file_system(Path::new(path), None, &tree.root(), 0).known() {
            Some(FileSystem { below, .. }) => match &below[0] {
                Layer::FileSystem(found) => found.kind.clone(),
                other => panic!("{other:?}"),
            },
            None => panic!("{path} is in no file system"),
        };
        assert_eq!([layer("/o/f"), layer("/o/sub"), layer("/o/new")], ["xfs", "ext4", "ext4"]);
        tree.file("/up/u/d/f", "copied");
        assert_eq!(layer("/o/f"), "ext4");
    }

    #[test]
    fn btrfs_resolves_to_all_its_devices() {
        let tree = Tree::new();
        tree.disk("sda", "8:0", 1000).disk("sdb", "8:16", 1000);
        tree.file("/sys/fs/btrfs/UUID/devices/sda/x", "").file("/sys/fs/btrfs/UUID/devices/sdb/x", "");
        tree.mountinfo("self", "1 0 0:33 / / rw - btrfs /dev/sda rw\n");
        let found = file_system(Path::new("/f"), None, &tree.root(), 0);
        assert_eq!(found.known().unwrap().below.len(), 2);
    }

    #[test]
    fn tmpfs_has_no_layer_below() {
        let tree = Tree::new();
        tree.mountinfo("self", "1 0 0:33 / / rw - tmpfs tmpfs rw\n");
        assert!(file_system(Path::new("/f"), None, &tree.root(), 0).known().unwrap().below.is_empty());
    }
}
