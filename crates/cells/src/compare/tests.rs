//! Comparisons of tables with a known truth.

use super::*;
use crate::{Verdict, comparison_csv, comparison_text};
use iosonar_testkit::SplitMix;

/// Random numbers by their distribution.
struct Random(SplitMix);

impl Random {
    /// Between 0 and 1, never 0.
    fn uniform(&mut self) -> f64 {
        ((self.0.next() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn result(test: &str, record_kib: u64, repeat: u32, mib_per_second: f64) -> CellResult {
    CellResult {
        test: test.into(),
        file_bytes: 64 << 20,
        record_bytes: record_kib << 10,
        streams: 1,
        method: "sync".into(),
        repeat,
        bytes_per_second: mib_per_second * 1048576.0,
        ..CellResult::default()
    }
}

fn table(results: Vec<CellResult>) -> Table {
    Table { results, ..Table::empty("iosonar", "matrix") }
}

/// Rates around 100 MiB/s times `factor`, of 6 tests with 10 records each; `spread` maps a cell's number to its spread.
fn noisy(repeats: u32, factor: f64, seed: u64, spread: impl Fn(usize) -> f64) -> Table {
    let mut random = Random(SplitMix(seed));
    let tests = ["write", "rewrite", "read", "reread", "random_read", "random_write"];
    let mut results = Vec::new();
    for repeat in 0..repeats {
        for cell in 0..60 {
            let rate = 100.0 * factor * (spread(cell) * random.normal()).exp();
            results.push(result(tests[cell / 10], 1 << (cell % 10), repeat, rate));
        }
    }
    table(results)
}

fn compared(a: &Table, b: &Table) -> MatrixComparison {
    compare_tables(("a.json", a), ("b.json", b))
}

fn is_alarm(comparison: &MatrixComparison) -> bool {
    let cells = comparison.cells.iter().map(|row| &row.change);
    cells.chain(comparison.tests.iter().map(|row| &row.change)).any(|change| change.verdict.is_shown())
}

/// Share of comparisons of the same process that raise any alarm. Spreads are 1 % to 10 %, and those of the two sides
/// differ by a factor of up to `unlike`.
fn alarms(comparisons: u64, unlike: f64, repeats: impl Fn(u64) -> (u32, u32)) -> f64 {
    let (mut alarms, mut critical) = (0, Critical::default());
    for seed in 0..comparisons {
        let mut random = Random(SplitMix(seed ^ 0x5eed));
        let spreads: Vec<(f64, f64)> = (0..60)
            .map(|_| {
                let spread = 0.01 * 10f64.powf(random.uniform());
                (spread, spread * unlike.powf(2.0 * random.uniform() - 1.0))
            })
            .collect();
        let (n_a, n_b) = repeats(seed);
        let a = noisy(n_a, 1.0, seed * 2 + 1_000_000, |cell| spreads[cell].0);
        let b = noisy(n_b, 1.0, seed * 2 + 1_000_001, |cell| spreads[cell].1);
        alarms += u64::from(is_alarm(&compare_with(("a", &a), ("b", &b), &mut critical)));
    }
    alarms as f64 / comparisons as f64
}

#[test]
fn equal_distributions_raise_few_alarms() {
    let (three_to_five, comparisons) = (|seed: u64| (3 + (seed % 3) as u32, 3 + (seed / 3 % 3) as u32), 450);
    for unlike in [1.0, 3.0, 10.0] {
        let share = alarms(comparisons, unlike, three_to_five);
        assert!(share <= 0.05, "{unlike}: {share}");
    }
}

#[test]
#[ignore = "a table for people who change the method"]
fn prints_false_alarm_rate_by_repetitions() {
    for unlike in [1.0, 3.0, 10.0] {
        for repeats in [(2, 2), (3, 3), (3, 5), (5, 5), (10, 10)] {
            println!("{unlike} {repeats:?}: {}", alarms(1000, unlike, |_| repeats));
        }
    }
}

#[test]
fn a_real_change_is_found() {
    for seed in 0..50 {
        let (a, b) = (noisy(3, 1.0, seed * 2, |_| 0.02), noisy(3, 0.7, seed * 2 + 1, |_| 0.02));
        let comparison = compared(&a, &b);
        assert!(comparison.tests.iter().all(|row| row.change.verdict == Verdict::Slower), "{comparison:?}");
        let slower = |n: u32| {
            let (a, b) = (noisy(n, 1.0, seed * 2, |_| 0.02), noisy(n, 0.7, seed * 2 + 1, |_| 0.02));
            compared(&a, &b).cells.iter().filter(|row| row.change.verdict == Verdict::Slower).count()
        };
        if seed == 0 {
            assert!(slower(5) >= 57, "{}", slower(5));
        }
        let row = &comparison.tests[0].change;
        assert!(row.low_percent.unwrap() < -30.0 && row.high_percent.unwrap() < -15.0, "{row:?}");
        assert_eq!(MatrixCondition::parse("any < -15%").unwrap().judge(&comparison), Judgement::Failed);
        assert_eq!(MatrixCondition::parse("read < -60%").unwrap().judge(&comparison), Judgement::Holds);
        assert_eq!(MatrixCondition::parse("fread < -60%").unwrap().judge(&comparison), Judgement::Unknown);
    }
}

#[test]
fn a_table_is_equal_to_itself() {
    for repeats in [1, 2, 3] {
        let a = noisy(repeats, 1.0, 7, |_| 0.05);
        let comparison = compared(&a, &a);
        assert!(comparison.cells.iter().all(|row| row.change.change_percent == 0.0));
        assert!(comparison.tests.iter().all(|row| row.change.change_percent == 0.0));
        assert!(!is_alarm(&comparison) && comparison.only_in_a.is_empty() && comparison.only_in_b.is_empty());
        let wanted = match repeats {
            1 => "cannot be told: both need 2 repetitions or more; give --repeat 3 (all figures are equal)",
            _ => "no difference shown in 60 cells",
        };
        assert_eq!(comparison.answer, wanted);
    }
}

#[test]
fn one_and_a_half_times_is_50_percent() {
    for (repeats, spread, verdict) in
        [(1, 0.05, Verdict::CannotBeTold), (2, 0.0, Verdict::Faster), (3, 0.0, Verdict::Faster)]
    {
        let a = noisy(repeats, 1.0, 7, |_| spread);
        let b = noisy(repeats, 1.5, 7, |_| spread);
        let comparison = compared(&a, &b);
        for row in &comparison.cells {
            assert!((row.change.change_percent - 50.0).abs() < 1e-6, "{row:?}");
            assert_eq!(row.change.verdict, verdict);
        }
    }
}

#[test]
fn reports_missing_cells_and_repetitions() {
    let a = noisy(3, 1.0, 1, |_| 0.01);
    let mut b = noisy(3, 1.0, 2, |_| 0.01);
    // One repetition lacks a cell, and one cell is missing everywhere.
    b.results.remove(0);
    b.results.retain(|r| (r.test.as_str(), r.record_bytes) != ("read", 2048));
    b.results.push(result("fread", 4, 0, 3.0));
    b.results.push(result("fread", 8, 0, 0.0));
    let comparison = compared(&a, &b);
    assert_eq!(
        comparison.only_in_a.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["read 64MiB/2KiB sync"]
    );
    assert_eq!(comparison.only_in_b.len(), 1);
    let row = |test: &str| comparison.tests.iter().find(|row| row.test == test).unwrap();
    assert_eq!((row("write").change.n_a, row("write").change.n_b), (3, 2));
    assert_eq!((row("read").cells, row("read").change.n_b), (9, 3));
    let text = comparison_text(&comparison);
    assert!(
        text.contains("Only in A (1): read 64MiB/2KiB sync") && text.contains("Only in B (1): fread"),
        "{text}"
    );
    let csv = comparison_csv(std::slice::from_ref(&comparison), Default::default());
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == 15), "{csv}");
    assert_eq!(csv.lines().count(), 1 + 6 + 59 + 2);
}

#[test]
fn cells_without_method_match_the_only_equivalent() {
    let with = |method: &str| {
        let mut table = noisy(2, 1.0, 3, |_| 0.01);
        table.results.iter_mut().for_each(|result| result.method = method.into());
        table
    };
    let (none, sync, uring) = (with(""), with("sync"), with("uring"));
    for (a, b) in [(&none, &sync), (&sync, &none)] {
        let comparison = compared(a, b);
        assert_eq!((comparison.cells.len(), comparison.cells[0].key.method.as_str()), (60, "sync"));
    }
    let both = table([sync.results.clone(), uring.results.clone()].concat());
    assert_eq!(compared(&none, &both).cells.len(), 0);
    assert_eq!(
        compared(&sync, &uring).answer,
        "cannot be told: no cell is in both tables; methods of A are sync, those of B are uring"
    );
    assert_eq!(compared(&sync, &both).only_in_b.len(), 60);
}

#[test]
fn text_contains_answer_and_differing_cells() {
    let a = noisy(5, 1.0, 11, |_| 0.01);
    let mut b = noisy(5, 1.0, 12, |_| 0.01);
    for result in b.results.iter_mut().filter(|r| r.test == "read" && r.record_bytes <= 4096) {
        result.bytes_per_second *= 0.5;
    }
    b.tool = "evil\u{1b}[2J".into();
    let comparison = compared(&a, &b);
    let answer = &comparison.answer;
    assert!(answer.starts_with("B is slower in 3 of 60 cells and faster in none; read: -18."), "{answer}");
    let text = comparison_text(&comparison);
    assert!(text.starts_with("A: a.json, 60 cells, iosonar\n   matrix\nB: b.json"), "{text}");
    assert!(text.contains("57 of 60 cells show no difference.") && !text.contains('\u{1b}'), "{text}");
    assert_eq!(text.matches("  slower").count(), 4, "{text}");
    let json: serde_json::Value =
        serde_json::from_str(&comparison.to_json(&[MatrixCondition::parse("read<-5%").unwrap()])).unwrap();
    assert_eq!((&json["version"], &json["conditions"][0]["result"]), (&1.into(), &"failed".into()));
    assert_eq!(json["cells"][0]["verdict"], "no-difference-shown");
    assert_eq!(json["cells"][0]["test"], "write");
}
