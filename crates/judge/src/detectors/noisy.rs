//! Runs whose level varies much from part to part.

use super::not_steady::levels;
use crate::detector::Most;
use crate::thresholds::NOISY;
use crate::words::percent;
use crate::{Case, Detector, Finding};
use iosonar_analyze::{Channel, DetectorId, Level};

/// Standard deviation of the levels of the parts, divided by their mean.
pub(crate) const VARIATION: &str = "variation";

pub(super) const DETECTOR: Detector = Detector {
    id: DetectorId::Noisy,
    channel: Channel::Latency,
    most: Most { filesystem: Level::Info, replay: Level::Info, ..Most::always(Level::Caution) },
    explains: &[],
    about: "A figure whose level varies by a tenth from part to part has one good digit. Differences between two such runs that are smaller say \
            nothing.",
    is_witness: false,
    says: None,
    predict: None,
    detect,
};

const SOURCE: &str = "completed requests in 20 equal parts of the time; with a timetable their latency";

fn detect(case: &Case<'_>) -> Option<Finding> {
    let levels = levels(case)?;
    let values = if case.plan.has_timetable() { &levels.latency } else { &levels.requests };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    if mean <= 0.0 {
        return None;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let variation = (squares / (values.len() - 1) as f64).sqrt() / mean;
    let seen = match NOISY.level(variation) {
        Level::Ok => {
            Finding::ok(format!("The level varies by {} from part to part.", percent(variation)), SOURCE)
        }
        level => Finding::at(
            level,
            format!(
                "The level varies by {} from part to part of the time: give a range, and not a number.",
                percent(variation)
            ),
            SOURCE,
        )
        .remedy("Run longer or several passes, and keep others from the machine."),
    };
    Some(seen.with(VARIATION, variation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Lab;

    #[test]
    fn reports_fluctuating_level() {
        let lab = (0..5).fold(Lab::new(), |lab, _| {
            lab.latency_ns(100_000).reads(1_000, 4096).latency_ns(180_000).reads(556, 4096)
        });
        assert_eq!(lab.detection(&DETECTOR).unwrap().level, Level::Caution);
    }

    #[test]
    fn accepts_steady_level() {
        assert_eq!(
            Lab::new().latency_ns(100_000).reads(12_000, 4096).detection(&DETECTOR).unwrap().level,
            Level::Ok
        );
    }
}
