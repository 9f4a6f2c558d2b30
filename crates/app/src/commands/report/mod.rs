//! `iosonar report`: one self-contained page.

use crate::args::report::{PointsArg, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::outputs::{existing, gate_of};
use crate::places;
use crate::presentation::{self, with_material};
use crate::progress::while_reading;
use anyhow::{Context, anyhow};
use iosonar_analyze::compare::{Comparison, Judged, OnFake};
use iosonar_analyze::{Choice, Kept, Needs, Records};
use iosonar_archive::{Record, TOOL};
use iosonar_host::output::{Existing, Gate, Output, OutputError, OutputName, Role};
use iosonar_inputs::{Analysis, Input, RunAnalysis, comparisons};
use iosonar_text::shown;
use iosonar_view::report::{Detail, Facts, PointWriter, Report, ReportRun, SideCar, write};
use iosonar_view::{Material, TextOptions, report};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Runs up to this number of requests are embedded in the page completely.
const ALL_POINTS: u64 = 1_000_000;
/// Number of requests embedded in the page of a longer run.
const SOME_POINTS: u64 = 200_000;

/// Writes the page; reports its path.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let inputs = Input::open_all(&args.inputs, args.spool.spool_limit)?;
    if args.text {
        return in_text(args, &inputs);
    }
    let out = page_path(args)?;
    let mut gate = gate_of(&args.inputs);
    args.places.iter().for_each(|file| gate.forbid(file, Role::Input("--places".into())));
    let place = Place { gate, existing: existing(args.force), page: out.clone() };
    place.check(args)?;
    let groups: Vec<&[Input]> = if args.compare { inputs.chunks(1).collect() } else { vec![&inputs] };
    if args.compare && groups.len() != 2 {
        return Err(Failure::refused(anyhow!(
            "--compare needs exactly two runs, A and B; {} are given",
            groups.len()
        )));
    }
    let named = places_of(args, &inputs)?;
    let (wanted, facts) = match args.points {
        None => (None, Facts::All),
        Some(PointsArg::About(number)) => (Some(number), Facts::All),
        Some(PointsArg::Picture) => (None, Facts::Picture),
    };
    let options = presentation::options((&args.limits).into(), &args.demand);
    let analyses = groups
        .iter()
        .map(|group| {
            let analyse = || Analysis::of(group, &options, Needs::EVERYTHING);
            while_reading(&args.progress, group, analyse)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let comparison = if args.compare { comparisons(&inputs)?.pop() } else { None };
    let mut side_cars = Vec::new();
    if args.side_car {
        for ((group, analysis), path) in groups.iter().zip(&analyses).zip(side_car_paths(&out)) {
            side_cars.extend(side_car(group, analysis, &place, &path)?);
        }
    }
    let names: Vec<String> = side_cars.iter().map(|(name, _)| name.clone()).collect();
    let page = fitting(args.max_html.0, wanted, &place, |points| {
        let mut details = Vec::new();
        for (i, (group, analysis)) in groups.iter().zip(&analyses).enumerate() {
            details
                .push(Detail { side_car: names.get(i).cloned(), ..detail(points, facts, group, analysis)? });
        }
        Ok(Page {
            inputs: &inputs,
            analyses: &analyses,
            details,
            places: &named,
            comparison: comparison.as_ref(),
        })
    })?;
    for (name, file) in side_cars {
        file.publish().with_context(|| format!("cannot write {name}"))?;
    }
    page.publish().with_context(|| format!("cannot write {}", shown(&out)))?;
    print(&format!("{}\n", shown(&out)))?;
    for analysis in &analyses {
        analysis.remarks.iter().for_each(|remark| print_message(format_args!("iosonar: {remark}")));
    }
    let nothing = analyses.iter().any(|analysis| analysis.requests() == 0);
    Ok(if nothing { Exit::Failed } else { Exit::Fine })
}

/// The size of a page is estimated from the one before; after this many pages single requests are skipped.
const GUESSES: usize = 4;

/// The page with as many of the requested points as `--max-html` allows.
fn fitting<'a>(
    largest: u64,
    mut points: Option<u64>,
    place: &Place,
    page: impl Fn(Option<u64>) -> Result<Page<'a>, Failure>,
) -> Result<Output, Failure> {
    for guess in 0..=GUESSES {
        let page = page(points)?;
        let (size, file) = page.write(place)?;
        let embedded = page.details.iter().map(|detail| detail.embedded).sum();
        if size <= largest {
            return Ok(file);
        }
        if embedded == 0 {
            let told = format!(
                "{} is larger than --max-html, although it has no single requests",
                shown(&place.page)
            );
            print_message(format_args!("iosonar: {told}"));
            return Ok(file);
        }
        let less = fewer(&page.details, embedded, size, largest).min(embedded - embedded / 8 - 1);
        points = Some(if guess + 1 < GUESSES { less } else { 0 });
    }
    unreachable!("a page without single requests is kept whatever its size")
}

/// Number of requests that fit approximately: the rest of the page stays.
fn fewer(details: &[Detail], embedded: u64, size: u64, largest: u64) -> u64 {
    // In base64, three bytes are four.
    let bytes: u64 =
        details.iter().flat_map(|detail| &detail.blocks).map(|b| b.deflated.len() as u64 * 4 / 3).sum();
    let room = (largest + bytes).saturating_sub(size);
    (embedded as f64 * room as f64 / bytes.max(1) as f64 * 0.9) as u64 / details.len() as u64
}

/// Paths of the side-cars of A and of B.
fn side_car_paths(out: &Path) -> [PathBuf; 2] {
    ["trace", "b.trace"].map(|extension| out.with_extension(extension))
}

/// Paths of the page and its side-cars.
struct Place {
    gate: Gate<'static>,
    existing: Existing,
    page: PathBuf,
}

impl Place {
    /// Refuses names that may not be written, before anything is read.
    fn check(&self, args: &ReportArgs) -> Result<(), Failure> {
        let side_cars = if args.side_car { side_car_paths(&self.page).to_vec() } else { Vec::new() };
        let refuse = |why| Err(Failure::refused(anyhow!("--out {}: {why}", shown(&self.page))));
        if args.side_car && self.page.metadata().is_ok_and(|facts| !facts.is_file()) {
            return refuse("it is no file, and --side-car writes beside the page: name a file");
        }
        if side_cars.contains(&self.page) {
            return refuse(
                "--side-car writes a file of this very name: give the page another one, say .html",
            );
        }
        let mut paths = side_cars.iter().chain([&self.page]);
        paths.try_for_each(|path| self.gate.check(&name(path), self.existing)).map_err(Failure::refused)
    }

    fn create(&self, path: &Path) -> Result<Output, OutputError> {
        self.gate.create(&name(path), self.existing)
    }
}

fn name(path: &Path) -> OutputName {
    OutputName::new("--out", path)
}

fn in_text(args: &ReportArgs, inputs: &[Input]) -> Result<Exit, Failure> {
    let options = presentation::options((&args.limits).into(), &args.demand);
    let analyse = || Analysis::of(inputs, &options, Needs::EVERYTHING);
    let analysis = while_reading(&args.progress, inputs, analyse)?;
    print(&presentation::mail(&analysis, TextOptions::default()))?;
    Ok(Exit::Fine)
}

/// Path of the page: in the directory of a result, or beside a file.
fn page_path(args: &ReportArgs) -> Result<PathBuf, Failure> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let first = &args.inputs[0];
    if args.inputs.len() == 1 && first.is_dir() {
        return Ok(first.join("report.html"));
    }
    let name = match first.file_name().filter(|_| first.as_path() != Path::new("-")) {
        Some(name) => name.to_string_lossy().into_owned(),
        None => "report".to_string(),
    };
    Ok(PathBuf::from(format!("{name}.html")))
}

/// Named parts of each input's target: those of `--places` before those that the run has recorded. Merged inputs have no common places.
fn places_of(args: &ReportArgs, inputs: &[Input]) -> Result<Vec<Vec<report::Place>>, Failure> {
    let is_merged = inputs.len() > 1 && !args.compare;
    if let Some(path) = &args.places {
        let targets = inputs[0].archive().map_or(1, |archive| archive.plan().targets.len());
        if is_merged || targets > 1 {
            let why = "several targets have no places in common: name one input of one target";
            return Err(Failure::refused(anyhow!("--places {}: {why}", shown(&path))));
        }
        return Ok(vec![places::read(path)?]);
    }
    let known = |input: &Input| match input.archive() {
        Some(archive) if !is_merged => places::of_partitions(&archive.environment().targets),
        _ => Vec::new(),
    };
    Ok(inputs.iter().map(known).collect())
}

/// The requests contained in the page.
fn detail(
    points: Option<u64>,
    facts: Facts,
    inputs: &[Input],
    analysis: &Analysis,
) -> Result<Detail, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(Detail::default()) };
    let done = Choice::of_all(&run.summary);
    let wanted = points.unwrap_or(if done <= ALL_POINTS { ALL_POINTS } else { SOME_POINTS });
    let chosen = chosen(input, run, facts, wanted)?;
    Ok(Detail { requests: done.max(chosen.embedded), ..chosen })
}

fn chosen(input: &Input, run: &RunAnalysis, facts: Facts, wanted: u64) -> io::Result<Detail> {
    if wanted == 0 {
        return Ok(Detail::default());
    }
    let mut choice = Choice::new(&run.summary, run.tally.as_ref(), &run.findings, wanted);
    let mut detail = Detail { one_of: choice.one_of(), facts, ..Detail::default() };
    let mut writer = PointWriter::new(facts, |block| {
        detail.blocks.push(block);
        Ok(())
    });
    for_each(input, |record| match choice.keeps(record) {
        Kept::No => Ok(()),
        kept => writer.add(record, kept == Kept::Exceptional),
    })?;
    detail.embedded = writer.finish()?;
    Ok(detail)
}

/// Writes all requests of a single run; returns the file, which is published with the page.
fn side_car(
    inputs: &[Input],
    analysis: &Analysis,
    place: &Place,
    path: &Path,
) -> Result<Option<(String, Output)>, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(None) };
    let file = place.create(path).map_err(Failure::refused)?;
    let file = write_side_car(input, &run.summary.run.run_id, file)
        .with_context(|| format!("cannot write {}", shown(&path)))?;
    Ok(path.file_name().map(|name| (name.to_string_lossy().into_owned(), file)))
}

fn write_side_car(input: &Input, run_id: &str, file: Output) -> io::Result<Output> {
    let mut file = SideCar::begin(file)?;
    let mut writer = PointWriter::new(Facts::All, |block| file.add(&block));
    for_each(input, |record| writer.add(record, false))?;
    writer.finish()?;
    file.finish(run_id)
}

/// Calls `f` for every record, until one fails.
fn for_each(input: &Input, mut f: impl FnMut(&Record) -> io::Result<()>) -> io::Result<()> {
    let mut result = Ok(());
    input.for_each(&mut |record| {
        if result.is_ok() {
            result = f(record);
        }
    })?;
    result
}

/// Contents of a page.
struct Page<'a> {
    inputs: &'a [Input],
    analyses: &'a [Analysis],
    details: Vec<Detail>,
    /// Named parts of the space, for each input.
    places: &'a [Vec<report::Place>],
    comparison: Option<&'a Comparison>,
}

impl Page<'_> {
    /// Writes the page; returns its size, and the file to be published.
    fn write(&self, place: &Place) -> Result<(u64, Output), Failure> {
        let cannot = || format!("cannot write {}", shown(&place.page));
        let mut file = place.create(&place.page).map_err(Failure::refused)?;
        self.with_materials(&mut |materials| self.page(materials, &mut file)).with_context(cannot)?;
        let size = file.size().with_context(cannot)?;
        Ok((size, file))
    }

    fn with_materials(&self, f: &mut dyn FnMut(&[&Material<'_>]) -> io::Result<()>) -> io::Result<()> {
        match self.analyses {
            [one] => with_material(one, |material| f(&[material])),
            [a, b] => with_material(a, |a| with_material(b, |b| f(&[a, b]))),
            _ => unreachable!("one analysis, or two that are compared"),
        }
    }

    fn page(&self, materials: &[&Material<'_>], out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = match self.comparison {
            Some(_) => self.inputs.iter().map(|input| input.name.clone()).collect(),
            None => vec![self.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ")],
        };
        let runs: Vec<ReportRun<'_>> = materials
            .iter()
            .zip(&names)
            .zip(&self.details)
            .zip(self.places)
            .map(|(((material, name), detail), places)| ReportRun { name, material, detail, places })
            .collect();
        let archive = self.inputs[0].archive();
        let plan = archive.map(|archive| archive.plan().to_toml());
        let environment = archive.map(|archive| archive.environment_json()).filter(|facts| !facts.is_null());
        let environment = environment.map(|facts| format!("{facts:#}"));
        let text =
            self.comparison.map(|c| iosonar_view::compare(&[Judged::new(c.clone(), &[], OnFake::Refuse)]));
        let report = Report {
            runs: &runs,
            comparison: self.comparison.zip(text.as_deref()),
            plan_toml: plan.as_deref(),
            environment_json: environment.as_deref(),
            tool: TOOL,
        };
        write(&report, out)
    }
}
