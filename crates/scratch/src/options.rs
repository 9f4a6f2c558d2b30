//! Refuses options of mkfs and mount(8) that name another device or file: a scratch file system changes only its own image.

use crate::{FsKind, ScratchError};

/// Option syntax of a mkfs.
struct Grammar {
    /// Letters of options with a value.
    with_value: &'static str,
    /// Letters of options that write a file, or read options from a file.
    refused: &'static str,
    /// Long options with a value as the next word.
    long_with_value: &'static [&'static str],
}

const fn grammar(kind: FsKind) -> Grammar {
    match kind {
        FsKind::Xfs => Grammar { with_value: "bmdilLnprs", refused: "c", long_with_value: &[] },
        FsKind::Ext4 => Grammar { with_value: "bCdeEgGiIJlLmMNoOrtTU", refused: "z", long_with_value: &[] },
        FsKind::Btrfs => Grammar {
            with_value: "AlnsbdmLOrRU",
            refused: "",
            long_with_value: &[
                "--alloc-start",
                "--byte-count",
                "--checksum",
                "--csum",
                "--data",
                "--device-uuid",
                "--features",
                "--label",
                "--leafsize",
                "--metadata",
                "--nodesize",
                "--rootdir",
                "--runtime-features",
                "--sectorsize",
                "--subvol",
                "--uuid",
            ],
        },
    }
}

/// Keys of values, of mkfs or mount(8), that name a device or a file, or that mount something else.
const NAMING: [&str; 14] = [
    "bind",
    "device",
    "file",
    "journal_dev",
    "journal_path",
    "logdev",
    "loop",
    "lowerdir",
    "move",
    "name",
    "rbind",
    "remount",
    "rtdev",
    "upperdir",
];

/// Refuses options of mkfs that name another device or file. Words that belong to no option do: mkfs would use them as
/// the device.
pub(crate) fn check_mkfs(kind: FsKind, options: &[String]) -> Result<(), ScratchError> {
    let grammar = grammar(kind);
    let refuse = |word: &str| Err(ScratchError::OtherDevice { of: "mkfs", word: word.to_owned() });
    let mut words = options.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let value = if word.starts_with("--") {
            match word.split_once('=') {
                Some((_, value)) => Some(value),
                None if grammar.long_with_value.contains(&word) => words.next(),
                None if word == "--" => return refuse(word),
                None => None,
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            if letters.chars().next().is_some_and(|letter| grammar.refused.contains(letter)) {
                return refuse(word);
            }
            match letters.find(|letter| grammar.with_value.contains(letter)) {
                Some(at) if at + 1 < letters.len() => Some(&letters[at + 1..]),
                Some(_) => words.next(),
                None => None,
            }
        } else {
            return refuse(word);
        };
        if let Some(value) = value.filter(|value| names_another(value)) {
            return refuse(value);
        }
    }
    Ok(())
}

/// Refuses options of mount(8) that name another device or file.
pub(crate) fn check_mount(options: &str) -> Result<(), ScratchError> {
    match names_another(options) {
        true => Err(ScratchError::OtherDevice { of: "mount", word: options.to_owned() }),
        false => Ok(()),
    }
}

fn names_another(value: &str) -> bool {
    let key = |part: &str| NAMING.contains(&part.split_once('=').map_or(part, |(key, _)| key).trim());
    value.contains('/') || value.split(',').any(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(String::from).collect()
    }

    #[test]
    fn rejects_options_naming_devices_or_files() {
        for (kind, text) in [
            (FsKind::Btrfs, "/dev/sdb"),
            (FsKind::Btrfs, "-d single sdb"),
            (FsKind::Btrfs, "--label x sdb"),
            (FsKind::Btrfs, "-- sdb"),
            (FsKind::Btrfs, "-qf sdb"),
            (FsKind::Xfs, "-l logdev=sdb,size=64m"),
            (FsKind::Xfs, "-llogdev=/dev/sdb"),
            (FsKind::Xfs, "-r rtdev=sdb"),
            (FsKind::Xfs, "-d name=sdb"),
            (FsKind::Xfs, "-d file,name=precious"),
            (FsKind::Xfs, "-c options=x"),
            (FsKind::Xfs, "-b size=4096 sdb"),
            (FsKind::Ext4, "-J device=LABEL=x"),
            (FsKind::Ext4, "-FJ device=sdb"),
            (FsKind::Ext4, "-z precious"),
            (FsKind::Ext4, "1000"),
            (FsKind::Ext4, "-"),
        ] {
            let error = check_mkfs(kind, &words(text)).unwrap_err().to_string();
            assert!(error.contains("another device or file"), "{text}: {error}");
        }
        for options in ["logdev=/dev/sdb", "noatime,rtdev=sdb", "bind", "remount,rw", "journal_path=x"] {
            assert!(check_mount(options).is_err(), "{options}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        /// For any words, no accepted one contains a path or is a bare word.
        #[test]
        fn accepted_options_name_no_path(text in "[-a-zA-Z0-9=,/ éß]{0,40}") {
            for kind in FsKind::ALL {
                if check_mkfs(kind, &words(&text)).is_ok() {
                    prop_assert!(!text.contains(" /") && !text.trim_start().starts_with('/'), "{}", text);
                    let first = text.split_whitespace().next();
                    prop_assert!(first.is_none_or(|word| word.starts_with('-')), "{}", text);
                }
            }
        }
    }

    #[test]
    fn accepts_file_system_options() {
        for (kind, text) in [
            (
                FsKind::Xfs,
                "-b size=1024 -d agcount=8 -m reflink=0,crc=1 -i size=512 -L label -n ftype=1 -f -l size=64m",
            ),
            (FsKind::Ext4, "-O ^has_journal -E stride=4 -b 1024 -m 0 -T largefile -J size=64 -F -i 4096"),
            (
                FsKind::Btrfs,
                "-M -n 4096 --nodesize 4096 --label=x --csum xxhash -d single --mixed -O ^no-holes",
            ),
        ] {
            check_mkfs(kind, &words(text)).unwrap();
        }
        for options in ["", "noatime", "noatime,allocsize=64k", "compress=zstd:3,ssd"] {
            check_mount(options).unwrap();
        }
    }
}
