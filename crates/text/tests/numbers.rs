//! Numbers as people see them. The report page prints the same: `web/src/render/units.test.ts` compares its own functions with the file
//! that this test keeps. `BLESS=1` writes it again.

use iosonar_text::units::{Charset, byte_rate, bytes, duration, grouped, number, share};
use serde_json::{Value, json};
use std::path::Path;

/// Whole numbers around each power of ten and of two, and some between.
fn whole() -> Vec<u64> {
    let tens = (0..16).flat_map(|power| {
        let ten = 10u64.pow(power);
        [ten, ten * 999 / 1000, ten + ten / 8, ten * 2 - ten / 16, ten * 5 + ten / 3, ten * 9996 / 1000]
    });
    let twos =
        (10..52).flat_map(|power| [(1u64 << power) - 1, 1 << power, (1 << power) + (1 << (power - 3))]);
    let mut all: Vec<u64> = std::iter::once(0).chain(tens).chain(twos).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A table with a row on each line: the value, and its texts.
fn table<T: Copy>(name: &str, values: &[T], row: impl Fn(T) -> Value) -> String {
    let rows: Vec<String> = values.iter().map(|value| row(*value).to_string()).collect();
    format!("\"{name}\": [\n{}\n]", rows.join(",\n"))
}

#[test]
fn page_formats_numbers_like_text() {
    let whole = whole();
    let real: Vec<f64> = whole.iter().map(|n| *n as f64 / 1000.0).collect();
    let parts =
        [0, 1, 3, 9, 10, 125, 1000, 1234, 5000, 33_333, 50_000, 87_500, 99_949, 99_951, 99_999, 100_000];
    let parts: Vec<u64> = parts.into_iter().chain((1..20).map(|n| n * 4321)).collect();
    let tables = [
        table("whole", &whole, |n| json!([n, duration(n, Charset::Unicode), bytes(n), grouped(n)])),
        table("real", &real, |n| json!([n, byte_rate(n), number(n)])),
        table("share", &parts, |n| json!([n as f64 / 100_000.0, share(n, 100_000)])),
    ];
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/numbers.json");
    let text = format!("{{\n{}\n}}\n", tables.join(",\n"));
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), text, "BLESS=1 writes it again");
}
