//! Reasons of an experiment, each with its evidence in the JSON of the answer.

use super::{counted, has, most_fragments};
use crate::words::short_bytes;
use iosonar_analyze::{LEAST_REQUESTS, Reason};
use iosonar_cells::Verdict;
use iosonar_cells::creation::{CreationAnswer, MethodAnswer};
use iosonar_text::units::number;

/// Changes of more percent are not of interest.
const MOST_VISIBLE: f64 = 100.0;

pub(super) struct Reasons<'a> {
    pub(super) answer: &'a CreationAnswer,
}

impl Reasons<'_> {
    pub(super) fn fake(&self) -> Reason {
        Reason::new("The scans were judged so.", &["fake"])
    }

    /// The method with the fewest reads in the compared scans, and their number.
    pub(super) fn fewest_requests(&self) -> Option<(usize, u64)> {
        let record = self.answer.scan_record_bytes.max(1);
        let reads = |method: &MethodAnswer| method.scan.iter().skip(1).map(|scan| scan.bytes / record).sum();
        self.answer.methods.iter().map(reads).enumerate().min_by_key(|(_, reads)| *reads)
    }

    pub(super) fn scans(&self, number: usize) -> Reason {
        let text = format!("A statement needs {LEAST_REQUESTS} reads of each method.");
        Reason::new(text, &["scan_record_bytes", &format!("methods.{number}.scan")])
    }

    /// Why the files of a method are laid out as they are.
    pub(super) fn cause(&self, number: usize) -> Option<Reason> {
        let method = self.answer.methods.get(number).filter(|method| !method.cause.is_empty())?;
        let text = format!("{}: {}", method.method, method.cause);
        Some(Reason::new(text, &[&format!("methods.{number}.cause"), &format!("methods.{number}.files")]))
    }

    /// The requests that the devices of a method and of the reference have read.
    pub(super) fn device_reads(&self, number: usize) -> Option<Reason> {
        let methods = &self.answer.methods;
        let reference = methods.iter().position(|method| method.method == self.answer.reference)?;
        let mean = |number: usize| Some(methods.get(number)?.device_read_bytes_mean?.round() as u64);
        let (own, other) = (mean(number)?, mean(reference)?);
        let text = format!(
            "Its device read {} in a request on average, that of {} {}.",
            short_bytes(own),
            self.answer.reference,
            short_bytes(other)
        );
        let path = |number: usize| format!("methods.{number}.device_read_bytes_mean");
        Some(Reason::new(text, &[&path(number), &path(reference)]))
    }

    /// The most fragmented of the methods without a shown difference.
    pub(super) fn without_cost(&self) -> Option<Reason> {
        let (number, method) = self
            .numbered()
            .filter(|(_, method)| has(method, Verdict::NoDifferenceShown) && most_fragments(method) > 1)
            .max_by_key(|(_, method)| most_fragments(method))?;
        let text = format!(
            "{} of {} cost nothing that {} rounds can show.",
            counted(most_fragments(method)),
            method.method,
            self.answer.scan_orders.len()
        );
        Some(Reason::new(text, &[&format!("methods.{number}.change"), &format!("methods.{number}.files")]))
    }

    /// The change that would have been seen.
    pub(super) fn visible(&self) -> Option<Reason> {
        let half = |method: &MethodAnswer| {
            let change = method.change.as_ref()?;
            Some((change.high_percent? - change.low_percent?) / 2.0)
        };
        let (number, widest) = self
            .numbered()
            .filter_map(|(number, method)| Some((number, half(method)?)))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        let text = match widest <= MOST_VISIBLE {
            true => format!("A change of about {} % would have been seen.", number_of(widest)),
            false => "The scans are too few or too unequal to show any change.".into(),
        };
        Some(Reason::new(text, &[&format!("methods.{number}.change")]))
    }

    pub(super) fn rounds(&self) -> Reason {
        let text = "It takes 3 rounds or more, because the first one is not compared.";
        Reason::new(text, &["scan_orders"])
    }

    /// Why the most fragmented file is laid out as it is.
    pub(super) fn most_fragmented(&self) -> Option<Reason> {
        let most = self.numbered().max_by_key(|(_, method)| most_fragments(method))?;
        self.cause(most.0).filter(|_| most_fragments(most.1) > 1)
    }

    fn numbered(&self) -> impl Iterator<Item = (usize, &MethodAnswer)> {
        self.answer.methods.iter().enumerate()
    }
}

fn number_of(percent: f64) -> String {
    if percent < 9.95 { number(percent) } else { format!("{percent:.0}") }
}
