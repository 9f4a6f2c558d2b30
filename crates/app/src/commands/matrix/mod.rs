//! `iosonar matrix`: file operations over sizes of files and records, each cell several times.

mod answer;
mod leftover;
mod pictures;
mod study;

use super::cells::{count_until, errors_in_files, failure_of, state_of, stats_of};
use crate::exit::{Exit, Failure};
use crate::matrix_args::{CacheArg, MatrixArgs};
use crate::output::{print, print_message};
use crate::progress::{self, ProgressOptions};
use crate::session::{self, conclude, perform, tell_verdict};
use crate::timings::Timings;
use anyhow::anyhow;
use iosonar_archive::{Archive, RunState};
use iosonar_campaign::{Machine, Matrix, Question, Timed, Unit};
use iosonar_engine::Prepared;
use iosonar_host::Root;
use iosonar_host::environment::memory;
use iosonar_inputs::SummaryOptions;
use iosonar_runner::{Concluded, Scene, new_run_id};
use iosonar_text::shown;
use iosonar_view::units::number;
use std::path::PathBuf;
use study::Study;

pub use answer::answer_of;

/// Measures the missing cells, and shows all.
pub fn matrix(args: &MatrixArgs) -> Result<Exit, Failure> {
    let mut study = match &args.result.resume {
        Some(dir) => Study::open(dir, typed(args)?.as_ref())?,
        None => Study::planned(question(args)?, args.result.out.clone())?,
    }
    .with_csv_form(args.result.csv_form());
    study.question.destroy = args.way.destroy;
    study.question.keep |= args.way.keep;
    let recovered = study.recover();
    let matrix = study.question.matrix(new_run_id()).map_err(Failure::refused)?;
    let missing = study.table.missing(&matrix, study.question.order(&matrix));
    if args.result.dry_run {
        print(&answer::listing(&matrix, &missing))?;
        return Ok(Exit::Fine);
    }
    if recovered > 0 {
        print_message(format_args!(
            "iosonar: {recovered} cells are taken from the log of a part that was killed"
        ));
        study.keep()?;
    }
    let exit = match missing.is_empty() {
        true => Exit::Fine,
        false => match measure(args, &mut study, &matrix, &missing)? {
            Some(exit) => exit,
            None => return Ok(Exit::Fine),
        },
    };
    if !study.table.results.is_empty() {
        pictures::draw(&study, &matrix)?;
    }
    answer::show(args, &study, &matrix)?;
    Ok(exit)
}

/// The question typed with `--resume`, if any.
fn typed(args: &MatrixArgs) -> Result<Option<Question>, Failure> {
    (!args.files.is_empty()).then(|| question(args)).transpose()
}

fn question(args: &MatrixArgs) -> Result<Question, Failure> {
    let (cells, way) = (&args.cells, &args.way);
    let most = cells.streams.iter().copied().max().unwrap_or(1) as usize;
    Ok(Question {
        files: files(&args.files, most)?,
        tests: Question::tests_of(&cells.tests, &cells.streams, cells.methods.len())
            .map_err(Failure::refused)?,
        sizes: cells.sizes.0.clone(),
        records: cells.records.0.clone(),
        all_pairs: cells.all_pairs,
        streams: cells.streams.clone(),
        methods: cells.methods.clone(),
        depth: way.depth,
        repeat: cells.repeat,
        cold: way.cache == CacheArg::Cold,
        direct: way.direct,
        sync: way.sync,
        stonewall: !way.no_stonewall,
        stride: way.stride,
        timed: Timed { fsync: way.include_flush, close: way.include_close, ..Timed::default() },
        seed: way.seed,
        keep: way.keep,
        destroy: way.destroy,
        claim: way.claim,
    })
}

/// As many absolute names as there are streams, so that a matrix can be continued from another directory.
fn files(named: &[PathBuf], streams: usize) -> Result<Vec<PathBuf>, Failure> {
    let names: Vec<PathBuf> = match named {
        [file] if streams > 1 => (0..streams)
            .map(|number| {
                let mut name = file.clone().into_os_string();
                name.push(format!(".{number}"));
                name.into()
            })
            .collect(),
        _ if named.len() < streams => {
            return Err(Failure::refused(anyhow!(
                "--streams {streams}: {} files are named: name one, or as many as streams",
                named.len()
            )));
        }
        _ => named[..streams].to_vec(),
    };
    let complete = |name: &PathBuf| std::path::absolute(name).map_err(Failure::refused);
    names.iter().map(complete).collect()
}

/// Measures these parts of the matrix, and keeps the results; `None` if only the plan was requested.
fn measure(
    args: &MatrixArgs,
    study: &mut Study,
    matrix: &Matrix,
    missing: &[Unit],
) -> Result<Option<Exit>, Failure> {
    let memory = memory(&Root::default()).total.known().copied();
    let plan = matrix.clone().claiming(memory).plan(missing).map_err(Failure::refused)?;
    if args.result.show_plan {
        print(&plan.to_toml())?;
        return Ok(None);
    }
    leftover::remove(study)?;
    let cells = missing.len() * matrix.tests.len();
    print_message(format_args!("iosonar: {cells} cells to measure, results in {}", shown(&study.dir)));
    let (dir, timings) = (study.next_part(), Timings::new());
    let wish = ProgressOptions::line(&args.result.progress);
    let show = |scene: &Scene<'_>| progress::show(&wish, scene);
    let created = |_: &Prepared| study.create();
    let (ended, _listener) = perform(plan, created, |_| dir.clone(), show, &timings)?;
    // Only cells of a part are shown: its requests are in its archive.
    let (info, is_fake) = match args.result.no_records {
        true => (ended.info, false),
        false => {
            let Concluded { info, figures, .. } = conclude(ended, SummaryOptions::default(), &timings)?;
            (info, tell_verdict("iosonar", &figures.summary))
        }
    };
    let archive = Archive::open(&dir)?;
    study.table.machine = machine(&archive);
    let stats = stats_of(archive, &info, count_until(matrix.stonewall))?;
    let failures: Vec<String> = stats.iter().filter_map(failure_of).collect();
    let errors = errors_in_files(&info);
    study.add(&stats, |table| {
        let missing = matrix.units().len() * matrix.tests.len();
        let missing = missing.saturating_sub(table.results.len());
        (table.state, table.missing_cells) = (Some(state_of(&info.state, missing == 0)), missing as u64);
        table.errors = failures.iter().chain(&errors).cloned().collect();
    })?;
    if args.result.no_records {
        study.drop_part(&dir)?;
    }
    failures.iter().chain(&errors).for_each(|why| print_message(format_args!("iosonar: {why}")));
    if let RunState::Broken(why) = &info.state {
        print_message(format_args!("iosonar: the run could not go on: {why}"));
    }
    let open = study.table.missing(matrix, missing.to_vec()).len() * matrix.tests.len();
    if open > 0 {
        let dir = shown(&study.dir);
        print_message(format_args!(
            "iosonar: about {open} cells are missing; to measure them: iosonar matrix --resume {dir}"
        ));
    }
    Ok(Some(session::exit(&info, open > 0, false, is_fake)))
}

pub fn machine(archive: &Archive) -> Machine {
    let environment = archive.environment();
    let words = [&environment.hostname, &environment.kernel.release, &environment.cpu.model];
    let words: Vec<&str> =
        words.into_iter().filter_map(|fact| fact.known()).map(|word| word.trim()).collect();
    Machine {
        words: words.join(", "),
        memory_bytes: environment.memory.total.known().copied(),
        cache_bytes: environment.cpu.cache_bytes.known().copied(),
    }
}

/// Rates are shown in MiB/s.
fn mib(bytes_per_second: f64) -> String {
    number(bytes_per_second / f64::from(1 << 20))
}
