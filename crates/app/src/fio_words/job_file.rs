//! Job files of fio: they are not read as plans, but equivalent commands can be suggested.

use super::{translate, word};
use iosonar_text::shell::{is_plain, quoted};
use std::ffi::OsString;
use std::path::Path;

/// Engines of fio that have one request in flight, whatever `iodepth` says.
const SERIAL: &[&str] = &["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap"];
/// Options for the order in which jobs start. Commands are typed one after the other.
const ORDER: &[&str] = &["stonewall", "wait_for_previous", "wait_for", "new_group"];

/// Whether a line, given as the words after `iosonar run`, is accepted; otherwise the reason.
pub type Accepts<'a> = &'a dyn Fn(&[OsString]) -> Result<(), String>;

/// A line of a section: an option with its value, and its spelling there.
#[derive(Debug, Clone)]
struct Entry {
    name: String,
    value: Option<String>,
}

/// A job with the options of `[global]` before it.
struct Job {
    section: String,
    entries: Vec<Entry>,
}

/// Suggests commands equivalent to a job file; `None` if `text` is no job file.
pub fn suggestions(text: &str, accepts: Accepts<'_>) -> Option<Vec<String>> {
    let jobs = jobs(text)?;
    let is_waited_for = |job: &Job| job.entries.iter().any(|entry| ORDER[..3].contains(&entry.canonical()));
    let at_once = jobs.len() > 1 && !jobs[1..].iter().all(is_waited_for);
    let mut lines: Vec<String> = jobs.iter().flat_map(|job| job.suggestion(accepts)).collect();
    if at_once {
        lines.push("fio runs these jobs at the same time, and a shell one after the other: docs/plan.md shows plans with several".into());
    }
    Some(lines)
}

/// Parses the jobs of a file; `None` if it is no job file.
fn jobs(text: &str) -> Option<Vec<Job>> {
    let mut global: Vec<Entry> = Vec::new();
    let mut jobs: Vec<Job> = Vec::new();
    let (mut in_global, mut options, mut has_section) = (true, 0, false);
    for line in text.lines() {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            has_section = true;
            in_global = section.eq_ignore_ascii_case("global");
            if !in_global {
                jobs.push(Job { section: section.into(), entries: global.clone() });
            }
        } else if !line.is_empty() {
            let entry = Entry::of(line);
            // A plan has fields before its sections.
            if !has_section && entry.name == "version" {
                return None;
            }
            options += usize::from(word(&entry.name).is_some());
            match jobs.last_mut().filter(|_| !in_global) {
                Some(job) => job.entries.push(entry),
                None => global.push(entry),
            }
        }
    }
    (!jobs.is_empty() && options > 0).then_some(jobs)
}

impl Entry {
    fn of(line: &str) -> Entry {
        let (name, value) = line.split_once('=').map_or((line, None), |(n, v)| (n.trim(), Some(v.trim())));
        Entry { name: name.into(), value: value.map(|value| value.replace("%%", "%")) }
    }

    fn new(name: &str, value: &str) -> Entry {
        Entry { name: name.into(), value: Some(value.into()) }
    }

    /// fio's primary name of it.
    fn canonical(&self) -> &str {
        word(&self.name).map_or(&self.name, |word| word.names[0])
    }

    fn text(&self) -> String {
        self.value.as_ref().map_or(self.name.clone(), |value| format!("{}={value}", self.name))
    }

    fn argument(&self) -> String {
        format!("--{}", self.text())
    }
}

impl Job {
    fn last(&self, name: &str) -> Option<&str> {
        let entry = self.entries.iter().rfind(|entry| entry.canonical() == name)?;
        Some(entry.value.as_deref().unwrap_or("1"))
    }

    /// Its name, which needs no quotes.
    fn name(&self) -> String {
        let name = self.last("name").unwrap_or(&self.section);
        name.chars().map(|c| if is_plain(c) && c != '/' { c } else { '_' }).collect()
    }

    /// The last of each option, in their order.
    fn options(&self) -> Vec<Entry> {
        let is_last = |at: usize| {
            let name = self.entries[at].canonical();
            !self.entries[at + 1..].iter().any(|later| later.canonical() == name)
        };
        let places = (0..self.entries.len()).filter(|at| is_last(*at));
        places
            .map(|at| self.entries[at].clone())
            .filter(|entry| !["name", "directory"].contains(&entry.canonical()))
            .collect()
    }

    /// The file that fio would create for the job.
    fn file(&self) -> String {
        let name = format!("{}.0.0", self.name());
        self.last("directory")
            .map_or(name.clone(), |dir| Path::new(dir).join(&name).to_string_lossy().into_owned())
    }

    /// fio's defaults for options that the job lacks.
    fn defaults(&self) -> Vec<Entry> {
        let lacks = |names: &[&str]| names.iter().all(|name| self.last(name).is_none());
        let default = |names: &[&str], entry: Entry| lacks(names).then_some(entry);
        [
            default(&["rw"], Entry::new("rw", "read")),
            default(&["ioengine"], Entry::new("ioengine", "psync")),
            default(&["direct", "buffered"], Entry::new("direct", "0")),
            default(&["filename"], Entry::new("filename", &self.file())),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The command that creates the file, the one that runs the job, and the omitted options.
    fn suggestion(&self, accepts: Accepts<'_>) -> Vec<String> {
        let (left, options): (Vec<Entry>, Vec<Entry>) = self
            .options()
            .into_iter()
            .partition(|entry| ORDER.contains(&entry.canonical()) || self.is_serial_depth(entry));
        let mut left: Vec<Entry> =
            left.into_iter().filter(|entry| !ORDER.contains(&entry.canonical())).collect();
        let named = vec![Entry::new("name", &self.name())];
        let (kept, refused) = chosen(named, self.defaults().into_iter().chain(options).collect(), accepts);
        left.extend(refused);
        let words: Vec<String> = kept.iter().map(|entry| quoted(&entry.argument())).collect();
        let mut lines = Vec::new();
        if self.last("filename").is_none() {
            let size = self.last("size").or(self.last("filesize")).filter(|size| !size.contains('%'));
            lines.push(format!(
                "iosonar fill {} --size {}",
                quoted(&self.file()),
                quoted(size.unwrap_or("SIZE"))
            ));
        }
        lines.push(format!("iosonar run {}", words.join(" ")));
        if !left.is_empty() {
            let words: Vec<String> = left.iter().map(Entry::text).collect();
            lines.push(format!("  omitted: {}", words.join(", ")));
        }
        lines
    }

    fn is_serial_depth(&self, entry: &Entry) -> bool {
        let has_one = entry.value.as_deref() == Some("1");
        entry.canonical() == "iodepth"
            && !has_one
            && self.last("ioengine").is_none_or(|engine| SERIAL.contains(&engine))
    }
}

/// The options that are accepted together, and the others. An option may depend on a later one.
fn chosen(mut kept: Vec<Entry>, options: Vec<Entry>, accepts: Accepts<'_>) -> (Vec<Entry>, Vec<Entry>) {
    let is_accepted = |kept: &[Entry]| {
        let words: Vec<OsString> = kept.iter().map(|entry| entry.argument().into()).collect();
        let line = ["iosonar", "run"].into_iter().map(OsString::from).chain(words);
        translate(line).and_then(|line| accepts(&line.args)).is_ok()
    };
    // These suffice for a command.
    let (needed, mut waiting): (Vec<Entry>, Vec<Entry>) =
        options.into_iter().partition(|entry| ["rw", "filename"].contains(&entry.canonical()));
    kept.extend(needed);
    let mut left = Vec::new();
    if !is_accepted(&kept) {
        left.extend(without_sequence(&mut kept));
    }
    loop {
        let before = waiting.len();
        waiting.retain(|entry| {
            kept.push(entry.clone());
            let fits = word(&entry.name).is_some() && is_accepted(&kept);
            if !fits {
                kept.pop();
            }
            !fits
        });
        if waiting.len() == before || waiting.is_empty() {
            left.extend(waiting);
            return (kept, left);
        }
    }
}

/// Removes the part of `rw` after the colon; returns the original option.
fn without_sequence(kept: &mut [Entry]) -> Option<Entry> {
    let rw = kept.iter_mut().find(|entry| entry.canonical() == "rw")?;
    let whole = rw.clone();
    let (kind, _) = whole.value.as_deref()?.split_once(':')?;
    rw.value = Some(kind.into());
    Some(whole)
}
