//! Pictures of two runs side by side (`--compare`).

use crate::args::plot::PlotArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::outputs::PictureFolder;
use crate::presentation;
use crate::session::command_line;
use anyhow::anyhow;
use iosonar_analyze::Needs;
use iosonar_inputs::{Analysis, Input, comparisons};
use iosonar_text::shown;
use iosonar_view::{CompareMaterial, PlotOptions, compare_subject, plot_compare};

/// Draws both inputs in each picture; reports the paths of the pictures.
pub fn compare(
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
    let subject = compare_subject(&run_a.summary, &run_b.summary, &command_line());
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
