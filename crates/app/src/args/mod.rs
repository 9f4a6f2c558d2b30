//! What can be typed: every option once, with its help. Options are only stored here; what they mean is
//! resolved in the command that takes them.

pub mod analyze;
pub mod blkreplay;
pub mod cache;
pub mod calibrate;
pub mod check;
pub mod collect;
pub mod common;
pub mod compare;
pub mod convert;
pub mod derive;
pub mod dialects;
pub mod doctor;
pub mod explain;
pub mod fill;
pub mod hosts;
pub mod knee;
pub mod layout;
pub mod live;
pub mod load;
pub mod matrix;
pub mod note;
pub mod plot;
pub mod post_verify;
pub mod record;
pub mod replay;
pub mod report;
pub mod run;
pub mod setup;
pub mod show;
pub mod steps;
pub mod verify;
pub mod words;

use analyze::AnalyzeArgs;
use blkreplay::BlkreplayArgs;
use cache::CacheCommand;
use calibrate::CalibrateArgs;
use check::CheckArgs;
use clap::{Parser, Subcommand};
use collect::CollectArgs;
use compare::CompareArgs;
use convert::{ConvertArgs, InfoArgs};
use dialects::{IozoneArgs, XddArgs};
use doctor::DoctorArgs;
use explain::ExplainArgs;
use fill::FillArgs;
use knee::KneeArgs;
use layout::LayoutArgs;
use live::LiveArgs;
use load::LoadCommand;
use matrix::MatrixArgs;
use note::NoteArgs;
use plot::PlotArgs;
use post_verify::PostVerifyArgs;
use record::RecordArgs;
use replay::ReplayArgs;
use report::ReportArgs;
use run::RunArgs;
use show::ShowArgs;

/// The version, and the commit where there is one. A fuzz target takes this module without the build script.
const VERSION: &str = match option_env!("IOSONAR_VERSION") {
    Some(version) => version,
    None => env!("CARGO_PKG_VERSION"),
};

/// Measures storage with replays and patterns, and shows what happened to each request.
#[derive(Debug, Parser)]
#[command(
    name = "iosonar",
    version = VERSION,
    arg_required_else_help = true,
    after_help = "\
Start here:
  iosonar load generate bursts demo.load                  make a synthetic load
  iosonar replay demo.load --target a.img --out first     replay it on a file or device
  iosonar show first                                      what happened, and the figures
  iosonar live first                                      the run again, faster
  iosonar plot first                                      the pictures
  iosonar analyze demo.load                               the figures of a load
  iosonar compare first second                            the differences
'iosonar COMMAND --help' explains each option. Exit codes: 0 fine, 1 requests failed or the run broke, \
2 refused, 3 with --strict: read with care, 4 the figures are fake, 5 data was not what was written, 128+n signal n."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Replay recorded loads on block devices or files
    Replay(Box<ReplayArgs>),
    /// Run a plan, or a workload in fio's words
    Run(Box<RunArgs>),
    /// Fill a device or a file with incompressible data, so that what is measured is stored
    Fill(Box<FillArgs>),
    /// Measure what this program itself costs on this machine, by engine
    Calibrate(CalibrateArgs),
    /// Print the summary of a run
    Show(ShowArgs),
    /// Fetch the records that a lost host of a run has kept
    Collect(CollectArgs),
    /// Add a note to a part of a result's time, list notes, or remove them
    Note(NoteArgs),
    /// Explain the verdict on a run: what was seen, why it matters, and the remedy
    Explain(ExplainArgs),
    /// Examine a device, file or directory: what would spoil a measurement of it
    Doctor(DoctorArgs),
    /// Show a finished or running run in the live view
    Live(LiveArgs),
    /// Find the highest rate that a target sustains, with a rising request rate
    Knee(Box<KneeArgs>),
    /// Compare runs: what differs, by how much, and whether it is more than noise
    Compare(CompareArgs),
    /// Analyze workloads and runs
    Analyze(Box<AnalyzeArgs>),
    /// Draw the diagrams of loads and runs as PNG and SVG
    Plot(Box<PlotArgs>),
    /// Write one self-contained HTML page about a run
    Report(ReportArgs),
    /// Make loads, and change them: synthetic ones, filters, loads of whole loads
    Load(LoadCommand),
    /// Evict files from the page cache, or count their pages there
    Cache(CacheCommand),
    /// Record the block I/O of live devices
    Record(RecordArgs),
    /// Check that a replay issued all of its load, and nothing else
    Check(Box<CheckArgs>),
    /// Verify later what a run has written, from its result
    Verify(Box<PostVerifyArgs>),
    /// Convert traces, results and runs: blktrace, perf, fio, IOzone … to loads, archives, CSV …
    Convert(Box<ConvertArgs>),
    /// Print the format of a trace and its main figures
    Info(Box<InfoArgs>),
    /// Measure file operations over file sizes and record sizes, each cell several times
    Matrix(Box<MatrixArgs>),
    /// Map the blocks of files, compare ways to create them, list free space
    Layout(LayoutArgs),
    /// Run XDD's command line with this engine; -fullhelp lists its options
    #[command(disable_help_flag = true)]
    Xdd(XddArgs),
    /// Run IOzone's command line with this engine; -h lists its options
    #[command(disable_help_flag = true)]
    Iozone(IozoneArgs),
    /// Run blkreplay's command line: load on standard input, result on standard output
    #[command(disable_help_flag = true)]
    Blkreplay(BlkreplayArgs),
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn argument_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Verbs with which the help of an option starts.
    const VERBS: &[&str] = &[
        "Add",
        "Advise",
        "Align",
        "Allow",
        "Analyze",
        "Bind",
        "Choose",
        "Complete",
        "Convert",
        "Count",
        "Create",
        "Do",
        "Draw",
        "End",
        "Exclude",
        "Fail",
        "Fill",
        "Flush",
        "Go",
        "Grow",
        "Ignore",
        "Inject",
        "Issue",
        "Judge",
        "Keep",
        "Let",
        "Limit",
        "List",
        "Lock",
        "Make",
        "Map",
        "Mark",
        "Measure",
        "Open",
        "Pause",
        "Place",
        "Poll",
        "Print",
        "Read",
        "Refuse",
        "Record",
        "Remove",
        "Replace",
        "Replay",
        "Request",
        "Reserve",
        "Run",
        "Scale",
        "Seed",
        "Select",
        "Serve",
        "Set",
        "Show",
        "Skip",
        "Spin",
        "Split",
        "Start",
        "Stop",
        "Transfer",
        "Transform",
        "Treat",
        "Try",
        "Use",
        "Verify",
        "Wait",
        "Write",
    ];
    /// Words that help does without: a standard term says the same.
    const BANNED: &[&str] = &[
        "anew",
        "asked for",
        "behind",
        "begins",
        "carried out",
        "carries out",
        "carry out",
        "comes to",
        "handed out",
        "hands out",
        "leave out",
        "left out",
        "mend",
        "natural load",
        "once more",
        "told",
        "tells",
    ];
    /// Columns of the first line of an option's help, below the option at the usual width of 100.
    const LINE: usize = 90;

    fn commands(of: &clap::Command, found: &mut Vec<clap::Command>) {
        found.push(of.clone());
        of.get_subcommands().for_each(|sub| commands(sub, found));
    }

    fn banned_in(name: &str, help: &str) -> Vec<String> {
        let line_of = |word: &&str| help.lines().find(|line| line.contains(*word));
        let found = |word: &&str| line_of(word).map(|line| format!("'{word}' in {name}: {}", line.trim()));
        BANNED.iter().filter_map(found).collect()
    }

    #[test]
    fn help_begins_with_a_verb_fits_its_line_and_uses_standard_terms() {
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        commands(&Cli::command(), &mut all);
        for command in &all {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let options = command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
            let helps = options.filter_map(|arg| Some((arg.get_id().as_str(), arg.get_help()?.to_string())));
            for (name, help) in helps.chain([("", about)]) {
                let name = format!("{} {name}: {help}", command.get_name());
                let verb = help.split(' ').next().unwrap_or_default();
                if !name.contains(" : ") && !VERBS.contains(&verb) {
                    wrong.push(format!("begins with no verb: {name}"));
                }
                if help.chars().count() > LINE {
                    wrong.push(format!("does not fit its line: {name}"));
                }
            }
            let whole = command.clone().render_long_help().to_string();
            wrong.extend(banned_in(command.get_name(), &whole));
        }
        wrong.extend(banned_in("blkreplay", &iosonar_dialect_blkreplay::usage()));
        wrong.extend(banned_in("xdd", &iosonar_dialect_xdd::full_help()));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
