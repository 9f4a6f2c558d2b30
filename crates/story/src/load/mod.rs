//! The story of a load: how much is wanted, how fast, of which sizes and places.
//!
//! It reads only the figures of its demand. Nothing is known of a device.

#[cfg(test)]
mod tests;

use crate::statement::statement;
use crate::words::{capitalized, fitting, percent, rate, short_bytes, time};
use iosonar_analyze::demand::{DemandFacts, PAGE_BYTES, SECTOR_BYTES, SamplingFacts};
use iosonar_analyze::{LEAST_REQUESTS, Reason, Statement};
use iosonar_text::units::{bytes, grouped};

/// The story of a load; `None` without requests. Its evidence are paths in the JSON of `iosonar analyze`.
pub fn load_story(facts: &DemandFacts) -> Option<Statement> {
    let requests = facts.counts.all.requests;
    if requests == 0 {
        return None;
    }
    if requests < LEAST_REQUESTS {
        let noun = if requests == 1 { "request" } else { "requests" };
        let because = format!("A statement needs {LEAST_REQUESTS} requests.");
        let text = format!("{requests} {noun}: too few to describe a load.");
        return Some(statement(text, [Reason::new(because, &["demand.counts.all.requests"])]));
    }
    let because = [Some(places(facts)), order(facts)];
    let worth = Some(worth(&facts.sampling));
    Some(Statement { worth, ..statement(headline(facts, requests), because.into_iter().flatten()) })
}

/// `5 026 requests in 60.0 s (83.8/s, up to 1 500/s): 67 % reads, most often of 8 KiB.`
fn headline(facts: &DemandFacts, requests: u64) -> String {
    let span_ns = facts.span.map_or(0, |span| span.last_ns - span.first_ns);
    let count = grouped(requests);
    let pace = match span_ns {
        0 => format!("{count} requests, all due at the same time"),
        ns => {
            let mean = requests as f64 * 1e9 / ns as f64;
            let most = facts.throughput.iops.all.max;
            let most = if most > mean { format!(", up to {}", rate(most)) } else { String::new() };
            format!("{count} requests in {} ({}{most})", time(ns), rate(mean))
        }
    };
    let mix = mix(facts, requests);
    fitting([format!("{pace}: {mix}{}.", sizes(facts)), format!("{pace}: {mix}."), format!("{pace}.")])
}

fn mix(facts: &DemandFacts, requests: u64) -> String {
    let (reads, writes) = (facts.counts.read.requests, facts.counts.write.requests);
    match (reads, writes) {
        (_, 0) if reads == requests => "only reads".into(),
        (0, _) if writes == requests => "only writes".into(),
        _ => format!("{} reads", percent(reads as f64 / requests as f64)),
    }
}

/// `, each of 8 KiB`, `, most often of 8 KiB`; empty if no length is the most frequent one.
fn sizes(facts: &DemandFacts) -> String {
    let sizes = facts.sizes.all.and_then(|sizes| Some((sizes.distinct, sizes.most_frequent_sectors?)));
    sizes.map_or(String::new(), |(distinct, sectors)| {
        let which = if distinct == 1 { "each" } else { "most often" };
        format!(", {which} of {}", short_bytes(sectors * SECTOR_BYTES))
    })
}

/// Touched bytes, repeated uses, and the misses of a cache.
fn places(facts: &DemandFacts) -> Reason {
    let about = if facts.sampling.exact { "" } else { "about " };
    let touched = bytes(facts.frequency.all.distinct_pages * PAGE_BYTES);
    let repeated = percent(facts.repetitions.page_accesses_percent / 100.0);
    let mut text = format!("{about}{touched} are touched, and {repeated} of the page uses are repeated ones");
    let mut evidence =
        vec!["demand.frequency.all.distinct_pages", "demand.repetitions.page_accesses_percent"];
    if let Some(knee) = facts.miss_ratio.knee.all {
        text += &format!("; a cache of {} misses {}", bytes(knee.cache_bytes), percent(knee.miss));
        evidence.push("demand.miss_ratio.knee.all");
    }
    Reason::new(capitalized(text) + ".", &evidence)
}

/// The share of requests that start lower than the one before them.
fn order(facts: &DemandFacts) -> Option<Reason> {
    let turns = facts.turns.total.all;
    let text = match turns.turns {
        0 => "No request goes backward.".into(),
        _ => format!("{} of the requests go backward (turns).", percent(turns.percent / 100.0)),
    };
    (turns.requests > 0).then(|| Reason::new(text, &["demand.turns.total.all"]))
}

fn worth(sampling: &SamplingFacts) -> String {
    match sampling.exact {
        true => "all figures are exact; nothing is known of a device".into(),
        false => format!(
            "what is touched is estimated from one page of {}; nothing is known of a device",
            grouped(sampling.one_of)
        ),
    }
}
