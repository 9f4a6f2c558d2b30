//! Aged free space: holes of given sizes between small files.

use iosonar_os::create::Unfinished;
use iosonar_os::made::{self, MARK, Made, OwnDir};
use iosonar_os::{create, extend, sync_file_system};
use iosonar_plan::ByteSize;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Unit of sizes.
const BLOCK: u64 = 4096;

/// Free space that was used and freed again: holes separated by small files. The size of each hole and small file is
/// drawn from the seed. Sizes are bytes, rounded down to 4 KiB.
///
/// Text form: `holes=84,hole=15.75m,spacing=256k`, with ranges as in `hole=4m..16m`, and with `seed=2` if it is not 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Age {
    /// Number of holes.
    pub holes: u32,
    /// Minimum and maximum bytes of a hole.
    pub hole: (u64, u64),
    /// Minimum and maximum bytes of the small file after a hole.
    pub spacing: (u64, u64),
    /// Seed of the sizes.
    pub seed: u64,
}

/// A text that does not describe aged free space; contains the problem, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ParseAgeError(String);

/// Why free space cannot be aged. The attempt is undone completely.
#[derive(Debug, thiserror::Error)]
#[error("cannot age the free space of {}: {what}: {error}", iosonar_text::shown(&dir))]
pub struct AgeError {
    /// The directory.
    pub dir: PathBuf,
    /// Failed action.
    pub what: String,
    /// Error from the operating system.
    pub error: io::Error,
}

/// Files that separate holes. They stay until [`Aged::remove`], or until their file system is removed.
#[derive(Debug)]
pub struct Aged {
    files: Vec<Made>,
    holes: Vec<u64>,
    /// Its mark lists the files, for the process that removes leftovers of a killed one.
    notes: OwnDir,
}

impl Aged {
    /// Size of each hole in bytes, in the order of allocation.
    pub fn holes(&self) -> &[u64] {
        &self.holes
    }

    /// The small files.
    pub fn files(&self) -> &[Made] {
        &self.files
    }

    /// Returns a function that removes them from another thread, for a signal that must end this process at once.
    pub fn remover(&self) -> impl Fn() + Send + use<> {
        let (files, notes) = (self.files.clone(), self.notes.made().clone());
        move || {
            // Errors cannot be reported any more; the next start removes leftovers.
            let _ = remove_all(&files);
            let _ = notes.remove_tree(&|below| below == Path::new(MARK));
        }
    }

    /// Removes the small files.
    ///
    /// # Errors
    /// Those of the first file that cannot be removed. All others are removed anyway.
    pub fn remove(self) -> io::Result<()> {
        remove_all(&self.files)
    }
}

fn remove_all(files: &[Made]) -> io::Result<()> {
    files.iter().map(Made::remove).collect::<Vec<_>>().into_iter().collect()
}

/// Removes files of killed processes in a directory. Returns their number.
///
/// # Errors
/// Those of the first file that cannot be removed. All others are removed anyway.
pub fn remove_aged_leftovers(dir: &Path) -> io::Result<usize> {
    let mut count = 0;
    for leftover in made::leftovers(dir, KIND)? {
        let files = leftover.noted_beside();
        remove_all(&files)?;
        leftover.remove_tree(&|below| below == Path::new(MARK))?;
        count += files.len();
    }
    Ok(count)
}

/// Kind of the directories whose marks list the files: their names are `.iosonar-age-PID-N`.
const KIND: &str = "age";

impl Age {
    /// Allocates large and small files alternately in a directory, and removes the large ones. They are in `dir`
    /// itself, because XFS allocates the files of a new directory in another allocation group. Their names are
    /// `.iosonar-age-N`.
    ///
    /// # Errors
    /// The file system is full or does not support allocation, or such files exist.
    pub fn apply(&self, dir: &Path) -> Result<Aged, AgeError> {
        let notes = OwnDir::new_in(dir, KIND);
        let mut notes = notes.map_err(|error| self.failed(dir, "no directory can be made", error))?;
        let mut made = Vec::new();
        let holes = self.allocate(dir, &mut notes, &mut made).and_then(|holes| {
            free(dir, &mut made)
                .map_err(|error| self.failed(dir, "the large files cannot be removed", error))?;
            Ok(holes)
        });
        match holes {
            Ok(holes) => Ok(Aged { files: made, holes, notes }),
            Err(error) => {
                // Ignore removal errors; report the original one.
                let _ = remove_all(&made);
                Err(error)
            }
        }
    }

    /// Allocates all files in turn; returns the bytes of the large ones, which have even numbers.
    fn allocate(&self, dir: &Path, notes: &mut OwnDir, made: &mut Vec<Made>) -> Result<Vec<u64>, AgeError> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed);
        let mut holes = Vec::new();
        for hole in 0..u64::from(self.holes) {
            let sizes = [self.hole, self.spacing].map(|range| draw(range, &mut random));
            for (number, size) in (2 * hole..).zip(sizes) {
                let path = dir.join(format!(".iosonar-age-{number}"));
                let allocated = allocate(&path, size, notes, made);
                allocated.map_err(|error| {
                    let what = format!(
                        "hole {} of {}, {} is refused",
                        hole + 1,
                        self.holes,
                        iosonar_text::shown(&path)
                    );
                    self.failed(dir, &what, error)
                })?;
            }
            holes.push(sizes[0]);
        }
        Ok(holes)
    }

    fn failed(&self, dir: &Path, what: &str, error: io::Error) -> AgeError {
        AgeError { dir: dir.to_path_buf(), what: what.to_owned(), error }
    }
}

/// Creates a file with allocated space, and notes it before it has a name: a killed process leaves no unnoted file.
fn allocate(path: &Path, bytes: u64, notes: &mut OwnDir, made: &mut Vec<Made>) -> io::Result<()> {
    let unfinished = Unfinished::begin(path.parent().unwrap_or(Path::new(".")))?;
    notes.note_beside(path, unfinished.id()?)?;
    let file = unfinished.name_new(path)?;
    made.push(file);
    extend(&create::existing_file(path, false)?, bytes)
}

/// Removes every second file, starting with the first, and waits until its space is free.
fn free(dir: &Path, made: &mut Vec<Made>) -> io::Result<()> {
    let dir = File::open(dir)?;
    sync_file_system(&dir)?;
    for large in made.iter().step_by(2) {
        // XFS frees the space of a removed file later, in the background; truncation frees it now.
        create::existing_file(large.path(), false)?.set_len(0)?;
        large.remove()?;
    }
    let mut number = 0;
    made.retain(|_| {
        number += 1;
        number % 2 == 0
    });
    sync_file_system(&dir)
}

/// A multiple of a block within a range, uniformly distributed.
fn draw((least, most): (u64, u64), random: &mut impl Rng) -> u64 {
    let least = (least / BLOCK).max(1);
    let choices = (most / BLOCK).saturating_sub(least).saturating_add(1);
    let chosen = (u128::from(random.next_u64()) * u128::from(choices)) >> 64;
    (least + chosen as u64) * BLOCK
}

impl FromStr for Age {
    type Err = ParseAgeError;

    fn from_str(text: &str) -> Result<Age, ParseAgeError> {
        const FORM: &str =
            "use holes=N,hole=SIZE,spacing=SIZE, for example holes=84,hole=15.75m,spacing=256k";
        let wrong = |what: String| ParseAgeError(format!("{what}: {FORM}"));
        let (mut holes, mut hole, mut spacing, mut seed) = (None, None, None, None);
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or_else(|| wrong(format!("'{part}' has no =")))?;
            let is_second = match key {
                "holes" => holes.replace(number(key, value, 1..=u64::from(u32::MAX))?).is_some(),
                "hole" => hole.replace(range(key, value)?).is_some(),
                "spacing" => spacing.replace(range(key, value)?).is_some(),
                "seed" => seed.replace(number(key, value, 0..=u64::MAX)?).is_some(),
                _ => return Err(wrong(format!("'{key}' is no property of aged free space"))),
            };
            if is_second {
                return Err(wrong(format!("'{key}' occurs twice in '{text}'")));
            }
        }
        let missing = |key| wrong(format!("'{text}' has no {key}"));
        Ok(Age {
            holes: holes.ok_or_else(|| missing("holes"))? as u32,
            hole: hole.ok_or_else(|| missing("hole"))?,
            spacing: spacing.ok_or_else(|| missing("spacing"))?,
            seed: seed.unwrap_or(1),
        })
    }
}

fn number(key: &str, text: &str, allowed: std::ops::RangeInclusive<u64>) -> Result<u64, ParseAgeError> {
    let least = allowed.start();
    let found = text.parse().ok().filter(|number| allowed.contains(number));
    found.ok_or_else(|| ParseAgeError(format!("'{key}={text}': use a whole number from {least}")))
}

fn range(key: &str, text: &str) -> Result<(u64, u64), ParseAgeError> {
    let wrong = |why: String| ParseAgeError(format!("'{key}={text}': {why}"));
    let size = |text: &str| text.parse::<ByteSize>().map(|size| size.0).map_err(|error| wrong(error.0));
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    let (least, most) = (size(least)?, size(most)?);
    if least < BLOCK {
        return Err(wrong("sizes are 4k or more".into()));
    }
    if least > most {
        return Err(wrong("the least size comes first, for example 4m..16m".into()));
    }
    Ok((least, most))
}

impl fmt::Display for Age {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "holes={},hole={},spacing={}",
            self.holes,
            shown_range(self.hole),
            shown_range(self.spacing)
        )?;
        if self.seed == 1 { Ok(()) } else { write!(f, ",seed={}", self.seed) }
    }
}

fn shown_range((least, most): (u64, u64)) -> String {
    if least == most { shown(least) } else { format!("{}..{}", shown(least), shown(most)) }
}

/// Formats a size in the largest unit with at most two decimals.
fn shown(bytes: u64) -> String {
    let units = [("t", 1u64 << 40), ("g", 1 << 30), ("m", 1 << 20), ("k", 1 << 10)];
    let fits = |unit: u64| bytes >= unit && (u128::from(bytes) * 100).is_multiple_of(u128::from(unit));
    let Some((letter, unit)) = units.into_iter().find(|(_, unit)| fits(*unit)) else {
        return bytes.to_string();
    };
    let decimals = u128::from(bytes % unit) * 100 / u128::from(unit);
    let number = format!("{}.{decimals:02}", bytes / unit);
    format!("{}{letter}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_specifications_round_trip() {
        for text in [
            "holes=84,hole=15.75m,spacing=256k",
            "holes=1,hole=4m..16m,spacing=4k..1.5g,seed=7",
            "holes=10,hole=1028k,spacing=4097",
        ] {
            assert_eq!(text.parse::<Age>().unwrap().to_string(), text);
        }
        let age: Age = "spacing=256k,hole=15.75m..16m,holes=84".parse().unwrap();
        assert_eq!(
            age,
            Age { holes: 84, hole: (16_515_072, 16 << 20), spacing: (262_144, 262_144), seed: 1 }
        );
    }

    #[test]
    fn errors_name_the_field_and_the_remedy() {
        for (text, says) in [
            ("", "'' has no =: use holes=N"),
            ("holes=8,hole=4m", "'holes=8,hole=4m' has no spacing: use"),
            ("holes=8,hle=4m", "'hle' is no property of aged free space: use"),
            ("holes=8,holes=9", "'holes' occurs twice in 'holes=8,holes=9': use"),
            ("holes=0", "'holes=0': use a whole number from 1"),
            ("hole=4x", "'hole=4x': '4x' is no size: use a number with k"),
            ("hole=16m..4m", "'hole=16m..4m': the least size comes first, for example 4m..16m"),
            ("spacing=1k", "'spacing=1k': sizes are 4k or more"),
        ] {
            let error = text.parse::<Age>().unwrap_err().to_string();
            assert!(error.starts_with(says), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_in_range_block_aligned_and_seeded() {
        let drawn = |seed| -> Vec<u64> {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            (0..1000).map(|_| draw((8191, 20_000), &mut random)).collect()
        };
        assert!(drawn(1).iter().all(|size| [4096, 8192, 12_288, 16_384].contains(size)));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn aging_keeps_spacer_files_but_leaves_none_on_failure() {
        let dir = tempfile::tempdir_in(".").unwrap();
        let entries = || std::fs::read_dir(dir.path()).unwrap().count();
        let age = Age { holes: 3, hole: (8192, 16_384), spacing: (4096, 4096), seed: 1 };
        // Some file systems cannot allocate.
        let Ok(aged) = age.apply(dir.path()) else { return };
        assert_eq!((entries(), aged.files().len(), aged.holes().len()), (4, 3, 3));
        assert!(aged.files()[0].path().ends_with(".iosonar-age-1"), "{aged:?}");
        let error = age.apply(dir.path()).unwrap_err().to_string();
        assert!(error.contains("hole 1 of 3") && error.contains("exists"), "{error}");
        aged.remove().unwrap();
        assert_eq!(entries(), 0);
        let large = Age { hole: (1 << 60, 1 << 60), ..age };
        assert!(large.apply(dir.path()).is_err());
        assert_eq!(entries(), 0);
    }
}
