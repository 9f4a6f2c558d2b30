//! `iosonar layout run`: creates files in several ways, scans them, and reports where they are and what that costs.

use super::{page, pictures};
use crate::args::layout::RunArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, unused_dated};
use crate::session::{self, begin_session};
use crate::timings::Timings;
use iosonar_cells::creation::creation_text;
use iosonar_plaintext::statement;
use iosonar_plan::ByteSize;
use iosonar_studies::layout::{self, Question, Spec};
use iosonar_text::shown;

/// Executes the experiment.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let question = question(args);
    let (session, _listener) = begin_session(&Timings::new(), Some(&args.progress))?;
    let answer = layout::run(&session, &question)?;
    let exit = session::exit(&answer.info, !answer.is_whole, false, answer.is_fake);
    let Some(measured) = answer.measured else { return Ok(exit) };
    let out = &question.out;
    let picture = out.join(pictures::draw(&measured.creation, &measured.maps, out)?);
    match args.json {
        true => print(&(serde_json::to_string_pretty(&measured.creation)? + "\n"))?,
        false => {
            let story = measured.creation.story.as_ref().map_or(String::new(), statement);
            let text = story + "\n" + &creation_text(&measured.creation);
            let (page, picture) = (out.join(page::PAGE), shown(&picture));
            print(&format!("{text}\nresult: {}\npicture: {picture}\npage: {}\n", shown(out), shown(&page)))?;
        }
    }
    Ok(exit)
}

fn question(args: &RunArgs) -> Question {
    Question {
        dir: args.dir.clone(),
        size: args.size,
        methods: args.methods.clone(),
        scratch: args.scratch.map(|size| spec(args, size)),
        age: args.age.clone(),
        scan_size: args.scan_size,
        scan_direct: args.scan_direct,
        rounds: args.rounds,
        seed: args.seed,
        sample_every: args.sample_every,
        keep: args.keep,
        out: args.out.clone().unwrap_or_else(|| unused_dated("layout")),
        csv_safe: args.csv_safe,
    }
}

/// Specification of the scratch file systems.
fn spec(args: &RunArgs, size: ByteSize) -> Spec {
    let options = args.mkfs_options.as_deref().unwrap_or_default();
    Spec {
        kind: args.fs,
        size: size.0,
        mkfs_options: options.split_whitespace().map(String::from).collect(),
        mount_options: args.mount_options.clone().unwrap_or_default(),
    }
}
