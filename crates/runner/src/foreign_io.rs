//! I/O of other programs on the devices while nothing is measured.

use iosonar_evidence::{Series, TargetFacts};
use iosonar_host::Root;
use iosonar_host::sampler::Sampler;
use iosonar_judge::{OthersUse, use_by_others};
use std::time::{Duration, Instant};

/// Watches the devices below targets for a time; the most used ones are first.
pub fn watch(targets: &[TargetFacts], time: Duration) -> Vec<OthersUse> {
    let mut sampler = Sampler::of_machine(targets, &Root::default());
    let begun = Instant::now();
    let first = look(&mut sampler);
    std::thread::sleep(time);
    let last = look(&mut sampler);
    let mut uses = use_by_others(&first, &last, begun.elapsed().as_secs_f64());
    uses.sort_by(|a, b| b.requests_per_second.total_cmp(&a.requests_per_second));
    uses
}

/// The present value of each series.
pub fn look(sampler: &mut Sampler) -> Vec<(Series, f64)> {
    let mut values = Vec::new();
    sampler.sample(&mut values);
    let series = sampler.series();
    values.into_iter().map(|(id, value)| (series[usize::from(id.0)].clone(), value)).collect()
}

/// A device that others use, in a sentence.
pub fn sentence(other: &OthersUse) -> String {
    format!(
        "{} requests a second on {} that nobody measures ({} % busy)",
        other.requests_per_second.round(),
        other.device,
        (other.busy * 100.0).round()
    )
}
