//! `iosonar explain`: what the figures of a result are worth, at length or in short.

use super::open;
use crate::args::explain::ExplainArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use anyhow::anyhow;
use iosonar_analyze::{Judgement, Level, Verdict};
use iosonar_inputs::{Figures, Input, SummaryOptions};
use iosonar_text::shown;

/// Prints the verdict: what was seen, why it matters and the remedy.
pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let judgement = judgement(args)?;
    if args.json {
        // It consists of numbers, texts and lists.
        print(&format!("{:#}\n", serde_json::to_value(&judgement)?))?;
    } else if args.brief {
        print(&iosonar_plaintext::judgement(&judgement))?;
    } else {
        print_at_length(args, &judgement)?;
    }
    Ok(match judgement.verdict {
        Verdict::Fake if args.brief || args.json || args.strict => Exit::Fake,
        Verdict::Care if args.strict => Exit::Cautioned,
        _ => Exit::Fine,
    })
}

fn print_at_length(args: &ExplainArgs, judgement: &Judgement) -> std::io::Result<()> {
    let page = args.dir.join("report.html");
    print(&iosonar_plaintext::explained(judgement, &page.display().to_string()))?;
    let has_link = judgement.detections.iter().any(|one| one.during.is_some() && one.level >= Level::Info);
    if has_link && !page.exists() {
        let dir = shown(&args.dir);
        print(&format!("\nThe page that the pictures are on is written by: iosonar report {dir}\n"))?;
    }
    Ok(())
}

/// The judgement that is kept with the result, or a new one.
fn judgement(args: &ExplainArgs) -> Result<Judgement, Failure> {
    let input = Input::of_archive(open(&args.dir)?)?;
    if let Some(kept) = input.kept_judgement().filter(|_| !args.again) {
        return Ok(kept);
    }
    let figures = Figures::of(&input, &SummaryOptions::default())?;
    let nothing = || {
        let why = "another program made it, or it was converted from a trace: nothing is known of the machine while it ran";
        let why = input.unread().unwrap_or_else(|| why.to_string());
        Failure::refused(anyhow!("{}: it cannot be judged: {why}", shown(&args.dir)))
    };
    figures.summary.judgement.ok_or_else(nothing)
}
