//! The output gate of commands that read archives and loads, and the folders of pictures.

use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_engine::TargetReady;
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, OutputFolder, OutputName, Role};
use iosonar_text::shown;
use iosonar_view::Folder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static ROOT: LazyLock<Root> = LazyLock::new(Root::default);

/// A gate that refuses to overwrite inputs: files, and contents of directories. Earlier pages in a directory are no input.
pub fn gate_of(inputs: &[PathBuf]) -> Gate<'static> {
    let mut gate = Gate::new(&ROOT);
    for input in inputs {
        let role = Role::Input(shown(input).to_string());
        files_of(input).iter().for_each(|file| gate.forbid(file, role.clone()));
    }
    gate
}

/// Refuses targets that would be overwritten although the command reads them: `option` names the file in errors.
pub fn refuse_read_targets(
    targets: &[TargetReady],
    option: &str,
    files: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    let written = targets.iter().filter(|target| target.statement().is_some());
    refuse_read(written.map(|target| target.path().as_path()), option, files)
}

/// Refuses paths of targets that the command reads.
pub fn refuse_read<'a>(
    targets: impl IntoIterator<Item = &'a Path>,
    option: &str,
    files: impl IntoIterator<Item = impl AsRef<Path>>,
) -> Result<(), Failure> {
    let mut gate = Gate::new(&ROOT);
    files.into_iter().for_each(|file| gate.forbid(file.as_ref(), Role::Input(option.into())));
    let read = targets.into_iter().filter_map(|path| Some((path, gate.role_of(path)?))).next();
    read.map_or(Ok(()), |(path, role)| {
        Err(Failure::refused(anyhow!("target {}: it is {role}: name another target", shown(&path))))
    })
}

/// Directory of a result's pictures.
pub const PLOTS: &str = "plots";
/// Maximum depth of directories in a result.
const DEEPEST: usize = 4;

fn files_of(input: &Path) -> Vec<PathBuf> {
    if input.as_os_str() == "-" {
        return vec![PathBuf::from("/dev/stdin")];
    }
    if !input.is_dir() {
        return vec![input.to_path_buf()];
    }
    let (mut files, mut waiting) = (Vec::new(), vec![(input.to_path_buf(), 0)]);
    while let Some((dir, depth)) = waiting.pop() {
        let entries = dir.read_dir().into_iter().flatten().flatten();
        for entry in entries.filter(|entry| !is_drawn(&entry.path())) {
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true if depth < DEEPEST => waiting.push((entry.path(), depth + 1)),
                true => {}
                false => files.push(entry.path()),
            }
        }
    }
    files
}

/// Whether a command has drawn it from a result, and may replace it.
fn is_drawn(path: &Path) -> bool {
    path.ends_with(PLOTS) || path.extension().is_some_and(|e| e == "html" || e == "trace")
}

/// Handling of existing files by commands with `--force`.
pub fn existing(force: bool) -> Existing {
    if force { Existing::Replace } else { Existing::KeepUnlessForced }
}

/// A directory of pictures and tables.
pub struct PictureFolder<'a>(OutputFolder<'a>);

impl<'a> PictureFolder<'a> {
    /// Uses the directory, or creates it.
    pub fn open(gate: &'a Gate<'a>, path: &Path, existing: Existing) -> Result<PictureFolder<'a>, Failure> {
        let folder = OutputFolder::open(gate, OutputName::new("--out", path), existing);
        folder.map(PictureFolder).map_err(Failure::refused)
    }

    /// Refuses files that may not be written, before anything is drawn.
    pub fn check(&self, mut names: impl Iterator<Item = String>) -> Result<(), Failure> {
        names.try_for_each(|name| self.0.check(&name)).map_err(Failure::refused)
    }

    /// Keeps all written files.
    pub fn keep(self) {
        self.0.keep();
    }
}

impl Folder for PictureFolder<'_> {
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<PathBuf> {
        self.0.write(name, fill).map_err(io::Error::other)
    }
}
