//! Service and response time by percentile, for the viewer.

use super::meta::PagePercentiles;
use crate::RunMaterial;
use crate::charts::of_summary;
use iosonar_analyze::{ByScope, Distribution, Scope, TimeStats};

/// Points of a curve for each nine.
const PER_NINE: u32 = 32;

/// The curves of a run: service, and response if requests had due times. Without whole distributions, uses the percentiles
/// of the summary.
pub(super) fn all(run: &RunMaterial<'_>) -> Vec<PagePercentiles> {
    let s = run.summary;
    let mut curves = of("service", &s.latency, run.tally.map(|t| t.latency()));
    if s.run.has_timetable {
        curves.extend(of("response", &s.response, run.tally.map(|t| t.response())));
    }
    curves
}

fn of(
    what: &str,
    stats: &ByScope<Option<TimeStats>>,
    whole: Option<ByScope<Distribution>>,
) -> Vec<PagePercentiles> {
    let curve = |scope: Scope| {
        let stats = stats.get(scope).as_ref()?;
        let points = match &whole {
            Some(whole) => exact(stats, whole.get(scope)),
            None => of_summary(stats, most_nines(stats)),
        };
        Some(PagePercentiles { of: what.into(), scope: scope.name().into(), requests: stats.count, points })
    };
    Scope::BY_OP.into_iter().filter_map(curve).collect()
}

/// Number of nines at which ten requests remain.
fn most_nines(stats: &TimeStats) -> f64 {
    (stats.count as f64 / 10.0).log10().max(0.0)
}

/// The curve of a whole distribution. Named percentiles have the values of the summary.
fn exact(stats: &TimeStats, whole: &Distribution) -> Vec<(f64, u64)> {
    let most = most_nines(stats);
    let mut points = of_summary(stats, most);
    let named: Vec<f64> = points.iter().map(|point| point.0).collect();
    let steps = (most * f64::from(PER_NINE)) as u32;
    let between = (0..=steps).map(|i| f64::from(i) / f64::from(PER_NINE));
    points.extend(between.filter(|nines| named.iter().all(|n| (n - nines).abs() > 1e-6)).map(|nines| {
        let ns = whole.histogram().value_at_quantile(1.0 - 10f64.powf(-nines));
        (nines, ns.clamp(stats.min_ns, stats.max_ns))
    }));
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}
