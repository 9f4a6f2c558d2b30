//! Contents of a block device, so that the user knows what would be lost.

use crate::target::{BlockDevice, Role, TargetFacts, dev_path};
use crate::{Root, block, size};
use iosonar_os::blkid::{self, Signature};
use iosonar_text::shown;
use rustix::fs::{Mode, OFlags};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Name of the thread that searches for signatures: traces of a device include it with each read.
pub const SIGNATURES_THREAD: &str = "signatures";

/// Maximum number of partitions searched; the others are counted.
const MAX_PARTS: usize = 64;
/// Maximum time to search a device with all its partitions: one that has lost its disk may never answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Contents of a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Size in bytes.
    pub size: u64,
    /// Model of the disk, if it has one.
    pub model: Option<String>,
    /// Path of the backing file of a loop device.
    pub backing_file: Option<String>,
    /// Result for the device itself.
    pub whole: Look,
    /// Its partitions.
    pub parts: Vec<PartitionLook>,
    /// Partitions beyond those of `parts`.
    pub more_parts: usize,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionLook {
    /// The kernel's name.
    pub name: String,
    /// Result for the partition.
    pub look: Look,
}

/// Result of a search for signatures of file systems, partition tables, RAID members ...
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Signatures in words: `ext4 file system "home" (UUID ...) and gpt partition table (UUID ...)`.
    Found(String),
    /// No known signature. The device may still contain data.
    NothingKnown,
    /// The search failed; holds the reason.
    CouldNot(String),
}

impl fmt::Display for Look {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Look::Found(signature) => f.write_str(signature),
            Look::NothingKnown => f.write_str("no known signature found"),
            Look::CouldNot(why) => write!(f, "could not look for signatures ({why})"),
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "all {}", size::human(self.size))?;
        if let Some(model) = &self.model {
            write!(f, " of a {}", shown(model))?;
        }
        if let Some(file) = &self.backing_file {
            write!(f, ", kept in {file}")?;
        }
        write!(f, ": {}", self.whole)?;
        for part in &self.parts {
            write!(f, ", partition {}: {}", part.name, part.look)?;
        }
        match self.more_parts {
            0 => Ok(()),
            more => write!(f, ", and {more} more partitions"),
        }
    }
}

/// Searches the device of a target.
pub(super) fn look(facts: &TargetFacts, device: &BlockDevice, root: &Root) -> Contents {
    let names = block::partitions(&device.name, root).unwrap_or_default();
    let more_parts = names.len().saturating_sub(MAX_PARTS);
    let deadline = Instant::now() + PATIENCE;
    // A read of such a device would block even the exit of this program.
    let suspended = facts.devices().into_iter().find(|it| block::is_suspended(&it.name, root));
    let suspended = suspended.map(|it| block::given_name(&it.name, root));
    let look = |path: PathBuf| match &suspended {
        Some(name) => Look::CouldNot(format!("{name} is suspended, so nothing can be read or written")),
        None => search(path, deadline),
    };
    let part = |name: String| PartitionLook { look: look(root.path(dev_path(&name))), name };
    Contents {
        size: facts.size,
        model: device.model.known().cloned(),
        backing_file: match &device.role {
            Role::Loop { backing_file, .. } => Some(shown(backing_file).to_string()),
            _ => None,
        },
        whole: look(facts.resolved.clone()),
        parts: names.into_iter().take(MAX_PARTS).map(part).collect(),
        more_parts,
    }
}

/// Searches a device in a separate thread, so that a hanging device does not block. (The kernel delays the exit of a
/// program until its reads have completed: then the message is shown, but the prompt is not.)
fn search(device: PathBuf, deadline: Instant) -> Look {
    search_by(signatures, device, deadline)
}

fn search_by(signatures: fn(&Path) -> Look, device: PathBuf, deadline: Instant) -> Look {
    let patience = deadline.saturating_duration_since(Instant::now());
    if patience.is_zero() {
        return Look::CouldNot("no time is left for it".to_owned());
    }
    let (answer, answered) = mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(SIGNATURES_THREAD.to_owned());
    // A late answer has no receiver.
    let spawned = thread.spawn(move || drop(answer.send(signatures(&device))));
    if let Err(error) = spawned {
        return Look::CouldNot(error.to_string());
    }
    match answered.recv_timeout(patience) {
        Ok(look) => look,
        Err(RecvTimeoutError::Timeout) => {
            Look::CouldNot(format!("the device does not answer within {} s", PATIENCE.as_secs()))
        }
        Err(RecvTimeoutError::Disconnected) => Look::CouldNot("the search broke off".to_owned()),
    }
}

/// Asks libblkid, which reads the device itself.
fn signatures(device: &Path) -> Look {
    // Do not wait for a medium or a carrier.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(device, flags, Mode::empty()) {
        Ok(opened) => opened,
        Err(errno) => {
            return Look::CouldNot(format!("{}: {}", shown(&device), std::io::Error::from(errno)));
        }
    };
    match blkid::signatures(opened) {
        Ok(found) => name_all(&found),
        Err(error) => Look::CouldNot(error.to_string()),
    }
}

/// Names every signature. The protective MBR of a GPT is skipped.
fn name_all(found: &[Signature]) -> Look {
    let is_table = |it: &Signature, kind: &str| it.table.as_deref() == Some(kind);
    let with_gpt = found.iter().any(|it| is_table(it, "gpt"));
    let telling = found.iter().filter(|it| !(with_gpt && is_table(it, "PMBR")));
    let names: Vec<String> = telling.filter_map(name).collect();
    if names.is_empty() { Look::NothingKnown } else { Look::Found(names.join(" and ")) }
}

/// Names a signature.
fn name(signature: &Signature) -> Option<String> {
    let word = |word: &Option<String>| word.as_ref().map(|word| shown(word).to_string());
    let kind = match (word(&signature.content), word(&signature.table)) {
        (Some(kind), _) => match signature.usage.as_deref() {
            Some("filesystem") if kind.ends_with("_member") => format!("{kind} (part of a pool)"),
            Some("filesystem") => format!("{kind} file system"),
            Some("raid") => format!("{kind} (part of a RAID or of a volume group)"),
            Some("crypto") => format!("{kind} (encrypted)"),
            _ => kind,
        },
        (None, Some(kind)) => format!("{kind} partition table"),
        (None, None) => return None,
    };
    let damaged = if signature.damaged { " with a wrong checksum" } else { "" };
    let label = signature.label.as_ref().map(|label| format!(" {label:?}")).unwrap_or_default();
    let uuid = signature.uuid.as_ref().map(|uuid| format!(" (UUID {})", shown(uuid))).unwrap_or_default();
    Some(format!("{kind}{damaged}{label}{uuid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(kind: &str, usage: &str) -> Signature {
        Signature { content: Some(kind.into()), usage: Some(usage.into()), ..Signature::default() }
    }

    fn table(kind: &str, uuid: Option<&str>) -> Signature {
        Signature { table: Some(kind.into()), uuid: uuid.map(str::to_owned), ..Signature::default() }
    }

    #[test]
    fn names_file_system_with_label_and_uuid() {
        let mut found = content("ext4", "filesystem");
        (found.label, found.uuid) = (Some("home".into()), Some("12-34".into()));
        assert_eq!(name(&found).unwrap(), "ext4 file system \"home\" (UUID 12-34)");
        found.damaged = true;
        assert_eq!(name(&found).unwrap(), "ext4 file system with a wrong checksum \"home\" (UUID 12-34)");
    }

    #[test]
    fn names_members_by_their_array_or_pool() {
        let of = |kind, usage| name(&content(kind, usage)).unwrap();
        assert_eq!(of("LVM2_member", "raid"), "LVM2_member (part of a RAID or of a volume group)");
        assert_eq!(of("zfs_member", "filesystem"), "zfs_member (part of a pool)");
        assert_eq!(of("crypto_LUKS", "crypto"), "crypto_LUKS (encrypted)");
        assert_eq!(of("swap", "other"), "swap");
        assert_eq!(name(&Signature::default()), None);
    }

    #[test]
    fn names_all_signatures_but_not_protective_mbr() {
        let all = [content("ext4", "filesystem"), table("gpt", Some("ab")), table("PMBR", None)];
        let named = Look::Found("ext4 file system and gpt partition table (UUID ab)".into());
        assert_eq!(name_all(&all), named);
        assert_eq!(name_all(&all[2..]), Look::Found("PMBR partition table".into()));
        assert_eq!(name_all(&[]), Look::NothingKnown);
    }

    #[test]
    fn distinguishes_no_signature_from_failed_search() {
        let soon = Instant::now() + PATIENCE;
        let empty = tempfile::NamedTempFile::new().unwrap();
        empty.as_file().set_len(1 << 20).unwrap();
        assert_eq!(search(empty.path().into(), soon), Look::NothingKnown);
        assert!(matches!(search("/dev/null".into(), soon), Look::CouldNot(_)));
        let missing = search("/no/such".into(), soon).to_string();
        assert_eq!(
            missing,
            "could not look for signatures (/no/such: No such file or directory (os error 2))"
        );
    }

    #[test]
    fn gives_up_on_unresponsive_device() {
        let slow = |_: &Path| {
            std::thread::sleep(Duration::from_millis(500));
            Look::NothingKnown
        };
        let soon = Instant::now() + Duration::from_millis(20);
        let look = search_by(slow, "/dev/null".into(), soon).to_string();
        assert_eq!(look, "could not look for signatures (the device does not answer within 10 s)");
        let look = search_by(slow, "/dev/null".into(), soon).to_string();
        assert_eq!(look, "could not look for signatures (no time is left for it)");
        let look = search_by(|_| panic!("on purpose"), "/dev/null".into(), soon + PATIENCE).to_string();
        assert_eq!(look, "could not look for signatures (the search broke off)");
    }
}
