//! Writes pictures as files.

use crate::{Headline, Picture, Theme, raster, svg};
use iosonar_analyze::{Diagrams, Summary};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Form of a picture file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Vectors with one embedded image.
    Svg,
}

impl Format {
    /// The form that an extension names.
    pub fn from_extension(extension: &str) -> Option<Format> {
        [Format::Png, Format::Svg].into_iter().find(|f| f.extension() == extension)
    }

    /// File name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Svg => "svg",
        }
    }
}

/// What to write.
#[derive(Debug, Clone)]
pub struct PlotOptions {
    /// Each picture is written in each of these forms.
    pub formats: Vec<Format>,
    /// Only these; empty: all.
    pub only: Vec<Picture>,
    /// Light or dark.
    pub theme: Theme,
    /// Words for the subtitle.
    pub headline: Headline,
}

impl Default for PlotOptions {
    fn default() -> Self {
        PlotOptions {
            formats: vec![Format::Png],
            only: Vec::new(),
            theme: Theme::Light,
            headline: Headline::default(),
        }
    }
}

/// A file that could not be written.
#[derive(Debug)]
pub struct PlotError {
    /// Which.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

impl std::fmt::Display for PlotError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cannot write {}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for PlotError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plotted {
    /// Files, in the order in which they were written.
    pub written: Vec<PathBuf>,
    /// Pictures that have nothing to show, with the reason. They are written all the same, with the reason in them.
    pub skipped: Vec<(Picture, String)>,
}

/// Draws pictures and writes them into `directory`, which must exist.
pub fn plot(
    diagrams: &Diagrams,
    summary: &Summary,
    directory: &Path,
    options: &PlotOptions,
) -> Result<Plotted, PlotError> {
    let mut plotted = Plotted::default();
    for picture in Picture::ALL {
        if !options.only.is_empty() && !options.only.contains(&picture) {
            continue;
        }
        if summary.counts.all.completed == 0 {
            plotted.skipped.push((picture, "no request completed: the picture only says so".to_string()));
        }
        let scene = picture.draw(diagrams, summary, &options.headline, options.theme);
        for format in &options.formats {
            let path = directory.join(format!("{}.{}", picture.stem(), format.extension()));
            let bytes = match format {
                Format::Png => raster::png(&scene),
                Format::Svg => svg::svg(&scene).into_bytes(),
            };
            fs::write(&path, bytes).map_err(|source| PlotError { path: path.clone(), source })?;
            plotted.written.push(path);
        }
    }
    Ok(plotted)
}
