//! Pictures as wholes: nothing overlaps, the same bytes each time, small files, stamps in the pixels.

mod common;

use common::{
    Plain, Run, empty, extent_latencies, extreme, machine_series, replay, with_faults, with_findings,
    with_headline, with_notes, with_path, with_story,
};
use iosonar_analyze::findings::TimeRange;
use iosonar_analyze::{Cause, CauseShare, LimitResult};
use iosonar_plan::{Engine, LoadPace, Nanos, Op, Workload};
use iosonar_view::palette::Rgb;
use iosonar_view::scene::{Fill, Mark, Scene};
use iosonar_view::{
    Format, Headline, Material, Picture, PlotOptions, RunMaterial, Style, Subject, Theme, plot, png, svg,
};

fn runs() -> Vec<(&'static str, Run)> {
    let mut one = replay(1, 1.0, false);
    one.plan.engine = Engine::Null;
    let mut closed = replay(500, 0.001, false);
    if let Workload::Trace(load) = &mut closed.plan.phases[0].jobs[0].workload {
        load.pace = LoadPace::Asap;
    }
    vec![
        ("replay", replay(20_000, 1_100.0, false)),
        ("collapse", replay(20_000, 120.0, true)),
        ("findings", with_findings(replay(50_000, 120.0, true))),
        ("extreme", with_faults(extreme(), 3_000)),
        ("faults", with_faults(replay(5_000, 60.0, false), 120)),
        ("one", one),
        ("no-timetable", closed),
        ("empty", empty(&["/dev/sdx"])),
        ("story", with_path(with_story(with_findings(replay(20_000, 120.0, true))))),
        ("notes", with_notes(with_story(with_findings(replay(20_000, 120.0, true))))),
        ("story-faults", with_story(with_faults(replay(5_000, 60.0, false), 120))),
    ]
}

fn headline() -> Headline {
    Headline { environment: Some("Linux 6.1, mq-deadline, ".to_string() + &"model ".repeat(30)) }
}

fn draw(run: &Run, picture: Picture, theme: Theme) -> Scene {
    let drawn = with_material(run, &headline(), |m| picture.draw(m, &Style { theme, ..Style::default() }));
    drawn.expect("a run has what its pictures need")
}

/// The picture with a stem.
fn one(stem: &str) -> Picture {
    Picture::named(stem)[0]
}

/// Every picture of a run.
fn draw_all(run: &Run, style: &Style) -> Vec<(Picture, Scene)> {
    with_material(run, &headline(), |m| Picture::all().filter_map(|p| Some((p, p.draw(m, style)?))).collect())
}

fn with_material<T>(run: &Run, headline: &Headline, use_it: impl FnOnce(&Material<'_>) -> T) -> T {
    let (summary, diagrams, tally) = (run.summary(), run.diagrams(), run.tally());
    let subject = Subject::of_run(&summary, headline);
    let findings = run.findings.as_ref();
    let most = if run.plan.targets.len() > 1 { 1e7 } else { 4_321.0 };
    let machine = Some(&machine_series(run.end_ns(), most));
    let extents = Some(&extent_latencies(run));
    let (summary, diagrams, tally) = (&summary, &diagrams, Some(&tally));
    let faults = run.faults.as_slice();
    let run = RunMaterial { summary, diagrams, tally, findings, machine, extents, faults };
    use_it(&Material { subject: &subject, run: Some(run), demand: None })
}

/// Texts that leave the page or overlap, in words.
fn crowded(scene: &Scene) -> Vec<String> {
    let texts: Vec<_> = scene.texts().map(|t| (t, t.bounds())).collect();
    let mut found = Vec::new();
    for (i, (a, bounds)) in texts.iter().enumerate() {
        let (width, height) = (scene.width as i32, scene.height as i32);
        if bounds.x < 0 || bounds.right() > width || bounds.y < 0 || bounds.bottom() > height {
            found.push(format!("'{}' leaves the page: {bounds:?}", a.text));
        }
        for (b, other) in texts[i + 1..].iter().filter(|(_, other)| bounds.overlaps(other)) {
            found.push(format!("'{}' and '{}' overlap: {bounds:?} {other:?}", a.text, b.text));
        }
    }
    found
}

/// Left edge of the words in the head, which a sheet has below its story.
const LEFT: i32 = 24;

/// Texts that were shortened, in words: of those, `…` touches a letter. Names in the head and above plots (15 pixels high) and
/// the command at the foot may be of any length; the facts of the file have them wholly.
fn shortened(scene: &Scene) -> Vec<String> {
    let is_cut = |text: &str| {
        let chars: Vec<char> = text.chars().collect();
        let blank = |i: usize| chars.get(i).is_none_or(|c| *c == ' ');
        (0..chars.len()).any(|i| chars[i] == '…' && !(i > 0 && blank(i - 1) && blank(i + 1)))
    };
    let foot = scene.height as i32 - 20;
    let body = |t: &&iosonar_view::scene::Text| (80..foot).contains(&t.y) && t.size != 15.0 && t.x != LEFT;
    scene.texts().filter(body).filter(|t| is_cut(&t.text)).map(|t| format!("'{}' is cut", t.text)).collect()
}

fn styles(run: &Run) -> Vec<(&'static str, Style)> {
    let end = run.end_ns();
    let range = |from: f64, to: f64| {
        let at = |share: f64| (end as f64 * share) as u64;
        Style { range: Some(TimeRange { from_ns: at(from), to_ns: at(to) }), ..Style::default() }
    };
    vec![
        ("light", Style::default()),
        ("gray", Style { theme: Theme::Gray, ..Style::default() }),
        ("a part", range(0.62, 0.7)),
        ("an instant", range(0.5, 0.5)),
        ("behind the end", range(3.0, 4.0)),
    ]
}

#[test]
fn text_never_overlaps_leaves_the_page_or_is_cut() {
    let mut found = Vec::new();
    for (name, run) in runs() {
        // Every style with the fullest runs, the first of them with all.
        let full = ["findings", "faults", "extreme", "one", "story"].contains(&name);
        for (how, style) in styles(&run).into_iter().take(if full { 9 } else { 1 }) {
            for (picture, scene) in draw_all(&run, &style) {
                let wrong = [crowded(&scene), shortened(&scene)].concat();
                found.extend(wrong.into_iter().map(|f| format!("{name}, {how}, {picture:?}: {f}")));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// The counts of a picture sum up to the number of requests that it is about.
#[test]
fn counts_in_every_picture_add_up() {
    for (name, run) in runs() {
        // Pictures show the ramp too, which the figures leave out.
        let total = run.records.len() as u64;
        let completed = run.records.iter().filter(|r| r.is_completed()).count() as u64;
        let came_back =
            run.records.iter().filter(|r| r.submitted.is_some() && r.completed.is_some()).count() as u64;
        if completed == 0 {
            continue;
        }
        let timely = run.summary().run.has_timetable;
        for (picture, scene) in draw_all(&run, &Style::default()) {
            let expected = match picture.stem() {
                "sheet" | "g08.latency.flying" | "g09.delay.flying" | "g60.machine" | "g61.extents" => None,
                "g62.fault-map" | "g63.fault-strip" => None,
                "g64.path" => run.path.as_ref().map(|path| path.joined),
                "g000.overview.thrs" if !timely => Some(completed),
                "g000.overview.thrp" if !timely => Some(completed),
                "g000.overview.thrp" | "g000.overview.thrs" => Some(total),
                "g00.thrp.setpoint" | "g00.thrs.setpoint" => Some(total),
                "g53.submit_lag" => scene.counted.filter(|n| *n <= came_back),
                "g54.answer_lag" => Some(came_back),
                "g20.response.percentiles" => run.summary().latency.all.map(|s| s.count),
                _ => Some(completed),
            };
            assert_eq!(scene.counted, expected, "{name} {picture:?}");
        }
    }
}

/// Pictures of the parts of a run hold together what the picture of the whole holds.
#[test]
fn pictures_of_time_ranges_add_up_to_the_whole() {
    let run = replay(20_000, 120.0, true);
    let end = run.diagrams().demanded.axis().end_ns();
    let width = run.diagrams().demanded.axis().width_ns();
    // Columns are not cut in two: the parts meet where a column begins.
    let middle = end / 3 / width * width;
    let part = |from_ns, to_ns| Style { range: Some(TimeRange { from_ns, to_ns }), ..Style::default() };
    let (whole, first, second) = (
        draw_all(&run, &Style::default()),
        draw_all(&run, &part(0, middle)),
        draw_all(&run, &part(middle, end)),
    );
    let stems = [
        "g00.response",
        "g01.latency.realtime",
        "g04.delay.setpoint",
        "g06.latency.bins",
        "g000.overview.thrp",
    ];
    for stem in stems {
        let counted = |all: &[(Picture, Scene)]| {
            all.iter().find(|(p, _)| p.stem() == stem).and_then(|(_, s)| s.counted).unwrap()
        };
        assert_eq!(counted(&first) + counted(&second), counted(&whole), "{stem}");
        assert!(counted(&first) > 0 && counted(&second) > 0, "{stem}");
    }
    let (_, sonar) = first.iter().find(|(p, _)| *p == Picture::SONAR).unwrap();
    assert_eq!(sonar.shown_ns, Some((0, middle)));
    assert!(sonar.texts().any(|t| t.text.contains("requests in the plot")));
}

#[test]
fn files_are_small_indexed_and_the_same_each_time() {
    let run = with_findings(replay(270_000, 1_100.0, true));
    let (one, other) = (draw_all(&run, &Style::default()), draw_all(&run, &Style::default()));
    for ((picture, a), (_, b)) in one.iter().zip(&other) {
        assert!(a == b, "{picture:?}");
        let file = png(a);
        let reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        assert_eq!(reader.info().color_type, png::ColorType::Indexed, "{picture:?}");
        assert!(reader.info().utf8_text.iter().any(|t| t.keyword == "Run"));
        assert!(file.len() <= 250_000, "{picture:?}: {}", file.len());
        let vectors = svg(a);
        assert!(vectors.len() <= 400_000, "{picture:?}: {}", vectors.len());
        assert_well_formed(&vectors);
        if *picture == Picture::SONAR {
            assert!(file == png(b) && vectors == svg(b));
        }
    }
}

#[test]
fn pictures_contain_required_text() {
    let run = replay(20_000, 120.0, true);
    let summary = run.summary();
    assert_eq!(summary.limits.delay.result, LimitResult::Failed);
    let all = |picture| {
        draw(&run, picture, Theme::Light).texts().map(|t| t.text.clone()).collect::<Vec<_>>().join("\n")
    };
    let sonar = all(Picture::LATENCY);
    for word in [
        "limit 5 s: passed, max",
        "p99",
        "wraparound factor 0.948",
        "loads/mysql.load.gz → /dev/sdx",
        "direct I/O",
        "run 0123456789ab",
    ] {
        assert!(sonar.contains(word), "{word}: {sonar}");
    }
    let delay = all(Picture::DELAY);
    for word in ["limit 10 s: FAILED", "above, first at", "on time"] {
        assert!(delay.contains(word), "{word}: {delay}");
    }
}

/// Widths of all solid areas of a colour and a height.
fn width_of(scene: &Scene, color: Rgb, height: i32) -> i32 {
    let of = |mark: &Mark| match mark {
        Mark::Area { area, fill: Fill::Solid(c) } if *c == color && area.h == height => area.w,
        _ => 0,
    };
    scene.marks.iter().map(of).sum()
}

#[test]
fn latencies_show_the_share_of_each_band_over_time() {
    let run = with_findings(replay(20_000, 120.0, true));
    let sonar = draw(&run, Picture::LATENCY, Theme::Light);
    let words: Vec<_> = sonar.texts().map(|t| t.text.as_str()).collect();
    assert!(words.contains(&"read bands") && words.contains(&"write bands"), "{words:?}");
    // Of 16 pixels, in 59 of the 60 parts of the 1180 pixels: 34 % are 5, all up to 80 % end at 13, the rest at 16.
    let p = Theme::Light.palette();
    for strong in [p.read, p.write] {
        for (mix, height) in [(0.0, 5), (0.4, 8), (0.8, 3)] {
            let found = width_of(&sonar, strong.mix(p.background, mix), height);
            assert!((1150..=1165).contains(&found), "{strong:?} {mix}: {found}");
        }
    }
    let mut one = run;
    one.findings.as_mut().unwrap().bands.retain(|b| b.letter == 'A');
    let sonar = draw(&one, Picture::LATENCY, Theme::Light);
    assert!(sonar.texts().all(|t| !t.text.ends_with(" bands")), "the only band has everything always");
}

#[test]
fn time_pictures_mark_pass_starts() {
    let mut run = replay(20_000, 120.0, false);
    let names = |run: &Run, picture| -> Vec<String> {
        let scene = draw(run, picture, Theme::Light);
        scene.texts().map(|t| t.text.clone()).filter(|t| t.starts_with("pass ")).collect()
    };
    assert!(names(&run, Picture::SONAR).is_empty(), "the only pass is no news");
    run.plan.phases[0].passes = 3;
    run.records.iter_mut().for_each(|r| r.pass = (r.sequence / 8_000) as u32);
    for picture in [Picture::SONAR, Picture::DELAY, Picture::THROUGHPUT] {
        assert_eq!(names(&run, picture), ["pass 2", "pass 3"], "{picture:?}");
    }
    run.records.iter_mut().for_each(|r| r.pass = (r.sequence / 50) as u32);
    assert!(names(&run, Picture::SONAR).is_empty(), "400 lines would hide what they mark");
}

#[test]
fn latencies_mark_held_requests() {
    let mut run = with_findings(replay(20_000, 120.0, true));
    let stalls = &mut run.findings.as_mut().unwrap().stalls;
    stalls.truncate(1);
    // A second of 120 s is ten pixels; the curve falls from a second to nothing.
    stalls[0].range = TimeRange { from_ns: 10_000_000_000, to_ns: 12_000_000_000 };
    let curves = |picture| {
        let scene = draw(&run, picture, Theme::Light);
        let of = |mark: &Mark| match mark {
            Mark::Steps { points, stroke, .. } if stroke.dashed && stroke.width == 1 => Some(points.clone()),
            _ => None,
        };
        scene.marks.iter().filter_map(of).collect::<Vec<_>>()
    };
    let [points] = &curves(Picture::LATENCY)[..] else { panic!("one stall has one curve") };
    assert!((15..=25).contains(&points.len()), "{points:?}");
    assert!(points.windows(2).all(|p| p[0].0 + 1 == p[1].0 && p[0].1 <= p[1].1), "{points:?}");
    let completed = one("g03.latency.completed");
    assert!(curves(completed).is_empty(), "over the time of completion they lie elsewhere");
}

/// How many crosses a picture has.
fn crosses(scene: &Scene) -> usize {
    let of = |mark: &Mark| if let Mark::Crosses { at, .. } = mark { at.len() } else { 0 };
    scene.marks.iter().map(of).sum()
}

#[test]
fn failed_requests_are_marked_in_every_picture_of_times() {
    let mut run = replay(2_000, 10.0, false);
    let stems = [
        "sheet",
        "g00.response",
        "g01.latency.realtime",
        "g02.latency.setpoint",
        "g03.latency.completed",
        "g03.latency.points",
        "g04.delay.setpoint",
        "g05.delay.points",
        "g06.latency.bins",
        "g07.delay.bins",
    ];
    let drawn = |run: &Run, theme| {
        let of = |stem: &&str| draw(run, one(stem), theme);
        stems.iter().map(of).collect::<Vec<_>>()
    };
    run.records.iter_mut().for_each(|r| (r.outcome, r.result) = (iosonar_archive::Outcome::Completed, 4096));
    assert!(drawn(&run, Theme::Light).iter().all(|scene| crosses(scene) == 0), "nothing failed");
    for r in run.records.iter_mut().step_by(500) {
        (r.outcome, r.result) = (iosonar_archive::Outcome::Failed, -5);
    }
    for theme in [Theme::Light, Theme::Gray] {
        for (stem, scene) in stems.iter().zip(drawn(&run, theme)) {
            // One for each, one in the legend; in histograms several share a row.
            let least = if stem.ends_with("bins") { 2 } else { 5 };
            assert!(crosses(&scene) >= least, "{stem} {theme:?}: {}", crosses(&scene));
            assert!(scene.texts().any(|t| t.text == "failed, marked"), "{stem} {theme:?}");
        }
    }
    for r in &mut run.records {
        (r.outcome, r.result) = (iosonar_archive::Outcome::Failed, -5);
    }
    assert!(crosses(&draw(&run, Picture::SONAR, Theme::Light)) > 100, "where all fail, they are seen");
}

#[test]
fn notes_are_above_pictures_over_time_and_stay_text() {
    let run = with_notes(replay(2_000, 60.0, false));
    let texts = |stem| -> Vec<String> {
        draw(&run, one(stem), Theme::Light).texts().map(|text| text.text.clone()).collect()
    };
    for stem in ["g00.response", "g01.latency.realtime", "g000.overview.thrp", "sheet"] {
        let texts = texts(stem);
        let of = |begin: &str| {
            texts.iter().find(|text| text.starts_with(begin)).unwrap_or_else(|| panic!("{stem}: {begin}"))
        };
        assert_eq!(of("1 a backup"), "1 a backup started", "{stem}");
        assert!(of("4 </text>").contains("</script> \\u{1b}[2J"), "{stem}: {texts:?}");
    }
    // Over numbers of requests there is no time.
    assert!(!texts("g06.latency.bins").iter().any(|text| text.starts_with("1 a backup")));
    let drawn = svg(&draw(&run, one("g00.response"), Theme::Light));
    assert!(drawn.contains("&lt;/text&gt;&lt;script&gt;") && !drawn.contains("<script>"));
}

#[test]
fn description_claims_every_request_only_if_all_submitted() {
    let mut run = replay(200, 10.0, false);
    // Results of earlier versions have no story: the description is the title.
    let title = |run: &Run| draw(run, Picture::SONAR, Theme::Light).texts().next().unwrap().text.clone();
    assert_eq!(title(&run), "Response of every request over time");
    let r = &mut run.records[7];
    (r.outcome, r.submitted, r.completed) = (iosonar_archive::Outcome::Dropped, None, None);
    assert_eq!(title(&run), "Response of every submitted request over time");
}

/// Titles of all pictures of a run that has a story, by stem.
fn titles(run: &Run) -> std::collections::BTreeMap<&'static str, String> {
    let title = |scene: &Scene| scene.texts().next().unwrap().text.clone();
    draw_all(run, &Style::default()).iter().map(|(picture, scene)| (picture.stem(), title(scene))).collect()
}

#[test]
fn titles_of_a_run_are_messages() {
    let run = with_headline(with_faults(replay(2_000, 10.0, false), 9), "Three times nothing came back.");
    let titles = titles(&run);
    for stem in [
        "sheet",
        "g000.overview.thrp",
        "g000.overview.thrs",
        "g00.response",
        "g08.latency.flying",
        "g60.machine",
        "g62.fault-map",
        "g63.fault-strip",
    ] {
        assert_eq!(titles[stem], "Three times nothing came back.", "{stem}");
    }
    for (stem, title) in &titles {
        let described = Picture::named(stem)[0].title();
        assert!(title != described || *stem == "g61.extents", "{stem}: {title}");
    }
    let latency = run.summary().latency.all.unwrap();
    let time = |ns| iosonar_view::units::duration(ns, iosonar_view::units::Charset::Unicode);
    let expected = format!(
        "Latency: p50 {}, p99 {}, max {}",
        time(latency.p50_ns),
        time(latency.p99_ns.unwrap()),
        time(latency.max_ns)
    );
    for stem in ["g01.latency.realtime", "g02.latency.setpoint", "g06.latency.bins"] {
        assert_eq!(titles[stem], expected, "{stem}");
    }
    for (stem, begin) in [
        ("g20.response.percentiles", "Response: p50 "),
        ("g04.delay.setpoint", "Delay: p50 "),
        ("g53.submit_lag", "Issue delay: p50 "),
        ("g54.answer_lag", "Completion delay: p50 "),
        ("g00.thrp.setpoint", "Wanted: "),
        ("g00.thrp.completed", "Done: "),
        ("g09.delay.flying", "Waiting for submission: "),
        ("g10.latency.xy", "Latency "),
        ("g43.turns.completed", "Backward seeks (turns): "),
    ] {
        assert!(titles[stem].starts_with(begin), "{stem}: {}", titles[stem]);
    }
}

#[test]
fn long_titles_shrink_and_descriptions_stay_in_the_file() {
    let run = with_headline(replay(200, 10.0, false), &"W".repeat(90));
    let scene = draw(&run, Picture::SONAR, Theme::Light);
    assert_eq!(crowded(&scene), Vec::<String>::new());
    let fact = |name: &str| scene.facts.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(fact("Title"), Some("W".repeat(90).as_str()));
    assert_eq!(fact("Description"), Some("Response of every request over time"));
}

/// Headline and reasons are large, and no words are small.
#[test]
fn sheet_begins_with_the_story_and_has_no_small_words() {
    for (name, run) in runs() {
        let sheet = draw(&run, Picture::SHEET, Theme::Light);
        let small: Vec<_> = sheet.texts().filter(|t| t.size < 14.0).map(|t| t.text.as_str()).collect();
        assert!(small.is_empty(), "{name}: {small:?}");
    }
    let run = with_story(replay(20_000, 120.0, false));
    let sheet = draw(&run, Picture::SHEET, Theme::Light);
    let story = run.story.as_ref().unwrap();
    let of_size = |size: f64| -> String {
        sheet.texts().filter(|t| t.size == size).map(|t| t.text.as_str()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(of_size(28.0), story.headline);
    assert!(of_size(18.0).starts_with(&story.because[0].text), "{}", of_size(18.0));
    assert!(of_size(18.0).contains("Try: iosonar replay"));
    for point in ["p50 ", "p99 ", "p99.9 "] {
        assert!(sheet.texts().any(|t| t.text.starts_with(point) && t.text.len() > point.len()), "{point}");
    }
    for word in ["others", "waited for a CPU", "depth full", "conflicts"] {
        assert!(sheet.texts().any(|t| t.text.starts_with(word)), "events and the blame strip: {word}");
    }
    assert!(!sheet.texts().any(|t| ["dropped", "cancelled"].contains(&t.text.as_str())), "zero counters");
}

#[test]
fn sheet_has_only_cautions_that_are_causes() {
    let mut run = with_story(replay(20_000, 120.0, false));
    // Nothing but this is a warning about the run, and no cause of the story.
    run.info.targets[0].bad_lines = 3;
    let sheet = draw(&run, Picture::SHEET, Theme::Light);
    let cautions = run.summary().cautions;
    assert!(!cautions.is_empty());
    assert!(!sheet.texts().any(|t| t.text.starts_with('⚠')), "{cautions:#?}");
    let count = format!("{} caution", cautions.len());
    assert!(sheet.texts().any(|t| t.text.starts_with(&count) && t.text.ends_with("in the summary")));
    run.story = None;
    let sheet = draw(&run, Picture::SHEET, Theme::Light);
    assert!(sheet.texts().any(|t| t.text.starts_with('⚠')), "without a story each may be one");
}

#[test]
fn the_first_part_of_a_sheet_is_what_the_story_is_about() {
    let first = |cause| {
        let mut run = with_story(replay(20_000, 120.0, false));
        run.story.as_mut().unwrap().shares = vec![CauseShare { cause, share: 0.9 }];
        let sheet = draw(&run, Picture::SHEET, Theme::Light);
        let titles = sheet.texts().filter(|t| t.size == 16.0).map(|t| t.text.clone()).collect::<Vec<_>>();
        assert_eq!(titles.len(), 3, "{titles:?}");
        titles
    };
    let late = first(Cause::DepthFull);
    assert!(late[0].starts_with("Done: ") && late[1].starts_with("Response: "), "{late:?}");
    let halted = first(Cause::Halted);
    assert!(halted[0].starts_with("Response: ") && halted[1].starts_with("Done: "), "{halted:?}");
    let sheet = draw(&with_faults(replay(5_000, 60.0, false), 120), Picture::SHEET, Theme::Light);
    assert!(sheet.texts().any(|t| t.size == 16.0 && t.text.starts_with("Faults: where they are")));
}

#[test]
fn response_shows_what_latency_hides() {
    let mut run = replay(2_000, 10.0, false);
    // Each request waits for a second, and takes 100 µs.
    run.records.iter_mut().for_each(|r| {
        (r.outcome, r.result, r.op) = (iosonar_archive::Outcome::Completed, 4096, Op::Read);
        r.submitted = Some(Nanos(r.due.0 + 1_000_000_000));
        r.completed = Some(Nanos(r.due.0 + 1_000_100_000));
    });
    let ticks = |picture| -> Vec<String> {
        let scene = draw(&run, picture, Theme::Light);
        let is_tick = |t: &&iosonar_view::scene::Text| t.x == 100;
        scene.texts().filter(is_tick).map(|t| t.text.clone()).collect()
    };
    assert!(
        ticks(Picture::SONAR).contains(&"1 s".into()) && !ticks(Picture::SONAR).contains(&"100 µs".into())
    );
    assert!(
        ticks(Picture::LATENCY).contains(&"100 µs".into())
            && !ticks(Picture::LATENCY).contains(&"1 s".into())
    );
    assert_eq!(Picture::named("sonar"), [Picture::SONAR, Picture::LATENCY]);
    assert_eq!(Picture::named("response"), [Picture::SONAR]);
    assert_eq!(Picture::named("latency"), [Picture::LATENCY]);
    if let Workload::Trace(load) = &mut run.plan.phases[0].jobs[0].workload {
        load.pace = LoadPace::Asap;
    }
    let words = draw(&run, Picture::SONAR, Theme::Light);
    assert!(words.texts().any(|t| t.text.starts_with("Response = latency")), "without a timetable");
}

#[test]
fn distant_limit_is_drawn_as_arrow_at_the_edge() {
    let run = replay(2_000, 10.0, false);
    let sonar = draw(&run, Picture::LATENCY, Theme::Light);
    let limit = sonar.texts().find(|t| t.text.contains("limit 5 s")).expect("the limit is named");
    assert!(sonar.texts().all(|t| t.x > 110 || t.text != "5 s"), "the axis ends where the data ends");
    // The stem of the arrow, and the words at the upper edge.
    let ok = Theme::Light.palette().ok;
    assert_eq!(width_of(&sonar, ok, 5), 3);
    assert!(limit.y < 240, "{limit:?}");
    let mut slow = replay(2_000, 10.0, false);
    slow.records.iter_mut().for_each(|r| r.completed = r.submitted.map(|s| Nanos(s.0 + 1_500_000_000)));
    let sonar = draw(&slow, Picture::LATENCY, Theme::Light);
    assert_eq!(width_of(&sonar, ok, 5), 0, "a limit within the scale is a line");
}

#[test]
fn empty_panels_state_the_reason() {
    let mut run = replay(200, 10.0, false);
    run.records.iter_mut().for_each(|r| {
        r.submitted = Some(r.due);
        (r.op, r.outcome) = (Op::Read, iosonar_archive::Outcome::Completed);
    });
    let says = |picture, theme, what: &str| draw(&run, picture, theme).texts().any(|t| t.text.contains(what));
    assert!(says(Picture::DELAY, Theme::Light, "Every completed request was on time"));
    assert!(says(Picture::SONAR, Theme::Gray, "There is no completed write."));
    assert!(!says(Picture::SONAR, Theme::Light, "There is no"));
}

#[test]
fn stamps_are_drawn_and_empty_pictures_state_why() {
    let mut run = replay(1_000, 10.0, false);
    let clean = png(&draw(&run, Picture::SONAR, Theme::Light));
    run.plan.access.buffered = true;
    assert_ne!(png(&draw(&run, Picture::SONAR, Theme::Light)), clean);
    assert!(
        svg(&draw(&run, Picture::SONAR, Theme::Light)).contains(">PAGE CACHE -- NOT A STORAGE RESULT</text>")
    );
    let nothing = draw(&empty(&["x"]), Picture::SONAR, Theme::Light);
    assert!(nothing.texts().any(|t| t.text.contains("the run has no requests")));
}

#[test]
fn every_picture_stamps_data_errors_without_overlap() {
    let mut run = with_faults(replay(1_000, 10.0, false), 20);
    run.plan.access.buffered = true;
    let stamps = |scene: &Scene| -> Vec<(String, i32, f64)> {
        let of = |mark: &Mark| match mark {
            Mark::Stamp { text, center, size, .. } => Some((text.clone(), center.1, *size)),
            _ => None,
        };
        scene.marks.iter().filter_map(of).collect()
    };
    for (picture, scene) in draw_all(&run, &Style::default()) {
        let stamps = stamps(&scene);
        assert!(!stamps.is_empty() && stamps.len() % 2 == 0, "{picture:?}");
        for pair in stamps.chunks_exact(2) {
            assert_eq!(pair[0].0, "PAGE CACHE -- NOT A STORAGE RESULT");
            assert_eq!(pair[1].0, "DATA ERRORS: 5 000 000 020", "{picture:?}");
            assert!(f64::from(pair[1].1 - pair[0].1) >= pair[0].2, "{picture:?}: {pair:?}");
        }
        assert!(scene.facts.contains(&("Warning".into(), "DATA ERRORS: 5 000 000 020".into())));
    }
}

/// Checks that elements nest, attributes are quoted and `&` begins a reference.
fn assert_well_formed(xml: &str) {
    let mut open = Vec::new();
    for part in xml.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        for (i, _) in part.match_indices('&') {
            assert!(part[i..].find(';').is_some_and(|end| end < 8), "{part}");
        }
        assert!(!text.contains('>'), "{part}");
        let name = tag.split([' ', '\n', '/']).find(|n| !n.is_empty()).expect("a tag has a name");
        assert!(tag.matches('"').count().is_multiple_of(2), "{tag}");
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name)),
            (false, false) => open.push(name),
            (false, true) => {}
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn svg_is_well_formed() {
    for run in [extreme(), empty(&["/dev/sdx"])] {
        draw_all(&run, &Style::default()).iter().for_each(|(_, scene)| assert_well_formed(&svg(scene)));
    }
}

#[test]
fn doubled_resolution_shows_the_same_picture() {
    let run = with_findings(replay(2_000, 10.0, true));
    for (picture, scene) in draw_all(&run, &Style::default()).into_iter().step_by(4) {
        let doubled = scene.doubled();
        assert_eq!((doubled.width, doubled.height), (scene.width * 2, scene.height * 2));
        assert_eq!(crowded(&doubled), Vec::<String>::new(), "{picture:?}");
        let (one, two) = (pixels(&png(&scene)), pixels(&png(&doubled)));
        // Words are sharper, everything else is the same: nearly every pixel agrees with its four.
        let same = one.iter().enumerate().filter(|(i, color)| {
            let (x, y) = (i % scene.width as usize, i / scene.width as usize);
            two[y * 2 * doubled.width as usize + x * 2] == **color
        });
        let share = same.count() as f64 / one.len() as f64;
        assert!(share > 0.9, "{picture:?}: {share}");
    }
}

/// The colours of an indexed PNG, row by row.
fn pixels(file: &[u8]) -> Vec<[u8; 3]> {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut bytes).unwrap();
    bytes.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect()
}

#[test]
fn svg_escapes_foreign_text() {
    let drawn = svg(&draw(&extreme(), Picture::SONAR, Theme::Dark));
    assert!(!drawn.contains("<script") && !drawn.contains('\u{1}'));
}

#[test]
fn plot_writes_stable_names() {
    let run = replay(2_000, 10.0, false);
    let directory = tempfile::tempdir().unwrap();
    let options = PlotOptions {
        formats: vec![Format::Png, Format::Svg],
        only: vec![Picture::LATENCY, Picture::IN_FLIGHT],
        ..Default::default()
    };
    let plotted =
        with_material(&run, &Headline::default(), |m| plot(m, &Plain(directory.path()), &options).unwrap());
    let names: Vec<_> = plotted.written.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "g01.latency.realtime.png",
            "g01.latency.realtime.svg",
            "g08.latency.flying.png",
            "g08.latency.flying.svg"
        ]
    );
    // Pictures that were not requested are not reported; only pictures without anything to show are.
    assert_eq!(plotted.skipped, []);
}

/// `PICTURES=/some/dir cargo test -p iosonar-view --test pictures` leaves all pictures there, to look at.
#[test]
fn pictures_to_look_at() {
    let Some(to) = std::env::var_os("PICTURES") else { return };
    let only = std::env::var("RUNS").unwrap_or_default();
    for (name, run) in runs().into_iter().chain([("large", with_findings(replay(1_000_000, 1_340.0, true)))])
    {
        if !only.is_empty() && !only.split(',').any(|o| o == name) {
            continue;
        }
        let themes = [Theme::Dark, Theme::Print].map(|theme| Style { theme, ..Style::default() });
        let styles = styles(&run).into_iter().chain(["dark", "print"].into_iter().zip(themes));
        for (word, style) in styles {
            let directory = std::path::Path::new(&to).join(name).join(word);
            std::fs::create_dir_all(&directory).unwrap();
            let options =
                PlotOptions { formats: vec![Format::Png, Format::Svg], style, ..Default::default() };
            with_material(&run, &Headline::default(), |m| plot(m, &Plain(&directory), &options).unwrap());
        }
    }
}
