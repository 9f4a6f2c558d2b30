//! Pages of the kernel's trace ring buffer, as read from `per_cpu/cpuN/trace_pipe_raw`.
//!
//! The kernel describes the format of pages and events in `events/header_page` and `events/block/*/format`, and the
//! layout of events in a page in `events/header_event`, its `Documentation/trace/ring-buffer-design.rst` and
//! `include/linux/ring_buffer.h`.

use super::event::{Action, BEYOND, Device, Event, Rwbs};
use super::ftrace;
use crate::request::{Bad, Process, TracePosition};
use iosonar_plan::{Nanos, SECTOR};

/// Position of a field in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Field {
    offset: usize,
    size: usize,
}

/// Format of one kind of event.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EventForm {
    id: u16,
    action: Action,
    pid: Field,
    dev: Field,
    sector: Field,
    nr_sector: Option<Field>,
    rwbs: Field,
    comm: Option<Field>,
    error: Option<Field>,
}

/// Formats of pages and events, as described by a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forms {
    /// Position of the length of a page's events, and start of the events.
    commit: Field,
    data: usize,
    events: Vec<EventForm>,
}

/// Why a kernel's formats cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct FormError {
    /// Name of the format file.
    pub file: String,
    /// Reason.
    pub why: String,
}

/// Parses a line such as `field:dev_t dev; offset:8; size:4; signed:0;` into name and field.
fn field(line: &str) -> Option<(&str, Field)> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declared = parts.next()?;
    let name = declared.rsplit_once(char::is_whitespace)?.1;
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let (mut offset, mut size) = (None, None);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", n)) => offset = n.trim().parse().ok(),
            Some(("size", n)) => size = n.trim().parse().ok(),
            _ => {}
        }
    }
    Some((name, Field { offset: offset?, size: size? }))
}

fn find(text: &str, name: &str) -> Option<Field> {
    text.lines().filter_map(field).find(|(n, _)| *n == name).map(|(_, field)| field)
}

/// Maximum plausible size of an event.
const MOST_BYTES: usize = 1 << 16;

impl Forms {
    /// Parses a kernel's `header_page`, and the `format` files of events by their names.
    ///
    /// # Errors
    /// A required field is missing.
    pub fn parse<'a>(
        header_page: &str,
        events: impl IntoIterator<Item = (&'a str, String)>,
    ) -> Result<Forms, FormError> {
        let missing = |file: &str, what: &str| FormError {
            file: file.to_string(),
            why: format!(
                "it does not say where '{what}' lies: this kernel's trace buffer is of a form that is not known"
            ),
        };
        let page = |name: &str| find(header_page, name).ok_or_else(|| missing("header_page", name));
        let (commit, data) = (page("commit")?, page("data")?.offset);
        let of = |(name, text): (&str, String)| -> Result<EventForm, FormError> {
            let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
            let needed = |what: &str| {
                let small = |f: &Field| f.offset + f.size <= MOST_BYTES;
                find(&text, what).filter(small).ok_or_else(|| missing(name, what))
            };
            Ok(EventForm {
                id: id.ok_or_else(|| missing(name, "ID"))?,
                action: ftrace::action(name).unwrap_or(Action::Other),
                pid: needed("common_pid")?,
                dev: needed("dev")?,
                sector: needed("sector")?,
                nr_sector: find(&text, "nr_sector"),
                rwbs: needed("rwbs")?,
                comm: find(&text, "comm"),
                error: find(&text, "error"),
            })
        };
        Ok(Forms { commit, data, events: events.into_iter().map(of).collect::<Result<_, _>>()? })
    }
}

/// Other contents of a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PageFacts {
    /// Whether the kernel reports lost events before this page; and their number, if it has it.
    pub lost: Option<Option<u64>>,
    /// Events of kinds whose format was not given.
    pub others: u64,
    /// Error that ended the page early.
    pub bad: Option<Bad>,
}

/// Kinds of page entries that are not events.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Flags above the length of the data.
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 20) - 1;
/// Bits of an absolute time; those above are unchanged.
const STAMP_BITS: u32 = 59;

/// Decodes pages of one CPU.
#[derive(Debug, Clone)]
pub struct Pages<'a> {
    forms: &'a Forms,
    /// Bytes and events of all pages so far.
    bytes: u64,
    events: u64,
}

impl<'a> Pages<'a> {
    /// Decodes pages of these formats.
    pub fn new(forms: &'a Forms) -> Pages<'a> {
        Pages { forms, bytes: 0, events: 0 }
    }

    /// Passes the events of the next page to `each`.
    pub fn decode(&mut self, page: &[u8], each: &mut impl FnMut(Event)) -> PageFacts {
        let mut facts = PageFacts::default();
        if let Err((at, why)) = self.walk(page, &mut facts, each) {
            let at = TracePosition::Byte(self.bytes + at as u64);
            facts.bad = Some(Bad { at, why: why.into(), text: None });
        }
        self.bytes += page.len() as u64;
        facts
    }

    fn walk(
        &mut self,
        page: &[u8],
        facts: &mut PageFacts,
        each: &mut impl FnMut(Event),
    ) -> Result<(), (usize, &'static str)> {
        let forms = self.forms;
        let header =
            (|| Some((number(page, 0, 8)?, number(page, forms.commit.offset, forms.commit.size)?)))();
        let (mut time, commit) = header.ok_or((0, "the page is cut off within its header"))?;
        let data = page.get(forms.data..).unwrap_or_default();
        let length = (commit & LENGTH) as usize;
        let Some(entries) = data.get(..length) else {
            return Err((0, "the page says that it holds more than it does"));
        };
        if commit & MISSED != 0 {
            // The number follows the data, if there was room.
            let stored = (commit & MISSED_STORED != 0).then(|| number(data, length, 8)).flatten();
            facts.lost = Some(stored);
        }
        let mut at = 0;
        while at + 4 <= entries.len() {
            let head = u32::from_le_bytes(entries[at..at + 4].try_into().expect("four bytes"));
            let (kind, delta) = (head & 0x1f, u64::from(head >> 5));
            let word = || number(entries, at + 4, 4).ok_or((forms.data + at, "an entry is cut off"));
            match kind {
                PADDING if delta == 0 => return Ok(()),
                PADDING => at += 4 + word()? as usize,
                TIME_EXTEND => {
                    time = time.wrapping_add((word()? << 27) + delta);
                    at += 8;
                }
                TIME_STAMP => {
                    let stamp = (word()? << 27) + delta;
                    time = stamp | time >> STAMP_BITS << STAMP_BITS;
                    at += 8;
                }
                _ => {
                    // Short ones have their length in the head, in words; long ones after it, in bytes including itself.
                    let (begin, length) = match kind {
                        0 => (at + 8, (word()? as usize).saturating_sub(4)),
                        words => (at + 4, words as usize * 4),
                    };
                    let event = entries.get(begin..begin.saturating_add(length));
                    let event = event.ok_or((forms.data + at, "an event is cut off"))?;
                    time = time.wrapping_add(delta);
                    self.event(event, time, facts, each).map_err(|why| (forms.data + at, why))?;
                    at = begin + length;
                }
            }
        }
        Ok(())
    }

    #[inline]
    fn event(
        &mut self,
        bytes: &[u8],
        time: u64,
        facts: &mut PageFacts,
        each: &mut impl FnMut(Event),
    ) -> Result<(), &'static str> {
        let id = number(bytes, 0, 2).ok_or("an event is shorter than its number")?;
        let Some(form) = self.forms.events.iter().find(|form| u64::from(form.id) == id) else {
            facts.others += 1;
            return Ok(());
        };
        self.events += 1;
        let event = form.read(bytes, time, self.events).ok_or("an event is shorter than its fields")?;
        if !event.is_possible() {
            return Err(BEYOND);
        }
        each(event);
        Ok(())
    }
}

/// Reads a number of `size` bytes, in the byte order of this machine, which is that of its kernel.
fn number(bytes: &[u8], offset: usize, size: usize) -> Option<u64> {
    let field = bytes.get(offset..offset.checked_add(size)?)?;
    Some(match size {
        8 => u64::from_ne_bytes(field.try_into().ok()?),
        4 => u32::from_ne_bytes(field.try_into().ok()?).into(),
        2 => u16::from_ne_bytes(field.try_into().ok()?).into(),
        1 => field[0].into(),
        _ => return None,
    })
}

impl EventForm {
    fn read(&self, bytes: &[u8], time: u64, at: u64) -> Option<Event> {
        let value = |field: Field| number(bytes, field.offset, field.size);
        let text = |field: Field| {
            let text = bytes.get(field.offset..field.offset + field.size)?;
            Some(&text[..text.iter().position(|b| *b == 0).unwrap_or(text.len())])
        };
        let sectors = match self.nr_sector {
            Some(field) => value(field)?,
            None => 0,
        };
        let rwbs = Rwbs::parse(text(self.rwbs)?).in_events(sectors);
        let error = match self.error {
            Some(field) => value(field)? as u32 as i32,
            None => 0,
        };
        let name = match self.comm {
            Some(field) => text(field)?,
            None => &[],
        };
        Some(Event {
            at,
            time: Nanos(time),
            action: self.action,
            device: Device(value(self.dev)? as u32),
            sector: value(self.sector)?,
            bytes: sectors * SECTOR,
            rwbs,
            process: Process::new(value(self.pid)? as u32, name),
            error: error.saturating_abs(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const QUEUE: &str = "name: block_bio_queue\nID: 7\nformat:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\tfield:char rwbs[8];\toffset:28;\tsize:8;\tsigned:0;\n\tfield:char comm[16];\toffset:36;\tsize:16;\tsigned:0;\n";

    fn forms() -> Forms {
        Forms::parse(PAGE, [("block_bio_queue", QUEUE.to_string())]).unwrap()
    }

    fn queue(sector: u64) -> Vec<u8> {
        let mut event = vec![0; 52];
        event[..2].copy_from_slice(&7u16.to_le_bytes());
        event[4..8].copy_from_slice(&42u32.to_le_bytes());
        event[8..12].copy_from_slice(&(7u32 << 20).to_le_bytes());
        event[16..24].copy_from_slice(&sector.to_le_bytes());
        event[24..28].copy_from_slice(&8u32.to_le_bytes());
        event[28..30].copy_from_slice(b"WS");
        event[36..39].copy_from_slice(b"fio");
        event
    }

    fn page(time: u64, flags: u64, entries: &[(u32, u32, Vec<u8>)], behind: &[u8]) -> Vec<u8> {
        let mut data = Vec::new();
        for (kind, delta, bytes) in entries {
            data.extend((kind | delta << 5).to_le_bytes());
            data.extend(bytes);
        }
        let mut page = time.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(data);
        page.extend(behind);
        page.resize(4096, 0);
        page
    }

    fn decode(page: &[u8]) -> (Vec<(u64, u64)>, PageFacts) {
        let forms = forms();
        let mut events = Vec::new();
        let facts = Pages::new(&forms).decode(page, &mut |e| {
            assert_eq!((e.process.to_string(), e.action), ("fio-42".into(), Action::Queue));
            events.push((e.time.0, e.sector));
        });
        (events, facts)
    }

    #[test]
    fn reads_times_lengths_and_lost_events() {
        let long: Vec<u8> = [56u32.to_le_bytes().to_vec(), queue(3)].concat();
        let entries = [
            (13, 10, queue(1)),
            (TIME_EXTEND, 5, 1u32.to_le_bytes().to_vec()),
            (13, 2, queue(2)),
            (0, 1, long),
            (PADDING, 4, 4u32.to_le_bytes().to_vec()),
            (13, 1, queue(4)),
        ];
        let (events, facts) = decode(&page(1000, MISSED | MISSED_STORED, &entries, &17u64.to_le_bytes()));
        assert_eq!(facts, PageFacts { lost: Some(Some(17)), others: 0, bad: None });
        let later = 1000 + 10 + 5 + (1 << 27);
        assert_eq!(events, [(1010, 1), (later + 2, 2), (later + 3, 3), (later + 4, 4)]);
        let stamp = [(TIME_STAMP, 7, 3u32.to_le_bytes().to_vec()), (13, 0, queue(1))];
        assert_eq!(decode(&page(5, 0, &stamp, b"")).0, [((3 << 27) + 7, 1)]);
    }

    #[test]
    fn reports_offset_of_damage() {
        let mut cut = page(0, 0, &[(13, 1, queue(1)), (13, 1, queue(2))], b"");
        cut[8..10].copy_from_slice(&60u16.to_le_bytes());
        let (events, facts) = decode(&cut);
        assert_eq!(
            (events.len(), facts.bad.unwrap().to_string()),
            (1, "byte 72: an event is cut off".into())
        );
        assert!(decode(&cut[..12]).1.bad.unwrap().to_string().contains("its header"));
        let why =
            Forms::parse(PAGE, [("block_bio_queue", QUEUE.replace("dev;", "div;"))]).unwrap_err().to_string();
        assert!(why.starts_with("block_bio_queue: it does not say where 'dev' lies"), "{why}");
    }

    proptest! {
        #[test]
        fn decodes_generated_ring_buffer_pages(
            begin in 0u64..1 << 60,
            events in prop::collection::vec((0u32..1 << 27, 0u64..1 << 50, 0u32..3), 0..60),
        ) {
            let (mut entries, mut want, mut time) = (Vec::new(), Vec::new(), begin);
            for (delta, sector, longer) in events {
                // A longer pause has a separate entry before the event.
                if longer > 0 {
                    entries.push((TIME_EXTEND, 3, longer.to_le_bytes().to_vec()));
                    time += 3 + (u64::from(longer) << 27);
                }
                entries.push((13, delta, queue(sector)));
                time += u64::from(delta);
                want.push((time, sector));
            }
            let whole = PageFacts { lost: None, others: 0, bad: None };
            prop_assert_eq!(decode(&page(begin, 0, &entries, b"")), (want, whole));
        }

        #[test]
        fn any_page_is_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), length in 0u16..300) {
            if bytes.len() > 16 {
                bytes[8..16].copy_from_slice(&u64::from(length).to_le_bytes());
            }
            let forms = forms();
            Pages::new(&forms).decode(&bytes, &mut |_| {});
        }
    }
}
