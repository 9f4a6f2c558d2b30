//! `iosonar plot`: the diagrams of loads, results and runs.

mod comparison;
mod folder;
mod options;

use self::comparison::compare;
use self::folder::folder;
use self::options::{check_range, data_options, file_names, needs, plot_options};
use crate::args::plot::PlotArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::outputs::{PictureFolder, gate_of};
use crate::presentation;
use crate::progress::while_reading;
use crate::ranks;
use iosonar_analyze::Needs;
use iosonar_inputs::{Analysis, Input};
use iosonar_plaintext::MailOptions;
use iosonar_plan::Nanos;
use iosonar_text::shown;
use iosonar_view::{Material, PlotOptions, write_data_files};

/// Draws the pictures; reports their paths.
pub fn plot(args: &PlotArgs) -> Result<Exit, Failure> {
    let options = plot_options(args)?;
    let inputs = Input::open_all(&args.inputs, args.spool.spool_limit)?;
    let Some(inputs) = ranks::counted(inputs, &presentation::options((&args.limits).into(), &args.demand))?
    else {
        return Ok(Exit::Fine);
    };
    let gate = gate_of(&args.inputs);
    if args.compare {
        return compare(args, &inputs, &options, folder(args, &gate)?);
    }
    if args.text {
        return in_text(args, &inputs);
    }
    let folder = folder(args, &gate)?;
    folder.check(file_names(args, &options))?;
    let asked = presentation::options((&args.limits).into(), &args.demand);
    let needs = needs(args, &options.only);
    let analyse = || Analysis::of(&inputs, &asked, needs);
    let analysis = while_reading(&args.progress, &inputs, analyse)?;
    check_range(args, Nanos(analysis.end_ns()))?;
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

/// Draws; returns whether there was anything to draw.
fn draw(
    args: &PlotArgs,
    material: &Material<'_>,
    folder: &PictureFolder<'_>,
    options: &PlotOptions,
) -> Result<bool, Failure> {
    let mut plotted = iosonar_view::plot(material, folder, options)?;
    if args.data {
        let only: Vec<&str> = options.only.iter().map(|picture| picture.stem()).collect();
        plotted.written.extend(write_data_files(material, folder, &only, &data_options(args))?);
    }
    for path in &plotted.written {
        print(&format!("{}\n", shown(&path)))?;
    }
    let reasons = plotted.reasons(&options.only);
    reasons.iter().for_each(|reason| print_message(format_args!("iosonar: {reason}")));
    Ok(!plotted.written.is_empty())
}
