//! The `iosonar` command: arguments in, exit code out. The programs `iosonar` and `iosonar-mpi` call it.
//!
//! Nothing is decided here. A sub-command turns its arguments into a plan or an archive's name and passes it to the responsible room.

mod archive_view;
mod args;
mod commands;
mod earlier_words;
mod exit;
mod file_progress;
mod fio_words;
mod help;
mod hosts_progress;
mod hosts_view;
mod live;
mod output;
mod outputs;
mod places;
mod playback;
mod presentation;
mod progress;
mod progress_line;
mod ranks;
mod reading;
mod screen;
mod session;
mod signals;
mod study_pages;
mod timings;
mod together;
mod verb_questions;
mod watch;
mod witness;

pub use iosonar_cluster::ranks::{Kind, Messages};
pub use ranks::World;

use args::load::{Load, LoadCommand};
use args::{Cli, Command};
use clap::{FromArgMatches, Parser};
use exit::{Exit, Failure};
use std::ffi::OsString;
use std::process::ExitCode;

/// Executes the command line as one of several ranks.
pub fn main_of_rank(world: Box<dyn World>) -> ExitCode {
    ranks::join(world);
    main()
}

/// Executes the command line.
pub fn main() -> ExitCode {
    signals::survive_file_size_limit();
    if together::is_part(std::env::args_os()) {
        return ended(together::part());
    }
    if let Some(options) = commands::as_xdd(std::env::args_os()) {
        return ended(commands::xdd(&options));
    }
    if let Some(options) = commands::as_iozone(std::env::args_os()) {
        return ended(commands::iozone(&options));
    }
    if let Some(options) = commands::as_blkreplay(std::env::args_os()) {
        return ended(commands::blkreplay(&options));
    }
    let typed = match fio_words::translate(earlier_words::renamed(std::env::args_os().collect()).into_iter())
    {
        Ok(typed) => typed,
        Err(why) => return ended(Err(Failure::refused(anyhow::anyhow!("{why}")))),
    };
    let words = typed.args.clone();
    let cli = match parse(typed.args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() => {
            output::print_lines(misused(&error, &words).trim_end());
            return Exit::Refused.into();
        }
        Err(help) => {
            if ranks::prints() {
                let _ = help.print();
            }
            return Exit::Fine.into();
        }
    };
    typed.notes.iter().for_each(|note| output::print_message(format_args!("iosonar: {note}")));
    ended(run(cli.command))
}

/// Whether words are options of the command. Nothing is opened.
pub fn accepts(words: &[&str]) -> bool {
    Cli::try_parse_from(words).is_ok()
}

fn parse(words: Vec<OsString>) -> Result<Cli, clap::Error> {
    let matches = help::command(help::width()).try_get_matches_from(words)?;
    Cli::from_arg_matches(&matches)
}

/// Formats the error of a command line. It quotes the words unchanged, so the line is parsed again with odd characters escaped.
fn misused(error: &clap::Error, words: &[OsString]) -> String {
    let shown = |word: &OsString| OsString::from(iosonar_text::shown(word).to_string());
    let escaped: Vec<OsString> = words.iter().map(shown).collect();
    if escaped == words {
        return error.render().to_string();
    }
    match parse(escaped) {
        Err(error) if error.use_stderr() => error.render().to_string(),
        _ => iosonar_text::one_line(&error.render().to_string()).into_owned(),
    }
}

fn ended(result: Result<Exit, Failure>) -> ExitCode {
    match result {
        Ok(exit) => exit.into(),
        // A reader that closes the pipe (`| head`) is no failure.
        Err(failure) if failure.is_broken_pipe() => Exit::Fine.into(),
        Err(failure) => {
            output::print_lines(format_args!("iosonar: {}", output::error_lines(&failure.text())));
            ranks::abort(&failure);
            failure.exit.into()
        }
    }
}

fn run(command: Command) -> Result<Exit, Failure> {
    ranks::check(&command)?;
    use Command::{Analyze, Compare, Explain, Plot, Report, Show};
    if matches!(command, Show(_) | Analyze(_) | Report(_) | Plot(_) | Explain(_) | Compare(_)) {
        presentation::heed_memory_limit();
    }
    match command {
        Command::Replay(args) => commands::replay(&args),
        Command::Run(args) => commands::run(&args),
        Command::Fill(args) => commands::fill(&args),
        Command::Calibrate(args) => commands::calibrate(&args),
        Command::Knee(args) => commands::knee(&args),
        Command::Compare(args) => commands::compare(&args),
        Command::Analyze(args) => commands::analyze(&args),
        Command::Show(args) => commands::show(args),
        Command::Collect(args) => commands::collect(args),
        Command::Note(args) => commands::note(args),
        Command::Explain(args) => commands::explain(&args),
        Command::Doctor(args) => commands::doctor(&args),
        Command::Live(args) => commands::live(&args),
        Command::Plot(args) => commands::plot(&args),
        Command::Report(args) => commands::report(&args),
        Command::Load(LoadCommand { what }) => match what {
            Load::Generate(args) => commands::generate(args),
            Load::Filter(args) => commands::filter(&args),
            Load::Derive(args) => commands::derive(&args),
        },
        Command::Record(args) => commands::record(&args),
        Command::Check(args) => commands::check(&args),
        Command::Verify(args) => commands::verify(&args),
        Command::Convert(args) => commands::convert(&args),
        Command::Info(args) => commands::info(&args),
        Command::Matrix(args) => commands::matrix(&args),
        Command::Layout(args) => commands::layout(&args),
        Command::Cache(args) => commands::cache(&args.what),
        Command::Xdd(args) => commands::xdd(&args.options),
        Command::Iozone(args) => commands::iozone(&args.options),
        Command::Blkreplay(args) => commands::blkreplay(&args.options),
    }
}
