//! Several inputs as one: their requests merged by time, each input with separate targets.

use crate::figures::summarize;
use crate::{Input, OpenError, Pieces, SummaryOptions};
use iosonar_analyze::{DISPLACEMENT, Limits, Partial, Records, Summary, Tally, WithoutCpu};
use iosonar_archive::{Fields, RECORDING, Record, RunInfo, RunState};
use iosonar_plan::{Engine, Phase, Plan, Target};
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Records in a piece of one input, and number of pieces that are read ahead.
const PIECE: usize = 1 << 12;
const AHEAD: usize = 4;

/// One input, or several on one time axis: time zero of each is time zero of all.
pub struct Merged<'a> {
    inputs: Vec<&'a Input>,
    /// Number of the first target of each input, and of all targets at the end.
    first_targets: Vec<u16>,
}

impl<'a> Merged<'a> {
    /// Merges all `inputs`; at least one.
    pub fn new(inputs: impl IntoIterator<Item = &'a Input>) -> Result<Merged<'a>, OpenError> {
        let inputs: Vec<&Input> = inputs.into_iter().collect();
        let mut first_targets = vec![0u16];
        for input in &inputs {
            let targets = input.run().0.targets.len().max(1);
            let next = usize::from(first_targets[first_targets.len() - 1]) + targets;
            let next = u16::try_from(next).map_err(|_| OpenError::TooManyTargets)?;
            first_targets.push(next);
        }
        Ok(Merged { inputs, first_targets })
    }

    /// Whether the engine is unknown: all inputs are loads.
    pub fn is_recording(&self) -> bool {
        self.inputs.iter().all(|input| !input.is_run())
    }

    /// Whether the requests in flight were not counted: in loads, and in archives of recordings.
    pub fn is_recorded(&self) -> bool {
        self.is_recording() || self.run().1.tool == RECORDING
    }

    /// Targets of all inputs.
    pub fn targets(&self) -> usize {
        usize::from(self.first_targets[self.inputs.len()])
    }

    /// Plan and facts of all of them together.
    pub fn run(&self) -> (Plan, RunInfo) {
        let mut runs = self.inputs.iter().map(|input| input.run());
        let (mut plan, mut info) = runs.next().expect("there is at least one input");
        for (other_plan, other) in runs {
            plan.access.buffered |= other_plan.access.buffered;
            // If one input is not a storage result, the whole is not one either.
            if !other_plan.engine.is_real() {
                plan.engine = other_plan.engine;
            }
            join(&mut plan, other_plan.targets, other_plan.phases);
            if info.phases.len() < other.phases.len() {
                info.phases = other.phases;
            }
            info.targets.extend(other.targets);
            // Names of several machines would be mixed.
            info.processes.clear();
            info.recorder_stalls.merge(other.recorder_stalls);
            info.push_back_stalls.merge(other.push_back_stalls);
            info.buffer_stalls.merge(other.buffer_stalls);
            info.cpu.user_ns = info.cpu.user_ns.saturating_add(other.cpu.user_ns);
            info.cpu.system_ns = info.cpu.system_ns.saturating_add(other.cpu.system_ns);
            info.cpu.watching_ns = info.cpu.watching_ns.saturating_add(other.cpu.watching_ns);
            info.cpu.sampling_ns = info.cpu.sampling_ns.saturating_add(other.cpu.sampling_ns);
            info.is_import |= other.is_import;
            if info.state.is_complete() && other.state != RunState::Finished {
                info.state = other.state;
            }
        }
        (plan, info)
    }

    /// Summarizes a tally.
    pub fn sum_up(&self, tally: &Tally, options: &SummaryOptions) -> Summary {
        let (plan, info) = self.run();
        let only = if let [only] = self.inputs[..] { Some(only) } else { None };
        summarize(tally, &plan, &info, only, options)
    }

    /// Times in which the generator had no CPU; unknown for several inputs.
    pub fn without_cpu(&self) -> WithoutCpu {
        let [only] = self.inputs[..] else { return WithoutCpu::default() };
        // The samples of a simulated run have the machine's clock, and its requests have another one.
        let archive = only.archive().filter(|archive| !matches!(archive.plan().engine, Engine::Sim(_)));
        archive.and_then(|archive| only.beside(WithoutCpu::of(archive))).unwrap_or_default()
    }

    /// The summary that the run itself made, if it would be the same now.
    pub fn summary(&self, limits: &Limits) -> Option<Summary> {
        let [only] = self.inputs[..] else { return None };
        only.summary(limits)
    }
}

/// Adds the targets of another plan, and its jobs to the phases of the same number.
fn join(plan: &mut Plan, targets: Vec<Target>, phases: Vec<Phase>) {
    let first = plan.targets.len() as u16;
    plan.targets.extend(targets);
    for (number, mut phase) in phases.into_iter().enumerate() {
        phase.jobs.iter_mut().for_each(|job| job.target = job.target.saturating_add(first));
        match plan.phases.get_mut(number) {
            Some(own) => {
                own.passes = own.passes.max(phase.passes);
                own.jobs.extend(phase.jobs);
            }
            None => plan.phases.push(phase),
        }
    }
}

impl Records for Merged<'_> {
    fn parts(&self) -> usize {
        if let [only] = self.inputs[..] { only.parts() } else { 1 }
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        if let [only] = self.inputs[..] {
            return only.read_part(part, wanted, f);
        }
        thread::scope(|scope| {
            let mut streams = Vec::new();
            for (input, targets) in self.inputs.iter().zip(self.first_targets.windows(2)) {
                let (sender, pieces) = sync_channel(AHEAD);
                scope.spawn(move || send(input, targets[0]..targets[1], wanted, &sender));
                streams.push(Stream { pieces, piece: Vec::new(), at: 0 });
            }
            merge(&mut streams, f)
        })
    }

    fn records_before(&self, part: usize) -> Option<u64> {
        if let [only] = self.inputs[..] { only.records_before(part) } else { (part == 0).then_some(0) }
    }

    fn counts_elsewhere(&self, targets: usize) -> io::Result<Option<Partial>> {
        if let [only] = self.inputs[..] {
            return only.counts_elsewhere(targets);
        }
        self.inputs.iter().try_for_each(|input| input.require_records())?;
        Ok(None)
    }

    fn displacement(&self) -> usize {
        self.inputs.iter().map(|input| input.displacement()).max().unwrap_or(DISPLACEMENT)
    }

    fn end_hint_ns(&self) -> Option<u64> {
        self.inputs.iter().filter_map(|input| input.end_hint_ns()).max()
    }

    fn recorded_until_ns(&self) -> Option<u64> {
        self.inputs.iter().filter_map(|input| input.recorded_until_ns()).max()
    }
}

type Piece = io::Result<Vec<Record>>;

/// Reads an input, and renumbers its targets among all.
fn send(input: &Input, targets: Range<u16>, wanted: Fields, out: &SyncSender<Piece>) {
    // A target that is not in the plan counts as its last one, not as one of the next input.
    let number = |target: u16| targets.start.saturating_add(target).min(targets.end - 1);
    let mut piece = Vec::with_capacity(PIECE);
    for part in 0..input.parts() {
        let read = input.read_part(part, wanted.and(Fields::COMPLETED).and(Fields::DUE), &mut |records| {
            let numbered = records.iter().map(|r| Record { target: number(r.target), ..*r });
            piece.extend(numbered);
            if piece.len() >= PIECE {
                // An error means that the receiver needs no more.
                let _ = out.send(Ok(std::mem::take(&mut piece)));
            }
        });
        if let Err(error) = read {
            let _ = out.send(Err(error));
            return;
        }
    }
    let _ = out.send(Ok(piece));
}

/// The records of an input, one after the other.
struct Stream {
    pieces: Receiver<Piece>,
    piece: Vec<Record>,
    at: usize,
}

impl Stream {
    fn peek(&mut self) -> io::Result<Option<&Record>> {
        while self.at == self.piece.len() {
            let Ok(next) = self.pieces.recv() else { return Ok(None) };
            (self.piece, self.at) = (next?, 0);
        }
        Ok(self.piece.get(self.at))
    }
}

/// Repeatedly takes the record that ended first.
fn merge(streams: &mut [Stream], f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
    let mut out = Pieces::new(f);
    loop {
        let mut first: Option<(u64, usize)> = None;
        for (number, stream) in streams.iter_mut().enumerate() {
            let Some(record) = stream.peek()? else { continue };
            let at = record.completed.unwrap_or(record.due).0;
            if first.is_none_or(|(least, _)| at < least) {
                first = Some((at, number));
            }
        }
        let Some((_, number)) = first else { break };
        out.push(streams[number].piece[streams[number].at]);
        streams[number].at += 1;
    }
    out.end();
    Ok(())
}
