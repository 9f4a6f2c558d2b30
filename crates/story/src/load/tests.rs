//! Stories of made loads.

use super::load_story;
use iosonar_analyze::Statement;
use iosonar_analyze::demand::{Demand, DemandFacts, DemandOptions, DemandTally};
use iosonar_plan::Op;

/// Requests of 8 KiB, 100 in each second, of which each third one writes.
fn facts(count: u64, place: impl Fn(u64) -> u64) -> DemandFacts {
    let mut tally = DemandTally::new(&DemandOptions::default());
    for number in 0..count {
        tally.add(&Demand {
            time_ns: number * 10_000_000,
            device: 0,
            sector: place(number) * 16,
            sectors: 16,
            op: if number % 3 == 0 { Op::Write } else { Op::Read },
        });
    }
    tally.finish().facts
}

fn story_of(facts: &DemandFacts) -> Statement {
    let story = load_story(facts).unwrap();
    assert!(story.headline.chars().count() <= 90 && story.because.len() <= 2, "{story:#?}");
    let json = serde_json::json!({ "demand": facts });
    for path in story.because.iter().flat_map(|reason| &reason.evidence) {
        assert!(json.pointer(&format!("/{}", path.replace('.', "/"))).is_some(), "{path}: {story:#?}");
    }
    story
}

#[test]
fn headline_has_pace_mix_and_size() {
    let story = story_of(&facts(3_001, |number| number));
    assert_eq!(story.headline, "3 001 requests in 30.0 s (100/s): 67 % reads, each of 8 KiB.");
    assert_eq!(story.because[0].text, "23.4 MiB are touched, and 0 % of the page uses are repeated ones.");
    assert_eq!(story.because[1].text, "No request goes backward.");
    assert_eq!(story.worth.as_deref(), Some("all figures are exact; nothing is known of a device"));
}

#[test]
fn repeated_uses_and_backward_seeks_are_reasons() {
    let story = story_of(&facts(3_000, |number| number.wrapping_mul(7919) % 100));
    assert!(
        story.because[0].text.starts_with("800 KiB are touched, and 97 % of the page uses"),
        "{story:#?}"
    );
    assert!(story.because[1].text.ends_with("of the requests go backward (turns)."), "{story:#?}");
}

#[test]
fn few_requests_allow_no_statement() {
    assert_eq!(story_of(&facts(29, |number| number)).headline, "29 requests: too few to describe a load.");
    assert_eq!(load_story(&facts(0, |number| number)), None);
}
