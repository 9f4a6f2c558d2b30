//! `iosonar plot`: the diagrams of loads, results and runs.

use crate::args::plot::PlotArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::outputs::{PLOTS, PictureFolder, existing, gate_of};
use crate::presentation;
use crate::progress::while_reading;
use anyhow::anyhow;
use iosonar_analyze::Needs;
use iosonar_analyze::findings::TimeRange;
use iosonar_host::output::Gate;
use iosonar_inputs::{Analysis, Input, comparisons};
use iosonar_plaintext::MailOptions;
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_view::{
    CompareMaterial, DataOptions, Format, Material, Picture, PlotOptions, Style, compare_subject, data_files,
    picture_files, plot_compare, write_data_files,
};
use std::path::PathBuf;

/// Draws the pictures; reports their paths.
pub fn plot(args: &PlotArgs) -> Result<Exit, Failure> {
    let only = args.only.iter().map(|name| picture(name)).collect::<Result<Vec<_>, _>>()?;
    let options = PlotOptions { formats: formats(args), only, style: style(args)? };
    let inputs = Input::open_all(&args.inputs, args.spool.spool_limit)?;
    let gate = gate_of(&args.inputs);
    if args.compare {
        return compare(args, &inputs, &options, folder(args, &gate)?);
    }
    if args.text {
        return in_text(args, &inputs);
    }
    let folder = folder(args, &gate)?;
    folder.check(names(args, &options))?;
    let asked = presentation::options((&args.limits).into(), &args.demand);
    let needs = needs(args, &options.only);
    let analyse = || Analysis::of(&inputs, &asked, needs);
    let analysis = while_reading(&args.progress, &inputs, analyse)?;
    check_range(args, &analysis)?;
    if !presentation::with_material(&analysis, |material| draw(args, material, &folder, &options))? {
        return Ok(Exit::Failed);
    }
    folder.keep();
    Ok(concluded(&analysis))
}

fn in_text(args: &PlotArgs, inputs: &[Input]) -> Result<Exit, Failure> {
    let options = presentation::options((&args.limits).into(), &args.demand);
    let analyse = || Analysis::of(inputs, &options, Needs::EVERYTHING);
    let analysis = while_reading(&args.progress, inputs, analyse)?;
    print(&presentation::mail(&analysis, MailOptions::default()))?;
    Ok(concluded(&analysis))
}

fn concluded(analysis: &Analysis) -> Exit {
    analysis.remarks.iter().for_each(|remark| print_message(format_args!("iosonar: {remark}")));
    if analysis.requests() == 0 { Exit::Failed } else { Exit::Fine }
}

/// Names of the possible output files.
fn names<'a>(args: &PlotArgs, options: &'a PlotOptions) -> impl Iterator<Item = String> + 'a {
    let tables = args.data.then(|| data_files(&options.only)).into_iter().flatten();
    picture_files(options).chain(tables)
}

/// Required data: for a few pictures less than for all of them, their numbers, or a text.
fn needs(args: &PlotArgs, only: &[Picture]) -> Needs {
    if only.is_empty() || args.data || args.text {
        return Needs::EVERYTHING;
    }
    Picture::needs_of(only.iter().copied())
}

/// Draws; returns whether there was anything to draw.
fn draw(
    args: &PlotArgs,
    material: &Material<'_>,
    folder: &PictureFolder<'_>,
    options: &PlotOptions,
) -> Result<bool, Failure> {
    let plotted = iosonar_view::plot(material, folder, options)?;
    let mut written = plotted.written;
    if args.data {
        let only: Vec<&str> = options.only.iter().map(|picture| picture.stem()).collect();
        let data = DataOptions { smooth_window_ns: args.smooth_window.0, csv_safe: args.csv_safe };
        written.extend(write_data_files(material, folder, &only, &data)?);
    }
    for path in &written {
        print(&format!("{}\n", shown(&path)))?;
    }
    // Simulated runs and foreign results have no samples, devices no maps, most runs no faults: the missing picture is reported only if it
    // was named.
    let rare = [Picture::MACHINE, Picture::EXTENTS, Picture::FAULT_MAP, Picture::FAULT_STRIP];
    let missed = |(picture, _): &&(Picture, _)| !rare.contains(picture) || options.only.contains(picture);
    tell_skipped(plotted.skipped.iter().filter(missed));
    Ok(!written.is_empty())
}

/// Refuses a range beyond the end, which would show nothing and overwrite useful pictures.
fn check_range(args: &PlotArgs, analysis: &Analysis) -> Result<(), Failure> {
    let Some((from, to)) = args.range else { return Ok(()) };
    let end = Nanos(analysis.end_ns());
    if from < end || end == Nanos(0) {
        return Ok(());
    }
    Err(Failure::refused(anyhow!("--range {from}..{to}: everything is over at {end}")))
}

/// Reports each reason once, with the pictures that it concerns.
fn tell_skipped<'a>(skipped: impl Iterator<Item = &'a (Picture, String)>) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for (picture, why) in skipped {
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, stems)) => stems.push(picture.stem()),
            None => reasons.push((why, vec![picture.stem()])),
        }
    }
    for (why, stems) in reasons {
        print_message(format_args!("iosonar: {why}: {}", stems.join(", ")));
    }
}

/// Pictures of two runs side by side.
fn compare(
    args: &PlotArgs,
    inputs: &[Input],
    options: &PlotOptions,
    folder: PictureFolder<'_>,
) -> Result<Exit, Failure> {
    let [first, second] = inputs else {
        return Err(Failure::refused(anyhow!(
            "--compare takes two inputs, the baseline first, and there are {}: iosonar plot --compare A B",
            inputs.len()
        )));
    };
    let asked = presentation::options((&args.limits).into(), &args.demand);
    let analyze = |input| Analysis::of(std::slice::from_ref(input), &asked, Needs::EVERYTHING);
    let [a, b] = [first, second].map(analyze);
    let (a, b) = (a?, b?);
    let (Some(run_a), Some(run_b)) = (&a.run, &b.run) else {
        return Err(Failure::refused(anyhow!(
            "--compare: nothing is known about what happened to the requests of {}: name results, or loads that carry \
             latencies",
            if a.run.is_none() { &first.name } else { &second.name }
        )));
    };
    let compared = comparisons(inputs)?;
    let subject = compare_subject(&run_a.summary, &run_b.summary, &crate::session::command_line());
    let material = CompareMaterial {
        subject: &subject,
        a: presentation::material(run_a),
        b: presentation::material(run_b),
        comparison: compared.first(),
    };
    for path in plot_compare(&material, &folder, options)? {
        print(&format!("{}\n", shown(&path)))?;
    }
    folder.keep();
    Ok(Exit::Fine)
}

fn formats(args: &PlotArgs) -> Vec<Format> {
    match (args.png, args.svg) {
        (true, _) => vec![Format::Png],
        (_, true) => vec![Format::Svg],
        _ => vec![Format::Png, Format::Svg],
    }
}

fn style(args: &PlotArgs) -> Result<Style, Failure> {
    let range = args.range.map(|(from, to)| TimeRange { from_ns: from.0, to_ns: to.0 });
    Ok(Style { theme: args.theme, range, scale: args.scale })
}

/// Folder of the pictures: beside the records of a run, otherwise a directory named after the input.
fn folder<'a>(args: &PlotArgs, gate: &'a Gate<'a>) -> Result<PictureFolder<'a>, Failure> {
    PictureFolder::open(gate, &directory(args), existing(args.force))
}

fn directory(args: &PlotArgs) -> PathBuf {
    match (&args.out, args.inputs.as_slice()) {
        (Some(out), _) => out.clone(),
        (None, [dir]) if dir.is_dir() => dir.join(PLOTS),
        (None, inputs) => {
            let name = inputs[0].file_name().map_or("stdin".into(), |name| name.to_string_lossy());
            let name = if name == "-" { "stdin".into() } else { name };
            let stem = name.trim_end_matches(".gz").trim_end_matches(".load").trim_end_matches(".replay");
            PathBuf::from(format!("{stem}.plots"))
        }
    }
}

fn picture(name: &str) -> Result<Picture, Failure> {
    let names = || Picture::all().map(Picture::keyword).collect::<Vec<_>>().join(", ");
    let found = Picture::from_keyword(name);
    found.ok_or_else(|| {
        Failure::refused(anyhow!("--only {name}: there is no such picture; there are {}", names()))
    })
}
