//! The short text of a result.

mod common;

use common::{empty, extreme, replay};
use iosonar_analyze::{Cause, PartStory, Reason, Shape, Story, StoryEvent, Summary, TimeRange};
use iosonar_plaintext::{STORY_LINES, story, story_events};

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

fn empty_story() -> Story {
    Story {
        headline: String::new(),
        because: Vec::new(),
        worth: None,
        remedy: None,
        events: Vec::new(),
        shares: Vec::new(),
        lost_request_seconds: 0.0,
        normal: None,
        parts: Vec::new(),
        contrast: None,
        blame: None,
    }
}

#[test]
fn all_events_are_listed_with_the_shapes_that_they_look_like() {
    let event = |from_ns: u64, text: String, shape| StoryEvent {
        range: TimeRange { from_ns, to_ns: from_ns + 1_500_000_000 },
        target: None,
        phase: None,
        cause: Cause::TargetStoodStill,
        text,
        requests: 10,
        lost_request_seconds: 1.0,
        share: 0.415,
        worst_response_ns: 5,
        shape,
    };
    let events = vec![
        event(500_000_000, "nothing completed".into(), Some(Shape::LongTailGroup)),
        event(u64::MAX / 2, long(9), None),
    ];
    let text = story_events(&Story { events, ..empty_story() });
    let first = "     500 ms to    2.00 s  41.5 %  nothing completed\n    looks like: long-tail group \
                 (docs/shapes.md#long-tail-group)\n";
    assert!(text.contains(first), "{text}");
    assert_eq!(text.matches("looks like").count(), 1, "{text}");
    assert!(text.lines().all(|line| line.len() <= 79), "{text}");
    assert_eq!(story_events(&empty_story()), "");
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
            parts: (0..40).map(part).collect(),
            ..empty_story()
        });
        is_short(&summary);
    }
}

#[test]
fn many_events_of_one_cause_are_one_line_with_the_worst_of_them() {
    let event = |number: u64| StoryEvent {
        range: TimeRange { from_ns: number * 1_000_000_000, to_ns: number * 1_000_000_000 + 500_000_000 },
        target: None,
        phase: None,
        cause: Cause::DepthFull,
        text: format!("burst {number}"),
        requests: 10,
        lost_request_seconds: 1.0,
        share: if number == 5 { 0.3 } else { 0.1 },
        worst_response_ns: 1,
        shape: None,
    };
    let summary = Summary {
        story: Some(Story { events: (0..7).map(event).collect(), ..empty_story() }),
        ..empty(&["a"]).summary()
    };
    let text = is_short(&summary);
    assert!(text.contains("  events    7 from 0 s to 6.50 s, the depth was used up: 90"), "{text}");
    assert!(text.contains("  worst     at 5.00 s: burst 5 (30"), "{text}");
    assert!(!text.contains("burst 0"), "{text}");
}
