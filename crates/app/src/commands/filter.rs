//! `iosonar load filter`: a load made of a load.

use crate::args::load::FilterArgs;
use crate::exit::{Exit, Failure};
use crate::new_load;
use crate::output::print_message;
use iosonar_engine::filter_room;
use iosonar_host::Root;
use iosonar_load::{LoadError, Text, filtered};
use iosonar_text::shown;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_request};
use std::path::Path;

/// Writes the new load; reports its number of requests.
pub fn filter(args: &FilterArgs) -> Result<Exit, Failure> {
    let name = shown(&args.load);
    let refused = |error: LoadError| Failure::refused(anyhow::Error::from(error).context(name.to_string()));
    let (text, path) = (text(&args.load)?, args.load.clone());
    let tell_skipped = move |notice: iosonar_load::Notice| print_message(notice.text(&path));
    let room = filter_room(&Root::default());
    let count = new_load::write("--out", &args.out, |mut out| {
        let requests = filtered(text, &args.steps, args.skip_bad, &room, tell_skipped);
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0u64;
        for request in requests.map_err(refused)? {
            write_request(&mut out, &request.map_err(refused)?)?;
            count += 1;
        }
        Ok(count)
    })?;
    if count > 0 {
        return Ok(Exit::Fine);
    }
    print_message(format_args!("iosonar: filter '{}' removes every request of {name}", args.steps));
    Ok(Exit::Failed)
}

/// A file can be read again, where a step restarts it.
fn text(load: &Path) -> Result<Text, Failure> {
    let opened = iosonar_inputs::text(load)?;
    let is_file = load.as_os_str() != "-" && load.is_file();
    Ok(if is_file { Text::of_file(opened, load) } else { Text::once(opened) })
}
