//! Pictures as wholes: nothing overlaps, the same bytes each time, small files, stamps in the pixels.

mod common;

use common::{Run, empty, extreme, replay, with_findings};
use iosonar_analyze::LimitResult;
use iosonar_plan::{Engine, LoadPace, Source};
use iosonar_view::scene::Scene;
use iosonar_view::{
    Format, Headline, Material, Picture, PlotOptions, RunMaterial, Style, Subject, Theme, plot, png, svg,
};

fn runs() -> Vec<(&'static str, Run)> {
    let mut one = replay(1, 1.0, false);
    one.plan.engine = Engine::Null;
    let mut closed = replay(500, 0.001, false);
    if let Source::Load(load) = &mut closed.plan.targets[0].source {
        load.pace = LoadPace::Asap;
    }
    vec![
        ("replay", replay(20_000, 1_100.0, false)),
        ("collapse", replay(20_000, 120.0, true)),
        ("findings", with_findings(replay(50_000, 120.0, true))),
        ("extreme", extreme()),
        ("one", one),
        ("no-timetable", closed),
        ("empty", empty(&["/dev/sdx"])),
    ]
}

fn draw(run: &Run, picture: Picture, theme: Theme) -> Scene {
    let headline =
        Headline { environment: Some("Linux 6.1, mq-deadline, ".to_string() + &"model ".repeat(30)) };
    let drawn = with_material(run, &headline, |m| picture.draw(m, &Style { theme, ..Style::default() }));
    drawn.expect("a run has what its pictures need")
}

fn with_material<T>(run: &Run, headline: &Headline, use_it: impl FnOnce(&Material<'_>) -> T) -> T {
    let (summary, diagrams, tally) = (run.summary(), run.diagrams(), run.tally());
    let subject = Subject::of_run(&summary, headline);
    let findings = run.findings.as_ref();
    let run = RunMaterial { summary: &summary, diagrams: &diagrams, tally: Some(&tally), findings };
    use_it(&Material { subject: &subject, run: Some(run), demand: None })
}

#[test]
fn no_two_texts_overlap_and_none_leaves_the_page() {
    for (name, run) in runs() {
        for picture in Picture::all() {
            let scene = draw(&run, picture, Theme::Light);
            let texts: Vec<_> = scene.texts().collect();
            for (i, a) in texts.iter().enumerate() {
                let bounds = a.bounds();
                assert!(
                    bounds.x >= 0
                        && bounds.right() <= scene.width as i32
                        && bounds.y >= 0
                        && bounds.bottom() <= scene.height as i32,
                    "{name} {picture:?}: '{}' leaves the page: {bounds:?}",
                    a.text
                );
                for b in &texts[i + 1..] {
                    assert!(
                        !bounds.overlaps(&b.bounds()),
                        "{name} {picture:?}: '{}' and '{}' overlap: {bounds:?} {:?}",
                        a.text,
                        b.text,
                        b.bounds()
                    );
                }
            }
        }
    }
}

#[test]
fn files_are_small_indexed_and_the_same_each_time() {
    let run = replay(200_000, 1_100.0, true);
    for picture in Picture::all() {
        let (a, b) = (draw(&run, picture, Theme::Light), draw(&run, picture, Theme::Light));
        let file = png(&a);
        assert!(file == png(&b), "{picture:?}");
        let reader = png::Decoder::new(std::io::Cursor::new(&file)).read_info().unwrap();
        assert_eq!(reader.info().color_type, png::ColorType::Indexed, "{picture:?}");
        assert!(reader.info().utf8_text.iter().any(|t| t.keyword == "Run"));
        assert!(file.len() <= 250_000, "{picture:?}: {}", file.len());
        let vectors = svg(&a);
        assert!(vectors == svg(&b));
        assert!(vectors.len() <= 400_000, "{picture:?}: {}", vectors.len());
    }
}

#[test]
fn pictures_say_what_they_must() {
    let run = replay(20_000, 120.0, true);
    let summary = run.summary();
    assert_eq!(summary.limits.delay.result, LimitResult::Failed);
    let all = |picture| {
        draw(&run, picture, Theme::Light).texts().map(|t| t.text.clone()).collect::<Vec<_>>().join("\n")
    };
    let sonar = all(Picture::SONAR);
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

#[test]
fn stamps_are_in_the_pixels_and_nothing_says_why() {
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
    for (_, run) in runs() {
        Picture::all().for_each(|p| assert_well_formed(&svg(&draw(&run, p, Theme::Light))));
    }
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
        only: vec![Picture::SONAR, Picture::IN_FLIGHT],
        ..Default::default()
    };
    let plotted = with_material(&run, &Headline::default(), |m| plot(m, directory.path(), &options).unwrap());
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
    // What was not asked for is no news; only pictures without anything to show are told.
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
        for (theme, word) in [(Theme::Light, "light"), (Theme::Dark, "dark"), (Theme::Gray, "gray")] {
            let directory = std::path::Path::new(&to).join(name).join(word);
            std::fs::create_dir_all(&directory).unwrap();
            let style = Style { theme, ..Style::default() };
            let options =
                PlotOptions { formats: vec![Format::Png, Format::Svg], style, ..Default::default() };
            with_material(&run, &Headline::default(), |m| plot(m, &directory, &options).unwrap());
        }
    }
}
