//! The same figures for each target, worker and pass by itself, in bounded memory.

use crate::Rate;
use crate::sketch::Sketch;
use iosonar_archive::{Marks, Record, TargetInfo};
use serde::{Deserialize, Serialize};

/// Most targets that are kept apart.
pub(crate) const MOST_TARGETS: u32 = 4096;
/// Most workers that are kept apart.
pub(crate) const MOST_WORKERS: u32 = 1024;
/// Most passes that are kept apart.
pub(crate) const MOST_PASSES: u32 = 4096;

/// Figures of each part of the run. A list is empty where there is only one such part: it would repeat the whole.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// For each target, by its number in the plan.
    pub targets: Vec<PartStats>,
    /// For each worker of the engine.
    pub workers: Vec<PartStats>,
    /// For each pass.
    pub passes: Vec<PartStats>,
}

/// Figures of one part. Requests of a ramp are left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartStats {
    /// Path of the target, or `worker 3`, `pass 1` (passes count from 1 in words); `others` for all those whose number is too high to keep them apart.
    pub name: String,
    /// Its number, from 0; absent for the others.
    pub number: Option<u32>,
    /// Its first due time, since the start of the run; absent where nothing was due.
    #[serde(default)]
    pub begin_ns: Option<u64>,
    /// Requests that transferred all their bytes.
    pub completed: u64,
    /// Requests that the kernel refused, or that stayed short.
    pub failed: u64,
    /// completed − submitted, of completed requests; absent without any.
    pub latency: Option<PartTimes>,
    /// submitted − due, of completed requests.
    pub delay: Option<PartTimes>,
    /// Completed requests, from the part's first due time to its last completion; absent where that is no time at all.
    pub delivered: Option<Rate>,
    /// Mean of the requests in flight over the same time, failed ones too; absent where nothing completed.
    #[serde(default)]
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
#[derive(Debug, Clone, PartialEq, Default)]
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

/// What is counted of one part.
#[derive(Debug, Clone, PartialEq)]
struct PartTally {
    completed: u64,
    failed: u64,
    bytes: u64,
    first_due: u64,
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
        self.last_completed = self.last_completed.max(completed.0);
        self.in_flight_ns += u128::from(completed.0.saturating_sub(submitted.0));
        if record.is_completed() {
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
        self.last_completed = self.last_completed.max(other.last_completed);
        self.in_flight_ns += other.in_flight_ns;
        self.latency.merge(&other.latency);
        self.delay.merge(&other.delay);
    }

    fn stats(&self, name: String, number: Option<u32>) -> PartStats {
        let duration = self.last_completed.checked_sub(self.first_due).filter(|d| *d > 0);
        PartStats {
            name,
            number,
            begin_ns: Some(self.first_due).filter(|due| *due != u64::MAX),
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

/// One way to cut the run into parts.
#[derive(Debug, Clone, PartialEq)]
enum Cut {
    /// Not more than one part was seen: what is counted of the whole is that part's.
    Sole(Option<u32>),
    /// By number; the last that can be there holds all the others.
    Many(Vec<Option<Box<PartTally>>>),
}

impl Cut {
    /// Whether a record with this number leaves it with one part at most.
    fn stays_sole(&self, number: u32) -> bool {
        matches!(self, Cut::Sole(None)) || *self == Cut::Sole(Some(number))
    }

    /// The parts by number. `whole` is what was counted as long as there was only one.
    fn into_many(self, whole: &PartTally) -> Vec<Option<Box<PartTally>>> {
        match self {
            Cut::Many(parts) => parts,
            Cut::Sole(None) => Vec::new(),
            Cut::Sole(Some(number)) => {
                let mut parts = Vec::new();
                part_of(&mut parts, number).merge(whole);
                parts
            }
        }
    }

    fn add(&mut self, number: u32, whole: &PartTally, record: &Record) {
        if self.stays_sole(number) {
            *self = Cut::Sole(Some(number));
            return;
        }
        if let Cut::Sole(_) = self {
            *self = Cut::Many(std::mem::replace(self, Cut::Sole(None)).into_many(whole));
        }
        if let Cut::Many(parts) = self {
            part_of(parts, number).add(record);
        }
    }

    fn merge(&mut self, whole: &PartTally, other: &Cut, other_whole: &PartTally) {
        match (&*self, other) {
            (_, Cut::Sole(None)) => return,
            (Cut::Sole(_), Cut::Sole(Some(number))) if self.stays_sole(*number) => {
                *self = Cut::Sole(Some(*number));
                return;
            }
            _ => {}
        }
        let mut parts = std::mem::replace(self, Cut::Sole(None)).into_many(whole);
        for (number, theirs) in (0..).zip(other.clone().into_many(other_whole)) {
            if let Some(theirs) = theirs {
                part_of(&mut parts, number).merge(&theirs);
            }
        }
        *self = Cut::Many(parts);
    }

    fn stats(&self, most: u32, name: impl Fn(u32) -> String) -> Vec<PartStats> {
        let Cut::Many(parts) = self else { return Vec::new() };
        let used = (0..).zip(parts).filter_map(|(number, part)| Some((number, part.as_deref()?)));
        used.map(|(number, part)| match number < most {
            true => part.stats(name(number), Some(number)),
            false => part.stats("others".to_string(), None),
        })
        .collect()
    }
}

fn part_of(parts: &mut Vec<Option<Box<PartTally>>>, number: u32) -> &mut PartTally {
    let index = number as usize;
    if index >= parts.len() {
        parts.resize_with(index + 1, || None);
    }
    parts[index].get_or_insert_with(Box::default)
}

/// Counts for each target, worker and pass. Where there is only one of a kind, nothing is counted twice: this lies on
/// the path of every record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PartsTally {
    /// By target, worker and pass.
    cuts: [Cut; 3],
    /// All requests, as long as a cut has only one part; nothing afterwards.
    whole: PartTally,
}

impl Default for PartsTally {
    fn default() -> PartsTally {
        PartsTally { cuts: std::array::from_fn(|_| Cut::Sole(None)), whole: PartTally::default() }
    }
}

impl PartsTally {
    /// Takes one more record into account.
    #[inline]
    pub(crate) fn add(&mut self, record: &Record) {
        if record.marks.has(Marks::RAMP) {
            return;
        }
        let numbers = [
            u32::from(record.target).min(MOST_TARGETS),
            u32::from(record.worker).min(MOST_WORKERS),
            record.pass.min(MOST_PASSES),
        ];
        for (cut, number) in self.cuts.iter_mut().zip(numbers) {
            match cut {
                Cut::Sole(Some(sole)) if *sole == number => {}
                _ => cut.add(number, &self.whole, record),
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

    /// Takes all of `other` into account too.
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

    /// The figures of all parts.
    pub(crate) fn stats(&self, targets: &[TargetInfo]) -> Parts {
        let path = |n: u32| targets.get(n as usize).map_or_else(|| format!("target {n}"), |t| t.path.clone());
        Parts {
            targets: self.cuts[0].stats(MOST_TARGETS, path),
            workers: self.cuts[1].stats(MOST_WORKERS, |n| format!("worker {n}")),
            passes: self.cuts[2].stats(MOST_PASSES, |n| format!("pass {}", n + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_records, record};
    use iosonar_archive::Outcome;
    use iosonar_plan::Op;
    use proptest::prelude::*;

    fn of(records: &[Record]) -> PartsTally {
        let mut tally = PartsTally::default();
        records.iter().for_each(|r| tally.add(r));
        tally
    }

    #[test]
    fn by_hand() {
        let mut records: Vec<Record> = (0..400)
            .map(|i| record(i, Op::Read, i * 1_000, i * 1_000 + 10, i * 1_000 + 10 + 100 * (1 + i % 2)))
            .collect();
        for r in &mut records {
            r.pass = (r.sequence % 2) as u32;
        }
        records[0].outcome = Outcome::Failed;
        let parts = of(&records).stats(&[]);
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
    fn high_numbers_are_counted_together() {
        let mut records: Vec<Record> = (0..6_000).map(|i| record(i, Op::Read, i, i, i + 1)).collect();
        for r in &mut records {
            (r.pass, r.worker, r.target) = (r.sequence as u32, r.sequence as u16, 3);
        }
        let parts = of(&records).stats(&[]);
        assert_eq!((parts.targets.len(), parts.workers.len(), parts.passes.len()), (0, 1025, 4097));
        let others = parts.passes.last().unwrap();
        assert_eq!((others.name.as_str(), others.number, others.completed), ("others", None, 6_000 - 4_096));
        assert_eq!(parts.workers.iter().map(|w| w.completed).sum::<u64>(), 6_000);
    }

    proptest! {
        #[test]
        fn parts_of_any_split_merge_to_the_whole(
            mut records in any_records(), kinds in prop::collection::vec((0u16..3, 0u32..3), 120), parts in 1usize..5,
            few in any::<bool>(),
        ) {
            for (r, (worker, pass)) in records.iter_mut().zip(kinds) {
                (r.worker, r.pass) = (worker, if few { 0 } else { pass });
            }
            let mut merged = PartsTally::default();
            for part in (0..parts).rev() {
                let some: Vec<_> = records.iter().copied().skip(part).step_by(parts).collect();
                merged.merge(&of(&some));
            }
            prop_assert_eq!(&merged, &of(&records));
            let stats = merged.stats(&[]);
            let completed = records.iter().filter(|r| r.is_completed() && !r.marks.has(Marks::RAMP)).count() as u64;
            for list in [&stats.targets, &stats.workers, &stats.passes] {
                prop_assert!(list.is_empty() || list.iter().map(|p| p.completed).sum::<u64>() == completed);
            }
        }
    }
}
