//! `iosonar matrix`: file operations over sizes of files and records, each cell several times.

mod answer;
pub mod comparison_page;
mod pictures;
mod question;

use crate::args::matrix::MatrixArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use crate::timings::Timings;
use crate::together::{self, ExecutionOptions};
use anyhow::anyhow;
use iosonar_archive::RunInfo;
use iosonar_studies::matrix;

/// Measures the missing cells, and shows all.
pub fn matrix(args: &MatrixArgs) -> Result<Exit, Failure> {
    if args.result.resume.is_some() && args.files.is_empty() && !args.reach.on.is_empty() {
        return Err(Failure::refused(anyhow!(
            "--on: a matrix that is continued has its hosts: remove --on, or start a new matrix with --out"
        )));
    }
    let question = question::question(args)?;
    if args.result.dry_run {
        let (matrix, missing) = matrix::missing(&session::printing(), &question)?;
        print(&answer::listing(&matrix, &missing))?;
        return Ok(Exit::Fine);
    }
    // Without missing cells there is no plan, and the answer is shown.
    if args.result.show_plan
        && let Some(plan) = matrix::plan(&session::printing(), &question)?
    {
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    let (session, listener) = session::begin_session(&Timings::new(), Some(&args.result.progress))?;
    let answer =
        matrix::run_by(&session, &question, |session, plan, dir, begin| match plan.has_processes() {
            true => {
                let sent = args.reach.send_program.clone();
                let options = ExecutionOptions { sent, ..ExecutionOptions::of(&args.result.progress) };
                let begin = |_: &RunInfo| begin().map(|()| dir.to_path_buf());
                together::execute(session, &listener, &plan, options, begin)
            }
            false => matrix::execute_here(session, plan, dir, begin),
        })?;
    if !answer.table.results.is_empty() {
        pictures::draw(&answer)?;
    }
    answer::show(args, &answer)?;
    let part = answer.part.as_ref();
    Ok(part.map_or(Exit::Fine, |part| session::exit(&part.info, part.missing > 0, false, part.is_fake)))
}
