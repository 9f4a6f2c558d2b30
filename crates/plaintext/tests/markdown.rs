//! A result as Markdown.

mod common;

use common::{empty, extreme, replay};
use iosonar_analyze::{Cause, Reason, Story, StoryEvent, TimeRange};
use iosonar_plaintext::markdown;

/// Most bytes of a result, however long its parts are.
const MOST: usize = 12_000;

fn event(number: u64) -> StoryEvent {
    StoryEvent {
        range: TimeRange { from_ns: number * 1_000_000_000, to_ns: number * 1_000_000_000 + 1 },
        cause: Cause::Others,
        text: "90 % of the bytes on a|b were <b>not</b> of this run".into(),
        requests: 30 + number,
        lost_request_seconds: 1.0,
        share: 1.0 / (number + 2) as f64,
        worst_response_ns: 1,
        shape: None,
        target: None,
        phase: None,
    }
}

#[test]
fn markdown_has_story_figures_events_and_origin() {
    let mut summary = replay(20_000, 120.0, true).summary();
    summary.story = Some(Story {
        headline: "Twice 5_000 requests waited.".into(),
        because: vec![Reason::new("Others used [vda](x).", &[])],
        worth: Some("trustworthy".into()),
        remedy: Some("iosonar run -t 'a`b' --depth 8".into()),
        events: (0..20).map(event).collect(),
        shares: Vec::new(),
        lost_request_seconds: 20.0,
        normal: None,
        contrast: None,
        parts: Vec::new(),
        blame: None,
    });
    let text = markdown(&summary, Some("my result/report.html"));
    assert!(
        text.starts_with("## Twice 5\\_000 requests waited.\n\n- **because** Others used \\[vda\\](x).\n"),
        "{text}"
    );
    for part in [
        "- **worth** trustworthy\n- **try** ``iosonar run -t 'a`b' --depth 8``\n",
        "| | p50 | p99 | max |\n|---|---:|---:|---:|\n| response, due to done | ",
        "| 0 s | 90 % of the bytes on a\\|b were \\<b\\>not\\</b\\> of this run | 30 | 50.0 % |",
        "\n12 more events.\n",
        "\n### How it was made\n\n- `",
        "\n[Report page](my%20result/report.html)\n",
    ] {
        assert!(text.contains(part), "'{part}' is not in {text}");
    }
}

/// Names and texts are longer than any report has room for, and hold control characters.
#[test]
fn markdown_is_bounded_and_on_its_own_lines() {
    for run in [replay(20_000, 120.0, true), extreme(), empty(&["/dev/sdx"])] {
        let mut summary = run.summary();
        let long = "\u{1b}[2J\n# no heading <script> ".repeat(500);
        summary.run.command.clone_from(&long);
        summary.story = Some(Story {
            headline: long.clone(),
            because: vec![Reason::new(long.clone(), &[]), Reason::new(long.clone(), &[])],
            worth: Some(long.clone()),
            remedy: Some(long.clone()),
            events: (0..60).map(|number| StoryEvent { text: long.clone(), ..event(number) }).collect(),
            shares: Vec::new(),
            lost_request_seconds: 0.0,
            normal: None,
            contrast: None,
            parts: Vec::new(),
            blame: None,
        });
        let text = markdown(&summary, None);
        assert!(text.len() <= MOST, "{} bytes", text.len());
        assert!(!text.contains('\u{1b}') && !text.lines().any(|line| line.starts_with("# ")), "{text}");
        let outside_of_code = text.lines().filter(|line| !line.starts_with("- `"));
        assert!(!outside_of_code.clone().any(|line| line.contains(" <script>")), "{text}");
    }
}
