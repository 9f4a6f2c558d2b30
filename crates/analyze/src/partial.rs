//! The counts of a part of a run. Parts are counted in one place and merged in another, in any order, with the result of one pass over all
//! records; only what needs the order of all requests is not among them.

use crate::fits::{ByTarget, Fits};
use crate::resolution::Resolution;
use crate::{Detail, Diagrams, Limits, Tally, is_memory_scarce, memory};
use iosonar_archive::Record;
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Most threads that read and merge counts: each has some MiB of them.
const MOST_WORKERS: usize = 4;

/// Scope of the counting. Parts can be merged if it is the same for all.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'a> {
    /// Number of targets of the run.
    pub targets: usize,
    /// Figures of what happened, with these limits.
    pub limits: Option<&'a Limits>,
    /// Counts for pictures.
    pub diagrams: Option<Detail>,
}

/// First bytes of stored counts. The number is raised with every change of what is counted.
const MAGIC: &[u8] = b"iosonar counts 1\n";

/// Counts of some of the records of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    resolution: Resolution,
    pub(crate) records: u64,
    pub(crate) tally: Option<Tally>,
    pub(crate) diagrams: Option<Diagrams>,
}

impl Partial {
    /// No records.
    pub fn new(counted: Counted<'_>) -> Partial {
        Partial::lasting(counted, 0, None)
    }

    /// No records of a part of a run that has this number of parts. With very many parts, columns of pictures are wide, and the sample
    /// is small.
    pub fn one_of(parts: usize, counted: Counted<'_>) -> Partial {
        Partial::with_columns(Resolution::for_parts(parts), counted, 0)
    }

    /// No records of a run that lasts until about `end_ns`.
    pub(crate) fn lasting(counted: Counted<'_>, end_ns: u64, throughput_window_ns: Option<u64>) -> Partial {
        let mut partial = Partial::with_columns(Resolution::here(), counted, end_ns);
        partial.diagrams =
            partial.diagrams.map(|diagrams| diagrams.with_throughput_windows(throughput_window_ns));
        partial
    }

    fn with_columns(resolution: Resolution, counted: Counted<'_>, end_ns: u64) -> Partial {
        Partial {
            resolution,
            records: 0,
            tally: counted.limits.map(|limits| Tally::new(counted.targets, limits)),
            diagrams: counted.diagrams.map(|detail| Diagrams::with_columns(end_ns, detail, resolution)),
        }
    }

    /// Number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Counts a record. `number`: count of the records before it in its archive.
    pub fn add(&mut self, number: u64, record: &Record) {
        self.records += 1;
        if let Some(tally) = &mut self.tally {
            tally.add(record);
        }
        if let Some(diagrams) = &mut self.diagrams {
            diagrams.add(number, record);
        }
    }

    /// Merges the counts of other records.
    pub fn merge(&mut self, other: Partial) {
        self.records += other.records;
        if let (Some(mine), Some(theirs)) = (&mut self.tally, &other.tally) {
            mine.merge(theirs);
        }
        if let (Some(mine), Some(theirs)) = (&mut self.diagrams, other.diagrams) {
            mine.merge(theirs);
        }
    }

    /// Whether its figures concern these targets only.
    pub fn is_about(&self, targets: &[u16]) -> bool {
        let is_own = |target: usize| targets.iter().any(|own| usize::from(*own) == target);
        self.tally.as_ref().is_none_or(|tally| tally.concerns_only(&is_own))
    }

    /// Keeps fewer requests of the sample, as one of many parts. Counts and distributions are not changed.
    #[must_use]
    pub fn as_one_of(mut self, parts: usize) -> Partial {
        if let Some(tally) = &mut self.tally {
            tally.thin_sample(parts);
        }
        self
    }

    /// The counts as bytes, for [`Partial::stored`].
    ///
    /// # Panics
    /// Never: what is counted has a stored form.
    pub fn to_bytes(&self) -> Vec<u8> {
        Partial::framed(&postcard::to_stdvec(self).expect("all counts are of types that can be stored"))
    }

    /// Stored counts with these bytes as the counts, for tests of bytes of others.
    #[doc(hidden)]
    pub fn framed(counts: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, counts].concat();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes
    }

    /// The counts that another process has stored, perhaps with other limits or wider columns.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if they are damaged, or counts of something else.
    pub fn stored(counted: Counted<'_>, bytes: &[u8]) -> io::Result<Partial> {
        let counts = decoded(bytes)?;
        let own = Partial::with_columns(counts.resolution, counted, 0);
        match counts.fits(&own) {
            true => Ok(counts),
            false => Err(invalid("its counts are those of another plan")),
        }
    }

    /// Scope of the counting, and the columns.
    fn kind(&self) -> (Resolution, Option<usize>, Option<Detail>) {
        let (tally, diagrams) = (self.tally.as_ref(), self.diagrams.as_ref());
        (self.resolution, tally.map(Tally::targets), diagrams.map(Diagrams::detail))
    }

    /// The limits of the tally.
    pub(crate) fn limits(&self) -> Option<Limits> {
        self.tally.as_ref().map(Tally::limits)
    }

    /// Merges counts that another process has stored, with the same limits and columns.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if they are damaged, or counts of something else; nothing is merged then.
    pub fn merge_stored(&mut self, bytes: &[u8]) -> io::Result<()> {
        let other = decoded(bytes)?;
        match other.resolution == self.resolution && other.fits(self) {
            true => self.merge_like(other),
            false => Err(invalid("these are counts of another plan, or of a process with other memory")),
        }
    }

    /// Merges counts from elsewhere.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if these are counts of something else, with other limits or other columns; nothing is merged then.
    pub fn merge_like(&mut self, other: Partial) -> io::Result<()> {
        self.check_like(&other)?;
        self.merge(other);
        Ok(())
    }

    /// Whether the same is counted.
    fn check_like(&self, other: &Partial) -> io::Result<()> {
        if other.limits() != self.limits() {
            return Err(invalid("these are counts with other limits"));
        }
        match other.kind() == self.kind() {
            true => Ok(()),
            false => Err(invalid("these are counts of another plan, or of a process with other memory")),
        }
    }
}

/// Merges the counts of several parts, each read by `read`; `None` for one without counts. Returns what could be merged, and the errors of the
/// others with their numbers. All have to be like those of the first part that can be read.
pub fn merge_parts(
    parts: usize,
    read: impl Fn(usize) -> io::Result<Option<Partial>> + Sync,
) -> (Option<Partial>, Vec<(usize, io::Error)>) {
    let mut failed = Vec::new();
    let mut numbers = 0..parts;
    let first = numbers.find_map(|number| match read(number) {
        Ok(own) => own,
        Err(error) => {
            failed.push((number, error));
            None
        }
    });
    let Some(mut all) = first else { return (None, failed) };
    let next = AtomicUsize::new(numbers.start);
    let work = || {
        let (mut merged, mut failed) = (None, Vec::new());
        let numbers =
            std::iter::repeat_with(|| next.fetch_add(1, Relaxed)).take_while(|number| *number < parts);
        for number in numbers {
            let added = read(number).and_then(|own| own.map_or(Ok(()), |own| add(&mut merged, own, &all)));
            failed.extend(added.err().map(|error| (number, error)));
        }
        (merged, failed)
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(memory::of(MOST_WORKERS, 1));
    let done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("merging does not panic")).collect()
    });
    for (merged, of_worker) in done {
        failed.extend(of_worker);
        merged.into_iter().for_each(|merged| all.merge(merged));
    }
    failed.sort_by_key(|(number, _)| *number);
    (Some(all), failed)
}

/// Adds counts like these.
fn add(merged: &mut Option<Partial>, own: Partial, like: &Partial) -> io::Result<()> {
    like.check_like(&own)?;
    match merged {
        Some(merged) => merged.merge(own),
        None => *merged = Some(own),
    }
    Ok(())
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// The counts of [`Partial::to_bytes`].
fn decoded(bytes: &[u8]) -> io::Result<Partial> {
    let body = bytes.strip_prefix(MAGIC).ok_or_else(|| invalid("its counts are of another version"))?;
    let (body, sum) = body.split_last_chunk().ok_or_else(|| invalid("its counts are not complete"))?;
    let damaged = || invalid("its counts are damaged");
    if crc32fast::hash(&bytes[..MAGIC.len() + body.len()]) != u32::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let counts: Partial = postcard::from_bytes(body).map_err(|_| damaged())?;
    match is_memory_scarce() && counts.resolution == Resolution::Fine {
        true => Err(invalid("its counts are those of a process with more memory than this one may use")),
        false => Ok(counts),
    }
}

/// Whether both are absent, or both are there and fit.
fn both_fit<T: Fits>(theirs: Option<&T>, own: Option<&T>) -> bool {
    match (theirs, own) {
        (Some(theirs), Some(own)) => theirs.fits(own),
        (theirs, own) => theirs.is_none() && own.is_none(),
    }
}

impl Fits for Partial {
    fn fits(&self, own: &Self) -> bool {
        both_fit(self.tally.as_ref(), own.tally.as_ref())
            && both_fit(self.diagrams.as_ref(), own.diagrams.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{any_records, record};
    use crate::{Wanted, pass};
    use iosonar_plan::Op;
    use proptest::prelude::*;

    fn counted(limits: &Limits) -> Counted<'_> {
        Counted { targets: 2, limits: Some(limits), diagrams: Some(Detail::Full) }
    }

    fn of(records: &[Record]) -> Partial {
        let mut counts = Partial::new(counted(&Limits::default()));
        records.iter().for_each(|record| counts.add(0, record));
        counts
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(6))]
        #[test]
        fn parts_from_elsewhere_merge_to_the_result_of_one_pass(records in any_records(), parts in 1usize..5) {
            let limits = Limits::default();
            let wanted = Wanted { tally: true, diagrams: Some(Detail::Full), ..Wanted::nothing() };
            let whole = pass(&records, 2, &limits, &wanted).unwrap();
            let mut merged = Partial::new(counted(&limits));
            for part in (0..parts).rev() {
                let mut some = Partial::new(counted(&limits));
                let numbered = (0..).zip(&records).skip(part).step_by(parts);
                numbered.for_each(|(number, record)| some.add(number, record));
                merged.merge_like(Partial::stored(counted(&limits), &some.to_bytes()).unwrap()).unwrap();
            }
            prop_assert_eq!(merged.records(), records.len() as u64);
            let mut tally = merged.tally.unwrap();
            tally.most_waiting = whole.tally.as_ref().unwrap().most_waiting;
            prop_assert!(Some(&tally) == whole.tally.as_ref());
            let mut diagrams = merged.diagrams.unwrap();
            let mut ordered = crate::Ordered::new();
            records.iter().filter_map(crate::Step::of).for_each(|step| ordered.add(&step));
            diagrams.finish(ordered);
            prop_assert!(Some(&diagrams) == whole.diagrams.as_ref());
        }

        #[test]
        fn damaged_counts_are_refused(records in any_records(), at: prop::sample::Index, change in 1u8..) {
            let mut bytes = of(&records).to_bytes();
            let place = at.index(bytes.len());
            bytes[place] ^= change;
            prop_assert!(Partial::stored(counted(&Limits::default()), &bytes).is_err());
            prop_assert!(Partial::stored(counted(&Limits::default()), &bytes[..place]).is_err());
        }

        #[test]
        fn counts_of_a_hostile_process_are_refused_or_harmless(records in any_records(), at: prop::sample::Index, byte: u8) {
            let limits = Limits::default();
            let stored = of(&records).to_bytes();
            let mut body = stored[MAGIC.len()..stored.len() - 4].to_vec();
            let place = at.index(body.len());
            // A byte without its upper bit is no longer number than the one before.
            body[place] = body[place] & 0x80 | byte & 0x7f;
            if let Ok(some) = Partial::stored(counted(&limits), &Partial::framed(&body)) {
                let mut merged = Partial::new(counted(&limits));
                merged.merge_like(some).unwrap();
                let tally = merged.tally.as_ref().unwrap();
                let _ = (tally.latency().all.stats(), tally.percentiles(&[]), tally.losses().slices().len());
                merged.diagrams.as_mut().unwrap().finish(crate::Ordered::new());
            }
        }

        #[test]
        fn very_many_parts_merge_to_one_with_wide_columns(records in any_records()) {
            let limits = Limits::default();
            let mut merged = Partial::one_of(1_000, counted(&limits));
            for some in records.chunks(9) {
                let mut part = Partial::one_of(1_000, counted(&limits));
                some.iter().for_each(|record| part.add(0, record));
                merged.merge_like(Partial::stored(counted(&limits), &part.to_bytes()).unwrap()).unwrap();
            }
            let mut whole = Partial::one_of(1_000, counted(&limits));
            records.iter().for_each(|record| whole.add(0, record));
            for counts in [&mut merged, &mut whole] {
                counts.diagrams.as_mut().unwrap().finish(crate::Ordered::new());
            }
            prop_assert!(merged == whole);
            prop_assert!(Partial::new(counted(&limits)).merge_like(merged).is_err());
        }
    }

    /// Another form is another version: raise the number in [`MAGIC`]. `BLESS=1` writes the seed of the fuzz target again.
    #[test]
    fn the_form_of_this_version_does_not_change() {
        let limits = Limits::default();
        let mut counts = Partial::new(Counted { targets: 1, ..counted(&limits) });
        for (number, at) in [0, 1_000, 900_000].into_iter().enumerate() {
            counts.add(number as u64, &record(number as u64, Op::Read, at, at + 50, at + 80_000));
        }
        let stored = counts.to_bytes();
        let body = &stored[MAGIC.len()..stored.len() - 4];
        let seed = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/counts/three_reads");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(seed, body).unwrap();
        }
        assert!(std::fs::read(seed).unwrap() == body, "BLESS=1 writes it again");
    }

    #[test]
    fn a_part_that_cannot_be_read_does_not_affect_the_others() {
        let one = |number: usize| of(&[record(number as u64, Op::Read, 0, 50, 80_000 + number as u64)]);
        let read = |number| match number {
            3 => Err(invalid("lost")),
            4 => Ok(None),
            number => Ok(Some(one(number))),
        };
        let (merged, failed) = merge_parts(20, read);
        assert_eq!(merged.unwrap().records(), 18);
        assert_eq!(
            failed.iter().map(|(number, why)| (*number, why.to_string())).collect::<Vec<_>>(),
            [(3, "lost".into())]
        );
        assert!(merge_parts(0, |_| Ok(None)).0.is_none());
        // One with other columns is named, whichever thread reads it.
        let limits = Limits::default();
        let mixed = |number| {
            Ok(Some(if number == 7 { Partial::one_of(1_000, counted(&limits)) } else { one(number) }))
        };
        let (merged, failed) = merge_parts(20, mixed);
        assert_eq!((merged.unwrap().records(), failed.len(), failed[0].0), (19, 1, 7));
    }

    #[test]
    fn counts_of_another_plan_are_refused() {
        let limits = Limits::default();
        let mut own = Partial::new(counted(&limits));
        let others = [
            Counted { targets: 3, ..counted(&limits) },
            Counted { limits: None, ..counted(&limits) },
            Counted { diagrams: Some(Detail::Course), ..counted(&limits) },
        ];
        for other in others {
            let bytes = Partial::new(other).to_bytes();
            let why = Partial::stored(counted(&limits), &bytes).unwrap_err().to_string();
            assert_eq!(why, "its counts are those of another plan");
            assert!(own.merge_like(Partial::new(other)).is_err());
        }
        let why = Partial::stored(counted(&limits), b"{\"records\":1}").unwrap_err().to_string();
        assert_eq!(why, "its counts are of another version");
    }
}
