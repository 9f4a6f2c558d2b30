//! Records until the session is stopped, or the time is over.

use super::answer::Answer;
use super::begun::Begun;
use super::devices::Devices;
use super::presence::{Gone, Presence};
use super::question::Question;
use anyhow::Context;
use iosonar_capture::{Recorder, Round, Segments, Settings, Stored};
use iosonar_os::usage::own_cpu_time;
use iosonar_runner::{Error, Notice, Progress, Session, Stage};
use iosonar_text::shown;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often the ring buffers are emptied.
const ROUND: Duration = Duration::from_millis(100);
/// Events written at once, and the longest wait of the last ones: the loss after a kill.
const TOGETHER: usize = 1 << 14;
const LATEST: Duration = Duration::from_secs(1);
/// How often progress is shown.
const SHOWN: Duration = Duration::from_secs(1);

/// Records the block I/O of live devices. A stop of the session is the normal end.
///
/// # Errors
/// A path is no whole disk, the kernel refuses, or the archive cannot be written. Whatever was recorded is kept.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    question.check()?;
    let devices = Devices::find(&question.devices)?;
    devices.check(question.watch)?;
    // Nothing is created on disk before the kernel has agreed.
    let recorder = Recorder::start(&settings(question, &devices)).map_err(Error::refused)?;
    let begun = Begun::create(question, &devices, &session.command)?;
    warn_of_itself(session, &question.out, &devices);
    let recording = match Recording::new(session, question, recorder, Presence::of(devices.all()), &begun) {
        Ok(recording) => recording,
        Err(error) => {
            begun.discard();
            return Err(error);
        }
    };
    session.observer.stage(Stage::Running);
    let recorded = recording.run();
    session.observer.stage(Stage::Finishing);
    if let Some(why) = &recorded.broken {
        session.observer.notice(&Notice::Remark(why));
    }
    begun.conclude(&recorded).inspect_err(|_| {
        session.observer.notice(&Notice::Remark(&format!(
            "all that was recorded is kept; after a repair, 'iosonar record --cleanup {}' makes the archive of it",
            shown(&question.out)
        )));
    })
}

pub(super) fn settings(question: &Question, devices: &Devices) -> Settings {
    Settings {
        devices: devices.numbers(),
        watch: question.watch,
        interface: question.interface,
        buffer_bytes: question.buffer.0,
    }
}

/// Warns if a recording is written to a recorded device: it records itself.
fn warn_of_itself(session: &Session, dir: &Path, devices: &Devices) {
    if let Some(device) = devices.below(&dir.join("run.json")) {
        session.observer.notice(&Notice::Remark(&format!(
            "WARNING: {} lies on {}, which is recorded: the recording's own writes will be part of it; use --out on another disk",
            shown(dir),
            shown(&device)
        )));
    }
}

/// Result of a recording.
pub struct EndedRecording {
    /// Files on disk.
    pub stored: Stored,
    /// Events that the kernel could not keep, and unreadable pages.
    pub lost: Round,
    /// Its duration.
    pub took: Duration,
    /// CPU time of this process, nanoseconds.
    pub cpu_ns: u64,
    /// Why it ended early.
    pub broken: Option<String>,
    /// Devices that disappeared meanwhile.
    pub gone: Vec<Gone>,
}

struct Recording<'a> {
    session: &'a Session,
    duration: Option<Duration>,
    recorder: Recorder,
    presence: Presence,
    gone: Vec<Gone>,
    segments: Segments,
    /// Directory of the segments.
    events: &'a Path,
    begun: Instant,
    waiting: Vec<iosonar_trace::kernel::Event>,
    waiting_lost: u64,
    written: Instant,
    sum: Round,
}

impl<'a> Recording<'a> {
    fn new(
        session: &'a Session,
        question: &Question,
        recorder: Recorder,
        presence: Presence,
        begun: &'a Begun,
    ) -> Result<Recording<'a>, Error> {
        let every = Duration::from_nanos(question.segment.0);
        let segments = Segments::begin(&begun.events, every, question.max_size.map(|size| size.0));
        let cannot = || format!("cannot write in {}", shown(&begun.events));
        let now = Instant::now();
        Ok(Recording {
            session,
            duration: question.duration.map(|duration| Duration::from_nanos(duration.0)),
            recorder,
            presence,
            gone: Vec::new(),
            segments: segments.with_context(cannot).map_err(Error::broke)?,
            events: &begun.events,
            begun: now,
            waiting: Vec::new(),
            waiting_lost: 0,
            written: now,
            sum: Round::default(),
        })
    }

    fn run(mut self) -> EndedRecording {
        let cpu = cpu_ns();
        let broken = self.until_the_end();
        let Recording { recorder, mut segments, events: dir, mut waiting, mut sum, .. } = self;
        let (stopped, broken) = match recorder.stop() {
            Ok(stopped) => (stopped, broken),
            // Events read before the error are kept.
            Err(error) => (Default::default(), broken.or(Some(error.to_string()))),
        };
        let (events, last) = stopped;
        let took = self.begun.elapsed();
        sum.lost += last.lost;
        sum.damaged += last.damaged;
        waiting.extend(events);
        let kept = segments.append(&waiting, self.waiting_lost + last.lost);
        let broken = broken.or(kept.err().map(|error| cannot_write(dir, &error)));
        let stored = segments.stored();
        let broken = broken.or(segments.end().err().map(|error| cannot_write(dir, &error)));
        EndedRecording { stored, lost: sum, took, cpu_ns: cpu_ns() - cpu, broken, gone: self.gone }
    }

    /// Records until its end, or until an error: returns its reason.
    fn until_the_end(&mut self) -> Option<String> {
        let mut shown = Instant::now();
        while self.session.control.signal().is_none() && !self.left().is_zero() {
            std::thread::sleep(self.left().min(ROUND));
            if let Err(why) = self.round() {
                return Some(why);
            }
            if shown.elapsed() >= SHOWN {
                shown = Instant::now();
                self.show();
            }
        }
        None
    }

    /// Time until the end.
    fn left(&self) -> Duration {
        self.duration.map_or(Duration::MAX, |duration| duration.saturating_sub(self.begun.elapsed()))
    }

    fn round(&mut self) -> Result<(), String> {
        let round = self.recorder.round().map_err(|error| error.to_string())?;
        self.sum.lost += round.lost;
        self.sum.damaged += round.damaged;
        self.waiting_lost += round.lost;
        self.waiting.extend_from_slice(self.recorder.events());
        if self.waiting.len() >= TOGETHER || self.written.elapsed() >= LATEST {
            let kept = self.segments.append(&self.waiting, self.waiting_lost);
            kept.map_err(|error| cannot_write(self.events, &error))?;
            self.waiting.clear();
            self.waiting_lost = 0;
            self.written = Instant::now();
            self.look_after_devices();
        }
        Ok(())
    }

    /// Immediately reports devices that disappeared: later events are of no device, or of another one.
    fn look_after_devices(&mut self) {
        let gone = self.presence.gone(self.begun.elapsed());
        for Gone { path, after } in &gone {
            self.session.observer.notice(&Notice::Remark(&format!(
                "WARNING: {path} is gone, {} s after the start: it was detached or removed; the recording goes on until it is ended",
                after.as_secs()
            )));
        }
        self.gone.extend(gone);
    }

    fn show(&self) {
        let (stored, elapsed) = (self.segments.stored(), self.begun.elapsed());
        let seconds = elapsed.as_secs();
        let of =
            self.duration.map(|duration| format!("/{} s", duration.as_secs())).unwrap_or_else(|| " s".into());
        let text = format!(
            "recording {seconds}{of}: {} events, {} lost, {:.1} MiB",
            stored.events + self.waiting.len() as u64,
            self.sum.lost,
            stored.bytes as f64 / f64::from(1 << 20)
        );
        self.session.observer.progress(&Progress { elapsed, text: &text });
    }
}

/// Remedy if a recording cannot be written.
fn cannot_write(events: &Path, error: &std::io::Error) -> String {
    let remedy = match error.kind() {
        ErrorKind::StorageFull => {
            ": make room, record to another disk with --out, or keep less with --max-size"
        }
        _ => "",
    };
    format!("cannot write events in {}: {error}{remedy}; what was written until then is kept", shown(events))
}

/// CPU time of this process so far.
pub(super) fn cpu_ns() -> u64 {
    let used = own_cpu_time();
    used.user_ns + used.system_ns
}
