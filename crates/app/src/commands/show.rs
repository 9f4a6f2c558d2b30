//! `iosonar show`: the summary of a run.

use super::open;
use crate::args::show::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::output::{print, print_message};
use crate::ranks;
use anyhow::anyhow;
use iosonar_archive::Archive;
use iosonar_inputs::{AnalysisOptions, Figures, Input, RunAnalysis, Study, SummaryOptions, deskew};
use iosonar_runner::conclude_late;
use iosonar_studies::answers;
use iosonar_text::shown;

/// Prints the story, computed again from the records; with `--all` the summary and the findings, too.
pub fn show(args: ShowArgs) -> Result<Exit, Failure> {
    if !ranks::prints() && !Archive::open(&args.dir).is_ok_and(|archive| is_shared(&args, &archive)) {
        // The first rank does it alone.
        return Ok(Exit::Fine);
    }
    if let Some(study) = Study::of(&args.dir) {
        if args.markdown {
            let command = study.kind.command();
            return Err(Failure::refused(anyhow!(
                "--markdown is not available for the answer of '{command}': name one of its runs"
            )));
        }
        print(&if args.json { answers::json(&study)? } else { answers::text(&study)? })?;
        return Ok(Exit::Fine);
    }
    let archive = open(&args.dir)?;
    if args.show_plan {
        print(&archive.plan().to_toml())?;
        return Ok(Exit::Fine);
    }
    let is_shared = is_shared(&args, &archive);
    let archive = if archive.awaits_conversion() { finished(archive)? } else { archive };
    let skew = args.deskew.then(|| deskew(&archive)).transpose()?;
    let options = SummaryOptions { limits: (&args.limits).into(), percentiles: args.percentile_list.clone() };
    let inputs = vec![Input::of_archive(archive)?];
    let asked = AnalysisOptions { limits: options.limits, ..AnalysisOptions::default() };
    let inputs = if is_shared { ranks::counted(inputs, &asked)? } else { Some(inputs) };
    let Some(input) = inputs.into_iter().flatten().next() else { return Ok(Exit::Fine) };
    let is_short = !args.all && skew.is_none() && args.percentile_list.is_empty();
    let text = if args.json {
        Figures::of(&input, &options)?.summary.to_json()
    } else if args.markdown {
        let page = args.dir.join("report.html");
        let page = page.is_file().then(|| page.display().to_string());
        iosonar_plaintext::markdown(&Figures::of(&input, &options)?.summary, page.as_deref())
    } else if is_short {
        iosonar_plaintext::story(&Figures::of(&input, &options)?.summary)
    } else {
        let run = RunAnalysis::read(&input, &options).map_err(Failure::refused)?;
        let skew = skew.map_or(String::new(), |skew| iosonar_plaintext::deskew(&skew));
        let events = run.summary.story.as_ref().map_or(String::new(), iosonar_plaintext::story_events);
        iosonar_plaintext::story(&run.summary)
            + &events
            + "\n"
            + &iosonar_plaintext::summary(&run.summary)
            + &skew
            + &iosonar_plaintext::findings(&run.findings)
    };
    print(&text)?;
    input.remarks().iter().for_each(|remark| print_message(format_args!("iosonar: {remark}")));
    Ok(Exit::Fine)
}

/// Whether all ranks count the records of a run.
fn is_shared(args: &ShowArgs, archive: &Archive) -> bool {
    !args.show_plan && !args.deskew && !archive.awaits_conversion()
}

/// Completes a result that a full disk left incomplete; if still impossible, the records are read from their log.
fn finished(archive: Archive) -> Result<Archive, Failure> {
    match conclude_late(&archive) {
        Ok(archive) => {
            print_message(format_args!("iosonar: {}: the result is converted now", shown(&archive.dir())));
            Ok(archive)
        }
        Err(error) => {
            print_message(format_args!(
                "iosonar: the result is not converted: {}",
                Failure::broke(error).text()
            ));
            Ok(Archive::open(archive.dir())?)
        }
    }
}
