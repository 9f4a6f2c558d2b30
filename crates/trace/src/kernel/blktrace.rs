//! The binary files of `blktrace(8)`, one for each CPU: version 7, in either byte order.
//!
//! `struct blk_io_trace` and the categories are those of the kernel's `include/uapi/linux/blktrace_api.h`. Version 7
//! has no category for write zeroes: it counts as a write.

use super::event::{Action, BEYOND, Counts, Device, Event, Events, Origin, Rwbs};
use crate::request::{Bad, Entry, Flags, Kind, Next, Process, TraceError, TracePosition};
use crate::text::explain;
use iosonar_plan::Nanos;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;

/// The magic number, without the version in its lowest byte.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u8 = 7;
const HEAD: usize = 48;
/// Bytes read at a time.
const CHUNK: usize = 1 << 17;
/// Maximum number of process names kept; a machine runs no more at a time.
const MOST_PROCESSES: usize = 1 << 16;

/// Categories, in the upper half of an action.
mod category {
    pub const READ: u32 = 1;
    pub const WRITE: u32 = 1 << 1;
    pub const FLUSH: u32 = 1 << 2;
    pub const SYNC: u32 = 1 << 3;
    pub const PC: u32 = 1 << 9;
    pub const NOTIFY: u32 = 1 << 10;
    pub const AHEAD: u32 = 1 << 11;
    pub const META: u32 = 1 << 12;
    pub const DISCARD: u32 = 1 << 13;
    pub const FUA: u32 = 1 << 15;
}

/// Whether a trace starts with the magic.
pub fn recognises(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk::<4>() else { return false };
    u32::from_le_bytes(*magic) & !0xff == MAGIC || u32::from_be_bytes(*magic) & !0xff == MAGIC
}

/// Counts of other contents than events of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Notes {
    /// Names of processes.
    pub processes: u64,
    /// Times of day.
    pub timestamps: u64,
    /// Messages of users and drivers.
    pub messages: u64,
    /// Driver commands, which are not reads or writes of blocks (`PC`).
    pub commands: u64,
    /// Bytes that belong to no event.
    pub damaged_bytes: u64,
}

/// Reads the file of one CPU.
pub struct Blktrace<R> {
    input: R,
    buffer: Vec<u8>,
    /// Unused range of the buffer.
    from: usize,
    to: usize,
    /// File offset of the buffer.
    before: u64,
    big_endian: bool,
    events: u64,
    /// Position of the last head's data in the buffer.
    data: Range<usize>,
    names: HashMap<u32, [u8; 16]>,
    /// The process of the last event.
    last: Option<Process>,
    notes: Notes,
    event: Event,
    moved_from: Option<Origin>,
}

impl<R: Read> Blktrace<R> {
    /// Reads from the start of a file.
    pub fn new(input: R) -> Blktrace<R> {
        Blktrace {
            input,
            buffer: vec![0; CHUNK],
            from: 0,
            to: 0,
            before: 0,
            big_endian: false,
            events: 0,
            data: 0..0,
            names: HashMap::new(),
            last: None,
            notes: Notes::default(),
            event: Event::default(),
            moved_from: None,
        }
    }

    /// Returns the counts of other contents so far.
    pub fn notes(&self) -> Notes {
        self.notes
    }

    fn place(&self) -> TracePosition {
        TracePosition::Byte(self.before + self.from as u64)
    }

    /// Fills the buffer to at least `wanted` bytes; returns the number present, which is less only at EOF.
    fn fill(&mut self, wanted: usize) -> Result<usize, TraceError> {
        while self.to - self.from < wanted {
            if self.from > 0 {
                self.buffer.copy_within(self.from..self.to, 0);
                self.before += self.from as u64;
                (self.from, self.to) = (0, self.to - self.from);
            }
            if self.buffer.len() < wanted {
                self.buffer.resize(wanted, 0);
            }
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => break,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Io { at: self.place(), error: explain(error) }),
            }
        }
        Ok(self.to - self.from)
    }

    /// Reports a truncated event once; then the file has ended.
    fn cut_off(&mut self, there: usize, wanted: usize) -> Bad {
        let at = self.place();
        self.notes.damaged_bytes += (self.to - self.from) as u64;
        self.from = self.to;
        Bad { at, why: format!("the trace is cut off: {there} bytes of an event of {wanted}"), text: None }
    }

    /// Consumes the head and data of the next event; the data stays in the buffer, before the unused range.
    #[inline(always)]
    fn head(&mut self) -> Result<NextItem, TraceError> {
        if self.to - self.from < HEAD {
            match self.fill(HEAD)? {
                0 => return Ok(NextItem::Nothing),
                there if there < HEAD => return Ok(NextItem::Bad(self.cut_off(there, HEAD))),
                _ => {}
            }
        }
        if self.events == 0 {
            self.big_endian = self.begins_in_big_endian();
        }
        let head = self.buffer[self.from..].first_chunk().expect("the head");
        let head = if self.big_endian { Head::big_endian(head) } else { Head::little_endian(head) };
        if head.magic != MAGIC | u32::from(VERSION) {
            return Ok(NextItem::Bad(self.resume()?));
        }
        // Most events have no data.
        if head.data == 0 {
            self.data = self.from + HEAD..self.from + HEAD;
            self.from = self.data.end;
        } else if let Some(bad) = self.take_data(head.data)? {
            return Ok(NextItem::Bad(bad));
        }
        self.events += 1;
        Ok(NextItem::Head(head))
    }

    /// Consumes a head with `length` bytes of data, or fewer if that length is damaged, i.e. no event follows.
    fn take_data(&mut self, length: usize) -> Result<Option<Bad>, TraceError> {
        let is_followed = self.is_followed(HEAD + length)?;
        let there = self.to - self.from;
        if there < HEAD + length && !self.is_hidden(HEAD, there) {
            return Ok(Some(self.cut_off(there, HEAD + length)));
        }
        self.data = self.from + HEAD..self.from + HEAD + length.min(there - HEAD);
        self.from = if is_followed { self.data.end } else { self.data.start };
        Ok(None)
    }

    fn begins_in_big_endian(&self) -> bool {
        self.buffer[self.from..].starts_with(&(MAGIC | u32::from(VERSION)).to_be_bytes())
    }

    /// Whether the bytes are an event's magic. The first event determines the byte order.
    fn begins(&self, found: [u8; 4]) -> bool {
        let wanted = MAGIC | u32::from(VERSION);
        self.number(found) == wanted || self.events == 0 && found == wanted.to_be_bytes()
    }

    /// Skips invalid bytes up to the next event.
    fn resume(&mut self) -> Result<Bad, TraceError> {
        let (at, begin) = (self.place(), self.before + self.from as u64);
        let found: [u8; 4] = self.buffer[self.from..self.from + 4].try_into().expect("the head was read");
        let magic = self.number(found);
        let is_found = self.seek()?;
        let end = self.before + self.from as u64;
        if self.events == 0 && !is_found {
            return Err(TraceError::Broken { at, why: foreign(magic) });
        }
        let bytes = end - begin;
        self.notes.damaged_bytes += bytes;
        let why = if is_found {
            format!(
                "the trace is damaged: {bytes} bytes, up to the next event at byte {end}, are no event and were skipped"
            )
        } else {
            format!("the trace is damaged: here and in the last {bytes} bytes is no event")
        };
        Ok(Bad { at, why, text: None })
    }

    /// Moves forward, by at least one byte, to the next event, or to EOF.
    fn seek(&mut self) -> Result<bool, TraceError> {
        loop {
            self.from += 1;
            if self.fill(4)? < 4 {
                self.from = self.to;
                return Ok(false);
            }
            let mut fours = self.buffer[self.from..self.to].windows(4);
            let found = fours.position(|four| self.begins([four[0], four[1], four[2], four[3]]));
            if let Some(bytes) = found {
                self.from += bytes;
                return Ok(true);
            }
            self.from = self.to - 4;
        }
    }

    /// Whether an event starts in this range of the buffer, counted from the current position.
    fn is_hidden(&self, from: usize, to: usize) -> bool {
        let mut fours = self.buffer[self.from + from..self.from + to].windows(4);
        fours.any(|four| self.begins([four[0], four[1], four[2], four[3]]))
    }

    /// Whether an event or EOF follows after `bytes`: the length of an event's data can be damaged, too, and would
    /// swallow events.
    fn is_followed(&mut self, bytes: usize) -> Result<bool, TraceError> {
        let there = self.fill(bytes + 4)?;
        let next = self.buffer[self.from..self.from + there].get(bytes..bytes + 4);
        let begins = |four: &[u8]| self.begins([four[0], four[1], four[2], four[3]]);
        Ok(next.map_or(there == bytes, begins))
    }

    fn number(&self, bytes: [u8; 4]) -> u32 {
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn data_behind_group(&self, head: &Head) -> Range<usize> {
        (self.data.start + head.group_bytes()).min(self.data.end)..self.data.end
    }

    /// `struct blk_io_trace_remap`: origin of the request, its present device, and its sector there, all big endian.
    fn origin(&self, head: &Head) -> Option<Origin> {
        let data = &self.buffer[self.data_behind_group(head)];
        let device = Device(u32::from_be_bytes(*data.first_chunk()?));
        let sector = u64::from_be_bytes(*data.get(8..)?.first_chunk()?);
        Some(Origin { device, sector })
    }

    fn notice(&mut self, head: &Head) {
        let Head { action, pid, .. } = *head;
        let data = self.data_behind_group(head);
        match action & 0xff {
            0 => {
                self.notes.processes += 1;
                let bytes = &self.buffer[data];
                let length = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
                if self.names.len() < MOST_PROCESSES || self.names.contains_key(&pid) {
                    self.names.insert(pid, Process::new(pid, &bytes[..length]).name);
                    self.last = None;
                }
            }
            1 => self.notes.timestamps += 1,
            _ => self.notes.messages += 1,
        }
    }

    /// Looks up a process by number. Usually it is that of the previous event.
    #[inline]
    fn process(&mut self, pid: u32) -> Process {
        match self.last {
            Some(last) if last.pid == pid => last,
            _ => {
                let process = Process { pid, name: self.names.get(&pid).copied().unwrap_or_default() };
                self.last = Some(process);
                process
            }
        }
    }
}

/// Next item in a file.
enum NextItem {
    Nothing,
    Bad(Bad),
    Head(Head),
}

/// `struct blk_io_trace`, reduced to the fields used.
struct Head {
    magic: u32,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    pid: u32,
    device: u32,
    error: u16,
    /// Bytes that follow the head.
    data: usize,
}

macro_rules! head_of {
    ($head:ident, $long:path, $word:path, $short:path) => {{
        let long = |at: usize| $long($head[at..at + 8].try_into().expect("eight bytes"));
        let word = |at: usize| $word($head[at..at + 4].try_into().expect("four bytes"));
        let short = |at: usize| $short($head[at..at + 2].try_into().expect("two bytes"));
        Head {
            magic: word(0),
            time: long(8),
            sector: long(16),
            bytes: word(24),
            action: word(28),
            pid: word(32),
            device: word(36),
            error: short(44),
            data: short(46).into(),
        }
    }};
}

impl Head {
    #[inline(always)]
    fn little_endian(head: &[u8; HEAD]) -> Head {
        head_of!(head, u64::from_le_bytes, u32::from_le_bytes, u16::from_le_bytes)
    }

    fn big_endian(head: &[u8; HEAD]) -> Head {
        head_of!(head, u64::from_be_bytes, u32::from_be_bytes, u16::from_be_bytes)
    }

    fn is_notice(&self) -> bool {
        self.action >> 16 & category::NOTIFY != 0
    }

    /// Bytes of the control group's number in the data: with bit 8 it precedes the action's own data.
    fn group_bytes(&self) -> usize {
        if self.action & 0x100 == 0 { 0 } else { 8 }
    }
}

impl<R: Read> Events for Blktrace<R> {
    fn next(&mut self) -> Next<&Event> {
        loop {
            let head = match self.head()? {
                NextItem::Head(head) => head,
                NextItem::Bad(bad) => return Ok(Some(Entry::Bad(bad))),
                NextItem::Nothing => return Ok(None),
            };
            if head.is_notice() {
                self.notice(&head);
                continue;
            }
            let category = head.action >> 16;
            self.notes.commands += u64::from(category & category::PC != 0);
            self.event = Event {
                at: self.events,
                time: Nanos(head.time),
                action: act(head.action),
                device: Device(head.device),
                sector: head.sector,
                bytes: head.bytes.into(),
                rwbs: rwbs(category, head.bytes),
                process: self.process(head.pid),
                error: i32::from(head.error as i16).abs(),
            };
            if self.event.action == Action::Remap {
                self.moved_from = self.origin(&head);
            }
            if !self.event.is_possible() {
                let at = TracePosition::Byte(self.before + (self.data.start - HEAD) as u64);
                return Ok(Some(Entry::Bad(Bad { at, why: BEYOND.into(), text: None })));
            }
            return Ok(Some(Entry::One(&self.event)));
        }
    }

    fn shown(&self) -> &Event {
        &self.event
    }

    fn moved_from(&self) -> Option<Origin> {
        self.moved_from.filter(|_| self.event.action == Action::Remap)
    }

    fn count(&mut self, counts: &mut Counts) {
        loop {
            match self.head() {
                Ok(NextItem::Head(head)) => counts[act(head.action) as usize] += u64::from(!head.is_notice()),
                Ok(NextItem::Bad(_)) => {}
                Ok(NextItem::Nothing) | Err(_) => return,
            }
        }
    }

    fn name_of(&self, pid: u32) -> Option<[u8; 16]> {
        self.names.get(&pid).copied()
    }

    fn name_shown(&mut self, name: [u8; 16]) {
        self.event.process.name = name;
        self.last = Some(self.event.process);
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        let Notes { processes, timestamps, messages, commands, damaged_bytes } = self.notes;
        let all = [
            ("names of processes", processes),
            ("times of day", timestamps),
            ("messages", messages),
            ("drivers' commands, among the events", commands),
            ("bytes of the trace are damaged and were skipped", damaged_bytes),
        ];
        all.map(|(what, count)| (what.to_string(), count)).into()
    }
}

/// Why a file without any event is rejected.
fn foreign(magic: u32) -> String {
    if magic & !0xff == MAGIC {
        format!("it is of version {} of blktrace's format; version {VERSION} is read", magic as u8)
    } else {
        format!(
            "here should be an event, with the number {MAGIC:x}, but there is {magic:08x}, and none follows"
        )
    }
}

/// Maps the lower half of the action; bit 8 only marks a control group.
fn act(action: u32) -> Action {
    match action & 0xff {
        1 => Action::Queue,
        2 | 3 => Action::Merge,
        4 => Action::GetRequest,
        6 => Action::Requeue,
        7 => Action::Issue,
        8 => Action::Complete,
        12 => Action::Insert,
        13 => Action::Split,
        15 => Action::Remap,
        _ => Action::Other,
    }
}

fn rwbs(category: u32, bytes: u32) -> Rwbs {
    let has = |bit: u32| category & bit != 0;
    let kind = if has(category::PC) {
        Kind::Other
    } else if has(category::DISCARD) {
        Kind::Discard
    } else if bytes == 0 && has(category::FLUSH) && !has(category::WRITE) {
        // A requested flush is a write without data, as in blkparse's letters.
        Kind::Flush
    } else if has(category::WRITE) {
        Kind::Write
    } else if has(category::READ) {
        Kind::Read
    } else {
        Kind::Other
    };
    let flags = Flags::default()
        .with(Flags::PREFLUSH, has(category::FLUSH))
        .with(Flags::FUA, has(category::FUA))
        .with(Flags::AHEAD, has(category::AHEAD))
        .with(Flags::SYNC, has(category::SYNC))
        .with(Flags::META, has(category::META));
    Rwbs { kind, flags }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An event as the kernel writes it.
    fn event(big: bool, time: u64, sector: u64, bytes: u32, action: u32, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut put = |le: &[u8]| {
            let mut bytes = le.to_vec();
            if big {
                bytes.reverse();
            }
            out.extend(bytes);
        };
        put(&(MAGIC | u32::from(VERSION)).to_le_bytes());
        put(&1u32.to_le_bytes());
        put(&time.to_le_bytes());
        put(&sector.to_le_bytes());
        for word in [bytes, action, 42, 7 << 20 | 4, 0] {
            put(&word.to_le_bytes());
        }
        put(&0u16.to_le_bytes());
        put(&(data.len() as u16).to_le_bytes());
        out.extend(data);
        out
    }

    fn all(bytes: &[u8]) -> (Vec<Event>, Option<String>) {
        let mut reader = Blktrace::new(bytes);
        let mut events = Vec::new();
        loop {
            match reader.next() {
                Ok(Some(Entry::One(event))) => events.push(*event),
                Ok(Some(Entry::Bad(bad))) => return (events, Some(bad.to_string())),
                Err(error) => return (events, Some(error.to_string())),
                Ok(None) => return (events, None),
            }
        }
    }

    #[test]
    fn reads_both_byte_orders_with_process_names() {
        for big in [false, true] {
            let mut bytes = event(big, 0, 0, 0, category::NOTIFY << 16, b"dd\0\0");
            bytes.extend(event(big, 5, 16, 4096, (category::WRITE | category::SYNC) << 16 | 1, b""));
            bytes.extend(event(big, 6, 0, 0, category::NOTIFY << 16 | 2, b"a message"));
            bytes.extend(event(big, 9, 16, 4096, category::WRITE << 16 | 8, b""));
            assert!(recognises(&bytes));
            let (events, end) = all(&bytes);
            assert_eq!(end, None);
            let seen: Vec<_> = events.iter().map(|e| (e.time.0, e.sector, e.action)).collect();
            assert_eq!(seen, [(5, 16, Action::Queue), (9, 16, Action::Complete)]);
            assert_eq!(events[0].process.to_string(), "dd-42");
            assert_eq!(events[0].device.to_string(), "7,4");
            assert_eq!(events[0].rwbs.kind, Kind::Write);
        }
    }

    #[test]
    fn remap_yields_original_device_and_sector() {
        let remap =
            [&(8u32 << 20 | 18).to_be_bytes()[..], &(8u32 << 20 | 16).to_be_bytes(), &77u64.to_be_bytes()]
                .concat();
        let group = [&[9; 8][..], &remap].concat();
        let want = Some(Origin { device: Device::new(8, 18).unwrap(), sector: 77 });
        for big in [false, true] {
            for (action, data, want) in
                [(15, &remap, want), (15 | 0x100, &group, want), (1, &remap, None), (15, &vec![1; 9], None)]
            {
                let bytes = event(big, 5, 2125, 4096, category::READ << 16 | action, data);
                let mut reader = Blktrace::new(bytes.as_slice());
                assert!(matches!(reader.next(), Ok(Some(Entry::One(_)))));
                assert_eq!(reader.moved_from(), want, "{big} {action}");
            }
        }
    }

    #[test]
    fn reports_offset_of_damage() {
        let one = event(false, 5, 16, 4096, category::READ << 16 | 1, b"");
        let cut = [&one[..], &one[..20]].concat();
        assert_eq!(all(&cut).1.unwrap(), "byte 48: the trace is cut off: 20 bytes of an event of 48");
        let mut bad = [&one[..], &one[..]].concat();
        bad[49] = 0;
        let (events, why) = all(&bad);
        assert!(events.len() == 1 && why.as_ref().unwrap().starts_with("byte 48: the trace is damaged"));
        bad[0] = 9;
        assert!(all(&bad).1.unwrap().contains("version 9"));
        bad[1] = 1;
        assert!(all(&bad).1.unwrap().starts_with("byte 0: here should be an event"));
    }

    /// Sectors of the events read, reported damage, and number of skipped bytes.
    fn kept(bytes: &[u8]) -> (Vec<u64>, Vec<String>, u64) {
        let mut reader = Blktrace::new(bytes);
        let (mut sectors, mut told) = (Vec::new(), Vec::new());
        while let Some(entry) = reader.next().unwrap() {
            match entry {
                Entry::One(event) => sectors.push(event.sector),
                Entry::Bad(bad) => told.push(bad.to_string()),
            }
        }
        (sectors, told, reader.notes().damaged_bytes)
    }

    #[test]
    fn resynchronizes_after_damage() {
        for big in [false, true] {
            let one = |sector, data: &[u8]| event(big, sector, sector, 4096, category::READ << 16 | 1, data);
            let whole = [one(1, b""), one(2, b"abc"), one(3, b""), one(4, b"")].concat();
            assert_eq!(kept(&whole), (vec![1, 2, 3, 4], vec![], 0));
            // The magic of each event in turn, including the first; its data goes with the following event.
            for (at, left, bytes) in [
                (0, vec![2, 3, 4], 48),
                (48, vec![1, 3, 4], 51),
                (99, vec![1, 2, 4], 51),
                (147, vec![1, 2, 3], 48),
            ] {
                let mut bad = whole.clone();
                bad[at + 1] ^= 0x10;
                let (sectors, told, skipped) = kept(&bad);
                assert_eq!((sectors, told.len(), skipped), (left, 1, bytes), "{big} {at} {told:?}");
            }
            // The data length: too large, too small, and beyond EOF.
            let length = 48 + 46 + usize::from(big);
            for value in [90, 1, 0, 255] {
                let mut bad = whole.clone();
                bad[length] = value;
                let (sectors, told, skipped) = kept(&bad);
                assert_eq!((sectors, told.len()), (vec![1, 2, 3, 4], 1), "{value} {told:?}");
                assert!(skipped <= 3 && told[0].starts_with("byte 96"), "{told:?}");
            }
            // A hole, and garbage longer than one read.
            let mut bad = whole.clone();
            bad.drain(50..110);
            assert_eq!(kept(&bad).0, [1, 4]);
            let bad = [&whole[..99], &vec![0x65; 3 * CHUNK][..], &whole[99..]].concat();
            let (sectors, told, skipped) = kept(&bad);
            assert_eq!((sectors, skipped), (vec![1, 2, 3, 4], 3 * CHUNK as u64 + 3));
            assert!(told[0].contains("up to the next event at byte"), "{told:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400), whole: bool) {
            if whole && bytes.len() > 4 {
                bytes[..4].copy_from_slice(&(MAGIC | u32::from(VERSION)).to_le_bytes());
            }
            all(&bytes);
        }
    }
}
