//! `iosonar convert`: traces, results and archives in other forms.

use crate::args::convert::ConvertArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::reading::reading;
use crate::session;
use iosonar_studies::convert::{self, Answer, Declared, Form, OutputName, Question, Requests};
use iosonar_text::shown;
use iosonar_trace::kernel::Timing;
use std::io::stdout;
use std::path::Path;

/// Converts; reports how much was written and skipped.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    let question = question(args)?;
    let answer = convert::run(&session::printing(), &question, &mut stdout().lock())?;
    match &answer {
        Answer::Requests(requests) => print_requests(requests)?,
        Answer::Imported(imported) if question.out.is_none() => print_path(&imported.path)?,
        Answer::Imported(_) | Answer::Records { .. } => {}
    }
    Ok(match &answer {
        Answer::Requests(requests) if requests.written.requests == 0 => Exit::Failed,
        answer if args.reading.strict && answer.damaged() > 0 => Exit::Cautioned,
        _ => Exit::Fine,
    })
}

/// Prints what was skipped and what is uncertain, and the path of a new output.
fn print_requests(requests: &Requests) -> Result<(), Failure> {
    let print = |remark: &String| print_message(format_args!("iosonar: {}: {remark}", requests.name));
    requests.remarks.iter().for_each(print);
    if let Some(counted) = requests.counted_as() {
        print_message(format_args!("iosonar: {counted}"));
    }
    if requests.written.requests == 0 {
        print_message(format_args!("iosonar: {}: it holds no request that could be written", requests.name));
        return Ok(());
    }
    requests.made.as_deref().map_or(Ok(()), print_path)
}

/// Scripts read the path of an output that the command line does not name.
fn print_path(path: &Path) -> Result<(), Failure> {
    Ok(print(&format!("{}\n", shown(path)))?)
}

fn question(args: &ConvertArgs) -> Result<Question, Failure> {
    // Not clap's `num_args = 2..`: it counts the files on each side of an option separately.
    let (out, inputs) = match (&args.out, &args.files[..]) {
        (Some(out), inputs) => (Some(OutputName::new("--out", out)), inputs),
        (None, [inputs @ .., out]) if !inputs.is_empty() => (Some(OutputName::new("OUT", out)), inputs),
        (None, inputs) => (None, inputs),
    };
    let question = Question::of(inputs.to_vec(), out, args.to);
    let timing = match question.form_of_traces().is_none_or(Form::has_times) {
        true => Timing::Exact,
        false => Timing::None,
    };
    Ok(Question {
        declared: args.reading.from.as_deref().and_then(Declared::of_word),
        reading: reading(&args.reading, timing)?,
        split: args.split,
        fio_file: args.fio_file.clone(),
        target: args.target,
        csv_safe: args.csv_safe,
        spool_limit: args.spool.spool_limit,
        ..question
    })
}
