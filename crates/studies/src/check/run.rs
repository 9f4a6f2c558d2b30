//! Compares the sets of requests; times and order do not matter.

use super::answer::{Answer, Side};
use super::aside::NotCompared;
use super::clock::Clock;
use super::flushes::Flushes;
use super::question::Question;
use super::seen::TracedRequests;
use iosonar_host::guard::SIGNATURES_THREAD;
use iosonar_inputs::traces::{Matched, Reading, RecordOrder, Trace, matched, open};
use iosonar_runner::{Error, Session};
use iosonar_trace::Differences;
use std::slice::from_ref;

/// Compares a replay with the kernel's recording of it (blkreplay manual, C.1).
///
/// # Errors
/// One of them cannot be read, holds nothing to compare, or their devices cannot be matched.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let reading = Reading { keeps_nameless: true, ..question.reading.clone() };
    // A replay names no processes.
    let of_all = Reading { processes: Vec::new(), ..reading.clone() };
    let mut replay = open(from_ref(&question.replay), &of_all, RecordOrder::Stored)?;
    let mut recording = open(from_ref(&question.recording), &reading, RecordOrder::Stored)?;
    let clock = Clock::of(&question.replay, &question.recording)?;
    let mut wanted = TracedRequests::of(session, &mut replay, None, &[])?;
    let mut seen = TracedRequests::of(session, &mut recording, clock.span(), &[SIGNATURES_THREAD])?;
    if wanted.keys.is_empty() && seen.keys.is_empty() {
        return Err(Error::refused_because(format_args!(
            "{} and {} hold no read or write that could be compared",
            replay.name, recording.name
        )));
    }
    let (devices, note) = matched_devices(&replay, &recording, &mut wanted, &mut seen)?;
    let aside = NotCompared::of(&question.reading.processes, &recording, &seen);
    let has_seen_the_run = recording.at.is_some() && clock != Clock::Later;
    let flushes = Flushes::of(&question.replay, wanted.flushes, has_seen_the_run, seen.flushes);
    let notes = note.into_iter().chain(clock.note()).chain(aside.notes()).chain(flushes.note()).collect();
    let side = |trace: Trace| Side { name: trace.name, format: trace.format };
    Ok(Answer {
        replay: side(replay),
        recording: side(recording),
        damaged: wanted.bad + seen.bad,
        found: Differences::between(wanted.keys, seen.keys),
        aside,
        devices,
        notes,
        clock: clock.word(),
        flushes,
    })
}

/// Gives the devices of both traces common numbers; returns their names, and a remark if that may surprise.
fn matched_devices(
    replay: &Trace,
    recording: &Trace,
    wanted: &mut TracedRequests,
    seen: &mut TracedRequests,
) -> Result<(Vec<String>, Option<String>), Error> {
    let names = replay.names.clone().and(&recording.names);
    Ok(match matched(&wanted.devices, &seen.devices, &names)? {
        Matched::AsOne(why) => {
            wanted.renumber(|_| 0);
            seen.renumber(|_| 0);
            (Vec::new(), why)
        }
        Matched::ByName { first, second, names } => {
            wanted.renumber(|device| first[device]);
            seen.renumber(|device| second[device]);
            (names, None)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_runner::{ErrorKind, Silent};
    use iosonar_trace::kernel::Timing;
    use std::path::PathBuf;
    use std::sync::Arc;

    fn compared(replay: &str, recording: &str) -> Result<Answer, Error> {
        let dir = tempfile::tempdir().unwrap();
        let load = |name: &str, requests: &str| -> PathBuf {
            let path = dir.path().join(name);
            std::fs::write(&path, format!("{}\n{requests}", iosonar_trace::blkreplay::LOAD_HEADER)).unwrap();
            path
        };
        let question = Question {
            replay: load("replay.load", replay),
            recording: load("recording.load", recording),
            reading: Reading { timing: Timing::None, ..Reading::default() },
        };
        run(&Session::new(Arc::new(Silent)), &question)
    }

    #[test]
    fn ignores_times_and_order() {
        let answer =
            compared("0.0 ; 8 ; 8 ; R\n1.0 ; 64 ; 8 ; W\n", "0.5 ; 64 ; 8 ; W\n0.7 ; 8 ; 8 ; R\n").unwrap();
        assert!(answer.are_same(), "{}", answer.text(5));
    }

    #[test]
    fn lists_requests_found_on_one_side_only() {
        let answer =
            compared("0.0 ; 8 ; 8 ; R\n1.0 ; 64 ; 8 ; W\n", "0.0 ; 8 ; 8 ; R\n1.0 ; 128 ; 8 ; W\n").unwrap();
        assert!(!answer.are_same());
        let json = answer.to_json();
        assert_eq!((&json["missing"][0]["sector"], &json["added"][0]["sector"]), (&64.into(), &128.into()));
    }

    #[test]
    fn refuses_traces_without_requests() {
        assert_eq!(compared("", "").err().unwrap().kind(), ErrorKind::Refused);
    }
}
