//! Loads whose requests come faster and faster, and loads that went through filters.

use super::output::NewLoad;
use super::question::{Filter, Ramp};
use super::reading::notices;
use anyhow::Context;
use iosonar_engine::filter_room;
use iosonar_host::Root;
use iosonar_load::derive::ramp;
use iosonar_load::{LoadError, Room, Text, filtered};
use iosonar_plan::Pipeline;
use iosonar_runner::{Error, Session};
use iosonar_text::shown;
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_request};
use std::io::Write;
use std::path::Path;

/// Makes the requests of a load come faster and faster; returns their number. A load without requests leaves no output.
///
/// # Errors
/// The load cannot be read, or the output exists.
pub fn ramp(session: &Session, question: &Ramp, standard_output: &mut dyn Write) -> Result<u64, Error> {
    let text = Text::once(iosonar_inputs::text(&question.load)?);
    let notices = notices(session, &question.load);
    let requests = filtered(text, &Pipeline::default(), question.skip_bad, &Room::default(), notices);
    let requests = requests.map_err(Error::refused)?.zip(ramp::times(question.growth));
    let requests = requests.map(|(request, time)| {
        let request = request.with_context(|| shown(&question.load).to_string()).map_err(Error::refused)?;
        Ok(TimedRequest { time, ..request })
    });
    write(session, standard_output, &question.out, || Ok(requests))
}

/// Makes a load of a load by filters; returns the number of its requests. A load without requests leaves no output.
///
/// # Errors
/// The load cannot be read, a filter refuses it, or the output exists.
pub fn filter(session: &Session, question: &Filter, standard_output: &mut dyn Write) -> Result<u64, Error> {
    let refused = |error: LoadError| {
        Error::refused(anyhow::Error::from(error).context(shown(&question.load).to_string()))
    };
    let (text, room) = (text(&question.load)?, filter_room(&Root::default()));
    let notices = notices(session, &question.load);
    write(session, standard_output, &question.out, || {
        let requests = filtered(text, &question.steps, question.skip_bad, &room, notices).map_err(refused)?;
        Ok(requests.map(|request| request.map_err(refused)))
    })
}

/// Writes a load. `requests` is called when the output is there: filters start commands.
fn write<I: Iterator<Item = Result<TimedRequest, Error>>>(
    session: &Session,
    standard_output: &mut dyn Write,
    path: &Path,
    requests: impl FnOnce() -> Result<I, Error>,
) -> Result<u64, Error> {
    NewLoad { option: "--out", path }.write(session, standard_output, |mut out| {
        let requests = requests()?;
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0;
        for request in requests {
            write_request(&mut out, &request?)?;
            count += 1;
        }
        Ok(count)
    })
}

/// A file can be read again, where a step restarts it.
fn text(load: &Path) -> Result<Text, Error> {
    let opened = iosonar_inputs::text(load)?;
    let is_file = load.as_os_str() != "-" && load.is_file();
    Ok(if is_file { Text::of_file(opened, load) } else { Text::once(opened) })
}
