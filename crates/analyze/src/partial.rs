//! The counts of a part of a run. Parts are counted in one place and merged in another, in any order, with the result of one pass over all
//! records; only what needs the order of all requests is not among them.

use crate::fits::{ByTarget, Fits};
use crate::{Detail, Diagrams, Limits, Tally, is_memory_scarce};
use iosonar_archive::Record;
use serde::{Deserialize, Serialize};
use std::io;

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

/// Counts of some of the records of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Partial {
    pub(crate) records: u64,
    pub(crate) tally: Option<Tally>,
    pub(crate) diagrams: Option<Diagrams>,
}

impl Partial {
    /// No records.
    pub fn new(counted: Counted<'_>) -> Partial {
        Partial::lasting(counted, 0, None)
    }

    /// No records of a run that lasts until about `end_ns`.
    pub(crate) fn lasting(counted: Counted<'_>, end_ns: u64, throughput_window_ns: Option<u64>) -> Partial {
        let diagrams = |detail| Diagrams::new(end_ns, detail).with_throughput_windows(throughput_window_ns);
        Partial {
            records: 0,
            tally: counted.limits.map(|limits| Tally::new(counted.targets, limits)),
            diagrams: counted.diagrams.map(diagrams),
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

    /// The counts as JSON, for [`Partial::merge_json`].
    ///
    /// # Errors
    /// Writing failed.
    pub fn write_json(&self, to: impl io::Write) -> io::Result<()> {
        serde_json::to_writer(to, self).map_err(io::Error::from)
    }

    /// The counts that another process has written as JSON, perhaps with other limits.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if they are damaged, or counts of something else.
    pub fn of_json(counted: Counted<'_>, json: &[u8]) -> io::Result<Partial> {
        parsed(json, &Partial::new(counted))
    }

    /// The limits of the tally.
    pub(crate) fn limits(&self) -> Option<Limits> {
        self.tally.as_ref().map(Tally::limits)
    }

    /// Merges counts that another process has written as JSON.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if they are damaged, or counts of something else; nothing is merged then.
    pub fn merge_json(&mut self, json: &[u8]) -> io::Result<()> {
        self.merge_like(parsed(json, self)?)
    }

    /// Merges counts with the same limits.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidData`] if their limits differ; nothing is merged then.
    pub fn merge_like(&mut self, other: Partial) -> io::Result<()> {
        if other.limits() != self.limits() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "these are counts with other limits"));
        }
        self.merge(other);
        Ok(())
    }
}

/// Counts of which figures can be made like those of `own`.
fn parsed(json: &[u8], own: &Partial) -> io::Result<Partial> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let damaged = |error| invalid(format!("its counts are damaged, or of another version ({error})"));
    let counts: Partial = serde_json::from_slice(json).map_err(damaged)?;
    match counts.fits(own) {
        true => Ok(counts),
        false if is_memory_scarce() => {
            Err(invalid("its counts are those of a process with more memory than this one may use".into()))
        }
        false => {
            Err(invalid("its counts are those of another plan, or of a process with little memory".into()))
        }
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
    use crate::testing::any_records;
    use crate::{Wanted, pass};
    use proptest::prelude::*;

    fn counted(limits: &Limits) -> Counted<'_> {
        Counted { targets: 2, limits: Some(limits), diagrams: Some(Detail::Full) }
    }

    fn json_of(partial: &Partial) -> Vec<u8> {
        let mut json = Vec::new();
        partial.write_json(&mut json).unwrap();
        json
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
                merged.merge_json(&json_of(&some)).unwrap();
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
        fn damaged_counts_are_refused_or_harmless(records in any_records(), at: prop::sample::Index, digit in 0u8..10) {
            let limits = Limits::default();
            let mut some = Partial::new(counted(&limits));
            records.iter().for_each(|record| some.add(0, record));
            let mut json = json_of(&some);
            let digits: Vec<usize> = (0..json.len()).filter(|place| json[*place].is_ascii_digit()).collect();
            json[digits[at.index(digits.len())]] = b'0' + digit;
            let mut merged = Partial::new(counted(&limits));
            if merged.merge_json(&json).is_ok() {
                let tally = merged.tally.as_ref().unwrap();
                let _ = (tally.latency().all.stats(), tally.percentiles(&[]), tally.losses().slices().len());
                merged.diagrams.as_mut().unwrap().finish(crate::Ordered::new());
            }
        }
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
            let why = own.merge_json(&json_of(&Partial::new(other))).unwrap_err().to_string();
            assert!(why.starts_with("its counts are those of another plan"), "{why}");
        }
        assert!(own.merge_json(b"{\"records\":1}").is_err());
    }
}
