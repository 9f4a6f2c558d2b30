//! `iosonar convert`: traces of all forms into loads, logs, lists and archives.

use crate::convert_args::{ConvertArgs, SplitArg, ToArg};
use crate::exit::{Exit, Failure};
use crate::output::print_message;
use crate::traces::{Form, Output, Outputs, Reading, Trace, open};
use anyhow::anyhow;
use iosonar_trace::fio::Version;
use iosonar_trace::kernel::Timing;
use std::collections::HashSet;
use std::path::PathBuf;

/// Converts; reports how much was written and skipped.
pub fn convert(args: &ConvertArgs) -> Result<Exit, Failure> {
    // Not clap's `num_args = 2..`: it counts the files on each side of an option separately.
    let (out, inputs) = match args.files.split_last() {
        Some((out, inputs)) if !inputs.is_empty() => (out, inputs),
        _ => {
            return Err(Failure::refused(anyhow!(
                "only one file is named: name the traces, then the new file"
            )));
        }
    };
    let form = args.to.map_or_else(|| Form::of_name(out), form);
    let timing = if form.has_times() { Timing::Exact } else { Timing::None };
    let reading = Reading::of(&args.reading, timing)?.sorting_records(!form.has_times());
    let mut trace = open(inputs, &reading)?;
    let how = Output {
        form,
        block: args.reading.block_size.0,
        fio_file: args.fio_file.clone(),
        origin: origin(&trace),
    };
    let mut outputs = Outputs::new(how, out, args.split.is_some())?;
    let bad = copy(args, &mut trace, &mut outputs)?;
    let events = trace.recorded(bad);
    let mut remarks: Vec<String> =
        trace.requests.besides().into_iter().filter(is_worth_telling).map(sentence).collect();
    if bad > 0 {
        remarks.push(format!("{} entries are damaged and were skipped", bad));
    }
    let written = outputs.end(&remarks, events)?;
    remarks.extend(written.remarks(trace.unstarted));
    remarks.iter().for_each(|remark| print_message(format_args!("iosonar: {}: {remark}", trace.name)));
    if let Some((at, timing)) = trace.at {
        print_message(format_args!("iosonar: {}", counted_as(at, timing)));
    }
    if written.requests == 0 {
        print_message(format_args!("iosonar: {}: it holds no request that could be written", trace.name));
        return Ok(Exit::Failed);
    }
    Ok(if args.reading.strict && bad > 0 { Exit::Cautioned } else { Exit::Fine })
}

fn form(to: ToArg) -> Form {
    match to {
        ToArg::Load => Form::Load,
        ToArg::Fio => Form::Fio(Version::Three),
        ToArg::Fio2 => Form::Fio(Version::Two),
        ToArg::SeekList => Form::SeekList,
        ToArg::Archive => Form::Archive,
        ToArg::Parquet => Form::Parquet,
    }
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

fn counted_as(at: iosonar_trace::kernel::At, timing: Timing) -> String {
    let ends = match timing {
        Timing::None => "without ends",
        Timing::Exact => "ends by what completions cover",
        Timing::Guessed => "ends guessed as blkreplay's script does: for analysis, not for replays",
    };
    format!("a request is an event {} ({}), {ends}", at.letter(), at.word())
}

/// Text lines of a load, and lines that open files, are not reported.
fn is_worth_telling((what, count): &(String, u64)) -> bool {
    let begins = ["requests", "lost events", "bytes of", "gzip streams"];
    *count > 0 && begins.iter().any(|begin| what.starts_with(begin))
}

fn sentence((what, count): (String, u64)) -> String {
    format!("{count} {what}")
}

fn copy(args: &ConvertArgs, trace: &mut Trace, outputs: &mut Outputs) -> Result<u64, Failure> {
    // By number, because comparing names for each request is slow.
    let mut is_written: Vec<bool> = Vec::new();
    let bad = trace.each(|request, device| match args.split {
        None => {
            let number = device.number as usize;
            if is_written.get(number) != Some(&true) {
                is_written.resize(is_written.len().max(number + 1), false);
                is_written[number] = true;
            }
            outputs.push("", request, device)
        }
        Some(SplitArg::Device) => outputs.push(device.name, request, device),
        Some(SplitArg::Process) => outputs.push(&request.process.name(), request, device),
    })?;
    refuse_mixture(args, &written_devices(trace.requests.devices(), &is_written))?;
    Ok(bad)
}

/// Names of the written devices, each once: several numbers may share a name.
fn written_devices(names: Vec<String>, is_written: &[bool]) -> Vec<String> {
    let mut known = HashSet::new();
    let written = names.into_iter().zip(is_written).filter(|(_, is_written)| **is_written);
    written.map(|(name, _)| name).filter(|name| known.insert(name.clone())).collect()
}

/// Refuses several devices in one load, which would be treated as one.
fn refuse_mixture(args: &ConvertArgs, devices: &[String]) -> Result<(), Failure> {
    let out = args.files.last().map_or_else(|| Form::Load, |out| Form::of_name(out));
    let keeps_devices = args.to.map_or(out, form).has_times();
    if keeps_devices || args.split.is_some() || devices.len() < 2 {
        return Ok(());
    }
    Err(Failure::refused(anyhow!(
        "the trace has {} devices ({}), and this form knows one: choose with --device {}, or use --split device",
        devices.len(),
        devices.iter().take(8).cloned().collect::<Vec<_>>().join("  "),
        devices[0]
    )))
}
