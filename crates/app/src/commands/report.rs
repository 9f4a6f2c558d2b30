//! `iosonar report`: one self-contained page.

use super::compare::comparisons;
use crate::analysis::{Analysis, Run};
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::inputs::Input;
use crate::output::{print, tell};
use crate::progress::while_reading;
use crate::session::TOOL;
use anyhow::{Context, anyhow};
use iosonar_analyze::compare::{Comparison, Judged};
use iosonar_analyze::{Choice, Kept, Records};
use iosonar_archive::Record;
use iosonar_view::report::{Detail, PointWriter, Report, ReportRun, SideCar, write};
use iosonar_view::{Material, Needs, TextOptions};
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Requests of which a page has all the facts.
const ALL_POINTS: u64 = 1_000_000;
/// Requests that a page of a longer run has.
const SOME_POINTS: u64 = 200_000;

/// Writes the page; says where it is.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let inputs = Input::open_all(&args.inputs)?;
    if args.text {
        return in_text(args, &inputs);
    }
    let out = page_path(args)?;
    let groups: Vec<&[Input]> = if args.compare { inputs.chunks(1).collect() } else { vec![&inputs] };
    if args.compare && groups.len() != 2 {
        return Err(Failure::refused(anyhow!(
            "--compare needs exactly two runs, A and B; {} are given",
            groups.len()
        )));
    }
    let limits = (&args.limits).into();
    let analyses = groups
        .iter()
        .map(|group| {
            let analyse = || Analysis::of(group, &limits, &args.demand, Needs::EVERYTHING);
            while_reading(&args.progress, group, analyse)
        })
        .collect::<Result<Vec<_>, _>>()?;
    let comparison = if args.compare { comparisons(&inputs)?.pop() } else { None };
    let mut side_cars = Vec::new();
    for (i, (group, analysis)) in groups.iter().zip(&analyses).enumerate() {
        let path = out.with_extension(if i == 0 { "trace" } else { "b.trace" });
        side_cars.push(if args.side_car { side_car(group, analysis, &path)? } else { None });
    }
    let mut points = args.points;
    let largest = args.max_html.0;
    loop {
        let mut details = Vec::new();
        for ((group, analysis), side_car) in groups.iter().zip(&analyses).zip(&side_cars) {
            details.push(Detail { side_car: side_car.clone(), ..detail(points, group, analysis)? });
        }
        let page =
            Page { inputs: &inputs, analyses: &analyses, details: &details, comparison: comparison.as_ref() };
        match page.write(&out, largest)? {
            Written::Kept => break,
            Written::TooLarge(size) => points = Some(fewer(&details, size, largest)),
        }
    }
    print(&format!("{}\n", out.display()))?;
    for analysis in &analyses {
        analysis.remarks.iter().for_each(|remark| tell(format_args!("iosonar: {remark}")));
    }
    let nothing = analyses.iter().any(|analysis| analysis.requests() == 0);
    Ok(if nothing { Exit::Failed } else { Exit::Fine })
}

/// About as many requests as fit: what else is in the page stays.
fn fewer(details: &[Detail], size: u64, largest: u64) -> u64 {
    let embedded: u64 = details.iter().map(|detail| detail.embedded).sum();
    // In base64, three bytes are four.
    let bytes: u64 =
        details.iter().flat_map(|detail| &detail.blocks).map(|b| b.deflated.len() as u64 * 4 / 3).sum();
    let room = (largest + bytes).saturating_sub(size);
    (embedded as f64 * room as f64 / bytes.max(1) as f64 * 0.9) as u64 / details.len() as u64
}

fn in_text(args: &ReportArgs, inputs: &[Input]) -> Result<Exit, Failure> {
    let limits = (&args.limits).into();
    let analyse = || Analysis::of(inputs, &limits, &args.demand, Needs::EVERYTHING);
    let analysis = while_reading(&args.progress, inputs, analyse)?;
    print(&analysis.to_mail(TextOptions::default()))?;
    Ok(Exit::Fine)
}

/// Where the page goes: into the directory of a result, or beside a file.
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

/// The requests that stand in the page.
fn detail(points: Option<u64>, inputs: &[Input], analysis: &Analysis) -> Result<Detail, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(Detail::default()) };
    let done = run.summary.counts.all.completed + run.summary.counts.all.failed;
    let wanted = points.unwrap_or(if done <= ALL_POINTS { ALL_POINTS } else { SOME_POINTS });
    let chosen = chosen(input, run, wanted)?;
    Ok(Detail { requests: done.max(chosen.embedded), ..chosen })
}

fn chosen(input: &Input, run: &Run, wanted: u64) -> io::Result<Detail> {
    if wanted == 0 {
        return Ok(Detail::default());
    }
    let mut choice = Choice::new(&run.summary, run.tally.as_ref(), &run.findings, wanted);
    let mut detail = Detail { one_of: choice.one_of(), ..Detail::default() };
    let mut writer = PointWriter::new(|block| {
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

/// Writes all requests beside the page, where anything is known about them; the name of the file.
fn side_car(inputs: &[Input], analysis: &Analysis, path: &Path) -> Result<Option<String>, Failure> {
    let (Some(run), [input]) = (&analysis.run, inputs) else { return Ok(None) };
    write_side_car(input, &run.summary.run.run_id, path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path.file_name().map(|name| name.to_string_lossy().into_owned()))
}

fn write_side_car(input: &Input, run_id: &str, path: &Path) -> io::Result<()> {
    let mut file = SideCar::begin(BufWriter::new(File::create(path)?))?;
    let mut writer = PointWriter::new(|block| file.add(&block));
    for_each(input, |record| writer.add(record, false))?;
    writer.finish()?;
    file.finish(run_id)?;
    Ok(())
}

/// Hands every record on, until one cannot be taken.
fn for_each(input: &Input, mut f: impl FnMut(&Record) -> io::Result<()>) -> io::Result<()> {
    let mut result = Ok(());
    input.for_each(&mut |record| {
        if result.is_ok() {
            result = f(record);
        }
    })?;
    result
}

/// What became of a page.
enum Written {
    Kept,
    /// It has so many bytes, and is not there.
    TooLarge(u64),
}

/// Everything that a page is made of.
struct Page<'a> {
    inputs: &'a [Input],
    analyses: &'a [Analysis],
    details: &'a [Detail],
    comparison: Option<&'a Comparison>,
}

impl Page<'_> {
    /// A page that cannot be written whole leaves the one before as it was; so does one that is larger than `largest`,
    /// as long as there are requests to leave out.
    fn write(&self, out: &Path, largest: u64) -> Result<Written, Failure> {
        let cannot = || format!("cannot write {}", out.display());
        let is_special = out.metadata().is_ok_and(|facts| !facts.is_file());
        if is_special {
            let mut file = BufWriter::new(File::create(out).with_context(cannot)?);
            self.with_materials(&mut |materials| self.page(materials, &mut file)).with_context(cannot)?;
            file.flush().with_context(cannot)?;
            return Ok(Written::Kept);
        }
        let place = out.parent().filter(|place| !place.as_os_str().is_empty()).unwrap_or(Path::new("."));
        place.metadata().with_context(cannot)?;
        // As readable as any other file: the process's mask says how much.
        let everybody = Permissions::from_mode(0o666);
        let file = tempfile::Builder::new().permissions(everybody).tempfile_in(place).with_context(cannot)?;
        let mut text = BufWriter::new(file);
        self.with_materials(&mut |materials| self.page(materials, &mut text)).with_context(cannot)?;
        let file = text.into_inner().map_err(|error| error.into_error()).with_context(cannot)?;
        let size = file.as_file().metadata().with_context(cannot)?.len();
        if size > largest && self.details.iter().any(|detail| detail.embedded > 0) {
            return Ok(Written::TooLarge(size));
        }
        file.persist(out).map_err(|error| error.error).with_context(cannot)?;
        if size > largest {
            tell(format_args!(
                "iosonar: {} is larger than --max-html, although it has no single requests",
                out.display()
            ));
        }
        Ok(Written::Kept)
    }

    fn with_materials(&self, f: &mut dyn FnMut(&[&Material<'_>]) -> io::Result<()>) -> io::Result<()> {
        match self.analyses {
            [one] => one.with_material(|material| f(&[material])),
            [a, b] => a.with_material(|a| b.with_material(|b| f(&[a, b]))),
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
            .zip(self.details)
            .map(|((material, name), detail)| ReportRun { name, material, detail })
            .collect();
        let archive = self.inputs[0].archive();
        let plan = archive.map(|archive| archive.plan().to_toml());
        let environment = archive.map(|archive| archive.environment()).filter(|facts| !facts.is_null());
        let environment = environment.map(|facts| format!("{facts:#}"));
        let text = self.comparison.map(|c| iosonar_view::compare(&[Judged::new(c.clone(), &[])]));
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
