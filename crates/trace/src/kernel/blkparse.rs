//! Output of `blkparse(1)`, in its default format or one of `-f`.
//!
//! The format is a text with fields (`%D`, `%T` …); a line is read by finding these fields. The rest of the line is
//! ignored, so that the default format reads all actions, which print differently.

use super::event::{Action, BEYOND, Device, Event, Events, Origin, Rwbs};
use crate::cursor::Cursor;
use crate::request::{Bad, Entry, Kind, Next, Process};
use crate::text::{Lines, whole};
use iosonar_plan::{Nanos, SECTOR};
use std::collections::HashMap;
use std::io::BufRead;
use std::str::FromStr;

/// blkparse's default format; completions have an error in the brackets instead of a name.
const DEFAULT: &str = "%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]";

/// Formats tried if none is given: blkparse's default, and common ones of scripts.
pub const COMMON: [&str; 8] = [
    DEFAULT,
    "%T.%t %p %C %a %d %S %n",
    "%T.%t %a %d %S %n",
    "%D %T.%t %a %d %S %n",
    "%a %d %T.%t %S %n",
    "%M %m %a %T.%t %S %n %d",
    "%T.%t, %p, %C, %a, %d, %S, %n, %N",
    "%T.%t, %p, %C, %a, %S, %n, %N",
];

/// One field of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Action,
    Cpu,
    Name,
    Rwbs,
    Device,
    Major,
    Minor,
    Error,
    Bytes,
    Sectors,
    Pid,
    Sector,
    Sequence,
    Seconds,
    Nanos,
    Micros,
}

impl Field {
    fn of(letter: u8) -> Option<Field> {
        Some(match letter {
            b'a' => Field::Action,
            b'c' => Field::Cpu,
            b'C' => Field::Name,
            b'd' => Field::Rwbs,
            b'D' => Field::Device,
            b'e' => Field::Error,
            b'M' => Field::Major,
            b'm' => Field::Minor,
            b'N' => Field::Bytes,
            b'n' => Field::Sectors,
            b'p' => Field::Pid,
            b'S' => Field::Sector,
            b's' => Field::Sequence,
            b'T' => Field::Seconds,
            b't' => Field::Nanos,
            b'u' => Field::Micros,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PatternPart {
    /// Any number of blanks.
    Blank,
    /// This character.
    Literal(char),
    Field(Field),
}

/// A line format, as `blkparse -f` takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    parts: Vec<PatternPart>,
    is_default: bool,
    /// Direction of all requests, if lines do not have it.
    direction: Option<Kind>,
}

impl Default for Form {
    fn default() -> Form {
        DEFAULT.parse().expect("blkparse's own form is one")
    }
}

impl FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Form, String> {
        let mut parts = Vec::new();
        let is_default = text == DEFAULT;
        let text = text.replace("\\n", " ").replace("\\t", " ");
        let mut chars = text.trim().chars().peekable();
        while let Some(char) = chars.next() {
            match char {
                ' ' | '\t' => {
                    if parts.last() != Some(&PatternPart::Blank) {
                        parts.push(PatternPart::Blank);
                    }
                }
                '%' => {
                    while chars.next_if(|c| c.is_ascii_digit() || *c == '-').is_some() {}
                    let letter = chars.next().ok_or("it ends after a '%'")?;
                    let field = u8::try_from(letter).ok().and_then(Field::of).ok_or_else(|| {
                        format!("the field '%{}' is not read; there are %a %c %C %d %D %e %m %M %n %N %p %s %S %t %T %u", letter)
                    })?;
                    parts.push(PatternPart::Field(field));
                }
                other => parts.push(PatternPart::Literal(other)),
            }
        }
        let has = |f: Field| parts.contains(&PatternPart::Field(f));
        if !(has(Field::Action) && has(Field::Sector)) {
            return Err("it needs %a (action) and %S (sector)".into());
        }
        if !(has(Field::Sectors) || has(Field::Bytes)) {
            return Err("it needs %n (sectors) or %N (bytes)".into());
        }
        if !has(Field::Seconds) {
            return Err("it needs the time, as %T.%t".into());
        }
        Ok(Form { parts, is_default, direction: None })
    }
}

impl Form {
    /// Whether lines contain the direction (`%d`); otherwise [`Form::of_direction`] sets it.
    pub fn has_direction(&self) -> bool {
        self.parts.contains(&PatternPart::Field(Field::Rwbs))
    }

    /// The format for lines selected by direction with `blkparse -a`, which may lack the direction.
    #[must_use]
    pub fn of_direction(self, direction: Kind) -> Form {
        Form { direction: Some(direction), ..self }
    }
}

/// Returns the first format of [`COMMON`] that reads the most lines; `None` if none reads a quarter.
pub fn recognise<'a>(lines: impl Iterator<Item = &'a str> + Clone) -> Option<Form> {
    let forms = COMMON.iter().map(|form| form.parse::<Form>().expect("common forms are forms"));
    let read = |form: &Form| lines.clone().filter(|line| form.recognises(line)).count();
    let scored: Vec<(Form, usize)> = forms.map(|form| (form.clone(), read(&form))).collect();
    let most = scored.iter().map(|(_, n)| *n).max().filter(|n| *n > 0 && 4 * n >= lines.count())?;
    scored.into_iter().find(|(_, n)| *n == most).map(|(form, _)| form)
}

/// Field values of a line.
#[derive(Default)]
struct LineFields<'a> {
    values: [Option<&'a str>; 16],
}

impl<'a> LineFields<'a> {
    fn text(&self, field: Field) -> &'a str {
        self.values[field as usize].unwrap_or_default()
    }

    fn number(&self, field: Field) -> Option<u64> {
        whole(self.text(field))
    }
}

impl Form {
    /// Whether a line is an event in this format.
    pub fn recognises(&self, line: &str) -> bool {
        let mut found = LineFields::default();
        self.find(line.trim(), &mut found);
        let letters = found.text(Field::Rwbs);
        letters.bytes().all(|b| b.is_ascii_uppercase()) && matches!(self.read(1, line), Ok(Some(_)))
    }

    /// Parses the event of a line; `None` if the line is something else.
    fn read(&self, at: u64, line: &str) -> Result<Option<Event>, String> {
        let mut found = LineFields::default();
        let rest = self.find(line.trim(), &mut found);
        let letter = found.text(Field::Action);
        let has_time = found.number(Field::Seconds).is_some();
        // All letters of blkparse.
        let is_action = matches!(letter.as_bytes(), [b'A'..=b'D' | b'F' | b'G' | b'I' | b'M' | b'P'..=b'R' | b'S' | b'T' | b'U' | b'X' | b'm'] | [b'U', b'T']);
        let is_event = is_action && has_time;
        if !is_event {
            return Ok(None);
        }
        let action = if letter.len() == 1 { Action::of_letter(letter.as_bytes()[0]) } else { Action::Other };
        let mut event = self.head(at, &found, action)?;
        // Plugs, messages and the like have no place; splits have no length.
        if matches!(action, Action::Other | Action::Split) {
            return Ok(Some(event));
        }
        if action == Action::Remap {
            // Remaps: only the place matters, and not all formats have it.
            let (sector, sectors) = (found.number(Field::Sector), found.number(Field::Sectors));
            let bytes = sectors.and_then(|sectors| sectors.checked_mul(SECTOR));
            let moved = Event { sector: sector.unwrap_or(0), bytes: bytes.unwrap_or(0), ..event };
            return Ok(Some(if moved.is_possible() { moved } else { event }));
        }
        let sector = found.text(Field::Sector);
        // Flushes have no place, only a name or an error.
        if sector.is_empty() || sector.starts_with(['[', '(']) {
            bracketed(&mut event, line.rfind(sector).map_or("", |at| &line[at..]));
            return Ok(Some(event));
        }
        let is_bare =
            found.values[Field::Sectors as usize].is_none() && rest.trim_start().starts_with(['[', '(']);
        if is_bare {
            bracketed(&mut event, rest);
        }
        if is_bare && action != Action::Complete {
            // A driver command: the number is its length in bytes.
            event.rwbs.kind = Kind::Other;
            return Ok(Some(event));
        }
        event.sector = whole(sector).ok_or_else(|| format!("the sector '{sector}' is no number"))?;
        let bytes = match found.values[Field::Bytes as usize] {
            Some(bytes) => whole(bytes),
            // A second completion has no length.
            None if is_bare => Some(0),
            None => found.number(Field::Sectors).and_then(|n| n.checked_mul(SECTOR)),
        };
        event.bytes = bytes.ok_or("the length is no number")?;
        if !event.is_possible() {
            return Err(BEYOND.into());
        }
        Ok(Some(event))
    }

    fn rwbs(&self, letters: &str) -> Rwbs {
        let told = Rwbs::parse(letters.as_bytes());
        Rwbs { kind: self.direction.filter(|_| letters.is_empty()).unwrap_or(told.kind), ..told }
    }

    fn head(&self, at: u64, found: &LineFields<'_>, action: Action) -> Result<Event, String> {
        let seconds = found.number(Field::Seconds).ok_or("the time is no number")?;
        let fraction = match (found.text(Field::Nanos), found.text(Field::Micros)) {
            ("", "") => Some(0),
            ("", micros) => whole(micros).map(|n| n * 1000),
            (nanos, _) => whole(nanos),
        };
        let fraction = fraction.filter(|n| *n < 1_000_000_000).ok_or("the time's fraction is no number")?;
        let device = match (found.text(Field::Device), found.number(Field::Major), found.number(Field::Minor))
        {
            ("", Some(major), Some(minor)) => Device::new(major as u32, minor as u32),
            ("", ..) => Some(Device::default()),
            (text, ..) => Device::parse(text),
        };
        let device = device.ok_or("the device is none")?;
        let name = found.text(Field::Name);
        // In the default format, completions have the error instead of the name.
        let error = found.text(Field::Error).parse::<i32>().ok();
        let error = error.or_else(|| (action == Action::Complete).then(|| name.parse().ok()).flatten());
        let name = if action == Action::Complete { "" } else { name };
        let pid = found.number(Field::Pid).and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
        Ok(Event {
            at,
            time: since_first(seconds, fraction).ok_or("the time is too large")?,
            action,
            device,
            sector: 0,
            bytes: 0,
            rwbs: self.rwbs(found.text(Field::Rwbs)),
            process: Process::new(pid, name.as_bytes()),
            error: error.map_or(0, errno),
        })
    }

    /// Finds the fields, from the left, as far as the line follows the format; returns the rest.
    fn find<'a>(&self, line: &'a str, found: &mut LineFields<'a>) -> &'a str {
        let mut rest = line;
        for (i, part) in self.parts.iter().enumerate() {
            match part {
                PatternPart::Blank => rest = rest.trim_start(),
                PatternPart::Literal(char) => match rest.strip_prefix(*char) {
                    Some(behind) => rest = behind,
                    None => return rest,
                },
                PatternPart::Field(field) => {
                    rest = rest.trim_start();
                    let length = match self.parts.get(i + 1) {
                        // A name may contain blanks; it ends at the format's next literal.
                        Some(PatternPart::Literal(char)) => rest.find(*char),
                        _ if *field == Field::Name && i + 1 < self.parts.len() => {
                            self.name_length(rest, i + 1)
                        }
                        _ => rest.find([' ', '\t']).or(Some(rest.len())),
                    };
                    let Some(length) = length.filter(|n| *n > 0) else { return rest };
                    found.values[*field as usize] = Some(&rest[..length]);
                    rest = &rest[length..];
                }
            }
        }
        rest
    }

    /// Length of a name that may contain blanks: all words that the fields after it do not need.
    fn name_length(&self, rest: &str, from: usize) -> Option<usize> {
        let fields = self.parts[from..].iter().filter(|p| matches!(p, PatternPart::Field(_))).count();
        let starts: Vec<usize> = rest
            .match_indices(|c: char| !c.is_whitespace())
            .map(|(i, _)| i)
            .filter(|i| *i == 0 || rest.as_bytes()[i - 1].is_ascii_whitespace())
            .collect();
        let behind = starts.len().checked_sub(fields).filter(|n| *n > 0);
        match behind {
            Some(words) => starts.get(words).map(|start| rest[..*start].trim_end().len()),
            None => rest.find(' '),
        }
    }
}

/// Takes the name, or the error of a completion, from the brackets that end a line without a length.
fn bracketed(event: &mut Event, rest: &str) {
    let inner = rest.split_once('[').and_then(|(_, inner)| inner.trim_end().strip_suffix(']'));
    match (inner, event.action) {
        (Some(error), Action::Complete) => event.error = error.trim().parse().map_or(0, errno),
        (Some(name), _) if event.process.name == [0; 16] => {
            event.process = Process::new(event.process.pid, name.as_bytes());
        }
        _ => {}
    }
}

/// Maximum time by which events of other CPUs precede the first one, from which blkparse counts.
const BEFORE_FIRST_S: u64 = 3_600;
/// blkparse prints such a time as unsigned: these are the seconds of 2^64 ns.
const WRAP_S: u64 = 18_446_744_073;
/// Some versions print 32 bits of the seconds.
const WRAP_32_S: u64 = WRAP_S % (1 << 32);

/// Converts a blkparse time to nanoseconds; times before its first event wrap, as [`super::Paired::from_first`]
/// expects. `None` if invalid.
fn since_first(seconds: u64, nanos: u64) -> Option<Nanos> {
    let is_before = |wrap: u64| (wrap - BEFORE_FIRST_S..=wrap).contains(&seconds);
    let seconds = match () {
        () if is_before(WRAP_32_S) => seconds + (WRAP_S - WRAP_32_S),
        () if seconds < 1 << 33 || is_before(WRAP_S) => seconds,
        () => return None,
    };
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos).map(Nanos)
}

/// Seconds with all nine digits after the point; fewer are not accepted here.
fn time(cursor: &mut Cursor<'_>) -> Option<Nanos> {
    let seconds = cursor.number().filter(|seconds| *seconds < 1 << 33)?;
    cursor.byte(b'.')?;
    let (nanos, digits) = cursor.digits();
    if digits == 9 { since_first(seconds, nanos) } else { None }
}

/// Parses a line of the default format, if it is an event of a request's life and has the usual form.
fn usual(at: u64, line: &[u8]) -> Option<Event> {
    let mut cursor = Cursor::new(line);
    let major = cursor.number()?;
    cursor.byte(b',')?;
    let minor = cursor.value()?;
    let device = Device::new(u32::try_from(major).ok()?, u32::try_from(minor).ok()?)?;
    cursor.gap()?;
    let (_cpu, ()) = (cursor.number()?, cursor.gap()?);
    let (_sequence, ()) = (cursor.number()?, cursor.gap()?);
    let time = time(&mut cursor)?;
    cursor.gap()?;
    let (pid, ()) = (u32::try_from(cursor.number()?).ok()?, cursor.gap()?);
    let action = match cursor.word()? {
        [letter @ (b'Q' | b'G' | b'I' | b'D' | b'C')] => Action::of_letter(*letter),
        _ => return None,
    };
    cursor.gap()?;
    let (rwbs, ()) = (Rwbs::parse(cursor.word()?), cursor.gap()?);
    let (sector, ()) = (cursor.number()?, cursor.gap()?);
    cursor.byte(b'+')?;
    let bytes = cursor.number()?.checked_mul(SECTOR)?;
    let (_, ()) = (cursor.gap()?, cursor.byte(b'[')?);
    let behind = cursor.rest().strip_suffix(b"]")?;
    let is_plain = behind.iter().all(|b| matches!(b, b' '..=b'~') && *b != b']')
        && behind.first().is_some_and(|b| *b != b' ');
    let (name, error) = match (is_plain, action) {
        (false, _) => return None,
        (true, Action::Complete) => (&[][..], std::str::from_utf8(behind).ok()?.parse().ok()?),
        (true, _) => (behind, 0),
    };
    let (process, error) = (Process::new(pid, name), errno(error));
    let event = Event { at, time, action, device, sector, bytes, rwbs, process, error };
    event.is_possible().then_some(event)
}

/// Detects the action of a line that seems to have the default format: the first letter that stands alone after numbers.
fn peek_action(line: &[u8]) -> Option<Action> {
    const AT_ONCE: usize = 16;
    let has_letter = |some: &[u8]| some.iter().fold(false, |found, b| found | (*b >= b'A'));
    let before = AT_ONCE * line.chunks_exact(AT_ONCE).take_while(|some| !has_letter(some)).count();
    let at = before + line[before..].iter().position(|b| *b >= b'A')?;
    match line.get(at.checked_sub(1)?..at + 2)? {
        [b' ', letter @ (b'Q' | b'G' | b'I' | b'D' | b'C'), b' '] => Some(Action::of_letter(*letter)),
        _ => None,
    }
}

/// blkparse prints an errno as 16 bits without sign: 65475 is -61.
fn errno(told: i32) -> i32 {
    if (1 << 15..1 << 16).contains(&told) { (1 << 16) - told } else { told.saturating_abs() }
}

/// Reads a text in one format. Other lines (the summary at the end) are skipped and counted.
pub struct Blkparse<R> {
    lines: Lines<R>,
    form: Form,
    others: u64,
    summary: bool,
    /// Names by process number, for completions, which lack the name.
    names: HashMap<u32, [u8; 16]>,
    /// The process whose name was stored last: usually the next one, too.
    last: Process,
    event: Event,
    moved_from: Option<Origin>,
}

impl<R: BufRead> Blkparse<R> {
    /// Reads decompressed text of a form.
    pub fn new(input: R, form: Form) -> Blkparse<R> {
        let (names, last) = (HashMap::new(), Process::default());
        let (lines, event) = (Lines::new(input), Event::default());
        Blkparse { lines, form, others: 0, summary: false, names, last, event, moved_from: None }
    }

    /// Lines that are no events.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Completions lack the name; it is taken from other events of the same process number.
    fn show(&mut self, event: Event) -> &Event {
        self.event = event;
        let Process { pid, name } = event.process;
        if name == [0; 16] {
            if let Some(known) = self.names.get(&pid) {
                self.event.process.name = *known;
            }
        } else if self.last != event.process {
            self.last = event.process;
            if self.names.len() < 1 << 16 {
                self.names.insert(pid, name);
            }
        }
        &self.event
    }
}

impl<R: BufRead> Events for Blkparse<R> {
    fn next(&mut self) -> Next<&Event> {
        loop {
            if self.form.is_default
                && !self.summary
                && let Some(event) = self.lines.usual(usual)
            {
                return Ok(Some(Entry::One(self.show(event))));
            }
            let at = self.lines.number() + 1;
            let form = &self.form;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            // `CPU0 (8,0):` and `Total (8,0):` start the summary, which contains no events.
            self.summary |= line.starts_with("CPU") && line.ends_with("):");
            if self.summary || line.trim().is_empty() {
                self.others += u64::from(!line.trim().is_empty());
                continue;
            }
            match form.read(at, line) {
                Ok(Some(event)) => {
                    self.moved_from = Origin::parse(line).filter(|_| event.action == Action::Remap);
                    return Ok(Some(Entry::One(self.show(event))));
                }
                Ok(None) => self.others += 1,
                Err(why) => return Ok(Some(Entry::Bad(Bad::line(at, why, line)))),
            }
        }
    }

    fn shown(&self) -> &Event {
        &self.event
    }

    fn moved_from(&self) -> Option<Origin> {
        self.moved_from.filter(|_| self.event.action == Action::Remap)
    }

    fn peek_action(&mut self) -> Option<Action> {
        let is_usual = self.form.is_default && !self.summary;
        is_usual.then(|| self.lines.usual(|_, line| peek_action(line))).flatten()
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        vec![("lines that are no events".into(), self.others)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Flags;
    use proptest::prelude::*;

    const TEXT: &str = "\
  8,0    1        1     0.000000000  1234  A  WS 6293504 + 8 <- (8,1) 6291456
  8,0    1        2     0.000001234  1234  Q  WS 6293504 + 8 [Web Content]
  8,0    1        3     0.000002000  1234  P   N [jbd2/sda1-8]
  8,0    1        4     0.000003000  1234  D  WS 6293504 + 8 [kworker/1:1H]
  8,0    0        1     0.000500000     0  C  WS 6293504 + 8 [0]
  8,0    0        2     0.000600000     0  C   R 64 + 8 [-5]
  8,0    0        3     0.000700000    77  Q FWS [sync]
  8,0    0        3     0.000750000     0  C  FN 0 [0]
  8,0    0        4     0.000800000    77  m   N cfq workload slice
  8,0    0        5     0.000900000    77  X   R 128 / 136 [dd]
CPU0 (8,0):
 Reads Queued:           0,        0KiB  Writes Queued:           1,        4KiB
";

    fn all(text: &str, form: Form) -> (Vec<Event>, Vec<String>, u64) {
        let mut reader = Blkparse::new(text.as_bytes(), form);
        let (mut events, mut bad) = (Vec::new(), Vec::new());
        while let Some(entry) = reader.next().unwrap() {
            match entry {
                Entry::One(event) => events.push(*event),
                Entry::Bad(b) => bad.push(b.to_string()),
            }
        }
        (events, bad, reader.others())
    }

    #[test]
    fn reads_default_format_with_variations() {
        let form = recognise(TEXT.lines()).unwrap();
        assert_eq!(form, Form::default());
        let (events, bad, others) = all(TEXT, form);
        assert!(bad.is_empty(), "{bad:?}");
        let actions: Vec<Action> = events.iter().map(|e| e.action).collect();
        use Action::*;
        assert_eq!(actions, [Remap, Queue, Other, Issue, Complete, Complete, Queue, Complete, Other, Split]);
        assert_eq!(others, 2);
        let queue = events[1];
        assert_eq!((queue.time.0, queue.sector, queue.bytes), (1234, 6_293_504, 4096));
        assert_eq!(queue.process.to_string(), "Web Content-1234");
        assert_eq!((events[5].error, events[5].rwbs.kind), (5, Kind::Read));
        assert!(events[6].rwbs.flags.has(Flags::PREFLUSH) && events[6].bytes == 0);
    }

    #[test]
    fn fast_path_reads_common_lines() {
        for line in TEXT.lines().filter(|line| line.contains(" Q  WS ") || line.contains("D  WS")) {
            assert!(usual(1, line.as_bytes()).is_some(), "{line}");
        }
        assert!(usual(1, b"  8,0  0  1  0.000500000  0  C  WS 64 + 8 [0]").is_some());
    }

    #[test]
    fn reads_custom_format_strings() {
        let form: Form = "%5T.%9t %p %C %a %d %S %n\\n".parse().unwrap();
        let (events, bad, _) = all("  0.000001234 1234 Web Content Q WS 64 8\n", form);
        assert!(bad.is_empty());
        assert_eq!((events[0].sector, events[0].process.to_string()), (64, "Web Content-1234".into()));
        let recognised = recognise(["1.5 99 fio D R 64 8"].into_iter()).unwrap();
        assert_eq!(all("1.500000000 99 fio D R 64 8\n", recognised).0[0].action, Action::Issue);
        // A multi-byte character is one literal.
        let form: Form = "%T.%t ü%p %C %a %d %S %n".parse().unwrap();
        assert_eq!(all("1.500000000 ü99 fio D R 64 8\n1.500000000 ö99 fio D R 64 8\n", form).0.len(), 1);
        for (bad, why) in [
            ("%T.%t %a %d %n", "needs %a"),
            ("%T.%t %a %d %S", "%n"),
            ("%a %d %S %n", "time"),
            ("%q", "'%q'"),
            ("%", "ends"),
        ] {
            let told = bad.parse::<Form>().unwrap_err();
            assert!(told.contains(why), "{bad}: {told}");
        }
    }

    #[test]
    fn lines_without_direction_use_the_given_one() {
        let line = "    0.000000000,  1234, Web Content, Q, 2048, 8, 4096\n";
        let form = recognise(line.lines()).unwrap();
        assert!(!form.has_direction());
        let (events, bad, _) = all(line, form.of_direction(Kind::Write));
        assert_eq!((bad.len(), events[0].rwbs.kind, events[0].sector), (0, Kind::Write, 2048));
        assert_eq!(events[0].process.to_string(), "Web Content-1234");
        let told = "0.000000000,  1234, fio, Q, R, 2048, 8, 4096\n";
        let form = recognise(told.lines()).unwrap();
        assert!(form.has_direction());
        assert_eq!(all(told, form.of_direction(Kind::Write)).0[0].rwbs.kind, Kind::Read);
    }

    #[test]
    fn errors_name_line_and_cause() {
        let text = "  8,0    1        2     0.000001234  1234  Q  WS x + 8 [a]\n  8,0 1 2 0.5 1 Q R 18446744073709551615 + 8 [a]\n";
        let (_, bad, _) = all(text, Form::default());
        assert!(bad[0].starts_with("line 1: the sector 'x'") && bad[1].contains("2^63"), "{bad:?}");
    }

    proptest! {
        #[test]
        fn fast_path_matches_full_parser(
            line in "[ ]{0,2}[0-9]{1,4},[0-9]{0,7}  ?[0-9x]{1,2} [0-9]{1,3} {1,3}[0-9]{1,10}[.,][0-9]{8,9} {1,2}[0-9]{1,10} {1,2}[QGIDCAMXm] {1,2}F?[RWDNF][SAMF]{0,2} [0-9]{1,19} ?\\+ [0-9]{1,3} \\[[a-z0-9 :/-]{0,17}\\]?\\]"
        ) {
            if let Some(event) = usual(1, line.as_bytes()) {
                prop_assert_eq!(Form::default().read(1, &line), Ok(Some(event)));
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[0-9A-Zam ,.+\\[\\]é]{0,80}", form in "[%aCdDeMmNnpSsTtuc .xéüº]{0,30}") {
            all(&text, Form::default());
            if let Ok(form) = form.parse::<Form>() {
                all(&text, form);
            }
        }
    }
}
