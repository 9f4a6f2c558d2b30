//! The scan at the end: all places that the run has written are read and checked, in the order of their addresses.

use super::checker::{AGAIN_AFTER, around};
use super::device::{CHUNK, Contents, Data, Looks};
use super::narrow::{Area, Narrow};
use super::place::TargetPlace;
use super::reads::{Checks, DEPTH, PIECE, Reads, ScanSource, memory};
use super::scan_progress::ScanProgress;
use super::verifier::Verifier;
use crate::control::Control;
use crate::engines::{simulated, usable};
use crate::files::{TargetFile, options};
use crate::injected::with_faults;
use crate::shared::Shared;
use iosonar_archive::{FoundBy, ReadAgain, ScanFacts};
use iosonar_backend::{Completion, Faulty, Setup, real};
use iosonar_os::Clock;
use iosonar_os::page_cache::evict;
use iosonar_plan::{Access, Engine, Nanos, Plan, SECTOR, ShortPolicy, SimModel};
use iosonar_verify::{BadContent, Flight, Reader, Sectors, mix};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

/// Places of one unreadable area that are read again one by one, where some of it can be read by then.
const MOST_AGAIN: usize = 1024;
/// Gaps up to this many sectors are read, too: fewer, longer reads are faster.
const GAP: u64 = 128;

/// The scan of one device through a target of it.
pub(crate) struct Scan<'a> {
    verifier: &'a Verifier,
    target: u16,
    reads: Reads<'a>,
    checks: Checks<'a>,
    progress: &'a ScanProgress,
    /// Sectors of the target.
    size: u64,
    /// Sectors of a logical block.
    block: u64,
}

/// A target of a run that its verification reads.
pub(crate) struct ScanTarget<'a> {
    /// Number in the plan.
    pub(crate) number: u16,
    /// Path as typed.
    pub(crate) path: String,
    /// `None` where no target is opened.
    pub(crate) file: Option<&'a TargetFile>,
    /// Bytes among which requests are placed.
    pub(crate) size: u64,
    /// Sectors of a logical block.
    pub(crate) block: u64,
}

impl ScanTarget<'_> {
    /// Scans the target at the end of the run. A simulated clock continues at `ended_at`.
    fn scan(
        &self,
        plan: &Plan,
        verifier: &Verifier,
        shared: Shared<'_>,
        ended_at: Nanos,
    ) -> std::io::Result<ScanFacts> {
        // The scan reads directly, also where the requests of the run went through the page cache.
        let mut source = match self.file {
            Some(file) => reader(file.for_scan()?, shared.clock, Faulty::EXTRA_DEPTH),
            None => self.simulated(plan, shared),
        }?;
        source.backend = with_faults(self.number, source.backend, shared.injected);
        source.backend.skip_to(ended_at);
        let (control, progress) = (shared.control, shared.progress.scan());
        let size = self.size / SECTOR;
        Ok(Scan::new(verifier, self.number, &mut source, control, progress, size, self.block).run())
    }

    /// Reads of a simulated target.
    pub(super) fn simulated(&self, plan: &Plan, shared: Shared<'_>) -> std::io::Result<ScanSource> {
        let model = if let Engine::Sim(model) = plan.engine { model } else { SimModel::default() };
        // A scan that fails at random would prove nothing about the device.
        let model = SimModel { error_every: 0, short_every: 0, ..model };
        let backend = simulated(plan, model, self.number, DEPTH, u64::from(self.number), shared.stores);
        Ok(ScanSource { backend, memory: memory()? })
    }
}

/// Scans every device that the run has written, each place through the first target that has it.
/// A simulated clock continues at `ended_at`.
pub(crate) fn scan_targets<'a>(
    plan: &Plan,
    targets: impl Iterator<Item = ScanTarget<'a>>,
    verifier: &Verifier,
    shared: Shared<'_>,
    ended_at: Nanos,
) -> Option<ScanFacts> {
    if !verifier.modes.final_scan && verifier.modes.outside.is_none() {
        return None;
    }
    let scan = |target: ScanTarget<'_>| {
        target.scan(plan, verifier, shared, ended_at).unwrap_or_else(|error| {
            shared.note(format!("{}: the scan at the end was not possible: {error}", target.path));
            ScanFacts { stopped: true, ..ScanFacts::default() }
        })
    };
    targets.map(scan).reduce(ScanFacts::with)
}

/// A file, and memory for its reads.
pub(super) fn reader(file: File, clock: &Clock, extra: u32) -> std::io::Result<ScanSource> {
    let (engine, _) = usable(Engine::default());
    let memory = memory()?;
    let setup = Setup {
        file,
        clock: clock.clone(),
        depth: DEPTH,
        extra,
        reach: u64::MAX,
        writes: false,
        short: ShortPolicy::Complete,
        locks: false,
        pool: Some(&memory),
    };
    let (backend, _) = real(engine, setup)?;
    Ok(ScanSource { backend, memory })
}

/// Opens a target for direct reads, where its file system can; drops its pages from the page cache first.
pub(super) fn open_for_scan(path: &Path) -> std::io::Result<File> {
    let shared = File::open(path)?;
    // Another process may have written it; without the right to, there is nothing to flush.
    let _ = shared.sync_all();
    let _ = evict(&shared);
    options(Access::default(), false).open(path).or(Ok(shared))
}

impl<'a> Scan<'a> {
    /// Sets up the scan of a target of `size` sectors, with logical blocks of `block` sectors.
    pub(crate) fn new(
        verifier: &'a Verifier,
        target: u16,
        source: &'a mut ScanSource,
        control: &'a Control,
        progress: &'a ScanProgress,
        size: u64,
        block: u64,
    ) -> Scan<'a> {
        let checks = Checks { verifier, target, contents: Contents::default() };
        let reads = Reads { verifier, place: checks.place(), source, control };
        Scan { verifier, target, reads, checks, progress, size, block: block.max(1) }
    }

    fn place(&self) -> TargetPlace {
        self.checks.place()
    }

    fn looks(&self) -> Looks<'a> {
        self.checks.looks()
    }

    /// The pieces to read, on the device, and the number of chunks in total and of those to read.
    fn pieces(&self) -> (Vec<Sectors>, u64, u64) {
        let device = self.verifier.device(self.place());
        let is_on = self.verifier.modes.final_scan;
        let touched = device.touched().into_iter().filter(|_| is_on);
        let touched: Vec<Sectors> = touched.flat_map(|range| self.own(range, &device.scanned)).collect();
        drop(device);
        let is_chosen = |chunk: u64| {
            self.verifier.modes.sample.is_none_or(|share| {
                let random = mix(self.verifier.seed ^ chunk.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                (random >> 11) as f64 / (1u64 << 53) as f64 * 100.0 < share.as_f64()
            })
        };
        let (mut chosen, mut all, mut read) = (Vec::<Sectors>::new(), 0, 0);
        let mut last = None;
        for range in touched {
            let mut at = range.start;
            while at < range.end() {
                let chunk = at / CHUNK;
                let end = ((chunk + 1) * CHUNK).min(range.end());
                // In order: only the last one can repeat.
                let is_new = last.replace(chunk) != Some(chunk);
                all += u64::from(is_new);
                if is_chosen(chunk) {
                    read += u64::from(is_new);
                    join(&mut chosen, self.in_blocks(Sectors::between(at, end)));
                }
                at = end;
            }
        }
        (self.with_outside(chosen), all, read)
    }

    /// The parts of a range that this target has to read: those that it covers, and no target before it. The last target tries to
    /// read the parts beyond all targets.
    fn own(&self, range: Sectors, scanned: &[Sectors]) -> Vec<Sectors> {
        let TargetPlace { device, base } = self.place();
        let mut later = self.verifier.places[usize::from(self.target) + 1..].iter();
        let end = if later.any(|place| place.device == device) { base + self.size } else { u64::MAX };
        let (start, end) = (range.start.max(base), range.end().min(end));
        if start < end { without(scanned, Sectors::between(start, end)) } else { Vec::new() }
    }

    /// Adds the sectors that the run must not have changed.
    fn with_outside(&self, mut pieces: Vec<Sectors>) -> Vec<Sectors> {
        let device = self.verifier.device(self.place());
        let places = device.unwritten_outside().into_iter().map(|place| Sectors { start: place, count: 1 });
        let places: Vec<Sectors> =
            places.filter(|place| !self.own(*place, &device.scanned).is_empty()).collect();
        drop(device);
        if places.is_empty() {
            return pieces;
        }
        pieces.extend(places.into_iter().map(|place| self.in_blocks(place)));
        pieces.sort_unstable_by_key(|piece| piece.start);
        let mut joined = Vec::new();
        pieces.into_iter().for_each(|piece| join(&mut joined, piece));
        joined
    }

    /// Sectors of the device, widened to whole logical blocks of the target.
    fn in_blocks(&self, sectors: Sectors) -> Sectors {
        let base = self.place().base;
        let on_target = Sectors { start: sectors.start - base, ..sectors }.in_blocks(self.block);
        Sectors { start: on_target.start + base, ..on_target }
    }

    /// Reads the sectors that the run must not change, before it begins.
    pub(super) fn remember(mut self) {
        let pieces = self.with_outside(Vec::new());
        self.progress.begin(pieces.iter().map(|piece| piece.count).sum());
        self.read_all(&pieces, &mut ScanFacts::default());
        self.note_scanned();
    }

    /// Notes the places of this target, which other targets of the device can skip.
    fn note_scanned(&self) {
        let own = Sectors { start: self.place().base, count: self.size };
        let mut device = self.verifier.device(self.place());
        device.scanned.push(own);
        device.scanned.sort_unstable_by_key(|range| range.start);
    }

    /// Reads and checks everything. Bad places are read again at the end.
    pub(crate) fn run(mut self) -> ScanFacts {
        let start = self.reads.backend().now();
        let (pieces, chunks, read_chunks) = self.pieces();
        self.progress.begin(pieces.iter().map(|piece| piece.count).sum());
        let first_new = self.verifier.device(self.place()).observations.len();
        let mut facts = ScanFacts { start, chunks, read_chunks, ..ScanFacts::default() };
        self.verifier.device(self.place()).set_first_reads(true);
        facts.stopped = !self.read_all(&pieces, &mut facts);
        self.verifier.device(self.place()).set_first_reads(false);
        let new = first_new..self.verifier.device(self.place()).observations.len();
        let counts = self.verifier.device(self.place()).take_scan_counts();
        (facts.bad_chunks, facts.bad_sectors) = (counts.bad_chunks.len() as u64, counts.bad);
        for (round, pause) in AGAIN_AFTER.into_iter().enumerate() {
            self.read_again(new.clone(), round, pause);
        }
        self.note_scanned();
        facts.end = self.reads.backend().now();
        facts
    }

    /// Reads all pieces; returns whether that was completed.
    fn read_all(&mut self, pieces: &[Sectors], facts: &mut ScanFacts) -> bool {
        let (progress, block) = (self.progress, self.block);
        let mut failed: Vec<Sectors> = Vec::new();
        let is_complete = self.reads.all(pieces, &mut self.checks, |sectors, result| {
            facts.bytes += result.max(0) as u64;
            let is_done = result >= 0 || sectors.count <= block;
            facts.unreadable += if is_done && result < 0 { sectors.count } else { 0 };
            if is_done {
                progress.add(sectors.count);
            } else {
                failed.push(sectors);
            }
            is_done
        });
        failed.sort_unstable_by_key(|piece| piece.start);
        failed.dedup_by(|next, last| {
            let follows = next.start == last.end();
            last.count += if follows { next.count } else { 0 };
            follows
        });
        let mut narrow = Narrow::new(block);
        let mut area = FailedArea { scan: self, facts, failure: None };
        failed.iter().for_each(|whole| narrow.narrow(*whole, &mut area));
        is_complete && (failed.is_empty() || !self.reads.is_stopped())
    }

    /// Reads bad places again, one after the other, some time after the last read.
    fn read_again(&mut self, numbers: std::ops::Range<usize>, round: usize, pause: Nanos) {
        let open: Vec<usize> = {
            let device = self.verifier.device(self.place());
            let is_open = |n: &usize| {
                let observation = &device.observations[*n];
                !observation.is_suspect && (round == 0 || !observation.again[round - 1].is_settled())
            };
            numbers.filter(is_open).collect()
        };
        if open.is_empty() {
            return;
        }
        self.rest(pause);
        let mut rest = &open[..];
        while !rest.is_empty() && !self.reads.is_stopped() {
            let area = self.unreadable_area(rest);
            if area < 2 || !self.fails_again(&rest[..area], round) {
                let most = &rest[..area.clamp(1, MOST_AGAIN)];
                most.iter().for_each(|number| self.read_one_again(*number, round));
            }
            rest = &rest[area.max(1)..];
        }
    }

    /// Number of these observations, from the first on, that are one unreadable area: they follow each other, or were noted
    /// together.
    fn unreadable_area(&self, numbers: &[usize]) -> usize {
        let device = self.verifier.device(self.place());
        let of = |number: &usize| &device.observations[*number];
        let is_unreadable = |number: &usize| matches!(of(number).found, BadContent::Unreadable(_));
        let follows = |pair: &&[usize]| {
            let [last, next] = [of(&pair[0]), of(&pair[1])];
            is_unreadable(&pair[1]) && (last.end() == next.start || last.reader == next.reader)
        };
        match numbers.first().is_some_and(is_unreadable) {
            true => 1 + numbers.windows(2).take_while(follows).count(),
            false => 0,
        }
    }

    /// Reads the first and the last block of an unreadable area again: if both fail, all of it counts as failed.
    fn fails_again(&mut self, area: &[usize], round: usize) -> bool {
        let [first, last] = {
            let device = self.verifier.device(self.place());
            let of = |number: usize| &device.observations[number];
            [of(area[0]).start, of(area[area.len() - 1]).end() - 1]
        };
        for sector in [first, last] {
            let (flight, data, _) = self.read_now(self.in_blocks(Sectors { start: sector, count: 1 }));
            self.verifier.device(self.place()).expected().end_read(flight, 0, |_, _| None);
            if !data.is_empty() {
                return false;
            }
        }
        let mut device = self.verifier.device(self.place());
        area.iter().for_each(|number| device.observations[*number].again[round] = ReadAgain::Failed);
        true
    }

    fn read_one_again(&mut self, number: usize, round: usize) {
        let (place, looks) = (self.place(), self.looks());
        let verifier = self.verifier;
        let (sectors, named) = {
            let device = verifier.device(place);
            let observation = &device.observations[number];
            let named = observation.named_place(verifier.run_id).filter(|_| round == 0);
            let named = named
                .map(|start| Sectors { start, count: observation.count.min(PIECE) }.in_blocks(self.block));
            (around(&device, number, place.base).in_blocks(self.block), named)
        };
        let (flight, data, reader) = self.read_now(sectors);
        let again = (number, round);
        let data = Data::unseen(&data);
        verifier.device(place).end_read_again(flight, data, sectors.start, again, &looks, reader);
        let Some(named) = named.filter(|named| named.end() <= self.size) else { return };
        let (flight, data, reader) = self.read_now(named);
        verifier.device(place).end_read_named(flight, Data::unseen(&data), number, &looks, reader);
    }

    /// Reads sectors of the target, with nothing else in flight.
    fn read_now(&mut self, sectors: Sectors) -> (Flight, Vec<u8>, Reader) {
        let on_device = Sectors { start: sectors.start + self.place().base, ..sectors };
        let (piece, Completion { buffer, result, submitted, completed, .. }) = self.reads.one(on_device);
        let transferred = usize::try_from(result).unwrap_or(0).min(buffer.len());
        let target = self.target;
        let reader = Reader { target, found_by: FoundBy::Final, request: None, submitted, completed };
        (piece.flight, buffer[..transferred].to_vec(), reader)
    }

    /// Waits for this time.
    fn rest(&mut self, time: Nanos) {
        let until = self.reads.backend().now().saturating_add(time);
        self.reads.backend().skip_to(until);
        if self.reads.backend().is_timed() {
            while self.reads.backend().now() < until && !self.reads.is_stopped() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

/// An area that could not be read as a whole.
struct FailedArea<'s, 'a> {
    scan: &'s mut Scan<'a>,
    facts: &'s mut ScanFacts,
    /// The last read that failed.
    failure: Option<Completion>,
}

impl FailedArea<'_, '_> {
    fn read(&mut self, sectors: Sectors, is_checked: bool) -> bool {
        let (piece, completion) = self.scan.reads.one(sectors);
        let is_read = completion.result >= 0;
        if is_read && is_checked {
            self.facts.bytes += completion.result as u64;
            self.scan.progress.add(sectors.count);
            self.scan.checks.check(piece, completion);
        } else {
            self.scan.reads.let_go(piece);
            self.failure = Some(completion).filter(|_| !is_read).or(self.failure.take());
        }
        is_read
    }
}

impl Area for FailedArea<'_, '_> {
    fn check(&mut self, sectors: Sectors) -> bool {
        self.read(sectors, true)
    }

    fn is_readable(&mut self, sectors: Sectors) -> bool {
        self.read(sectors, false)
    }

    fn note_unreadable(&mut self, sectors: Sectors, untried: u64) {
        self.scan.progress.add(sectors.count);
        self.facts.unreadable += sectors.count;
        self.facts.untried += untried;
        self.scan.checks.note_unreadable(sectors, self.failure.as_ref());
    }

    fn is_stopped(&mut self) -> bool {
        self.scan.reads.is_stopped()
    }
}

/// The parts of `whole` outside the ranges, which are in order.
pub(super) fn without(ranges: &[Sectors], whole: Sectors) -> Vec<Sectors> {
    let (mut rest, mut at) = (Vec::new(), whole.start);
    let end = Sectors { start: whole.end(), count: 0 };
    for range in ranges.iter().chain([&end]) {
        let until = range.start.min(whole.end());
        if until > at {
            rest.push(Sectors::between(at, until));
        }
        at = at.max(range.end());
    }
    rest
}

/// Appends a range, joined with the last one where the gap is small. Ranges that were widened to whole blocks may share one.
fn join(ranges: &mut Vec<Sectors>, next: Sectors) {
    if let Some(last) = ranges.last_mut()
        && next.start <= last.end() + GAP
        && next.end() - last.start <= PIECE
    {
        *last = Sectors::between(last.start, last.end().max(next.end()));
        return;
    }
    ranges.push(next);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subtracts_ranges_from_whole() {
        let whole = Sectors::new(100, 100);
        let ranges = [Sectors::new(90, 20), Sectors::new(120, 10), Sectors::new(190, 10)];
        assert_eq!(without(&ranges, whole), [Sectors::new(110, 10), Sectors::new(130, 60)]);
        assert_eq!(without(&[], whole), [whole]);
        assert_eq!(without(&[Sectors::new(0, 300)], whole), []);
        assert_eq!(without(&[Sectors::new(200, 8)], whole), [whole]);
    }

    #[test]
    fn joins_near_ranges() {
        let mut ranges = Vec::new();
        for (start, end) in [(0, 8), (0, 8), (8, 16), (16 + GAP, 24 + GAP), (25 + 2 * GAP, 32 + 2 * GAP)] {
            join(&mut ranges, Sectors::between(start, end));
        }
        let last = Sectors::between(25 + 2 * GAP, 32 + 2 * GAP);
        assert_eq!(ranges, [Sectors::between(0, 24 + GAP), last]);
    }
}
