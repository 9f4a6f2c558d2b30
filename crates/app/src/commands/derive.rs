//! `iosonar load derive`: loads made of whole loads.

use crate::args::common::LoadArgs;
use crate::args::derive::{AdjacentArgs, Derive, DeriveArgs, OverloadArgs, RampArgs};
use crate::exit::{Exit, Failure};
use crate::new_load;
use crate::output::{print, print_message};
use crate::outputs::gate_of;
use anyhow::{Context, anyhow};
use iosonar_host::output::{Existing, OutputFolder, OutputName};
use iosonar_inputs::Source;
use iosonar_load::derive::adjacent::{merged, side_by_side, touched};
use iosonar_load::derive::overload::{Cutter, Snippets};
use iosonar_load::derive::{in_time, ramp};
use iosonar_load::{LoadError, Notice, Room, Text, filtered};
use iosonar_os::create::{new_dir, rename_new};
use iosonar_os::made::OwnDir;
use iosonar_plan::{Nanos, Pipeline, SECTOR};
use iosonar_text::shown;
use iosonar_trace::TimedRequest;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand, write_request};
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

/// Makes loads from loads.
pub fn derive(args: &DeriveArgs) -> Result<Exit, Failure> {
    match &args.what {
        Derive::Overload(args) => overload(args),
        Derive::Adjacent(args) => adjacent(args),
        Derive::Ramp(args) => ramp_of(args),
    }
}

/// Reads the requests of a file, by time. Skipped or shifted requests are reported on demand.
fn read(
    path: &Path,
    text: Box<dyn BufRead + Send>,
    args: &LoadArgs,
    is_told: bool,
) -> Result<impl Iterator<Item = Result<TimedRequest, LoadError>> + use<>, Failure> {
    let name = path.to_path_buf();
    let notice = move |notice: Notice| {
        if is_told {
            print_message(notice.text(&name));
        }
    };
    in_time(Text::once(text), args.backward, args.skip_bad, notice).map_err(Failure::refused)
}

/// Refuses a second use of standard input.
fn check_stdin(loads: &[PathBuf]) -> Result<(), Failure> {
    match loads.iter().filter(|path| path.as_os_str() == "-").count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::refused(anyhow!("- stands for standard input, which can be read only once"))),
    }
}

fn overload(args: &OverloadArgs) -> Result<Exit, Failure> {
    check_stdin(&args.loads)?;
    if args.window == Nanos(0) {
        return Err(Failure::refused(anyhow!("--window 0: a snippet holds nothing: give a time above 0")));
    }
    let splits = splits(args)?;
    let snippets = cut(args)?;
    let gate = gate_of(&[]);
    let folder = OutputFolder::open(&gate, OutputName::new("--out", &args.out), Existing::Keep);
    let folder = folder.map_err(Failure::refused)?;
    let mut lines = words(args, &snippets);
    let mut written = Vec::new();
    for split in &splits {
        let (partial, line) = split.write(&snippets)?;
        written.push((split, partial));
        lines += &line;
    }
    // Publishes all directories, or none.
    for (split, partial) in written {
        partial.remove_leftovers();
        rename_new(&filled(&partial), &split.dir)
            .with_context(|| format!("cannot make {}", shown(&split.dir)))?;
    }
    folder.keep();
    print(&lines)?;
    Ok(Exit::Fine)
}

/// The directories to be created; existing ones are refused.
fn splits(args: &OverloadArgs) -> Result<Vec<Split>, Failure> {
    let base = base_of(&args.loads[0]);
    let mut numbers = args.split.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let split = |loads: u32| {
        let dir = args.out.join(format!("{base}.derived.split.{loads:03}"));
        new_load::check_absent("--out", &dir)?;
        Ok(Split { base: base.clone(), loads: loads as usize, dir })
    };
    numbers.into_iter().map(split).collect()
}

/// Name of a load without its extensions.
fn base_of(load: &Path) -> String {
    if load.as_os_str() == "-" {
        return "stdin".into();
    }
    let name = load.file_name().map_or("load".into(), |name| name.to_string_lossy());
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    let plain = [".load", ".replay"].iter().find_map(|e| plain.strip_suffix(e)).unwrap_or(plain);
    if plain.is_empty() { "load".into() } else { plain.to_string() }
}

fn cut(args: &OverloadArgs) -> Result<Snippets, Failure> {
    let mut cutter = Cutter::new(args.window).context("cannot keep the requests")?;
    for path in &args.loads {
        let load = read(path, iosonar_inputs::text(path)?, &args.load, true)?;
        cutter.add(load).with_context(|| shown(&path).to_string()).map_err(Failure::refused)?;
    }
    let snippets = cutter.finish(args.keep_rest).context("cannot keep the requests")?;
    if !snippets.order().is_empty() {
        return Ok(snippets);
    }
    Err(Failure::refused(match snippets.rest() {
        None => anyhow!("{}: it contains no request", shown(&args.loads[0])),
        Some(rest) => anyhow!(
            "all {} requests lie within one window of {}, which was not over: use a smaller --window, or --keep-rest",
            rest.requests,
            args.window
        ),
    }))
}

/// Maximum number of snippets listed one by one.
const TOLD: usize = 20;

fn words(args: &OverloadArgs, snippets: &Snippets) -> String {
    let word = |s: &iosonar_load::derive::overload::Snippet| format!("{} ({})", s.number, s.requests);
    let mut first: Vec<String> = snippets.order().iter().take(TOLD).map(word).collect();
    let more = snippets.order().len().saturating_sub(TOLD);
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    let mut text = format!(
        "{} snippets of {}, the busiest first, as number (requests): {}\n",
        snippets.order().len(),
        args.window,
        first.join(", ")
    );
    if let Some(rest) = snippets.rest() {
        text += &format!(
            "skipped: the last snippet, whose window was not over ({} requests); --keep-rest keeps it\n",
            rest.requests
        );
    }
    text
}

/// A split into some loads.
struct Split {
    base: String,
    loads: usize,
    dir: PathBuf,
}

impl Split {
    /// Writes its loads; returns the directory of the complete ones, and a line about it. With fewer snippets there are fewer loads.
    fn write(&self, snippets: &Snippets) -> Result<(OwnDir, String), Failure> {
        let dir = shown(&self.dir);
        let cannot = || format!("cannot make {dir}");
        let beside = self.dir.parent().unwrap_or(Path::new("."));
        let partial = OwnDir::new_in(beside, "derive").with_context(cannot)?;
        new_dir(&filled(&partial)).with_context(cannot)?;
        let loads = self.loads.min(snippets.order().len());
        let mut requests = 0;
        for number in 0..loads {
            let name = format!("{}.derived.{number:03}.of.{}.load.gz", self.base, self.loads);
            let path = filled(&partial).join(name);
            requests +=
                new_load::write_quietly("--out", &path, |out| write_part(out, snippets, number, self.loads))?;
        }
        let fewer = match self.loads - loads {
            0 => String::new(),
            missing => format!(" ({missing} more would hold nothing: there are not so many snippets)"),
        };
        let line = format!("{dir}: {requests} requests in {}{fewer}\n", loads_in_words(loads));
        Ok((partial, line))
    }
}

/// The directory that is being filled with loads. It gets its final name when it is complete.
fn filled(partial: &OwnDir) -> PathBuf {
    partial.path().join("loads")
}

fn loads_in_words(loads: usize) -> String {
    if loads == 1 { "1 load".into() } else { format!("{loads} loads") }
}

fn write_part(
    mut out: &mut dyn Write,
    snippets: &Snippets,
    number: usize,
    loads: usize,
) -> Result<u64, Failure> {
    writeln!(out, "{LOAD_HEADER}")?;
    let mut count = 0;
    for request in snippets.load(number, loads) {
        let r = request.context("cannot read the temporary file")?;
        write_demand(&mut out, &r)?;
        count += 1;
    }
    Ok(count)
}

fn adjacent(args: &AdjacentArgs) -> Result<Exit, Failure> {
    check_stdin(&args.loads)?;
    // Each is read twice: for the blocks it touches, and in time.
    let mut kept = Vec::new();
    let mut all = Vec::new();
    for path in &args.loads {
        let name = || shown(path).to_string();
        let source = Source::open(path, args.spool.spool_limit)?;
        let load = read(path, source.text()?, &args.load, true)?;
        let found = touched(load).with_context(name).map_err(Failure::refused)?;
        all.push(found.ok_or_else(|| Failure::refused(anyhow!("{}: it contains no request", name())))?);
        kept.push(source);
    }
    let places = side_by_side(&all).ok_or_else(|| {
        Failure::refused(anyhow!("side by side, these loads need more than 2^63 bytes: use fewer"))
    })?;
    new_load::write("--out", &args.out, |mut out| {
        let mut loads = Vec::new();
        for (source, place) in kept.iter().zip(&places) {
            loads.push((read(source.path(), source.text()?, &args.load, false)?, *place));
        }
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0;
        for request in merged(loads) {
            let name = |index: usize| shown(&args.loads[index]).to_string();
            let request = request.map_err(|(index, e)| Failure::refused(anyhow!(e).context(name(index))))?;
            write_request(&mut out, &request)?;
            count += 1;
        }
        Ok(count)
    })?;
    for ((path, place), load) in args.loads.iter().zip(&places).zip(&all) {
        print_message(format_args!(
            "{}: {} requests, sectors {} to {} are now {} to {}",
            shown(&path),
            load.requests,
            load.begin / SECTOR,
            load.end / SECTOR,
            place.begin / SECTOR,
            place.end / SECTOR
        ));
    }
    Ok(Exit::Fine)
}

fn ramp_of(args: &RampArgs) -> Result<Exit, Failure> {
    let input = iosonar_inputs::text(&args.load)?;
    let name = shown(&args.load);
    let path = args.load.clone();
    let tell_skipped = move |notice: Notice| print_message(notice.text(&path));
    let requests =
        filtered(Text::once(input), &Pipeline::default(), args.skip_bad, &Room::default(), tell_skipped);
    let requests = requests.map_err(Failure::refused)?;
    let count = new_load::write("--out", &args.out, |mut out| {
        writeln!(out, "{LOAD_HEADER}")?;
        let mut count = 0;
        for (request, time) in requests.zip(ramp::times(args.growth)) {
            let request = request.with_context(|| name.to_string()).map_err(Failure::refused)?;
            write_request(&mut out, &TimedRequest { time, ..request })?;
            count += 1;
        }
        Ok(count)
    })?;
    if count > 0 {
        return Ok(Exit::Fine);
    }
    print_message(format_args!("iosonar: {name} contains no request"));
    Ok(Exit::Failed)
}
