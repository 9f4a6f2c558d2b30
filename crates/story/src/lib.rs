//! The story of a run: events, their causes, the worth of its figures, and a remedy.
//!
//! Requests that took longer than normal are found by their due time (`episodes.rs`), for each target within each phase apart
//! (`parts.rs`): they have different normal responses. Each such time gets one cause, from the
//! evidence that covers it (`causes.rs`): causes outside of the target are tried first, so that a target is never blamed for a time
//! in which this program did not run or others used its disk. A cause counts by the request-seconds that it has lost. The headline states
//! the first of: data errors, failed requests, a fake result, nothing measured, too few requests, lost time, all well
//! (`headline.rs`).
//!
//! An event may look like a shape of the gallery, which is a guess (`shapes.rs`).
//!
//! A comparison has a story, too (`comparison/`): what differs, and what differed in the machine in that time (`circumstances.rs`). So have
//! the answers of studies (`knee/`, `matrix/`, `creation/`), and loads (`load/`).
//!
//! To add a cause: a variant of [`Cause`](iosonar_analyze::Cause) at its place in the order, its test in `causes.rs`, its sentence in
//! `events.rs`, its headline in `headline/disturbed.rs`, its shape in `shapes.rs`, and a planted result in `tests/`.

mod blame;
mod causes;
mod circumstances;
mod command;
mod comparison;
mod contrast;
mod creation;
mod episodes;
mod events;
mod headline;
mod hosts;
mod knee;
mod load;
mod matrix;
mod names;
mod part_stories;
mod parts;
mod shapes;
mod simulated;
mod statement;
#[cfg(test)]
mod tests;
mod words;
mod workload;

pub use circumstances::{Circumstances, machine_windows};
pub use comparison::comparison_story;
pub use creation::creation_story;
pub use hosts::with_hosts;
pub use knee::{KneeFacts, knee_story};
pub use load::load_story;
pub use matrix::{MatrixFacts, matrix_story};

use causes::Evidence;
use events::Events;
use headline::Headline;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{Story, Summary, Tally};
use iosonar_archive::RunInfo;
use iosonar_judge::Case;
use iosonar_plan::Plan;

/// A result, and what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Facts<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// State of the run.
    pub run: &'a RunInfo,
    /// The summary, complete but for its story.
    pub summary: &'a Summary,
    /// Counts and distributions of its records.
    pub tally: &'a Tally,
    /// The evidence of the machine; `None` if it is not known, as for results of other programs.
    pub case: Option<&'a Case<'a>>,
    /// Latencies of a sample of its requests by the extents of their files; `None` without maps of them.
    pub extents: Option<&'a ExtentLatencies>,
}

/// The story of a result.
pub fn story(facts: &Facts<'_>) -> Story {
    let evidence = Evidence::of(facts);
    let parts = parts::parts(facts);
    let events = Events::of(facts, &parts, &evidence);
    let contrast = contrast::contrast(facts);
    let Headline { text, because, remedy } = headline::headline(facts, &events, contrast.as_ref());
    let judgement = facts.summary.judgement.as_ref();
    Story {
        headline: words::fitted(text),
        because: because.into_iter().take(2).collect(),
        worth: judgement.map(|judgement| judgement.sentence.clone()),
        remedy,
        normal: events.normal,
        shares: events.shares(),
        lost_request_seconds: events.lost_ns / 1e9,
        contrast,
        parts: part_stories::part_stories(facts, &events),
        blame: blame::blame(facts, &evidence),
        events: events.list,
    }
}
