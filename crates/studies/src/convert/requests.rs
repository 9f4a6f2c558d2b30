//! Requests of traces in another form.

use super::answer::{Requests, counted_as};
use super::form::{Destination, Output, RequestForm};
use super::outputs::Outputs;
use super::question::{Question, Split};
use iosonar_inputs::traces::{RecordOrder, Trace, open};
use iosonar_runner::{Error, Notice, Session};
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;

/// Writes the requests of traces. An output `-` goes to `standard_output` when it is complete.
///
/// # Errors
/// An input cannot be read, the output exists or cannot be written, or the form cannot represent the trace.
pub fn requests(
    session: &Session,
    question: &Question,
    form: RequestForm,
    place: Destination<'_>,
    standard_output: &mut dyn Write,
) -> Result<Requests, Error> {
    let order = if form.has_times() { RecordOrder::Stored } else { RecordOrder::DueTime };
    let mut trace = open(&question.inputs, &question.reading, order)?;
    let how = Output {
        form,
        block: question.reading.block,
        fio_file: question.fio_file.clone(),
        origin: origin(&trace),
    };
    let mut outputs = Outputs::new(how, place, question.split.is_some())?;
    let damaged = copy(session, question, &mut trace, &mut outputs, form)?;
    let events = trace.recorded(damaged);
    let mut remarks: Vec<String> =
        trace.requests.extra_counts().into_iter().filter(is_worth_telling).map(sentence).collect();
    if damaged > 0 {
        remarks.push(format!("{damaged} entries are damaged and were skipped"));
    }
    let written = outputs.end(&remarks, events, session, standard_output)?;
    remarks.extend(written.remarks(trace.unstarted));
    Ok(Requests { name: trace.name, written, damaged, remarks, at: trace.at, made: None })
}

/// The source of the requests, for a line of the output.
fn origin(trace: &Trace) -> String {
    let names: Vec<String> = trace.name.split(", ").map(base_name).collect();
    let counted = trace.at.map(|(at, timing)| format!("; {}", counted_as(at, timing))).unwrap_or_default();
    format!("made by iosonar convert of {} ({}){counted}", names.join(", "), trace.format)
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
    form: RequestForm,
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
    refuse_mixture(question, form, &written_devices(trace.requests.devices(), &is_written))?;
    Ok(damaged)
}

/// Names of the written devices, each once: several numbers may share a name.
fn written_devices(names: Vec<String>, is_written: &[bool]) -> Vec<String> {
    let mut known = HashSet::new();
    let written = names.into_iter().zip(is_written).filter(|(_, is_written)| **is_written);
    written.map(|(name, _)| name).filter(|name| known.insert(name.clone())).collect()
}

/// Refuses several devices in one load, which would be treated as one.
fn refuse_mixture(question: &Question, form: RequestForm, devices: &[String]) -> Result<(), Error> {
    if form.has_times() || question.split.is_some() || devices.len() < 2 {
        return Ok(());
    }
    Err(Error::refused_because(format_args!(
        "the trace has {} devices ({}), and this form knows one: choose with --device {}, or use --split device",
        devices.len(),
        devices.iter().take(8).cloned().collect::<Vec<_>>().join("  "),
        devices[0]
    )))
}
