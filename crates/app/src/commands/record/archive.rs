//! The archive of a recording: started before the first event, completed from its segments.

use super::Recorded;
use crate::exit::Failure;
use crate::record_args::{InterfaceArg, RecordArgs, WatchArg};
use crate::session::command_line;
use crate::traces::{Device, NewArchive, TOGETHER_IN_FILE};
use anyhow::{Context, anyhow};
use iosonar_archive::{Archive, ArchiveWriter, RunInfo, RunState, TOOL, TargetInfo, is_whole};
use iosonar_capture::segment_files;
use iosonar_dialect_blkreplay::recording;
use iosonar_host::{BlockDevice, Root, TargetFacts, environment};
use iosonar_os::bounded::{TEXT_LIMIT, read_text};
use iosonar_os::create::{new_dir, write_whole};
use iosonar_plan::{Nanos, Plan};
use iosonar_text::shown;
use iosonar_trace::kernel::segment::Segments;
use iosonar_trace::kernel::{At, Paired, RETRIED, Timing};
use iosonar_trace::{Entry, Kind, Pairing, Requests};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Directory of the events.
pub use iosonar_archive::EVENTS;
/// The word for blktrace's interface.
const BLKTRACE: &str = "blktrace";
/// Facts about the recording.
const FACTS: &str = iosonar_archive::RECORDING_FACTS;
/// Maximum number of damaged places reported one by one.
const TOLD: u64 = 20;

/// Facts about a recording, apart from its requests.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Facts {
    /// Which event counts: `queue` or `issue`.
    at: String,
    /// The kernel's interface: `tracepoints` or `blktrace`; empty in older recordings, which are of tracepoints.
    #[serde(default)]
    interface: String,
    /// `CLOCK_MONOTONIC` at its start, nanoseconds: the clock of the events.
    origin_monotonic_ns: u64,
    /// Devices by the kernel's numbers, with their paths.
    devices: Vec<(String, String)>,
    /// Counts; absent while it is running, and after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counts: Option<Counts>,
}

/// Counts of a recording.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Counts {
    seconds: f64,
    events: u64,
    lost_events: u64,
    damaged_pages: u64,
    bytes: u64,
    removed_segments: u64,
    removed_events: u64,
    /// CPU time of the recorder, and per event.
    cpu_seconds: f64,
    cpu_ns_per_event: f64,
    /// Why it ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broken: Option<String>,
    /// Devices that disappeared while they were recorded, and seconds since the start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<(String, f64)>,
}

/// A recording whose archive was started.
pub struct Begun {
    dir: PathBuf,
    /// Directory of the segments.
    pub events: PathBuf,
    facts: Facts,
    plan: Plan,
    run: RunInfo,
    writer: ArchiveWriter,
}

impl Begun {
    /// Creates the directory.
    pub fn create(
        dir: &Path,
        facts: &[TargetFacts],
        devices: &[(TargetFacts, BlockDevice)],
        args: &RecordArgs,
    ) -> Result<Begun, Failure> {
        let (mut plan, mut run) = recording("recording", 0);
        let of = |(_, device): &(TargetFacts, BlockDevice)| TargetInfo {
            path: device.dev_path().display().to_string(),
            size: device.size,
            ..run.targets[0].clone()
        };
        run.targets = devices.iter().map(of).collect();
        plan.on_each(run.targets.iter().map(|info| info.path.as_str().into()));
        plan.run_id = iosonar_runner::new_run_id();
        run.command = command_line();
        run.started_unix_ns = iosonar_os::realtime_ns();
        run.origin_monotonic_ns = iosonar_os::monotonic_ns();
        run.state = RunState::Running;
        let environment = environment::capture(facts, &Root::default()).by(TOOL);
        let environment = serde_json::to_value(environment)?;
        let name = |(_, device): &(TargetFacts, BlockDevice)| {
            (super::number(device).to_string(), device.dev_path().display().to_string())
        };
        let facts = Facts {
            at: match args.at {
                WatchArg::Queue => At::QUEUE.word(),
                WatchArg::Issue => At::ISSUE.word(),
            }
            .to_string(),
            interface: match args.interface {
                InterfaceArg::Tracepoints => "tracepoints",
                InterfaceArg::Blktrace => BLKTRACE,
            }
            .to_string(),
            origin_monotonic_ns: run.origin_monotonic_ns,
            devices: devices.iter().map(name).collect(),
            counts: None,
        };
        let writer = ArchiveWriter::create(dir, &plan, &environment, &run).map_err(Failure::refused)?;
        let events = dir.join(EVENTS);
        let made = new_dir(&events).with_context(|| format!("cannot make {}", shown(&events)));
        match made.map_err(Failure::from).and_then(|_| facts.keep(dir)) {
            Ok(()) => Ok(Begun { dir: dir.to_path_buf(), events, facts, plan, run, writer }),
            Err(failure) => {
                writer.discard();
                Err(failure)
            }
        }
    }

    /// Removes the directory of a recording that did not start.
    pub fn discard(self) {
        self.writer.discard();
    }

    /// Converts the events to records, and sums up; returns the text to print.
    pub fn conclude(mut self, recorded: &Recorded) -> Result<String, Failure> {
        let stored = recorded.stored;
        self.facts.counts = Some(Counts {
            seconds: recorded.took.as_secs_f64(),
            events: stored.events,
            lost_events: recorded.lost.lost,
            damaged_pages: recorded.lost.damaged,
            bytes: stored.bytes,
            removed_segments: stored.removed_segments,
            removed_events: stored.removed_events,
            cpu_seconds: recorded.cpu_ns as f64 / 1e9,
            cpu_ns_per_event: recorded.cpu_ns as f64 / stored.events.max(1) as f64,
            broken: recorded.broken.clone(),
            gone: recorded.gone.iter().map(|gone| (gone.path.clone(), gone.after.as_secs_f64())).collect(),
        });
        self.facts.keep(&self.dir)?;
        self.run.state = self.facts.counts.as_ref().map_or(RunState::Finished, Counts::state);
        let (dir, facts) = (self.dir, self.facts);
        make(&dir, &facts, NewArchive::of(self.writer, self.plan, self.run, TOGETHER_IN_FILE)?)
    }
}

impl Counts {
    fn state(&self) -> RunState {
        self.broken.clone().map_or(RunState::Finished, |why| RunState::Broken(why.into()))
    }
}

impl Facts {
    fn keep(&self, dir: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        // The old file stays until the new one is complete.
        let path = dir.join(FACTS);
        write_whole(&path, text.as_bytes()).with_context(|| format!("cannot write {}", shown(&path)))?;
        Ok(())
    }

    fn of(dir: &Path) -> Result<Facts, Failure> {
        let path = dir.join(FACTS);
        let text = read_text(&path, TEXT_LIMIT).map_err(|_| {
            anyhow!(
                "{} is no recording: it has no {FACTS}; name a directory that 'iosonar record' made",
                shown(&dir)
            )
        });
        let facts = serde_json::from_str(&text.map_err(Failure::refused)?);
        facts.with_context(|| shown(&path).to_string()).map_err(Failure::refused)
    }

    fn at(&self) -> At {
        At::ALL.iter().find(|(_, word)| *word == self.at).map_or(At::QUEUE, |(at, _)| *at)
    }
}

/// Converts the segments of a killed recording; `None` if it is complete.
pub fn conclude_cut_off(dir: &Path) -> Result<Option<String>, Failure> {
    let facts = Facts::of(dir)?;
    let archive = Archive::open(dir).map_err(Failure::refused)?;
    if is_whole(dir).map_err(Failure::refused)? {
        return Ok(None);
    }
    let (plan, mut run) = (archive.plan().clone(), archive.run().clone());
    run.state = match &facts.counts {
        // It had ended; only the archive is missing.
        Some(counts) => counts.state(),
        None => RunState::Broken("the recorder was killed; everything up to its last second is there".into()),
    };
    make(dir, &facts, NewArchive::again(dir, plan, run)?).map(Some)
}

/// The requests of a recording's events, since its start.
pub fn requests(dir: &Path, timing: Timing, at: Option<At>) -> Result<(Box<dyn Requests>, At), Failure> {
    let facts = Facts::of(dir)?;
    let at = at.unwrap_or(facts.at());
    if facts.at() == At::QUEUE && at != At::QUEUE && at != At::COMPLETE {
        return Err(Failure::refused(anyhow!(
            "--at {}: {} was recorded with --at queue and has no such events of requests with data: leave the option out",
            at.word(),
            shown(&dir)
        )));
    }
    Ok((Box::new(paired(dir, &facts, timing, at)?), at))
}

type FromSegments = Paired<Segments<'static, File>>;

fn paired(dir: &Path, facts: &Facts, timing: Timing, at: At) -> Result<FromSegments, Failure> {
    let events = dir.join(EVENTS);
    let cannot = || format!("cannot read {}", shown(&events));
    let files = segment_files(&events).with_context(cannot).map_err(Failure::refused)?;
    let names = facts.devices.clone();
    Ok(Paired::new(Segments::new(files.into_iter().map(File::open)), at, timing)
        .since(Nanos(facts.origin_monotonic_ns))
        .named(names))
}

fn make(dir: &Path, facts: &Facts, mut archive: NewArchive) -> Result<String, Failure> {
    let mut requests = paired(dir, facts, Timing::Exact, facts.at())?;
    let (mut kinds, mut pairings, mut remarks) = ([0u64; Kind::ALL.len()], [0u64; 5], Vec::new());
    let (mut names, mut damaged, mut kept_requests) = (Vec::new(), 0, 0);
    while let Some(entry) = requests.next().with_context(|| shown(&dir).to_string())? {
        match entry {
            Entry::One(request) => {
                kinds[request.kind as usize] += u64::from(request.pairing != Pairing::NoBegin);
                pairings[request.pairing as usize] += 1;
                if names.len() <= request.device as usize {
                    names = requests.devices();
                }
                let name = &names[request.device as usize];
                let kept = archive.push(&request, Device { number: request.device, name });
                let is_kept = kept.with_context(|| format!("cannot write {}", shown(&dir)))?;
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
    let retried = requests.besides().into_iter().find(|(what, _)| what == RETRIED);
    remarks.extend(retried.map(|(what, count)| format!("{count} {what}")));
    let counts = facts.counts.as_ref();
    let told = RecordingFacts { kinds, pairings, lost, facts };
    archive.recorded(iosonar_archive::Recorded {
        events: counts.map_or(0, |counts| counts.events),
        duration_ns: counts.map_or(0, |counts| (counts.seconds * 1e9) as u64),
        removed: counts.map_or(0, |counts| counts.removed_events),
        requests: kept_requests,
        damaged,
        ..told.recorded()
    });
    remarks.extend(told.remarks());
    let text = told.text()
        + &remarks.iter().map(|r| format!("  note               {}\n", shown(r))).collect::<String>();
    archive.end(&remarks)?;
    Ok(text)
}

struct RecordingFacts<'a> {
    kinds: [u64; Kind::ALL.len()],
    pairings: [u64; 5],
    lost: u64,
    facts: &'a Facts,
}

impl RecordingFacts<'_> {
    fn recorded(&self) -> iosonar_archive::Recorded {
        let [_, _, ambiguous, no_end, no_begin] = self.pairings;
        let lost_at_most = self.facts.interface == BLKTRACE;
        let unknown = iosonar_archive::Recorded::default();
        iosonar_archive::Recorded { lost: self.lost, lost_at_most, ambiguous, no_end, no_begin, ..unknown }
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.lost > 0 {
            // blktrace also counts merges, plugs and the like, which are not kept.
            let most = if self.facts.interface == BLKTRACE { "up to " } else { "" };
            remarks.push(format!(
                "{most}{} events were lost because a ring buffer was full: give more with --buffer; requests are missing, and some have no end",
                self.lost
            ));
        }
        let others: u64 =
            Kind::ALL.iter().filter(|k| k.op().is_none()).map(|k| self.kinds[*k as usize]).sum();
        if others > 0 {
            remarks.push(format!(
                "{others} requests are neither reads, writes nor flushes: they stay in the events, and replays leave them out"
            ));
        }
        let [_, _, ambiguous, no_end, no_begin] = self.pairings;
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
        for (device, seconds) in self.facts.counts.iter().flat_map(|counts| &counts.gone) {
            remarks.push(format!(
                "{device} was gone {seconds:.0} s after the start: what followed is not of it"
            ));
        }
        if let Some(counts) = self.facts.counts.as_ref().filter(|c| c.removed_segments > 0) {
            remarks.push(format!(
                "the oldest {} segments with {} events were removed, because of --max-size",
                counts.removed_segments, counts.removed_events
            ));
        }
        remarks
    }

    fn text(&self) -> String {
        let kinds = Kind::ALL.iter().filter(|k| self.kinds[**k as usize] > 0);
        let kinds: Vec<String> = kinds.map(|k| format!("{} {}", self.kinds[*k as usize], k.name())).collect();
        let mut text = String::new();
        let _ =
            writeln!(text, "  requests           {} ({})", self.kinds.iter().sum::<u64>(), kinds.join(", "));
        let (exact, ambiguous) =
            (self.pairings[Pairing::Exact as usize], self.pairings[Pairing::Ambiguous as usize]);
        let _ = writeln!(text, "  ends               {exact} exact, {ambiguous} ambiguous");
        if let Some(counts) = &self.facts.counts {
            let _ = writeln!(
                text,
                "  events             {} in {:.1} s, {} lost, {:.1} MiB",
                counts.events,
                counts.seconds,
                self.lost,
                counts.bytes as f64 / f64::from(1 << 20)
            );
            let _ = writeln!(
                text,
                "  recorder           {:.3} s CPU ({:.2} % of one), {:.0} ns for an event",
                counts.cpu_seconds,
                100.0 * counts.cpu_seconds / counts.seconds.max(1e-9),
                counts.cpu_ns_per_event
            );
        }
        text
    }
}
