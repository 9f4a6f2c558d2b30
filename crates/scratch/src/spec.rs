//! Specification of a scratch file system.

use crate::ScratchError;
use crate::options::{check_mkfs, check_mount};
use crate::program::Program;
use std::fmt;
use std::str::FromStr;

/// Supported kinds of file systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FsKind {
    /// XFS.
    Xfs,
    /// ext4.
    Ext4,
    /// Btrfs.
    Btrfs,
}

/// A word that is not a supported file system.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no file system that can be made: use xfs, ext4 or btrfs")]
pub struct ParseFsKindError(String);

/// Specification of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// Its kind.
    pub kind: FsKind,
    /// Size of its sparse image in bytes.
    pub size: u64,
    /// Further arguments of mkfs, each a separate word.
    pub mkfs_options: Vec<String>,
    /// Options of mount(8), separated by commas; empty for none.
    pub mount_options: String,
}

impl FsKind {
    /// Every kind.
    pub const ALL: [FsKind; 3] = [FsKind::Xfs, FsKind::Ext4, FsKind::Btrfs];

    /// Returns the name, as mount(8) takes it.
    pub const fn name(self) -> &'static str {
        match self {
            FsKind::Xfs => "xfs",
            FsKind::Ext4 => "ext4",
            FsKind::Btrfs => "btrfs",
        }
    }

    /// Minimum size in bytes.
    pub const fn least_size(self) -> u64 {
        match self {
            FsKind::Xfs => 300 << 20,
            FsKind::Ext4 => 16 << 20,
            FsKind::Btrfs => 109 << 20,
        }
    }

    pub(crate) const fn mkfs(self) -> Program {
        match self {
            FsKind::Xfs => Program { name: "mkfs.xfs", package: "xfsprogs" },
            FsKind::Ext4 => Program { name: "mkfs.ext4", package: "e2fsprogs" },
            FsKind::Btrfs => Program { name: "mkfs.btrfs", package: "btrfs-progs" },
        }
    }
}

impl fmt::Display for FsKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for FsKind {
    type Err = ParseFsKindError;

    fn from_str(text: &str) -> Result<FsKind, ParseFsKindError> {
        let found = FsKind::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| ParseFsKindError(text.to_owned()))
    }
}

impl Spec {
    /// Checks that the size is possible, and that the options name nothing outside of the file system.
    ///
    /// # Errors
    /// [`ScratchError::TooSmall`], [`ScratchError::OtherDevice`].
    pub fn check(&self) -> Result<(), ScratchError> {
        let Spec { kind, size, .. } = *self;
        if size < kind.least_size() {
            return Err(ScratchError::TooSmall { kind, size });
        }
        check_mkfs(kind, &self.mkfs_options)?;
        check_mount(&self.mount_options)
    }

    /// Arguments of mkfs before the device. Nothing is discarded, and ext4 zeros its tables now: otherwise its kernel
    /// thread would do that during the measurement.
    pub(crate) fn mkfs_arguments(&self) -> Vec<String> {
        /// ext4: the last `-E` counts, so those of the user are appended to it.
        const EXTENDED: &str = "nodiscard,lazy_itable_init=0,lazy_journal_init=0";
        let own = if self.kind == FsKind::Ext4 { vec!["-q", "-E", EXTENDED] } else { vec!["-q", "-K"] };
        let mut arguments: Vec<String> = own.into_iter().map(String::from).collect();
        let mut options = self.mkfs_options.iter();
        while let Some(option) = options.next() {
            let extended = match option.strip_prefix("-E").filter(|_| self.kind == FsKind::Ext4) {
                Some("") => options.next().map(String::as_str),
                joined => joined,
            };
            match extended {
                Some(extended) => arguments[2] += &format!(",{extended}"),
                None => arguments.push(option.clone()),
            }
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: FsKind, size: u64, options: &[&str]) -> Spec {
        let mkfs_options = options.iter().map(ToString::to_string).collect();
        Spec { kind, size, mkfs_options, mount_options: String::new() }
    }

    #[test]
    fn parses_file_system_kinds() {
        for kind in FsKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let error = "zfs".parse::<FsKind>().unwrap_err().to_string();
        assert_eq!(error, "'zfs' is no file system that can be made: use xfs, ext4 or btrfs");
    }

    #[test]
    fn rejects_too_small_sizes() {
        let error = spec(FsKind::Xfs, 299 << 20, &[]).check().unwrap_err().to_string();
        assert_eq!(error, "299MiB is too small for xfs: use at least 300MiB");
        assert!(spec(FsKind::Btrfs, 109 << 20, &[]).check().is_ok());
    }

    #[test]
    fn joins_ext4_options() {
        let arguments =
            spec(FsKind::Ext4, 0, &["-E", "stride=4", "-m", "0", "-Estripe_width=8"]).mkfs_arguments();
        let extended = "nodiscard,lazy_itable_init=0,lazy_journal_init=0,stride=4,stripe_width=8";
        assert_eq!(arguments, ["-q", "-E", extended, "-m", "0"]);
        assert_eq!(spec(FsKind::Xfs, 0, &["-E", "x"]).mkfs_arguments(), ["-q", "-K", "-E", "x"]);
    }
}
