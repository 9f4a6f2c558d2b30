//! The headline with its reasons: the first of several statements that holds.

mod disturbed;
mod refuted;
mod well;

use crate::Facts;
use crate::events::Events;
use iosonar_analyze::{Contrast, LEAST_REQUESTS, Reason};
pub(crate) use refuted::first_clause;

/// Figures of fewer requests show that a run works, and not what it measures.
const LEAST_FOR_FIGURES: u64 = 100;

/// A statement, why it holds, and what to do.
#[derive(Debug, Default)]
pub(crate) struct Headline {
    pub(crate) text: String,
    pub(crate) because: Vec<Reason>,
    pub(crate) remedy: Option<String>,
}

/// The headline of a result: what refutes it first, then what disturbed it, then what it measured.
pub(crate) fn headline(facts: &Facts<'_>, events: &Events, contrast: Option<&Contrast>) -> Headline {
    let few = |least: u64| (well::completed(facts) < least).then(|| well::few(facts));
    refuted::wrong_data(facts)
        .or_else(|| refuted::failed(facts))
        .or_else(|| refuted::fake(facts))
        .or_else(|| refuted::not_measured(facts))
        .or_else(|| few(LEAST_REQUESTS))
        .or_else(|| well::phases(facts, events))
        .or_else(|| few(LEAST_FOR_FIGURES))
        .or_else(|| disturbed::late(facts, events))
        .or_else(|| disturbed::events(facts, events))
        .unwrap_or_else(|| well::well(facts, events, contrast))
}
