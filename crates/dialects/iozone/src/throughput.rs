//! Figures of several streams, as IOzone's throughput mode prints them.

use crate::columns::{Column, Unit};
use crate::report::cpu_percent;
use crate::settings::Settings;
use crate::text::kib;
use iosonar_cells::{CellResult, Matrix, StreamResult, Table, Test, Transfer};
use iosonar_plan::ByteSize;
use std::fmt::Write;

/// Formats one block for each number of streams, pair of sizes, and test.
pub fn throughput(settings: &Settings, matrix: &Matrix, table: &Table) -> String {
    let mut text = String::new();
    for unit in matrix.units() {
        let (streams, file, record) = (unit.streams, unit.pair.file, unit.pair.record);
        let who = settings.stream_word();
        let many = if who == "process" { "processes" } else { "threads" };
        let _ = writeln!(text, "\n\tThroughput test with {streams} {many}");
        let _ = writeln!(
            text,
            "\tEach {who} writes a {} kByte file in {} kByte records",
            kib(file.0),
            kib(record.0)
        );
        for test in &matrix.tests {
            if let Some(result) = table.find(test.name, file, record, streams) {
                text += &format!("\n{}", block(settings, test, result));
            }
        }
    }
    text
}

/// Rate of a stream, in the unit of the figures.
fn stream_rate(unit: Unit, result: &CellResult, stream: &StreamResult) -> f64 {
    match unit {
        Unit::KibPerSecond => stream.bytes_per_second / 1024.0,
        _ => stream.bytes_per_second / (result.bytes as f64 / result.ops.max(1) as f64),
    }
}

fn block(settings: &Settings, test: &Test, result: &CellResult) -> String {
    let (unit, who) = (settings.unit(), Column::of(test.name).map_or(test.name, |column| column.streams));
    let (short, streams) = (unit.short(), result.streams);
    let rates: Vec<f64> = result.per_stream.iter().map(|stream| stream_rate(unit, result, stream)).collect();
    let least = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let sum: f64 = rates.iter().sum();
    let mut text = String::new();
    let mut line = |label: &str, value: f64, unit: &str| {
        let _ = writeln!(text, "\t{label:<47}= {value:>11.2} {unit}");
    };
    line(&format!("Children see throughput for {streams:>2} {who}"), sum, short);
    line(&format!("Parent sees throughput for {streams:>2} {who}"), parent(unit, result), short);
    let one = settings.stream_word();
    line(&format!("Min throughput per {one}"), least, short);
    line(&format!("Max throughput per {one}"), most, short);
    line(&format!("Avg throughput per {one}"), sum / f64::from(streams.max(1)), short);
    let fewest = result.per_stream.iter().map(|stream| stream.bytes).min().unwrap_or(0);
    line("Min xfer", fewest as f64 / 1024.0, "kB");
    if settings.cpu {
        line(&format!("CPU utilization per {one}"), cpu_percent(result) as f64, "%");
    }
    if test.transfer == Transfer::Mix {
        let of = |reads: bool| -> f64 {
            let streams = result.per_stream.iter().zip(&rates);
            streams.filter(|(stream, _)| (stream.read_bytes > 0) == reads).map(|(_, rate)| rate).sum()
        };
        line("Readers of the mix", of(true), short);
        line("Writers of the mix", of(false), short);
    }
    if settings.per_stream {
        for (number, (stream, rate)) in result.per_stream.iter().zip(&rates).enumerate() {
            let _ = writeln!(
                text,
                "\tChild[{number}] xfer count = {:>10.2} kB, Throughput = {rate:>11.2} {short}",
                stream.bytes as f64 / 1024.0
            );
        }
    }
    text
}

/// Rate of the children's work over the time in which the parent waits for them: from the first submission of any
/// stream until the last one has flushed and closed its file. No stream's time is longer, so this never exceeds the sum
/// of their rates.
fn parent(unit: Unit, result: &CellResult) -> f64 {
    let waited = result.whole_ns.max(result.elapsed_ns).max(1);
    let rate = result.bytes as f64 * 1e9 / waited as f64;
    match unit {
        Unit::KibPerSecond => rate / 1024.0,
        _ => rate / (result.bytes as f64 / result.ops.max(1) as f64),
    }
}

/// Report of throughput mode (`-R`): a line for each test, a figure for each number of streams.
pub fn throughput_report(settings: &Settings, matrix: &Matrix, table: &Table) -> String {
    let mut text = String::new();
    for pair in &matrix.pairs {
        let _ = writeln!(text, "\n\"Throughput report Y-axis is type of test X-axis is number of threads\"");
        let _ = writeln!(text, "\"File size = {} kBytes\"", kib(pair.file.0));
        let _ = writeln!(text, "\"Record size = {} kBytes\"", kib(pair.record.0));
        let _ = writeln!(text, "\"Output is in {}\"\n", settings.unit().name());
        for test in &matrix.tests {
            let label = Column::of(test.name).map_or(test.name, |column| column.line);
            let _ = write!(text, "\"{label:>15} \"");
            for streams in &matrix.streams {
                let _ = match figure(settings, table, test.name, pair.file, pair.record, *streams) {
                    Some(figure) => write!(text, " {figure:>11.2}"),
                    None => write!(text, " {:>11}", "\"\""),
                };
            }
            text.push('\n');
        }
    }
    text
}

fn figure(
    settings: &Settings,
    table: &Table,
    test: &str,
    file: ByteSize,
    record: ByteSize,
    streams: u32,
) -> Option<f64> {
    table.find(test, file, record, streams).map(|result| settings.unit().value(result))
}
