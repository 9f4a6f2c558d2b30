//! Stories of made tables.

use super::{MatrixFacts, matrix_story};
use iosonar_analyze::Statement;
use iosonar_cells::{CellResult, Machine, Matrix, Pair, Table, TableState, Test};
use iosonar_plan::{ByteSize, Engine};

const GIB: u64 = 1 << 30;
const COMMAND: &str = "./iosonar matrix test.tmp --sizes 1g,2g -o m";

fn matrix() -> Matrix {
    let tests = ["write", "read"].map(|name| Test::named(name).unwrap());
    let pair = |file| Pair { file: ByteSize(file), record: ByteSize(1 << 20) };
    Matrix {
        cold: true,
        repeat: 3,
        ..Matrix::new(vec!["test.tmp".into()], tests.into(), vec![pair(GIB), pair(2 * GIB)], 1)
    }
}

/// Three repetitions of a cell, by 10 % around its rate.
fn cell(test: &str, file_bytes: u64, rate: f64) -> Vec<CellResult> {
    let result = |(repeat, factor): (u32, f64)| CellResult {
        test: test.into(),
        file_bytes,
        record_bytes: 1 << 20,
        streams: 1,
        method: "sync".into(),
        repeat,
        ops: 1024,
        bytes_per_second: rate * factor,
        fsync_timed: true,
        ..CellResult::default()
    };
    [(0, 1.0), (1, 1.1), (2, 0.9)].map(result).into()
}

fn table(cells: &[(&str, u64, f64)]) -> Table {
    let results = cells.iter().flat_map(|(test, file, rate)| cell(test, *file, *rate)).collect();
    let machine = Machine { memory_bytes: Some(16 * GIB), ..Machine::default() };
    Table { results, machine, state: Some(TableState::Complete), ..Table::empty("iosonar", COMMAND) }
}

fn story_of(table: &Table, matrix: &Matrix) -> Statement {
    let story = matrix_story(&MatrixFacts { table, matrix, dir: "m" });
    assert!(story.headline.chars().count() <= 90 && story.because.len() <= 2, "{story:#?}");
    let json: serde_json::Value = serde_json::from_str(&table.to_json()).unwrap();
    for path in story.because.iter().flat_map(|reason| &reason.evidence) {
        assert!(json.pointer(&format!("/{}", path.replace('.', "/"))).is_some(), "{path}: {story:#?}");
    }
    story
}

const CELLS: [(&str, u64, f64); 3] = [("write", GIB, 1e8), ("read", GIB, 2e9), ("read", 2 * GIB, 2.1e9)];

#[test]
fn fastest_and_slowest_cell_have_their_noise() {
    let story = story_of(&table(&CELLS), &matrix());
    assert_eq!(story.headline, "From 100 MB/s (write, 1 GiB by 1 MiB) to 2.10 GB/s (read, 2 GiB by 1 MiB).");
    let because = &story.because[0];
    assert!(
        because.text.starts_with("Slowest write, 1 GiB by 1 MiB: 100 MB/s (90.0 MB/s to 110 MB/s);"),
        "{story:#?}"
    );
    assert!(because.text.contains("; 21 times as fast (95 %: "), "{story:#?}");
    assert_eq!(because.evidence, ["results.0.bytes_per_second", "results.6.bytes_per_second"]);
    assert!(story.worth.unwrap().starts_with("95 % intervals of the means: "));
    assert_eq!(story.remedy, None);
}

#[test]
fn noise_that_exceeds_the_difference_is_stated() {
    let story = story_of(&table(&[("write", GIB, 1e9), ("read", GIB, 1.02e9)]), &matrix());
    assert_eq!(story.headline, "No difference between the cells is shown: they vary more than they differ.");
    assert!(story.because[0].text.contains("; 1.0 times as fast (95 %: 0."), "{story:#?}");
    let command = "iosonar matrix test.tmp --sizes 1g,2g -o m-repeat12 --repeat 12";
    assert_eq!(story.remedy.as_deref(), Some(command));
}

#[test]
fn cells_that_were_measured_once_have_unknown_noise() {
    let mut once = table(&CELLS);
    once.results.retain(|result| result.repeat == 0);
    let story = story_of(&once, &Matrix { repeat: 1, ..matrix() });
    assert!(story.headline.starts_with("From 100 MB/s "), "{story:#?}");
    assert!(story.because[0].text.starts_with("No cell was measured twice"), "{story:#?}");
    assert_eq!(story.worth.as_deref(), Some("each cell was measured once: its noise is not known"));
    assert!(story.remedy.unwrap().ends_with("--repeat 4"));
}

#[test]
fn figures_of_memory_are_named_first() {
    let warm = Matrix { cold: false, ..matrix() };
    let reads = table(&CELLS[1..]);
    let story = story_of(&reads, &warm);
    assert_eq!(story.headline, "These are speeds of memory: every file fits into the page cache.");
    assert!(
        story.because[0].text.starts_with("6 of 6 cells read files that fit into memory (16GiB)"),
        "{story:#?}"
    );
    assert_eq!(story.because[0].evidence, ["machine.memory_bytes", "results.5.file_bytes"]);
    let command = "iosonar matrix test.tmp --sizes 1g,2g -o m-direct --direct";
    assert_eq!(story.remedy.as_deref(), Some(command));
    // Writes with a flush are not.
    let story = story_of(&table(&CELLS), &warm);
    assert_eq!(story.headline, "6 of 9 cells are speeds of memory: their files fit into the page cache.");
    // Evicted files are not.
    assert!(story_of(&reads, &matrix()).headline.starts_with("No difference"));
}

/// Each remedy is a command that is not refused.
#[test]
fn methods_without_direct_io_are_measured_cold() {
    let warm = Matrix { cold: false, ..matrix() };
    let mmap = Matrix { methods: vec![Engine::Mmap(Default::default())], ..warm.clone() };
    let cold = "iosonar matrix test.tmp --sizes 1g,2g -o m-cold --cache cold --include-flush";
    assert_eq!(story_of(&table(&CELLS), &mmap).remedy.as_deref(), Some(cold));
    let small = Pair { file: ByteSize(GIB), record: ByteSize(512) };
    let small = Matrix { pairs: vec![small], ..warm.clone() };
    assert_eq!(story_of(&table(&CELLS), &small).remedy.as_deref(), Some(cold));
    // The files would be in the way.
    let kept = Matrix { keep: true, ..warm };
    assert!(story_of(&table(&CELLS), &kept).remedy.unwrap().starts_with("for the device: --direct"));
}

#[test]
fn few_requests_allow_no_statement() {
    let few = |ops: u64| {
        let mut table = table(&CELLS);
        table.results.iter_mut().for_each(|result| result.ops = ops);
        story_of(&table, &matrix()).headline
    };
    assert_eq!(few(1), "9 requests: enough to see that it works, not how fast it is.");
    assert_eq!(few(9), "No two cells have enough requests to compare them.");
    let story = story_of(&Table::empty("iosonar", COMMAND), &matrix());
    assert_eq!(story.headline, "Nothing was measured: no cell has a figure.");
}

#[test]
fn missing_cells_failures_and_fakes_come_first() {
    let missing = Table { missing_cells: 3, state: Some(TableState::Interrupted), ..table(&CELLS) };
    let story = story_of(&missing, &matrix());
    assert!(story.headline.starts_with("From "), "{story:#?}");
    assert_eq!(story.because[0].text, "3 of 12 cells are missing.");
    assert_eq!(story.remedy.as_deref(), Some("iosonar matrix --resume m"));
    let errors = vec!["write, file 1GiB: No space left on device.".to_string()];
    let story = story_of(&Table { errors: errors.clone(), ..missing }, &matrix());
    assert_eq!(story.headline, "3 cells have no figure: write, file 1GiB: No space left on device.");
    let story = story_of(&Table { errors, ..table(&CELLS) }, &matrix());
    assert_eq!(story.headline, "Write, file 1GiB: No space left on device.");
    let fake = Some("FAKE as a device result: page-cache-in-path".to_string());
    let story = story_of(&Table { fake, ..table(&CELLS) }, &matrix());
    assert_eq!(story.headline, "FAKE as a device result: page-cache-in-path.");
}

#[test]
fn cells_of_few_requests_are_counted() {
    let mut table = table(&CELLS);
    table.results.iter_mut().filter(|result| result.file_bytes == 2 * GIB).for_each(|result| result.ops = 4);
    let worth = story_of(&table, &matrix()).worth.unwrap();
    assert!(worth.ends_with("; a cell of fewer than 30 requests is not compared"), "{worth}");
}
