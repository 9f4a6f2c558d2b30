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
    assert_eq!(equal["answer"]["id"], "no-difference");
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
    assert!(text.starts_with("No difference shown: a median changed by "), "{text}");
}

/// The interval comes from the differences between runs, and conditions may name a value.
#[test]
fn repeats_of_two_settings_are_compared_together() {
    let lab = lab();
    let short = RUN.replace("--runtime 5", "--runtime 1");
    for seed in 1..=4 {
        lab.expect(0, &format!("{short} --seed {seed} --sim-service 100us -o a{seed}"));
        lab.expect(0, &format!("{short} --seed {seed} --sim-service 150us -o b{seed}"));
    }
    let sides = "a1 a2 a3 --against b1 b2 b3";
    let found = &json(&lab, sides)["comparisons"][0];
    assert_eq!(found["answer"]["outcome"], "slower", "{}", found["answer"]["text"]);
    assert_eq!((&found["a"]["name"], &found["b"]["name"]), (&"a1, a2, a3".into(), &"b1, b2, b3".into()));
    // The seed changes within a side.
    assert_eq!((&found["plan"][0]["field"], &found["plan"][1]), (&"engine.service".into(), &Value::Null));
    let values = found["repeats"]["values"].as_array().unwrap();
    let p50 = values.iter().find(|values| values["name"] == "latency.p50").unwrap();
    assert_eq!((p50["a"].as_array().unwrap().len(), p50["b"].as_array().unwrap().len()), (3, 3));
    let text = lab.expect(0, &format!("compare {sides}")).out;
    assert!(text.starts_with("B is slower: median latency"), "{text}");
    assert!(text.contains("The intervals cover the noise between runs (3 of each side)."), "{text}");
    let all = lab.expect(0, &format!("compare {sides} --all")).out;
    assert!(all.contains("Each run") && all.contains("  B3 "), "{all}");
    assert!(lab.expect(0, &format!("compare {sides} --markdown")).out.contains("| B | b1, b2, b3 |"));
    assert_eq!(fail_if(&lab, sides, &["p50 > 100us"]).code, 1);
    assert_eq!(fail_if(&lab, sides, &["p50 > 5ms", "iops < 10"]).code, 0);
    let equal = &json(&lab, "a1 a2 --against a3 a4")["comparisons"][0];
    assert_eq!(equal["answer"]["outcome"], "not-shown", "{}", equal["answer"]["text"]);
    let twice = lab.expect(2, "compare a1 a2 --against b1 ./b1").err;
    assert!(twice.contains("--against: ./b1 is named twice"), "{twice}");
    let alone = lab.expect(2, "compare a1 --against b1 b2").err;
    assert!(
        alone.contains("--against: the noise between runs takes at least 2 runs of each side; a1 is alone"),
        "{alone}"
    );
}

#[test]
fn evaluates_or_rejects_conditions() {
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

/// The speed of memory does not pass a gate.
#[test]
fn fake_run_is_named_first_and_judged_by_no_condition() {
    let lab = lab();
    run(&lab, "a", "--seed 1");
    lab.file("cached", vec![7; 8 << 20]);
    lab.expect(4, "run -t cached --rw randread --bs 4k --buffered --claim device --number-ios 3000 --percentile-list 50:99.5 --no-progress -o fake");
    let text = lab.expect(0, "compare a fake").out;
    assert!(text.starts_with("B is FAKE: the figures do not show how the targets differ."), "{text}");
    for form in ["--csv", "--markdown", "--json"] {
        let out = lab.expect(0, &format!("compare a fake {form}")).out;
        assert!(out.contains("FAKE as a device result"), "{form}: {out}");
    }
    for runs in ["a fake", "fake a"] {
        let refused = fail_if(&lab, runs, &["p99 > +20%"]);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(
            refused.err.contains("is FAKE as a device result") && refused.err.contains("--anyway"),
            "{}",
            refused.err
        );
        assert!(refused.out.contains("p99 > +20%: cannot be judged"), "{}", refused.out);
    }
    let same = "fake fake";
    assert_eq!(fail_if(&lab, same, &["p50 > +20%"]).code, 2);
    // The remaining reason to refuse is the noise of a short run, which a busy machine may make too large for any answer.
    let anyway = fail_if(&lab, &format!("{same} --anyway"), &["p50 > +20%"]);
    assert!(!anyway.err.contains("FAKE"), "{}", anyway.err);
    assert!(
        anyway.code == 0 || anyway.err.contains("its noise is larger"),
        "{}: {}",
        anyway.code,
        anyway.err
    );
}

#[test]
fn reports_gate_below_detectable_change() {
    let lab = lab();
    run(&lab, "a", "--seed 1 --sim-service 100us");
    run(&lab, "b", "--seed 2 --sim-service 100us");
    let blind = fail_if(&lab, "a b", &["p99 > +0.1%"]);
    assert_eq!(blind.code, 0, "{}", blind.err);
    let text = blind.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        text.contains("p99 > +0.1%: not shown, the condition holds; with this noise only changes of "),
        "{text}"
    );
    let strict = fail_if(&lab, "a b --strict", &["p99 > +0.1%"]);
    assert_eq!(strict.code, 2, "{}", strict.err);
    assert!(strict.err.contains("--strict: --fail-if 'p99 > +0.1%'"), "{}", strict.err);
    assert_eq!(fail_if(&lab, "a b --strict", &["p50 > +60%"]).code, 0);
}

#[test]
fn read_figures_apply_to_read_only_runs() {
    let lab = lab();
    for (name, seed) in [("a", 1), ("b", 2)] {
        let reads = RUN.replace("randrw", "randread");
        lab.expect(0, &format!("{reads} --seed {seed} -o {name}"));
    }
    assert_eq!(
        fail_if(&lab, "a b", &["read.p99 > +60%", "response.read.mean > +60%", "read.iops < -60%"]).code,
        0
    );
    assert_eq!(fail_if(&lab, "a b", &["write.p99 > +60%"]).code, 2);
}

#[test]
fn factors_have_no_percent_sign() {
    let lab = lab();
    let slow = RUN.replace("--rate-iops 1000", "--rate-iops 100");
    for (name, service) in [("a", "10us"), ("b", "20ms")] {
        lab.expect(0, &format!("{slow} --sim-service {service} -o {name}"));
    }
    let text = lab.expect(0, "compare a b").out;
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.iter().any(|word| word.starts_with('x')), "{text}");
    let is_factor = |word: &str| {
        word.strip_prefix('x').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    assert!(!words.windows(2).any(|pair| is_factor(pair[0]) && pair[1].starts_with('%')), "{text}");
}

#[test]
fn reports_incomplete_runs() {
    let lab = lab();
    run(&lab, "a", "--seed 1");
    lab.run(&format!("{RUN} --sim-errors 1 -o failing"));
    let nothing = lab.expect(1, "compare a failing");
    assert!(nothing.out.starts_with("Nothing to compare: none of the"), "{}", nothing.out);
    // A truncated archive: an error, and no figures.
    run(&lab, "cut", "--seed 1");
    let records = lab.path("cut/records.parquet");
    let whole = std::fs::read(&records).unwrap();
    std::fs::write(&records, &whole[..whole.len() / 2]).unwrap();
    let cut = lab.expect(2, "compare a cut");
    assert!(cut.out.is_empty() && cut.err.contains("records.parquet"), "{}", cut.err);
}

/// A change of the whole run, and stretches that are too short to be compared.
#[test]
fn stretch_findings_do_not_contradict_overall_change() {
    let lab = lab();
    let short =
        "run --engine sim -t dev --size 1g --rw randread --rate-iops 1000 --number-ios 150 --no-progress";
    lab.expect(0, &format!("{short} --sim-service 1ms -o a"));
    lab.expect(0, &format!("{short} --sim-service 180us -o b"));
    let text = lab.expect(0, "compare a b --all").out;
    assert!(text.starts_with("B is faster: median latency 82 % shorter"), "{text}");
    assert!(text.contains("B is faster: latency.p50 -82"), "{text}");
    assert!(text.contains("Over time: not compared") && !text.contains("nowhere"), "{text}");
    assert!(text.contains("This says"), "{text}");
    // Equal runs: their stretches are compared, and the text explains the result.
    run(&lab, "c", "--seed 1 --sim-service 100us");
    run(&lab, "d", "--seed 2 --sim-service 100us");
    let text = lab.expect(0, "compare c d --all").out;
    assert!(
        text.contains("Over time: no single stretch is shown to differ by more than its own noise"),
        "{text}"
    );
    assert!(text.contains("stretches of equal length were compared"), "{text}");
    assert!(text.contains("The farthest apart: latency.p"), "{text}");
}

/// `x64889` is an interval without information.
#[test]
fn reports_uninformative_interval_as_too_noisy() {
    let lab = lab();
    // Most requests take 100 us, and now and then many at once take a thousand times as long.
    let load = |name: &str, slow: &dyn Fn(u64) -> bool| {
        let row = |i: u64| {
            let latency = if slow(i) { "0.1" } else { "0.0001" };
            format!("{}.{:03} ; {} ; 8 ; R ; 0.0 ; {latency}\n", i / 100, i % 100 * 10, i * 8)
        };
        lab.file(name, (0..4_000).map(row).collect::<String>());
    };
    load("a.load", &|i| i % 1_000 < 90);
    load("b.load", &|i| i % 1_100 < 110);
    let text = lab.expect(0, "compare a.load b.load --all").out;
    let json = json(&lab, "a.load b.load");
    let figures = json["comparisons"][0]["figures"].as_array().unwrap();
    let noisy: Vec<&Value> = figures.iter().filter(|f| f["too_noisy"] == true).collect();
    assert!(!noisy.is_empty(), "{text}");
    for figure in &noisy {
        assert!(figure["high_percent"].as_f64() > Some(100.0) && figure["shown"] == false, "{figure}");
        let name = figure["name"].as_str().unwrap();
        let line = text.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        assert!(line.contains("too noisy") && !line.contains('x'), "{line}");
    }
    assert!(text.lines().all(|line| line.len() <= 79), "{text}");
    let csv = lab.expect(0, "compare a.load b.load --csv").out;
    assert_eq!(csv.lines().filter(|line| line.ends_with(",false,true,,,")).count(), noisy.len(), "{csv}");
}

#[test]
fn compares_several_runs_in_one_table() {
    let lab = lab();
    run(&lab, "a", "--seed 1 --sim-service 100us");
    run(&lab, "b", "--seed 2 --sim-service 100us");
    run(&lab, "c", "--seed 1 --sim-service 150us");
    let both = json(&lab, "a b c");
    let p50 = |run: usize| {
        let figures = both["comparisons"][run]["figures"].as_array().unwrap();
        figures.iter().find(|f| f["name"] == "latency.p50").unwrap()["change_percent"].as_f64().unwrap()
    };
    let csv = lab.expect(0, "compare a b c --csv").out;
    let mut lines = csv.lines();
    assert!(lines.next().unwrap().starts_with("baseline,run,figure,unit,a,b,change_percent,"), "{csv}");
    let all = both["comparisons"].as_array().unwrap();
    let figures: usize = all.iter().map(|c| c["figures"].as_array().unwrap().len()).sum();
    assert_eq!(lines.clone().count(), figures);
    for (run, name) in [(0, "b"), (1, "c")] {
        let begin = format!("\"a\",\"{name}\",latency.p50,ns,");
        let line = lines.clone().find(|line| line.starts_with(&begin)).unwrap_or_else(|| panic!("{csv}"));
        let cells: Vec<&str> = line.splitn(14, ',').collect();
        assert_eq!((cells.len(), cells[6].parse::<f64>().unwrap()), (14, p50(run)), "{line}");
        assert_eq!(cells[10] == "true", run == 1, "{line}");
    }
    let markdown = lab.expect(0, "compare a b c --markdown").out;
    let table: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert!(
        table.iter().any(|line| line.starts_with("| B2 | c |") && line.contains("B is slower")),
        "{markdown}"
    );
    let row = table.iter().find(|line| line.starts_with("| latency.p50 |")).unwrap();
    assert_eq!(row.matches('|').count(), 5, "{row}");
    assert!(row.contains("**+"), "{row}");
    let text = lab.expect(0, "compare a b c").out;
    assert!(text.starts_with("Baseline A  a\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("  latency.p50")).unwrap();
    assert!(row.trim_end().ends_with('*') && row.len() <= 79, "{row}");
    assert!(lab.expect(0, "compare a c --markdown").out.contains("| B | c |"));
    lab.expect(2, "compare a c --markdown --csv");
    lab.expect(2, "compare a c --json --csv");
}

/// Flushes determine how long a commit takes: they are compared, and a condition may refer to them.
#[test]
fn flushes_have_separate_figures() {
    let lab = lab();
    let load = |name: &str, flush_ms: u64| {
        let row = |i: u64| {
            let due = format!("{}.{:03}", i / 100, i % 100 * 10);
            match i % 3 {
                2 => {
                    format!("# flush ; {due} ; 0.0 ; {:.6}\n", flush_ms as f64 / 1e3 + (i % 7) as f64 * 1e-5)
                }
                _ => {
                    format!("{due} ; {} ; 8 ; W ; 0.0 ; {:.6}\n", i % 64 * 8, 0.0001 + (i % 5) as f64 * 1e-6)
                }
            }
        };
        lab.file(name, (0..6_000).map(row).collect::<String>());
    };
    load("a.load", 1);
    load("b.load", 3);
    let text = lab.expect(1, "compare a.load b.load --fail-if flush.p50>+50% --fail-if p50>+50%").out;
    assert!(text.contains("flush.p50>+50%: SHOWN, the condition FAILED"), "{text}");
    assert!(text.contains("p50>+50%: not shown, the condition holds"), "{text}");
    let json = json(&lab, "a.load b.load");
    let figures = json["comparisons"][0]["figures"].as_array().unwrap();
    let names: Vec<&str> = figures.iter().map(|figure| figure["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"latency.flush.p99") && names.contains(&"flush.iops"), "{names:?}");
}

/// The story names direction, size and cause; its evidence stands in the JSON, and its text fits on a small terminal.
#[test]
fn story_of_a_comparison_names_its_cause() {
    let lab = lab();
    let stalls = "--rw randread --bs 4k --iodepth 4 --rate-iops 2000 --runtime 10s --randseed 1";
    lab.expect(0, &format!("run {SIM} {stalls} -o calm"));
    lab.expect(0, &format!("run {SIM} {stalls} --sim-stall 900ms/3s -o stalled"));
    lab.expect(0, &format!("run {SIM} {stalls} --number-ios 20 -o few"));
    let json = json(&lab, "calm stalled few");
    let story = |run: usize| &json["comparisons"][run]["story"];
    for reason in [0, 1].iter().flat_map(|run| story(*run)["because"].as_array().into_iter().flatten()) {
        for path in reason["evidence"].as_array().unwrap() {
            let pointer = format!("/{}", path.as_str().unwrap().replace('.', "/"));
            assert!(json.pointer(&pointer).is_some(), "{path} is not in the JSON");
        }
    }
    let headline = story(0)["headline"].as_str().unwrap();
    assert!(headline.starts_with("B is slower: "), "{headline}");
    let because = story(0)["because"].to_string();
    assert!(
        because.contains("nothing completed for") && because.contains("A has no such event"),
        "{because}"
    );
    assert!(because.contains("The plans differ: engine stall"), "{because}");
    assert_eq!(story(1)["headline"], "Too few requests to compare: B has 20.");
    let many = " --fail-if p50>+1% --fail-if p99>+1% --fail-if iops<-1% --fail-if mean>+1%".repeat(6);
    let text = lab.expect(1, &format!("compare calm stalled{many}")).out;
    assert!(text.lines().count() <= 24 && text.lines().all(|line| line.len() <= 79), "{text}");
    assert!(text.replace('\n', " ").starts_with(headline), "{text}");
    assert!(text.contains("FAILED") && text.contains("more conditions"), "{text}");
    let all = lab.expect(0, "compare calm stalled --all").out;
    assert!(all.replace('\n', " ").starts_with(headline), "{all}");
    assert!(
        all.contains(
            "Differences of the plan\n  engine, stall\n    length: - -> 900ms\n    period: - -> 3s\n"
        ),
        "{all}"
    );
}

/// The Markdown of a comparison has its story, what differs, and how both runs were made.
#[test]
fn markdown_can_be_pasted_into_a_report() {
    let lab = lab();
    run(&lab, "a", "--seed 1 --sim-service 100us");
    run(&lab, "b", "--seed 1 --sim-service 150us");
    let markdown = lab.expect(1, "compare a b --markdown --fail-if p50>+10%").out;
    assert!(markdown.starts_with("## B is slower: median "), "{markdown}");
    for part in [
        "\n- **because** The plans differ: engine service (A 100us, B 150us).\n",
        "\n| A | a | ",
        "\n- p50\\>+10%: SHOWN, the condition FAILED\n",
        "\nPlans of A and B differ:\n\n- engine, service: 100us \u{2192} 150us\n",
        "\n### How they were made\n\n- A: `",
        "run --engine sim -t dev",
    ] {
        assert!(markdown.contains(part), "'{part}' is not in {markdown}");
    }
}
