//! `iosonar report`: one self-contained page.

use super::{headline, open};
use crate::analysis::{Analysis, Run};
use crate::analyze_args::DemandArgs;
use crate::args::ReportArgs;
use crate::exit::{Exit, Failure};
use crate::inputs::Input;
use crate::output::print;
use crate::progress::while_reading;
use anyhow::Context;
use iosonar_view::report::{Report, page};
use iosonar_view::{Needs, TextOptions};

/// Writes the page; says where it is.
pub fn report(args: ReportArgs) -> Result<Exit, Failure> {
    if args.text {
        let inputs = [Input::open(&args.dir)?];
        let limits = (&args.limits).into();
        let analyse = || Analysis::of(&inputs, &limits, &DemandArgs::default(), Needs::EVERYTHING);
        let analysis = while_reading(&args.progress, &inputs, analyse)?;
        print(&analysis.to_mail(TextOptions::default()))?;
        return Ok(Exit::Fine);
    }
    let archive = open(&args.dir)?;
    let out = args.out.clone().unwrap_or_else(|| args.dir.join("report.html"));
    let (plan, headline) = (archive.plan().to_toml(), headline(&archive));
    let environment = archive.environment();
    let environment = (!environment.is_null()).then(|| format!("{environment:#}"));
    let (inputs, limits) = ([Input::of_archive(archive)?], (&args.limits).into());
    let run = while_reading(&args.progress, &inputs, || Run::read(&inputs[0], &limits))?;
    let html = page(&Report {
        summary: &run.summary,
        diagrams: &run.diagrams,
        plan_toml: &plan,
        environment_json: environment.as_deref(),
        headline: &headline,
    });
    std::fs::write(&out, html).with_context(|| format!("cannot write {}", out.display()))?;
    print(&format!("{}\n", out.display()))?;
    Ok(Exit::Fine)
}
