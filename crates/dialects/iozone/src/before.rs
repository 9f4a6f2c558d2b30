//! A matrix in words, before it is measured.

use iosonar_cells::{Matrix, Telemetry};

/// Lists the cells of the matrix, a line for each pair of sizes.
pub fn cells(matrix: &Matrix) -> String {
    let tests: Vec<&str> = matrix.tests.iter().map(|test| test.name).collect();
    let mut text = String::from("streams  file kB  record kB  tests\n");
    for unit in matrix.units() {
        let (file, record) = (unit.pair.file.0 >> 10, unit.pair.record.0 >> 10);
        text += &format!("{:>7}  {file:>7}  {record:>9}  {}\n", unit.streams, tests.join(" "));
    }
    let units = matrix.units().len();
    text + &format!("{units} pairs of sizes, {} cells\n", units * tests.len())
}

/// Facts about a matrix that its figures depend on: files that records do not fill, strides that read sequentially.
pub fn notices(matrix: &Matrix) -> Vec<String> {
    let is_listed = matrix.telemetry != Telemetry::default();
    let cut = matrix.pairs.iter().filter(|pair| !is_listed && pair.bytes() != pair.file);
    let cut = cut.map(|pair| {
        let (file, bytes) = (pair.file, pair.bytes());
        format!(
            "a file of {file} holds no whole number of records of {}: {bytes} of it are used",
            pair.record
        )
    });
    let strides = matrix.tests.iter().any(|test| test.name == "stride_read");
    let short = matrix.pairs.iter().filter(|pair| pair.records() <= matrix.stride.into()).count();
    let short = (strides && short > 0).then(|| {
        let stride = matrix.stride;
        format!("stride read: {short} files have {stride} records or fewer, so a stride of {stride} reads them sequentially")
    });
    let mut all: Vec<String> = cut.chain(short).collect();
    all.dedup();
    all
}
