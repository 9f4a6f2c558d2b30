//! Which bytes are filled.

use super::Question;
use iosonar_host::{Root, TargetError, TargetFacts, TargetKind, identify_growing};
use iosonar_plan::{ByteSize, SECTOR, Space};
use iosonar_runner::Error;
use iosonar_text::shown;
use std::io::ErrorKind;

/// A share of a target ends at a multiple of this many bytes: the largest block that devices have.
const SHARE_UNIT: u64 = 4096;

/// The bytes that are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// Where they start.
    pub start: u64,
    /// How many they are; never 0.
    pub length: u64,
    /// The file does not exist, or is empty.
    pub is_new: bool,
    /// Unit of direct I/O.
    block: u64,
}

impl Range {
    /// The range of a question on its target.
    ///
    /// # Errors
    /// The target cannot be filled, or has no such bytes.
    pub fn of(question: &Question) -> Result<Range, Error> {
        let wanted = Wanted::of(question);
        let found = match identify_growing(&question.target, &Root::default()) {
            Ok(facts) => wanted.on(&facts),
            Err(TargetError::Unreachable { error, .. }) if error.kind() == ErrorKind::NotFound => {
                wanted.on_new(SECTOR, "does not exist")
            }
            Err(error) => return Err(Error::refused(error)),
        };
        found.map_err(Error::refused_because)
    }

    /// Whether it is not made of whole blocks, so that direct I/O cannot write it.
    pub fn is_odd(&self) -> bool {
        !self.start.is_multiple_of(self.block) || !self.length.is_multiple_of(self.block)
    }
}

/// The options of a question.
#[derive(Debug, Clone)]
struct Wanted {
    name: String,
    offset: u64,
    length: Option<Space>,
    /// The option that gave it.
    option: &'static str,
}

impl Wanted {
    fn of(question: &Question) -> Wanted {
        let (length, option) = question.length.parts();
        Wanted { name: shown(&question.target).to_string(), offset: question.offset.0, length, option }
    }

    fn on(&self, facts: &TargetFacts) -> Result<Range, String> {
        let name = &self.name;
        let block = facts.logical_block_size.bytes.max(SECTOR);
        match facts.kind {
            TargetKind::MemoryDevice(_) => {
                return Err(format!(
                    "{name} keeps nothing, so it cannot be filled: name a block device or a file"
                ));
            }
            TargetKind::RegularFile(_) if facts.size == 0 => return self.on_new(block, "is empty"),
            TargetKind::RegularFile(_) | TargetKind::BlockDevice(_) => {}
        }
        let (start, size) = (self.offset, facts.size);
        if start >= size {
            let offset = ByteSize(start);
            return Err(format!("--offset {offset}: {name} ends at byte {size}: start before that"));
        }
        let room = size - start;
        let length = match self.length {
            None => room,
            Some(Space::Bytes(bytes)) if bytes.0 > room => {
                return Err(format!(
                    "--size {bytes}: from --offset {} on, {name} has {room} bytes: give less, or remove --size",
                    ByteSize(start)
                ));
            }
            Some(Space::Bytes(bytes)) => bytes.0,
            Some(Space::Percent(percent)) => {
                self.check_share(percent)?;
                Space::Percent(percent).of(size).next_multiple_of(SHARE_UNIT).min(room)
            }
        };
        self.range(length, false, block)
    }

    /// Of a file that is made.
    fn on_new(&self, block: u64, state: &str) -> Result<Range, String> {
        let (name, option) = (&self.name, self.option);
        if self.offset > 0 {
            let offset = ByteSize(self.offset);
            return Err(format!(
                "--offset {offset}: {name} {state}: a new file is filled from its start: remove it"
            ));
        }
        match self.length {
            Some(Space::Bytes(bytes)) => self.range(bytes.0, true, block),
            Some(share @ Space::Percent(_)) => {
                Err(format!("{option} {share}: {name} {state}: give --size in bytes, to create it"))
            }
            None => Err(format!("{name} {state}: check the spelling, or give --size, to create it")),
        }
    }

    fn check_share(&self, percent: u8) -> Result<(), String> {
        let option = self.option;
        match (1..=100).contains(&percent) {
            true => Ok(()),
            false => Err(format!("{option} {percent}%: a share lies between 1% and 100%")),
        }
    }

    fn range(&self, length: u64, is_new: bool, block: u64) -> Result<Range, String> {
        match length {
            0 => Err("--size 0: nothing would be filled: give a size above 0".into()),
            _ => Ok(Range { start: self.offset, length, is_new, block }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_host::identify_growing;

    const MIB: u64 = 1 << 20;

    fn wanted(offset: u64, length: Option<Space>) -> Wanted {
        Wanted { name: "a.img".into(), offset, length, option: "--size" }
    }

    /// The range on a file of `size` bytes.
    fn on(size: u64, wanted: &Wanted) -> Result<Range, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(size).unwrap();
        wanted.on(&identify_growing(file.path(), &Root::default()).unwrap())
    }

    fn bytes(bytes: u64) -> Option<Space> {
        Some(Space::Bytes(ByteSize(bytes)))
    }

    #[test]
    fn fills_to_the_end_without_a_size() {
        let range = on(8 * MIB, &wanted(MIB, None)).unwrap();
        assert_eq!((range.start, range.length, range.is_new, range.is_odd()), (MIB, 7 * MIB, false, false));
        assert!(on(1000, &wanted(0, None)).unwrap().is_odd());
        assert!(on(8 * MIB, &wanted(100, bytes(MIB))).unwrap().is_odd());
    }

    #[test]
    fn percent_is_of_the_target_and_block_aligned() {
        let share = |percent| Some(Space::Percent(percent));
        assert_eq!(on(8 * MIB, &wanted(0, share(50))).unwrap().length, 4 * MIB);
        assert_eq!(on(MIB, &wanted(0, share(1))).unwrap().length, 12_288);
        assert_eq!(on(8 * MIB, &wanted(6 * MIB, share(50))).unwrap().length, 2 * MIB);
        assert_eq!(on(1000, &wanted(0, share(1))).unwrap().length, 1000);
        assert!(on(MIB, &wanted(0, share(101))).unwrap_err().contains("between 1% and 100%"));
        assert!(on(MIB, &wanted(0, share(0))).is_err());
    }

    #[test]
    fn rejects_ranges_outside_target_naming_option() {
        for (size, wanted, word) in [
            (MIB, wanted(MIB, None), "--offset 1MiB: a.img ends at byte 1048576"),
            (MIB, wanted(4096, bytes(MIB)), "--size 1MiB: from --offset 4KiB on, a.img has 1044480 bytes"),
            (MIB, wanted(0, bytes(0)), "--size 0"),
            (0, wanted(0, None), "a.img is empty: check the spelling, or give --size"),
            (0, wanted(0, Some(Space::Percent(50))), "--size 50%: a.img is empty: give --size in bytes"),
            (0, wanted(4096, bytes(MIB)), "--offset 4KiB: a.img is empty"),
        ] {
            let why = on(size, &wanted).unwrap_err();
            assert!(why.contains(word), "{why}");
        }
    }

    #[test]
    fn empty_file_gets_the_given_size() {
        let range = on(0, &wanted(0, bytes(MIB))).unwrap();
        assert_eq!((range.start, range.length, range.is_new), (0, MIB, true));
    }
}
