//! Writes pictures as files.

use crate::scene::Scene;
use crate::{Material, Picture, Theme, raster, svg};
use iosonar_analyze::findings::TimeRange;
use iosonar_analyze::is_memory_scarce;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// File format of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// Vectors with one embedded image.
    Svg,
}

impl Format {
    /// The format of an extension.
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

/// Appearance of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Colours.
    pub theme: Theme,
    /// Visible part of the time; all of it if absent.
    pub range: Option<TimeRange>,
    /// Number of pixels; vectors are the same.
    pub scale: Scale,
}

/// Pixels of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scale {
    /// 1600 × 900, the sheet 1600 × 2000.
    #[default]
    Single,
    /// Twice as many in each direction, for print and sharp screens: 234 pixels for each inch become 467 where the
    /// picture is 174 mm wide.
    Double,
}

/// Output options.
#[derive(Debug, Clone)]
pub struct PlotOptions {
    /// Formats of each picture.
    pub formats: Vec<Format>,
    /// Only these; empty for all that the material supports.
    pub only: Vec<Picture>,
    /// Appearance.
    pub style: Style,
}

impl Default for PlotOptions {
    fn default() -> Self {
        PlotOptions { formats: vec![Format::Png], only: Vec::new(), style: Style::default() }
    }
}

/// Destination of pictures and tables. It decides whether a file may be created: this room only fills it.
pub trait Folder: Sync {
    /// Creates a file of this name, filled by `fill`; returns its path.
    ///
    /// # Errors
    /// The file cannot be created, or `fill` fails.
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<PathBuf>;
}

/// Result of plotting.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plotted {
    /// Files, in the order in which they were written.
    pub written: Vec<PathBuf>,
    /// Pictures with nothing to show, and the reason. Pictures that only lack requests are written nevertheless, with the
    /// reason in them.
    pub skipped: Vec<(Picture, String)>,
}

impl Plotted {
    /// Reasons of skipped pictures, each once with its pictures. Simulated runs and foreign results have no samples, devices no maps, most
    /// runs no faults and no path: such a missing picture is reported only if it is in `named`.
    pub fn reasons(&self, named: &[Picture]) -> Vec<String> {
        let rare =
            [Picture::MACHINE, Picture::EXTENTS, Picture::FAULT_MAP, Picture::FAULT_STRIP, Picture::PATH];
        let missed = |(picture, _): &&(Picture, String)| !rare.contains(picture) || named.contains(picture);
        let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
        for (picture, why) in self.skipped.iter().filter(missed) {
            match reasons.iter_mut().find(|(reason, _)| reason == why) {
                Some((_, stems)) => stems.push(picture.stem()),
                None => reasons.push((why, vec![picture.stem()])),
            }
        }
        reasons.into_iter().map(|(why, stems)| format!("{why}: {}", stems.join(", "))).collect()
    }
}

/// Draws pictures and writes them into `folder`. Several threads each take the next picture; only one thread if memory is
/// scarce.
pub fn plot(material: &Material<'_>, folder: &dyn Folder, options: &PlotOptions) -> io::Result<Plotted> {
    let wanted = |p: &Picture| options.only.is_empty() || options.only.contains(p);
    let pictures: Vec<Picture> = Picture::all().filter(wanted).collect();
    let next = AtomicUsize::new(0);
    let draw_some = || {
        let mut done = Vec::new();
        while let Some(picture) = pictures.get(next.fetch_add(1, Ordering::Relaxed)) {
            done.push((*picture, write_picture(*picture, material, folder, options)));
        }
        done
    };
    let most = if is_memory_scarce() { 1 } else { MOST_THREADS };
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(most);
    let mut done: Vec<(Picture, io::Result<Written>)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(draw_some)).collect();
        let mut done = draw_some();
        for other in others {
            // A panic of one thread is a panic of the whole.
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_by_key(|(picture, _)| pictures.iter().position(|p| p == picture));
    let mut plotted = Plotted::default();
    for (picture, written) in done {
        let written = written?;
        plotted.written.extend(written.files);
        plotted.skipped.extend(written.why_not.map(|why| (picture, why)));
    }
    Ok(plotted)
}

/// More threads do not help: the largest picture takes as long as all others together.
const MOST_THREADS: usize = 8;

/// Result of one picture.
#[derive(Default)]
struct Written {
    files: Vec<PathBuf>,
    why_not: Option<String>,
}

fn write_picture(
    picture: Picture,
    material: &Material<'_>,
    folder: &dyn Folder,
    options: &PlotOptions,
) -> io::Result<Written> {
    let Some(scene) = picture.draw(material, &options.style) else {
        let why = picture.lacks(material).unwrap_or("there is nothing to draw it from");
        return Ok(Written { why_not: Some(why.to_string()), ..Written::default() });
    };
    let mut written = Written::default();
    if picture.shows_completed_requests() && material.run.is_some_and(|r| r.summary.counts.all.completed == 0)
    {
        written.why_not = Some("no request completed: the picture only says so".to_string());
    }
    written.files = write_scene(&scene, folder, picture.stem(), options)?;
    Ok(written)
}

/// Name of the file of a picture.
fn file_name(stem: &str, format: Format) -> String {
    format!("{stem}.{}", format.extension())
}

/// Names of all files that [`plot`] may write: pictures with nothing to show are skipped.
pub fn picture_files(options: &PlotOptions) -> impl Iterator<Item = String> + '_ {
    let wanted = |p: &Picture| options.only.is_empty() || options.only.contains(p);
    Picture::all()
        .filter(wanted)
        .flat_map(|p| options.formats.iter().map(move |format| file_name(p.stem(), *format)))
}

/// Writes a scene in all formats; returns the files.
pub(crate) fn write_scene(
    scene: &Scene,
    folder: &dyn Folder,
    stem: &str,
    options: &PlotOptions,
) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for format in &options.formats {
        let bytes = match format {
            Format::Png if options.style.scale == Scale::Double => raster::png(&scene.doubled()),
            Format::Png => raster::png(scene),
            Format::Svg => svg::svg(scene).into_bytes(),
        };
        let name = file_name(stem, *format);
        files.push(folder.write(&name, &mut |out: &mut dyn Write| out.write_all(&bytes))?);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_merged_and_rare_pictures_need_a_name() {
        let skipped = [
            (Picture::SONAR, "no latencies"),
            (Picture::MACHINE, "no samples"),
            (Picture::DELAY, "no latencies"),
        ];
        let skipped = skipped.map(|(picture, why)| (picture, why.to_string())).to_vec();
        let plotted = Plotted { skipped, ..Plotted::default() };
        let latencies = format!("no latencies: {}, {}", Picture::SONAR.stem(), Picture::DELAY.stem());
        let samples = format!("no samples: {}", Picture::MACHINE.stem());
        assert_eq!(plotted.reasons(&[]), std::slice::from_ref(&latencies));
        assert_eq!(plotted.reasons(&[Picture::MACHINE]), [latencies, samples]);
    }
}
