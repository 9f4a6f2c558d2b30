//! The numbers of the pictures as CSV: they add up, and every picture has a table and vice versa, with known exceptions.

mod common;

use common::{Plain, Run, empty, extent_latencies, machine_series, replay, with_faults, with_path};
use iosonar_analyze::demand::{Demand, DemandAnalysis, DemandOptions, DemandTally};
use iosonar_view::{
    DataOptions, Headline, Material, Picture, RunMaterial, Style, Subject, data_stems, write_data,
    write_data_files,
};

fn demand(run: &Run) -> DemandAnalysis {
    let mut by_due = run.records.clone();
    by_due.sort_by_key(|r| r.due);
    let mut tally = DemandTally::new(&DemandOptions::default());
    by_due.iter().filter_map(Demand::of).for_each(|d| tally.add(&d));
    tally.finish()
}

fn with_material<T>(run: &Run, has_run: bool, use_it: impl FnOnce(&Material<'_>) -> T) -> T {
    let (summary, diagrams, tally, demand) = (run.summary(), run.diagrams(), run.tally(), demand(run));
    let subject = Subject::of_run(&summary, &Headline::default());
    let material = RunMaterial {
        summary: &summary,
        diagrams: &diagrams,
        tally: Some(&tally),
        findings: None,
        machine: Some(&machine_series(run.end_ns(), 4_321.0)),
        extents: Some(&extent_latencies(run)),
        faults: &run.faults,
    };
    use_it(&Material { subject: &subject, run: has_run.then_some(material), demand: Some(&demand) })
}

/// The table of a stem: names of the columns and rows of fields.
fn table(stem: &str, material: &Material<'_>) -> (Vec<String>, Vec<Vec<String>>) {
    let mut bytes = Vec::new();
    assert!(write_data(stem, material, &DataOptions::default(), &mut bytes).unwrap(), "{stem}");
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.ends_with("\r\n") && !text.replace("\r\n", "").contains(['\r', '\n', '"']), "{stem}");
    let fields = |line: &str| line.split(',').map(str::to_string).collect::<Vec<_>>();
    let mut lines = text.split("\r\n").filter(|l| !l.is_empty()).map(fields);
    let names = lines.next().unwrap();
    let rows: Vec<_> = lines.collect();
    assert!(rows.iter().all(|r| r.len() == names.len()), "{stem}: {names:?}");
    (names, rows)
}

/// Sum of some columns.
fn sum(stem: &str, material: &Material<'_>, columns: &[&str]) -> u64 {
    let (names, rows) = table(stem, material);
    let at: Vec<usize> = columns.iter().map(|c| names.iter().position(|n| n == c).unwrap()).collect();
    rows.iter().flat_map(|r| at.iter().map(|i| r[*i].parse::<u64>().unwrap())).sum()
}

#[test]
fn every_picture_has_its_table() {
    with_material(&with_path(with_faults(replay(200, 10.0, false), 9)), true, |m| {
        let stems: Vec<_> = data_stems(m).collect();
        for picture in Picture::all().filter(|p| *p != Picture::SHEET) {
            assert!(stems.contains(&picture.stem()), "{picture:?}");
        }
        let pictures: Vec<_> = Picture::all().map(Picture::stem).collect();
        for stem in stems.iter().filter(|s| !s.contains("smooth")) {
            assert!(pictures.contains(stem), "{stem}");
        }
    });
}

#[test]
fn requests_of_a_run_add_up() {
    let run = replay(20_000, 1_100.0, true);
    let completed = run.summary().counts.all.completed;
    let total = run.summary().counts.all.total;
    with_material(&run, true, |m| {
        for stem in [
            "g00.response",
            "g01.latency.realtime",
            "g02.latency.setpoint",
            "g03.latency.completed",
            "g03.latency.points",
            "g04.delay.setpoint",
            "g05.delay.points",
            "g06.latency.bins",
            "g07.delay.bins",
            "g10.latency.xy",
            "g11.delay.xy",
            "g12.latency.delay.xy",
            "g00.thrp.completed",
            "g43.turns.completed",
        ] {
            assert_eq!(sum(stem, m, &["requests"]), completed, "{stem}");
        }
        assert_eq!(sum("g00.thrp.setpoint", m, &["requests"]), total);
        // Requests that failed were answered, too.
        assert_eq!(sum("g54.answer_lag", m, &["requests"]), total);
        assert_eq!(sum("g000.overview.thrp", m, &["requests"]), total + completed);
    });
}

#[test]
fn requests_of_a_load_add_up() {
    let run = replay(20_000, 1_100.0, false);
    with_material(&run, false, |m| {
        for stem in ["g000.overview.thrp", "g00.thrp.setpoint", "g40.rqsize.bins", "g41.rqpos.bins"] {
            assert_eq!(sum(stem, m, &["reads", "writes"]), 20_000, "{stem}");
        }
        assert_eq!(sum("g42.turns.setpoint", m, &["requests"]), 20_000);
        assert_eq!(sum("g46.seek_map", m, &["requests"]), 20_000);
        let bytes: u64 = run.records.iter().map(|r| r.requested.length).sum();
        assert_eq!(sum("g000.overview.thrs", m, &["read_bytes", "written_bytes"]), bytes);
        assert!(!write_data("g01.latency.realtime", m, &DataOptions::default(), &mut Vec::new()).unwrap());
    });
}

#[test]
fn faults_add_up() {
    let run = with_faults(replay(200, 10.0, false), 300);
    let bytes: u64 = run.faults.iter().map(|fault| fault.length).sum();
    with_material(&run, true, |m| {
        let (_, rows) = table("g62.fault-map", m);
        assert_eq!(rows.len(), 300);
        assert_eq!(sum("g62.fault-map", m, &["length_bytes"]), bytes);
        // Over the places, and over the time.
        assert_eq!(sum("g63.fault-strip", m, &["faults"]), 2 * 300);
        assert_eq!(sum("g63.fault-strip", m, &["bytes"]), 2 * bytes);
    });
    with_material(&replay(200, 10.0, false), true, |m| {
        assert!(!data_stems(m).any(|stem| stem.contains("fault")));
        assert!(Picture::FAULT_STRIP.draw(m, &Style::default()).is_none());
        assert!(Picture::FAULT_STRIP.lacks(m).is_some_and(|why| why.contains("no faults")));
    });
}

#[test]
fn smoothed_means_are_the_mean_of_the_run() {
    let run = replay(20_000, 1_100.0, false);
    with_material(&run, true, |m| {
        let (names, rows) = table("g08.smooth.latency.flying", m);
        assert_eq!(names, ["window_end_ns", "scope", "mean"]);
        let mut begin = 0.0;
        let mut request_ns = 0.0;
        for row in rows.iter().filter(|r| r[1] == "all") {
            let end: f64 = row[0].parse().unwrap();
            request_ns += row[2].parse::<f64>().unwrap() * (end - begin);
            begin = end;
        }
        let exact: u64 = run.records.iter().filter_map(|r| Some(r.latency()?.0)).sum();
        assert!((request_ns / exact as f64 - 1.0).abs() < 1e-6, "{request_ns} {exact}");
        assert_eq!(rows[0][0], "1000000000");
    });
}

#[test]
fn empty_runs_have_tables_with_header_only_or_zeros() {
    for run in [empty(&["x"]), replay(1, 1.0, false)] {
        let requests = run.records.len() as u64;
        with_material(&run, true, |m| {
            data_stems(m).for_each(|stem| _ = table(stem, m));
            assert_eq!(sum("g01.latency.realtime", m, &["requests"]), requests);
        });
    }
}

#[test]
fn files_have_the_names_of_the_pictures_and_are_the_same_each_time() {
    let run = replay(500, 10.0, false);
    let directory = tempfile::tempdir().unwrap();
    with_material(&run, true, |m| {
        let only = ["g01.latency.realtime", "g44.freq.bins"];
        let write = || write_data_files(m, &Plain(directory.path()), &only, &DataOptions::default()).unwrap();
        let files = write();
        let names: Vec<_> = files.iter().map(|p| p.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["g01.latency.realtime.csv", "g44.freq.bins.csv"]);
        let first: Vec<_> = files.iter().map(|f| std::fs::read(f).unwrap()).collect();
        let second: Vec<_> = write().iter().map(|f| std::fs::read(f).unwrap()).collect();
        assert_eq!(first, second);
    });
}
