//! The short text of a result.

mod common;

use common::{empty, extreme, replay};
use iosonar_analyze::{PartStory, Reason, Story, Summary};
use iosonar_plaintext::{STORY_LINES, story};

#[track_caller]
fn is_short(summary: &Summary) -> String {
    let text = story(summary);
    assert!(text.lines().count() <= STORY_LINES, "{text}");
    assert!(!text.chars().any(|c| c != '\n' && !matches!(c, ' '..='~')), "{text:?}");
    text
}

fn long(words: usize) -> String {
    "a word of a long text ".repeat(words)
}

fn part(number: u16) -> PartStory {
    PartStory { target: Some(number), phase: None, name: long(2), headline: long(9), verdict: None }
}

/// However long its parts are, and whatever they contain.
#[test]
fn every_story_fits_on_a_small_terminal() {
    for run in [replay(20_000, 120.0, true), extreme(), empty(&["/dev/sdx"])] {
        let mut summary = run.summary();
        is_short(&summary);
        summary.story = Some(Story {
            headline: long(20),
            because: vec![Reason::new(long(50), &[]), Reason::new("\u{1b}[2J".to_string() + &long(50), &[])],
            worth: Some(long(50)),
            remedy: Some(long(50)),
            events: Vec::new(),
            shares: Vec::new(),
            lost_request_seconds: 0.0,
            normal: None,
            parts: (0..40).map(part).collect(),
            contrast: None,
            blame: None,
        });
        is_short(&summary);
    }
}
