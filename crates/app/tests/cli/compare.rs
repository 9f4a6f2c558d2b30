//! Runs beside a baseline: equal systems show no difference, a slower one is found, and CI gets an exit code.

use crate::*;

const RUN: &str = "run --engine sim -t dev --size 1g --rw randrw --rate-iops 1000 --rate-process poisson --runtime 5 \
                   --iodepth 32 --no-progress --sim-jitter 50us";

#[track_caller]
fn run(lab: &Lab, name: &str, words: &str) {
    lab.expect(0, &format!("{RUN} {words} -o {name}"));
}

fn json(lab: &Lab, args: &str) -> Value {
    serde_json::from_str(&lab.expect(0, &format!("compare {args} --json")).out).expect("JSON")
}

fn fail_if(lab: &Lab, runs: &str, conditions: &[&str]) -> iosonar_testkit::Ended {
    let mut command = lab.command(&format!("compare {runs}"));
    conditions.iter().for_each(|c| _ = command.args(["--fail-if", c]));
    iosonar_testkit::Ended::of(command.output().expect("the binary starts"))
}

#[test]
fn equal_systems_show_no_difference_and_a_slower_one_is_found() {
    let lab = lab();
    run(&lab, "a", "--seed 1 --sim-service 100us");
    run(&lab, "b", "--seed 2 --sim-service 100us");
    run(&lab, "c", "--seed 1 --sim-service 150us");
    let both = json(&lab, "a b c");
    let [equal, slower] = [&both["comparisons"][0], &both["comparisons"][1]];
    assert_eq!(both["version"], 1);
    assert_eq!(equal["answer"]["outcome"], "not-shown", "{}", equal["answer"]["text"]);
    assert_eq!(equal["load"], "different");
    assert_eq!(equal["plan"][0]["field"], "seed");
    assert_eq!(equal["plan"].as_array().unwrap().len(), 1, "{}", equal["plan"]);
    assert_eq!(slower["answer"]["outcome"], "slower");
    assert_eq!(slower["load"], "same");
    assert_eq!(slower["plan"][0]["field"], "engine.service");
    let p50 = slower["figures"].as_array().unwrap().iter().find(|f| f["name"] == "latency.p50").unwrap();
    // 100 us + ln 2 x 50 us, and 50 us more.
    let (low, high) = (p50["low_percent"].as_f64().unwrap(), p50["high_percent"].as_f64().unwrap());
    assert!(low < 37.2 && 37.0 < high && low > 30.0 && high < 45.0, "{p50}");
    assert!(slower["pairs"]["worse_share"].as_f64().unwrap() > 0.99);
    let text = lab.expect(0, "compare a a").out;
    assert!(text.starts_with("No difference shown with this noise; smallest visible: "), "{text}");
}

#[test]
fn conditions_fail_hold_or_are_refused() {
    let lab = lab();
    run(&lab, "a", "--seed 1 --sim-service 100us");
    run(&lab, "c", "--seed 1 --sim-service 150us");
    let failed = fail_if(&lab, "a c", &["p99 > +500%", "p50 > +10%"]);
    assert_eq!(failed.code, 1, "{}", failed.err);
    assert!(failed.out.contains("p50 > +10%: SHOWN, the condition FAILED"), "{}", failed.out);
    assert_eq!(fail_if(&lab, "a c", &["p50 > +60%", "iops < -5%"]).code, 0);
    let refused = fail_if(&lab, "a c", &["p98 > +10%"]);
    assert_eq!(refused.code, 2);
    for part in ["--fail-if", "p98 > +10%", "^", "example: p99 > +10%"] {
        assert!(refused.err.contains(part), "{part}: {}", refused.err);
    }
    run(&lab, "few", "--seed 1 --number-ios 30");
    let unknown = fail_if(&lab, "a few", &["p99.9 > +10%"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("--fail-if 'p99.9 > +10%' cannot be judged"), "{}", unknown.err);
    assert_eq!(lab.run("compare a").code, 2);
    assert_eq!(lab.run("compare a nowhere").code, 2);
}

#[test]
fn runs_that_are_not_whole_are_told() {
    let lab = lab();
    run(&lab, "a", "--seed 1");
    lab.run(&format!("{RUN} --sim-errors 1 -o failing"));
    let nothing = lab.expect(1, "compare a failing");
    assert!(nothing.out.starts_with("Nothing to compare: none of the"), "{}", nothing.out);
    // A damaged end: an error, and no figures.
    run(&lab, "cut", "--seed 1");
    let records = lab.path("cut/records.parquet");
    let whole = std::fs::read(&records).unwrap();
    std::fs::write(&records, &whole[..whole.len() / 2]).unwrap();
    let cut = lab.expect(2, "compare a cut");
    assert!(cut.out.is_empty() && cut.err.contains("records.parquet"), "{}", cut.err);
}
