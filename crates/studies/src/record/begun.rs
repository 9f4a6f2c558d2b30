//! The archive of a recording: started before the first event, and completed from its segments.

use super::answer::Answer;
use super::devices::Devices;
use super::made::make;
use super::question::Question;
use super::run::EndedRecording;
use crate::new_archive::{NewArchive, TOGETHER_IN_FILE};
use anyhow::Context;
use iosonar_archive::{
    ArchiveWriter, BLKTRACE, EVENTS, RecordingCounts, RecordingFacts, RunInfo, RunState, TOOL, TargetInfo,
};
use iosonar_capture::{Interface, Watch};
use iosonar_dialect_blkreplay::recording;
use iosonar_host::{BlockDevice, Root, environment};
use iosonar_os::create::new_dir;
use iosonar_plan::Plan;
use iosonar_runner::Error;
use iosonar_text::shown;
use iosonar_trace::kernel::At;
use std::path::PathBuf;

/// A recording whose archive was started.
pub struct Begun {
    dir: PathBuf,
    /// Directory of the segments.
    pub events: PathBuf,
    facts: RecordingFacts,
    plan: Plan,
    run: RunInfo,
    writer: ArchiveWriter,
}

impl Begun {
    /// Creates the directory.
    pub fn create(question: &Question, devices: &Devices, command: &str) -> Result<Begun, Error> {
        let dir = &question.out;
        let (mut plan, mut run) = recording("recording", 0);
        let like = run.targets[0].clone();
        let of = |device: &BlockDevice| {
            let path = device.dev_path().display().to_string();
            TargetInfo { path, size: device.size, ..like.clone() }
        };
        run.targets = devices.all().map(of).collect();
        plan.on_each(run.targets.iter().map(|info| info.path.as_str().into()));
        plan.run_id = iosonar_runner::new_run_id();
        run.command = command.to_string();
        run.started_unix_ns = iosonar_os::realtime_ns();
        run.origin_monotonic_ns = iosonar_os::monotonic_ns();
        run.state = RunState::Running;
        let environment = environment::capture(&devices.facts(), &Root::default()).by(TOOL);
        let environment = serde_json::to_value(environment).map_err(Error::broke)?;
        let facts = RecordingFacts {
            at: at(question.watch).word().to_string(),
            interface: interface(question.interface).to_string(),
            origin_monotonic_ns: run.origin_monotonic_ns,
            devices: devices.names(),
            counts: None,
        };
        let writer = ArchiveWriter::create(dir, &plan, &environment, &run).map_err(Error::refused)?;
        let events = dir.join(EVENTS);
        let made = new_dir(&events).with_context(|| format!("cannot make {}", shown(&events)));
        match made.map_err(Error::broke).and_then(|_| Ok(facts.keep(dir)?)) {
            Ok(()) => Ok(Begun { dir: dir.clone(), events, facts, plan, run, writer }),
            Err(error) => {
                writer.discard();
                Err(error)
            }
        }
    }

    /// Removes the directory of a recording that did not start.
    pub fn discard(self) {
        self.writer.discard();
    }

    /// Converts the events to records, and sums up.
    pub fn conclude(mut self, recorded: &EndedRecording) -> Result<Answer, Error> {
        let stored = recorded.stored;
        self.facts.counts = Some(RecordingCounts {
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
        self.run.state = self.facts.counts.as_ref().map_or(RunState::Finished, RecordingCounts::state);
        make(&self.dir, self.facts, NewArchive::of(self.writer, self.plan, self.run, TOGETHER_IN_FILE)?)
    }
}

/// The event that counts as the request.
fn at(watch: Watch) -> At {
    match watch {
        Watch::Queue | Watch::Order | Watch::Path => At::QUEUE,
        Watch::Issue => At::ISSUE,
    }
}

fn interface(interface: Interface) -> &'static str {
    match interface {
        Interface::Tracepoints => "tracepoints",
        Interface::Blktrace => BLKTRACE,
    }
}
