//! Converts traces.

use super::answer::{Answer, counted_as};
use super::form::Output;
use super::outputs::Outputs;
use super::question::{Question, Split};
use iosonar_inputs::traces::{Reading, Trace, open};
use iosonar_runner::{Error, Notice, Session};
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

/// Converts traces. An output `-` goes to `standard_output` when it is complete.
///
/// # Errors
/// An input cannot be read, the output exists or cannot be written, or the form cannot represent the trace.
pub fn run(session: &Session, question: &Question, standard_output: &mut dyn Write) -> Result<Answer, Error> {
    let reading = Reading { sorts_records: !question.form.has_times(), ..question.reading.clone() };
    let mut trace = open(&question.inputs, &reading)?;
    let how = Output {
        form: question.form,
        block: reading.block,
        fio_file: question.fio_file.clone(),
        origin: origin(question, &trace),
    };
    let mut outputs = Outputs::new(how, &question.out, question.split.is_some())?;
    let damaged = copy(session, question, &mut trace, &mut outputs)?;
    let events = trace.recorded(damaged);
    let mut remarks: Vec<String> =
        trace.requests.besides().into_iter().filter(is_worth_telling).map(sentence).collect();
    if damaged > 0 {
        remarks.push(format!("{damaged} entries are damaged and were skipped"));
    }
    let written = outputs.end(&remarks, events, session, standard_output)?;
    remarks.extend(written.remarks(trace.unstarted));
    Ok(Answer { name: trace.name, written, damaged, remarks, at: trace.at })
}

/// The source of the requests, for a line of the output.
fn origin(question: &Question, trace: &Trace) -> String {
    let converted = || {
        let names: Vec<String> = trace.name.split(", ").map(base_name).collect();
        format!("made by iosonar convert of {}", names.join(", "))
    };
    let origin = question.origin.clone().unwrap_or_else(converted);
    let counted = trace.at.map(|(at, timing)| format!("; {}", counted_as(at, timing))).unwrap_or_default();
    format!("{origin} ({}){counted}", trace.format)
}

fn base_name(path: &str) -> String {
    PathBuf::from(path).file_name().map_or_else(|| path.to_string(), |n| n.to_string_lossy().into_owned())
}

/// Text lines of a load, and lines that open files, are not reported.
fn is_worth_telling((what, count): &(String, u64)) -> bool {
    let begins = ["requests", "lost events", "bytes of", "gzip streams"];
    *count > 0 && begins.iter().any(|begin| what.starts_with(begin))
}

fn sentence((what, count): (String, u64)) -> String {
    format!("{count} {what}")
}

fn copy(
    session: &Session,
    question: &Question,
    trace: &mut Trace,
    outputs: &mut Outputs,
) -> Result<u64, Error> {
    // By number, because comparing names for each request is slow.
    let mut is_written: Vec<bool> = Vec::new();
    let notice = |text: &str| session.observer.notice(&Notice::Skipped(text));
    let damaged = trace.each(notice, |request, device| match question.split {
        None => {
            let number = device.number as usize;
            if is_written.get(number) != Some(&true) {
                is_written.resize(is_written.len().max(number + 1), false);
                is_written[number] = true;
            }
            outputs.push("", request, device)
        }
        Some(Split::Device) => outputs.push(device.name, request, device),
        Some(Split::Process) => outputs.push(&request.process.name(), request, device),
    })?;
    refuse_mixture(question, &written_devices(trace.requests.devices(), &is_written))?;
    Ok(damaged)
}

/// Names of the written devices, each once: several numbers may share a name.
fn written_devices(names: Vec<String>, is_written: &[bool]) -> Vec<String> {
    let mut known = HashSet::new();
    let written = names.into_iter().zip(is_written).filter(|(_, is_written)| **is_written);
    written.map(|(name, _)| name).filter(|name| known.insert(name.clone())).collect()
}

/// Refuses several devices in one load, which would be treated as one.
fn refuse_mixture(question: &Question, devices: &[String]) -> Result<(), Error> {
    if question.form.has_times() || question.split.is_some() || devices.len() < 2 {
        return Ok(());
    }
    Err(Error::refused_because(format_args!(
        "the trace has {} devices ({}), and this form knows one: choose with --device {}, or use --split device",
        devices.len(),
        devices.iter().take(8).cloned().collect::<Vec<_>>().join("  "),
        devices[0]
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::Form;
    use iosonar_runner::{ErrorKind, Silent};
    use std::path::Path;
    use std::sync::Arc;

    /// Two devices, as MSR Cambridge's traces name them.
    const TWO_DISKS: &str =
        "128166372003061629,web,0,Read,0,4096,100\n128166372013061629,web,1,Write,8192,4096,200\n";

    fn question(input: &Path, out: impl Into<PathBuf>, form: Form) -> Question {
        Question {
            inputs: vec![input.to_path_buf()],
            out: out.into(),
            form,
            reading: Reading::default(),
            split: None,
            fio_file: "/dev/replayed".into(),
            origin: None,
        }
    }

    fn converted(question: &Question) -> (Result<Answer, Error>, String) {
        let mut text = Vec::new();
        let answer = run(&Session::new(Arc::new(Silent)), question, &mut text);
        (answer, String::from_utf8(text).unwrap())
    }

    #[test]
    fn writes_a_load_to_standard_output_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let input = dir.path().join("two.csv");
        std::fs::write(&input, TWO_DISKS).unwrap();
        let mut one = question(&input, "-", Form::Load);
        let (refused, text) = converted(&one);
        assert_eq!((refused.unwrap_err().kind(), text.as_str()), (ErrorKind::Refused, ""));
        one.reading.devices = vec!["web1".into()];
        let (answer, text) = converted(&one);
        assert_eq!(answer.unwrap().written.requests, 1);
        assert!(text.lines().last().unwrap().contains(" 16 ;   8 ; W ;"), "{text}");
    }

    #[test]
    fn an_archive_keeps_devices_apart_and_is_read_as_a_trace() {
        let dir = tempfile::tempdir().unwrap();
        let (input, archive) = (dir.path().join("two.csv"), dir.path().join("archive"));
        std::fs::write(&input, TWO_DISKS).unwrap();
        let (answer, _) = converted(&question(&input, &archive, Form::Archive));
        assert_eq!(answer.unwrap().written.requests, 2);
        let split = Question {
            split: Some(Split::Device),
            ..question(&archive, dir.path().join("x.load"), Form::Load)
        };
        let (answer, _) = converted(&split);
        assert_eq!(answer.unwrap().written.requests, 2);
        let loads = std::fs::read_dir(dir.path()).unwrap().flatten();
        let loads = loads.filter(|file| file.path().extension().is_some_and(|e| e == "load"));
        assert_eq!(loads.count(), 2);
    }
}
