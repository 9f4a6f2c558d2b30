//! The report page as a file: its contents and options. Its behaviour in a browser is tested in `web/`.

use crate::*;

const RUN: &str = "run --engine sim -t dev --size 1g --rw randrw --rate-iops 2000 --rate-process poisson --runtime 10 \
                   --iodepth 32 --no-progress --sim-jitter 50us";

/// A lab with a run of 20 000 requests.
fn with_run() -> Lab {
    let lab = lab();
    lab.expect(0, &format!("{RUN} --seed 1 -o a"));
    lab
}

pub fn meta(page: &str) -> Value {
    let text = page.split_once("id=\"iosonar-meta\">").expect("data").1.split_once("</script>").unwrap().0;
    serde_json::from_str(text).expect("JSON")
}

fn embedded(page: &str) -> u64 {
    meta(page)["runs"][0]["detail"]["embedded"].as_u64().unwrap()
}

fn text(lab: &Lab, name: &str) -> String {
    std::fs::read_to_string(lab.path(name)).unwrap()
}

fn size(lab: &Lab, name: &str) -> u64 {
    lab.path(name).metadata().unwrap().len()
}

#[test]
fn a_run_has_a_page_with_all_its_requests() {
    let lab = with_run();
    let printed = lab.expect(0, "report a").out;
    assert_eq!(printed.trim(), "a/report.html");
    let page = text(&lab, "a/report.html");
    let run = &meta(&page)["runs"][0];
    assert_eq!(run["kind"], "run");
    let completed = run["completed"].as_u64().unwrap();
    assert!((19_000..21_000).contains(&completed), "{completed}");
    assert_eq!(embedded(&page), completed);
    let total = |id: &str| -> u64 {
        let grid = run["grids"].as_array().unwrap().iter().find(|g| g["id"] == id);
        grid.unwrap()["totals"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum()
    };
    for id in ["latency.start", "latency.due", "latency.completion", "latency.number", "delay.due"] {
        assert_eq!(total(id), completed, "{id}");
    }
    assert!(
        page.contains("id=\"iosonar-viewer\"") && !page.contains("http://") && !page.contains("https://")
    );
}

#[test]
fn page_respects_size_limit_and_writes_side_car() {
    slow!();
    let lab = with_run();
    lab.expect(0, "report a -o all.html --side-car");
    lab.expect(0, "report a -o some.html --points 2000");
    lab.expect(0, "report a -o none.html --points 0");
    let limit = (size(&lab, "all.html") + size(&lab, "none.html")) / 2;
    lab.expect(0, &format!("report a --force -o limited.html --max-html {limit}"));
    let counts =
        ["all", "some", "none", "limited"].map(|name| embedded(&text(&lab, &format!("{name}.html"))));
    assert_eq!(counts[2], 0);
    assert!((1_000..2_500).contains(&counts[1]), "{counts:?}");
    assert!(counts[3] > 1_000 && counts[3] < counts[0], "{counts:?}");
    assert!(size(&lab, "limited.html") <= limit);
    let told = lab.expect(0, "report a -o small.html --max-html 1kB").err;
    assert!(told.contains("larger than --max-html"), "{told}");
    let trace = std::fs::read(lab.path("all.trace")).unwrap();
    assert!(trace.starts_with(b"IOSONARP") && trace.ends_with(b"IOSONARX"));
}

#[test]
fn load_report_has_a_page() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load.gz --rate 500 --duration 20s");
    assert_eq!(lab.expect(0, "report l.load.gz").out.trim(), "l.load.gz.html");
    let page = text(&lab, "l.load.gz.html");
    let run = &meta(&page)["runs"][0];
    assert_eq!((&run["kind"], &run["completed"]), (&"load".into(), &0.into()));
    assert!(run["grids"].as_array().unwrap().is_empty() && run["seek"]["columns"].as_u64().unwrap() > 10);
    assert!(page.contains("What the load requests"));
}

#[test]
fn pairs_two_runs_of_one_load() {
    let lab = lab();
    lab.expect(0, "generate mixed l.load --rate 500 --duration 20s");
    lab.expect(0, &format!("replay l.load {SIM} --sim-service 100us -o a"));
    lab.expect(0, &format!("replay l.load {SIM} --sim-service 300us -o b"));
    lab.expect(0, "report a b --compare -o ab.html");
    let page = text(&lab, "ab.html");
    let meta = meta(&page);
    assert_eq!(meta["runs"].as_array().unwrap().len(), 2);
    let pairs = &meta["pairs"];
    assert_eq!(pairs["pairs"], meta["runs"][0]["completed"]);
    assert_eq!(pairs["slower_in_b"], 1.0);
    assert!(page.contains("data-k=\"grid/pairs/read\"") && page.contains("A against B"));
}

#[test]
fn rejects_invalid_report_requests() {
    let lab = with_run();
    let refused = |code: i32, args: &str, why: &str| {
        let ended = lab.expect(code, args);
        assert!(ended.err.contains(why), "{args}: {}", ended.err);
    };
    refused(2, "report a --compare", "--compare needs exactly two runs");
    refused(2, "report nothing", "nothing");
    refused(2, "report a -o missing/page.html", "--out missing/page.html: it cannot be written");
    assert!(!lab.path("missing").exists());
    lab.file("empty.load", "");
    lab.expect(1, "report empty.load");
    assert!(text(&lab, "empty.load.html").contains("iosonar-end"), "an empty load has a page that says so");
}

#[test]
fn report_never_overwrites_its_inputs() {
    let lab = with_run();
    lab.expect(0, "export a --to replay -o leg.trace");
    let before = std::fs::read(lab.path("leg.trace")).unwrap();
    for args in [
        "report leg.trace -o leg.html --side-car",
        "report leg.trace -o leg.trace",
        "report a -o a/run.json",
        "report a -o page.trace --side-car",
        "report a -o /dev/null --side-car",
    ] {
        let ended = lab.expect(2, args);
        assert!(!ended.err.contains("panicked") && ended.err.contains("name"), "{args}: {}", ended.err);
    }
    assert_eq!(std::fs::read(lab.path("leg.trace")).unwrap(), before);
    lab.expect(0, "show a");
    // An existing page is replaced on request.
    lab.expect(0, "report a");
    lab.expect(0, "report a --side-car --force");
    let left: Vec<_> = std::fs::read_dir(lab.path("a")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn page_size_limit_holds_for_any_content() {
    slow!();
    let lab = lab();
    let run = RUN.replace("--runtime 10", "--runtime 2 --ramp-time 2s");
    lab.expect(1, &format!("{run} --seed 1 --sim-errors 7 -o a"));
    lab.expect(0, "report a -o all.html");
    lab.expect(0, "report a -o none.html --points 0");
    let (all, none) = (size(&lab, "all.html"), size(&lab, "none.html"));
    let run = &meta(&text(&lab, "all.html"))["runs"][0];
    assert_eq!(run["detail"]["requests"], run["detail"]["embedded"]);
    for part in 1..8 {
        let limit = none + (all - none) * part / 8 + 3;
        lab.expect(0, &format!("report a --force -o limited.html --max-html {limit}"));
        assert!(size(&lab, "limited.html") <= limit);
    }
    lab.expect(0, &format!("report a --force -o limited.html --points 3 --max-html {}", none + 20));
}

#[test]
fn page_with_sonar_points_only_is_smaller() {
    let lab = with_run();
    lab.expect(0, "report a -o all.html");
    lab.expect(0, "report a -o picture.html --points picture");
    let (all, picture) = (text(&lab, "all.html"), text(&lab, "picture.html"));
    assert_eq!(embedded(&picture), embedded(&all));
    let tells_places = |page: &str| meta(page)["runs"][0]["detail"]["has_places"].as_bool().unwrap();
    assert!(tells_places(&all) && !tells_places(&picture));
    // Random places and lengths: more than three bytes of each request.
    let spared = size(&lab, "all.html") - size(&lab, "picture.html");
    assert!(spared > 3 * embedded(&all), "{spared} bytes spared");
    let told = lab.expect(2, "report a --points many").err;
    assert!(
        told.contains("--points") && told.contains("neither a number of requests nor 'picture'"),
        "{told}"
    );
}

#[test]
fn labels_places_from_names_file() {
    let lab = with_run();
    std::fs::write(
        lab.path("names"),
        "# a comment\n\n0 512MiB data/</script>\u{202e}1\n512MiB 4096 redo log\n",
    )
    .unwrap();
    lab.expect(0, "report a --places names");
    let page = text(&lab, "a/report.html");
    let places = meta(&page)["runs"][0]["seek"]["places"].clone();
    let place = |i: usize| (places[i]["from_bytes"].as_u64(), places[i]["to_bytes"].as_u64());
    assert_eq!(place(0), (Some(0), Some(512 << 20)));
    assert_eq!(place(1), (Some(512 << 20), Some((512 << 20) + 4096)));
    assert_eq!(places[1]["name"], "redo log");
    assert!(places[0]["name"].as_str().unwrap().starts_with("data/</script>") && !page.contains("\u{202e}"));
    std::fs::write(lab.path("bad"), "0 1MiB a\n1MiB b\n").unwrap();
    for (file, why) in [("bad", "line 2"), ("none", "No such file"), ("/dev/null", "no line in it")] {
        let told = lab.expect(2, &format!("report a --places {file} -o x.html")).err;
        assert!(told.contains("--places") && told.contains(why), "{told}");
    }
    assert!(!lab.path("x.html").exists());
    // The target of a place is ambiguous.
    lab.expect(0, &format!("{} -t other -o two", RUN.replace("--runtime 10", "--runtime 1")));
    let told = lab.expect(2, "report two --places names -o x.html").err;
    assert!(told.contains("--places") && told.contains("several targets"), "{told}");
}
