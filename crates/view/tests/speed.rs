//! How long pictures take: printed, never judged. `cargo test --release -p iosonar-view --test speed -- --nocapture`

mod common;

use common::{Plain, replay, with_findings};
use iosonar_view::{
    Format, Headline, Material, Picture, PlotOptions, RunMaterial, Style, Subject, plot, png, svg,
};
use std::time::{Duration, Instant};

/// The shortest of three times.
fn least<T>(mut work: impl FnMut() -> T) -> Duration {
    let once = |_| {
        let start = Instant::now();
        std::hint::black_box(work());
        start.elapsed()
    };
    (0..3).map(once).min().unwrap_or_default()
}

#[test]
fn every_picture_of_a_run_is_drawn_once() {
    let count = std::env::var("REQUESTS").ok().and_then(|n| n.parse().ok()).unwrap_or(5_000);
    let run = with_findings(replay(count, 1_100.0, true));
    let (summary, diagrams, tally) = (run.summary(), run.diagrams(), run.tally());
    let subject = Subject::of_run(&summary, &Headline::default());
    let findings = run.findings.as_ref();
    let of_run = RunMaterial {
        summary: &summary,
        diagrams: &diagrams,
        tally: Some(&tally),
        findings,
        machine: None,
        extents: None,
        faults: &run.faults,
    };
    let material = Material { subject: &subject, run: Some(of_run), demand: None };
    let mut drawn = 0;
    for picture in Picture::all() {
        let Some(scene) = picture.draw(&material, &Style::default()) else { continue };
        let scene_took = least(|| picture.draw(&material, &Style::default()));
        let png_took = least(|| png(&scene));
        let svg_took = least(|| svg(&scene));
        let (bytes, vectors) = (png(&scene).len(), svg(&scene).len());
        println!(
            "{:26} scene {scene_took:>10.1?} png {png_took:>10.1?} {bytes:>7} svg {svg_took:>10.1?} {vectors:>7}",
            picture.stem()
        );
        drawn += 1;
    }
    let directory = tempfile::tempdir().unwrap();
    let options = PlotOptions { formats: vec![Format::Png, Format::Svg], ..PlotOptions::default() };
    let start = Instant::now();
    let plotted = plot(&material, &Plain(directory.path()), &options).unwrap();
    println!("all pictures, both forms: {:.1?}", start.elapsed());
    assert_eq!(plotted.written.len(), 2 * drawn);
    assert!(plotted.written.is_sorted_by_key(|p| p.exists()));
}
