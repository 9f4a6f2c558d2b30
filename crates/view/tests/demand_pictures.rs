//! Pictures of loads without a run: nothing overlaps, counts add up, the same bytes each time, small files.

mod common;

use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use iosonar_analyze::findings::TimeRange;
use iosonar_plan::Op;
use iosonar_testkit::SplitMix;
use iosonar_view::{Material, Picture, Style, Subject, Theme, png, svg};
use std::io::Read;

fn analyzed(demands: &[Demand], options: &DemandOptions) -> DemandAnalysis {
    let mut tally = DemandTally::new(options);
    demands.iter().for_each(|d| tally.add(d));
    tally.finish()
}

fn demand(time_ns: u64, sector: u64, sectors: u64, op: Op) -> Demand {
    Demand { time_ns, sector, sectors, device: 0, op }
}

/// Skewed addresses, some lengths, bursts and a gap.
fn mixed(count: u64) -> Vec<Demand> {
    let mut numbers = SplitMix(7);
    let mut time = 0;
    let request = |i: u64| {
        time += (-numbers.fraction().max(1e-9).ln() * 2e6) as u64
            + if i == count / 2 { 90_000_000_000 } else { 0 };
        let place = (numbers.fraction().powi(4) * 4e8) as u64 / 8 * 8;
        let op = if numbers.fraction() < 0.7 { Op::Read } else { Op::Write };
        let sectors = [1, 8, 8, 8, 16, 40, 128, 2048, 4096][(numbers.fraction().powi(3) * 9.0) as usize];
        demand(time, place, sectors, op)
    };
    (0..count).map(request).collect()
}

fn loads() -> Vec<(&'static str, DemandAnalysis)> {
    let plain = DemandOptions::default();
    let many_windows = DemandOptions {
        windows_s: (1..=16).map(|i| i * i).collect(),
        device_bytes: vec![1 << 20, 1 << 30, (1 << 30) + 1, 100 << 30, 101 << 30, 240 << 30, 16 << 40],
        exact_pages: 1 << 10,
        ..plain.clone()
    };
    let huge = |i: u64| demand(i * (u64::MAX >> 4), u64::MAX / 512 * (i % 2), 1 << 16, Op::Write);
    vec![
        ("mixed", analyzed(&mixed(20_000), &plain)),
        ("sampled", analyzed(&mixed(20_000), &many_windows)),
        ("one", analyzed(&[demand(0, 0, 1, Op::Read)], &plain)),
        ("one-late", analyzed(&[demand(86_400_000_000_000, 1 << 31, 8, Op::Write)], &many_windows)),
        ("at-once", analyzed(&(0..500).map(|i| demand(0, i * 8, 8, Op::Read)).collect::<Vec<_>>(), &plain)),
        ("same-place", analyzed(&(0..500).map(|i| demand(i, 8, 8, Op::Read)).collect::<Vec<_>>(), &plain)),
        ("no-length", analyzed(&[demand(5, 5, 0, Op::Write)], &plain)),
        ("huge", analyzed(&(0..6).map(huge).collect::<Vec<_>>(), &plain)),
        ("empty", analyzed(&[], &plain)),
    ]
}

fn subject(name: &str) -> Subject {
    Subject {
        what: format!("{name}.load.gz"),
        how: "20 000 requests".into(),
        tool: "iosonar 0.1.0".into(),
        command: format!("iosonar plot {name}.load.gz"),
        ..Subject::default()
    }
}

fn pictures() -> impl Iterator<Item = Picture> {
    let (subject, load) = (Subject::default(), analyzed(&[], &DemandOptions::default()));
    Picture::all()
        .filter(move |p| p.lacks(&Material { subject: &subject, run: None, demand: Some(&load) }).is_none())
}

fn draw(picture: Picture, name: &str, load: &DemandAnalysis, style: &Style) -> iosonar_view::scene::Scene {
    let subject = subject(name);
    picture.draw(&Material { subject: &subject, run: None, demand: Some(load) }, style).unwrap()
}

#[test]
fn every_load_picture_has_its_name() {
    let stems: Vec<_> = pictures().map(Picture::stem).collect();
    for stem in [
        "g000.overview.thrp",
        "g000.overview.thrs",
        "g00.thrp.setpoint",
        "g00.thrs.setpoint",
        "g30.ws_log",
        "g31.ws_lin",
        "g32.sum_dist",
        "g33.avg_dist",
        "g40.rqsize.bins",
        "g41.rqpos.bins",
        "g42.turns.setpoint",
        "g44.freq.bins",
        "g45.miss_ratio",
        "g46.seek_map",
    ] {
        assert!(stems.contains(&stem), "{stem} is missing in {stems:?}");
    }
}

#[test]
fn text_never_overlaps_or_leaves_the_page() {
    let zoomed =
        Style { range: Some(TimeRange { from_ns: 3_000_000_000, to_ns: 5_000_000_000 }), ..Style::default() };
    for (name, load) in loads() {
        let gray = Style { theme: Theme::Gray, ..Style::default() };
        for (picture, style) in pictures().flat_map(|p| [(p, Style::default()), (p, zoomed), (p, gray)]) {
            let scene = draw(picture, name, &load, &style);
            let texts: Vec<_> = scene.texts().collect();
            for (i, a) in texts.iter().enumerate() {
                let b = a.bounds();
                let inside = b.x >= 0 && b.y >= 0 && b.right() <= 1600 && b.bottom() <= scene.height as i32;
                assert!(inside, "{name} {picture:?}: '{}' leaves the page: {b:?}", a.text);
                for other in &texts[i + 1..] {
                    let overlap = b.overlaps(&other.bounds());
                    assert!(!overlap, "{name} {picture:?}: '{}' and '{}' overlap", a.text, other.text);
                }
            }
        }
    }
}

#[test]
fn counts_in_pictures_add_up_to_the_requests() {
    for (name, load) in loads() {
        let counted = pictures().filter_map(|p| Some((p, draw(p, name, &load, &Style::default()).counted?)));
        let counted: Vec<_> = counted.collect();
        let requests = load.facts.counts.all.requests;
        assert!(requests == 0 || counted.len() >= 3, "{name}: {counted:?}");
        counted.iter().for_each(|(p, n)| assert_eq!(*n, requests, "{name} {p:?}"));
    }
}

#[test]
fn files_are_small_and_the_same_each_time() {
    let options = DemandOptions { windows_s: vec![1, 6, 60, 600], ..DemandOptions::default() };
    let load = analyzed(&mixed(60_000), &options);
    for picture in pictures() {
        let [a, b] = [(); 2].map(|()| draw(picture, "mixed", &load, &Style::default()));
        let (file, vectors) = (png(&a), svg(&a));
        assert!(file == png(&b) && vectors == svg(&b), "{picture:?}");
        assert!(file.len() <= 250_000, "{picture:?}: {}", file.len());
        assert!(vectors.len() <= 400_000, "{picture:?}: {}", vectors.len());
    }
}

#[test]
fn sampled_figures_are_labelled() {
    let loads = loads();
    let (_, load) = loads.iter().find(|(name, _)| *name == "sampled").unwrap();
    assert!(!load.facts.sampling.exact);
    for picture in
        pictures().filter(|p| ["g30.ws_log", "g44.freq.bins", "g45.miss_ratio"].contains(&p.stem()))
    {
        let scene = draw(picture, "sampled", load, &Style::default());
        assert!(scene.texts().any(|t| t.text.contains("sampled 1:")), "{picture:?}");
    }
}

/// `PICTURES=/some/dir LOADS=a.load.gz:b.load.gz cargo test -p iosonar-view --test demand_pictures` leaves all
/// pictures of the fixtures and of those loads there, to look at.
#[test]
fn pictures_to_look_at() {
    let Some(to) = std::env::var_os("PICTURES") else { return };
    let options = DemandOptions { device_bytes: vec![100 << 30], ..DemandOptions::default() };
    let files = std::env::var("LOADS").unwrap_or_default();
    let files = files.split(':').filter(|f| !f.is_empty());
    let read = files.map(|f| (f.rsplit('/').next().unwrap(), analyzed(&read_load(f), &options)));
    for (name, load) in read.chain(loads()) {
        let directory = std::path::Path::new(&to).join(name);
        std::fs::create_dir_all(&directory).unwrap();
        for picture in pictures() {
            let scene = draw(picture, name, &load, &Style::default());
            std::fs::write(directory.join(format!("{}.png", picture.stem())), png(&scene)).unwrap();
            let dark = draw(picture, name, &load, &Style { theme: Theme::Dark, ..Style::default() });
            std::fs::write(directory.join(format!("{}.dark.png", picture.stem())), png(&dark)).unwrap();
        }
    }
}

fn read_load(path: &str) -> Vec<Demand> {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let line = |line: &str| {
        let mut fields = line.split(';').map(str::trim);
        let time: f64 = fields.next()?.parse().ok()?;
        let (sector, sectors) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
        let op = if fields.next()?.starts_with(['R', 'r']) { Op::Read } else { Op::Write };
        Some(demand((time * 1e9) as u64, sector, sectors, op))
    };
    text.lines().filter_map(line).collect()
}
