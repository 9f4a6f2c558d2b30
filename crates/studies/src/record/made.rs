//! The records of a recording, made from the segments of its events.

use super::answer::{Answer, Counted};
use crate::new_archive::NewArchive;
use anyhow::Context;
use iosonar_archive::{Archive, EVENTS, Recorded, RecordingCounts, RecordingFacts, RunState, is_whole};
use iosonar_inputs::traces::{Device, from_segments, recorded_at};
use iosonar_runner::Error;
use iosonar_text::shown;
use iosonar_trace::kernel::{RETRIED, Timing};
use iosonar_trace::{Entry, Kind, Pairing, Requests};
use std::path::Path;

/// Maximum number of damaged places reported one by one.
const TOLD: u64 = 20;

/// Converts the segments of a killed recording; `None` if it is complete.
///
/// # Errors
/// The directory is no recording, or its archive cannot be written.
pub fn conclude_cut_off(dir: &Path) -> Result<Option<Answer>, Error> {
    let facts = RecordingFacts::of(dir).map_err(Error::refused)?;
    let archive = Archive::open(dir).map_err(Error::refused)?;
    if is_whole(dir).map_err(Error::refused)? {
        return Ok(None);
    }
    let (plan, mut run) = (archive.plan().clone(), archive.run().clone());
    run.state = match &facts.counts {
        // It had ended; only the archive is missing.
        Some(counts) => RecordingCounts::state(counts),
        None => RunState::Broken("the recorder was killed; everything up to its last second is there".into()),
    };
    make(dir, facts, NewArchive::again(dir, plan, run)?).map(Some)
}

/// Converts the events of a recording to the records of its archive.
pub(super) fn make(dir: &Path, facts: RecordingFacts, mut archive: NewArchive) -> Result<Answer, Error> {
    let mut requests = from_segments(dir, &facts, Timing::Exact, recorded_at(&facts))?;
    let (mut kinds, mut pairings, mut remarks) = ([0u64; Kind::ALL.len()], [0u64; 5], Vec::new());
    let (mut names, mut damaged, mut kept_requests) = (Vec::new(), 0, 0);
    while let Some(entry) = requests.next().with_context(|| shown(dir).to_string()).map_err(Error::broke)? {
        match entry {
            Entry::One(request) => {
                kinds[request.kind as usize] += u64::from(request.pairing != Pairing::NoBegin);
                pairings[request.pairing as usize] += 1;
                if names.len() <= request.device as usize {
                    names = requests.devices();
                }
                let name = &names[request.device as usize];
                let kept = archive.push(&request, Device { number: request.device, name });
                let is_kept = kept.map_err(|error| error.context(format!("cannot write {}", shown(dir))))?;
                kept_requests += u64::from(is_kept);
            }
            Entry::Bad(bad) => {
                damaged += 1;
                if damaged <= TOLD {
                    remarks.push(format!("{}: {bad}", shown(&dir.join(EVENTS))));
                }
            }
        }
    }
    if damaged > TOLD {
        remarks.push(format!("{} more places of the events are damaged", damaged - TOLD));
    }
    let lost = facts.counts.as_ref().map_or(requests.events().lost(), |counts| counts.lost_events);
    let retried = requests.extra_counts().into_iter().find(|(what, _)| what == RETRIED);
    remarks.extend(retried.map(|(what, count)| format!("{count} {what}")));
    let counted = Counted { kinds, pairings, lost };
    archive.recorded(Recorded { requests: kept_requests, damaged, ..recorded(&facts, &counted) });
    remarks.extend(self::remarks(&facts, &counted));
    archive.end(&remarks)?;
    Ok(Answer { dir: dir.to_path_buf(), facts, counted, remarks })
}

/// Statistics of a recording's events, as far as they are known without the records.
fn recorded(facts: &RecordingFacts, counted: &Counted) -> Recorded {
    let [_, _, ambiguous, no_end, no_begin] = counted.pairings;
    let counts = facts.counts.as_ref();
    Recorded {
        events: counts.map_or(0, |counts| counts.events),
        duration_ns: counts.map_or(0, |counts| (counts.seconds * 1e9) as u64),
        removed: counts.map_or(0, |counts| counts.removed_events),
        lost: counted.lost,
        lost_at_most: facts.uses_blktrace(),
        ambiguous,
        no_end,
        no_begin,
        ..Recorded::default()
    }
}

/// Remarks on what is missing from the records, or uncertain.
fn remarks(facts: &RecordingFacts, counted: &Counted) -> Vec<String> {
    let mut remarks = Vec::new();
    if counted.lost > 0 {
        // blktrace also counts merges, plugs and the like, which are not kept.
        let most = if facts.uses_blktrace() { "up to " } else { "" };
        remarks.push(format!(
            "{most}{} events were lost because a ring buffer was full: give more with --buffer; requests are missing, and some have no end",
            counted.lost
        ));
    }
    let others: u64 = Kind::ALL.iter().filter(|k| k.op().is_none()).map(|k| counted.kinds[*k as usize]).sum();
    if others > 0 {
        remarks.push(format!(
            "{others} requests are neither reads, writes nor flushes: they stay in the events, and replays leave them out"
        ));
    }
    let [_, _, ambiguous, no_end, no_begin] = counted.pairings;
    if ambiguous > 0 {
        remarks.push(format!(
            "{ambiguous} ends are ambiguous, because others of the same kind, place and length were in flight; records among them are marked"
        ));
    }
    if no_end + no_begin > 0 {
        remarks.push(format!(
            "{no_end} requests have no completion in the recording and are stored as cancelled; {no_begin} completions have no start and were skipped"
        ));
    }
    for (device, seconds) in facts.counts.iter().flat_map(|counts| &counts.gone) {
        remarks.push(format!("{device} was gone {seconds:.0} s after the start: what followed is not of it"));
    }
    if let Some(counts) = facts.counts.as_ref().filter(|c| c.removed_segments > 0) {
        remarks.push(format!(
            "the oldest {} segments with {} events were removed, because of --max-size",
            counts.removed_segments, counts.removed_events
        ));
    }
    remarks
}
