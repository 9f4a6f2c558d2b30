//! Finds and removes leftovers of killed processes.

use crate::removal::{FileSystem, image_of};
use crate::{KIND, ScratchError};
use iosonar_host::Root;
use iosonar_os::made::{self, Leftover, MARK, Unmount};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Leftovers of killed processes in a directory. Each is proved to be theirs: see
/// [`leftovers`](iosonar_os::made::leftovers). Scratch file systems in other directories are not searched.
#[derive(Debug)]
pub struct Leftovers(Vec<Leftover>);

impl Leftovers {
    /// Searches `parent`. Only root can have leftovers; empty for other users.
    ///
    /// # Errors
    /// Reading `parent` failed.
    pub fn find(parent: &Path) -> Result<Leftovers, ScratchError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Leftovers(Vec::new()));
        }
        made::leftovers(parent, KIND).map(Leftovers).map_err(ScratchError::io("cannot read", parent))
    }

    /// Bytes that their removal frees.
    pub fn bytes(&self) -> u64 {
        const BLOCK: u64 = 512;
        let images = self.0.iter().flat_map(images);
        images.filter_map(|image| Some(image.symlink_metadata().ok()?.blocks() * BLOCK)).sum()
    }

    /// Removes them. Returns the result for each directory. One in use stays, and does not prevent the removal of others.
    pub fn remove(self) -> Vec<(PathBuf, Result<(), ScratchError>)> {
        let root = Root::default();
        let removed = |leftover: &Leftover| (leftover.path().to_path_buf(), remove(leftover, &root));
        self.0.iter().map(removed).collect()
    }
}

/// Images of the file systems that a process noted before creating them.
fn images(leftover: &Leftover) -> impl Iterator<Item = PathBuf> + '_ {
    leftover.notes().iter().map(|name| image_of(leftover.path(), name))
}

/// Unmounts and detaches everything made from the images, then removes the directory, unless it contains foreign files.
fn remove(leftover: &Leftover, root: &Root) -> Result<(), ScratchError> {
    const PROOF: &str = "the mark of the directory notes the file system";
    for name in leftover.notes() {
        FileSystem::left(leftover.path(), name, PROOF, root)?.remove(Unmount::Now, root)?;
    }
    let is_own = |below: &Path| {
        let is_noted = |name: &String| below == Path::new(name) || image_of(Path::new(""), name) == below;
        below == Path::new(MARK) || leftover.notes().iter().any(is_noted)
    };
    leftover.remove_tree(&is_own).map_err(ScratchError::io("cannot remove", leftover.path()))
}
