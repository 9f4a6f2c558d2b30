//! Comparisons of tables with a known truth.

use super::*;
use crate::{comparison_csv, comparison_text};

/// SplitMix64 and the polar form of Box and Muller: the same numbers every time.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

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
    Table { version: 1, tool: "iosonar".into(), command: "matrix".into(), results }
}

/// Rates around 100 MiB/s times `factor`, of 6 tests with 10 records each; `spread` of a cell by its number.
fn noisy(repeats: u32, factor: f64, seed: u64, spread: impl Fn(usize) -> f64) -> Table {
    let mut random = Random(seed);
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

/// Share of comparisons of the same process that raise any alarm. Spreads are 1 % to 10 %, and those of the two sides differ by up
/// to `unlike` either way.
fn alarms(comparisons: u64, unlike: f64, repeats: fn(u64) -> (u32, u32)) -> f64 {
    let mut alarms = 0;
    for seed in 0..comparisons {
        let mut random = Random(seed ^ 0x5eed);
        let spreads: Vec<(f64, f64)> = (0..60)
            .map(|_| {
                let spread = 0.01 * 10f64.powf(random.uniform());
                (spread, spread * unlike.powf(2.0 * random.uniform() - 1.0))
            })
            .collect();
        let (n_a, n_b) = repeats(seed);
        let a = noisy(n_a, 1.0, seed * 2 + 1_000_000, |cell| spreads[cell].0);
        let b = noisy(n_b, 1.0, seed * 2 + 1_000_001, |cell| spreads[cell].1);
        alarms += u64::from(is_alarm(&compared(&a, &b)));
    }
    alarms as f64 / comparisons as f64
}

#[test]
#[ignore = "takes a minute"]
fn false_alarms_by_repetitions() {
    for unlike in [1.0, 3.0, 10.0] {
        for (n, repeats) in [
            ("2 2", (|_| (2, 2)) as fn(u64) -> (u32, u32)),
            ("3 3", |_| (3, 3)),
            ("3 5", |_| (3, 5)),
            ("5 5", |_| (5, 5)),
            ("10 10", |_| (10, 10)),
        ] {
            println!("{unlike} {n}: {}", alarms(1000, unlike, repeats));
        }
    }
}
