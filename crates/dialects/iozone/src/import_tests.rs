//! Import of texts by IOzone and by iosonar.

use super::*;
use crate::text::tests::{matrix, settings, table};
use crate::{banner, text_report, text_table, throughput};
use iosonar_cells::{Matrix, StreamResult, compare_tables};
use proptest::prelude::*;

const SAMPLE: &str = "\tCommand line used: iozone -azR -i 0 -i 1 -i 2 -n 1M -g 10M -r 64K
\tOutput is in kBytes/sec
\tTime Resolution = 0.000001 seconds.
\tFile stride size set to 17 * record size.
                                                              random    random     bkwd    record    stride
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread
            1024      64   327041  4805258 13998981 20088179 23240448 21388672
            2048      64   577870 14840791 11320334 15766969 23041317 14441580

iozone test complete.
";

/// The figures as test, sizes in KiB, repetition and rate.
fn figures(text: &str) -> Vec<(String, u64, u64, u32, u64)> {
    let table = import(text).unwrap().table;
    let results = table.results.into_iter();
    results.map(|r| (r.test, r.file_bytes >> 10, r.record_bytes >> 10, r.repeat, r.kib_per_second)).collect()
}

#[test]
fn imports_iozone_table() {
    let imported = import(SAMPLE).unwrap();
    assert_eq!(imported.notes, [""; 0]);
    let table = &imported.table;
    assert_eq!(table.tool, "IOzone (imported)");
    assert_eq!(table.command, "iozone -azR -i 0 -i 1 -i 2 -n 1M -g 10M -r 64K");
    assert_eq!(table.results.len(), 12);
    let last = &table.results[11];
    assert_eq!((last.test.as_str(), last.kib_per_second, last.streams), ("random_write", 14_441_580, 1));
    assert_eq!((last.bytes_per_second, last.method.as_str()), (14_441_580.0 * 1024.0, ""));
    let old = SAMPLE.replace("kB  reclen", "KB  reclen").replace("kBytes/sec", "Kbytes/sec");
    assert_eq!(import(&old).unwrap(), imported);
    assert_eq!(import(&SAMPLE.replace('\n', "\r\n")).unwrap(), imported);
}

#[test]
fn imports_row_with_all_tests() {
    let line = "              64       4   121639   190947   184516   180788   179819   192178   176392    188269    180181   503814   743988  1163036  1255511\n";
    let text = SAMPLE.replace("iozone test complete.\n", "") + line;
    let found = figures(&text);
    let names: Vec<&str> = found[12..].iter().map(|f| f.0.as_str()).collect();
    let wanted: Vec<&str> = columns(|_| false).iter().map(|column| column.test).collect();
    assert_eq!(names, wanted);
    assert_eq!(found[19], ("record_rewrite".into(), 64, 4, 0, 188_269));
    assert_eq!(found[24].4, 1_255_511);
}

#[test]
fn repeated_cell_counts_as_next_repetition() {
    let found = figures(&format!("{SAMPLE}{SAMPLE}"));
    assert_eq!(found.len(), 24);
    assert!(found[..12].iter().all(|f| f.3 == 0) && found[12..].iter().all(|f| f.3 == 1));
    let other = SAMPLE.replace("-g 10M", "-g 20M");
    let notes = import(&format!("{SAMPLE}{other}")).unwrap().notes;
    assert!(notes.len() == 1 && notes[0].starts_with("line 11: another command"), "{notes:?}");
    // Results of IOzone have no method, and match those that have one.
    let a = import(SAMPLE).unwrap().table;
    let mut b = a.clone();
    b.results.iter_mut().for_each(|result| result.method = "sync".into());
    assert_eq!(compare_tables(("a", &a), ("b", &b)).cells.len(), 12);
}

#[test]
fn imports_iozone_reports() {
    let report = "Excel output is below:\n\n\"Writer report\"\n        \"4\"  \"8\"  \"16\"\n\"16384\"   854849  3363522  385151\n\
                  \"32768\"   0  221981\n\n\"Re-writer report\"\n        \"4\"  \"8\"  \"16\"\n\"16384\"   1  2  3\n";
    let found = figures(report);
    assert_eq!(found.len(), 7);
    assert_eq!(found[3], ("write".into(), 32_768, 8, 0, 221_981));
    assert_eq!(found[6], ("rewrite".into(), 16_384, 16, 0, 3));
    assert!(import(report).unwrap().notes[0].starts_with("1 figures of 0"));
    // If an output has both, the table counts.
    let both = import(&format!("{SAMPLE}{report}")).unwrap();
    assert_eq!(both.table.results.len(), 12);
    assert!(both.notes[0].contains("the table has their figures"), "{:?}", both.notes);
    let shifted =
        "\tCommand line used: iozone -E -R -i 0 -i 9\n".to_string() + &report.replace("Re-writer", "Pwrite");
    let imported = import(&shifted).unwrap();
    assert!(imported.table.results.iter().all(|r| r.test == "write"));
    assert!(imported.notes[0].contains("figures of another test"), "{:?}", imported.notes);
}

#[test]
fn imports_iozone_throughput() {
    let text = "\tThroughput test with 2 processes
\tEach process writes a 8192 kByte file in 64 kByte records

\tChildren see throughput for  2 initial writers \t=  297794.00 kB/sec
\tParent sees throughput for  2 initial writers \t=  225248.12 kB/sec
\tMin throughput per process \t\t\t=  141492.53 kB/sec
\tChild[0] xfer count =    7872.00 kB, Throughput =  156301.47 kB/sec
\tChildren see throughput for  2 mixed workload \t=  1.50 kB/sec
\tChildren see throughput for  2 dancers \t=  1.50 kB/sec
\"Throughput report Y-axis is type of test X-axis is number of threads\"
\"Record size = 64 kBytes \"
\"Output is in kBytes/sec\"

\"  Initial write \" 2765680.50  4982841.50
";
    for text in [text.to_string(), text.replace("kB/sec", "KB/sec").replace("kByte ", "Kbyte ")] {
        let imported = import(&text).unwrap();
        let first = &imported.table.results[0];
        assert_eq!((first.test.as_str(), first.streams, first.kib_per_second), ("write", 2, 297_794));
        assert_eq!((first.file_bytes, first.record_bytes), (8 << 20, 64 << 10));
        assert_eq!(imported.table.results.len(), 2);
        assert_eq!(imported.notes[0], "line 9: cannot be read, ignored");
        assert!(imported.notes[1].starts_with("throughput reports are ignored"));
    }
    let ops = import(&text.replace("kB/sec", "ops/sec")).unwrap();
    let first = &ops.table.results[0];
    assert_eq!((first.ops_per_second, first.bytes_per_second), (297_794.0, 297_794.0 * 65_536.0));
    let other = text.replace("kB/sec", "MB/sec");
    assert_eq!(import(&other), Err(ImportError::Unit(4, "MB/sec".into())));
}

#[test]
fn figures_keep_their_unit() {
    let wanted = |per_second: f64| (per_second, (per_second / 1024.0) as u64);
    for (unit, rate, note) in [
        ("operations per second.", 327_041.0 * 65_536.0, "operations per second (-O)"),
        ("ops/sec, of the clock", 327_041.0 * 65_536.0, "operations per second (-O)"),
        ("microseconds per operation.", 65_536e6 / 327_041.0, "microseconds per operation (-N)"),
    ] {
        let imported = import(&SAMPLE.replace("kBytes/sec", unit)).unwrap();
        let first = &imported.table.results[0];
        let found = (first.bytes_per_second, first.kib_per_second);
        assert!((found.0 / rate - 1.0).abs() < 1e-12 && found.1 == wanted(rate).1, "{unit}: {first:?}");
        assert!(imported.notes.iter().any(|found| found.contains(note)), "{:?}", imported.notes);
    }
    // The command sets the unit, too, and the next output has its own unit.
    let by_command = SAMPLE.replace("-azR", "-azR -O");
    let both = import(&format!("{by_command}{SAMPLE}")).unwrap().table.results;
    assert_eq!((both[0].ops_per_second, both[12].ops_per_second), (327_041.0, 0.0));
    assert_eq!(both[12].kib_per_second, 327_041);
    // A banner of -O precedes its command.
    let banner = format!("\tOPS Mode. Output is in operations per second.\n{SAMPLE}");
    assert_eq!(import(&banner).unwrap().table.results[0].ops_per_second, 327_041.0);
}

#[test]
fn rejects_other_units_and_files() {
    let error = import(&SAMPLE.replace("kBytes/sec", "furlongs")).unwrap_err();
    assert_eq!(error, ImportError::Unit(2, "furlongs".into()));
    for text in ["", "hello\n", "              kB  reclen    write  rewrite    read\n"] {
        assert_eq!(import(text), Err(ImportError::NoTable));
    }
    let one = "              kB  reclen    write  rewrite    read\n            1024      64  12x4\n";
    let error = import(one).unwrap_err().to_string();
    assert!(error.contains("line 2: cannot be read"), "{error}");
}

#[test]
fn reads_quoted_and_trimmed_text() {
    let full = "              64       4   121639   190947   184516   180788   179819   192178   176392    188269    180181   503814   743988  1163036  1255511\n";
    let text = SAMPLE.replace("iozone test complete.\n", "") + full;
    let wanted = import(&text).unwrap().table.results;
    assert_eq!(wanted.len(), 12 + 13);
    let each =
        |change: &dyn Fn(&str) -> String| text.lines().map(|line| change(line) + "\n").collect::<String>();
    let collapsed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for changed in [
        each(&|line| format!("> {line}")),
        each(&|line| format!(">> {line}")),
        each(&|line| format!("> > {line}")),
        each(&|line| line.trim_start().into()),
        each(&|line| format!("> {}", line.trim())),
        each(&collapsed),
        each(&|line| format!("> {}", collapsed(line))),
    ] {
        assert_eq!(import(&changed).unwrap().table.results, wanted, "{changed}");
        assert!(is_iozones(changed.as_bytes()));
    }
    // Without a command that selects tests, the number of figures does not determine the tests.
    let unknown = each(&collapsed).replace("-i 0 -i 1 -i 2 ", "");
    let imported = import(&unknown).unwrap();
    assert_eq!((imported.table.results.len(), imported.notes.len()), (13, 2), "{:?}", imported.notes);
    assert!(!is_iozones(b"hello\n1 2 3\n"));
}

#[test]
fn notes_unreadable_lines() {
    let text = SAMPLE.replace("577870 14840791", "5778x0 14840791");
    let imported = import(&text).unwrap();
    assert_eq!(imported.notes, ["line 8: cannot be read, ignored"]);
    assert_eq!(imported.table.results.len(), 6);
    let many = SAMPLE.replace("iozone test complete.", &"Error\n".repeat(100));
    let notes = import(&many).unwrap().notes;
    assert_eq!((notes.len(), notes[30].as_str()), (31, "and 70 notes more"));
}

/// Rates of different lengths, some as wide as a column of IOzone.
fn rate(test: &str, record: u64) -> Option<u64> {
    let seed = test.bytes().fold(record, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    (seed % 7 != 0).then(|| 1 + seed % 10u64.pow(2 + (seed % 10) as u32))
}

fn assert_same(imported: &Imported, matrix: &Matrix, wanted: &Table, line: &str) {
    assert_eq!(imported.notes, [""; 0], "{line}");
    let count = wanted.results.len();
    assert_eq!(imported.table.results.len(), count, "{line}");
    for pair in &matrix.pairs {
        for test in &matrix.tests {
            let found = |table: &Table| {
                let result = table.find(test.name, pair.file, pair.record, 1);
                result.map(|result| (result.kib_per_second, result.bytes_per_second))
            };
            assert_eq!(found(&imported.table), found(wanted), "{line}: {} {pair:?}", test.name);
        }
    }
}

#[test]
fn own_tables_and_reports_round_trip() {
    for tests in
        ["", "-i 0 -i 2", "-i 0 -i 3 -i 5", "-i 9 -i 10 -i 11 -i 12", "-i 0 -i 9 -i 12", "-i 4", "-i 7"]
    {
        let line = format!("{tests} -s 1m -s 16m -r 4 -r 64 -r 1m");
        let settings = settings(&line);
        let matrix = matrix(&settings);
        let wanted = table(&matrix, rate);
        let banner = banner(&settings, &matrix, "iosonar 1.0", "machine");
        let imported = import(&(banner.clone() + "\n" + &text_table(&settings, &matrix, &wanted))).unwrap();
        assert_same(&imported, &matrix, &wanted, &line);
        assert!(imported.table.command.starts_with("iozone"), "{}", imported.table.command);
        let report = import(&(banner + &text_report(&settings, &matrix, &wanted))).unwrap();
        assert_same(&report, &matrix, &wanted, &line);
    }
}

#[test]
fn own_throughput_round_trips() {
    let settings = settings("-t 3 -i 0 -i 1 -i 2 -i 8 -i 9 -s 1m -r 64 -F a b c");
    let matrix = matrix(&settings);
    let mut wanted = table(&matrix, |_, _| Some(300));
    for result in &mut wanted.results {
        let stream = StreamResult {
            bytes: 1 << 20,
            read_bytes: 0,
            elapsed_ns: 1,
            bytes_per_second: 102_400.0,
            all_bytes: 1 << 20,
            all_span_ns: 1,
        };
        result.per_stream = vec![stream; 3];
    }
    let imported = import(&throughput(&settings, &matrix, &wanted)).unwrap();
    assert_eq!(imported.notes, [""; 0]);
    let key = |r: &CellResult| (r.test.clone(), r.file_bytes, r.record_bytes, r.streams, r.kib_per_second);
    let keys = |table: &Table| table.results.iter().map(key).collect::<Vec<_>>();
    assert_eq!(keys(&imported.table), keys(&wanted));
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in "\\PC*(\n\\PC*){0,5}") {
        let _ = import(&text);
    }

    #[test]
    fn no_truncated_output_causes_a_panic(
        lines in prop::collection::vec(prop_oneof![
            prop::sample::select(SAMPLE.lines().map(String::from).collect::<Vec<_>>()),
            "[ ]{0,20}(kB|KB) {1,3}reclen( {1,5}(write|rewrite|read|reread|pread|x)){0,12}",
            "[0-9 ]{0,160}",
            "\"(Writer|Pread|Throughput) report\"",
            "(\"[0-9]{0,20}\"[0-9 ]{0,20}){0,5}",
            "Each x writes a [0-9]{1,21} kByte file in [0-9]{1,21} kByte records",
            "Children see throughput for [0-9é ]{0,12} readers = [0-9.e]{0,9} kB/sec",
            "\\PC{0,40}",
        ], 0..20),
        cut in 0usize..400,
    ) {
        let text = lines.join("\n");
        let end = (0..=cut.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        for text in [&text[..], &text[end..]] {
            if let Ok(imported) = import(text) {
                prop_assert!(imported.table.results.iter().all(|r| r.bytes_per_second > 0.0));
                prop_assert!(imported.notes.len() <= MOST_NOTES + 4);
            }
        }
    }
}
