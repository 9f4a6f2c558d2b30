//! `iosonar plot`: the diagrams of a run.

use super::{headline, open};
use crate::args::{PlotArgs, ThemeArg};
use crate::exit::{Exit, Failure};
use crate::output::{Analysis, print, tell};
use anyhow::{Context, anyhow};
use iosonar_view::{Format, Material, Picture, PlotOptions, RunMaterial, Style, Subject, Theme};

/// Draws the pictures; says where they are.
pub fn plot(args: PlotArgs) -> Result<Exit, Failure> {
    let only = args.only.iter().map(|name| picture(name)).collect::<Result<Vec<_>, _>>()?;
    let archive = open(&args.dir)?;
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("plots"));
    std::fs::create_dir_all(&out).with_context(|| format!("cannot make {}", out.display()))?;
    let analysis = Analysis::of(&archive, &(&args.limits).into())?;
    let diagrams = analysis.diagrams(&archive)?;
    let formats = match (args.png, args.svg) {
        (true, _) => vec![Format::Png],
        (_, true) => vec![Format::Svg],
        _ => vec![Format::Png, Format::Svg],
    };
    let theme = match args.theme {
        ThemeArg::Light => Theme::Light,
        ThemeArg::Dark => Theme::Dark,
    };
    let options = PlotOptions { formats, only, style: Style { theme, range: None } };
    let subject = Subject::of_run(&analysis.summary, &headline(&archive));
    let run = RunMaterial {
        summary: &analysis.summary,
        diagrams: &diagrams,
        tally: Some(&analysis.tally),
        findings: None,
    };
    let material = Material { subject: &subject, run: Some(run), demand: None };
    let plotted = iosonar_view::plot(&material, &out, &options)?;
    for path in &plotted.written {
        print(&format!("{}\n", path.display()))?;
    }
    for (picture, why) in &plotted.skipped {
        tell(format_args!("iosonar: {}: {why}", picture.stem()));
    }
    Ok(if analysis.summary.counts.all.completed == 0 { Exit::Failed } else { Exit::Fine })
}

fn picture(name: &str) -> Result<Picture, Failure> {
    let names = || Picture::all().map(Picture::keyword).collect::<Vec<_>>().join(", ");
    let found = Picture::from_keyword(name);
    found.ok_or_else(|| {
        Failure::refused(anyhow!("--only {name}: there is no such picture; there are {}", names()))
    })
}
