//! Files that a plan reads, on a machine to which they were sent: kept under their SHA-256, so they are sent once.

use crate::protocol::InputFile;
use crate::sent_program::{copy_hashed, hash_of};
use iosonar_archive::RunInfo;
use iosonar_os::create::{Unfinished, new_private_dirs};
use iosonar_os::made::OwnDir;
use iosonar_os::temporary;
use iosonar_text::shown;
use std::env;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

/// Input files of this machine's user.
#[derive(Debug, Default)]
pub(crate) struct InputCache {
    /// Why a file could not be stored.
    failed: Option<String>,
    folder: Folder,
}

/// Where the files of a question are.
#[derive(Debug, Default)]
enum Folder {
    /// Files go to the cache.
    #[default]
    None,
    Made(OwnDir),
    /// It could not be made: files that follow are read and dropped.
    Failed,
}

/// Where the input files of a plan are here.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputPlaces(Vec<(PathBuf, PathBuf)>);

/// The directory of a file, in the cache of the user.
fn dir_of(hash: &str) -> io::Result<PathBuf> {
    let is_plain = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let named = |variable| env::var_os(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
    let cache = named("XDG_CACHE_HOME").or_else(|| Some(named("HOME")?.join(".cache")));
    match cache.filter(|_| is_plain) {
        Some(cache) => Ok(cache.join("iosonar").join(hash)),
        None => Err(io::Error::new(io::ErrorKind::NotFound, "HOME is not set, so there is no cache for it")),
    }
}

/// Its file: it has the name that it has elsewhere, as names may say what a file is.
fn path_of(input: &InputFile) -> io::Result<PathBuf> {
    Ok(dir_of(&input.hash)?.join(name_of(input)))
}

fn name_of(input: &InputFile) -> PathBuf {
    input.path.file_name().map_or_else(|| "input".into(), PathBuf::from)
}

impl InputCache {
    /// Hashes of those that are not here.
    pub(crate) fn missing(&self, inputs: &[InputFile]) -> Vec<String> {
        let is_here = |input: &&InputFile| {
            path_of(input).and_then(|path| hash_of(&path)).is_ok_and(|(hash, _)| hash == input.hash)
        };
        inputs.iter().filter(|input| !is_here(input)).map(|input| input.hash.clone()).collect()
    }

    /// Stores a file from the stream. All of its bytes are read in any case: an order follows them.
    pub(crate) fn receive(&mut self, input: &InputFile, from: &mut impl BufRead) {
        let mut bytes = from.by_ref().take(input.bytes);
        let stored = match &self.folder {
            Folder::None => store(input, &mut bytes),
            Folder::Made(folder) => keep(input, folder.path(), &mut bytes),
            Folder::Failed => Ok(0),
        };
        let drained = io::copy(&mut bytes, &mut io::sink());
        if let Err(error) = stored.and(drained) {
            self.failed = Some(format!("{} cannot be stored there: {error}", shown(&input.path)));
        }
    }

    /// Keeps the files that follow in a temporary folder.
    pub(crate) fn gather(&mut self) {
        self.folder = match temporary::directory("question") {
            Ok(folder) => Folder::Made(folder),
            Err(error) => {
                self.failed = Some(error.to_string());
                Folder::Failed
            }
        };
    }

    /// The folder of a question; `None` if it has no files. It is removed when it is dropped.
    pub(crate) fn gathered(&mut self) -> Result<Option<OwnDir>, String> {
        let folder = match std::mem::take(&mut self.folder) {
            Folder::Made(folder) => Some(folder),
            Folder::None | Folder::Failed => None,
        };
        if let Some(folder) = &folder {
            folder.remove_leftovers();
        }
        self.failed.take().map_or(Ok(folder), Err)
    }

    /// Where all of them are.
    pub(crate) fn places(&self, inputs: &[InputFile]) -> Result<InputPlaces, String> {
        if let Some(why) = &self.failed {
            return Err(why.clone());
        }
        let place = |input: &InputFile| Ok((input.path.clone(), path_of(input)?));
        let places: io::Result<Vec<_>> = inputs.iter().map(place).collect();
        places.map(InputPlaces).map_err(|error| error.to_string())
    }
}

fn store(input: &InputFile, from: &mut impl BufRead) -> io::Result<u64> {
    let dir = dir_of(&input.hash)?;
    match new_private_dirs(&dir) {
        // Another process of this user may store the same file.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    keep(input, &dir, from)
}

/// Keeps a file in a directory, under the name that it has elsewhere.
fn keep(input: &InputFile, dir: &Path, from: &mut impl BufRead) -> io::Result<u64> {
    let mut file = Unfinished::begin(dir)?;
    let (hash, bytes) = copy_hashed(from, file.file())?;
    if (&hash, bytes) != (&input.hash, input.bytes) {
        let why = format!("{bytes} of {} bytes came, or others", input.bytes);
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    file.name_over(&dir.join(name_of(input)))?;
    Ok(bytes)
}

impl InputPlaces {
    /// Where a file of the plan is here.
    pub(crate) fn of(&self, typed: &Path) -> Option<PathBuf> {
        self.0.iter().find(|(path, _)| path == typed).map(|(_, place)| place.clone())
    }

    /// The path in the plan of a file here.
    pub(crate) fn typed<'a>(&'a self, place: &'a Path) -> &'a Path {
        self.0.iter().find(|(_, here)| here == place).map_or(place, |(path, _)| path)
    }

    /// Facts about a run with the paths of the plan.
    pub(crate) fn named_as_typed(&self, mut info: RunInfo) -> RunInfo {
        for target in &mut info.targets {
            for (typed, place) in &self.0 {
                target.source = target.source.replace(&*place.to_string_lossy(), &typed.to_string_lossy());
            }
        }
        info
    }
}
