//! The phases of two runs, each compared by itself.

use super::{Answer, Blocks, Comparison, Errors, Facts, Figure, Run, SameLoad, compare_within};
use crate::Records;
use iosonar_archive::{Fields, PhaseTimes, Record};
use iosonar_plan::Nanos;
use serde::Serialize;
use std::io;

/// Maximum number of phases that are compared. Each takes two readings of both runs, and its share of the error probability
/// must not be below a thousandth, the resolution of the simulation in `family`.
const MOST: usize = 29;

/// A phase that both runs have, by its name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PhaseComparison {
    /// Its name.
    pub name: String,
    /// The answer in a sentence.
    pub answer: Answer,
    /// The phase in A.
    pub a: Facts,
    /// The phase in B.
    pub b: Facts,
    /// Whether both did the same in it.
    pub load: SameLoad,
    /// Every figure that both have.
    pub figures: Vec<Figure>,
}

/// The phases of both runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Phases {
    /// Phases that both have, in the order of A.
    pub both: Vec<PhaseComparison>,
    /// Names of phases that only A has, and of those that were too many to compare.
    pub only_a: Vec<String>,
    /// Names of phases that only B has.
    pub only_b: Vec<String>,
}

impl Phases {
    /// Whether neither run has phases.
    pub fn is_empty(&self) -> bool {
        self.both.is_empty() && self.only_a.is_empty() && self.only_b.is_empty()
    }

    /// How many comparisons share the error probability of the whole, that of the whole runs included.
    pub(super) fn sharing(a: &Run, b: &Run) -> usize {
        1 + pairs(a, b).len()
    }

    /// Compares those that both runs have, each with `errors`.
    pub(super) fn compare(a: &Run, b: &Run, errors: Errors) -> io::Result<Phases> {
        let pairs = pairs(a, b);
        let compare = |pair: &(u16, u16)| phase((a, pair.0), (b, pair.1), errors);
        let both = pairs.iter().map(compare).collect::<io::Result<Vec<_>>>()?;
        let others = |run: &Run| {
            let is_other = |phase: &&PhaseTimes| both.iter().all(|pair| pair.name != phase.name);
            run.phases.iter().filter(is_other).map(|phase| phase.name.clone()).collect()
        };
        let (only_a, only_b) = (others(a), others(b));
        Ok(Phases { both, only_a, only_b })
    }
}

/// Numbers of the phases that have the same name.
fn pairs(a: &Run, b: &Run) -> Vec<(u16, u16)> {
    let in_b = |name: &str| b.phases.iter().position(|phase| phase.name == name);
    let in_a = a.phases.iter().enumerate();
    in_a.filter_map(|(i, phase)| Some((i as u16, in_b(&phase.name)? as u16))).take(MOST).collect()
}

fn phase((a, of_a): (&Run, u16), (b, of_b): (&Run, u16), errors: Errors) -> io::Result<PhaseComparison> {
    let (records_a, records_b) = (OfPhase::new(a, of_a), OfPhase::new(b, of_b));
    let (part_a, part_b) = (part(a, &records_a), part(b, &records_b));
    let blocks = |run: &Run| Blocks::read(run.records, run.has_timetable);
    let compared = compare_within((&part_a, &blocks(&part_a)?), (&part_b, &blocks(&part_b)?), errors)?;
    let Comparison { answer, a: facts_a, b: facts_b, load, figures, .. } = compared;
    let name = a.phases[usize::from(of_a)].name.clone();
    Ok(PhaseComparison { name, answer, a: facts_a, b: facts_b, load, figures })
}

/// Restricts a run to a phase.
fn part<'a>(run: &Run<'a>, records: &'a OfPhase<'a>) -> Run<'a> {
    Run {
        name: run.name.clone(),
        records,
        plan: run.plan,
        environment: serde_json::Value::Null,
        has_timetable: run.has_timetable,
        phases: &[],
        incomplete: None,
        verdict: None,
    }
}

/// The records of a phase, as if it were the only one: its number and the time of its start are 0.
struct OfPhase<'a> {
    records: &'a dyn Records,
    number: u16,
    start: Nanos,
}

impl<'a> OfPhase<'a> {
    fn new(run: &Run<'a>, number: u16) -> OfPhase<'a> {
        OfPhase { records: run.records, number, start: run.phases[usize::from(number)].start }
    }

    fn of(&self, record: &Record) -> Record {
        let since = |time: Nanos| time.saturating_sub(self.start);
        Record {
            phase: 0,
            due: since(record.due),
            released: record.released.map(since),
            submitted: record.submitted.map(since),
            completed: record.completed.map(since),
            ..*record
        }
    }
}

impl Records for OfPhase<'_> {
    fn parts(&self) -> usize {
        self.records.parts()
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        let mut own = Vec::new();
        self.records.read_part(part, wanted.and(Fields::ORIGIN), &mut |piece| {
            own.clear();
            own.extend(
                piece.iter().filter(|record| record.phase == self.number).map(|record| self.of(record)),
            );
            f(&own);
        })
    }

    fn displacement(&self) -> usize {
        self.records.displacement()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::record;
    use iosonar_plan::Op;

    /// Two phases of 4 s each; requests of the second take `latency` nanoseconds.
    fn run(latency: u64) -> Vec<Record> {
        let one = |i: u64| {
            let (begin, second) = (i * 1_000_000, i >= 4_000);
            let latency = if second { latency } else { 100_000 } + i * 7919 % 1000 * 20;
            let number = if second { i - 4_000 } else { i };
            Record { phase: second.into(), ..record(number, Op::Read, begin, begin, begin + latency) }
        };
        (0..8_000).map(one).collect()
    }

    fn times(names: [&str; 2]) -> Vec<PhaseTimes> {
        let phase = |(i, name): (u64, &str)| PhaseTimes {
            name: name.into(),
            start: Nanos(i * 4_000_000_000),
            end: Nanos((i + 1) * 4_000_000_000),
        };
        (0..).zip(names).map(phase).collect()
    }

    fn compared(a: [&str; 2], b: [&str; 2]) -> Comparison {
        let (records_a, records_b) = (run(100_000), run(200_000));
        let (phases_a, phases_b) = (times(a), times(b));
        let of = |name: &str, records, phases| Run {
            name: name.into(),
            records,
            plan: None,
            environment: serde_json::Value::Null,
            has_timetable: false,
            phases,
            incomplete: None,
            verdict: None,
        };
        let (a, b) = (of("a", &records_a, &phases_a), of("b", &records_b, &phases_b));
        let blocks = |run: &Run| Blocks::read(run.records, false).unwrap();
        super::super::compare((&a, &blocks(&a)), (&b, &blocks(&b))).unwrap()
    }

    #[test]
    fn finds_change_in_its_phase() {
        let Phases { both, only_a, only_b } = compared(["write", "read"], ["write", "read"]).phases;
        let [write, read] = &both[..] else { panic!("{both:?}") };
        assert_eq!((write.answer.outcome, read.answer.outcome), {
            (super::super::Outcome::NotShown, super::super::Outcome::Slower)
        });
        assert_eq!((read.a.requests, read.load), (4_000, SameLoad::Same));
        // It begins at 0, and so has as many blocks as any run of its length.
        assert!(read.a.duration_ns < 4_100_000_000, "{}", read.a.duration_ns);
        assert_eq!((only_a.len(), only_b.len()), (0, 0));
    }

    #[test]
    fn matches_phases_by_name() {
        let Phases { both, only_a, only_b } = compared(["write", "read"], ["read", "scan"]).phases;
        let names: Vec<&str> = both.iter().map(|pair| pair.name.as_str()).collect();
        assert_eq!((names, only_a, only_b), (vec!["read"], vec!["write".to_string()], vec!["scan".into()]));
        assert!(compared(["", ""], ["a", "b"]).phases.both.is_empty());
    }
}
