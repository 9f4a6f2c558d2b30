//! The stories of knees, matrices and experiments on layouts: text, JSON, pictures and pages begin with them, and what they propose works.

use crate::story::with_evidence;
use crate::{SIM, lab};
use iosonar_testkit::Lab;
use iosonar_text::units::{grouped, request_rate};
use serde_json::Value;

/// The JSON in the directory of a result; its story has its evidence.
#[track_caller]
fn kept(lab: &Lab, file: &str) -> (Value, Value) {
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path(file)).unwrap()).unwrap();
    let story = with_evidence(&json);
    (json, story)
}

/// The text of a command begins with the headline of its story, and so does `show`.
#[track_caller]
fn begins_with(lab: &Lab, text: &str, dir: &str, story: &Value) {
    let headline: String = iosonar_plaintext::statement(&serde_json::from_value(story.clone()).unwrap());
    assert!(text.starts_with(&headline), "{text}\n{headline}");
    let shown = lab.expect(0, &format!("show {dir}")).out;
    assert!(shown.starts_with(&headline), "{shown}");
}

/// The page of an answer: it begins with the headline, needs no script, and is for light and dark screens.
#[track_caller]
fn page(lab: &Lab, file: &str, story: &Value) -> String {
    let html = std::fs::read_to_string(lab.path(file)).unwrap();
    let headline = iosonar_view::escape(story["headline"].as_str().unwrap());
    assert!(html.contains(&format!("<h1>{headline}</h1>\n<dl class=\"facts\">")), "{html}");
    assert!(!html.contains("<script") && !html.contains("http-equiv"), "{html}");
    assert_eq!(html.matches("class=\"on-light\"").count(), html.matches("class=\"on-dark\"").count());
    html
}

/// The numbers of a page's table, row by row.
fn numbers(html: &str) -> Vec<Vec<String>> {
    let body = html.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).unwrap();
    let number = |cell: &'_ str| cell.starts_with(" class=\"number\"");
    let text = |cell: &'_ str| cell.split_once('>').unwrap().1.split("</td>").next().unwrap().to_string();
    let row = |row: &'_ str| row.split("<td").skip(1).filter(|cell| number(cell)).map(text).collect();
    body.lines().filter(|line| line.starts_with("<tr")).map(row).collect()
}

/// Executes what a story proposes.
#[track_caller]
fn proposed(lab: &Lab, story: &Value, code: i32) -> String {
    let remedy = story["try"].as_str().unwrap_or_else(|| panic!("{story:#}"));
    let words = remedy.strip_prefix("iosonar ").unwrap_or_else(|| panic!("{remedy}"));
    lab.expect(code, words);
    words.into()
}

#[test]
fn knee_states_its_rate_and_whether_the_depth_is_the_limit() {
    let lab = lab();
    let device = "--sim-service 10ms --sim-channels 64 --depth 16";
    let text = lab.expect(0, &format!("knee {SIM} {device} -o k")).out;
    let (json, story) = kept(&lab, "k/knee.json");
    let headline = story["headline"].as_str().unwrap();
    assert!(headline.starts_with("Sustains 1 600 random 4 KiB reads/s (1 "), "{story:#}");
    assert!(headline.ends_with(") with 16 in flight."), "{story:#}");
    begins_with(&lab, &text, "k", &story);
    let because = story["because"].to_string();
    assert!(
        because.contains("the median response was 10.") && because.contains("the depth is the limit."),
        "{story:#}"
    );
    assert!(story["worth"].as_str().unwrap().starts_with("no storage result"), "{story:#}");
    assert_eq!(json["failed"], 0);
    let svg = std::fs::read_to_string(lab.path("k/knee.svg")).unwrap();
    assert!(svg.contains(">Sustains 1 600 random 4 KiB reads/s ("), "the title is the headline");
    let html = page(&lab, "k/knee.html", &story);
    assert!(text.contains("\npictures: k/knee.png k/knee.svg\npage: k/knee.html\n"), "{text}");
    let rows = numbers(&html);
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(rows.len(), steps.len());
    for (row, step) in rows.iter().zip(steps) {
        let of = |field: &str| step[field].as_f64().unwrap();
        let seconds = (of("to_ns") - of("from_ns")) / 1e9;
        let [wanted, done] =
            [of("demanded"), of("delivered")].map(|requests| request_rate(requests / seconds));
        assert_eq!(row[2..4], [wanted, done], "{step:#}");
        let ms = |field: &str, of: &str| {
            let ns = step[field][of].as_f64();
            ns.map_or("–".into(), |ns| request_rate(ns / 1e6))
        };
        let times = [
            ms("delay", "p50_ns"),
            ms("delay", "p99_ns"),
            ms("response", "p50_ns"),
            ms("response", "p99_ns"),
        ];
        assert_eq!(row[6..], times, "{step:#}");
    }
    assert_eq!(html.matches("<td>the knee</td>").count(), 1, "{html}");
    assert!(html.contains("<code>iosonar report k/fine-1</code>"), "{html}");
    assert!(html.contains("SIMULATED"), "{html}");
    // With more in flight it does more.
    proposed(&lab, &story, 0);
    let (deeper, _) = kept(&lab, "k-depth64/knee.json");
    assert!(deeper["verdict"]["sustained_per_second"].as_f64().unwrap() > 5_000.0, "{deeper:#}");
}

#[test]
fn knee_proposes_searches_that_answer() {
    let lab = lab();
    let (fast, slow) = ("--sim-service 1ms", "--sim-service 10ms");
    for (name, device, words, code, headline, suffix) in [
        ("once", fast, "--from 2000 --to 4000 --duration 8s", 0, "Sustains 1 000 ", "lower"),
        ("above", fast, "--from 100 --to 600 --duration 4s", 0, "No limit was reached: at least ", "higher"),
        ("edge", fast, "--from 900 --to 1040", 1, "At least ", "higher"),
        ("steep", slow, "--from 50 --to 150 --duration 1s", 1, "At least ", "longer"),
    ] {
        let found = format!("{name}-{suffix}");
        lab.expect(code, &format!("knee {SIM} {device} --sim-channels 1 {words} -o {name}"));
        let (_, story) = kept(&lab, &format!("{name}/knee.json"));
        assert!(story["headline"].as_str().unwrap().starts_with(headline), "{name}: {story:#}");
        let words = proposed(&lab, &story, 0);
        let (json, story) = kept(&lab, &format!("{found}/knee.json"));
        assert_eq!(json["verdict"]["result"], "found", "{words}: {story:#}");
        assert!(story["headline"].as_str().unwrap().starts_with("Sustains "), "{words}: {story:#}");
    }
    // A target that is too slow for a search.
    lab.expect(1, &format!("knee {SIM} --sim-service 1s --sim-channels 1 -o slow"));
    let (_, story) = kept(&lab, "slow/knee.json");
    assert_eq!(story["headline"], "The limit is not clear: too few requests completed.");
    proposed(&lab, &story, 0);
}

#[test]
fn matrix_in_the_page_cache_is_named_so() {
    let lab = lab();
    let words = "matrix t.tmp --sizes 64k,256k --records 4k --tests write,read --repeat 3 --no-progress";
    let text = lab.expect(0, &format!("{words} -o m")).out;
    let (_, story) = kept(&lab, "m/cells.json");
    assert_eq!(story["headline"], "These are speeds of memory: every file fits into the page cache.");
    begins_with(&lab, &text, "m", &story);
    assert!(
        story["because"][0]["text"].as_str().unwrap().starts_with("6 of 12 cells read files"),
        "{story:#}"
    );
    assert!(story["because"][1]["text"].as_str().unwrap().contains("fastest "), "{story:#}");
    assert!(story["worth"].as_str().unwrap().starts_with("95 % intervals of the means: "), "{story:#}");
    assert_eq!(story["try"], format!("iosonar {words} -o m-direct --direct"));
    lab.expect(0, &format!("{words} -o m-direct --direct --dry-run"));
    let page = page(&lab, "m/matrix.html", &story);
    assert!(page.contains("<dt>try</dt><dd class=\"try\"><code>iosonar matrix t.tmp "), "{page}");
    // A method that is never direct.
    lab.expect(
        0,
        "matrix u.tmp --sizes 256k --records 4k --tests write,read --methods mmap --no-progress -o n",
    );
    let (_, story) = kept(&lab, "n/cells.json");
    proposed(&lab, &story, 0);
}

#[test]
fn matrix_without_memory_compares_its_cells() {
    let lab = lab();
    let cold = "--cache cold --include-flush --no-progress";
    lab.expect(
        0,
        &format!("matrix t.tmp --sizes 256k --records 4k,64k --tests write,read --repeat 1 {cold} -o m"),
    );
    let (json, story) = kept(&lab, "m/cells.json");
    let is_warm =
        json["results"].as_array().unwrap().iter().any(|cell| cell["cached_before"].as_u64() != Some(0));
    if is_warm && story["headline"].as_str().unwrap().contains("speeds of memory") {
        return iosonar_testkit::skip("cold_matrix", "the file system keeps files in the page cache");
    }
    // Only the cells with 4 KiB have enough requests.
    assert!(story["headline"].as_str().unwrap().starts_with("From "), "{story:#}");
    assert!(
        story["because"][0]["text"].as_str().unwrap().starts_with("No cell was measured twice"),
        "{story:#}"
    );
    proposed(&lab, &story, 0);
    let (json, story) = kept(&lab, "m-repeat4/cells.json");
    assert_eq!(json["results"].as_array().unwrap().len(), 4 * 4);
    assert!(story["because"].to_string().contains("(95 %: "), "{story:#}");
}

#[test]
fn load_states_what_it_wants() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --rate 300 --duration 10s --size 64MiB");
    let json: Value = serde_json::from_str(&lab.expect(0, "analyze l.load --json").out).unwrap();
    let story = with_evidence(&json);
    let headline = story["headline"].as_str().unwrap();
    let requests = json["demand"]["counts"]["all"]["requests"].as_u64().unwrap();
    let begin = format!("{} requests in ", grouped(requests));
    assert!(headline.starts_with(&begin) && headline.contains(" % reads"), "{story:#}");
    let text = lab.expect(0, "analyze l.load").out;
    assert!(text.starts_with(&headline[..20]) && text.contains("\n\nLoad    l.load\n"), "{text}");
    // A run has its own story.
    lab.expect(0, &format!("replay l.load {SIM} -o r"));
    let json: Value = serde_json::from_str(&lab.expect(0, "analyze r --json").out).unwrap();
    assert!(json["story"].is_null() && json["summary"]["story"]["headline"].is_string(), "{json:#}");
}

#[test]
fn layout_states_whether_scans_differ() {
    let lab = lab();
    if !crate::layout::has_maps(&lab) {
        return iosonar_testkit::skip("layout_story", "the directory for temporary files has no extent maps");
    }
    let words = "layout run . --size 1m --methods buffered+64k,direct+4k+turns=2 --no-progress";
    let text = lab.expect(0, &format!("{words} --rounds 4 -o l")).out;
    let (json, story) = kept(&lab, "l/layout.json");
    begins_with(&lab, &text, "l", &story);
    let verdicts: Vec<&Value> =
        json["methods"].as_array().unwrap().iter().map(|method| &method["change"]["verdict"]).collect();
    let headline = story["headline"].as_str().unwrap();
    let is_shown = verdicts.iter().any(|verdict| ["slower", "faster"].iter().any(|word| *verdict == word));
    match is_shown {
        true => assert!(headline.contains(" read "), "{story:#}"),
        false => assert!(headline.starts_with("No difference between the scans is shown"), "{story:#}"),
    }
    let svg = std::fs::read_to_string(lab.path("l/layout.svg")).unwrap();
    assert!(svg.contains(&headline[..20]), "the title is the headline");
    assert!(text.contains("\npicture: l/layout.png\npage: l/layout.html\n"), "{text}");
    layout_figures(&page(&lab, "l/layout.html", &story), &json);
    // Two rounds leave one to compare.
    let words = words.replace("--size 1m", "--size 4m");
    lab.expect(0, &format!("{words} --rounds 2 -o two"));
    let (_, story) = kept(&lab, "two/layout.json");
    assert!(
        story["headline"].as_str().unwrap().starts_with("Whether scans differ cannot be told"),
        "{story:#}"
    );
    proposed(&lab, &story, 0);
    // Four reads of each file.
    lab.expect(0, "layout run . --size 64k --scan-size 64k --rounds 3 --no-progress -o few");
    let (_, story) = kept(&lab, "few/layout.json");
    assert_eq!(story["headline"], "2 reads in the compared scans: too few to tell whether scans differ.");
}

/// The table of a page has a row for each file, and the rates of each method.
#[track_caller]
fn layout_figures(html: &str, json: &Value) {
    let methods = json["methods"].as_array().unwrap();
    let files: Vec<&Value> = methods.iter().flat_map(|method| method["files"].as_array().unwrap()).collect();
    let rows = numbers(html);
    assert_eq!((rows.len(), files.len()), (3, 3), "{html}");
    for (row, file) in rows.iter().zip(files) {
        let fragments = file["fragments"].as_u64().unwrap();
        assert_eq!(row[..2], ["1.00".to_string(), grouped(fragments)], "{file:#}");
    }
    for method in methods {
        let name = method["method"].as_str().unwrap();
        assert!(html.contains(&format!(">{name}</td>")), "{name}");
        let rates = method["scan"].as_array().unwrap().iter().map(|scan| &scan["bytes_per_second"]);
        for rate in rates.chain([&method["later_scans"]["mean"]]) {
            let mib = rate.as_f64().unwrap() / 1_048_576.0;
            // Formatted like a rate of requests.
            let text = request_rate(mib);
            assert!(rows.iter().flatten().any(|cell| cell.split(" · ").any(|one| one == text)), "{text}");
        }
    }
    assert!(html.contains("<code>iosonar report l/scan</code>"), "{html}");
}
