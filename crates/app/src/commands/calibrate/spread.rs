//! Median and range of a few rounds.

use serde_json::{Value, json};

/// Median, least and greatest of some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub least: f64,
    pub greatest: f64,
}

impl Spread {
    /// `None` without values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Spread> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Spread { median: (sorted[lower] + sorted[upper]) / 2.0, least, greatest })
    }

    pub fn json(self) -> Value {
        json!({ "median": self.median, "min": self.least, "max": self.greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_lies_between_the_ends() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0, 1.0, 9.0]), Some(Spread { median: 3.0, least: 1.0, greatest: 9.0 }));
        assert_eq!(of(&[1.0, 2.0]).map(|spread| spread.median), Some(1.5));
    }
}
