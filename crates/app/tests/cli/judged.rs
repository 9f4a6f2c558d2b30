//! Verdicts on simulated runs: levels, stalls and rates of a device with prescribed behaviour, from several seeds. Real devices are in
//! `devices/validity.rs` and `devices/experiments.rs`, counts over many seeds in `./bench validity`.

use crate::*;
use serde_json::Value;

/// The judgement of 20 000 reads in 40 s of the simulated clock.
fn judgement(lab: &Lab, seed: u64, options: &str) -> Value {
    let device = "-t dev --engine sim --size 1g --rw randread --bs 4k --time-based --runtime 40s";
    lab.run(&format!("run {device} --seed {seed} {options} --no-progress -o r"));
    let judgement = serde_json::from_str(&lab.expect(0, "judge r --json").out).unwrap();
    std::fs::remove_dir_all(lab.path("r")).unwrap();
    judgement
}

/// Names of its cautions.
fn cautions(judgement: &Value) -> Vec<&str> {
    let all = judgement["detections"].as_array().unwrap().iter();
    let told = all.filter(|one| one["level"] == "caution" || one["level"] == "fail");
    told.map(|one| one["id"].as_str().unwrap()).collect()
}

const CLEAN: &str = "--sim-service 1500us --sim-jitter 500us";

#[test]
fn clean_device_has_no_cautions_and_each_flaw_its_own() {
    slow!();
    let lab = lab();
    for seed in 1..=4 {
        let clean = judgement(&lab, seed, CLEAN);
        assert_eq!(cautions(&clean), [""; 0], "seed {seed}: {clean:#}");
        for (options, id) in [
            (format!("{CLEAN} --sim-change 250@16s"), "not-steady"),
            (format!("{CLEAN} --sim-stall 1s/10s"), "stalls-hidden"),
            (
                format!("{CLEAN} --sim-channels 1 --iodepth 4 --rate-iops 600 --rate-process poisson"),
                "cannot-keep-up",
            ),
            (format!("{CLEAN} --sim-errors 500"), "requests-not-done"),
        ] {
            let judged = judgement(&lab, seed, &options);
            assert!(cautions(&judged).contains(&id), "seed {seed}, {options}: {judged:#}");
        }
    }
}

#[test]
fn level_change_has_its_time_and_a_link() {
    let lab = lab();
    lab.run(&format!(
        "run -t dev --engine sim --size 1g --rw randread --bs 4k --time-based --runtime 40s {CLEAN} --sim-change 250@16s --no-progress -o r"
    ));
    let judgement: Value = serde_json::from_str(&lab.expect(0, "judge r --json").out).unwrap();
    let all = judgement["detections"].as_array().unwrap();
    let during = &all.iter().find(|one| one["id"] == "not-steady").unwrap()["during"];
    let [from, to] = ["from_ns", "to_ns"].map(|end| during[end].as_u64().unwrap());
    assert!(from < 16_000_000_000 && to > 16_000_000_000, "{during}");
    let text = lab.expect(0, "explain r").out;
    assert!(text.contains("  picture     r/report.html#t="), "{text}");
    assert!(text.contains("is written by: iosonar report r"), "{text}");
    lab.expect(0, "report r");
    assert!(!lab.expect(0, "explain r").out.contains("is written by"), "{text}");
    let page = std::fs::read_to_string(lab.path("r/report.html")).unwrap();
    assert!(page.contains("<a href=\"#t=") && page.contains("Show the time</a>"), "no link in the page");
}

/// I1: a slow device has more requests in flight, so more conflict; where those are dropped it looks better than it is.
#[test]
fn reports_requests_dropped_for_conflicts() {
    let lab = lab();
    let line =
        |n: u64| format!("{}.{:03} ; {} ; 8 ; W ; 0.0 ; 0.0\n", n / 500, n % 500 * 2, n * 7919 % 64 * 8);
    let lines: String = (0..2000).map(line).collect();
    lab.file("l.load", format!("start ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n{lines}"));
    for (service, level) in [("1ms", "ok"), ("150ms", "fail")] {
        let replay =
            format!("replay l.load -t dev --engine sim --size 1g --overlap drop --sim-service {service}");
        lab.run(&format!("{replay} --no-progress -o r"));
        let judged: Value = serde_json::from_str(&lab.expect(0, "judge r --json").out).unwrap();
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        let mut all = judged["detections"].as_array().unwrap().iter();
        let found = all.find(|one| one["id"] == "requests-not-done").unwrap();
        assert_eq!(found["level"], level, "{service}: {found:#}");
    }
}

/// A verdict is "read with care" also without a caution: a short run does not show whether the level stays.
#[test]
fn strict_exits_with_3_for_every_care_verdict() {
    let lab = lab();
    let run = "run -t a.img --rw randread --bs 4k --number-ios 300 --no-progress";
    lab.file(
        "a.img",
        (0..4u32 << 20).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>(),
    );
    assert!(lab.expect(0, &format!("{run} -o r")).out.contains("read with care"));
    lab.expect(3, &format!("{run} --strict -o s"));
    lab.expect(0, "judge r");
    lab.expect(3, "judge r --strict");
    lab.expect(3, "analyze r --strict");
}

#[test]
fn help_names_exit_code_of_bad_data() {
    let lab = lab();
    for command in ["", "run", "replay", "matrix", "verify", "check"] {
        let help = lab.expect(0, &format!("{command} --help")).out;
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("5 data was not") || help.contains("5: "), "{command}: {help}");
    }
    for command in ["iozone -h", "xdd -fullhelp", "blkreplay --help"] {
        let ended = lab.run(command);
        let help = (ended.out + &ended.err).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains("5 data was not"), "{command}: {help}");
    }
}

#[test]
fn explain_shows_stored_verdict_or_judges_again() {
    let lab = lab();
    lab.run(&format!(
        "run -t dev --engine sim --size 1g --rw randread --bs 4k --number-ios 500 {CLEAN} --no-progress -o r"
    ));
    let summary = lab.path("r/summary.json");
    let mut kept: Value = serde_json::from_str(&std::fs::read_to_string(&summary).unwrap()).unwrap();
    kept["judgement"]["verdict"] = "fake".into();
    kept["judgement"]["sentence"] = "FAKE, says the result".into();
    std::fs::write(&summary, kept.to_string()).unwrap();
    assert!(lab.expect(0, "explain r").out.contains("FAKE, says the result"));
    for option in ["--brief", "--json", "--strict"] {
        let ended = lab.run(&format!("explain r {option}"));
        assert_eq!(ended.code, 4, "{option}: {}", ended.out);
        assert!(ended.out.contains("FAKE, says the result"), "{option}: {}", ended.out);
    }
    for again in ["explain r --again --brief", "judge r"] {
        assert!(!lab.expect(0, again).out.contains("FAKE"), "{again}");
    }
    assert!(lab.expect(0, "help judge").out.contains("iosonar explain"));
}
