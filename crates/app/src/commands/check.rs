//! `iosonar check`: whether what was replayed is what the kernel saw (blkreplay manual, C.1).

use crate::check_args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::traces::{BadTold, Reading, Trace, open};
use anyhow::Context;
use iosonar_plan::SECTOR;
use iosonar_trace::kernel::Timing;
use iosonar_trace::{Differences, Entry, Key};
use serde_json::json;
use std::fmt::Write;

/// Compares; 5 if they differ.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let reading = Reading::of(&args.reading, Timing::None)?;
    let mut replay = open(std::slice::from_ref(&args.replay), &reading)?;
    let mut recording = open(std::slice::from_ref(&args.recording), &reading)?;
    let (wanted, bad) = keys(&mut replay)?;
    let (seen, bad_too) = keys(&mut recording)?;
    let found = Differences::between(wanted, seen);
    let lost: u64 = recording
        .requests
        .besides()
        .iter()
        .filter(|(what, _)| what.starts_with("lost"))
        .map(|(_, n)| n)
        .sum();
    let text =
        if args.json { as_json(&found, lost) } else { as_text(args, &replay, &recording, &found, lost) };
    print(&text)?;
    Ok(match found.are_none() {
        true if args.reading.strict && bad + bad_too > 0 => Exit::Cautioned,
        true => Exit::Fine,
        false => Exit::Miscompared,
    })
}

/// The reads and writes of a trace, in whole sectors.
fn keys(trace: &mut Trace) -> Result<(Vec<Key>, u64), Failure> {
    let (mut keys, mut bad) = (Vec::new(), BadTold::default());
    loop {
        let entry = trace.requests.next();
        match entry.with_context(|| trace.name.clone()).map_err(Failure::refused)? {
            Some(Entry::One(request)) => {
                keys.extend(request.kind.op().map(|op| Key::new(op, request.extent)))
            }
            Some(Entry::Bad(found)) => bad.tell(&trace.name, &found),
            None => break,
        }
    }
    bad.end(&trace.name);
    Ok((keys, bad.count))
}

fn as_json(found: &Differences, lost: u64) -> String {
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
        "lost_events": lost,
    });
    format!("{value:#}\n")
}

fn as_text(args: &CheckArgs, replay: &Trace, recording: &Trace, found: &Differences, lost: u64) -> String {
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
