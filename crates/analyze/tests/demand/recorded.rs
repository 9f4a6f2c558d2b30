//! Recorded loads: every figure that the definitions yield for them, computed by programs that know nothing of ours
//! (`fixtures/README.md`).

use super::{S, analysis};
use iosonar_analyze::demand::{
    ByOp, Demand, DemandAnalysis, DemandOptions, Extremes, FractionExtremes, SetSizes, WindowFacts,
    WindowSeries,
};
use iosonar_trace::blkreplay::{Line, Reader};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

const GIB: u64 = 1 << 30;

/// A load whose figures are known.
struct Load {
    /// Name of its fixtures.
    name: &'static str,
    /// Its file, relative to the root of the repository.
    file: &'static str,
    /// The first request and every n-th after it are taken …
    every: usize,
    /// … with times multiplied by this factor.
    slower: u64,
}

/// Loads of the repository: a busy minute or two, and a quiet hour.
const OWN: [Load; 3] = [
    Load { name: "database", file: "examples/loads/database.load.gz", every: 1, slower: 1 },
    Load { name: "backup", file: "examples/loads/backup.load.gz", every: 1, slower: 1 },
    Load { name: "quiet", file: "examples/loads/logs.load.gz", every: 25, slower: 21 },
];

/// Loads of others, with figures of others. They are no part of the repository, and are checked if they lie beside it.
const OTHERS: [Load; 2] = [
    Load { name: "windows-mssql", file: "../shared/loads/windows-mssql.load.gz", every: 1, slower: 1 },
    Load {
        name: "windows-shared-server",
        file: "../shared/loads/windows-shared-server.load.gz",
        every: 1,
        slower: 1,
    },
];

/// Own loads, and those of others that exist.
fn loads() -> impl Iterator<Item = Load> {
    OWN.into_iter().chain(OTHERS.into_iter().filter(|load| load.path().exists()))
}

impl Load {
    fn path(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(self.file)
    }

    fn fixture(&self, ending: &str) -> String {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/demand/fixtures");
        std::fs::read_to_string(folder.join(format!("{}.{ending}", self.name))).expect("a fixture")
    }

    fn expected(&self) -> Value {
        serde_json::from_str(&self.fixture("static.json")).expect("a fixture is JSON")
    }

    fn requests(&self) -> Vec<Demand> {
        let file = File::open(self.path()).expect("a load");
        let mut reader = Reader::new(iosonar_trace::decompress(file).expect("a gzip file"));
        let mut demands = Vec::new();
        while let Some(line) = reader.next_line().expect("a load can be read") {
            let Line::Request(r) = line else { continue };
            demands.push(Demand {
                time_ns: r.time.0 * self.slower,
                sector: r.extent.offset / 512,
                sectors: r.extent.length / 512,
                device: 0,
                op: r.op,
            });
        }
        demands.into_iter().step_by(self.every).collect()
    }
}

/// Runs `check` on each load.
fn on_loads(check: impl Fn(&DemandAnalysis, &Value)) {
    for load in loads() {
        let expected = load.expected();
        let wraparound = expected["wraparound"].as_object().expect("sizes of devices");
        let gib = |name: &String| name.trim_end_matches("GiB").parse::<u64>().expect("a size in GiB");
        let device_bytes = wraparound.keys().map(|name| gib(name) * GIB).collect();
        let options = DemandOptions { device_bytes, ..DemandOptions::default() };
        check(&analysis(&load.requests(), &options), &expected);
    }
}

#[track_caller]
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

/// Expected fractions are rounded to six digits after the point.
#[track_caller]
fn close(actual: f64, expected: &Value, digits: i32) {
    let expected = expected.as_f64().unwrap_or_else(|| panic!("{expected} is no number"));
    let most = 0.500_001 * 10f64.powi(-digits) + expected.abs() * 1e-13;
    assert!((actual - expected).abs() <= most, "{actual} is not {expected}");
}

#[track_caller]
fn same(actual: &Extremes, expected: &Value) {
    let of = ["count", "sum", "min", "max"].map(|name| number(&expected[name]));
    assert_eq!([actual.count, actual.sum, actual.min, actual.max], of);
    close(actual.mean, &expected["avg"], 6);
}

#[track_caller]
fn same_fractions(actual: &FractionExtremes, expected: &Value) {
    assert_eq!(actual.count, number(&expected["count"]));
    close(actual.sum, &expected["sum"], 6);
    close(actual.min, &expected["min"], 6);
    close(actual.max, &expected["max"], 6);
    close(actual.mean, &expected["avg"], 6);
}

#[test]
fn counts_and_positions_match_reference() {
    on_loads(|a, expected| {
        let (f, basic) = (&a.facts, &expected["basic"]);
        for (counts, requests, sectors) in [
            (f.counts.all, "requests", "total_sectors"),
            (f.counts.read, "reads", "read_sectors"),
            (f.counts.write, "writes", "write_sectors"),
        ] {
            assert_eq!(counts.requests, number(&basic[requests]));
            assert_eq!(
                (counts.sectors, counts.bytes),
                (number(&basic[sectors]), 512 * number(&basic[sectors]))
            );
        }
        let span = f.span.unwrap();
        assert_eq!(
            (span.first_ns, span.last_ns),
            (number(&basic["first_time_ns"]), number(&basic["last_time_ns"]))
        );
        let p = f.positions.unwrap();
        assert_eq!(p.lowest_sector, number(&basic["min_sector"]));
        assert_eq!(p.highest_end_sector, number(&basic["max_block"]));
        assert_eq!(p.not_page_aligned, number(&basic["requests_not_4k_aligned"]));
        assert_eq!(f.sizes.all.unwrap().max_sectors, number(&basic["max_length"]));
        assert_eq!(f.repetitions.immediate, number(&basic["immediate_duplicates_lt_1ms"]));
        assert_eq!((f.devices, p.cell_gib, f.sampling.exact), (1, 1, true));
    });
}

#[test]
fn wraparound_matches_reference() {
    on_loads(|a, expected| {
        let expected = expected["wraparound"].as_object().unwrap();
        assert_eq!(expected.len(), a.facts.wraparound.len());
        for value in expected.values() {
            let bytes = 512 * number(&value["device_sectors"]);
            let w = a.facts.wraparound.iter().find(|w| w.device_bytes == bytes).unwrap();
            close(w.factor, &value["factor"], 3);
            assert_eq!(w.remapped, number(&value["requests_remapped"]));
            assert_eq!(w.crossing, number(&value["requests_crossing_border_after_modulo"]));
        }
    });
}

fn check_window(facts: &WindowFacts, series: &WindowSeries, expected: &Value) {
    let sets = facts.consecutive.unwrap();
    assert_eq!(sets.start.count, number(&expected["tumbling_windows"]));
    same(&sets.start, &expected["start"]);
    same(&sets.touched, &expected["touched"]);
    same(&sets.pages, &expected["pages"]);
    same(&facts.sliding.start, &expected["sliding_start"]);
    same(&facts.sliding.touched, &expected["sliding_touched"]);
    same(&facts.sum_dist.unwrap(), &expected["sum_dist"]);
    same_fractions(&facts.avg_dist.unwrap(), &expected["avg_dist"]);
    let c = series.consecutive.as_ref().unwrap();
    for (k, first) in expected["first5"].as_array().unwrap().iter().enumerate() {
        assert_eq!(c.sets.start[k], number(&first["start"]));
        assert_eq!(c.sets.touched[k], number(&first["touched"]));
        assert_eq!(c.sets.pages[k], number(&first["pages"]));
        assert_eq!(c.sum_dist[k], number(&first["sum_dist"]));
        close(c.avg_dist[k], &first["avg_dist"], 6);
    }
    // The mean gap has one gap less than there are members.
    for (k, gap) in c.mean_gap.iter().enumerate().filter(|(_, gap)| **gap > 0.0) {
        assert!((gap * (c.sets.start[k] - 1) as f64 - c.sum_dist[k] as f64).abs() < 1e-6);
    }
}

#[test]
fn working_sets_match_reference() {
    on_loads(|a, expected| {
        let expected = &expected["workingset_def"];
        for (facts, series) in a.facts.working_sets.iter().zip(&a.series.working_sets) {
            match facts.window_s {
                Some(d) => check_window(facts, series, &expected[d.to_string()]),
                None => check_infinite(a, series, &expected["inf"]),
            }
        }
        assert_eq!(a.facts.working_sets.len(), 5);
    });
}

fn check_infinite(a: &DemandAnalysis, series: &WindowSeries, expected: &Value) {
    let at = |value: &Value| SetSizes {
        start: number(&value["start"]),
        touched: number(&value["touched"]),
        pages: number(&value["pages"]),
    };
    let growth = &a.facts.growth.after;
    assert_eq!(growth.last().unwrap().sets, at(&expected["final"]));
    for (name, value) in expected.as_object().unwrap() {
        let Some(seconds) = name.strip_prefix("after_").and_then(|s| s.strip_suffix('s')) else { continue };
        let (seconds, value) = (seconds.parse::<u64>().unwrap(), at(value));
        assert_eq!(growth.iter().find(|g| g.seconds == seconds).unwrap().sets, value, "after {seconds} s");
        assert_eq!(series.sliding.pages[seconds as usize - 1], value.pages);
    }
}

#[test]
fn a_larger_window_is_never_smaller() {
    on_loads(|a, _| {
        for pair in a.series.working_sets.windows(2) {
            let (small, large) = (&pair[0].sliding, &pair[1].sliding);
            for (small, large) in
                [(&small.start, &large.start), (&small.touched, &large.touched), (&small.pages, &large.pages)]
            {
                assert!(small.len() == large.len() && small.iter().zip(large).all(|(s, l)| s <= l));
            }
        }
    });
}

#[test]
fn turns_match_reference() {
    on_loads(|a, expected| {
        let (turns, expected) = (&a.facts.turns, &expected["turns_def"]);
        for (actual, name) in
            [(turns.total.all, "total"), (turns.total.read, "reads_only"), (turns.total.write, "writes_only")]
        {
            let value = &expected[name];
            assert_eq!(
                [actual.requests, actual.turns],
                [number(&value["requests"]), number(&value["turns"])]
            );
            if !value["percent"].is_null() {
                close(actual.percent, &value["percent"], 6);
            }
        }
        same_fractions(&turns.percent_per_window, &expected["percent_per_second_nonempty"]);
        for (k, pair) in expected["first10"].as_array().unwrap().iter().enumerate() {
            let series = &a.series.turns;
            assert_eq!([series.turns[k], series.requests[k]], [number(&pair[0]), number(&pair[1])]);
        }
    });
}

#[test]
fn throughput_matches_reference() {
    for load in loads() {
        let (demands, expected) = (load.requests(), &load.expected()["throughput_def"]);
        for (width, value) in expected.as_object().unwrap() {
            let throughput_window_ns = width.parse::<u64>().unwrap() * S;
            let a = analysis(&demands, &DemandOptions { throughput_window_ns, ..DemandOptions::default() });
            let (facts, series) = (&a.facts.throughput, &a.series.throughput);
            assert_eq!(facts.iops.all.count, number(&value["windows"]));
            same_fractions(&facts.iops.all, &value["iops"]);
            same_fractions(&facts.sectors_per_s.all, &value["sectors_per_s"]);
            for k in 0..5 {
                assert_eq!(series.reads[k] + series.writes[k], number(&value["first5_requests"][k]));
                assert_eq!(
                    series.read_sectors[k] + series.write_sectors[k],
                    number(&value["first5_sectors"][k])
                );
            }
        }
    }
}

#[test]
fn sizes_match_reference() {
    on_loads(|a, expected| {
        let facts = ByOp { all: a.facts.sizes.all, read: a.facts.sizes.read, write: a.facts.sizes.write };
        for (name, facts, pick) in
            [("all", facts.all, 0), ("reads", facts.read, 1), ("writes", facts.write, 2)]
        {
            let expected = &expected["rqsize"][name];
            let count =
                |c: &iosonar_analyze::demand::SizeCount| [c.reads + c.writes, c.reads, c.writes][pick];
            let actual: Vec<(u64, u64)> =
                a.series.sizes.iter().filter(|c| count(c) > 0).map(|c| (c.first, count(c))).collect();
            let mut exact: Vec<(u64, u64)> = expected["exact"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(length, n)| (length.parse().unwrap(), number(n)))
                .collect();
            exact.sort_unstable();
            assert_eq!(actual, exact);
            assert_eq!(facts.map_or(0, |f| f.distinct), exact.len() as u64);
            let Some(facts) = facts else { continue };
            let stats = &expected["stats"];
            assert_eq!(
                [facts.min_sectors, facts.max_sectors],
                [number(&stats["min"]), number(&stats["max"])]
            );
            close(facts.mean_sectors, &stats["avg"], 6);
        }
    });
}

#[test]
fn positions_match_reference() {
    on_loads(|a, expected| {
        let p = &a.series.positions;
        let all: Vec<u64> = p.reads.iter().zip(&p.writes).map(|(r, w)| r + w).collect();
        assert_eq!(p.cell_sectors, GIB / 512);
        for (name, counts) in [("all", &all), ("reads", &p.reads), ("writes", &p.writes)] {
            let mut expected: Vec<(usize, u64)> = expected["rqpos_gib"][name]
                .as_object()
                .unwrap()
                .iter()
                .map(|(gib, n)| (gib.parse().unwrap(), number(n)))
                .collect();
            expected.sort_unstable();
            let used = counts.iter().copied().enumerate().filter(|(_, n)| *n > 0);
            assert_eq!(used.collect::<Vec<_>>(), expected);
        }
        assert_eq!(all.iter().filter(|n| **n > 0).count() as u64, a.facts.positions.unwrap().cells_used);
        let map = &a.series.seek_map;
        let cells = (0..map.columns).flat_map(|c| map.column(c)).flatten();
        assert_eq!(cells.map(|n| u64::from(*n)).sum::<u64>(), a.facts.counts.all.requests);
    });
}

#[test]
fn page_frequency_matches_reference() {
    on_loads(|a, expected| {
        let (f, groups) = (&a.facts.frequency, &a.series.frequency_groups);
        for (name, facts, groups) in [
            ("all", &f.all, &groups.all),
            ("reads", &f.read, &groups.read),
            ("writes", &f.write, &groups.write),
        ] {
            let expected = &expected["freq_4k_def"][name];
            assert_eq!(facts.distinct_pages, number(&expected["distinct_pages"]));
            assert_eq!(facts.accesses, number(&expected["accesses"]));
            let hottest: Vec<[u64; 2]> = facts.hottest.iter().map(|p| [p.page, p.accesses]).collect();
            let top = expected["top10_page_count"].as_array().unwrap();
            // Equally hot pages may be in any order there.
            assert_eq!(hottest.len(), top.len());
            for (mine, theirs) in hottest.iter().zip(top) {
                assert_eq!(mine[1], number(&theirs[1]));
            }
            let mut histogram: Vec<(u64, u64)> = expected["histogram_freq_to_pages"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(accesses, pages)| (accesses.parse().unwrap(), number(pages)))
                .collect();
            histogram.sort_unstable_by(|a, b| b.cmp(a));
            assert_eq!(groups.iter().map(|g| (g.accesses, g.pages)).collect::<Vec<_>>(), histogram);
            let labels = facts.markers.iter().filter_map(|m| m.label);
            let quantiles = expected["quantiles"].as_array().unwrap();
            assert_eq!(labels.clone().count(), quantiles.len());
            for ((label, marker), quantile) in labels.zip(&facts.markers).zip(quantiles) {
                assert_eq!(label.rank, number(&quantile[0]));
                close(label.pages_percent, &quantile[1], 3);
                close(100.0 / marker.one_of as f64, &quantile[2], 3);
                close(label.speedup, &quantile[3], 3);
            }
        }
        assert_eq!(a.facts.repetitions.page_accesses, f.all.accesses - f.all.distinct_pages);
    });
}

/// The hottest pages by number, where no other is as hot.
#[test]
fn hottest_pages_match_reference() {
    on_loads(|a, expected| {
        let top = expected["freq_4k_def"]["all"]["top10_page_count"].as_array().unwrap();
        let top: Vec<[u64; 2]> = top.iter().map(|pair| [number(&pair[0]), number(&pair[1])]).collect();
        // The eleventh may be as hot as the tenth.
        let is_alone = |accesses| {
            accesses > top[top.len() - 1][1] && top.iter().filter(|pair| pair[1] == accesses).count() == 1
        };
        for (mine, theirs) in a.facts.frequency.all.hottest.iter().zip(&top).filter(|(_, t)| is_alone(t[1])) {
            assert_eq!([mine.page, mine.accesses], *theirs);
        }
    });
}

#[test]
fn per_second_series_match_reference() {
    for load in loads() {
        let a = analysis(&load.requests(), &DemandOptions::default());
        let text = load.fixture("series.csv");
        let mut lines = text.lines();
        let header = "second,requests,turns,ws1_start,ws1_touched,sumdist1,slide6_start,slide6_touched,\
                      slide60_start,slide60_touched,inf_start,inf_touched,inf_pages";
        assert_eq!(lines.next(), Some(header));
        let sets = &a.series.working_sets;
        let one = sets[0].consecutive.as_ref().unwrap();
        let mut seconds = 0;
        for (s, line) in lines.enumerate() {
            let expected: Vec<u64> = line.split(',').map(|n| n.parse().unwrap()).collect();
            let actual = [
                s as u64,
                a.series.per_second.reads[s] + a.series.per_second.writes[s],
                a.series.turns.turns[s],
                one.sets.start[s],
                one.sets.touched[s],
                one.sum_dist[s],
                sets[1].sliding.start[s],
                sets[1].sliding.touched[s],
                sets[2].sliding.start[s],
                sets[2].sliding.touched[s],
                sets[4].sliding.start[s],
                sets[4].sliding.touched[s],
                sets[4].sliding.pages[s],
            ];
            assert_eq!(actual, expected[..], "{}, second {s}", load.name);
            seconds += 1;
        }
        assert_eq!(seconds, sets[4].sliding.pages.len());
    }
}

/// The original's window "060" is one of 48 s: awk takes the leading zero for octal.
#[test]
fn window_060_means_sixty_seconds() {
    let quiet = &OWN[2];
    let window: u64 = "060".parse().unwrap();
    let options = DemandOptions { windows_s: vec![window], ..DemandOptions::default() };
    let a = analysis(&quiet.requests(), &options);
    // The last request is due at 3465 s.
    assert_eq!(a.facts.working_sets[0].consecutive.unwrap().start.count, 58);
}
