//! `iosonar knee`: a target rate that rises until a target cannot follow.

mod page;
mod question;

use crate::args::knee::KneeArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::outputs::{PictureFolder, existing, gate_of};
use crate::presentation::headline;
use crate::session::{self, tell_verdict};
use crate::timings::Timings;
use iosonar_archive::{Archive, RunState};
use iosonar_plan::RisingShape;
use iosonar_studies::knee::{self, Answer};
use iosonar_text::shown;
use iosonar_view::{Folder, Format, KneeMaterial, PlotOptions, Subject, plot_knee};
use std::path::{Path, PathBuf};

/// Looks for the highest rate that a target sustains.
pub fn knee(args: &KneeArgs) -> Result<Exit, Failure> {
    let question = question::question(args)?;
    let (session, _listener) = session::begin_session(&Timings::new(), Some(&args.result.progress))?;
    let answer = knee::run(&session, &question)?;
    let drawn = draw(&answer, &question.out)?;
    print(&match args.result.json {
        true => format!("{:#}\n", answer.to_json()),
        false => text(&answer, &question.out, &drawn),
    })?;
    Ok(exit(&answer))
}

/// Files that show the answer.
struct Drawn {
    pictures: Vec<PathBuf>,
    page: PathBuf,
}

fn draw(answer: &Answer, out: &Path) -> Result<Drawn, Failure> {
    let archive = Archive::open(&answer.dir)?;
    let subject = Subject::of_run(&answer.summary, &headline(&archive.environment()));
    let is_exponential = answer.ramp().is_some_and(|ramp| ramp.demand.shape == RisingShape::Exponential);
    let material = KneeMaterial {
        subject: &subject,
        headline: Some(&answer.story.headline),
        verdict: &answer.verdict,
        rows: &answer.rows,
        is_exponential,
    };
    let options = PlotOptions { formats: vec![Format::Png, Format::Svg], ..PlotOptions::default() };
    let gate = gate_of(&[]);
    let folder = PictureFolder::open(&gate, out, existing(false))?;
    let pictures = plot_knee(&material, &folder, &options)?;
    let html = page::page(answer, &material, out);
    let page = folder.write(page::PAGE, &mut |file| file.write_all(html.as_bytes()))?;
    folder.keep();
    Ok(Drawn { pictures, page })
}

fn text(answer: &Answer, out: &Path, drawn: &Drawn) -> String {
    let pictures: Vec<String> = drawn.pictures.iter().map(|path| shown(path).to_string()).collect();
    let (out, name, page) = (shown(&out), &answer.answer, shown(&drawn.page));
    let pictures = pictures.join(" ");
    format!("{answer}\npictures: {pictures}\npage: {page}\nresult: {out} (the answer is from {name})\n")
}

fn exit(answer: &Answer) -> Exit {
    if let Some(signal) = answer.state.signal() {
        return Exit::Signal(signal.0);
    }
    if let RunState::Broken(why) = &answer.state {
        print_message(format_args!("iosonar: the ramp could not go on: {why}"));
        return Exit::Failed;
    }
    if answer.failed > 0 {
        let (failed, dir) = (answer.failed, shown(&answer.dir));
        print_message(format_args!("iosonar: {failed} requests failed; 'iosonar show {dir}' says how"));
    }
    if let Some(fake) = &answer.fake {
        tell_verdict("iosonar", fake);
        return Exit::Fake;
    }
    if answer.is_clear() && answer.failed == 0 { Exit::Fine } else { Exit::Failed }
}
