//! The text of the kernel's block tracepoints: a tracefs `trace` file, or what `perf script`, `perf trace` and `trace-cmd report`
//! print.
//!
//! Head: name of the task, its number, the CPU, the time in seconds; then the event's name and its fields, as in the
//! kernel's own format files (`include/trace/events/block.h`).

use super::event::{Action, BEYOND, Device, Event, Events, Origin, Rwbs};
use crate::cursor::Cursor;
use crate::request::{Bad, Entry, Next, Process};
use crate::text::{Lines, seconds, whole};
use iosonar_plan::{Nanos, SECTOR};
use memchr::{memchr, memchr_iter, memrchr};
use std::io::BufRead;

/// Returns the action of a tracepoint.
pub(crate) fn action(name: &str) -> Option<Action> {
    Some(match name {
        "block_bio_queue" => Action::Queue,
        "block_getrq" => Action::GetRequest,
        "block_rq_insert" => Action::Insert,
        "block_rq_issue" => Action::Issue,
        "block_rq_complete" | "block_bio_complete" => Action::Complete,
        "block_bio_backmerge" | "block_bio_frontmerge" | "block_rq_merge" => Action::Merge,
        "block_split" => Action::Split,
        "block_rq_requeue" => Action::Requeue,
        "block_bio_remap" | "block_rq_remap" => Action::Remap,
        _ if name.starts_with("block_") => Action::Other,
        _ => return None,
    })
}

/// Whether a line is a block event.
pub fn recognises(line: &str) -> bool {
    parts(line).is_some() || perf_trace_parts(line).is_some()
}

/// Splits a block event into head, name and fields.
fn parts(line: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(found) = line[from..].find("block_") {
        let at = from + found;
        from = at + 6;
        // perf prints `block:block_rq_issue:`, the kernel only `block_rq_issue:`.
        let head = line[..at].strip_suffix("block:").unwrap_or(&line[..at]).trim_end();
        let (name, fields) = line[at..].split_once(':')?;
        if head.ends_with(':') && !name.contains(' ') {
            return Some((head.trim_end_matches(':').trim_end(), name, fields.trim()));
        }
    }
    None
}

/// Reads the text line by line; other lines are skipped and counted.
pub struct Ftrace<R> {
    lines: Lines<R>,
    others: u64,
    lost: u64,
    event: Event,
    moved_from: Option<Origin>,
}

impl<R: BufRead> Ftrace<R> {
    /// Reads decompressed text.
    pub fn new(input: R) -> Ftrace<R> {
        Ftrace { lines: Lines::new(input), others: 0, lost: 0, event: Event::default(), moved_from: None }
    }

    /// Lines of other events.
    pub fn others(&self) -> u64 {
        self.others
    }

    /// Events that the kernel reports as lost.
    pub fn lost(&self) -> u64 {
        self.lost
    }
}

impl<R: BufRead> Events for Ftrace<R> {
    fn next(&mut self) -> Next<&Event> {
        loop {
            if let Some(event) = self.lines.usual(usual) {
                self.event = event;
                return Ok(Some(Entry::One(&self.event)));
            }
            let at = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let text = line.trim();
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let read = if let Some((head, name, fields)) = perf_trace_parts(line) {
                perf_trace_event(at, head, name, fields).map(|event| (event, perf_trace_origin(fields)))
            } else if let Some((head, name, fields)) = parts(line) {
                event(at, head, name, fields).map(|event| (event, Origin::parse(fields)))
            } else {
                match lost_events(text) {
                    Some(lost) => self.lost += lost,
                    None => self.others += 1,
                }
                continue;
            };
            return Ok(Some(match read {
                Ok(read) => {
                    (self.event, self.moved_from) = read;
                    Entry::One(&self.event)
                }
                Err(why) => Entry::Bad(Bad::line(at, why, line)),
            }));
        }
    }

    fn shown(&self) -> &Event {
        &self.event
    }

    fn moved_from(&self) -> Option<Origin> {
        self.moved_from.filter(|_| self.event.action == Action::Remap)
    }

    fn peek_action(&mut self) -> Option<Action> {
        self.lines.usual(|_, line| peek_action(line))
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let (lost, others) = ("lost events, as the kernel says", "lines of other events");
        vec![(lost.into(), self.lost), (others.into(), self.others)]
    }
}

/// Detects the action of a line that seems to have the kernel's or perf's form.
fn peek_action(line: &[u8]) -> Option<Action> {
    let mut colons = memchr_iter(b':', line);
    let begins = colons.find_map(|at| {
        let behind = line[at + 1..].trim_ascii_start();
        let behind = behind.strip_prefix(b"block:").unwrap_or(behind);
        behind.starts_with(b"block_").then_some(behind)
    })?;
    // The first colon is after the time; a comment has one, too.
    let name = &begins[..memchr(b':', begins)?];
    let other = || action(std::str::from_utf8(name).ok().filter(|name| !name.contains([' ', '(']))?);
    usual_action(name).or_else(other).filter(|_| line.first() != Some(&b'#'))
}

/// Parses a line in the kernel's own form, if it has the usual fields:
/// `fio-1234    [001] d..1.   123.456789: block_rq_issue: 7,0 WS 4096 () 1000 + 8 none,0,0 [fio]`.
fn usual(at: u64, line: &[u8]) -> Option<Event> {
    // No early exit, so that this is vectorised.
    if !line.iter().fold(true, |is_plain, b| is_plain & matches!(b, b' '..=b'~')) {
        return None;
    }
    let (head, behind) = usual_parts(line)?;
    let (process, time) = usual_head(head)?;
    let mut cursor = Cursor::new(behind);
    let name = cursor.word()?.strip_suffix(b":")?;
    let action = usual_action(name)?;
    cursor.blanks();
    let device = usual_device(&mut cursor)?;
    let rwbs = Rwbs::parse(cursor.word()?);
    cursor.gap()?;
    if name.starts_with(b"block_rq_") {
        usual_command(&mut cursor)?;
    }
    let (sector, ()) = (cursor.number()?, cursor.gap()?);
    cursor.byte(b'+')?;
    cursor.gap()?;
    let bytes = cursor.number()?.checked_mul(SECTOR)?;
    cursor.gap()?;
    let (_, last) = cursor.rest().split_at_checked(memrchr(b'[', cursor.rest())? + 1)?;
    let last = last.strip_suffix(b"]")?;
    let rwbs = rwbs.in_events(bytes);
    let mut event = Event { at, time, action, device, sector, bytes, rwbs, process, error: 0 };
    if action == Action::Complete {
        let error = || std::str::from_utf8(last).ok()?.parse::<i32>().ok();
        event.error = if last == b"0" { 0 } else { error()?.saturating_abs() };
    } else if process.name == [0; 16] {
        event.process.name = Process::new(0, last).name;
    }
    event.is_possible().then_some(event)
}

/// Splits at the colon and blank before the event's name.
fn usual_parts(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = memchr_iter(b':', line).find(|at| line[at + 1..].starts_with(b" block_"))?;
    Some((&line[..colon], &line[colon + 2..]))
}

fn usual_head(head: &[u8]) -> Option<(Process, Nanos)> {
    let bracket = memrchr(b'[', head).filter(|at| *at > 0 && head[at - 1] == b' ')?;
    let mut cursor = Cursor::new(&head[bracket + 1..]);
    let (_cpu, ()) = (cursor.number()?, cursor.byte(b']')?);
    cursor.gap()?;
    let (_flags, ()) = (cursor.word()?, cursor.gap()?);
    let time = cursor.time()?;
    let task = head[..bracket].trim_ascii();
    let dash = memrchr(b'-', task)?;
    let (name, mut number) = (&task[..dash], Cursor::new(&task[dash + 1..]));
    let (pid, digits) = number.digits();
    let is_whole = (1..=9).contains(&digits) && number.rest().is_empty() && cursor.rest().is_empty();
    // Comments, and possible heads of other events, are unusual.
    let is_plain = name.iter().all(|b| b.is_ascii_graphic()) && name.first() != Some(&b'#');
    if !is_whole || !is_plain {
        return None;
    }
    let name = if name == b"<...>" { &[] } else { name };
    Some((Process::new(pid as u32, name), time))
}

fn usual_action(name: &[u8]) -> Option<Action> {
    Some(match name {
        b"block_bio_queue" => Action::Queue,
        b"block_getrq" => Action::GetRequest,
        b"block_rq_insert" => Action::Insert,
        b"block_rq_issue" => Action::Issue,
        b"block_rq_complete" | b"block_bio_complete" => Action::Complete,
        _ => return None,
    })
}

fn usual_device(cursor: &mut Cursor<'_>) -> Option<Device> {
    let major = cursor.value()?;
    cursor.byte(b',')?;
    let minor = cursor.value()?;
    cursor.gap()?;
    Device::new(u32::try_from(major).ok()?, u32::try_from(minor).ok()?)
}

/// Consumes the length of a command, which some events have, and its bytes, usually none.
fn usual_command(cursor: &mut Cursor<'_>) -> Option<()> {
    if cursor.peek()? != b'(' {
        cursor.number()?;
        cursor.gap()?;
    }
    cursor.byte(b'(')?;
    cursor.byte(b')')?;
    cursor.gap()
}

/// Parses `CPU:1 [LOST 17 EVENTS]`.
fn lost_events(text: &str) -> Option<u64> {
    let (_, rest) = text.split_once("[LOST ")?;
    whole(rest.split_once(" EVENTS]")?.0)
}

fn event(at: u64, head: &str, name: &str, fields: &str) -> Result<Event, String> {
    let (process, time) = who_and_when(head).ok_or("there is no time before the event's name")?;
    let action = action(name).ok_or("it is no block event")?;
    let mut event = Event {
        at,
        time: Nanos(time),
        action,
        device: Device::default(),
        sector: 0,
        bytes: 0,
        rwbs: Rwbs::parse(b""),
        process,
        error: 0,
    };
    if action == Action::Other {
        return Ok(event);
    }
    place(&mut event, name, fields)?;
    if process.pid != 0 || name != "block_rq_complete" {
        name_of_task(&mut event, fields);
    }
    if !event.is_possible() {
        return Err(BEYOND.into());
    }
    Ok(event)
}

/// Parses `fio-1234 [001] d..1.  123.456789` and `fio  1234 [001]   123.456789`; ignores text between number and time.
fn who_and_when(head: &str) -> Option<(Process, u64)> {
    // Marks for long delays may follow the time.
    let head = head.trim_end_matches(|c: char| c.is_whitespace() || "!#+*$@".contains(c));
    let (rest, time) = head.rsplit_once(char::is_whitespace).unwrap_or(("", head));
    let rest = rest.trim_end();
    let (time, task) = match time.strip_suffix("us") {
        // The latency format: microseconds; CPU and flags in one word.
        Some(micros) => (
            whole(micros)?.checked_mul(1000)?,
            rest.rsplit_once(char::is_whitespace).map_or("", |(task, _)| task),
        ),
        // The CPU is in brackets, after the task.
        None => (seconds(time)?, rest.rfind(" [").map_or(rest, |i| &rest[..i])),
    };
    let task = task.trim_end();
    // With the option record-tgid, the group is in parentheses between them.
    let task =
        if task.ends_with(')') { task.rfind('(').map_or(task, |i| task[..i].trim_end()) } else { task };
    let (name, number) = task.rsplit_once(['-', ' ']).unwrap_or(("", task));
    let pid = number.split('/').next_back().and_then(|n| n.parse().ok()).unwrap_or(0);
    let name = name.trim();
    let name = if name == "<...>" { "" } else { name };
    Some((Process::new(pid, name.as_bytes()), time))
}

/// Parses `7,0 WS 4096 () 1000 + 8 …`, `7,0 WS 1000 + 8 …`, `7,0 W 1000 / 1008 …`.
fn place(event: &mut Event, name: &str, fields: &str) -> Result<(), String> {
    let (device, rest) = fields.split_once(' ').ok_or("the device is missing")?;
    event.device = Device::parse(device).ok_or_else(|| format!("the device '{device}' is none"))?;
    let (letters, rest) = rest.trim_start().split_once(' ').ok_or("what it does is missing")?;
    event.rwbs = Rwbs::parse(letters.as_bytes());
    // In request events, the command's bytes are in parentheses, after the length of its data.
    let command = rest.split_once('(').and_then(|(_, rest)| rest.split_once(") "));
    let rest = command.filter(|_| name.starts_with("block_rq_")).map_or(rest, |(_, behind)| behind);
    let mut words = rest.split_whitespace();
    let sector = words.next().ok_or("the sector is missing")?;
    event.sector = whole(sector).ok_or_else(|| format!("the sector '{sector}' is no number"))?;
    match words.next() {
        Some("+") => {
            let sectors = words.next().unwrap_or_default();
            let bytes = whole(sectors).and_then(|n| n.checked_mul(SECTOR));
            event.bytes = bytes.ok_or_else(|| format!("the length '{sectors}' is no number"))?;
            event.rwbs = event.rwbs.in_events(event.bytes);
        }
        // A split has the start of the second part instead.
        Some("/") => {}
        _ => return Err("the sector is followed by neither '+ length' nor '/ sector'".into()),
    }
    if event.action == Action::Complete {
        let error = rest.rsplit_once('[').and_then(|(_, e)| e.trim_end_matches(']').parse::<i32>().ok());
        event.error = error.unwrap_or(0).saturating_abs();
    }
    Ok(())
}

/// Splits a line of `perf trace -e 'block:*'` into head, name and fields:
/// `0.210 fio/1234 block:block_rq_issue(dev: 8388608, sector: 2048, nr_sector: 8, bytes: 4096, rwbs: "R", comm: "fio", cmd: "")`.
fn perf_trace_parts(line: &str) -> Option<(&str, &str, &str)> {
    let (head, event) = line.split_once(" block:")?;
    let (name, fields) = event.trim_end().strip_suffix(')')?.split_once('(')?;
    (name.starts_with("block_") && !name.contains([' ', ':'])).then_some((head.trim(), name, fields))
}

fn perf_trace_event(at: u64, head: &str, name: &str, fields: &str) -> Result<Event, String> {
    let (time, task) = head.split_once(char::is_whitespace).unwrap_or((head, ""));
    // Milliseconds with a fraction.
    let time = seconds(time).ok_or("there is no time before the event's name")? / 1000;
    let (task, pid) = task.trim().rsplit_once('/').unwrap_or((task.trim(), ""));
    let value = |name: &str| perf_trace_value(fields, name);
    let number = |name: &str| {
        let text = value(name).ok_or_else(|| format!("the field {name} is missing"))?;
        whole(text).ok_or_else(|| format!("the field {name} '{text}' is no number"))
    };
    let mut event = Event {
        at,
        time: Nanos(time),
        action: action(name).ok_or("it is no block event")?,
        device: Device::default(),
        sector: 0,
        bytes: 0,
        rwbs: Rwbs::parse(value("rwbs").unwrap_or_default().as_bytes()),
        process: Process::new(pid.parse().unwrap_or(0), task.as_bytes()),
        error: 0,
    };
    if event.action == Action::Other {
        return Ok(event);
    }
    event.device = number("dev")
        .and_then(|device| kernel_device(device).ok_or_else(|| format!("the device '{device}' is none")))?;
    event.sector = number("sector")?;
    // A split has the start of the second part, and no length.
    if event.action != Action::Split {
        let sectors = number("nr_sector")?;
        event.bytes =
            sectors.checked_mul(SECTOR).ok_or_else(|| format!("the length '{sectors}' is too large"))?;
        event.rwbs = event.rwbs.in_events(event.bytes);
    }
    if event.action == Action::Complete {
        event.error =
            value("error").and_then(|error| error.parse::<i32>().ok()).unwrap_or(0).saturating_abs();
    }
    if event.is_possible() { Ok(event) } else { Err(BEYOND.into()) }
}

/// Decodes the kernel's device number: 12 and 20 bits.
fn kernel_device(number: u64) -> Option<Device> {
    let number = u32::try_from(number).ok()?;
    Device::new(number >> 20, number & 0xf_ffff)
}

/// Value of an event's field, without quotation marks.
fn perf_trace_value<'a>(fields: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = fields.split_once(&format!("{name}: ")).filter(|(before, _)| is_begin(before))?;
    Some(behind.split(", ").next().unwrap_or(behind).trim_matches('"'))
}

fn perf_trace_origin(fields: &str) -> Option<Origin> {
    let number = |name| perf_trace_value(fields, name).and_then(whole);
    Some(Origin { device: kernel_device(number("old_dev")?)?, sector: number("old_sector")? })
}

/// Whether a field of `perf trace` may start after this.
fn is_begin(before: &str) -> bool {
    before.is_empty() || before.ends_with(", ")
}

/// Takes the name in brackets at the end, if the head has none.
fn name_of_task(event: &mut Event, fields: &str) {
    if event.process.name == [0; 16]
        && event.action != Action::Complete
        && let Some(name) = fields.rsplit_once('[').and_then(|(_, name)| name.strip_suffix(']'))
    {
        event.process = Process::new(event.process.pid, name.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Flags, Kind};
    use proptest::prelude::*;

    fn one(line: &str) -> Result<Event, String> {
        match Ftrace::new(line.as_bytes()).next().unwrap() {
            Some(Entry::One(event)) => Ok(*event),
            Some(Entry::Bad(bad)) => Err(bad.to_string()),
            None => Err("nothing".into()),
        }
    }

    #[test]
    fn remap_yields_original_device_and_sector() {
        let kernel = " dd-1 [001] d..1. 5.000001: block_bio_remap: 8,16 R 4096000 + 16 <- (8,18) 2047952";
        let perf_trace = " 0.210 dd/1 block:block_bio_remap(dev: 8388624, sector: 4096000, nr_sector: 16, old_dev: 8388626, \
                          old_sector: 2047952, rwbs: \"R\")";
        for line in [kernel, perf_trace] {
            let mut reader = Ftrace::new(line.as_bytes());
            assert!(matches!(reader.next(), Ok(Some(Entry::One(_)))), "{line}");
            let want = Origin { device: Device::new(8, 18).unwrap(), sector: 2_047_952 };
            assert_eq!(reader.moved_from(), Some(want), "{line}");
        }
        let queue = " dd-1 [001] d..1. 5.000002: block_bio_queue: 8,16 R 4096000 + 16 [dd]";
        let mut reader = Ftrace::new(queue.as_bytes());
        assert!(reader.next().is_ok() && reader.moved_from().is_none());
    }

    #[test]
    fn reads_kernel_and_perf_lines() {
        let kernel = "             fio-1234    [001] d..2.  1234.567890: block_rq_issue: 7,0 WFS 4096 () 1000 + 8 none,0,0 [fio]";
        let perf = "fio  1234 [001]  1234.567890:             block:block_rq_issue: 7,0 WFS 4096 () 1000 + 8 none,0,0 [fio]";
        let older = "fio-1234 [001] 1234.567890: block_rq_issue: 7,0 WFS 0 () 1000 + 8 [fio]";
        let group = "             fio-1234    ( 1230) [001] d..2.  1234.567890: block_rq_issue: 7,0 WFS 4096 (2a 00) 1000 + 8 [fio]";
        for line in [kernel, perf, older, group] {
            let e = one(line).expect(line);
            assert_eq!(
                (e.time.0, e.action, e.sector, e.bytes),
                (1_234_567_890_000, Action::Issue, 1000, 4096),
                "{line}"
            );
            assert_eq!((e.rwbs.kind, e.process.to_string()), (Kind::Write, "fio-1234".into()), "{line}");
            assert!(e.rwbs.flags.has(Flags::FUA) && e.device.to_string() == "7,0");
        }
        let nameless = one("<...>-77 [000] ..... 5.000001: block_bio_queue: 8,16 RA 64 + 256 [tar]").unwrap();
        assert_eq!((nameless.process.to_string(), nameless.bytes), ("tar-77".into(), 256 * 512));
        let failed =
            one("ksoftirqd/0-9 [000] ..s1. 5.0: block_rq_complete: 8,0 R () 64 + 8 none,0,0 [-5]").unwrap();
        assert_eq!((failed.error, failed.action), (5, Action::Complete));
        let blanks =
            one("Web Content 99 [003] 7.25: block:block_bio_queue: 8,0 R 1 + 1 [Web Content]").unwrap();
        assert_eq!(blanks.process.to_string(), "Web Content-99");
        assert_eq!(one("a-1 [0] 5.0: block_split: 8,0 R 8 / 16 [a]").unwrap().action, Action::Split);
        assert_eq!(one("a-1 [0] 5.0: block_plug: [a]").unwrap().action, Action::Other);
    }

    #[test]
    fn reads_perf_trace_lines() {
        let line = "     0.210 swapper/0/0 block:block_rq_complete(dev: 8388624, sector: 2048, nr_sector: 8, error: -5, rwbs: \"WS\", cmd: \"\")";
        let event = one(line).unwrap();
        assert_eq!((event.time.0, event.action, event.error), (210_000, Action::Complete, 5));
        assert_eq!((event.sector, event.bytes, event.rwbs.kind), (2048, 4096, Kind::Write));
        assert_eq!(
            (event.device.to_string(), event.process.to_string()),
            ("8,16".into(), "swapper/0-0".into())
        );
        assert!(recognises(line) && peek_action(line.as_bytes()).is_none());
        assert!(
            one("1.0 dd/7 block:block_rq_issue(dev: 8388608, sector: 1)").unwrap_err().contains("nr_sector")
        );
        assert_eq!(one("1.0 dd/7 block:block_plug(comm: \"dd\")").unwrap().action, Action::Other);
    }

    #[test]
    fn errors_name_line_and_cause() {
        for (fields, why) in [
            ("block_rq_issue: 7 WS 1 + 8 [a]", "the device '7'"),
            ("block_rq_issue: 7,0 WS x + 8 [a]", "the sector 'x'"),
            ("block_rq_issue: 7,0 WS 1 + y [a]", "the length 'y'"),
            ("block_rq_issue: 7,0 WS 1 - 8 [a]", "neither"),
            ("block_rq_issue: 7,0 WS 18446744073709551615 + 8 [a]", "2^63"),
        ] {
            let told = one(&format!("a-1 [000] 5.0: {fields}")).unwrap_err();
            assert!(told.starts_with("line 1: ") && told.contains(why), "{told}");
        }
        assert!(one("a-1 [000] x: block_rq_issue: 7,0 R 1 + 8 [a]").unwrap_err().contains("no time"));
        let mut text =
            Ftrace::new(&b"# tracer: nop\nCPU:1 [LOST 17 EVENTS]\na-1 [0] 1.0: sched_switch: x\n"[..]);
        assert!(text.next().unwrap().is_none());
        assert_eq!((text.lost(), text.others()), (17, 1));
    }

    #[test]
    fn fast_path_reads_common_lines() {
        for line in [
            "             fio-1234    [001] d..2.  1234.567890: block_rq_issue: 7,0 WFS 4096 () 1000 + 8 none,0,0 [fio]",
            "           <...>-77      [000] ..... 5.000001: block_bio_queue: 8,16 RA 64 + 256 [tar]",
            "    kworker/0:1H-77      [000] ..... 5.000001: block_bio_queue: 8,16 RA 64 + 256 [kworker/0:1H]",
            "          <idle>-0       [000] ..s1. 5.0: block_rq_complete: 8,0 R () 64 + 8 none,0,0 [0]",
        ] {
            assert!(usual(1, line.as_bytes()).is_some(), "{line}");
        }
    }

    fn carefully(line: &str) -> Option<Event> {
        let (head, name, fields) = parts(line)?;
        event(1, head, name, fields).ok()
    }

    proptest! {
        #[test]
        fn fast_path_matches_full_parser(
            line in "[ ]{0,2}[a-z<.>:#/ -]{0,8}-[0-9]{1,10} {1,3}\\[[0-9]{1,3}\\] ([a-zN.]{3,5})?  ?[0-9]{1,9}(\\.[0-9]{0,9})?: (block:)?(block_rq_issue|block_rq_complete|block_bio_queue|block_split): [0-9]{1,4},[0-9]{1,3} F?[RWDNF][SAMF]{0,2} ([0-9]{1,4} )?(\\([a-f0-9 ]{0,3}\\) )?[0-9]{1,19} [+/] [0-9]{1,3}( none,0,0)? \\[[a-z0-9 (:/-]{0,17}\\]"
        ) {
            if let Some(event) = usual(1, line.as_bytes()) {
                prop_assert_eq!(carefully(&line), Some(event));
            }
        }

        #[test]
        fn any_text_is_read_without_panic(text in "[a-z0-9 ,.:()+/\\[\\]<>-]{0,20}(block_rq_issue|block_)?:[0-9A-Z ,.:()+/\\[\\]-]{0,40}") {
            let _ = one(&text);
        }

        #[test]
        fn any_perf_trace_text_is_read_without_panic(fields in "(dev: [0-9]{0,12}, )?(sector: [0-9]{0,21}, )?(nr_sector: [0-9]{0,21})?[a-z\", :()]{0,9}") {
            let _ = one(&format!("1.5 a/1 block:block_rq_issue({fields})"));
        }
    }
}
