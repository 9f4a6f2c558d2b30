//! One source for every number in a picture: a PNG or SVG shows the figures of `show --json` and `analyze --json`.

use crate::*;

/// A text of an SVG: its place, its words, and the figures that it claims to show.
#[derive(Debug, Clone)]
struct Shown {
    x: f64,
    y: f64,
    text: String,
    figures: Vec<(String, Value)>,
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let begin = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    Some(&tag[begin..begin + tag[begin..].find('"')?])
}

/// Paths with their values as JSON, which may contain blanks.
fn figures_of(mut pairs: &str) -> Vec<(String, Value)> {
    let mut figures = Vec::new();
    while let Some((path, rest)) = pairs.split_once('=') {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next().expect("a value").expect("a value is JSON");
        figures.push((path.to_string(), value));
        pairs = rest[values.byte_offset()..].trim_start();
    }
    figures
}

/// Returns every text of a picture. Neighbours with the same figures are lines of one text.
fn texts(svg: &str) -> Vec<Shown> {
    let mut all: Vec<Shown> = Vec::new();
    for part in svg.split("<text ").skip(1) {
        let (tag, rest) = part.split_once('>').expect("a tag ends");
        let tag = format!(" {tag}");
        let text = unescape(rest.split_once("</text>").expect("a text ends").0);
        let pairs = attribute(&tag, "data-figures").map(unescape).unwrap_or_default();
        let figures = figures_of(&pairs);
        // Upright words name axes.
        let place = |name| attribute(&tag, name).map_or(0.0, |v| v.parse().expect("a number"));
        match all.last_mut() {
            Some(last) if !figures.is_empty() && last.figures == figures => last.text += &format!(" {text}"),
            _ => all.push(Shown { x: place("x"), y: place("y"), text, figures }),
        }
    }
    all
}

/// A number in a text: its value, the possible rounding error, and the following word.
fn numbers(text: &str) -> Vec<(f64, f64, String)> {
    let chars: Vec<char> = text.chars().collect();
    let digit = |i: usize| chars.get(i).is_some_and(char::is_ascii_digit);
    let (mut found, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        if !digit(i) {
            i += 1;
            continue;
        }
        let mut word = String::new();
        // p50 is the name of a figure.
        let is_name = i > 0 && chars[i - 1].is_alphabetic();
        while digit(i) || (chars.get(i) == Some(&'.') && digit(i + 1) && !word.contains('.')) {
            word.push(chars[i]);
            i += 1;
            // Blanks stand between groups of three digits.
            let group = chars.get(i) == Some(&' ') && (1..=3).all(|n| digit(i + n)) && !digit(i + 4);
            i += usize::from(group && !is_name && !word.contains('.'));
        }
        let decimals = word.split_once('.').map_or(0, |(_, after)| after.len());
        let rest: String = chars[i..].iter().collect();
        let unit: String = rest.trim_start().chars().take_while(|c| !", ;:)(".contains(*c)).collect();
        found.push((word.parse().expect("a number"), 0.5 * 10f64.powi(-(decimals as i32)), unit));
    }
    found
}

/// Size of a unit in the JSON's unit; `None` for a word that is no unit.
fn factor(unit: &str) -> Option<f64> {
    let bytes = |power: i32| 1024f64.powi(power);
    Some(match unit {
        "ns" => 1.0,
        "µs" | "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "B" | "B/s" => 1.0,
        "KiB" => bytes(1),
        "MiB" => bytes(2),
        "GiB" => bytes(3),
        "TiB" => bytes(4),
        "kB/s" => 1e3,
        "MB/s" => 1e6,
        "MiB/s" => bytes(2),
        "GB/s" => 1e9,
        _ => return None,
    })
}

/// Whether a text shows a value: one of its numbers is the value, rounded, or its share of another figure of the text.
fn shows(shown: &Shown, path: &str, value: f64) -> bool {
    let value = value.abs();
    let value = match path {
        p if p.ends_with("window_s") || p.ends_with("lost_seconds_per_second") => value * 1e9,
        p if p.ends_with("cell_gib") => value * 1024f64.powi(3),
        p if p.contains("sector") || p.contains("_dist") || p.contains("mean_gap") => value * 512.0,
        _ => value,
    };
    let near = |number: f64, slack: f64, wanted: f64| {
        (number - wanted).abs() <= slack * 1.000_001 + wanted.abs() * 1e-12
    };
    let others: Vec<f64> = shown.figures.iter().filter_map(|(_, v)| v.as_f64()).collect();
    numbers(&shown.text).into_iter().any(|(number, slack, unit)| {
        let plain = near(number, slack, value);
        let ratio = |of: f64| {
            others.iter().any(|o| near(number, slack, value / o * of) || near(number, slack, o / value * of))
        };
        match (unit.as_str(), factor(&unit)) {
            ("%", _) => {
                plain || near(number, slack, value * 100.0) || ratio(100.0) || shown.text.contains(['<', '>'])
            }
            (_, Some(factor)) => {
                let pages = path.contains("pages") && near(number, slack, value * 4096.0 / factor);
                pages || near(number, slack, value / factor) || ratio(1.0 / factor)
            }
            _ => plain,
        }
    })
}

/// The documents of JSON that a path may lead into, by path prefix. The last one takes every path.
type Sources<'a> = [(&'a str, &'a Value)];

fn looked_up<'a>(sources: &Sources<'a>, path: &str) -> Option<&'a Value> {
    let (prefix, document) = sources.iter().find(|(prefix, _)| path.starts_with(prefix))?;
    // Of two runs, each figure has the letter of its run before it.
    let path = if ["a.", "b."].contains(prefix) { &path[2..] } else { path };
    document.pointer(&format!("/{}", path.replace('.', "/")))
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= a.abs().max(b.abs()) * 1e-12,
        _ => a == b,
    }
}

/// The embedded figures of an SVG, and of the PNG of the same name.
fn embedded(svg: &str, png: &[u8]) -> [Value; 2] {
    let line = svg.lines().find_map(|l| l.strip_prefix("Figures: ")).expect("an SVG has figures");
    let keyword = b"iTXtFigures\0\0\0\0\0";
    let at = png.windows(keyword.len()).position(|w| w == keyword).expect("a PNG has figures");
    let length = u32::from_be_bytes(png[at - 4..at].try_into().expect("four bytes")) as usize;
    let text = &png[at + keyword.len()..at + 4 + length];
    [unescape(line).as_bytes(), text].map(|json| serde_json::from_slice(json).expect("figures are JSON"))
}

/// Whether a text beside a plot explains scales and marks: its numbers are no figures of the run.
fn explains(text: &str) -> bool {
    let heads = ["p50", "p99", "p99.9", "p99.99", "blue: reads, red: writes"];
    let parts = [
        "one step is",
        "rows for each factor",
        "requests per row",
        "per cell",
        "in one cell",
        "where 10 or more",
        "where 100 or more",
        "each step",
        "random: 50 %",
        "0 %: places",
        "ascending: 0 %",
        "k·d",
        "4 KiB",
        "99.9 % of the requests",
        "; 0 ",
    ];
    heads.contains(&text) || parts.iter().any(|p| text.contains(p))
}

/// The labels of causes that name a device: the digits of `others on loop1` are part of a name.
fn labels_of_causes(sources: &Sources<'_>) -> Vec<String> {
    let rows = sources.iter().filter_map(|(_, document)| document.pointer("/story/blame/rows")?.as_array());
    let devices = rows.flatten().filter_map(|row| row["device"].as_str());
    devices.map(|device| format!("others on {device}")).collect()
}

/// Checks every picture of `what`, drawn by `plot WHAT`: each figure is that of `show` and `analyze`.
#[track_caller]
fn compare(lab: &Lab, what: &str, show: &Value) -> usize {
    let analysis: Value =
        serde_json::from_str(&lab.expect(0, &format!("analyze {what} --json")).out).expect("JSON");
    let folder = format!("{what}.pictures");
    lab.expect(0, &format!("plot {what} -o {folder}"));
    let of_analysis = ["demand.", "findings.", "correlations."].map(|prefix| (prefix, &analysis));
    let sources: Vec<_> = of_analysis.into_iter().chain([("", show)]).collect();
    compare_pictures(lab, &folder, &sources, true)
}

/// Every picture in a folder: each figure is that of the JSON, and its words are this value, rounded. Returns how many
/// figures were compared. `is_of_a_run`: no number beside the plot lacks its source.
#[track_caller]
fn compare_pictures(lab: &Lab, folder: &str, sources: &Sources<'_>, is_of_a_run: bool) -> usize {
    let (mut compared, mut wrong) = (0, Vec::new());
    let causes = labels_of_causes(sources);
    for entry in std::fs::read_dir(lab.path(folder)).expect("pictures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|e| e != "svg") {
            continue;
        }
        let name = path.file_stem().and_then(|n| n.to_str()).expect("a name").to_string();
        let svg = std::fs::read_to_string(&path).expect("a picture");
        let [of_svg, of_png] = embedded(&svg, &std::fs::read(path.with_extension("png")).expect("a PNG"));
        assert_eq!(of_svg, of_png, "{name}");
        let all = texts(&svg);
        for shown in &all {
            let is_head = (95.0..=204.0).contains(&shown.y) && name != "sheet";
            let beside = is_of_a_run && (shown.x >= 1_300.0 || is_head);
            let bottom = if name == "sheet" { 1_900.0 } else { 800.0 };
            let has_number = shown.text.contains(|c: char| c.is_ascii_digit());
            let is_words = explains(&shown.text) || causes.contains(&shown.text);
            if beside && shown.y < bottom && has_number && shown.figures.is_empty() && !is_words {
                wrong.push(format!("{name}: '{}' has no source", shown.text));
            }
            for (path, value) in &shown.figures {
                compared += 1;
                if !same(&of_svg[path], value) {
                    wrong.push(format!("{name}: {path} is not embedded"));
                }
                if path.starts_with("picture.") {
                    continue;
                }
                match looked_up(sources, path) {
                    Some(known) if same(known, value) => {}
                    known => wrong.push(format!("{name}: {path} is {value}, and in JSON {known:?}")),
                }
                if !value.as_f64().is_some_and(|value| shows(shown, path, value)) {
                    wrong.push(format!("{name}: '{}' does not show {path} = {value}", shown.text));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{folder}: {} of {compared}\n{}", wrong.len(), wrong.join("\n"));
    compared
}

/// A run of a small load with these options, and its pictures.
#[track_caller]
fn compare_run(name: &str, options: &str) {
    let lab = lab();
    lab.expect(0, "generate mixed a.load --duration 4s --rate 300 --size 64MiB --seed 5");
    lab.run(&format!("replay a.load --engine sim --size 1GiB --no-progress -t dev {options} -o {name}"));
    let show = serde_json::from_str(&lab.expect(0, &format!("show {name} --json")).out).expect("JSON");
    assert!(compare(&lab, name, &show) > 200);
}

#[test]
fn figures_of_a_run_match_its_summary() {
    compare_run("ok", "--sim-service 90us --sim-jitter 60us");
}

#[test]
fn figures_of_an_overload_match_its_summary() {
    compare_run("over", "--sim-service 20ms --sim-channels 1 --depth 16");
}

#[test]
fn figures_of_a_run_with_errors_match_its_summary() {
    compare_run("failed", "--sim-service 90us --sim-jitter 600us --sim-errors 50 --sim-short 70");
}

#[test]
fn figures_of_a_run_with_a_stall_match_its_summary() {
    compare_run("stall", "--sim-service 90us --sim-jitter 60us --sim-stall 300ms/1s");
}

#[test]
fn figures_of_a_load_match_its_analysis() {
    let lab = lab();
    lab.expect(0, "generate mixed a.load --duration 20s --rate 300 --size 64MiB --seed 5");
    assert!(compare(&lab, "a.load", &Value::Null) > 80);
}

#[test]
fn figures_of_a_comparison_match_its_json() {
    let lab = lab();
    lab.expect(0, "generate mixed a.load --duration 4s --rate 300 --size 64MiB --seed 5");
    for (name, service) in [("a", "90us"), ("b", "140us")] {
        lab.expect(0, &format!("replay a.load {SIM} --sim-service {service} --sim-jitter 60us -o {name}"));
    }
    let json = |command: &str| -> Value { serde_json::from_str(&lab.expect(0, command).out).expect("JSON") };
    let (a, b, both) = (json("show a --json"), json("show b --json"), json("compare a b --json"));
    lab.expect(0, "plot --compare a b -o pictures");
    let sources = [("comparisons.", &both), ("a.", &a), ("b.", &b), ("", &a)];
    assert!(compare_pictures(&lab, "pictures", &sources, false) > 80);
}

#[test]
fn figures_of_a_knee_match_its_json() {
    let lab = lab();
    let found = lab.expect(0, &format!("knee {SIM} --sim-service 1ms --sim-channels 4 --json -o k")).out;
    let found: Value = serde_json::from_str(&found).expect("JSON");
    let ramp = found["answer"].as_str().expect("the ramp that answers");
    let ramp = lab.expect(0, &format!("show k/{ramp} --json")).out;
    let ramp = serde_json::from_str(&ramp).expect("JSON");
    assert!(compare_pictures(&lab, "k", &[("verdict.", &found), ("", &ramp)], false) >= 9);
}

#[test]
fn figures_of_creation_methods_match_their_answer() {
    let lab = lab();
    let methods = "buffered+64k,direct+4k+turns=2";
    if !crate::layout::has_maps(&lab) {
        return;
    }
    let run = format!("layout run . --size 256k --rounds 4 --methods {methods} --no-progress --json -o r");
    let ended = lab.expect(0, &run);
    let answer: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert!(compare_pictures(&lab, "r", &[("", &answer)], false) >= 6);
    let csv = std::fs::read_to_string(lab.path("r/layout.csv")).expect("a table");
    let lines: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert!(lines.len() == 3 && lines.iter().all(|line| line.len() == 21), "{csv}");
    assert_eq!((lines[1][0], lines[2][1], lines[0][20]), ("buffered+64k", "2", "scan_4"));
}

/// Whether a cell of a text shows a value of JSON in a unit; `-` stands for null.
fn cell_shows(cell: &str, value: &Value, unit: f64) -> bool {
    let Some(value) = value.as_f64() else { return cell == "-" };
    let found = numbers(cell);
    let [(number, slack, after)] = found.as_slice() else { return false };
    after.is_empty() && (number - value / unit).abs() <= slack * 1.000_001
}

/// The lines of a text below a heading, up to the next empty line.
fn table<'a>(text: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading));
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Cells of the same width after a label.
fn cells(line: &str, label: usize, width: usize) -> Vec<String> {
    let line: Vec<char> = line.chars().collect();
    line[label.min(line.len())..]
        .chunks(width)
        .map(|cell| cell.iter().collect::<String>().trim().into())
        .collect()
}

/// Checks the table of times; returns the number of its figures.
fn check_times(text: &str, shown: &Value) -> usize {
    let table = table(text, "Times");
    let key = |head: &str| match head {
        "min" | "mean" | "stddev" | "max" => format!("{head}_ns"),
        percentile => format!("{}_ns", percentile.replace('.', "_")),
    };
    let keys: Vec<String> = table[0].split_whitespace().skip(1).map(key).collect();
    let (mut quantity, mut unit, mut pushed, mut checked) = ("", 1.0, "", 0);
    for line in &table[1..] {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [name @ ("latency," | "delay," | "response,"), of, ..] => {
                (quantity, pushed) = (name.trim_end_matches(','), "");
                unit = factor(of).expect("a unit of time");
            }
            ["of", "these,", ..] => pushed = "_pushed",
            [scope @ ("all" | "read" | "write"), ..] => {
                let values = &shown[quantity][format!("{scope}{pushed}")];
                for (cell, key) in cells(line, 7, 8).iter().zip(&keys) {
                    assert!(
                        cell_shows(cell, &values[key], unit),
                        "{quantity}.{scope}{pushed}.{key}: {line}: {values}"
                    );
                    checked += 1;
                }
            }
            _ => panic!("a row of times that no test knows: {line}"),
        }
    }
    checked
}

/// Checks counts of requests and rates.
fn check_counts(text: &str, shown: &Value) {
    for line in &table(text, "Requests")[1..] {
        let (key, unit) = match line[..19].split_once(',').unwrap_or((&line[..19], "")) {
            ("  transferred", unit) => ("transferred_bytes", factor(unit.trim()).expect("a unit of bytes")),
            (name, _) => match name[..16].trim() {
                "deferred" => ("pushed", 1.0),
                "kept in order" => ("ordered", 1.0),
                "at the border" => ("at_border", 1.0),
                name => (name, 1.0),
            },
        };
        let found = [&line[19..36], &line[36..56], &line[56..]].map(str::trim);
        for (cell, scope) in found.iter().zip(["all", "read", "write"]) {
            assert!(cell_shows(cell, &shown["counts"][scope][key], unit), "{scope}: {line}");
        }
    }
    let rates = table(text, "Throughput");
    let units: Vec<f64> = rates[0].split_whitespace().rev().filter_map(factor).collect();
    let [seconds, bytes] = units[..] else { panic!("two columns with units: {}", rates[0]) };
    let rows = [("wanted", "demanded"), ("done", "delivered")];
    for (line, (name, key)) in rates[1..].iter().zip(rows) {
        let rate = &shown["throughput"][key];
        let keys = [("requests_per_second", 1.0), ("bytes_per_second", bytes), ("duration_ns", seconds)];
        let found = [&line[16..30], &line[30..46], &line[46..]].map(str::trim);
        for (cell, (key, unit)) in found.iter().zip(keys) {
            assert!(
                line.trim().starts_with(name) && cell_shows(cell, &rate[key], unit),
                "{key}: {line}: {rate}"
            );
        }
    }
    let share = shown["throughput"]["delivered_share"].as_f64().expect("a run with a timetable") * 100.0;
    assert!(cell_shows(rates[3][16..28].trim(), &share.into(), 1.0), "{}: {share}", rates[3]);
    let waiting = numbers(rates.iter().find(|line| line.starts_with("  waiting")).expect("a line"));
    assert_eq!(waiting[1].0, shown["waiting"]["max"].as_f64().unwrap(), "{rates:?}");
}

#[test]
fn every_figure_in_text_matches_json() {
    let lab = lab();
    lab.expect(0, "generate bursts l.gz --rate 300 --duration 8s --size 1GiB --seed 4");
    for (code, run) in [
        (0, "--sim-service 80us --sim-jitter 60us --sim-channels 16"),
        (0, "--sim-service 2ms --sim-jitter 1ms --sim-channels 2"),
        (1, "--sim-service 80us --sim-errors 50"),
        (0, "--sim-service 80us --sim-stall 700ms/3s --overlap order"),
    ] {
        let printed = lab.expect(code, &format!("replay l.gz {SIM} {run} -o r")).out;
        let shown: Value = serde_json::from_str(&lab.expect(0, "show r --json").out).unwrap();
        for text in [&printed, &lab.expect(0, "show --all r").out] {
            assert!(check_times(text, &shown) >= 9 * 9, "{text}");
            check_counts(text, &shown);
        }
        std::fs::remove_dir_all(lab.path("r")).unwrap();
    }
}

/// The runs of `lab/gallery.sh`, which starts this test: pictures, text and page of real devices.
#[test]
#[ignore = "needs the runs of lab/gallery.sh, which starts it"]
fn figures_of_the_gallery_match_their_summaries() {
    let gallery = PathBuf::from(std::env::var_os("IOSONAR_GALLERY").expect("the directory of the gallery"));
    let lab = lab();
    let mut compared = 0;
    for entry in std::fs::read_dir(&gallery).expect("the gallery") {
        let path = entry.expect("an entry").path();
        if !path.join("run.json").exists() {
            continue;
        }
        let name = path.file_name().and_then(|n| n.to_str()).expect("a name").to_string();
        std::os::unix::fs::symlink(&path, lab.path(&name)).expect("a link");
        let show = serde_json::from_str(&lab.expect(0, &format!("show {name} --json")).out).expect("JSON");
        let text = lab.expect(0, &format!("show --all {name}")).out;
        compared += compare(&lab, &name, &show) + check_times(&text, &show);
        check_counts(&text, &show);
    }
    assert!(compared > 2_000, "{compared} figures in {}", gallery.display());
    println!("{compared} figures of the gallery are those of the JSON");
}

/// Compares the summary of a run or conversion, written while it encoded the records, with one computed from the records later.
#[track_caller]
fn is_as_analysed(lab: &Lab, result: &str) {
    let shown: Value = serde_json::from_str(&lab.expect(0, &format!("show --json {result}")).out).unwrap();
    assert_eq!(summary(lab, result), shown, "{result}");
}

#[test]
fn summary_made_while_encoding_matches_later_analysis() {
    let lab = lab();
    let load: Vec<_> = (0..900u64).map(|i| (i * 7 % 64 * 8, if i % 3 == 0 { 'W' } else { 'R' })).collect();
    let times: Vec<_> = (0..900).map(|i| format!("0.{:06}", i * 400)).collect();
    let load: Vec<_> = load.iter().zip(&times).map(|((at, op), t)| (t.as_str(), *at, 8, *op)).collect();
    lab.file("a.load", super::rows(&load));
    let sim = "--engine sim --sim-jitter 900us --size 1g --no-progress --seed 3";
    for (code, name, command) in [
        (0, "plain", format!("run -t dev {sim} --rw randread --iodepth 4 --number-ios 3000")),
        (0, "mixed", format!("run -t dev {sim} --rw randrw --iodepth 16 --number-ios 70000")),
        (0, "targets", format!("run -t one -t two {sim} --rw randrw --iodepth 3 --number-ios 900")),
        (0, "jobs", format!("run -t one -t two {sim} --rw randrw --numjobs 3 --number-ios 900")),
        (
            1,
            "errors",
            format!("run -t one -t two {sim} --sim-errors 10 --sim-short 20 --rw randrw --number-ios 900"),
        ),
        (0, "ramp", format!("run -t dev {sim} --rw randrw --rate-iops 2000 --ramp-time 0.2 --runtime 0.5")),
        (0, "passes", format!("run -t dev {sim} --rw randrw --number-ios 900 --passes 3")),
        (0, "pushed", format!("replay a.load -t dev {sim} --asap --overlap push-back")),
        (0, "dropped", format!("replay a.load -t dev {sim} --asap --overlap drop")),
    ] {
        lab.expect(code, &format!("{command} -o {name}"));
        assert!(lab.records(name).len() > 800, "{name}");
        is_as_analysed(&lab, name);
    }
}

#[test]
fn summary_of_late_conversion_matches_later_analysis() {
    let lab = lab();
    let run = "run -t one -t two --engine null --size 1g --rw randrw --runtime 60 --rate-iops 20000";
    let mut run = lab.command(&format!("{run} --no-progress -o r")).spawn().expect("the binary starts");
    lab.until_logged("r", 200_000);
    run.kill().expect("it goes on");
    run.wait().expect("it was killed");
    // As if only the conversion had failed: the log ends with the last whole frame.
    let path = lab.path("r/run.json");
    let mut facts: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    facts["state"] = serde_json::json!({ "state": "unconverted", "why": "no space" });
    std::fs::write(&path, facts.to_string()).unwrap();
    let records = sorted(&lab, "r");
    lab.expect(0, "show r");
    assert!(!lab.path("r/records.log").exists() && sorted(&lab, "r") == records);
    is_as_analysed(&lab, "r");
}
