//! `iosonar iozone`: IOzone's own command line, executed by the one engine, and IOzone's own reports.

mod offsets;
mod outputs;

use super::{called_as, processors};
use crate::args::common::{ProgressArg, ProgressArgs};
use crate::exit::{Exit, Failure};
use crate::help;
use crate::output::{print, print_lines, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session;
use crate::signals::Listener;
use crate::timings::Timings;
use crate::together;
use anyhow::anyhow;
use iosonar_archive::{Archive, PARTS, RunState, TOOL};
use iosonar_campaign::{Matrix, Pair, Table, Telemetry};
use iosonar_dialect_iozone::{
    Command, Settings, TelemetryFacts, banner, full_help, parse, read_clients, text_report, text_table,
    throughput, throughput_report,
};
use iosonar_host::Root;
use iosonar_host::environment::{cache_bytes, memory};
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_os::bounded::{LIST_LIMIT, TEXT_LIMIT, read_text};
use iosonar_os::temporary;
use iosonar_plan::{ByteSize, Executor, Nanos, Plan};
use iosonar_runner::{Concluded, Ended, Scene, new_run_id};
use iosonar_studies::cells::{count_until, errors_in_files, failure_of, state_of, stats_of};
use iosonar_text::shown;
use iosonar_trace::read_telemetry;
use outputs::Reservations;
use std::cell::RefCell;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

/// Returns IOzone's options if the program was called as `iozone`, or with that command: other commands do not know them.
pub fn as_iozone(args: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    called_as(&["iozone"], args)
}

/// Executes IOzone's command line, without the program's name.
pub fn iozone(args: &[OsString]) -> Result<Exit, Failure> {
    let args: Result<Vec<String>, _> = args.iter().map(|arg| arg.clone().into_string()).collect();
    let args =
        args.map_err(|arg| Failure::refused(anyhow!("{arg:?} is no UTF-8, and a plan holds nothing else")))?;
    let help = || help::fill(&full_help(), help::width());
    if args.is_empty() {
        print_lines(help());
        return Ok(Exit::Refused);
    }
    match parse(&args).map_err(Failure::refused)? {
        Command::Help => print(&help())?,
        Command::Version => print(&format!("{TOOL}, IOzone's command line\n"))?,
        Command::Run(settings) => return execute(&settings),
    }
    Ok(Exit::Fine)
}

fn execute(settings: &Settings) -> Result<Exit, Failure> {
    let settings = with_clients(settings)?;
    let telemetry = (
        telemetry_of("-X", settings.write_telemetry.as_deref())?,
        telemetry_of("-Y", settings.read_telemetry.as_deref())?,
    );
    let settings = &finding_file(Settings { telemetry, ..settings })?;
    let matrix = settings.matrix(new_run_id()).map_err(Failure::refused)?;
    // Files of other machines are examined there.
    let is_device = settings.cluster.is_none() && matrix.files.iter().any(|file| is_block_device(file));
    let cpus = settings.cpus(processors()).map_err(Failure::refused)?;
    let purge_cpu_cache = match settings.purge && settings.cpu_cache.is_none() {
        true => cpu_cache().unwrap_or(matrix.purge_cpu_cache),
        false => matrix.purge_cpu_cache,
    };
    let memory = memory(&Root::default()).total.known().copied();
    let matrix = Matrix { is_device, cpus, purge_cpu_cache, ..matrix }.claiming(memory);
    if settings.dry_run {
        print(&cells_of(&matrix))?;
        return Ok(Exit::Fine);
    }
    let plan = matrix.plan(&matrix.units()).map_err(Failure::refused)?;
    if settings.show_plan {
        print(&plan.to_toml())?;
        return Ok(Exit::Fine);
    }
    settings.notices.iter().for_each(|notice| print_message(format_args!("iozone: {notice}")));
    notices_of(&matrix).for_each(|notice| print_message(format_args!("iozone: {notice}")));
    check_files(&matrix)?;
    let scratch = temporary::directory("iozone")?;
    let dir = settings.out.as_ref().map_or(scratch.path().join("run"), PathBuf::from);
    let timings = Timings::new();
    let (ended, reservations, _listener) = match perform(settings, &matrix, plan, dir.clone(), &timings) {
        Ok(performed) => performed,
        Err(failure) => {
            if dir.join(PARTS).exists() {
                // The error names the records.
                let _ = scratch.keep();
            }
            return Err(failure);
        }
    };
    scratch.remove_leftovers();
    report(settings, &matrix, ended, reservations, &timings)
}

/// Executes the plan in one process or several. All outputs are tested before the first I/O.
fn perform(
    settings: &Settings,
    matrix: &Matrix,
    plan: Plan,
    dir: PathBuf,
    timings: &Timings,
) -> Result<(Ended, Reservations, Listener), Failure> {
    let args = ProgressArgs {
        progress: ProgressArg::Auto,
        no_progress: false,
        progress_every: Nanos::from_secs(10),
    };
    let paths: Vec<PathBuf> = plan.local_paths().map(PathBuf::from).collect();
    let reservations = RefCell::new(None);
    let open = || {
        *reservations.borrow_mut() =
            Some(Reservations::of(settings, matrix, paths.iter().map(PathBuf::as_path))?);
        Ok(())
    };
    let (ended, listener) = match plan.has_processes() {
        true => together::perform(&plan, &args, |_| open().map(|()| dir), timings)?,
        false => {
            let wish = ProgressOptions::line(&args);
            let show = |scene: &Scene<'_>| progress::show(&wish, scene);
            session::perform(plan, |_| open(), |_| dir, show, timings)?
        }
    };
    let reservations = reservations.into_inner().ok_or_else(|| anyhow!("the run ended before it started"))?;
    Ok((ended, reservations, listener))
}

/// Adds the contents of the file of `-+m` to the settings.
fn with_clients(settings: &Settings) -> Result<Settings, Failure> {
    let Some(file) = &settings.cluster else { return Ok(settings.clone()) };
    let text = read_text(Path::new(file), TEXT_LIMIT)
        .map_err(|why| Failure::refused(anyhow!("-+m {file}: {why}")))?;
    let clients = read_clients(file, &text).map_err(Failure::refused)?;
    Ok(Settings { clients, ..settings.clone() })
}

/// Adapts `-Y` to an existing test file, which is not written then.
fn finding_file(settings: Settings) -> Result<Settings, Failure> {
    if !settings.may_find_file() {
        return Ok(settings);
    }
    let files = settings.matrix(new_run_id()).map_err(Failure::refused)?.files;
    if !files.iter().all(|file| file.is_file()) {
        return Ok(settings);
    }
    let mut settings = Settings { finds_file: true, ..settings };
    settings
        .notices
        .push("-Y: the test file exists, so it is read and kept, and test 0 does not write it".into());
    Ok(settings)
}

/// Size of the largest CPU cache; `None` if unknown.
fn cpu_cache() -> Option<ByteSize> {
    cache_bytes(&Root::default()).known().map(|bytes| ByteSize((*bytes).min(1 << 30)))
}

/// Reads a telemetry file; empty if none is named.
fn telemetry_of(option: &str, file: Option<&str>) -> Result<TelemetryFacts, Failure> {
    let Some(file) = file else { return Ok(TelemetryFacts::default()) };
    let refuse = |why: String| Failure::refused(anyhow!("{option} {file}: {why}"));
    let text = read_text(Path::new(file), LIST_LIMIT).map_err(|error| refuse(error.to_string()))?;
    let entries = read_telemetry(&text).map_err(|error| refuse(error.to_string()))?;
    let extents = || entries.iter().map(|entry| entry.extent);
    Ok(TelemetryFacts {
        end: extents().map(|extent| extent.end()).max().unwrap_or(0),
        longest: extents().map(|extent| extent.length).max().unwrap_or(0),
    })
}

fn is_block_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_block_device())
}

/// Lists the cells of the matrix, a line for each pair of sizes.
fn cells_of(matrix: &Matrix) -> String {
    let tests: Vec<&str> = matrix.tests.iter().map(|test| test.name).collect();
    let mut text = String::from("streams  file kB  record kB  tests\n");
    for unit in matrix.units() {
        let (file, record) = (unit.pair.file.0 >> 10, unit.pair.record.0 >> 10);
        text += &format!("{:>7}  {file:>7}  {record:>9}  {}\n", unit.streams, tests.join(" "));
    }
    let units = matrix.units().len();
    text + &format!("{units} pairs of sizes, {} cells\n", units * tests.len())
}

/// Notices before the run.
fn notices_of(matrix: &Matrix) -> impl Iterator<Item = String> + '_ {
    let is_listed = matrix.telemetry != Telemetry::default();
    let cut = matrix.pairs.iter().filter(|pair| !is_listed && pair.bytes() != pair.file);
    let cut = cut.map(|pair| {
        let (file, bytes) = (pair.file, pair.bytes());
        format!(
            "a file of {file} holds no whole number of records of {}: {bytes} of it are used",
            pair.record
        )
    });
    let strides = matrix.tests.iter().any(|test| test.name == "stride_read");
    let short = matrix.pairs.iter().filter(|pair| pair.records() <= matrix.stride.into()).count();
    let short = (strides && short > 0).then(|| {
        let stride = matrix.stride;
        format!("stride read: {short} files have {stride} records or fewer, so a stride of {stride} reads them sequentially")
    });
    let mut all: Vec<String> = cut.chain(short).collect();
    all.dedup();
    all.into_iter()
}

/// Checks that files which no test creates exist and are long enough.
fn check_files(matrix: &Matrix) -> Result<(), Failure> {
    let is_elsewhere = matrix.executors.iter().any(|executor| matches!(executor, Executor::Host(_)));
    if matrix.makes_files() || is_elsewhere {
        return Ok(());
    }
    let is_listed = matrix.telemetry.read.is_some();
    let needed = |pair: &Pair| if is_listed { pair.file } else { pair.bytes() };
    let needed = matrix.pairs.iter().map(needed).max().unwrap_or_default();
    for file in &matrix.files {
        let path = shown(&file);
        let found = file.metadata().map_err(|error| {
            Failure::refused(anyhow!(
                "file {path}: {error}; the selected tests read a file that exists: add -i 0, or name one"
            ))
        })?;
        if found.is_file() && found.len() < needed.0 {
            return Err(Failure::refused(anyhow!(
                "file {path}: it holds {} bytes, and tests read {}: {}",
                found.len(),
                needed.0,
                if is_listed { "name another file, or another one with -Y" } else { "use a smaller -s" }
            )));
        }
    }
    Ok(())
}

/// Name and kernel of the machine, as `-M` prints them.
fn machine(archive: &Archive) -> String {
    let environment = archive.environment();
    let word = |fact: &iosonar_host::Fact<String>| fact.known().cloned().unwrap_or_default();
    let kernel = &environment.kernel;
    format!("Linux {} {} {}", word(&environment.hostname), word(&kernel.release), word(&kernel.version))
}

/// Reason why the run aborted.
fn broken(state: &RunState) -> Option<String> {
    match state {
        RunState::Broken(why) => Some(why.to_string()),
        RunState::Unconverted(why) => Some(why.clone()),
        _ => None,
    }
}

/// Text for standard output.
fn printed(settings: &Settings, matrix: &Matrix, table: &Table, machine: &str) -> String {
    let mut text = banner(settings, matrix, TOOL, machine);
    text += &match settings.is_throughput() {
        true => throughput(settings, matrix, table),
        false => text_table(settings, matrix, table),
    };
    if settings.report {
        text += "\n";
        text += &match settings.is_throughput() {
            true => throughput_report(settings, matrix, table),
            false => text_report(settings, matrix, table),
        };
    }
    if let Some(file) = &settings.workbook {
        text += &format!("\nWorkbook: {}\n", shown(file));
    }
    text +=
        if table.missing_cells == 0 { "\niozone test complete.\n" } else { "\niozone test not complete.\n" };
    text
}

fn report(
    settings: &Settings,
    matrix: &Matrix,
    ended: Ended,
    mut reservations: Reservations,
    timings: &Timings,
) -> Result<Exit, Failure> {
    let dir = ended.archive.dir().to_path_buf();
    let concluded = match settings.out {
        Some(_) => Ok(session::conclude(ended, SummaryOptions::default(), timings)?),
        None => Err(ended.info),
    };
    // All that follows reads this one.
    let archive = Archive::open(&dir)?;
    let machine = machine(&archive);
    let input = Input::of_archive(archive)?;
    let (info, summary) = match concluded {
        Ok(Concluded { info, figures, .. }) => (info, figures.summary),
        Err(info) => (info, Figures::of(&input, &SummaryOptions::default())?.summary),
    };
    info.means.notices.iter().for_each(|notice| print_message(format_args!("iozone: {notice}")));
    let stats = stats_of(&input, &info, count_until(matrix.stonewall))?;
    let failures: Vec<String> = stats.iter().filter_map(failure_of).collect();
    let errors = errors_in_files(&info);
    let table = Table::of(&stats, settings.timed(), TOOL, &format!("iozone {}", settings.typed));
    let missing = (matrix.units().len() * matrix.tests.len()).saturating_sub(table.results.len());
    let table = Table {
        state: Some(state_of(&info.state, missing == 0)),
        missing_cells: missing as u64,
        errors: failures.iter().chain(&errors).cloned().chain(broken(&info.state)).collect(),
        ..table
    };
    table
        .cache_cautions(matrix)
        .iter()
        .for_each(|caution| print_message(format_args!("iozone: caution: {caution}")));
    // The table would disturb a program that reads the cells from standard output.
    let is_taken = reservations.takes_standard_output();
    if settings.trace_offsets {
        let out: Box<dyn Write> =
            if is_taken { Box::new(std::io::stderr()) } else { Box::new(std::io::stdout()) };
        offsets::print_offsets(&input, out)?;
    }
    reservations.write_logs(&input, info.started_unix_ns)?;
    let text = printed(settings, matrix, &table, &machine);
    match is_taken {
        true => print_lines(text.trim_end()),
        false => print(&text)?,
    }
    reservations.write(settings, matrix, &table)?;
    failures.iter().for_each(|failure| print_message(format_args!("iozone: {failure}")));
    errors.iter().for_each(|error| print_message(format_args!("iozone: {error}")));
    if let Some(why) = broken(&info.state).filter(|_| failures.is_empty()) {
        print_message(format_args!("iozone: the run could not go on: {why}"));
    }
    if let Some(dir) = &settings.out {
        print_message(format_args!("result: {dir}"));
    }
    let is_fake = session::tell_verdict("iozone", &summary);
    Ok(session::exit(&info, missing > 0, false, is_fake))
}
