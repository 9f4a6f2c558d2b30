//! Why two runs differ: the machine first, then events of one run, then plans and environments.

use crate::causes::{LEAST_BYTES, OTHERS, TIMES_ELSEWHERE};
use crate::words::{listed, moment, percent, time};
use iosonar_analyze::Reason;
use iosonar_analyze::compare::{
    Comparison, Difference, ForeignBytes, MachineUse, MachineWindow, Outcome, SameLoad,
};
use iosonar_text::units::bytes;

/// A halt matters from this share of a time on, ...
const HALTED: f64 = 0.01;
/// ... and a lack of CPU from this one on.
const NO_CPU: f64 = 0.05;
/// An event explains a difference from this share of the lost time of its run on.
const EVENT: f64 = 0.3;
/// Most differences of plans or environments in a sentence.
const NAMED: usize = 2;
/// Most characters of a value in a sentence.
const VALUE_CHARS: usize = 24;
/// Parts of the names of fields of an environment that change what is measured, the most telling ones first.
const TELLING: [&str; 9] = [
    "governor",
    "frequency",
    "scheduler",
    "queue",
    "cache",
    "mitigation",
    "kernel.release",
    "mount",
    "model",
];

/// Looks for the reasons of a comparison.
pub(super) struct Reasons<'a> {
    pub(super) comparison: &'a Comparison,
    /// Where the comparison stands in its JSON.
    pub(super) place: &'a str,
}

/// Reasons, and a step to take.
#[derive(Default)]
pub(super) struct Found {
    pub(super) because: Vec<Reason>,
    pub(super) remedy: Option<String>,
}

/// One run in a time, beside the other.
struct Side<'a> {
    letter: &'static str,
    other: &'static str,
    window: &'a MachineWindow,
    own: &'a MachineUse,
    others: &'a MachineUse,
    /// Number of the window.
    index: usize,
}

impl<'a> Side<'a> {
    /// Where its machine stands in the JSON of the comparison.
    fn path(&self) -> String {
        format!("machine.{}.{}", self.index, self.letter.to_lowercase())
    }

    /// Where the machine of the other run stands.
    fn path_of_other(&self) -> String {
        format!("machine.{}.{}", self.index, self.other.to_lowercase())
    }

    fn when(&self) -> String {
        match self.window.is_part {
            true => {
                let range = self.window.range;
                format!(" from {} to {}", moment(range.from_ns), moment(range.to_ns))
            }
            false => String::new(),
        }
    }

    /// The device that others used most, if they used it more than in the other run.
    fn foreign(&self) -> Option<(usize, &'a ForeignBytes)> {
        let rate = |one: &ForeignBytes| one.bytes as f64 / one.seconds.max(1e-3);
        let same = |one: &ForeignBytes| {
            let same = self.others.others.iter().find(|other| other.device == one.device);
            same.map_or_else(|| self.others.others.iter().map(rate).sum(), rate)
        };
        // A value that is unknown for the other run is no difference.
        let is_known = !self.others.others.is_empty();
        let matters = |one: &ForeignBytes| {
            let is_much = one.bytes as f64 >= LEAST_BYTES && one.share >= OTHERS;
            is_known && is_much && rate(one) >= TIMES_ELSEWHERE * same(one)
        };
        let all = self.own.others.iter().enumerate().filter(|(_, one)| matters(one));
        all.max_by_key(|(_, one)| one.bytes)
    }

    /// Time without a CPU, if it is much and more than in the other run.
    fn lacked(&self, of: impl Fn(&MachineUse) -> Option<u64>, least: f64) -> Option<[u64; 2]> {
        let (own, others) = (of(self.own)?, of(self.others)?);
        let is_much = own as f64 >= least * self.window.range.length_ns() as f64;
        (is_much && own as f64 >= TIMES_ELSEWHERE * others as f64).then_some([own, others])
    }
}

impl<'a> Reasons<'a> {
    /// A sentence; its evidence is named by paths within the comparison.
    pub(super) fn reason(&self, text: String, paths: &[&str]) -> Reason {
        let evidence = paths.iter().map(|path| format!("{}.{path}", self.place)).collect();
        Reason { text, evidence }
    }

    /// All reasons: those outside of the targets first, so that no target is blamed for them.
    pub(super) fn found(&self) -> Found {
        let mut found = self.outside();
        if found.because.is_empty() {
            found.because.extend(self.event());
        }
        found.because.extend(self.documents());
        if found.because.is_empty() {
            found.because.extend(self.equal());
        }
        found
    }

    /// The run that may have been disturbed, in each time in which the runs differ: the slower one, or either.
    fn sides(&self) -> Vec<Side<'a>> {
        let letters: &[&str] = match self.comparison.answer.outcome {
            Outcome::Slower => &["B"],
            Outcome::Faster => &["A"],
            _ => &["B", "A"],
        };
        let mut sides = Vec::new();
        for (index, window) in self.comparison.machine.iter().enumerate() {
            let Some((a, b)) = window.a.as_ref().zip(window.b.as_ref()) else { continue };
            for letter in letters {
                sides.push(match *letter {
                    "A" => Side { letter: "A", other: "B", window, own: a, others: b, index },
                    _ => Side { letter: "B", other: "A", window, own: b, others: a, index },
                });
            }
        }
        sides
    }

    /// Halts, a lack of CPU and other users of a device, each in the time with most of it.
    fn outside(&self) -> Found {
        let sides = self.sides();
        let halted = sides.iter().filter_map(|side| Some((side, side.lacked(|m| m.halted_ns, HALTED)?)));
        let no_cpu = sides.iter().filter_map(|side| Some((side, side.lacked(|m| m.without_cpu_ns, NO_CPU)?)));
        let foreign = sides.iter().filter_map(|side| Some((side, side.foreign()?)));
        let mut found = Found::default();
        let halted = halted.max_by_key(|(_, [ns, _])| *ns);
        let is_halted = halted.is_some();
        let lack = match halted {
            Some((side, ns)) => Some(self.lack(side, ns, ["was halted", "halted_ns"])),
            None => no_cpu
                .max_by_key(|(_, [ns, _])| *ns)
                .map(|(side, ns)| self.lack(side, ns, ["had no CPU", "without_cpu_ns"])),
        };
        if let Some(lack) = lack {
            found.because.push(lack);
            found.remedy = Some("repeat both on a machine that is otherwise idle".into());
        }
        if let Some((side, (at, bytes))) = foreign.max_by_key(|(_, (_, one))| one.bytes) {
            // A lack of CPU of some percent is less than most of the bytes of a device; a halt is not.
            let place = if is_halted { found.because.len() } else { 0 };
            found.because.insert(place, self.foreign(side, at, bytes));
            let device = iosonar_text::one_line(&bytes.device).into_owned();
            found.remedy = Some(format!("repeat {} while nothing else uses {device}", side.letter));
        }
        found
    }

    fn lack(&self, side: &Side<'_>, [own, others]: [u64; 2], [did, field]: [&str; 2]) -> Reason {
        let in_other = match others {
            0 => format!("in {} never", side.other),
            ns => format!("in {} for {}", side.other, time(ns)),
        };
        let text =
            format!("The program {did} for {} of {}{}, {in_other}.", time(own), side.letter, side.when());
        self.reason(
            text,
            &[&format!("{}.{field}", side.path()), &format!("{}.{field}", side.path_of_other())],
        )
    }

    fn foreign(&self, side: &Side<'_>, at: usize, one: &ForeignBytes) -> Reason {
        let only = if side.window.is_part { "; at other times no difference is shown" } else { "" };
        let text = format!(
            "Others moved {} on {} during {}{} ({} of its bytes){only}.",
            bytes(one.bytes),
            iosonar_text::one_line(&one.device),
            side.letter,
            side.when(),
            percent(one.share)
        );
        self.reason(text, &[&format!("{}.others.{at}", side.path())])
    }

    /// An event of one run that the other does not have.
    fn event(&self) -> Option<Reason> {
        self.sides().iter().find_map(|side| {
            let is_alone = |cause| side.others.events.iter().all(|event| event.cause != cause);
            let mut events = side.own.events.iter().enumerate();
            let (at, event) = events.find(|(_, event)| event.share >= EVENT && is_alone(event.cause))?;
            let text = format!(
                "In {} at {}: {} ({} of the lost time); {} has no such event.",
                side.letter,
                moment(event.range.from_ns),
                event.text,
                percent(event.share),
                side.other
            );
            Some(self.reason(text, &[&format!("{}.events.{at}", side.path())]))
        })
    }

    /// Differences of the plans, then of the environments.
    fn documents(&self) -> Vec<Reason> {
        let c = self.comparison;
        let order_of_plan = |one: &Difference| usize::from(is_seed(one));
        let order_of_environment = |one: &Difference| {
            TELLING.iter().position(|word| one.field.contains(word)).unwrap_or(TELLING.len())
        };
        let is_telling = |one: &Difference| TELLING.iter().any(|word| one.field.contains(word));
        let plan = self.differing("The plans differ", "plan", &c.plan, order_of_plan);
        let environment = c.environment.iter().any(is_telling).then(|| {
            self.differing("The environments differ", "environment", &c.environment, order_of_environment)
        });
        plan.into_iter().chain(environment.flatten()).collect()
    }

    /// The most telling differences of a document, with their values.
    fn differing(
        &self,
        begin: &str,
        document: &str,
        differences: &[Difference],
        order: impl Fn(&Difference) -> usize,
    ) -> Option<Reason> {
        let mut places: Vec<usize> = (0..differences.len()).collect();
        places.sort_by_key(|at| order(&differences[*at]));
        places.truncate(NAMED);
        if differences.iter().all(is_seed) && !differences.is_empty() {
            let text = format!("{begin} in the seed alone.");
            return Some(self.reason(text, &[&format!("{document}.0")]));
        }
        let named: Vec<String> = places.iter().map(|at| named(&differences[*at])).collect();
        let more = match differences.len() - places.len() {
            0 => String::new(),
            more => format!("; {more} more"),
        };
        let paths: Vec<String> = places.iter().map(|at| format!("{document}.{at}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        (!named.is_empty()).then(|| self.reason(format!("{begin}: {}{more}.", listed(&named)), &paths))
    }

    /// Nothing that is known differs.
    fn equal(&self) -> Option<Reason> {
        let c = self.comparison;
        let is_shown = !matches!(c.answer.outcome, Outcome::NotShown);
        let is_same = c.load != SameLoad::Different && c.plan.is_empty() && c.environment.is_empty();
        let is_known = |machine: &Option<MachineUse>| {
            machine.as_ref().is_some_and(|m| m.halted_ns.is_some() && !m.others.is_empty())
        };
        let are_known =
            !c.machine.is_empty() && c.machine.iter().all(|one| is_known(&one.a) && is_known(&one.b));
        (is_shown && is_same && are_known).then(|| {
            let text =
                "Plans and environments are equal; neither other users nor a lack of CPU account for it.";
            self.reason(text.into(), &["plan", "environment", "machine"])
        })
    }
}

fn is_seed(one: &Difference) -> bool {
    one.field == "seed" || one.field.ends_with(".seed")
}

/// A difference with both values: `depth (A 1, B 8)`.
fn named(one: &Difference) -> String {
    let side = |value: &Option<String>| match value {
        None => "none".to_string(),
        Some(value) => {
            let value = iosonar_text::one_line(value);
            match value.chars().count() > VALUE_CHARS {
                true => value.chars().take(VALUE_CHARS - 1).chain(['…']).collect(),
                false => value.into_owned(),
            }
        }
    };
    format!("{} (A {}, B {})", one.words().join(" "), side(&one.a), side(&one.b))
}
