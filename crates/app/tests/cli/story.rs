//! The story of results whose cause was planted: headline and reasons state it.

use crate::{SIM, lab};
use iosonar_testkit::Lab;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(Deserialize)]
struct PlantedResults {
    result: Vec<Planted>,
}

/// A command, and what its story must state.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Planted {
    name: String,
    /// Words of `run`.
    run: Option<String>,
    /// Words of `replay` on a load of bursts.
    replay: Option<String>,
    burst: Option<[u64; 4]>,
    /// Whether the requests of the bursts are writes of one place.
    #[serde(default)]
    same_place: bool,
    /// A plan for `run`.
    plan: Option<String>,
    /// The exit code.
    #[serde(default)]
    code: i32,
    headline: Vec<String>,
    #[serde(default)]
    because: Vec<String>,
    #[serde(default, rename = "try")]
    remedy: Vec<String>,
    events: Option<usize>,
    /// Whether no group of requests may be said to be slow.
    #[serde(default)]
    no_contrast: bool,
    /// Shares of causes in the lost time.
    #[serde(default)]
    shares: BTreeMap<String, f64>,
}

fn planted() -> Vec<Planted> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/planted/planted.toml");
    let text = std::fs::read_to_string(path).unwrap();
    toml::from_str::<PlantedResults>(&text).unwrap().result
}

/// Bursts of reads at random places, or of writes of one place: number of bursts, requests in each, requests per second, and the time
/// between their starts in ms.
fn bursts([bursts, requests, rate, between_ms]: [u64; 4], same_place: bool) -> String {
    let line = |burst: u64, request: u64| {
        let time = burst as f64 * between_ms as f64 / 1e3 + request as f64 / rate as f64;
        let random = (burst * requests + request).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 200_000 * 8;
        let (sector, op) = if same_place { (0, 'W') } else { (random, 'R') };
        format!("{time:.9} ; {sector} ; 8 ; {op} ; 0.0 ; 0.0\n")
    };
    let head = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n".to_string();
    let lines = (0..bursts).flat_map(|burst| (0..requests).map(move |request| line(burst, request)));
    head + &lines.collect::<String>()
}

fn story_of(lab: &Lab, result: &str) -> Value {
    let json: Value = serde_json::from_str(&lab.expect(0, &format!("show --json {result}")).out).unwrap();
    with_evidence(&json)
}

/// The story in a JSON, whose evidence is in the same JSON.
#[track_caller]
pub fn with_evidence(json: &Value) -> Value {
    let story = &json["story"];
    assert!(story["headline"].as_str().unwrap().chars().count() <= 90, "{story:#}");
    let reasons = story["because"].as_array().into_iter().flatten();
    for path in reasons.flat_map(|reason| reason["evidence"].as_array().unwrap()) {
        let pointer = format!("/{}", path.as_str().unwrap().replace('.', "/"));
        assert!(json.pointer(&pointer).is_some(), "{path} is not in the JSON: {story:#}");
    }
    story.clone()
}

/// The share of a cause in the lost time.
fn share_of(story: &Value, cause: &str) -> f64 {
    let shares = story["shares"].as_array().into_iter().flatten();
    shares.filter(|one| one["cause"] == cause).map(|one| one["share"].as_f64().unwrap()).sum()
}

#[track_caller]
fn has(name: &str, text: &str, words: &[String]) {
    for word in words {
        assert!(text.contains(word), "{name}: '{word}' is not in {text}");
    }
}

#[test]
fn names_planted_causes() {
    let lab = lab();
    for one in planted() {
        let command = match (&one.run, &one.replay, one.burst, &one.plan) {
            (Some(words), None, None, None) => format!("run {SIM} --randseed 7 {words}"),
            (None, Some(words), Some(shape), None) => {
                lab.file("bursts.load", bursts(shape, one.same_place));
                format!("replay bursts.load {SIM} {words}")
            }
            (None, None, None, Some(plan)) => {
                lab.file("plan.toml", plan);
                "run plan.toml --no-progress".into()
            }
            _ => panic!("{}: one of run, replay and plan", one.name),
        };
        lab.expect(one.code, &format!("{command} -o {}", one.name));
        let story = story_of(&lab, &one.name);
        let headline = story["headline"].as_str().unwrap();
        assert!(headline.chars().count() <= 90, "{headline}");
        has(&one.name, headline, &one.headline);
        has(&one.name, &story["because"].to_string(), &one.because);
        has(&one.name, &story["try"].to_string(), &one.remedy);
        if let Some(events) = one.events {
            assert_eq!(story["events"].as_array().map_or(0, Vec::len), events, "{}: {story:#}", one.name);
        }
        assert!(!one.no_contrast || story["contrast"].is_null(), "{}: {story:#}", one.name);
        for (cause, truth) in one.shares {
            let share = share_of(&story, &cause);
            assert!((share - truth).abs() < 0.1, "{}: {cause} has {share}: {story:#}", one.name);
        }
    }
}

/// Shares of all causes add up to the whole, and a short text fits on a small terminal.
#[test]
fn shares_are_complete_and_the_text_is_short() {
    let lab = lab();
    let stalls = "--rw randread --bs 4k --depth 2 --rate-iops 5000 --sim-stall 200ms/3s --runtime 10s";
    lab.expect(0, &format!("run {SIM} {stalls} -o r"));
    let story = story_of(&lab, "r");
    let shares = story["shares"].as_array().unwrap();
    let sum: f64 = shares.iter().map(|one| one["share"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{story:#}");
    assert_eq!(shares[0]["cause"], "target-stood-still", "{story:#}");
    let text = lab.expect(0, "show r").out;
    assert!(text.lines().count() <= 24, "{text}");
    assert!(text.starts_with(&story["headline"].as_str().unwrap()[..20]), "{text}");
    let all = lab.expect(0, "show r --all").out;
    let long = "x".repeat(200);
    lab.expect(0, &format!("run {SIM} {stalls} -o {long}"));
    assert!(lab.expect(0, &format!("show {long}")).out.lines().count() <= 24);
    assert!(all.starts_with(&text) && all.contains("Throughput"), "{all}");
}

/// Reads come alone, or sixteen at once to a target that serves one after the other.
#[test]
fn batches_are_a_reason() {
    let lab = lab();
    let line = |number: u64, at_us: u64| {
        format!("{:.6} ; {} ; 8 ; R ; 0.0 ; 0.0\n", at_us as f64 / 1e6, number * 7919 % 200_000 * 8)
    };
    let alone = (0..300u64).map(|number| (number, number * 10_000));
    let together = (0..30u64)
        .flat_map(|batch| (0..16).map(move |n| (300 + batch * 16 + n, batch * 100_000 + 5_000 + n)));
    let mut all: Vec<(u64, u64)> = alone.chain(together).collect();
    all.sort_by_key(|(_, at_us)| *at_us);
    let lines: String = all.into_iter().map(|(number, at_us)| line(number, at_us)).collect();
    let head = "start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n";
    lab.file("batches.load", format!("{head}{lines}"));
    lab.expect(0, &format!("replay batches.load {SIM} --sim-channels 1 --depth 32 -o r"));
    let because = story_of(&lab, "r")["because"].to_string();
    assert!(
        because.contains("Reads in batches of 16 take") && because.contains("submitted alone 99.8 µs"),
        "{because}"
    );
}
