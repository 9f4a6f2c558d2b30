//! `iosonar fill`: makes sure that a target holds data, so that later measurements are of data that is stored.

use crate::args::fill::{FillArgs, FillEngineArg};
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::session;
use crate::timings::Timings;
use iosonar_archive::{Interruption, RunState};
use iosonar_plan::Engine;
use iosonar_studies::fill::{self, Answer, Length, Question};

/// Fills a target, and prints what is stored on it then.
pub fn fill(args: &FillArgs) -> Result<Exit, Failure> {
    let question = question(args);
    if args.result.show_plan {
        print(&fill::plan(&session::printing(), &question)?.to_toml())?;
        return Ok(Exit::Fine);
    }
    let (session, listener) = session::begin_session(&Timings::new(), Some(&args.result.progress))?;
    if question.out.is_none() {
        listener.set_kept("no result is kept");
    }
    let answer = fill::run(&session, &question)?;
    let text =
        if args.result.json { format!("{:#}\n", serde_json::to_value(&answer)?) } else { answer.to_string() };
    print(&text)?;
    Ok(exit(&answer))
}

fn question(args: &FillArgs) -> Question {
    let FillArgs { target, range, writing, result } = args;
    Question {
        target: target.clone(),
        offset: range.offset,
        length: match (range.percent, range.size) {
            (Some(percent), _) => Length::Percent(percent),
            (None, Some(size)) => Length::Size(size),
            (None, None) => Length::ToEnd,
        },
        times: range.times,
        block: writing.bs,
        depth: writing.iodepth,
        engine: match writing.engine {
            FillEngineArg::Uring => Engine::default(),
            FillEngineArg::Aio => Engine::Aio,
            FillEngineArg::Threads => Engine::Threads,
        },
        buffered: writing.buffered,
        destroy: writing.destroy,
        out: result.out.clone(),
    }
}

fn exit(answer: &Answer) -> Exit {
    match &answer.state {
        RunState::Interrupted(Interruption::Signal(signal)) => Exit::Signal(signal.0),
        RunState::Finished if answer.is_filled() => Exit::Fine,
        _ => Exit::Failed,
    }
}
