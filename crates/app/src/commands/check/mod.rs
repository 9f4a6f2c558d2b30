//! `iosonar check`: compares a replay with the kernel's recording of it (blkreplay manual, C.1).

mod flushes;

use self::flushes::{FlushCounts, Flushes};
use crate::check_args::CheckArgs;
use crate::exit::{Exit, Failure};
use crate::output::print;
use crate::traces::{Device, Matched, OTHERS, Reading, Trace, matched, open};
use anyhow::anyhow;
use iosonar_archive::Archive;
use iosonar_host::guard::SIGNATURES_THREAD;
use iosonar_plan::{Nanos, Op, SECTOR};
use iosonar_text::shown;
use iosonar_trace::kernel::{RETRIED, Timing};
use iosonar_trace::{Differences, Key, Traced};
use serde_json::json;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Compares both; exits with 5 if they differ.
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let reading = || Ok::<_, Failure>(Reading::of(&args.reading, Timing::None)?.keeping_nameless());
    // A replay names no processes.
    let mut replay = open(std::slice::from_ref(&args.replay), &reading()?.of_all_processes())?;
    let mut recording = open(std::slice::from_ref(&args.recording), &reading()?)?;
    let clock = Clock::of(&args.replay, &args.recording)?;
    let mut wanted = Seen::of(&mut replay, None, &[])?;
    let mut seen = Seen::of(&mut recording, clock.span(), &[SIGNATURES_THREAD])?;
    if wanted.keys.is_empty() && seen.keys.is_empty() {
        return Err(Failure::refused(anyhow!(
            "{} and {} hold no read or write that could be compared",
            replay.name,
            recording.name
        )));
    }
    let names = replay.names.clone().and(&recording.names);
    let (devices, note) = match matched(&wanted.devices, &seen.devices, &names) {
        Ok(Matched::AsOne(why)) => {
            wanted.renumber(|_| 0);
            seen.renumber(|_| 0);
            (Vec::new(), why)
        }
        Ok(Matched::ByName { first, second, names }) => {
            wanted.renumber(|device| first[device]);
            seen.renumber(|device| second[device]);
            (names, None)
        }
        Err(error) => return Err(Failure::refused(error)),
    };
    let damaged = wanted.bad + seen.bad;
    let aside = Aside::of(args, &recording, &seen);
    let found = Differences::between(wanted.keys, seen.keys);
    let has_seen_the_run = recording.at.is_some() && clock != Clock::Later;
    let flushes = Flushes::of(&args.replay, wanted.flushes, has_seen_the_run, seen.flushes);
    let notes = note.into_iter().chain(clock.note()).chain(aside.notes()).chain(flushes.note()).collect();
    let beside = Beside { aside, devices, notes, clock: clock.word(), flushes };
    let text = if args.json {
        as_json(&found, &beside)
    } else {
        as_text(args, &replay, &recording, &found, &beside)
    };
    print(&text)?;
    Ok(match found.are_none() && beside.flushes.are_alike() {
        true if args.reading.strict && damaged > 0 => Exit::Cautioned,
        true => Exit::Fine,
        false => Exit::Miscompared,
    })
}

/// Recorded requests and events that are not compared.
struct Aside {
    /// Events that the recording lost.
    lost: u64,
    /// Requests that were recorded before and after the run.
    outside: u64,
    /// Reads of this tool that look for signatures.
    own: u64,
    /// Requests that the kernel issued again.
    retried: u64,
    /// Processes that were chosen, and how many requests of others were skipped.
    chosen: Vec<String>,
    others: u64,
}

impl Aside {
    fn of(args: &CheckArgs, recording: &Trace, seen: &Seen) -> Aside {
        let besides = recording.requests.besides();
        let count =
            |is: &dyn Fn(&str) -> bool| besides.iter().filter(|(what, _)| is(what)).map(|(_, n)| n).sum();
        Aside {
            lost: count(&|what| what.starts_with("lost")),
            outside: seen.outside,
            own: seen.own,
            retried: count(&|what| what == RETRIED),
            chosen: args.reading.process.clone(),
            others: count(&|what| what == OTHERS),
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.retried > 0 {
            notes.push(format!("of the recording {} {RETRIED}", self.retried));
        }
        if self.own > 0 {
            notes.push(format!(
                "{} reads of this tool, which looks for signatures before it writes, are ignored (thread '{SIGNATURES_THREAD}')",
                self.own
            ));
        }
        if !self.chosen.is_empty() {
            notes.push(format!(
                "--process {} applies to the recording only, because a replay names no processes: {} of its requests are ignored",
                self.chosen.join(" --process "),
                self.others
            ));
        }
        if self.lost > 0 {
            notes.push(format!(
                "the recording lost {} events: what is missing may have been among them",
                self.lost
            ));
        }
        notes
    }
}

/// Remarks beside the comparison.
struct Beside {
    aside: Aside,
    /// Names of the devices, by number; empty where all are treated as one.
    devices: Vec<String>,
    /// Remarks for the reader, as sentences.
    notes: Vec<String>,
    /// How the clocks of both compare.
    clock: Option<&'static str>,
    flushes: Flushes,
}

impl Beside {
    fn device(&self, key: &Key) -> Option<&str> {
        self.devices.get(usize::from(key.device)).map(String::as_str)
    }
}

/// From the time zero of a run to its end, on the clock of a recording.
type Span = (Nanos, Nanos);

/// Whether the times of a run and of a recording can be compared. Requests before a run are not part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Clock {
    /// One of them has no times of a clock that both could share.
    Apart,
    /// Both are of one boot of one machine.
    Same(Span),
    /// Both are of one boot, and the recording had ended before the run started. It has not seen the run: it is taken for its load.
    Later,
    /// They are of different boots or machines.
    Different,
    /// One of them is of a version that did not record the boot.
    Untold(Span),
}

impl Clock {
    fn of(replay: &Path, recording: &Path) -> Result<Clock, Failure> {
        let (Ok(ran), Ok(seen)) = (Archive::open(replay), Archive::open(recording)) else {
            return Ok(Clock::Apart);
        };
        let origin = |archive: &Archive| Some(archive.run().origin_monotonic_ns).filter(|ns| *ns > 0);
        let (Some(from), Some(zero)) = (origin(&ran), origin(&seen)) else { return Ok(Clock::Apart) };
        let boot = |archive: &Archive| archive.environment().clock.boot_id.known().cloned();
        let boots = (boot(&ran), boot(&seen));
        if matches!(&boots, (Some(one), Some(other)) if one != other) {
            return Ok(Clock::Different);
        }
        let Some(begin) = from.checked_sub(zero) else { return Ok(Clock::Apart) };
        let mut end = Nanos(0);
        ran.for_each_record(&mut |record| end = end.max(record.completed.unwrap_or_default()))
            .map_err(Failure::refused)?;
        let span = (Nanos(begin), Nanos(begin.saturating_add(end.0)));
        let has_one_boot = boots.0.is_some() && boots.1.is_some();
        let ended = seen.run().recorded.map(|recorded| recorded.duration_ns).filter(|ns| *ns > 0);
        Ok(match has_one_boot {
            true if ended.is_some_and(|ended| ended < begin) => Clock::Later,
            true => Clock::Same(span),
            false => Clock::Untold(span),
        })
    }

    fn span(&self) -> Option<Span> {
        match self {
            Clock::Same(span) | Clock::Untold(span) => Some(*span),
            Clock::Apart | Clock::Later | Clock::Different => None,
        }
    }

    fn word(&self) -> Option<&'static str> {
        match self {
            Clock::Apart => None,
            Clock::Same(_) | Clock::Later => Some("same"),
            Clock::Different => Some("different"),
            Clock::Untold(_) => Some("unknown"),
        }
    }

    fn note(&self) -> Option<String> {
        match self {
            Clock::Apart | Clock::Same(_) => None,
            Clock::Later => Some(
                "the recording had ended before the run began: it is taken for the load of the replay, and all of it is compared"
                    .into(),
            ),
            Clock::Different => Some(
                "they are of different starts of a machine, or of two machines: their times cannot be compared, and all that \
                 was recorded counts"
                    .into(),
            ),
            Clock::Untold(_) => Some(
                "whether they are of one start of one machine is not known (an earlier version wrote one of them): it is taken \
                 for granted, and only what was recorded during the run counts"
                    .into(),
            ),
        }
    }
}

/// The reads and writes of a trace.
struct Seen {
    keys: Vec<Key>,
    /// Names of the devices, which the keys contain as numbers.
    devices: Vec<String>,
    /// Number of damaged entries.
    bad: u64,
    /// Reads and writes outside of the span.
    outside: u64,
    /// Reads of the excluded threads.
    own: u64,
    flushes: FlushCounts,
}

impl Seen {
    /// Collects requests within the span, without the reads of `own` threads.
    fn of(trace: &mut Trace, span: Option<Span>, own: &[&str]) -> Result<Seen, Failure> {
        let (mut keys, mut devices, mut outside, mut own_reads) = (Vec::new(), Devices::default(), 0, 0);
        let is_own = |request: &Traced| !own.is_empty() && own.contains(&&*request.process.name());
        let is_inside = |time: Nanos| span.is_none_or(|(from, to)| (from..=to).contains(&time));
        let mut flushes = FlushCounts::default();
        let bad = trace.each(|request, device| {
            if is_inside(request.time) && flushes.add(request) {
                return Ok(());
            }
            match request.kind.op() {
                Some(_) if !is_inside(request.time) => outside += 1,
                Some(Op::Read) if is_own(request) => own_reads += 1,
                Some(op) => {
                    keys.push(Key::new(op, request.extent).on(devices.number(device)));
                }
                None => {}
            }
            Ok(())
        })?;
        Ok(Seen { keys, devices: devices.names, bad, outside, own: own_reads, flushes })
    }

    fn renumber(&mut self, number: impl Fn(usize) -> u16) {
        self.keys.iter_mut().for_each(|key| key.device = number(key.device.into()));
    }
}

/// Devices that have reads or writes, numbered in the order of appearance.
#[derive(Default)]
struct Devices {
    /// Keyed by the trace's own number.
    numbers: HashMap<u32, u16>,
    names: Vec<String>,
}

impl Devices {
    /// Returns the number of a device. A joined trace may have more names than numbers: the excess ones share the last number.
    fn number(&mut self, device: Device<'_>) -> u16 {
        *self.numbers.entry(device.number).or_insert_with(|| {
            if self.names.len() < usize::from(u16::MAX) {
                self.names.push(device.name.to_string());
            }
            (self.names.len() - 1) as u16
        })
    }
}

fn as_json(found: &Differences, beside: &Beside) -> String {
    let one = |key: &Key| {
        let (sector, sectors) = (key.offset / SECTOR, key.length() / SECTOR);
        let mut one = json!({"sector": sector, "sectors": sectors, "op": key.op().name()});
        if let Some(device) = beside.device(key) {
            one["device"] = device.into();
        }
        one
    };
    let list = |keys: &[Key]| -> Vec<serde_json::Value> { keys.iter().map(one).collect() };
    let value = json!({
        "same": found.same,
        "split": {"requests": found.split.0, "parts": found.split.1},
        "joined": {"requests": found.joined.0, "into": found.joined.1},
        "missing": list(&found.missing),
        "added": list(&found.added),
        "flushes": beside.flushes.json(),
        "lost_events": beside.aside.lost,
        "outside": beside.aside.outside,
        "own_reads": beside.aside.own,
        "retried": beside.aside.retried,
        "other_processes": beside.aside.others,
        "clock": beside.clock,
        "notes": beside.notes,
    });
    format!("{value:#}\n")
}

fn as_text(
    args: &CheckArgs,
    replay: &Trace,
    recording: &Trace,
    found: &Differences,
    beside: &Beside,
) -> String {
    let mut text = format!(
        "{} ({}) against {} ({})\n",
        shown(&replay.name),
        shown(&replay.format),
        shown(&recording.name),
        shown(&recording.format)
    );
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
            let device =
                beside.device(key).map(|device| format!(" of {}", shown(device))).unwrap_or_default();
            let _ = writeln!(text, "             {} at sector {sector}, {sectors} sectors{device}", key.op());
        }
        if keys.len() > args.list {
            let _ = writeln!(text, "             and {} more: --list shows more", keys.len() - args.list);
        }
    }
    text += &beside.flushes.text();
    let outside = beside.aside.outside;
    if outside > 0 {
        let _ = writeln!(text, "  outside    {outside} requests before and after the run");
    }
    for note in &beside.notes {
        let _ = writeln!(text, "  note       {}", shown(note));
    }
    text += &beside.flushes.difference();
    let verdict = match (found.are_none() && beside.flushes.are_alike(), beside.flushes.are_any()) {
        (true, false) => "every request was issued, and nothing else",
        (true, true) => "every read and write was issued, and nothing else; flushes agree in their number",
        (false, _) => "they differ",
    };
    let _ = writeln!(text, "  {verdict}");
    text
}
