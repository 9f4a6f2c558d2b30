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
use iosonar_studies::matrix;

/// Measures the missing cells, and shows all.
pub fn matrix(args: &MatrixArgs) -> Result<Exit, Failure> {
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
    let (session, _listener) = session::begin_session(&Timings::new(), Some(&args.result.progress))?;
    let answer = matrix::run(&session, &question)?;
    if !answer.table.results.is_empty() {
        pictures::draw(&answer)?;
    }
    answer::show(args, &answer)?;
    let part = answer.part.as_ref();
    Ok(part.map_or(Exit::Fine, |part| session::exit(&part.info, part.missing > 0, false, part.is_fake)))
}
