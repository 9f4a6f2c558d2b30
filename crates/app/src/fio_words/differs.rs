//! Words of fio that result in another load after `run`: the differences are printed before each run.

use super::TypedWord;

/// Engines of fio that have one request in flight, whatever `iodepth` says, and that take more here.
const SERIAL_IN_FIO: &[&str] = &["psync"];
/// Engines that use no file, or always use the page cache.
const WITHOUT_DIRECT: &[&str] = &["null", "sim", "mmap", "stdio"];

/// The words of a line; the last of each counts.
struct Line<'a>(&'a [TypedWord]);

/// Differences of fio's behaviour with these words, a sentence each.
pub(super) fn notes(seen: &[TypedWord]) -> Vec<String> {
    let line = Line(seen);
    let mut notes: Vec<String> = line.rates();
    notes.extend(line.amount());
    notes.extend(line.depth());
    notes.extend(line.page_cache());
    notes
}

impl<'a> Line<'a> {
    fn last(&self, name: &str) -> Option<&'a str> {
        self.0.iter().rfind(|seen| seen.name == name).map(|seen| seen.value.as_str())
    }

    fn is_on(&self, name: &str) -> bool {
        self.last(name) == Some("1")
    }

    /// Whether a word has a spelling that only fio accepts: then the line was written for fio.
    fn is_fios(&self) -> bool {
        self.0.iter().any(|seen| !seen.is_ours)
    }

    fn number(&self, name: &str) -> u64 {
        self.last(name).and_then(|value| value.parse().ok()).unwrap_or(1)
    }

    fn kind(&self) -> &'a str {
        self.last("rw").unwrap_or_default()
    }

    fn is_mixed(&self) -> bool {
        matches!(self.kind(), "rw" | "readwrite" | "randrw")
    }

    /// Rates apply to the run here, and to each job and direction in fio.
    fn rates(&self) -> Vec<String> {
        let (jobs, mixed) = (self.number("numjobs"), self.is_mixed());
        let holds = match (jobs > 1, mixed) {
            (false, false) => return Vec::new(),
            (true, false) => format!("for each of the {jobs} jobs"),
            (false, true) => "for reads and for writes, each".to_string(),
            (true, true) => format!("for each of the {jobs} jobs, and for reads and for writes, each"),
        };
        let times = jobs.saturating_mul(if mixed { 2 } else { 1 });
        let note = |(theirs, ours): (&str, &str)| {
            let value = self.last(theirs)?;
            let remedy = scaled(value, times).map_or(String::new(), |all| {
                let mix = if mixed { " --rwmixread=50" } else { "" };
                format!(", {all} in all: --{ours}={all}{mix} is as much")
            });
            Some(format!(
                "--{theirs}={value} holds for all requests together here; in fio it holds {holds}{remedy}"
            ))
        };
        [("rate_iops", "rate-iops"), ("rate", "rate")].into_iter().filter_map(note).collect()
    }

    /// Amounts apply to the run here, and to each job in fio.
    fn amount(&self) -> Option<String> {
        let jobs = self.number("numjobs");
        if jobs < 2 {
            return None;
        }
        if self.is_on("time_based") {
            let is_sequential = matches!(self.kind(), "read" | "write" | "rw" | "readwrite" | "trim");
            return is_sequential.then(|| {
                format!("--numjobs={jobs}: the jobs share one sequence here; in fio each of them goes through the region from its start")
            });
        }
        let remedy = |option: &str, value: Option<&str>| match value.and_then(|value| scaled(value, jobs)) {
            Some(all) => format!("{option}={all}"),
            None => format!("--passes={jobs}"),
        };
        let (what, remedy) = match (self.last("number_ios"), self.last("io_size"), self.last("size")) {
            (Some(count), ..) => {
                (format!("--number_ios={count} requests"), remedy("--number-ios", Some(count)))
            }
            (_, Some(size), _) => (format!("--io_size={size}"), remedy("--io-size", Some(size))),
            (.., Some(size)) => (format!("--size={size}"), remedy("--io-size", Some(size))),
            _ => ("the whole target".into(), remedy("--io-size", None)),
        };
        Some(format!(
            "--numjobs={jobs}: the jobs do {what} together here; in fio each of them does as much: {remedy} is as much as in fio"
        ))
    }

    /// fio's default engine has one request in flight.
    fn depth(&self) -> Option<String> {
        let depth = self.number("iodepth");
        let engine = self.last("ioengine");
        let is_default = engine.is_none() && self.is_fios();
        if depth < 2 || !(is_default || engine.is_some_and(|engine| SERIAL_IN_FIO.contains(&engine))) {
            return None;
        }
        let why = if is_default { "without --ioengine fio uses psync, which" } else { "fio's psync" };
        Some(format!(
            "--iodepth={depth}: {why} has one request in flight; here there are up to {depth}: --iodepth=1 is as in fio"
        ))
    }

    /// fio uses the page cache by default, and first evicts its files from it.
    fn page_cache(&self) -> Option<String> {
        let has_target = self.last("filename").is_some() || self.last("rw").is_some();
        let is_elsewhere = self.last("ioengine").is_some_and(|engine| WITHOUT_DIRECT.contains(&engine));
        if !self.is_fios() || !has_target || is_elsewhere {
            return None;
        }
        let (direct, buffered) = (self.last("direct"), self.last("buffered"));
        if direct.is_none() && buffered.is_none() {
            return Some(
                "without --direct=1 fio goes through the page cache; run bypasses it: --direct=0 is as in fio".into(),
            );
        }
        let is_buffered = direct == Some("0") || self.is_on("buffered");
        let reads = !matches!(self.kind(), "write" | "randwrite" | "trim" | "randtrim");
        (is_buffered && reads && self.last("invalidate") != Some("0")).then(|| {
            "before it starts fio removes its files from the page cache (invalidate=1), and run does not: 'iosonar cache evict FILE' \
             does"
                .into()
        })
    }
}

/// Multiplies a whole number with its unit; `None` for a percentage or a number that is not whole.
fn scaled(value: &str, times: u64) -> Option<String> {
    let digits = value.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = value.split_at(digits);
    let number: u64 = number.parse().ok()?;
    unit.bytes().all(|b| b.is_ascii_alphabetic()).then(|| format!("{}{unit}", number.saturating_mul(times)))
}
