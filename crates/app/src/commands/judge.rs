//! `iosonar judge` and `iosonar explain`: trustworthiness of the figures of a result, in short and at length.

use super::open;
use crate::args::explain::{ExplainArgs, JudgeArgs};
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::{DetectorId, Judgement, Level, Verdict};
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_judge::DETECTORS;
use iosonar_text::shown;
use std::path::Path;

/// Prints the verdict with one line for each detector.
pub fn judge(args: &JudgeArgs) -> Result<Exit, Failure> {
    let judgement = judgement(&args.dir)?;
    print(&match args.json {
        // It consists of numbers, texts and lists.
        true => format!("{:#}\n", serde_json::to_value(&judgement)?),
        false => iosonar_view::show_judgement(&judgement),
    })?;
    Ok(match judgement.verdict {
        Verdict::Fake => Exit::Fake,
        Verdict::Care if args.strict => Exit::Cautioned,
        _ => Exit::Fine,
    })
}

/// Prints the verdict at length.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let page = args.dir.join("report.html");
    let judgement = judgement(&args.dir)?;
    print(&iosonar_view::explain(&judgement, &about, &page.display().to_string()))?;
    let has_link = judgement.detections.iter().any(|one| one.during.is_some() && one.level >= Level::Info);
    if has_link && !page.exists() {
        print(&format!(
            "\nThe page that the pictures are on is written by: iosonar report {}\n",
            shown(&args.dir)
        ))?;
    }
    Ok(Exit::Fine)
}

fn judgement(dir: &Path) -> Result<Judgement, Failure> {
    let input = Input::of_archive(open(dir)?)?;
    let figures = Figures::of(&input, &SummaryOptions::default())?;
    let nothing = || {
        let why = "another program made it, or it was converted from a trace: nothing is known of the machine while it ran";
        let why = input.unread().unwrap_or_else(|| why.to_string());
        Failure::refused(anyhow!("{}: it cannot be judged: {why}", shown(&dir)))
    };
    figures.summary.judgement.ok_or_else(nothing)
}

/// Why a detector's finding matters.
pub(super) fn about(id: DetectorId) -> &'static str {
    let known = DETECTORS.iter().find(|detector| detector.id == id).map(|detector| detector.about);
    known.unwrap_or(
        "What the claim needs cannot be seen from here, so the figure is neither confirmed nor refuted.",
    )
}
