//! Conversions in the process.

use super::*;
use crate::convert::{Declared, Split};
use iosonar_inputs::traces::Reading;
use iosonar_inputs::{Source, is_result};
use iosonar_runner::{ErrorKind, Silent};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

/// Two devices, as MSR Cambridge's traces name them.
const TWO_DISKS: &str =
    "128166372003061629,web,0,Read,0,4096,100\n128166372013061629,web,1,Write,8192,4096,200\n";

const LOAD: Form = Form::Requests(RequestForm::Load);
const ARCHIVE: Form = Form::Requests(RequestForm::Archive);
const CSV: Form = Form::Records(RecordForm::Csv);
const REPLAY: Form = Form::Records(RecordForm::Replay);

fn two_disks() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let input = dir.path().join("two.csv");
    std::fs::write(&input, TWO_DISKS).unwrap();
    (dir, input)
}

fn question(input: &Path, out: impl Into<PathBuf>, form: Form) -> Question {
    Question::of(vec![input.to_path_buf()], Some(OutputName::new("OUT", out)), Some(form))
}

fn converted(question: &Question) -> (Result<Answer, Error>, String) {
    let mut text = Vec::new();
    let answer = run(&Session::new(Arc::new(Silent)), question, &mut text);
    (answer, String::from_utf8(text).unwrap())
}

#[track_caller]
fn requests_of(answer: Result<Answer, Error>) -> u64 {
    match answer.unwrap() {
        Answer::Requests(requests) => requests.written.requests,
        other => panic!("{other:?}"),
    }
}

#[test]
fn writes_a_load_to_standard_output_when_it_is_complete() {
    let (_dir, input) = two_disks();
    let mut one = question(&input, "-", LOAD);
    let (refused, text) = converted(&one);
    assert_eq!((refused.unwrap_err().kind(), text.as_str()), (ErrorKind::Refused, ""));
    one.reading.devices = vec!["web1".into()];
    let (answer, text) = converted(&one);
    assert_eq!(requests_of(answer), 1);
    assert!(text.lines().last().unwrap().contains(" 16 ;   8 ; W ;"), "{text}");
}

#[test]
fn archive_separates_devices_and_reads_as_a_trace() {
    let (dir, input) = two_disks();
    let archive = dir.path().join("archive");
    assert_eq!(requests_of(converted(&question(&input, &archive, ARCHIVE)).0), 2);
    let split =
        Question { split: Some(Split::Device), ..question(&archive, dir.path().join("x.load"), LOAD) };
    assert_eq!(requests_of(converted(&split).0), 2);
    let loads = std::fs::read_dir(dir.path()).unwrap().flatten();
    let loads = loads.filter(|file| file.path().extension().is_some_and(|e| e == "load"));
    assert_eq!(loads.count(), 2);
}

#[test]
fn records_of_a_trace_are_those_of_its_archive() {
    let (dir, input) = two_disks();
    let archive = dir.path().join("archive");
    converted(&question(&input, &archive, ARCHIVE)).0.unwrap();
    let (answer, of_archive) = converted(&Question::of(vec![archive.clone()], None, Some(CSV)));
    assert!(matches!(answer, Ok(Answer::Records { damaged: 0 })), "{answer:?}");
    let (answer, of_trace) = converted(&Question::of(vec![input], None, Some(CSV)));
    assert_eq!(requests_of(answer), 2);
    assert_eq!((of_trace.lines().count(), &of_trace), (3, &of_archive));
    let second = Question { target: Some(1), ..Question::of(vec![archive], None, Some(CSV)) };
    assert_eq!(converted(&second).1.lines().count(), 2);
}

#[test]
fn a_result_is_recognised_and_keeps_its_facts_in_an_archive() {
    let (dir, input) = two_disks();
    let (result, archive) = (dir.path().join("one.replay"), dir.path().join("one"));
    let mut of_one = question(&input, &result, REPLAY);
    assert!(converted(&of_one).0.unwrap_err().to_string().contains("--target 0 … 1"));
    of_one.target = Some(1);
    assert_eq!(requests_of(converted(&of_one).0), 2);
    assert!(is_result(&Source::open(&result, None).unwrap()).unwrap());
    let (answer, _) = converted(&question(&result, &archive, ARCHIVE));
    assert!(matches!(answer, Ok(Answer::Imported(ref imported)) if imported.path == archive), "{answer:?}");
    let (_, again) = converted(&Question::of(vec![archive], None, Some(REPLAY)));
    assert_eq!(again.lines().filter(|line| line.contains(" ; ")).count(), 2, "{again}");
}

#[test]
fn output_and_target_are_checked_before_the_input_is_converted() {
    let (dir, input) = two_disks();
    let result = dir.path().join("one.replay");
    converted(&Question { target: Some(0), ..question(&input, &result, REPLAY) }).0.unwrap();
    // A second result makes it unreadable.
    let twice = std::fs::read_to_string(&result).unwrap().repeat(2);
    std::fs::write(&result, twice).unwrap();
    let refused = |question: &Question| converted(question).0.unwrap_err().to_string();
    let there = refused(&question(&result, &input, CSV));
    assert!(there.contains("OUT ") && there.contains("two.csv"), "{there}");
    let target = Question { target: Some(1), ..question(&result, dir.path().join("x.csv"), CSV) };
    assert!(refused(&target).contains("has targets 0 to 0"));
    let damage = refused(&question(&result, dir.path().join("x.csv"), CSV));
    assert!(damage.contains("a second result") && damage.contains("--from load"), "{damage}");
}

#[test]
fn split_of_a_result_selects_its_requests() {
    let (dir, input) = two_disks();
    let result = dir.path().join("one.replay");
    converted(&Question { target: Some(0), ..question(&input, &result, REPLAY) }).0.unwrap();
    let archive = question(&result, dir.path().join("x"), ARCHIVE);
    assert_eq!(requests_of(converted(&Question { split: Some(Split::Device), ..archive }).0), 1);
    assert!(!dir.path().join("x").exists());
}

#[test]
fn new_names_keep_the_stem_of_the_input() {
    let named = |input: &str| {
        let question = Question::of(vec![input.into()], None, None);
        question.out_or_new(|name| Input::Traces.stem(name), ".new").path
    };
    for (input, name) in [
        ("-", "import.new"),
        (".", "import.new"),
        ("dir/a.load.gz", "a.new"),
        (".load", ".load.new"),
        ("a", "a.new"),
    ] {
        assert_eq!(named(input), PathBuf::from(name));
    }
}

#[test]
fn options_that_a_form_does_not_have_are_refused() {
    let (dir, input) = two_disks();
    let load = || question(&input, dir.path().join("x.load"), LOAD);
    let alone = Question::of(vec![input.clone()], None, None);
    let with_order = Reading { keep_order: true, ..Reading::default() };
    for (question, words) in [
        (Question { csv_safe: true, ..load() }, "--csv-safe"),
        (Question { target: Some(0), ..load() }, "--target"),
        (Question { split: Some(Split::Device), ..question(&input, "-", CSV) }, "--split"),
        (Question { declared: Some(Declared::Iozone), ..load() }, "use --to json"),
        (
            Question { declared: Some(Declared::Result), split: Some(Split::Device), ..load() },
            "--split has no",
        ),
        (Question { declared: Some(Declared::Iozone), reading: with_order, ..load() }, "--keep-order has no"),
        (alone, "only one file is named"),
    ] {
        let error = converted(&question).0.unwrap_err();
        assert!(error.kind() == ErrorKind::Refused && error.to_string().contains(words), "{error}");
    }
}
