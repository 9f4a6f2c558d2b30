//! What is on a block device, so that the user knows what would be lost.

use crate::target::{BlockDevice, Role, TargetFacts, dev_path};
use crate::{Root, block, size};
use std::fmt;
use std::path::Path;
use std::process::{Command, Stdio};

/// At most so many partitions are looked at; the others are counted.
const MAX_PARTS: usize = 64;
/// Where `blkid` is, for users whose `PATH` leaves out the administrator's programs.
const BLKID: [&str; 3] = ["blkid", "/usr/sbin/blkid", "/sbin/blkid"];

/// What is on a block device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Size in bytes.
    pub size: u64,
    /// Vendor's name of the disk, if it has one.
    pub model: Option<String>,
    /// Path of the backing file of a loop device.
    pub backing_file: Option<String>,
    /// What was found on the device itself.
    pub whole: Look,
    /// Its partitions.
    pub parts: Vec<Part>,
    /// Partitions beyond those of `parts`.
    pub more_parts: usize,
}

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The kernel's name.
    pub name: String,
    /// What was found on it.
    pub look: Look,
}

/// What a search for signatures of file systems, partition tables, RAID members … found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// This one, for people: `ext4 file system "home" (UUID …)`.
    Found(String),
    /// None that the search knows. It can hold data all the same.
    NothingKnown,
    /// It could not be searched; holds the reason.
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
            write!(f, " of a {model}")?;
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

/// Looks what is on the device of a target.
pub(super) fn look(facts: &TargetFacts, device: &BlockDevice, root: &Root) -> Contents {
    let names = block::partitions(&device.name, root);
    let more_parts = names.len().saturating_sub(MAX_PARTS);
    let part = |name: String| Part { look: signature(&root.path(dev_path(&name))), name };
    Contents {
        size: facts.size,
        model: device.model.known().cloned(),
        backing_file: match &device.role {
            Role::Loop { backing_file, .. } => Some(backing_file.display().to_string()),
            _ => None,
        },
        whole: signature(&facts.resolved),
        parts: names.into_iter().take(MAX_PARTS).map(part).collect(),
        more_parts,
    }
}

/// Asks `blkid`, which reads the device itself (`-p`) and not a cache of former answers.
fn signature(device: &Path) -> Look {
    signature_by(&BLKID, device)
}

/// Asks the first of these programs that is installed.
fn signature_by(programs: &[&str], device: &Path) -> Look {
    for program in programs {
        let asked =
            Command::new(program).args(["-p", "-o", "export"]).arg(device).stdin(Stdio::null()).output();
        match asked {
            Ok(output) => {
                return answer(output.status.code(), &String::from_utf8_lossy(&output.stdout), device);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Look::CouldNot(format!("{program}: {error}")),
        }
    }
    Look::CouldNot("blkid is not installed; it belongs to util-linux".to_owned())
}

/// `blkid` ends with 2 both when it finds nothing and when it can't open the device.
fn answer(code: Option<i32>, text: &str, device: &Path) -> Look {
    match code {
        Some(0) => parse(text).map_or(Look::NothingKnown, Look::Found),
        Some(2) => match std::fs::File::open(device) {
            Ok(_) => Look::NothingKnown,
            Err(error) => Look::CouldNot(format!("{}: {error}", device.display())),
        },
        Some(8) => Look::Found("signatures of more than one kind".to_owned()),
        Some(code) => Look::CouldNot(format!("blkid ended with status {code}")),
        None => Look::CouldNot("blkid was killed by a signal".to_owned()),
    }
}

/// Reads `NAME=value` lines.
fn parse(text: &str) -> Option<String> {
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
    let table = value("PTTYPE").map(|kind| format!("{kind} partition table"));
    let content = value("TYPE").map(|kind| match value("USAGE") {
        Some("filesystem") => format!("{kind} file system"),
        Some("raid") => format!("{kind} (part of a RAID or of a volume group)"),
        Some("crypto") => format!("{kind} (encrypted)"),
        _ => kind.to_owned(),
    });
    let found = [content, table].into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let label = value("LABEL").map(|label| format!(" {label:?}")).unwrap_or_default();
    let uuid = value("UUID").or(value("PTUUID")).map(|uuid| format!(" (UUID {uuid})")).unwrap_or_default();
    (!found.is_empty()).then(|| format!("{found}{label}{uuid}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_system_is_named_with_label_and_uuid() {
        let text = "DEVNAME=/dev/x\nLABEL=home\nUUID=12-34\nTYPE=ext4\nUSAGE=filesystem\nPART_ENTRY_SIZE=9\n";
        assert_eq!(parse(text).unwrap(), "ext4 file system \"home\" (UUID 12-34)");
    }

    #[test]
    fn partition_table_and_members_are_named() {
        assert_eq!(parse("PTUUID=ab\nPTTYPE=gpt\n").unwrap(), "gpt partition table (UUID ab)");
        assert_eq!(
            parse("TYPE=LVM2_member\nUSAGE=raid\n").unwrap(),
            "LVM2_member (part of a RAID or of a volume group)"
        );
        assert_eq!(parse("TYPE=swap\nUSAGE=other\n").unwrap(), "swap");
        assert_eq!(parse("DEVNAME=/dev/x\n"), None);
    }

    #[test]
    fn without_the_program_nobody_could_look() {
        let look = signature_by(&["/no/such/blkid"], Path::new("/dev/null"));
        assert_eq!(
            look.to_string(),
            "could not look for signatures (blkid is not installed; it belongs to util-linux)"
        );
    }

    #[test]
    fn nothing_found_is_not_the_same_as_could_not_look() {
        assert_eq!(answer(Some(2), "", Path::new("/dev/null")), Look::NothingKnown);
        assert!(matches!(answer(Some(2), "", Path::new("/no/such")), Look::CouldNot(_)));
        assert!(matches!(answer(Some(4), "", Path::new("/dev/null")), Look::CouldNot(_)));
        assert!(matches!(answer(Some(8), "", Path::new("/dev/null")), Look::Found(_)));
    }
}
