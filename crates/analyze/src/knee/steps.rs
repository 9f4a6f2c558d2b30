//! Whether a target kept up in each step of a ramp.

use super::{KneeVerdict, RampRow, View};

/// A step of a ramp, and how the target did in it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RampStep {
    /// Its figures.
    pub row: RampRow,
    /// Requests that were due and had not ended at its end.
    pub backlog: f64,
    /// How the target did.
    pub state: StepState,
}

/// How a target did in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepState {
    /// The backlog at its end was normal.
    KeptUp,
    /// The backlog at its end was larger than normal, and drained later.
    CaughtUp,
    /// The first step that demanded more than the sustained rate.
    Knee,
    /// The backlog at its end was larger than normal, and stayed so.
    FellBehind,
}

impl StepState {
    /// The state in words.
    pub fn text(self) -> &'static str {
        match self {
            StepState::KeptUp => "kept up",
            StepState::CaughtUp => "caught up later",
            StepState::Knee => "the knee",
            StepState::FellBehind => "fell behind",
        }
    }
}

/// Judges consecutive steps of equal length by the verdict on their ramp.
pub fn ramp_steps(rows: &[RampRow], verdict: &KneeVerdict) -> Vec<RampStep> {
    let view = View::of(rows);
    let (knee, behind_from_ns) = match verdict {
        KneeVerdict::Found(knee) => {
            let is_above = |row: &RampRow| row.demand_per_second() >= knee.sustained_per_second;
            (rows.iter().position(is_above), knee.behind_from_ns)
        }
        KneeVerdict::NotReached { .. } => (None, u64::MAX),
        // When it last caught up is not known.
        KneeVerdict::Unclear { .. } => (None, 0),
    };
    let state = |number: usize| match view.backlog[number] <= view.normal(number) {
        _ if knee == Some(number) => StepState::Knee,
        true => StepState::KeptUp,
        false if rows[number].to_ns <= behind_from_ns => StepState::CaughtUp,
        false => StepState::FellBehind,
    };
    let step = |(number, row): (usize, &RampRow)| RampStep {
        row: *row,
        backlog: view.backlog[number],
        state: state(number),
    };
    rows.iter().enumerate().map(step).collect()
}
