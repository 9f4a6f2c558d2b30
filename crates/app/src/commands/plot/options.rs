//! Pictures, tables and appearance as typed.

use crate::args::plot::PlotArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_analyze::Needs;
use iosonar_analyze::findings::TimeRange;
use iosonar_plan::Nanos;
use iosonar_view::{DataOptions, Format, Picture, PlotOptions, Style, data_files, picture_files};

/// Options of the pictures.
pub fn plot_options(args: &PlotArgs) -> Result<PlotOptions, Failure> {
    let only = args.only.iter().map(|name| pictures(name)).collect::<Result<Vec<_>, _>>()?.concat();
    Ok(PlotOptions { formats: formats(args), only, style: style(args) })
}

/// Options of the tables.
pub fn data_options(args: &PlotArgs) -> DataOptions {
    DataOptions { smooth_window_ns: args.smooth_window.0, csv_safe: args.csv_safe }
}

/// Names of the possible output files.
pub fn file_names<'a>(args: &PlotArgs, options: &'a PlotOptions) -> impl Iterator<Item = String> + 'a {
    let tables = args.data.then(|| data_files(&options.only)).into_iter().flatten();
    picture_files(options).chain(tables)
}

/// Required data: for a few pictures less than for all of them, their numbers, or a text.
pub fn needs(args: &PlotArgs, only: &[Picture]) -> Needs {
    if only.is_empty() || args.data || args.text {
        return Needs::EVERYTHING;
    }
    Picture::needs_of(only.iter().copied())
}

/// Refuses a range beyond the end, which would show nothing and overwrite useful pictures.
pub fn check_range(args: &PlotArgs, end: Nanos) -> Result<(), Failure> {
    let Some((from, to)) = args.range else { return Ok(()) };
    if from < end || end == Nanos(0) {
        return Ok(());
    }
    Err(Failure::refused(anyhow!("--range {from}..{to}: everything is over at {end}")))
}

fn pictures(name: &str) -> Result<Vec<Picture>, Failure> {
    let names = || Picture::all().map(Picture::keyword).collect::<Vec<_>>().join(", ");
    match Picture::named(name) {
        found if found.is_empty() => {
            let why = anyhow!("--only {name}: there is no such picture; there are {}", names());
            Err(Failure::refused(why))
        }
        found => Ok(found),
    }
}

fn formats(args: &PlotArgs) -> Vec<Format> {
    match (args.png, args.svg) {
        (true, _) => vec![Format::Png],
        (_, true) => vec![Format::Svg],
        _ => vec![Format::Png, Format::Svg],
    }
}

fn style(args: &PlotArgs) -> Style {
    let range = args.range.map(|(from, to)| TimeRange { from_ns: from.0, to_ns: to.0 });
    Style { theme: args.theme, range, scale: args.scale }
}
