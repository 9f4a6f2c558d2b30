//! Stories of made answers.

use super::{KneeFacts, knee_story};
use iosonar_analyze::compare::RunVerdict;
use iosonar_analyze::knee::{Doubt, Knee, KneeVerdict, RampRow, RowTimes};
use iosonar_analyze::{Cause, OutsideCause, Statement, Verdict};
use iosonar_plan::{ByteSize, Decimal, Generator, Nanos, Order, Rising, RisingShape, TraceReplay, Workload};

const S: u64 = 1_000_000_000;

fn knee() -> Knee {
    Knee {
        sustained_per_second: 58_214.0,
        low_per_second: 55_940.0,
        high_per_second: 60_310.0,
        at_ns: 10 * S,
        behind_from_ns: 10 * S,
        measured_from_ns: 10 * S,
        measured_to_ns: 16 * S,
        from_the_start: false,
        last_per_second: 58_000.0,
        backlog_requests: 40_000,
    }
}

/// Steps of a second, from 50 000/s by 1 000/s more; the median is 137 µs below the knee.
fn steps() -> Vec<RampRow> {
    let row = |number: u64| RampRow {
        from_ns: number * S,
        to_ns: (number + 1) * S,
        demanded: (50_000 + number * 1_000) as f64,
        delivered: 50_000,
        failed: 0,
        delay: None,
        response: Some(RowTimes {
            p50_ns: if number < 10 { 137_000 } else { 9_000_000 },
            p99_ns: 10_000_000,
        }),
    };
    (0..20).map(row).collect()
}

fn pattern(read_percent: u64) -> Workload {
    let read_percent = Decimal::whole(read_percent);
    Workload::Generated(Generator { read_percent, ..Generator::new(Order::Random, ByteSize(4096)) })
}

const COMMAND: &str = "./iosonar knee -t /dev/sdx --depth 8 -o k";

fn facts<'a>(verdict: &'a KneeVerdict, steps: &'a [RampRow], workload: &'a Workload) -> KneeFacts<'a> {
    KneeFacts {
        command: COMMAND,
        workload,
        depth: 8,
        duration: Nanos::from_secs(20),
        most: 1_000_000,
        rising: Rising { from: 100, to: 2_000, over: Nanos::from_secs(20), shape: RisingShape::Linear },
        verdict,
        steps,
        failed: 0,
        load_was_over: false,
        judgement: None,
        fake: None,
        outside: None,
        slow: None,
    }
}

/// An answer about random reads.
struct Given {
    verdict: KneeVerdict,
    steps: Vec<RampRow>,
    workload: Workload,
}

fn given(verdict: KneeVerdict) -> Given {
    Given { verdict, steps: steps(), workload: pattern(100) }
}

fn found(knee: Knee) -> Given {
    given(KneeVerdict::Found(knee))
}

fn story_of<'a>(given: &'a Given, change: impl FnOnce(&mut KneeFacts<'a>)) -> Statement {
    let mut facts = facts(&given.verdict, &given.steps, &given.workload);
    change(&mut facts);
    let story = knee_story(&facts);
    assert!(story.headline.chars().count() <= 90 && story.because.len() <= 2, "{story:#?}");
    assert!(story.because.iter().all(|reason| !reason.evidence.is_empty()), "{story:#?}");
    story
}

#[test]
fn headline_has_rate_interval_and_depth() {
    let story = story_of(&found(knee()), |_| {});
    assert_eq!(story.headline, "Sustains 58 200 random 4 KiB reads/s (55 900 to 60 400) with 8 in flight.");
    let below = &story.because[0];
    assert_eq!(
        below.text,
        "From 50 000 to 59 000/s the median response was 137 µs at most; above 60 300/s the wait grows without end."
    );
    assert_eq!(below.evidence[1..3], ["steps.0.demanded", "steps.9.demanded"]);
    assert!(story.worth.unwrap().starts_with("95 % interval from 6.00 s of overload"));
}

#[test]
fn narrow_intervals_have_more_digits() {
    let narrow = |low: f64, high: f64| {
        let knee =
            Knee { sustained_per_second: 1000.0, low_per_second: low, high_per_second: high, ..knee() };
        story_of(&found(knee), |_| {}).headline
    };
    assert!(narrow(999.6, 1_000.4).contains("Sustains 1 000 random 4 KiB reads/s (999 to 1 001)"));
    assert!(narrow(1_000.0, 1_000.0).contains("(1 000 to 1 000)"));
    assert!(narrow(983.2, 1_017.0).contains("(980 to 1 020)"));
}

#[test]
fn depth_is_the_limit_if_responses_do_not_grow() {
    let story = story_of(&found(knee()), |_| {});
    assert_eq!(
        story.because[1].text,
        "8 requests in flight ÷ 137 µs each = 58 400/s at most: the depth is the limit."
    );
    assert_eq!(story.remedy.as_deref(), Some("iosonar knee -t /dev/sdx --depth 32 -o k-depth32"));
    let story = story_of(&found(knee()), |facts| facts.depth = 128);
    assert!(story.because[1].text.ends_with("more in flight would only add waiting."), "{story:#?}");
    assert_eq!(story.remedy, None);
    // Neither is shown.
    let story = story_of(&found(knee()), |facts| facts.depth = 16);
    assert_eq!(story.because.len(), 1, "{story:#?}");
}

#[test]
fn few_requests_allow_no_statement_about_responses() {
    let (mut steps, workload, verdict) = (steps(), pattern(100), KneeVerdict::Found(knee()));
    steps.iter_mut().take(9).for_each(|row| row.delivered = 29);
    let story = knee_story(&facts(&verdict, &steps, &workload));
    assert!(story.because[0].text.starts_with("At 59 000/s "), "{story:#?}");
    steps.iter_mut().for_each(|row| row.delivered = 29);
    let story = knee_story(&facts(&verdict, &steps, &workload));
    assert_eq!(
        story.because[0].text,
        "More was requested from 10.00 s on; the backlog never drained from 10.00 s on, and was 40 000 requests at the end."
    );
    assert_eq!(story.because.len(), 1);
}

#[test]
fn requests_are_named_as_they_were_asked_for() {
    let verdict = KneeVerdict::Found(knee());
    let headline = |workload: Workload| knee_story(&facts(&verdict, &[], &workload)).headline;
    assert_eq!(
        headline(pattern(70)),
        "Sustains 58 200 random 4 KiB requests/s (55 900 to 60 400), 70 % reads, with 8 in flight."
    );
    assert!(headline(pattern(0)).contains(" random 4 KiB writes/s "));
    let load = Workload::Trace(TraceReplay::of("a.load"));
    assert_eq!(headline(load), "Sustains 58 200 requests/s (55 900 to 60 400) with up to 8 in flight.");
}

/// Others or a lack of CPU make the rate a lower bound: it is not the target's limit.
#[test]
fn causes_outside_make_the_rate_a_lower_bound() {
    let cause = OutsideCause { cause: Cause::NoCpu, text: "this program had no CPU for 4.10 s".into() };
    let story = story_of(&found(knee()), |facts| facts.outside = Some(&cause));
    assert!(story.headline.starts_with("At least 58 200 random 4 KiB reads/s"), "{story:#?}");
    assert_eq!(story.because[0].evidence, ["outside_cause"]);
    assert!(story.remedy.unwrap().starts_with("repeat it"));
}

#[test]
fn failures_collapse_and_overload_from_the_start_are_reasons() {
    let story = story_of(&found(knee()), |facts| facts.failed = 12);
    assert_eq!(story.because[0].text, "12 requests failed; the rate is that of the others.");
    let collapsed = Knee { last_per_second: 1_200.0, ..knee() };
    let story = story_of(&found(collapsed), |_| {});
    assert!(story.because[1].text.ends_with("in the end it does only 1 200/s."), "{story:#?}");
    let at_once = Knee { from_the_start: true, at_ns: 0, behind_from_ns: 0, ..knee() };
    let story = story_of(&found(at_once), |facts| facts.command = "iosonar knee -t f --from 99 --to 200");
    assert!(story.because[0].text.starts_with("Even the first rate was too much"), "{story:#?}");
    assert_eq!(story.remedy.as_deref(), Some("iosonar knee -t f --from 27970 --to 90465"));
}

#[test]
fn unclear_answers_have_a_bound_and_a_command() {
    let unclear = |why, least: Option<f64>| given(KneeVerdict::Unclear { why, at_least_per_second: least });
    let story = story_of(&unclear(Doubt::TooShort, Some(990.0)), |_| {});
    assert_eq!(
        story.headline,
        "At least 990 random 4 KiB reads/s; the limit is not clear: the overload was too short."
    );
    assert_eq!(
        story.remedy.as_deref(),
        Some("iosonar knee -t /dev/sdx --depth 8 -o k-longer --duration 80s")
    );
    let slow = Rising { from: 1, to: 6, over: Nanos::from_secs(75), shape: RisingShape::Linear };
    let story = story_of(&unclear(Doubt::TooFew, None), |facts| facts.slow = Some(slow));
    assert_eq!(story.headline, "The limit is not clear: too few requests completed.");
    assert!(story.remedy.unwrap().ends_with("-o k-slow --duration 75s --from 1 --to 6"));
    assert_eq!(story.worth, None);
    let story = story_of(&unclear(Doubt::Stopped, None), |_| {});
    assert_eq!(story.remedy.as_deref(), Some("iosonar knee -t /dev/sdx --depth 8 -o k-again"));
}

#[test]
fn targets_that_keep_up_are_asked_for_more() {
    let kept_up = given(KneeVerdict::NotReached { at_least_per_second: 1_990.0 });
    let story = story_of(&kept_up, |_| {});
    assert_eq!(story.headline, "No limit was reached: at least 1 990 random 4 KiB reads/s with 8 in flight.");
    assert!(story.remedy.unwrap().ends_with("--most 10000000"));
    let story = story_of(&kept_up, |facts| facts.command = "iosonar knee -t f --to 2000");
    assert_eq!(story.remedy.as_deref(), Some("iosonar knee -t f --to 20000 --from 995"));
    let story = story_of(&kept_up, |facts| facts.command = "iosonar knee -t f --growth 95");
    assert_eq!(story.remedy.as_deref(), Some("iosonar knee -t f --growth 950"));
    let story = story_of(&kept_up, |facts| facts.load_was_over = true);
    assert!(story.because[0].text.starts_with("The load was over"), "{story:#?}");
}

#[test]
fn models_are_worth_no_storage_result() {
    let sentence = "no storage result: no I/O was done, or a model answered";
    let judgement = RunVerdict { verdict: Verdict::NotMeasured, sentence: sentence.into() };
    let story = story_of(&found(knee()), |facts| facts.judgement = Some(&judgement));
    assert_eq!(story.worth.as_deref(), Some(sentence));
}
