//! `iosonar report`: one self-contained page.

pub(super) mod page;
mod place;
pub(super) mod points;

use self::page::{Page, fitting};
use self::place::{PageFiles, page_path, side_car_paths};
use self::points::{detail, side_car};
use crate::args::report::{PointsArg, ReportArgs};
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::outputs::{existing, gate_of};
use crate::places;
use crate::presentation;
use crate::progress::while_reading;
use crate::ranks;
use anyhow::{Context, anyhow};
use iosonar_analyze::Needs;
use iosonar_host::output::Role;
use iosonar_inputs::{Analysis, Input, comparisons};
use iosonar_plaintext::MailOptions;
use iosonar_text::shown;
use iosonar_view::report::{self, Detail, Facts};

/// Writes the page; reports its path.
pub fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    let inputs = Input::open_all(&args.inputs, args.spool.spool_limit)?;
    let Some(inputs) = ranks::counted(inputs, &presentation::options((&args.limits).into(), &args.demand))?
    else {
        return Ok(Exit::Fine);
    };
    if args.text {
        return in_text(args, &inputs);
    }
    let out = page_path(args)?;
    let mut gate = gate_of(&args.inputs);
    args.places.iter().for_each(|file| gate.forbid(file, Role::Input("--places".into())));
    let place = PageFiles { gate, existing: existing(args.force), page: out.clone() };
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

fn in_text(args: &ReportArgs, inputs: &[Input]) -> Result<Exit, Failure> {
    let options = presentation::options((&args.limits).into(), &args.demand);
    let analyse = || Analysis::of(inputs, &options, Needs::EVERYTHING);
    let analysis = while_reading(&args.progress, inputs, analyse)?;
    print(&presentation::mail(&analysis, MailOptions::default()))?;
    Ok(Exit::Fine)
}

/// Named parts of each input's target: those of `--places` before those that the run has recorded. Merged inputs have no common places.
fn places_of(args: &ReportArgs, inputs: &[Input]) -> Result<Vec<Vec<report::NamedRange>>, Failure> {
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
