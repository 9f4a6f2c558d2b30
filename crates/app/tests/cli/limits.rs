//! Limits of the machine and damaged results: each ends in order, with a message that names the path and a remedy.

use crate::*;
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Runs a command with a limit of file sizes, in KiB.
fn limited(lab: &Lab, kib: u64, args: &str) -> iosonar_testkit::Ended {
    // Blocks of `ulimit -f` are of another size in each shell; prlimit counts bytes.
    let limit = format!("--fsize={}", kib << 10);
    iosonar_testkit::Ended::of(lab.command_under(&["prlimit", &limit], args).output().unwrap())
}

#[test]
fn file_size_limit_ends_run_cleanly_and_keeps_records() {
    let lab = lab();
    lab.file("t", vec![7; 4 << 20]);
    let args = "run -t t --rw randread --bs 4k --number-ios 40000 --buffered --no-progress -o o";
    let ended = limited(&lab, 64, args);
    assert_eq!(ended.code, 1, "{}", ended.err);
    for part in ["o/records.log", "65536 bytes", "ulimit -f"] {
        assert!(ended.err.contains(part), "no {part} in {}", ended.err);
    }
    assert!(!lab.records("o").is_empty());
    lab.expect(0, "show o");
}

#[test]
fn too_small_file_size_limit_leaves_no_result() {
    let lab = lab();
    lab.file("t", vec![7; 1 << 20]);
    let ended =
        limited(&lab, 1, "run -t t --rw randread --bs 4k --number-ios 10 --buffered --no-progress -o o");
    assert_eq!(ended.code, 1, "{}", ended.err);
    assert!(ended.err.contains("the limit of file sizes of this process is 1024 bytes"), "{}", ended.err);
    assert!(!lab.path("o").exists());
}

#[test]
fn file_size_limit_fails_writes_beyond_it() {
    let lab = lab();
    lab.file("t", vec![7; 4 << 20]);
    let args = "run -t t --rw write --bs 64k --engine sync --buffered --no-progress -o o";
    let ended = limited(&lab, 1024, args);
    assert_eq!(ended.code, 1, "{}", ended.err);
    let errors = lab.records("o").iter().filter(|record| record.result == -27).count();
    assert_eq!(errors, 48, "EFBIG for what lies beyond 1 MiB");
}

#[test]
fn rejects_more_targets_than_open_files_at_once() {
    let lab = lab();
    let targets: String = (0..200).map(|n| format!(" -t f{n}")).collect();
    let args = format!("run --rw randread --bs 4k --number-ios 1 --engine sync --no-progress{targets}");
    let ended = iosonar_testkit::Ended::of(
        lab.command_under(&["prlimit", "--nofile=100:100"], &args).output().unwrap(),
    );
    assert_eq!(ended.code, 2, "{}", ended.err);
    // The files do not even exist: none is opened.
    assert!(
        ended.err.contains("200 targets") && ended.err.contains("open files; this process may have 100"),
        "{}",
        ended.err
    );
}

/// CPU time in seconds of a run on `count` targets.
fn cpu_time(lab: &Lab, count: usize, kind: &str) -> f64 {
    let targets: String = (0..count).map(|n| format!(" -t f{n}")).collect();
    let args = format!(
        "run {kind} --bs 4k --number-ios 1 --engine sync --buffered --no-progress -o o{count}{targets}"
    );
    // The shell prints what its children have used, last.
    let script = r#""$0" "$@" > /dev/null 2>&1; echo $?; times"#;
    let shell = lab.command_under(&["bash", "-c", script], &args).output().unwrap();
    let said = String::from_utf8(shell.stdout).unwrap();
    let (code, used) = (said.lines().next().unwrap(), said.lines().last().unwrap());
    assert!(code == "0" || code == "4", "{said}");
    let seconds = |time: &str| {
        let (minutes, seconds) = time.trim_end_matches('s').split_once('m').unwrap();
        minutes.parse::<f64>().unwrap() * 60.0 + seconds.parse::<f64>().unwrap()
    };
    used.split_whitespace().map(seconds).sum()
}

/// Renames the columns of a Parquet file by `change`; a column with `None` is dropped.
fn rewrite(path: &Path, change: impl Fn(usize, &str) -> Option<String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata: &ParquetMetaData = reader.metadata();
    let schema = metadata.file_metadata().schema();
    let kept: Vec<(usize, TypePtr)> = schema
        .get_fields()
        .iter()
        .enumerate()
        .filter_map(|(at, field)| {
            let Type::PrimitiveType { basic_info, physical_type, .. } = &**field else { panic!("a group") };
            let name = change(at, field.name())?;
            let column = Type::primitive_type_builder(&name, *physical_type)
                .with_repetition(basic_info.repetition())
                .with_logical_type(basic_info.logical_type_ref().cloned());
            Some((at, Arc::new(column.build().unwrap())))
        })
        .collect();
    let fields = kept.iter().map(|(_, field)| field.clone()).collect();
    let schema = Arc::new(Type::group_type_builder("r").with_fields(fields).build().unwrap());
    let pairs = metadata.file_metadata().key_value_metadata().cloned();
    let properties = Arc::new(WriterProperties::builder().set_key_value_metadata(pairs).build());
    let new = path.with_extension("new");
    let mut writer = SerializedFileWriter::new(File::create(&new).unwrap(), schema, properties).unwrap();
    let source = File::open(path).unwrap();
    let descriptions = writer.schema_descr().columns().to_vec();
    for group in metadata.row_groups() {
        let mut out = writer.next_row_group().unwrap();
        for (to, (at, _)) in kept.iter().enumerate() {
            let column = group.column(*at);
            let renamed = ColumnChunkMetaData::builder(descriptions[to].clone())
                .set_encodings(column.encodings().collect())
                .set_compression(column.compression())
                .set_num_values(column.num_values())
                .set_total_compressed_size(column.compressed_size())
                .set_total_uncompressed_size(column.uncompressed_size())
                .set_data_page_offset(column.data_page_offset())
                .set_dictionary_page_offset(column.dictionary_page_offset());
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size() as u64,
                rows_written: group.num_rows() as u64,
                metadata: renamed.build().unwrap(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            out.append_column(&source, close).unwrap();
        }
        out.close().unwrap();
    }
    writer.close().unwrap();
    std::fs::rename(new, path).unwrap();
}

fn columns(path: &Path) -> Vec<String> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema();
    schema.get_fields().iter().map(|field| field.name().to_owned()).collect()
}

/// A result of a run on a file, whose `file` can be damaged.
fn result() -> Lab {
    let lab = lab();
    lab.file("t", vec![7; 1 << 20]);
    lab.expect(
        0,
        "run -t t --rw randrw --bs 4k --number-ios 100 --engine sync --buffered --no-progress -o R",
    );
    lab
}

/// Commands that read results, with their exit code if the samples of the machine cannot be read.
const READERS: [(&str, i32); 8] = [
    ("show R", 0),
    ("show R --json", 0),
    ("analyze R", 0),
    ("report R -o page.html --force", 0),
    ("plot R -o pictures --force", 0),
    ("live --once R", 0),
    ("judge R", 2),
    ("explain R --again", 2),
];

#[test]
fn shows_result_without_unreadable_samples() {
    slow!();
    let lab = result();
    let path = lab.path("R/series.parquet");
    let whole = std::fs::read(&path).unwrap();
    for column in columns(&path) {
        for renamed in [None, Some("other".to_string())] {
            std::fs::write(&path, &whole).unwrap();
            rewrite(&path, |_, name| if name == column { renamed.clone() } else { Some(name.into()) });
            // A renamed column is a missing one.
            let commands = if renamed.is_none() { &READERS[..] } else { &READERS[..1] };
            for &(args, code) in commands {
                let ended = lab.run(args);
                let said = format!("{args} without {column}: {} {}", ended.code, ended.err);
                assert!(ended.code == code || code == 0 && ended.code == 4, "{said}");
                assert!(!ended.err.contains("panicked"), "{said}");
                if !args.starts_with("live") {
                    assert!(ended.err.contains(&format!("column {column} is missing")), "{said}");
                    assert!(
                        ended.err.contains("series.parquet") && ended.err.contains("removed or renamed"),
                        "{said}"
                    );
                }
            }
        }
    }
}

#[test]
fn refuses_records_that_lack_a_column_and_names_it() {
    let lab = result();
    let path = lab.path("R/records.parquet");
    let whole = std::fs::read(&path).unwrap();
    for column in columns(&path) {
        std::fs::write(&path, &whole).unwrap();
        rewrite(&path, |_, name| (name != column).then(|| name.into()));
        let ended = lab.run("show R");
        assert!(!ended.err.contains("panicked"), "{column}: {}", ended.err);
        assert_eq!(ended.code, 2, "{column}: {}", ended.err);
        let names = ended.err.contains("R/records.parquet")
            && ended.err.contains(&format!("column {column} is missing"));
        assert!(names && ended.err.contains("restore that file"), "{column}: {}", ended.err);
    }
}

/// Each column takes the name of the next one: other types, and absurd values of the right type.
#[test]
fn swapped_columns_are_errors_not_panics() {
    slow!();
    let lab = result();
    for file in ["R/series.parquet", "R/records.parquet", "R/extents.parquet"] {
        let path = lab.path(file);
        let Ok(whole) = std::fs::read(&path) else { continue };
        let names = columns(&path);
        for at in 0..names.len() {
            let next = (at + 1) % names.len();
            std::fs::write(&path, &whole).unwrap();
            rewrite(&path, |number, name| {
                Some(if number == at {
                    names[next].clone()
                } else if number == next {
                    names[at].clone()
                } else {
                    name.into()
                })
            });
            // One command reads records as all others do; samples are read by several.
            let commands = ["show R", "report R -o page.html --force", "judge R", "live --once R"];
            let commands = if names.len() > 20 { &commands[..1] } else { &commands[..] };
            for args in commands {
                let ended = lab.run(args);
                let said = format!(
                    "{args} with {} and {} of {file}: {} {}",
                    names[at], names[next], ended.code, ended.err
                );
                assert!([0, 1, 2, 4].contains(&ended.code) && !ended.err.contains("panicked"), "{said}");
            }
        }
        std::fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn thread_limit_rejects_run_or_delays_requests() {
    let group = match iosonar_testkit::ControlGroup::of_threads(24) {
        Ok(group) => group,
        Err(why) => return iosonar_testkit::skip("a_limit_of_threads", &why),
    };
    let lab = lab();
    lab.file("t", vec![7; 4 << 20]);
    let read = "run -t t --rw randread --bs 4k --engine threads --buffered --no-progress --number-ios 2000";
    let refused = group.run(&lab, &format!("{read} --numjobs 40 --iodepth 8 -o many"));
    assert_eq!(refused.code, 2, "{}", refused.err);
    assert!(refused.err.contains("pids.max"), "{}", refused.err);
    assert!(!refused.err.contains("works everywhere") && !lab.path("many").exists(), "{}", refused.err);
    let before = group.refused();
    let ended = group.run(&lab, &format!("{read} --iodepth 64 -o deep"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(group.refused() > before, "no thread was refused");
    let records = lab.records("deep");
    assert!(records.len() == 2000 && records.iter().all(|record| record.is_completed()));
}

/// The cells of pictures and the columns of tables have a fixed number; a million and a half records fill most of them.
#[test]
fn memory_limit_of_64_mib_suffices_for_1_5_million_records() {
    slow!();
    let group = match iosonar_testkit::ControlGroup::of_memory(64) {
        Ok(group) => group,
        Err(why) => return iosonar_testkit::skip("a_memory_limit_of_64_mib_is_enough", &why),
    };
    let lab = lab();
    let load = "--rw randrw --rwmixread 70 --bs 4k --number-ios 1500000 --iodepth 32 --size 4g";
    lab.expect(0, &format!("run --engine null -t t {load} --no-progress -o r"));
    for args in ["show r", "analyze r --json", "plot r -o p", "report r -o r.html"] {
        let ended = group.run(&lab, args);
        assert_eq!(ended.code, 0, "{args}: {}", ended.err);
    }
    let message = "limits the memory of this process to 64 MiB";
    let ended = group.run(&lab, "analyze r");
    assert!(ended.err.contains(message), "{}", ended.err);
}

/// Four times as many targets take about four times the CPU time, and not 16 or 64 times.
#[test]
fn many_targets_are_prepared_in_linear_time() {
    slow!();
    let lab = lab();
    (0..1000).for_each(|n| drop(lab.file(&format!("f{n}"), vec![0; 4096])));
    for kind in ["--rw randread", "--rw randwrite"] {
        let few = cpu_time(&lab, 250, kind);
        let many = cpu_time(&lab, 1000, kind);
        std::fs::remove_dir_all(lab.path("o250")).unwrap();
        std::fs::remove_dir_all(lab.path("o1000")).unwrap();
        assert!(many < 9.0 * few + 1.0, "{kind}: {few} s for 250 targets, {many} s for 1000");
    }
}
