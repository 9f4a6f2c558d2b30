//! Loads for overload tests.

use super::output::NewLoad;
use super::question::Overload;
use super::reading::{check_stdin, read};
use anyhow::{Context, anyhow};
use iosonar_host::Root;
use iosonar_host::output::{Existing, Gate, OutputFolder, OutputName, check_absent};
use iosonar_load::derive::overload::{Cutter, Snippet, Snippets};
use iosonar_os::create::{new_dir, rename_new};
use iosonar_os::made::OwnDir;
use iosonar_plan::Nanos;
use iosonar_runner::{Error, Session};
use iosonar_text::shown;
use iosonar_trace::blkreplay::{LOAD_HEADER, write_demand};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Cuts loads into snippets, and deals them to new loads, the busiest first. Returns what was made, a line each.
///
/// # Errors
/// A load cannot be read or holds nothing, or an output exists.
pub fn overload(session: &Session, question: &Overload) -> Result<String, Error> {
    check_stdin(&question.loads)?;
    if question.window == Nanos(0) {
        return Err(Error::refused(anyhow!("--window 0: a snippet holds nothing: give a time above 0")));
    }
    let splits = splits(question)?;
    let snippets = cut(session, question)?;
    let root = Root::default();
    let gate = Gate::new(&root);
    let folder = OutputFolder::open(&gate, OutputName::new("--out", &question.out), Existing::Keep);
    let folder = folder.map_err(Error::refused)?;
    let mut lines = words(question, &snippets);
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
            .with_context(|| format!("cannot make {}", shown(&split.dir)))
            .map_err(Error::broke)?;
    }
    folder.keep();
    Ok(lines)
}

/// The directories to be created; existing ones are refused.
fn splits(question: &Overload) -> Result<Vec<Split>, Error> {
    let base = base_of(&question.loads[0]);
    let mut numbers = question.split.clone();
    numbers.sort_unstable();
    numbers.dedup();
    let split = |loads: u32| {
        let dir = question.out.join(format!("{base}.derived.split.{loads:03}"));
        check_absent("--out", &dir).map_err(Error::refused)?;
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

fn cut(session: &Session, question: &Overload) -> Result<Snippets, Error> {
    let mut cutter = Cutter::new(question.window)
        .map_err(|error| Error::from(error).context("cannot keep the requests"))?;
    for path in &question.loads {
        let load = read(session, path, iosonar_inputs::text(path)?, question.reading, true)?;
        cutter.add(load).with_context(|| shown(&path).to_string()).map_err(Error::refused)?;
    }
    let snippets = cutter
        .finish(question.keep_rest)
        .map_err(|error| Error::from(error).context("cannot keep the requests"))?;
    if !snippets.order().is_empty() {
        return Ok(snippets);
    }
    Err(Error::refused(match snippets.rest() {
        None => anyhow!("{}: it contains no request", shown(&question.loads[0])),
        Some(rest) => anyhow!(
            "all {} requests lie within one window of {}, which was not over: use a smaller --window, or --keep-rest",
            rest.requests,
            question.window
        ),
    }))
}

/// Maximum number of snippets listed one by one.
const TOLD: usize = 20;

fn words(question: &Overload, snippets: &Snippets) -> String {
    let word = |s: &Snippet| format!("{} ({})", s.number, s.requests);
    let mut first: Vec<String> = snippets.order().iter().take(TOLD).map(word).collect();
    let more = snippets.order().len().saturating_sub(TOLD);
    if more > 0 {
        first.push(format!("and {more} more"));
    }
    let mut text = format!(
        "{} snippets of {}, the busiest first, as number (requests): {}\n",
        snippets.order().len(),
        question.window,
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
    fn write(&self, snippets: &Snippets) -> Result<(OwnDir, String), Error> {
        let dir = shown(&self.dir);
        let cannot = || format!("cannot make {dir}");
        let beside = self.dir.parent().unwrap_or(Path::new("."));
        let partial = OwnDir::new_in(beside, "derive").with_context(cannot).map_err(Error::broke)?;
        new_dir(&filled(&partial)).with_context(cannot).map_err(Error::broke)?;
        let loads = self.loads.min(snippets.order().len());
        let mut requests = 0;
        for number in 0..loads {
            let name = format!("{}.derived.{number:03}.of.{}.load.gz", self.base, self.loads);
            let path = filled(&partial).join(name);
            let load = NewLoad { option: "--out", path: &path };
            requests += load.write_file(|out| write_part(out, snippets, number, self.loads))?;
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
) -> Result<u64, Error> {
    writeln!(out, "{LOAD_HEADER}")?;
    let mut count = 0;
    for request in snippets.load(number, loads) {
        let r = request.context("cannot read the temporary file").map_err(Error::broke)?;
        write_demand(&mut out, &r)?;
        count += 1;
    }
    Ok(count)
}
