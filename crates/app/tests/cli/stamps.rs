//! A result that is no storage result is stamped wherever it is shown. Acceptance 41.

use crate::*;

const DRY: &str = "DRY RUN -- NOT A STORAGE RESULT";
const SIMULATED: &str = "SIMULATED -- NOT A STORAGE RESULT";
const CACHE: &str = "PAGE CACHE -- NOT A STORAGE RESULT";

/// All outputs for a result: text, JSON, page, and each SVG, with its name.
fn shown(lab: &Lab, result: &str) -> Vec<(String, String)> {
    let read = |name: String| (name.clone(), std::fs::read_to_string(lab.path(&name)).unwrap());
    let mut all = vec![
        ("show".into(), lab.expect(0, &format!("show --all {result}")).out),
        ("show --json".into(), lab.expect(0, &format!("show {result} --json")).out),
        read(format!("{result}/summary.json")),
    ];
    lab.expect(0, &format!("report {result}"));
    all.push(read(format!("{result}/report.html")));
    let plotted = lab.expect(0, &format!("plot {result}")).out;
    let (svg, png): (Vec<&str>, Vec<&str>) = plotted.lines().partition(|l| l.ends_with(".svg"));
    assert!(svg.len() == png.len() && svg.len() > 30, "{plotted}");
    all.extend(svg.into_iter().map(|name| read(name.to_string())));
    all
}

fn made(lab: &Lab, options: &str) {
    let rows_of_writes: Vec<String> = (0..200).map(|i| format!("0.{i:03}")).collect();
    let load: Vec<_> =
        rows_of_writes.iter().enumerate().map(|(i, t)| (t.as_str(), i as u64 * 8, 8, 'W')).collect();
    lab.file("l.load", rows(&load));
    lab.target("t.img", 1 << 20);
    let ended =
        lab.expect(0, &format!("replay l.load -t t.img --start-grace 0 --no-progress {options} -o r"));
    let s = summary(lab, "r");
    assert_eq!(ended.out.contains("NOT A STORAGE RESULT"), !s["stamps"].as_array().unwrap().is_empty());
}

#[test]
fn dry_simulated_and_buffered_runs_are_stamped_everywhere() {
    slow!();
    for (options, stamp) in [("--dry-run", DRY), ("--engine sim", SIMULATED), ("--buffered", CACHE)] {
        let lab = lab();
        made(&lab, options);
        for (name, text) in shown(&lab, "r") {
            assert!(text.contains(stamp), "{options}: {name}");
        }
    }
}

#[test]
fn stamps_the_strongest_reason() {
    for (options, stamp) in [
        ("--dry-run", DRY),
        ("--engine null", DRY),
        ("--dry-run --buffered", DRY),
        ("--engine sim --buffered", SIMULATED),
        ("--buffered --sync", CACHE),
    ] {
        let lab = lab();
        made(&lab, options);
        assert_eq!(summary(&lab, "r")["stamps"], serde_json::json!([stamp]), "{options}");
    }
}

#[test]
fn an_ordinary_run_has_no_stamp() {
    let lab = lab();
    if !crate::data::has_direct_io(&lab) {
        return iosonar_testkit::skip(
            "an_ordinary_run_has_no_stamp",
            "no O_DIRECT on the temporary directory",
        );
    }
    made(&lab, "");
    for (name, text) in shown(&lab, "r") {
        assert!(!text.contains("NOT A STORAGE RESULT"), "{name}");
    }
}

// The picture itself carries the stamp: the same run drawn without it has other pixels.
#[test]
fn stamp_is_drawn_into_pixels() {
    let lab = lab();
    made(&lab, "--engine sim");
    lab.expect(0, "plot r --png --only sonar -o stamped");
    // The records are the same; only the plan says that the engine was a real one.
    let path = lab.path("r/plan.toml");
    let plan = std::fs::read_to_string(&path).unwrap();
    let start = plan.find("[engine]").unwrap();
    let end = start + plan[start..].find("[access]").unwrap();
    std::fs::write(&path, format!("{}[engine]\nkind = \"threads\"\n\n{}", &plan[..start], &plan[end..]))
        .unwrap();
    lab.expect(0, "plot r --png --only sonar -o plain");
    let png = |dir: &str| std::fs::read(lab.path(dir).join("g01.latency.realtime.png")).unwrap();
    assert!(png("stamped") != png("plain"));
}
