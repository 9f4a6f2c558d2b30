//! Which machines execute a plan, from words like `node[01-16]:/dev/sdx`.

use iosonar_plan::{Executor, Host, Job, Plan, Target};
use iosonar_text::shown;
use std::path::{Path, PathBuf};

/// Name of this machine among those of a placement.
const HERE: &str = "local";
/// Most machines.
const MOST: usize = 4096;

/// Why words do not say where a plan is executed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PlacementError(pub(crate) String);

/// A machine, and the target that is named with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// `None`: this machine.
    host: Option<String>,
    target: Option<PathBuf>,
}

/// Machines of a run, and their targets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Placement(Vec<Place>);

impl Placement {
    /// Reads words of the form `HOST` or `HOST:TARGET`. A host may have ranges in brackets, as in `node[01-16,20]`; `local` is this
    /// machine, and an IPv6 address stands in brackets. `@FILE` stands for the words in a file, one a line.
    ///
    /// # Errors
    /// A word has no such form, or a file cannot be read.
    pub fn parse(words: &[String]) -> Result<Placement, PlacementError> {
        let mut places = Vec::new();
        for word in words {
            match word.strip_prefix('@') {
                Some(file) => {
                    let lines = lines_of(Path::new(file))?;
                    let wrong = |why| PlacementError(format!("{}: {why}", shown(file)));
                    if lines.is_empty() {
                        return Err(wrong(PlacementError("it names no host".into())));
                    }
                    lines.iter().try_for_each(|line| add(&mut places, line).map_err(wrong))?;
                }
                None => add(&mut places, word)?,
            }
        }
        Ok(Placement(places))
    }

    /// Whether there is a machine.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The targets that are named with a machine.
    pub fn targets(&self) -> Vec<PathBuf> {
        self.0.iter().filter_map(|place| place.target.clone()).collect()
    }

    /// Whether a machine is named without a target.
    pub fn has_open_hosts(&self) -> bool {
        self.0.iter().any(|place| place.target.is_none())
    }

    /// The machines in the order of their words, each with its target; `None`: this machine.
    pub fn places(&self) -> impl Iterator<Item = (Option<&str>, Option<&Path>)> {
        self.0.iter().map(|place| (place.host.as_deref(), place.target.as_deref()))
    }

    /// Each target with its machine: those that are `typed` on each machine without a target, or else on this one, and those that are named
    /// with a machine.
    pub fn each(&self, typed: &[PathBuf]) -> Vec<(Option<String>, PathBuf)> {
        let open = self.0.iter().filter(|place| place.target.is_none()).map(|place| place.host.clone());
        let open: Vec<Option<String>> = if self.has_open_hosts() { open.collect() } else { vec![None] };
        let spread = open.iter().flat_map(|host| typed.iter().map(|target| (host.clone(), target.clone())));
        let bound = self.0.iter().filter_map(|place| Some((place.host.clone(), place.target.clone()?)));
        spread.chain(bound).collect()
    }

    /// Places the targets of a plan, of which the last ones are those of [`Placement::targets`]. A machine without a target gets a copy of
    /// all others without an executor; without such a machine, they stay here. `host` completes the name of a machine.
    #[must_use]
    pub fn place(&self, plan: Plan, host: impl Fn(&str) -> Host) -> Plan {
        let executor = |place: &Place| match &place.host {
            Some(name) => Executor::Host(host(name)),
            None => Executor::Thread,
        };
        let open: Vec<Executor> =
            self.0.iter().filter(|place| place.target.is_none()).map(executor).collect();
        let bound: Vec<Executor> =
            self.0.iter().filter(|place| place.target.is_some()).map(executor).collect();
        let first_bound = plan.targets.len().saturating_sub(bound.len());
        let mut targets: Vec<Target> = Vec::new();
        // By the number of a target, the numbers of its copies.
        let mut copies: Vec<Vec<u16>> = vec![Vec::new(); plan.targets.len()];
        let mut push = |number: usize, target: &Target, executor: &Executor| {
            copies[number].push(targets.len() as u16);
            targets.push(Target { executor: executor.clone(), ..target.clone() });
        };
        let (free, last) = plan.targets.split_at(first_bound);
        let is_spread = |target: &Target| target.executor == Executor::Thread && !open.is_empty();
        let kept = free.iter().enumerate().filter(|(_, target)| !is_spread(target));
        kept.for_each(|(number, target)| push(number, target, &target.executor));
        for executor in &open {
            let spread = free.iter().enumerate().filter(|(_, target)| is_spread(target));
            spread.for_each(|(number, target)| push(number, target, executor));
        }
        for ((number, target), executor) in last.iter().enumerate().zip(&bound) {
            push(first_bound + number, target, executor);
        }
        with_copies(Plan { targets, ..plan }, &copies)
    }
}

/// Gives the copies of a target its jobs. `copies`: their numbers, by the number that the target had.
pub(crate) fn with_copies(mut plan: Plan, copies: &[Vec<u16>]) -> Plan {
    for phase in &mut plan.phases {
        let copy = |job: &Job| {
            let numbers = copies.get(usize::from(job.target)).cloned().unwrap_or_default();
            numbers.into_iter().map(|target| Job { target, ..job.clone() }).collect::<Vec<_>>()
        };
        phase.jobs = phase.jobs.iter().flat_map(copy).collect();
        phase.jobs.sort_by_key(|job| job.target);
    }
    plan
}

/// Words in a file: one a line, without comments.
fn lines_of(file: &Path) -> Result<Vec<String>, PlacementError> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| PlacementError(format!("{}: {error}", shown(&file))))?;
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    Ok(lines.filter(|line| !line.is_empty()).map(String::from).collect())
}

fn add(places: &mut Vec<Place>, word: &str) -> Result<(), PlacementError> {
    let (names, target) = split(word)?;
    let target = target.map(PathBuf::from);
    for name in expand(names, word)? {
        if name.contains('/') {
            return Err(PlacementError(format!(
                "{}: '{}' is a path, and no name of a host: write a target before --on, or as HOST:TARGET",
                shown(word),
                shown(&name)
            )));
        }
        if name.is_empty() || name.starts_with('-') || name.contains(char::is_whitespace) {
            return Err(PlacementError(format!("{}: '{}' is no name of a host", shown(word), shown(&name))));
        }
        places.push(Place { host: Some(name).filter(|name| name != HERE), target: target.clone() });
    }
    match places.len() > MOST {
        true => Err(PlacementError(format!("{}: a run has at most {MOST} hosts", shown(word)))),
        false => Ok(()),
    }
}

/// Splits a word at the first colon outside of brackets.
fn split(word: &str) -> Result<(&str, Option<&str>), PlacementError> {
    let mut depth = 0u32;
    for (at, c) in word.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => {
                let target = &word[at + 1..];
                return match target.is_empty() {
                    true => Err(PlacementError(format!("{}: no target follows the colon", shown(word)))),
                    false => Ok((&word[..at], Some(target))),
                };
            }
            _ => {}
        }
    }
    Ok((word, None))
}

/// All names of a pattern with ranges in brackets; the brackets of an IPv6 address are removed.
fn expand(names: &str, word: &str) -> Result<Vec<String>, PlacementError> {
    let wrong = |why: &str| PlacementError(format!("{}: {why}", shown(word)));
    let Some((head, rest)) = names.split_once('[') else { return Ok(vec![names.into()]) };
    let (list, tail) = rest.split_once(']').ok_or_else(|| wrong("a bracket is not closed"))?;
    if list.contains(':') {
        return Ok(vec![format!("{head}{list}{tail}")]);
    }
    let tails = expand(tail, word)?;
    let mut expanded = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse::<u32>().map_err(|_| wrong("a number is too large")),
            false => Err(wrong("brackets hold numbers, as in node[01-16,20]")),
        };
        let (from, to) = (number(first)?, number(last)?);
        if to < from || (to - from) as usize >= MOST {
            return Err(wrong("a range ends before it begins, or has too many hosts"));
        }
        // Leading zeros count.
        let width = first.len();
        for n in from..=to {
            if expanded.len() + tails.len() > MOST {
                return Err(wrong("it names too many hosts"));
            }
            expanded.extend(tails.iter().map(|tail| format!("{head}{n:0width$}{tail}")));
        }
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{ByteSize, Generator, Order, Phase, Workload};

    fn placement(words: &[&str]) -> Result<Placement, String> {
        let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        Placement::parse(&words).map_err(|why| why.to_string())
    }

    fn names(words: &[&str]) -> Vec<String> {
        let name = |place: Place| {
            let target = place.target.map(|target| format!(" {}", target.display())).unwrap_or_default();
            place.host.unwrap_or_else(|| "here".into()) + &target
        };
        placement(words).unwrap().0.into_iter().map(name).collect()
    }

    #[test]
    fn ranges_expand_with_their_zeros() {
        assert_eq!(names(&["node[08-10,2]x"]), ["node08x", "node09x", "node10x", "node2x"]);
        assert_eq!(names(&["r[1-2]n[1-2]:/dev/sdx"]).len(), 4);
        assert_eq!(names(&["root@[fe80::1]:/dev/sdx"]), ["root@fe80::1 /dev/sdx"]);
        assert_eq!(names(&["local", "a:/x:y"]), ["here", "a /x:y"]);
    }

    #[test]
    fn files_hold_one_word_a_line() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts");
        std::fs::write(&file, "# all\n\nalpha:/dev/a  # the first\nbeta[1-2]\n").unwrap();
        assert_eq!(names(&[&format!("@{}", file.display())]), ["alpha /dev/a", "beta1", "beta2"]);
        assert!(placement(&["@/no/such/file"]).unwrap_err().starts_with("/no/such/file: "));
        // Otherwise the run would be one on this machine.
        std::fs::write(&file, "# none\n").unwrap();
        let empty = placement(&[&format!("@{}", file.display())]).unwrap_err();
        assert!(empty.ends_with(": it names no host"), "{empty}");
    }

    #[test]
    fn names_what_is_wrong_with_a_word() {
        for (word, why) in [
            ("-oProxyCommand=x", "-oProxyCommand=x: '-oProxyCommand=x' is no name of a host"),
            ("", ": '' is no name of a host"),
            ("a b", "a b: 'a b' is no name of a host"),
            (
                "/dev/x",
                "/dev/x: '/dev/x' is a path, and no name of a host: write a target before --on, or as HOST:TARGET",
            ),
            ("a:", "a:: no target follows the colon"),
            ("a[1-", "a[1-: a bracket is not closed"),
            ("a[x]", "a[x]: brackets hold numbers, as in node[01-16,20]"),
            ("a[3-1]", "a[3-1]: a range ends before it begins, or has too many hosts"),
            ("a[1-4294967295]", "a[1-4294967295]: a range ends before it begins, or has too many hosts"),
            ("a[1-4000]b[1-4000]", "a[1-4000]b[1-4000]: it names too many hosts"),
        ] {
            assert_eq!(placement(&[word]).unwrap_err(), why);
        }
    }

    fn plan(paths: &[&str]) -> Plan {
        let job = |target| {
            Job::new(target, 1, Workload::Generated(Generator::new(Order::Sequential, ByteSize(4096))))
        };
        let targets = paths.iter().map(Target::new).collect();
        Plan::new(1, targets, vec![Phase::of((0..paths.len() as u16).map(job).collect())])
    }

    fn placed(words: &[&str], paths: &[&str]) -> Vec<String> {
        let placement = placement(words).unwrap();
        let all: Vec<String> = paths
            .iter()
            .map(|path| path.to_string())
            .chain(placement.targets().iter().map(|t| t.display().to_string()))
            .collect();
        let plan = placement
            .place(plan(&all.iter().map(String::as_str).collect::<Vec<_>>()), |name| Host::new(name));
        let jobs: Vec<u16> = plan.phases[0].jobs.iter().map(|job| job.target).collect();
        assert_eq!(jobs, (0..plan.targets.len() as u16).collect::<Vec<_>>());
        let name = |target: &Target| {
            let host = target.executor.host().map_or("here", |host| host.name.as_str());
            format!("{host} {}", target.path.display())
        };
        plan.targets.iter().map(name).collect()
    }

    #[test]
    fn hosts_without_a_target_get_all_targets() {
        assert_eq!(placed(&["a", "b"], &["x", "y"]), ["a x", "a y", "b x", "b y"]);
        assert_eq!(placed(&["a", "local"], &["x"]), ["a x", "here x"]);
    }

    #[test]
    fn targets_stay_here_if_each_host_has_one() {
        assert_eq!(placed(&["a:z", "b:z"], &["x"]), ["here x", "a z", "b z"]);
        assert_eq!(placed(&["a", "b:z"], &["x"]), ["a x", "b z"]);
        assert_eq!(placed(&["a:z"], &[]), ["a z"]);
    }
}
