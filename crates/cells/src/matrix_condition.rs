//! Conditions on comparisons of tables, such as `read < -5%`: changes of a rate that count as failures.

use crate::{Change, MatrixComparison, Test, test_names};
use iosonar_analyze::compare::{ChangeLimit, ConditionError, Judgement};
use serde::Serialize;

/// A parsed condition.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MatrixCondition {
    /// Text as typed.
    pub text: String,
    /// A test, `any` for every test, or `cells` for every cell.
    pub subject: String,
    /// Whether it limits changes above (`>`) or below (`<`).
    pub above: bool,
    /// The limit of the change in percent.
    pub percent: f64,
}

impl MatrixCondition {
    /// Parses `TEST < -N%` or `TEST > +N%`; instead of a test `any` (any test) or `cells` (any single cell).
    ///
    /// # Errors
    /// The text is malformed, or the test is unknown.
    pub fn parse(text: &str) -> Result<MatrixCondition, ConditionError> {
        let limit = ChangeLimit::parse(text, "read < -5%, any < -10%, cells < -20%")?;
        let subject = limit.subject.clone();
        if !["any", "cells"].contains(&subject.as_str()) && Test::named(&subject).is_none() {
            let known = format!("use any, cells, or one of {}", test_names());
            return Err(limit.subject_error(&match subject.as_str() {
                "" => format!("there is no test before the sign; {known}"),
                _ => format!("'{subject}' is no test; {known}"),
            }));
        }
        Ok(MatrixCondition { text: text.trim().into(), subject, above: limit.above, percent: limit.percent })
    }

    /// Judges a comparison. The condition fails if the whole interval of a change is beyond the limit.
    pub fn judge(&self, comparison: &MatrixComparison) -> Judgement {
        let judge = |change: &Change| {
            Judgement::of((change.low_percent, change.high_percent), self.above, self.percent)
        };
        let judgements: Vec<Judgement> = match self.subject.as_str() {
            "cells" => comparison.cells.iter().map(|row| judge(&row.change)).collect(),
            "any" => comparison.tests.iter().map(|row| judge(&row.change)).collect(),
            test => {
                let of_test = comparison.tests.iter().filter(|row| row.test == test);
                of_test.map(|row| judge(&row.change)).collect()
            }
        };
        if judgements.contains(&Judgement::Failed) {
            return Judgement::Failed;
        }
        match judgements.is_empty() || judgements.contains(&Judgement::Unknown) {
            true => Judgement::Unknown,
            false => Judgement::Holds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_state_cause_and_remedy() {
        for (text, why) in [
            ("raed < -5%", "'raed' is no test; use any, cells, or one of write, rewrite"),
            ("< -5%", "there is no test"),
            ("read -5%", "no > or <"),
            ("read < 5%", "begins with + or -"),
            ("read < -5", "ends with %"),
            ("read < -100%", "shrink"),
        ] {
            let error = MatrixCondition::parse(text).unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("example: read < -5%"), "{error}");
        }
        let condition = MatrixCondition::parse(" any<-10 %").unwrap();
        assert_eq!((condition.subject.as_str(), condition.above, condition.percent), ("any", false, -10.0));
    }
}
