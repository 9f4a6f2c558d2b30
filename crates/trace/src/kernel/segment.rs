//! Recorded kernel events on disk: segments of frames, small and quickly written.
//!
//! A segment is a head of 16 bytes (magic, version) and frames. A frame is a head of 32 bytes (number of events, events
//! lost before it, length, length as compressed, checksum of what follows) and its events, deflated. Events are stored
//! as differences to the previous one, in numbers of variable length (LEB128). Damage is reported with its place, and
//! reading resumes at the next intact frame.

use super::event::{Action, Device, Event, Events, Rwbs};
use crate::request::{Bad, Entry, Flags, Kind, Next, Process, TraceError, TracePosition};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use iosonar_plan::Nanos;
use std::io::{ErrorKind, Read, Write};

/// Ending of the name of a segment: `NUMBER.events`.
pub const ENDING: &str = "events";

const MAGIC: [u8; 8] = *b"iosonarE";
const VERSION: u32 = 1;
const HEAD: usize = 16;
const FRAME_HEAD: usize = 32;
/// Maximum number of events of a frame, and of their bytes.
pub const FRAME_EVENTS: usize = 1 << 14;
const MOST_BYTES: usize = FRAME_EVENTS * 96;
/// Bytes searched for a frame at a time, after damage.
const LOOKED_AT: usize = 1 << 16;

/// Whether a file starts as a segment.
pub fn recognises(head: &[u8]) -> bool {
    head.starts_with(&MAGIC)
}

/// State against which the events of a frame are encoded.
#[derive(Debug, Default)]
struct Before {
    time: u64,
    sector: u64,
    device: u32,
    pid: u32,
    /// Names of this frame, in order of appearance.
    names: Vec<[u8; 16]>,
}

/// Writes segments.
pub struct SegmentWriter<W> {
    out: W,
    bytes: Vec<u8>,
    packed: Vec<u8>,
    deflate: Compress,
    written: u64,
}

impl<W: Write> SegmentWriter<W> {
    /// Starts a segment.
    pub fn new(mut out: W) -> std::io::Result<SegmentWriter<W>> {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out.write_all(&head)?;
        let deflate = Compress::new(Compression::fast(), false);
        Ok(SegmentWriter { out, bytes: Vec::new(), packed: Vec::new(), deflate, written: HEAD as u64 })
    }

    /// Bytes of the segment so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns the underlying writer.
    pub fn get_ref(&self) -> &W {
        &self.out
    }

    /// Appends events in time order; `lost` were lost before them. Each frame is one write, so that a killed program
    /// leaves whole frames.
    pub fn append(&mut self, events: &[Event], lost: u64) -> std::io::Result<()> {
        let mut lost = lost;
        for some in events.chunks(FRAME_EVENTS) {
            self.frame(some, std::mem::take(&mut lost))?;
        }
        if lost > 0 { self.frame(&[], lost) } else { Ok(()) }
    }

    fn frame(&mut self, events: &[Event], lost: u64) -> std::io::Result<()> {
        self.bytes.clear();
        let mut before = Before::default();
        events.iter().for_each(|event| encode(event, &mut before, &mut self.bytes));
        self.packed.clear();
        self.packed.resize(FRAME_HEAD, 0);
        // Upper bound of deflate's output.
        self.packed.reserve(self.bytes.len() + self.bytes.len() / 8 + 64);
        self.deflate.reset();
        let status = self.deflate.compress_vec(&self.bytes, &mut self.packed, FlushCompress::Finish);
        if !matches!(status, Ok(Status::StreamEnd)) {
            return Err(std::io::Error::other("events could not be compressed"));
        }
        let sum = crc32fast::hash(&self.packed[FRAME_HEAD..]);
        let length = self.packed.len() - FRAME_HEAD;
        let head = &mut self.packed[..FRAME_HEAD];
        for (at, number) in [(0, events.len()), (4, self.bytes.len()), (8, length)] {
            head[at..at + 4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        head[12..16].copy_from_slice(&sum.to_le_bytes());
        head[16..24].copy_from_slice(&lost.to_le_bytes());
        let of_head = crc32fast::hash(&head[..24]);
        head[24..28].copy_from_slice(&of_head.to_le_bytes());
        self.out.write_all(&self.packed)?;
        self.written += self.packed.len() as u64;
        Ok(())
    }

    /// Ends the segment.
    pub fn end(self) -> W {
        self.out
    }
}

fn put(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Maps small differences of either sign to small numbers.
fn zigzag(difference: i64) -> u64 {
    (difference << 1 ^ difference >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

fn encode(event: &Event, before: &mut Before, out: &mut Vec<u8>) {
    let Event { action, device, rwbs, process, .. } = *event;
    out.push(action as u8 | (rwbs.kind as u8) << 4);
    out.push(rwbs.flags.0 | u8::from(event.error != 0) << 7);
    put(zigzag(event.time.0.wrapping_sub(before.time) as i64), out);
    put(zigzag(event.sector.wrapping_sub(before.sector) as i64), out);
    put(event.bytes, out);
    put((device.0 ^ before.device).into(), out);
    put((process.pid ^ before.pid).into(), out);
    match before.names.iter().position(|name| *name == process.name) {
        Some(known) => put(known as u64, out),
        None => {
            put(before.names.len() as u64, out);
            out.extend(process.name);
            before.names.push(process.name);
        }
    }
    if event.error != 0 {
        put(zigzag(event.error.into()), out);
    }
    before.time = event.time.0;
    before.sector = event.sector.wrapping_add(event.bytes / 512);
    (before.device, before.pid) = (device.0, process.pid);
}

/// Head of a frame.
struct FrameHead {
    events: u32,
    length: usize,
    packed: usize,
    sum: u32,
    lost: u64,
}

impl FrameHead {
    /// Decodes a head; `None` if its checksum is wrong.
    fn of(head: &[u8; FRAME_HEAD]) -> Option<FrameHead> {
        let word = |i: usize| u32::from_le_bytes([head[i], head[i + 1], head[i + 2], head[i + 3]]);
        let (events, length, packed) = (word(0), word(4) as usize, word(8) as usize);
        let is_sound = events as usize <= FRAME_EVENTS
            && length <= MOST_BYTES
            && packed <= 2 * MOST_BYTES
            && crc32fast::hash(&head[..24]) == word(24);
        let lost = u64::from_le_bytes(head[16..24].try_into().expect("eight bytes"));
        is_sound.then_some(FrameHead { events, length, packed, sum: word(12), lost })
    }
}

/// Reads segments, one after the other.
pub struct Segments<'a, R> {
    /// Opened one after the other: there may be more than the limit of open files.
    inputs: Box<dyn Iterator<Item = std::io::Result<R>> + 'a>,
    input: Option<R>,
    /// Number of this segment, from 1.
    number: u64,
    /// Offset in this segment.
    at: u64,
    /// Bytes already read, to be read again.
    again: Vec<u8>,
    bytes: Vec<u8>,
    used: usize,
    left: u32,
    before: Before,
    events: u64,
    lost: u64,
    damaged_bytes: u64,
    inflate: Decompress,
    event: Event,
}

impl<'a, R: Read> Segments<'a, R> {
    /// Reads segments in time order.
    pub fn new(inputs: impl IntoIterator<Item = std::io::Result<R>, IntoIter: 'a>) -> Segments<'a, R> {
        Segments {
            inputs: Box::new(inputs.into_iter()),
            input: None,
            number: 0,
            at: 0,
            again: Vec::new(),
            bytes: Vec::new(),
            used: 0,
            left: 0,
            before: Before::default(),
            events: 0,
            lost: 0,
            damaged_bytes: 0,
            inflate: Decompress::new(false),
            event: Event::default(),
        }
    }

    /// Events lost so far.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Fills the buffer; returns less only at EOF.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, TraceError> {
        let Some(input) = &mut self.input else { return Ok(0) };
        let mut read = self.again.len().min(buffer.len());
        buffer[..read].copy_from_slice(&self.again[..read]);
        self.again.drain(..read);
        while read < buffer.len() {
            match input.read(&mut buffer[read..]) {
                Ok(0) => break,
                Ok(n) => read += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Io { at: TracePosition::Byte(self.at), error }),
            }
        }
        self.at += read as u64;
        Ok(read)
    }

    /// Opens the next non-empty segment and reads its head; `None` after the last one.
    fn begin(&mut self) -> Result<Option<Option<Bad>>, TraceError> {
        loop {
            let opened = self.inputs.next().transpose();
            self.input = opened.map_err(|error| TraceError::Io { at: TracePosition::Byte(0), error })?;
            (self.at, self.number) = (0, self.number + 1);
            self.again.clear();
            if self.input.is_none() {
                return Ok(None);
            }
            let mut head = [0; HEAD];
            let read = self.fill(&mut head)?;
            let version = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
            return match (read == HEAD && head.starts_with(&MAGIC), version) {
                // A recorder that was killed at once leaves an empty file.
                _ if read == 0 => continue,
                (true, VERSION) => Ok(Some(None)),
                (true, other) => {
                    self.input = None;
                    let why =
                        format!("it is of version {other}, and version {VERSION} is read: it is skipped");
                    Ok(Some(Some(self.bad(0, &why))))
                }
                (false, _) => self.resume(0, &head[..read], "its head is damaged").map(|bad| Some(Some(bad))),
            };
        }
    }

    /// Reads the next frame; damage is reported and skipped.
    fn frame(&mut self) -> Result<Option<Option<Bad>>, TraceError> {
        if self.input.is_none() {
            return self.begin();
        }
        let begin = self.at;
        let mut head = [0; FRAME_HEAD];
        let read = self.fill(&mut head)?;
        if read == 0 {
            self.input = None;
            return Ok(Some(None));
        }
        let Some(told) = FrameHead::of(&head).filter(|_| read == FRAME_HEAD) else {
            let bad = self.resume(begin, &head[..read], "the head of a frame is cut off or damaged")?;
            return Ok(Some(Some(bad)));
        };
        // The head is intact, even if its events are not.
        self.lost += told.lost;
        let mut bytes = head.to_vec();
        bytes.resize(FRAME_HEAD + told.packed, 0);
        let read = FRAME_HEAD + self.fill(&mut bytes[FRAME_HEAD..])?;
        if read < bytes.len() || !self.unpack(&told, &bytes[FRAME_HEAD..]) {
            let why = format!("a frame of {} events is cut off or damaged", told.events);
            return Ok(Some(Some(self.resume(begin, &bytes[..read], &why)?)));
        }
        (self.used, self.left, self.before) = (0, told.events, Before::default());
        Ok(Some(None))
    }

    /// Unpacks a frame's events into `bytes`; returns whether they are intact.
    fn unpack(&mut self, told: &FrameHead, packed: &[u8]) -> bool {
        if crc32fast::hash(packed) != told.sum {
            return false;
        }
        self.bytes.clear();
        self.bytes.reserve(told.length);
        self.inflate.reset(false);
        let inflated = self.inflate.decompress_vec(packed, &mut self.bytes, FlushDecompress::Finish);
        matches!(inflated, Ok(Status::StreamEnd)) && self.bytes.len() == told.length
    }

    /// Resumes at the first frame after `begin`, from where `seen` was read; reports the skipped bytes.
    fn resume(&mut self, begin: u64, seen: &[u8], why: &str) -> Result<Bad, TraceError> {
        self.again.splice(..0, seen.iter().copied());
        self.at = begin;
        let mut window = vec![0; 1];
        self.fill(&mut window)?;
        let is_found = loop {
            window.clear();
            window.resize(LOOKED_AT, 0);
            let from = self.at;
            let read = self.fill(&mut window)?;
            window.truncate(read);
            let is_head = |w: &[u8]| w.first_chunk().is_some_and(|head| FrameHead::of(head).is_some());
            let found = window.windows(FRAME_HEAD).position(is_head);
            // A head can cross the end of the window.
            let passed = found.unwrap_or(if read < LOOKED_AT { read } else { read - (FRAME_HEAD - 1) });
            self.again.splice(..0, window[passed..].iter().copied());
            self.at = from + passed as u64;
            if found.is_some() || read < LOOKED_AT {
                break found.is_some();
            }
        };
        let (end, bytes) = (self.at, self.at - begin);
        self.damaged_bytes += bytes;
        if !is_found {
            self.input = None;
            return Ok(self.bad(begin, &format!("{why}: the rest of the segment, {bytes} bytes, is skipped")));
        }
        Ok(self.bad(begin, &format!("{why}: {bytes} bytes, up to the next frame at byte {end}, are skipped")))
    }

    fn bad(&self, at: u64, why: &str) -> Bad {
        Bad { at: TracePosition::Byte(at), why: format!("of segment {}: {why}", self.number), text: None }
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = *self.bytes.get(self.used)?;
            self.used += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn decode(&mut self) -> Option<Event> {
        let (first, second) = (*self.bytes.get(self.used)?, *self.bytes.get(self.used + 1)?);
        self.used += 2;
        let action = *Action::ALL.get(usize::from(first & 0xf))?;
        let kind = *Kind::ALL.get(usize::from(first >> 4))?;
        let time = self.before.time.wrapping_add(unzigzag(self.number()?) as u64);
        let sector = self.before.sector.wrapping_add(unzigzag(self.number()?) as u64);
        let bytes = self.number()?;
        let device = self.before.device ^ u32::try_from(self.number()?).ok()?;
        let pid = self.before.pid ^ u32::try_from(self.number()?).ok()?;
        let name = usize::try_from(self.number()?).ok()?;
        if name == self.before.names.len() {
            let told = self.bytes.get(self.used..self.used + 16)?;
            self.before.names.push(told.try_into().ok()?);
            self.used += 16;
        }
        let name = *self.before.names.get(name)?;
        let error = if second & 0x80 == 0 { 0 } else { i32::try_from(unzigzag(self.number()?)).ok()? };
        (self.before.time, self.before.sector) = (time, sector.wrapping_add(bytes / 512));
        (self.before.device, self.before.pid) = (device, pid);
        self.events += 1;
        let rwbs = Rwbs { kind, flags: Flags(second & 0x7f) };
        let (time, device, process) = (Nanos(time), Device(device), Process { pid, name });
        let event = Event { at: self.events, time, action, device, sector, bytes, rwbs, process, error };
        event.is_possible().then_some(event)
    }
}

impl<R: Read> Events for Segments<'_, R> {
    fn next(&mut self) -> Next<&Event> {
        while self.left == 0 {
            match self.frame()? {
                None => return Ok(None),
                Some(Some(bad)) => return Ok(Some(Entry::Bad(bad))),
                Some(None) => {}
            }
        }
        self.left -= 1;
        match self.decode() {
            Some(event) => {
                self.event = event;
                Ok(Some(Entry::One(&self.event)))
            }
            None => {
                let left = 1 + u64::from(std::mem::take(&mut self.left));
                let why =
                    format!("before this an event makes no sense: {left} events of its frame are skipped");
                Ok(Some(Entry::Bad(self.bad(self.at, &why))))
            }
        }
    }

    fn shown(&self) -> &Event {
        &self.event
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        vec![
            ("lost events, as the kernel says".into(), self.lost),
            ("bytes of the recording are damaged and were skipped".into(), self.damaged_bytes),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn event() -> impl Strategy<Value = Event> {
        let small = (0usize..Action::ALL.len(), 0usize..Kind::ALL.len(), 0u8..32, any::<bool>(), 0u8..4);
        (small, 0u64..1 << 62, 0u64..1 << 40, 0u64..1 << 20, any::<u32>(), any::<u32>()).prop_map(
            |((action, kind, flags, failed, name), time, sector, sectors, device, pid)| Event {
                at: 0,
                time: Nanos(time),
                action: Action::ALL[action],
                device: Device(device),
                sector,
                bytes: sectors * 512,
                rwbs: Rwbs { kind: Kind::ALL[kind], flags: Flags(flags) },
                process: Process::new(pid, &[b'a' + name]),
                error: if failed { 5 } else { 0 },
            },
        )
    }

    fn segment(frames: &[Vec<Event>]) -> Vec<u8> {
        let mut writer = SegmentWriter::new(Vec::new()).unwrap();
        for (i, events) in frames.iter().enumerate() {
            writer.append(events, i as u64).unwrap();
        }
        assert_eq!(writer.written(), writer.get_ref().len() as u64);
        writer.end()
    }

    fn read(bytes: &[Vec<u8>]) -> (Vec<Event>, Vec<String>, u64) {
        let mut reader = Segments::new(bytes.iter().map(|b| Ok(b.as_slice())));
        let (mut events, mut bad) = (Vec::new(), Vec::new());
        while let Some(entry) = reader.next().unwrap() {
            match entry {
                Entry::One(event) => events.push(Event { at: 0, ..*event }),
                Entry::Bad(b) => bad.push(b.to_string()),
            }
        }
        (events, bad, reader.lost())
    }

    proptest! {
        #[test]
        fn written_segments_read_back(frames in prop::collection::vec(prop::collection::vec(event(), 0..40), 0..4)) {
            let lost = (0..frames.len() as u64).sum();
            prop_assert_eq!(read(&[segment(&frames)]), (frames.concat(), vec![], lost));
        }

        #[test]
        fn truncation_keeps_preceding_frames(events in prop::collection::vec(event(), 1..40), cut in 0usize..200) {
            let two = [events.clone(), events.clone()];
            let (whole, first) = (segment(&two), segment(&two[..1]).len());
            let length = whole.len().saturating_sub(cut).max(HEAD);
            let (found, bad, _) = read(&[whole[..length].to_vec(), segment(&two[..1])]);
            let frames = if length == whole.len() { 2 } else { usize::from(length >= first) };
            prop_assert_eq!(found.len(), (frames + 1) * events.len());
            let between = length == whole.len() || length == first || length == HEAD;
            prop_assert_eq!(bad.is_empty(), between, "{:?}", bad);
        }

        #[test]
        fn damaged_byte_loses_only_its_frame(events in prop::collection::vec(event(), 1..40), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let frames = [events.clone(), events.clone(), events.clone()];
            let mut damaged = segment(&frames);
            // The last 4 bytes of each head are unused so far.
            let first = segment(&frames[..1]).len() - HEAD;
            let at = at.index(damaged.len());
            let is_used = if at < HEAD { at < 12 } else { (at - HEAD) % first < 28 };
            let is_body = at >= HEAD && (at - HEAD) % first >= FRAME_HEAD;
            damaged[at] ^= 1 << bit;
            let (found, bad, lost) = read(&[damaged, segment(&frames[..1])]);
            let wants = match (at, is_used || is_body) {
                (_, false) => 4,
                (0..8, true) => 4,
                // The rest of a segment of another version is skipped.
                (8..HEAD, true) => 1,
                (_, true) => 3,
            };
            prop_assert_eq!(found.len(), wants * events.len(), "{:?}", bad);
            prop_assert_eq!(bad.len(), usize::from(is_used || is_body), "{:?}", bad);
            prop_assert!(lost <= 3);
        }

        #[test]
        fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), events in prop::collection::vec(event(), 0..9), at in 0usize..500, byte: u8) {
            if bytes.len() >= HEAD {
                bytes[..8].copy_from_slice(&MAGIC);
                bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
            }
            let mut reader = Segments::new([Ok(&bytes[..])]);
            while let Ok(Some(_)) = reader.next() {}
            let mut damaged = segment(&[events]);
            let at = at % damaged.len();
            damaged[at] ^= byte;
            let mut reader = Segments::new([Ok(&damaged[..])]);
            while let Ok(Some(_)) = reader.next() {}
        }
    }
}
