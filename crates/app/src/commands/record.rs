//! `iosonar record`: the block I/O of live devices as an archive.

use crate::args::record::{InterfaceArg, RecordArgs, WatchArg};
use crate::exit::{Exit, Failure};
use crate::output::{print, print_lines, print_message, unused_name, utc_stamp};
use crate::progress_line::ProgressLine;
use crate::session::{command_line, printing};
use crate::signals;
use iosonar_engine::Control;
use iosonar_runner::Session;
use iosonar_studies::record::{self, Devices, Interface, Question, Watch, is_tracing_left, overhead};
use iosonar_text::shown;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Records, measures the overhead of recording, or cleans up.
pub fn record(args: &RecordArgs) -> Result<Exit, Failure> {
    if args.cleanup {
        return clean(&args.devices);
    }
    let mut question = question(args);
    question.check()?;
    let control = Arc::new(Control::default());
    if args.measure_overhead {
        signals::stop_on_signal(control.clone(), || {
            if is_tracing_left() {
                print_lines("\niosonar: aborted; 'iosonar record --cleanup' switches tracing off");
            }
        })?;
        print(&overhead::measure(&session(args, control), &question)?.to_string())?;
        return Ok(Exit::Fine);
    }
    if args.out.is_none() {
        question.out = new_name(&args.devices)?;
    }
    let dir = question.out.clone();
    signals::stop_on_signal(control.clone(), move || print_aborted(is_tracing_left(), &dir))?;
    let answer = record::run(&session(args, control), &question)?;
    print(&answer.to_string())?;
    println!("{}", shown(&question.out));
    // Ctrl-C is the normal end of a recording: no failure.
    Ok(if answer.broken().is_some() { Exit::Failed } else { Exit::Fine })
}

fn session(args: &RecordArgs, control: Arc<Control>) -> Session {
    let observer = Arc::new(ProgressLine::new(!args.no_progress));
    Session { control, command: command_line(), ..Session::new(observer) }
}

/// The question as typed; without a typed name of the result, its name is that of a device.
fn question(args: &RecordArgs) -> Question {
    Question {
        devices: args.devices.clone(),
        out: args.out.clone().unwrap_or_default(),
        duration: args.duration,
        watch: match args.at {
            WatchArg::Queue => Watch::Queue,
            WatchArg::Issue => Watch::Issue,
        },
        interface: match args.interface {
            InterfaceArg::Tracepoints => Interface::Tracepoints,
            InterfaceArg::Blktrace => Interface::Blktrace,
        },
        segment: args.segment,
        max_size: args.max_size,
        buffer: args.buffer,
    }
}

/// `DEVICE-DATE-TIME.iosonar`, and a number after it if that exists.
fn new_name(devices: &[PathBuf]) -> Result<PathBuf, Failure> {
    let name = Devices::find(devices)?.first_name().to_string();
    Ok(unused_name(&format!("{name}-{}", utc_stamp(iosonar_os::realtime_ns()))))
}

fn print_aborted(is_left: bool, dir: &Path) {
    let left = if is_left { "switches tracing off, and " } else { "" };
    print_lines(format_args!(
        "\niosonar: aborted; what was recorded until now is kept: 'iosonar record --cleanup {}' {left}makes the archive of it",
        shown(dir)
    ));
}

/// Removes what killed recorders left in the kernel, and completes their archives.
fn clean(dirs: &[PathBuf]) -> Result<Exit, Failure> {
    record::clean_up(&printing())?;
    for dir in dirs {
        match record::conclude_cut_off(dir)? {
            Some(answer) => print(&answer.to_string())?,
            None => print_message(format_args!(
                "iosonar: {} is whole already: there is nothing to do",
                shown(&dir)
            )),
        }
        println!("{}", shown(&dir));
    }
    Ok(Exit::Fine)
}
