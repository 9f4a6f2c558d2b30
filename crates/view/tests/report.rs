//! The HTML page as a whole.

mod common;

use common::{Run, empty, extent_latencies, extreme, machine_series, replay, with_faults};
use iosonar_analyze::demand::DemandOptions;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::{
    Caution, CautionId, Choice, DetectorId, Findings, Kept, LimitResult, MachineSeries, PartStats, PartTimes,
    SampledStep, Story, Summary, Tally,
};
use iosonar_view::report::{Detail, Facts, PointWriter, Report, ReportRun, decode_block, write};
use iosonar_view::{Headline, Material, RunMaterial, Subject};
use serde_json::json;

/// The page of a run, with the facts of about `points` requests.
fn html_with(run: &Run, points: u64) -> String {
    html_of(run, points, None)
}

/// The page with samples of the machine.
fn html_of(run: &Run, points: u64, machine: Option<&MachineSeries>) -> String {
    html_of_files(run, points, machine, None)
}

/// The page with latencies by extent.
fn html_of_files(
    run: &Run,
    points: u64,
    machine: Option<&MachineSeries>,
    extents: Option<&ExtentLatencies>,
) -> String {
    html_of_summary(run, &run.summary(), points, machine, extents)
}

/// The page with another summary than that of the run's records.
fn html_of_summary(
    run: &Run,
    summary: &Summary,
    points: u64,
    machine: Option<&MachineSeries>,
    extents: Option<&ExtentLatencies>,
) -> String {
    let diagrams = run.diagrams();
    let mut tally = Tally::new(run.plan.targets.len(), &Default::default());
    run.records.iter().for_each(|r| tally.add(r));
    let findings = Findings::default();
    let material = RunMaterial {
        machine,
        extents,
        faults: &run.faults,
        summary,
        diagrams: &diagrams,
        tally: Some(&tally),
        findings: Some(&findings),
    };
    let subject = Subject::of_run(summary, &Headline::default());
    let demand = demand(run);
    let material = Material { subject: &subject, run: Some(material), demand: Some(&demand) };
    let detail = detail(run, summary, &tally, points);
    let report = Report {
        runs: &[ReportRun {
            name: "<script>alert(3)</script>",
            material: &material,
            detail: &detail,
            places: &[],
        }],
        comparison: None,
        plan_toml: Some(&run.plan.to_toml()),
        environment_json: Some("{\"kernel\": \"</pre><script>alert(2)</script>\"}"),
        tool: "iosonar 0.0.0",
    };
    let mut page = Vec::new();
    write(&report, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

fn html(run: &Run) -> String {
    html_with(run, 1_000_000)
}

fn demand(run: &Run) -> iosonar_analyze::demand::DemandAnalysis {
    let mut tally = iosonar_analyze::demand::DemandTally::new(&DemandOptions::default());
    run.records.iter().filter_map(iosonar_analyze::Step::of).for_each(|s| tally.add(&s.demand()));
    tally.finish()
}

fn detail(run: &Run, summary: &iosonar_analyze::Summary, tally: &Tally, points: u64) -> Detail {
    let mut choice = Choice::new(summary, Some(tally), &Findings::default(), points);
    let mut detail =
        Detail { requests: summary.counts.all.completed, one_of: choice.one_of(), ..Detail::default() };
    let mut writer = PointWriter::new(Facts::All, |block| {
        detail.blocks.push(block);
        Ok(())
    });
    for record in &run.records {
        match choice.keeps(record) {
            Kept::No => {}
            kept => writer.add(record, kept == Kept::Exceptional).unwrap(),
        }
    }
    detail.embedded = writer.finish().unwrap();
    detail
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    element.split_once(&format!("{name}=\"")).unwrap().1.split('"').next().unwrap()
}

#[test]
fn foreign_text_is_no_markup_and_nothing_is_fetched() {
    let page = html(&extreme());
    for hostile in ["<script>alert", "</pre><script", "\u{1}"] {
        assert!(!page.contains(hostile), "{hostile:?}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    for address in ["http://", "https://"] {
        assert!(!page.contains(address), "{address}");
    }
    let (words, rest) = page.split_once("<script id=\"iosonar-viewer\">").unwrap();
    let data = rest.split_once("</script>").unwrap().1;
    for address in ["src=\"/", "url("] {
        assert!(!words.contains(address) && !data.contains(address), "{address}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.trim_end().ends_with("<div id=\"iosonar-end\" hidden></div>\n</body>\n</html>"));
}

#[test]
fn blocks_contain_every_completed_request_per_class() {
    let run = replay(50_000, 200.0, true);
    let (page, summary) = (html(&run), run.summary());
    let mut sums = std::collections::BTreeMap::new();
    for line in page.lines().filter(|l| l.starts_with("<script type=\"application/x-iosonar-grid\"")) {
        assert!(line.len() <= 1 << 20);
        let text = line.split_once('>').unwrap().1.strip_suffix("</script>").unwrap();
        let crc = u32::from_str_radix(attribute(line, "data-crc32"), 16).unwrap();
        let values = decode_block(text, crc, 1 << 26).unwrap();
        let sum = values.iter().sum::<u64>();
        assert_eq!(sum.to_string(), attribute(line, "data-n"));
        *sums.entry(attribute(line, "data-k").to_string()).or_insert(0) += sum;
    }
    let response = ["start", "due", "completion", "number"].map(|base| format!("response.{base}"));
    for grid in ["latency.start", "delay.due"].into_iter().chain(response.iter().map(String::as_str)) {
        let class = |class: &str| sums.get(&format!("grid/{grid}/{class}")).copied().unwrap_or(0);
        assert_eq!(class("read") + class("read-pushed"), summary.counts.read.completed);
        assert_eq!(class("write-pushed"), summary.latency.write_pushed.unwrap().count);
        assert_eq!(class("write") + class("write-pushed"), summary.counts.write.completed);
    }
    let demanded: u64 =
        ["read", "write"].iter().map(|op| sums[&format!("series/demanded.{op}.requests")]).sum();
    assert_eq!(demanded, summary.counts.all.total);
    assert_eq!(sums["grid/seek/read"] + sums["grid/seek/write"], summary.counts.all.total);
    let meta = meta(&page);
    assert_eq!(meta["runs"][0]["completed"], summary.counts.all.completed);
    assert_eq!(meta["runs"][0]["grids"][0]["totals"].as_array().unwrap().len(), 5);
}

fn meta(page: &str) -> serde_json::Value {
    let meta = page.split_once("id=\"iosonar-meta\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(meta).unwrap()
}

#[test]
fn page_embeds_all_or_a_sample_of_requests() {
    let run = replay(50_000, 200.0, true);
    let embedded = |page: &str| {
        let blocks = page.lines().filter(|l| l.starts_with("<script type=\"application/x-iosonar-points\""));
        let sum: u64 = blocks.map(|block| attribute(block, "data-n").parse::<u64>().unwrap()).sum();
        assert_eq!(sum, meta(page)["runs"][0]["detail"]["embedded"]);
        sum
    };
    assert_eq!(embedded(&html(&run)), run.summary().counts.all.completed + run.summary().counts.all.failed);
    let some = html_with(&run, 4_000);
    assert!((2_000..=4_500).contains(&embedded(&some)), "{}", embedded(&some));
    assert!(meta(&some)["runs"][0]["detail"]["one_of"].as_u64().unwrap() > 1);
}

/// The lanes are those of the picture; the page contains the samples.
#[test]
fn page_and_table_contain_machine_samples() {
    let run = replay(2_000, 20.0, false);
    let mut machine = machine_series(run.end_ns(), 4_321.0);
    machine.devices[1].utilization_percent.iter_mut().for_each(|step| step.value = 0.5);
    machine.devices[4].name = "<b>".into();
    let page = html_of(&run, 0, Some(&machine));
    let meta = meta(&page);
    let shown = &meta["runs"][0]["machine"];
    let lanes = shown["lanes"].as_array().unwrap();
    let ids: Vec<_> = lanes.iter().map(|lane| lane["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["utilization", "queue", "await", "merges", "cpu", "memory", "events"]);
    let names: Vec<_> = lanes[0]["curves"].as_array().unwrap().iter().map(|curve| &curve["name"]).collect();
    assert_eq!(names, ["nvme0n1", "nvme2n1", "nvme3n1", "<b>"], "the busiest four of five");
    assert_eq!(shown["devices"], 5);
    let times: Vec<u64> = serde_json::from_value(shown["times_ns"].clone()).unwrap();
    for (lane, curve, steps, factor) in [
        (0, 1, &machine.devices[2].utilization_percent, 1.0),
        (4, 3, &machine.cpu_percent.io_wait, 1.0),
        (5, 0, &machine.dirty_bytes, 1e6),
    ] {
        let values = &lanes[lane]["curves"][curve]["values"];
        let values: Vec<Option<f64>> = serde_json::from_value(values.clone()).unwrap();
        assert_eq!(values.len() + 1, times.len());
        assert_eq!(values.iter().flatten().count(), steps.len());
        for SampledStep { begin_ns, value, .. } in steps {
            let place = times.binary_search(begin_ns).unwrap();
            let shown = values[place].unwrap() * factor;
            assert!((shown - value).abs() <= value * 1e-5, "{lane} {curve} at {begin_ns}: {shown} {value}");
        }
    }
    let table = page.split_once("id=\"table-machine\"").unwrap().1.split_once("</table>").unwrap().0;
    assert!(table.contains("<td>nvme1n1</td><td>0.500 %</td><td>0.500 %</td>"), "all devices: {table}");
    assert!(table.contains("&lt;b&gt;"), "{table}");
}

#[test]
fn omits_machine_section_without_samples() {
    let run = replay(200, 2.0, false);
    for machine in [None, Some(&MachineSeries::default())] {
        let page = html_of(&run, 0, machine);
        assert!(meta(&page)["runs"][0]["machine"].is_null() && !page.contains("table-machine"));
    }
}

#[test]
fn cautions_and_figures_come_before_pictures_and_folded_limits() {
    let mut run = replay(2_000, 20.0, false);
    run.plan.access.buffered = true;
    let page = html(&run);
    let places = [
        "class=\"stamp\"",
        "class=\"cautions\"",
        "class=\"tiles\"",
        "id=\"overview-image\"",
        "id=\"view\"",
        "<details id=\"limits\">",
        "class=\"verdicts\"",
        "<table>",
        "id=\"plan\"",
        "How to read",
        "id=\"iosonar-meta\"",
        "id=\"iosonar-viewer\"",
        "id=\"iosonar-end\"",
    ]
    .map(|word| page.find(word).unwrap_or_else(|| panic!("{word}")));
    assert!(places.is_sorted(), "{places:?}");
    assert!(page == html(&run), "the same bytes each time");
}

fn story(end_ns: u64) -> Story {
    let event = json!({
        "from_ns": end_ns / 4,
        "to_ns": end_ns / 2,
        "cause": "others",
        "text": "others moved 98 % of the bytes on vda",
        "requests": 100,
        "lost_request_seconds": 1.5,
        "share": 0.75,
        "worst_response_ns": 1_000_000,
    });
    let row = json!({ "cause": "others", "device": "vda", "percent": [0, 98, 98, 0] });
    let story = json!({
        "headline": "dev was slower <b>",
        "because": [{ "text": "others used vda", "evidence": ["latency.all.p50_ns", "counts.all.total"] }],
        "worth": "not a measurement of dev",
        "try": "iosonar run --depth 4",
        "events": [event],
        "shares": [{ "cause": "others", "share": 0.75 }],
        "lost_request_seconds": 2.0,
        "blame": { "from_ns": 0, "slice_ns": end_ns / 4, "rows": [row] },
    });
    serde_json::from_value(story).unwrap()
}

#[test]
fn first_screen_states_the_story_and_the_rest_is_folded() {
    let run = replay(2_000, 20.0, false);
    let mut summary = run.summary();
    summary.story = Some(story(run.end_ns()));
    let caution = |id, text: &str| Caution::warning(id, text.into());
    summary.cautions = vec![
        caution(CautionId::Detected(DetectorId::ForeignIo), "the cause"),
        caution(CautionId::Rounded, "no cause"),
    ];
    let page = html_of_summary(&run, &summary, 0, None, None);
    let places = [
        "<p class=\"headline\"><b>dev was slower &lt;b&gt;</b>",
        "<dt>because</dt><dd title=\"show --json: latency.all.p50_ns, counts.all.total\">others used vda</dd>",
        "<dt>worth</dt><dd><a href=\"#cautions\">not a measurement of dev</a>",
        "<dt>try</dt><dd class=\"try\"><code>iosonar run --depth 4</code>",
        "the cause</li>",
        "<details id=\"other-cautions\">",
        "no cause</li>",
        "<span>response p50</span><b><span data-figure=\"response.all.p50_ns\"",
        "<span>failed</span>",
        "id=\"overview-image\"",
        "id=\"blame-image\"",
        "<span>others on vda</span>",
        "id=\"view\"",
        "<section class=\"events\"",
        "<b>75.0 %</b> of the lost time",
        "others moved 98 % of the bytes on vda",
        "<details id=\"limits\">",
        "id=\"iosonar-meta\"",
    ]
    .map(|word| page.find(word).unwrap_or_else(|| panic!("{word}")));
    assert!(places.is_sorted(), "{places:?}");
    let (words, _) = page.split_once("id=\"iosonar-meta\"").unwrap();
    assert!(!words.contains("<details open") && !words.contains("\" open>"), "everything else is folded");
    let blame = &meta(&page)["runs"][0]["blame"];
    assert_eq!(blame["rows"][0]["label"], "others on vda");
    assert_eq!(blame["rows"][0]["percent"], json!([0, 98, 98, 0]));
}

#[test]
fn phases_have_a_column_each_and_no_figures_of_their_sum() {
    let run = replay(2_000, 20.0, false);
    let mut summary = run.summary();
    let phase = |name: &str| PartStats {
        name: name.into(),
        number: None,
        phase: None,
        begin_ns: None,
        submitted_ns: None,
        completed: 1_000,
        failed: 0,
        latency: Some(PartTimes { mean_ns: 1, p50_ns: 143_700, p99_ns: None, max_ns: 2_000_000 }),
        delay: None,
        delivered: None,
        in_flight_mean: None,
    };
    summary.parts.phases = vec![phase("fill"), phase("scan <b>")];
    let page = html_of_summary(&run, &summary, 0, None, None);
    assert!(!page.contains("class=\"tiles\""));
    let phases = page.split("<section id=\"phases\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(phases.contains("<th scope=\"col\">fill</th><th scope=\"col\">scan &lt;b&gt;</th>"), "{phases}");
    assert!(
        phases.contains("data-figure=\"parts.phases.1.latency.p50_ns\" data-run=\"0\" data-value=\"143700\"")
    );
    assert!(phases.contains(">144 µs<") && phases.contains("<td>–</td>"), "{phases}");
    assert!(page.find("id=\"phases\"").unwrap() < page.find("id=\"overview-image\"").unwrap());
}

#[test]
fn failed_limits_are_in_the_open() {
    let run = replay(2_000, 20.0, false);
    let mut summary = run.summary();
    summary.limits.delay.result = LimitResult::Failed;
    let page = html_of_summary(&run, &summary, 0, None, None);
    let failed = page.find("<b>✕ FAILED</b>").unwrap();
    assert!(failed < page.find("class=\"tiles\"").unwrap());
    assert_eq!(page.matches("✕ FAILED").count(), 1, "in one place");
}

#[test]
fn counters_of_zero_are_only_named() {
    let page = html(&replay(2_000, 20.0, false));
    let counts = page.split("<details id=\"counts\">").nth(1).unwrap();
    let (table, rest) = counts.split_once("</table>").unwrap();
    assert!(table.contains("counts.all.completed") && !table.contains("counts.all.cancelled"), "{table}");
    let zero = rest.split("</details>").next().unwrap();
    assert!(zero.contains("counters are zero") && zero.contains("cancelled"), "{zero}");
}

#[test]
fn an_empty_run_has_a_page() {
    assert!(html(&empty(&["/dev/sdx"])).contains("No request completed"));
}

/// `PICTURES=/some/dir` leaves pages there, to look at.
#[test]
fn pages_to_look_at() {
    let Some(to) = std::env::var_os("PICTURES") else { return };
    std::fs::create_dir_all(&to).unwrap();
    for (name, run) in [
        ("large", replay(1_000_000, 1_340.0, true)),
        ("extreme", extreme()),
        ("small", replay(10_000, 60.0, false)),
        ("faults", with_faults(replay(10_000, 60.0, false), 90)),
    ] {
        std::fs::write(std::path::Path::new(&to).join(format!("{name}.html")), html(&run)).unwrap();
    }
}

#[test]
fn page_shows_faults_before_latencies() {
    let run = with_faults(extreme(), 300);
    let page = html_with(&run, 0);
    let part = page.split("<details id=\"faults\" open>").nth(1).unwrap();
    let (part, rest) = part.split_once("</ol>").unwrap();
    assert!(part.starts_with("\n<summary>DATA ERRORS: 5 000 000 300"));
    assert!(rest.contains("id=\"overview-image\""));
    assert_eq!(part.matches("data:image/png;base64,").count(), 2);
    assert!(part.contains("prefers-color-scheme: dark"));
    let verified = run.info.verified.as_ref().unwrap();
    for (class, count) in &verified.faults {
        let row = part.split(&format!("<th scope=\"row\">{class}</th>")).nth(1).unwrap();
        assert!(row.contains(&format!("data-figure=\"verified.faults.{class}.faults\"")), "{class}");
        assert!(row.contains(&format!(">{}<", count.faults)), "{class}: {row}");
    }
    assert!(part.contains("The first 200 of 300 faults"));
    assert_eq!(part.matches("<li>").count(), 200);
    assert!(part.contains("&lt;script&gt;alert(1)") && !part.contains("<script"));
    assert!(page.contains("<p class=\"stamp\" role=\"alert\">DATA ERRORS: 5 000 000 300</p>"));
    assert_eq!(meta(&page)["runs"][0]["stamps"][1], "DATA ERRORS: 5 000 000 300");
    assert!(!html_with(&extreme(), 0).contains("id=\"faults\""));
}

/// Latencies by place have a picture for either theme and a table, in which names of files are no markup.
#[test]
fn page_contains_latencies_by_location() {
    let run = extreme();
    assert!(!html(&run).contains("id=\"extents\""));
    let page = html_of_files(&run, 0, None, Some(&extent_latencies(&run)));
    let part =
        page.split("<details id=\"extents\" open>").nth(1).unwrap().split("</details>").next().unwrap();
    assert_eq!(part.matches("data:image/png;base64,").count(), 2);
    assert!(part.contains("prefers-color-scheme: dark"));
    let table = part.split("<pre class=\"wide\">").nth(1).unwrap();
    assert!(
        table.contains("within one fragment") && table.contains("/dev/&lt;script&gt;alert(1)"),
        "{table}"
    );
    assert!(!part.contains("<script"));
}
