//! Median and range of a few rounds.

use serde::Serialize;

/// Median, least and greatest of some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rounds {
    /// Median.
    pub median: f64,
    /// Least value.
    #[serde(rename = "min")]
    pub least: f64,
    /// Greatest value.
    #[serde(rename = "max")]
    pub greatest: f64,
}

impl Rounds {
    /// `None` without values.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Rounds> {
        let mut sorted: Vec<f64> = values.collect();
        sorted.sort_by(f64::total_cmp);
        let (least, greatest) = (*sorted.first()?, *sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Rounds { median: (sorted[lower] + sorted[upper]) / 2.0, least, greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_is_within_the_range() {
        let of = |values: &[f64]| Rounds::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0, 1.0, 9.0]), Some(Rounds { median: 3.0, least: 1.0, greatest: 9.0 }));
        assert_eq!(of(&[1.0, 2.0]).map(|rounds| rounds.median), Some(1.5));
    }
}
