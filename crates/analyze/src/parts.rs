//! Separate figures of each target, worker, phase and pass, in bounded memory.

use crate::Rate;
use crate::fits::{ByTarget, Fits};
use crate::sketch::Sketch;
use crate::slices::Merge;
use iosonar_archive::{Marks, PhaseTimes, Record, TargetInfo};
use serde::{Deserialize, Serialize};

/// Maximum number of targets with separate figures.
pub(crate) const MOST_TARGETS: u32 = 4096;
/// Maximum number of workers with separate figures.
pub(crate) const MOST_WORKERS: u32 = 1024;
/// Maximum number of phases with separate figures.
pub(crate) const MOST_PHASES: u32 = 4096;
/// Maximum number of passes of the first phase with separate figures.
pub(crate) const MOST_PASSES: u32 = 4096;
/// Maximum number of passes of each other phase with separate figures.
const MOST_PASSES_LATER: u32 = 16;
/// Most parts of a cut: passes of the first phase, those of later ones, and the others.
const MOST_PARTS: usize = (MOST_PASSES + MOST_PHASES * MOST_PASSES_LATER + 1) as usize;

/// Figures of each part of the run. A list is empty if there is only one such part: it would repeat the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// For each target, by its number in the plan.
    pub targets: Vec<PartStats>,
    /// For each worker of the engine.
    pub workers: Vec<PartStats>,
    /// For each phase of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<PartStats>,
    /// For each pass of each phase.
    pub passes: Vec<PartStats>,
}

/// Figures of one part. Requests of a ramp are excluded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartStats {
    /// Path of the target, name of the phase, or `worker 3`, `pass 1`, `write, pass 1` (passes count from 1 in words); `others`
    /// for all those whose number is too high for separate figures.
    pub name: String,
    /// Its number, from 0; of a pass the number within its phase. Absent for `others`.
    pub number: Option<u32>,
    /// Number of the phase of a pass, unless it is the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    /// Its first due time, since the start of the run; absent if nothing was due.
    pub begin_ns: Option<u64>,
    /// Its first submission, since the start of the run; absent if nothing was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submitted_ns: Option<u64>,
    /// Requests that transferred all their bytes.
    pub completed: u64,
    /// Requests that the kernel refused, or that stayed short.
    pub failed: u64,
    /// completed − submitted, of completed requests; absent without any.
    pub latency: Option<PartTimes>,
    /// submitted − due, of completed requests.
    pub delay: Option<PartTimes>,
    /// Completed requests, from the part's first due time to its last completion; absent if that time is empty.
    pub delivered: Option<Rate>,
    /// Mean of the requests in flight over the same time, failed ones too; absent if nothing completed.
    pub in_flight_mean: Option<f64>,
}

/// Figures of the times of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTimes {
    /// Exact sum divided by the number, rounded.
    pub mean_ns: u64,
    /// Half of the requests took no longer; right to 1 %.
    pub p50_ns: u64,
    /// 99 % took no longer; right to 1 %. Absent below 100 requests.
    pub p99_ns: Option<u64>,
    /// Greatest, exact.
    pub max_ns: u64,
}

/// Durations of a part: 64 steps for each factor of two are right to 0.8 %.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Times {
    sum: u128,
    sketch: Sketch<64>,
}

impl Times {
    #[inline]
    fn add(&mut self, ns: u64) {
        self.sum += u128::from(ns);
        self.sketch.add(ns);
    }

    fn merge(&mut self, other: &Times) {
        self.sum += other.sum;
        self.sketch.merge(&other.sketch);
    }

    fn stats(&self) -> Option<PartTimes> {
        let count = u128::from(self.sketch.count());
        (count > 0).then(|| PartTimes {
            mean_ns: u64::try_from((self.sum + count / 2) / count).unwrap_or(u64::MAX),
            p50_ns: self.sketch.median(),
            p99_ns: self.sketch.p99(),
            max_ns: self.sketch.max(),
        })
    }
}

/// Counters of one part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct PartTally {
    completed: u64,
    failed: u64,
    bytes: u64,
    first_due: u64,
    first_submitted: u64,
    last_completed: u64,
    /// Sum of the times in flight, of failed requests too.
    in_flight_ns: u128,
    latency: Times,
    delay: Times,
}

impl Default for PartTally {
    fn default() -> PartTally {
        PartTally {
            completed: 0,
            failed: 0,
            bytes: 0,
            first_due: u64::MAX,
            first_submitted: u64::MAX,
            last_completed: 0,
            in_flight_ns: 0,
            latency: Times::default(),
            delay: Times::default(),
        }
    }
}

impl PartTally {
    #[inline]
    fn add(&mut self, record: &Record) {
        self.first_due = self.first_due.min(record.due.0);
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return };
        self.first_submitted = self.first_submitted.min(submitted.0);
        self.last_completed = self.last_completed.max(completed.0);
        self.in_flight_ns += u128::from(completed.0.saturating_sub(submitted.0));
        if !record.op.is_transfer() {
            // It kept the target busy, but is in no figure of reads and writes.
        } else if record.is_completed() {
            self.completed += 1;
            self.bytes = self.bytes.saturating_add(u64::try_from(record.result).unwrap_or(0));
            self.latency.add(completed.0.saturating_sub(submitted.0));
            self.delay.add(submitted.0.saturating_sub(record.due.0));
        } else {
            self.failed += 1;
        }
    }

    fn merge(&mut self, other: &PartTally) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.first_due = self.first_due.min(other.first_due);
        self.first_submitted = self.first_submitted.min(other.first_submitted);
        self.last_completed = self.last_completed.max(other.last_completed);
        self.in_flight_ns += other.in_flight_ns;
        self.latency.merge(&other.latency);
        self.delay.merge(&other.delay);
    }

    fn stats(&self, name: String, number: Option<u32>) -> PartStats {
        let phase = None;
        let duration = self.last_completed.checked_sub(self.first_due).filter(|d| *d > 0);
        PartStats {
            name,
            number,
            phase,
            begin_ns: Some(self.first_due).filter(|due| *due != u64::MAX),
            submitted_ns: Some(self.first_submitted).filter(|submitted| *submitted != u64::MAX),
            completed: self.completed,
            failed: self.failed,
            latency: self.latency.stats(),
            delay: self.delay.stats(),
            delivered: duration
                .filter(|_| self.completed > 0)
                .map(|d| Rate::over(self.completed, self.bytes, d)),
            in_flight_mean: duration
                .filter(|_| self.completed > 0)
                .map(|d| self.in_flight_ns as f64 / d as f64),
        }
    }
}

/// Key of a part within a cut: its number, for passes with the phase in the upper bits.
type Key = u64;

/// All parts whose numbers are too high.
const OTHERS: Key = u64::MAX;

fn key(number: u32, most: u32) -> Key {
    if number < most { number.into() } else { OTHERS }
}

fn key_of_pass(record: &Record) -> Key {
    match record.phase {
        0 => key(record.pass, MOST_PASSES),
        phase if u32::from(phase) < MOST_PHASES && record.pass < MOST_PASSES_LATER => {
            Key::from(phase) << 32 | Key::from(record.pass)
        }
        _ => OTHERS,
    }
}

/// One partition of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Cut {
    /// At most one part was seen: the counts of the whole are those of that part.
    Sole(Option<Key>),
    /// Several.
    Many(Many),
}

/// The parts of a cut, in the order of their keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Many {
    parts: Vec<(Key, Box<PartTally>)>,
    /// Index of the last record's part, which is often that of the next one, too.
    #[serde(skip)]
    last: usize,
}

impl PartialEq for Many {
    fn eq(&self, other: &Many) -> bool {
        self.parts == other.parts
    }
}

impl Many {
    #[inline]
    fn part(&mut self, key: Key) -> &mut PartTally {
        if self.parts.get(self.last).is_none_or(|(own, _)| *own != key) {
            self.last = self.parts.binary_search_by_key(&key, |(own, _)| *own).unwrap_or_else(|at| {
                self.parts.insert(at, (key, Box::default()));
                at
            });
        }
        &mut self.parts[self.last].1
    }
}

impl Cut {
    /// Whether a record with this key leaves it with at most one part.
    fn stays_sole(&self, key: Key) -> bool {
        matches!(self, Cut::Sole(None)) || *self == Cut::Sole(Some(key))
    }

    /// The parts by key. `whole` holds the counts from the time with only one part.
    fn into_many(self, whole: &PartTally) -> Many {
        match self {
            Cut::Many(parts) => parts,
            Cut::Sole(None) => Many::default(),
            Cut::Sole(Some(key)) => {
                let mut parts = Many::default();
                parts.part(key).merge(whole);
                parts
            }
        }
    }

    fn add(&mut self, key: Key, whole: &PartTally, record: &Record) {
        if self.stays_sole(key) {
            *self = Cut::Sole(Some(key));
            return;
        }
        if let Cut::Sole(_) = self {
            *self = Cut::Many(std::mem::replace(self, Cut::Sole(None)).into_many(whole));
        }
        if let Cut::Many(parts) = self {
            parts.part(key).add(record);
        }
    }

    fn merge(&mut self, whole: &PartTally, other: &Cut, other_whole: &PartTally) {
        match (&*self, other) {
            (_, Cut::Sole(None)) => return,
            (Cut::Sole(_), Cut::Sole(Some(key))) if self.stays_sole(*key) => {
                *self = Cut::Sole(Some(*key));
                return;
            }
            _ => {}
        }
        let mut parts = std::mem::replace(self, Cut::Sole(None)).into_many(whole);
        for (key, theirs) in &other.clone().into_many(other_whole).parts {
            parts.part(*key).merge(theirs);
        }
        *self = Cut::Many(parts);
    }

    fn stats(&self, name: impl Fn(Key) -> String) -> Vec<PartStats> {
        let Cut::Many(many) = self else { return Vec::new() };
        let stats = |(key, part): &(Key, Box<PartTally>)| match *key {
            OTHERS => part.stats("others".to_string(), None),
            key => {
                let phase = Some((key >> 32) as u32).filter(|phase| *phase > 0);
                PartStats { phase, ..part.stats(name(key), Some(key as u32)) }
            }
        };
        many.parts.iter().map(stats).collect()
    }
}

/// Counts for each target, worker, phase and pass. A single one of a kind is not counted twice: this is on the path of every
/// record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct PartsTally {
    /// By target, worker, phase and pass.
    cuts: [Cut; 4],
    /// All requests, as long as a cut has only one part; nothing afterwards.
    whole: PartTally,
}

impl Default for PartsTally {
    fn default() -> PartsTally {
        PartsTally { cuts: std::array::from_fn(|_| Cut::Sole(None)), whole: PartTally::default() }
    }
}

impl Fits for PartTally {
    fn fits(&self, own: &Self) -> bool {
        self.latency.sketch.fits(&own.latency.sketch) && self.delay.sketch.fits(&own.delay.sketch)
    }
}

impl Fits for PartsTally {
    fn fits(&self, _: &Self) -> bool {
        let own = PartTally::default();
        let is_cut = |cut: &Cut| match cut {
            Cut::Sole(_) => true,
            Cut::Many(many) => {
                many.parts.len() <= MOST_PARTS
                    && many.parts.is_sorted_by(|(key, _), (next, _)| key < next)
                    && many.parts.iter().all(|(_, part)| part.fits(&own))
            }
        };
        self.cuts.iter().all(is_cut) && self.whole.fits(&own)
    }
}

impl ByTarget for PartsTally {
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool {
        let is_own = |key: &Key| *key == OTHERS || is_own(*key as usize);
        match &self.cuts[0] {
            Cut::Sole(key) => key.as_ref().is_none_or(is_own),
            Cut::Many(many) => many.parts.iter().all(|(key, _)| is_own(key)),
        }
    }
}

impl PartsTally {
    /// Adds a record.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        if record.marks.has(Marks::RAMP) {
            return;
        }
        let keys = [
            key(record.target.into(), MOST_TARGETS),
            key(record.worker.into(), MOST_WORKERS),
            key(record.phase.into(), MOST_PHASES),
            key_of_pass(record),
        ];
        for (cut, key) in self.cuts.iter_mut().zip(keys) {
            match cut {
                Cut::Sole(Some(sole)) if *sole == key => {}
                _ => cut.add(key, &self.whole, record),
            }
        }
        if self.wants_whole() {
            self.whole.add(record);
        } else if self.whole.first_due != u64::MAX {
            self.whole = PartTally::default();
        }
    }

    fn wants_whole(&self) -> bool {
        self.cuts.iter().any(|cut| matches!(cut, Cut::Sole(_)))
    }

    /// Merges `other`.
    pub(crate) fn merge(&mut self, other: &PartsTally) {
        for (mine, theirs) in self.cuts.iter_mut().zip(&other.cuts) {
            mine.merge(&self.whole, theirs, &other.whole);
        }
        if self.wants_whole() {
            self.whole.merge(&other.whole);
        } else {
            self.whole = PartTally::default();
        }
    }

    /// The figures of some targets together.
    pub(crate) fn of_targets(&self, targets: &[u16], name: &str) -> PartStats {
        let keys: Vec<Key> = targets.iter().map(|target| key((*target).into(), MOST_TARGETS)).collect();
        let mut sum = PartTally::default();
        for (_, part) in
            self.cuts[0].clone().into_many(&self.whole).parts.iter().filter(|(key, _)| keys.contains(key))
        {
            sum.merge(part);
        }
        sum.stats(name.into(), None)
    }

    /// The figures of all parts, with the names of targets and phases.
    pub(crate) fn stats(&self, targets: &[TargetInfo], phases: &[PhaseTimes]) -> Parts {
        let path = |n: Key| targets.get(n as usize).map_or_else(|| format!("target {n}"), |t| t.path.clone());
        let phase = |n: Key| phases.get(n as usize).map_or_else(|| format!("phase {n}"), |p| p.name.clone());
        let [of_targets, of_workers, of_phases, of_passes] = &self.cuts;
        let passes = of_passes.stats(|key| match phases.is_empty() {
            true => format!("pass {}", key + 1),
            false => format!("{}, pass {}", phase(key >> 32), (key as u32) + 1),
        });
        let phases = of_phases.stats(phase);
        // If each phase has one pass, they are the same.
        let is_alike = !phases.is_empty() && passes.len() == phases.len();
        Parts {
            targets: of_targets.stats(path),
            workers: of_workers.stats(|n| format!("worker {n}")),
            phases,
            passes: if is_alike { Vec::new() } else { passes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_records, record};
    use iosonar_archive::Outcome;
    use iosonar_plan::{Nanos, Op};
    use proptest::prelude::*;

    fn of(records: &[Record]) -> PartsTally {
        let mut tally = PartsTally::default();
        records.iter().for_each(|r| tally.add(r));
        tally
    }

    #[test]
    fn matches_hand_calculation() {
        let mut records: Vec<Record> = (0..400)
            .map(|i| record(i, Op::Read, i * 1_000, i * 1_000 + 10, i * 1_000 + 10 + 100 * (1 + i % 2)))
            .collect();
        for r in &mut records {
            r.pass = (r.sequence % 2) as u32;
        }
        records[0].outcome = Outcome::Failed;
        let parts = of(&records).stats(&[], &[]);
        assert!(parts.targets.is_empty() && parts.workers.is_empty());
        let [even, odd] = parts.passes.as_slice() else { panic!("{parts:?}") };
        assert_eq!(
            (even.name.as_str(), even.number, even.completed, even.failed),
            ("pass 1", Some(0), 199, 1)
        );
        assert_eq!(
            odd.latency,
            Some(PartTimes { mean_ns: 200, p50_ns: 200, p99_ns: Some(200), max_ns: 200 })
        );
        assert_eq!((even.begin_ns, odd.begin_ns), (Some(0), Some(1_000)));
        assert_eq!(even.delay.map(|d| (d.mean_ns, d.max_ns)), Some((10, 10)));
        let rate = odd.delivered.unwrap();
        assert_eq!((rate.requests, rate.bytes, rate.duration_ns), (200, 200 * 4096, 398_210));
        assert_eq!(odd.in_flight_mean, Some(200.0 * 200.0 / 398_210.0));
    }

    #[test]
    fn counts_phases_and_passes_as_parts() {
        let mut records: Vec<Record> = (0..400).map(|i| record(i, Op::Read, i, i, i + 100)).collect();
        for r in &mut records {
            (r.phase, r.pass) = ((r.sequence / 100).min(2) as u16, (r.sequence / 50 % 2) as u32);
        }
        let named = |name: &str| PhaseTimes { name: name.into(), start: Nanos(0), end: Nanos(0) };
        let names = ["write", "read", "write again"].map(named);
        let parts = of(&records).stats(&[], &names);
        let completed = |list: &[PartStats]| -> Vec<(String, Option<u32>, u64)> {
            list.iter().map(|p| (p.name.clone(), p.phase, p.completed)).collect()
        };
        let phases = [("write", None, 100), ("read", None, 100), ("write again", None, 200)];
        assert_eq!(completed(&parts.phases), phases.map(|(name, phase, n)| (name.into(), phase, n)));
        assert_eq!(parts.passes.len(), 6);
        assert_eq!(completed(&parts.passes)[3], ("read, pass 2".into(), Some(1), 50));
        assert_eq!(parts.passes[5].number, Some(1));
        // One pass of each phase is the phase.
        records.iter_mut().for_each(|r| r.pass = 0);
        let parts = of(&records).stats(&[], &names);
        assert_eq!((parts.phases.len(), parts.passes.len()), (3, 0));
    }

    #[test]
    fn counts_excess_parts_together_as_others() {
        let mut records: Vec<Record> = (0..6_000).map(|i| record(i, Op::Read, i, i, i + 1)).collect();
        for r in &mut records {
            (r.pass, r.worker, r.target) = (r.sequence as u32, r.sequence as u16, 3);
        }
        let parts = of(&records).stats(&[], &[]);
        assert_eq!((parts.targets.len(), parts.workers.len(), parts.passes.len()), (0, 1025, 4097));
        let others = parts.passes.last().unwrap();
        assert_eq!((others.name.as_str(), others.number, others.completed), ("others", None, 6_000 - 4_096));
        assert_eq!(parts.workers.iter().map(|w| w.completed).sum::<u64>(), 6_000);
    }

    proptest! {
        #[test]
        fn any_split_of_parts_merges_to_the_whole(
            mut records in any_records(),
            kinds in prop::collection::vec((0u16..3, 0u32..3, 0u16..3), 120),
            parts in 1usize..5,
            few in any::<bool>(),
        ) {
            for (r, (worker, pass, phase)) in records.iter_mut().zip(kinds) {
                (r.worker, r.pass, r.phase) = if few { (worker, 0, 0) } else { (worker, pass, phase) };
            }
            let mut merged = PartsTally::default();
            for part in (0..parts).rev() {
                let some: Vec<_> = records.iter().copied().skip(part).step_by(parts).collect();
                merged.merge(&of(&some));
            }
            prop_assert_eq!(&merged, &of(&records));
            let stats = merged.stats(&[], &[]);
            let counts = |r: &&Record| r.op.is_transfer() && r.is_completed() && !r.marks.has(Marks::RAMP);
            let completed = records.iter().filter(counts).count() as u64;
            for list in [&stats.targets, &stats.workers, &stats.phases, &stats.passes] {
                prop_assert!(list.is_empty() || list.iter().map(|p| p.completed).sum::<u64>() == completed);
            }
        }
    }
}
