//! `iosonar convert`: traces of all forms into loads, logs, lists and archives.

use crate::args::convert::{ConvertArgs, SplitArg, ToArg};
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::reading::reading;
use crate::session;
use anyhow::anyhow;
use iosonar_studies::convert::{self, Answer, Form, Question, Split};
use iosonar_trace::fio::Version;
use iosonar_trace::kernel::Timing;
use std::io::stdout;

/// Converts; reports how much was written and skipped.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let answer = convert::run(&session::printing(), &question(args)?, &mut stdout().lock())?;
    print_answer(&answer);
    if let Some(counted) = answer.counted_as() {
        print_message(format_args!("iosonar: {counted}"));
    }
    if answer.written.requests == 0 {
        print_message(format_args!("iosonar: {}: it holds no request that could be written", answer.name));
        return Ok(Exit::Failed);
    }
    Ok(if args.reading.strict && answer.damaged > 0 { Exit::Cautioned } else { Exit::Fine })
}

/// Prints what was skipped, and what is uncertain.
pub fn print_answer(answer: &Answer) {
    let print = |remark: &String| print_message(format_args!("iosonar: {}: {remark}", answer.name));
    answer.remarks.iter().for_each(print);
}

fn question(args: &ConvertArgs) -> Result<Question, Failure> {
    // Not clap's `num_args = 2..`: it counts the files on each side of an option separately.
    let (out, inputs) = match args.files.split_last() {
        Some((out, inputs)) if !inputs.is_empty() => (out, inputs),
        _ => {
            return Err(Failure::refused(anyhow!(
                "only one file is named: name the traces, then the new file"
            )));
        }
    };
    let form = args.to.map_or_else(|| Form::of_name(out), form);
    let timing = if form.has_times() { Timing::Exact } else { Timing::None };
    Ok(Question {
        inputs: inputs.to_vec(),
        out: out.clone(),
        form,
        reading: reading(&args.reading, timing)?,
        split: args.split.map(|split| match split {
            SplitArg::Device => Split::Device,
            SplitArg::Process => Split::Process,
        }),
        fio_file: args.fio_file.clone(),
        origin: None,
    })
}

fn form(to: ToArg) -> Form {
    match to {
        ToArg::Load => Form::Load,
        ToArg::Fio => Form::Fio(Version::Three),
        ToArg::Fio2 => Form::Fio(Version::Two),
        ToArg::SeekList => Form::SeekList,
        ToArg::Archive => Form::Archive,
        ToArg::Parquet => Form::Parquet,
    }
}
