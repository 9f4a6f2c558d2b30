//! Pictures of two runs: nothing overlaps, the same bytes each time, and a planted difference shows at its place.

mod common;

use common::{Run, empty, extreme, replay};
use iosonar_analyze::compare::{self, Blocks, Comparison};
use iosonar_archive::Record;
use iosonar_plan::Nanos;
use iosonar_view::scene::{Mark, Scene};
use iosonar_view::{CompareMaterial, ComparePicture, RunMaterial, Style, compare_subject, png, svg};

/// The run with every latency multiplied from some time on.
fn slower(run: &Run, from_ns: u64, percent: u64) -> Run {
    let slow = |r: &Record| {
        let mut r = *r;
        if let (Some(submitted), Some(latency)) = (r.submitted, r.latency())
            && r.due.0 >= from_ns
        {
            r.completed = Some(Nanos(submitted.0 + latency.0 * percent / 100));
        }
        r
    };
    let mut other = replay(1, 1.0, false);
    other.records = run.records.iter().map(slow).collect();
    other.records.sort_by_key(|r| r.completed);
    other
}

fn compared(a: &Run, b: &Run) -> Option<Comparison> {
    let side = |name: &str, run: &Run| compare::Run {
        name: name.to_string(),
        records: Box::leak(Box::new(run.records.clone())),
        plan: None,
        environment: serde_json::json!({ "kernel": { "version": name } }),
        has_timetable: true,
        phases: &[],
        incomplete: None,
        verdict: None,
    };
    let (a, b) = (side("a", a), side("b", b));
    let blocks = |run: &compare::Run| Blocks::read(run.records, run.has_timetable).ok();
    compare::compare((&a, &blocks(&a)?), (&b, &blocks(&b)?)).ok()
}

fn scenes(a: &Run, b: &Run, style: &Style) -> Vec<(ComparePicture, Scene)> {
    let (summaries, diagrams) = ([a.summary(), b.summary()], [a.diagrams(), b.diagrams()]);
    let subject = compare_subject(&summaries[0], &summaries[1], "iosonar plot --compare A B");
    let comparison = compared(a, b);
    let run = |i: usize| RunMaterial {
        summary: &summaries[i],
        diagrams: &diagrams[i],
        tally: None,
        findings: None,
        machine: None,
        extents: None,
        faults: &[],
    };
    let material =
        CompareMaterial { subject: &subject, a: run(0), b: run(1), comparison: comparison.as_ref() };
    ComparePicture::all().map(|p| (p, p.draw(&material, style))).collect()
}

fn pairs() -> Vec<(&'static str, Run, Run)> {
    let run = || replay(20_000, 1_100.0, false);
    vec![
        ("same", run(), run()),
        ("slower", run(), slower(&run(), 500_000_000_000, 130)),
        ("collapse", run(), replay(20_000, 120.0, true)),
        ("extreme", extreme(), run()),
        ("one", replay(1, 1.0, false), replay(1, 1.0, false)),
        ("half-empty", empty(&["x"]), run()),
        ("empty", empty(&["x"]), empty(&["x"])),
    ]
}

#[test]
fn text_never_overlaps_or_leaves_the_page() {
    for (name, a, b) in pairs() {
        for (picture, scene) in scenes(&a, &b, &Style::default()) {
            let texts: Vec<_> = scene.texts().collect();
            for (i, text) in texts.iter().enumerate() {
                let t = text.bounds();
                let inside = t.x >= 0 && t.y >= 0 && t.right() <= 1600 && t.bottom() <= scene.height as i32;
                assert!(inside, "{name} {picture:?}: '{}' leaves the page: {t:?}", text.text);
                for other in &texts[i + 1..] {
                    let overlap = t.overlaps(&other.bounds());
                    assert!(!overlap, "{name} {picture:?}: '{}' and '{}' overlap", text.text, other.text);
                }
            }
        }
    }
}

#[test]
fn equal_latencies_are_a_straight_line() {
    // B is so much slower that its axis alone would have other decades.
    let (a, mut b) = (replay(2_000, 10.0, false), replay(2_000, 10.0, false));
    for r in &mut b.records {
        r.completed = r.submitted.zip(r.completed).map(|(s, c)| Nanos(s.0 + 900 * (c.0 - s.0)));
    }
    let drawn = scenes(&a, &b, &Style::default());
    let (_, scene) = drawn.iter().find(|(p, _)| p.stem() == "compare.pairs").unwrap();
    let bad = Style::default().theme.palette().bad;
    let of = |mark: &Mark| match mark {
        Mark::Steps { points, stroke, .. } if stroke.color == bad => Some(points.clone()),
        _ => None,
    };
    let diagonal = scene.marks.iter().find_map(of).expect("a diagonal");
    let (first, last) = (diagonal[0], diagonal[diagonal.len() - 1]);
    assert!(last.0 - first.0 > 1_000, "{first:?} {last:?}");
    for (x, y) in &diagonal {
        let share = f64::from(x - first.0) / f64::from(last.0 - first.0);
        let line = f64::from(first.1) + share * f64::from(last.1 - first.1);
        assert!((f64::from(*y) - line).abs() <= 1.5, "{x} {y}: {line}");
    }
    // Decades named below are those at the left.
    let decades = |left: bool| -> Vec<String> {
        let at = |t: &&iosonar_view::scene::Text| if left { t.x == 100 } else { t.y > 700 && t.x > 100 };
        let is_decade =
            |t: &str| t.starts_with('1') && t.trim_start_matches(['1', '0']).len() <= 3 && t.len() <= 7;
        let mut all: Vec<String> =
            scene.texts().filter(at).map(|t| t.text.clone()).filter(|t| is_decade(t)).collect();
        all.sort();
        all
    };
    assert_eq!(decades(true), decades(false));
    assert!(decades(true).len() >= 4, "{:?}", decades(true));
}

#[test]
fn files_are_small_and_the_same_each_time() {
    let (a, b) = (replay(100_000, 1_100.0, false), replay(100_000, 1_100.0, true));
    let twice = [(); 2].map(|()| scenes(&a, &b, &Style::default()));
    for ((picture, one), (_, two)) in twice[0].iter().zip(&twice[1]) {
        let (file, vectors) = (png(one), svg(one));
        assert!(file == png(two) && vectors == svg(two), "{picture:?}");
        assert!(file.len() <= 250_000, "{picture:?}: {}", file.len());
        assert!(vectors.len() <= 400_000, "{picture:?}: {}", vectors.len());
    }
}

/// Pixels of the difference map that are neither empty nor grey, left and right of the middle.
fn colored(scenes: &[(ComparePicture, Scene)]) -> [usize; 2] {
    let (_, scene) = scenes.iter().find(|(p, _)| p.stem() == "compare.difference").unwrap();
    let image = scene.marks.iter().find_map(|m| match m {
        Mark::Image(image) => Some(image),
        _ => None,
    });
    let image = image.unwrap();
    let mut sides = [0; 2];
    for (i, shade) in image.pixels.iter().enumerate() {
        let is_right = i as u32 % image.width >= image.width / 2;
        sides[usize::from(is_right)] += usize::from(*shade > 1);
    }
    sides
}

#[test]
fn difference_appears_in_place_and_equal_runs_are_grey() {
    let run = replay(100_000, 1_000.0, false);
    assert_eq!(colored(&scenes(&run, &run, &Style::default())), [0, 0]);
    let end = run.diagrams().latency_by_due.axis().end_ns();
    let [left, right] = colored(&scenes(&run, &slower(&run, end / 2, 160), &Style::default()));
    // A pool may begin in the left half and end in the right one.
    assert!(right > 10_000 && left < right / 20, "{left} {right}");
}

/// `PICTURES=/some/dir cargo test -p iosonar-view --test compare_pictures` leaves the pictures there, to look at.
#[test]
fn pictures_to_look_at() {
    let Some(to) = std::env::var_os("PICTURES") else { return };
    for (name, a, b) in pairs() {
        let directory = std::path::Path::new(&to).join(format!("compare-{name}"));
        std::fs::create_dir_all(&directory).unwrap();
        for (picture, scene) in scenes(&a, &b, &Style::default()) {
            std::fs::write(directory.join(format!("{}.png", picture.stem())), png(&scene)).unwrap();
        }
    }
}
