//! `iosonar check`: whether what was replayed is what the kernel saw (blkreplay manual, C.1).

use crate::check_args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::traces::{Reading, Trace, open};
use anyhow::anyhow;
use iosonar_archive::Archive;
use iosonar_plan::{Nanos, SECTOR};
use iosonar_trace::kernel::Timing;
use iosonar_trace::{Differences, Key};
use serde_json::json;
use std::fmt::Write;
use std::path::Path;

/// Compares; 5 if they differ.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let reading = Reading::of(&args.reading, Timing::None)?;
    let mut replay = open(std::slice::from_ref(&args.replay), &reading)?;
    let mut recording = open(std::slice::from_ref(&args.recording), &reading)?;
    let span = span(&args.replay, &args.recording)?;
    let (wanted, bad, _) = keys(&mut replay, None)?;
    let (seen, bad_too, outside) = keys(&mut recording, span)?;
    if wanted.is_empty() && seen.is_empty() {
        return Err(Failure::refused(anyhow!(
            "{} and {} hold no read or write that could be compared",
            replay.name,
            recording.name
        )));
    }
    let found = Differences::between(wanted, seen);
    let lost: u64 = recording
        .requests
        .besides()
        .iter()
        .filter(|(what, _)| what.starts_with("lost"))
        .map(|(_, n)| n)
        .sum();
    let beside = Beside { lost, outside };
    let text =
        if args.json { as_json(&found, beside) } else { as_text(args, &replay, &recording, &found, beside) };
    print(&text)?;
    Ok(match found.are_none() {
        true if args.reading.strict && bad + bad_too > 0 => Exit::Cautioned,
        true => Exit::Fine,
        false => Exit::Miscompared,
    })
}

/// What is told beside the comparison.
#[derive(Clone, Copy)]
struct Beside {
    /// Events that the recording lost.
    lost: u64,
    /// Requests that were recorded before and behind the run.
    outside: u64,
}

/// From the time zero of a run to its end, on the clock of a recording: of archives that were made on the same machine
/// since it was started. What looks at a device before a run is none of it.
fn span(replay: &Path, recording: &Path) -> Result<Option<(Nanos, Nanos)>, Failure> {
    let (Ok(ran), Ok(seen)) = (Archive::open(replay), Archive::open(recording)) else { return Ok(None) };
    let origin = |archive: &Archive| Some(archive.run().origin_monotonic_ns).filter(|ns| *ns > 0);
    let (Some(from), Some(zero)) = (origin(&ran), origin(&seen)) else { return Ok(None) };
    let Some(begin) = from.checked_sub(zero) else { return Ok(None) };
    let mut end = Nanos(0);
    ran.for_each_record(&mut |record| end = end.max(record.completed.unwrap_or_default()))
        .map_err(Failure::refused)?;
    Ok(Some((Nanos(begin), Nanos(begin.saturating_add(end.0)))))
}

/// The reads and writes of a trace within a span, what was bad, and how many lay outside.
fn keys(trace: &mut Trace, span: Option<(Nanos, Nanos)>) -> Result<(Vec<Key>, u64, u64), Failure> {
    let (mut keys, mut outside) = (Vec::new(), 0);
    let is_inside = |time: Nanos| span.is_none_or(|(from, to)| (from..=to).contains(&time));
    let bad = trace.each(|request, _| {
        match request.kind.op() {
            Some(op) if is_inside(request.time) => keys.push(Key::new(op, request.extent)),
            Some(_) => outside += 1,
            None => {}
        }
        Ok(())
    })?;
    Ok((keys, bad, outside))
}

fn as_json(found: &Differences, beside: Beside) -> String {
    let list = |keys: &[Key]| -> Vec<serde_json::Value> {
        let one = |k: &Key| json!({"sector": k.offset / SECTOR, "sectors": k.length() / SECTOR, "op": k.op().name()});
        keys.iter().map(one).collect()
    };
    let value = json!({
        "same": found.same,
        "split": {"requests": found.split.0, "parts": found.split.1},
        "joined": {"requests": found.joined.0, "into": found.joined.1},
        "missing": list(&found.missing),
        "added": list(&found.added),
        "lost_events": beside.lost,
        "outside": beside.outside,
    });
    format!("{value:#}\n")
}

fn as_text(
    args: &CheckArgs,
    replay: &Trace,
    recording: &Trace,
    found: &Differences,
    beside: Beside,
) -> String {
    let mut text =
        format!("{} ({}) against {} ({})\n", replay.name, replay.format, recording.name, recording.format);
    let _ = writeln!(text, "  in both    {} requests", found.same);
    if found.split.0 > 0 {
        let _ = writeln!(text, "  split      {} requests into {}", found.split.0, found.split.1);
    }
    if found.joined.0 > 0 {
        let _ = writeln!(text, "  joined     {} requests into {}", found.joined.0, found.joined.1);
    }
    for (name, keys) in [("missing", &found.missing), ("added", &found.added)] {
        let _ = writeln!(text, "  {name:<10} {} requests", keys.len());
        for key in keys.iter().take(args.list) {
            let (sector, sectors) = (key.offset / SECTOR, key.length() / SECTOR);
            let _ = writeln!(text, "             {} at sector {sector}, {sectors} sectors", key.op());
        }
        if keys.len() > args.list {
            let _ = writeln!(text, "             and {} more: --list tells more", keys.len() - args.list);
        }
    }
    let Beside { lost, outside } = beside;
    if outside > 0 {
        let _ = writeln!(text, "  outside    {outside} requests before and behind the run");
    }
    if lost > 0 {
        let _ = writeln!(
            text,
            "  note       the recording lost {lost} events: what is missing may have been among them"
        );
    }
    let verdict = if found.are_none() { "every request was issued, and nothing else" } else { "they differ" };
    let _ = writeln!(text, "  {verdict}");
    text
}
