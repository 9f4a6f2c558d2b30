//! One event of the block layer.

use crate::request::{Entry, Flags, Kind, Next, Process};
use crate::text::whole;
use iosonar_plan::{Nanos, SECTOR};
use std::fmt;

/// Steps of a request, by the letters of `blkparse(1)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Action {
    /// `Q`: queued.
    Queue,
    /// `G`: request allocated.
    GetRequest,
    /// `I`: inserted into the scheduler.
    Insert,
    /// `D`: issued to the driver.
    Issue,
    /// `C`: completed.
    Complete,
    /// `M` and `F`: merged into a waiting request.
    Merge,
    /// `X`: split.
    Split,
    /// `R`: requeued.
    Requeue,
    /// `A`: remapped to another device.
    Remap,
    /// Anything else: plugs, sleeps, messages.
    Other,
}

impl Action {
    /// Every action, in the order of a request's life.
    pub const ALL: [Action; 10] = [
        Action::Queue,
        Action::GetRequest,
        Action::Insert,
        Action::Issue,
        Action::Complete,
        Action::Merge,
        Action::Split,
        Action::Requeue,
        Action::Remap,
        Action::Other,
    ];

    /// Returns the action of blkparse's letter.
    pub fn of_letter(letter: u8) -> Action {
        match letter {
            b'Q' => Action::Queue,
            b'G' => Action::GetRequest,
            b'I' => Action::Insert,
            b'D' => Action::Issue,
            b'C' => Action::Complete,
            b'M' | b'F' => Action::Merge,
            b'X' => Action::Split,
            b'R' => Action::Requeue,
            b'A' => Action::Remap,
            _ => Action::Other,
        }
    }

    /// Returns blkparse's letter and a word.
    pub fn name(self) -> &'static str {
        match self {
            Action::Queue => "Q queue",
            Action::GetRequest => "G get request",
            Action::Insert => "I insert",
            Action::Issue => "D issue",
            Action::Complete => "C complete",
            Action::Merge => "M, F merge",
            Action::Split => "X split",
            Action::Requeue => "R requeue",
            Action::Remap => "A remap",
            Action::Other => "other",
        }
    }
}

/// Major and minor number of a device, as the kernel packs them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Device(pub u32);

impl Device {
    /// Packs the numbers; `None` if they exceed the kernel's range.
    pub fn new(major: u32, minor: u32) -> Option<Device> {
        (major < 1 << 12 && minor < 1 << 20).then_some(Device(major << 20 | minor))
    }

    /// Parses `8,16` or `8:16`.
    pub fn parse(text: &str) -> Option<Device> {
        let (major, minor) = text.trim().split_once([',', ':'])?;
        Device::new(major.trim().parse().ok()?, minor.trim().parse().ok()?)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{}", self.0 >> 20, self.0 & 0xf_ffff)
    }
}

/// Operation and flags of a request, as in the letters of blkparse and of the kernel's events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rwbs {
    /// Operation.
    pub kind: Kind,
    /// Flags.
    pub flags: Flags,
}

impl Rwbs {
    /// Parses letters such as `WS`, `FWFS`, `RA`, `D`, `FF`, `N`.
    pub fn parse(letters: &[u8]) -> Rwbs {
        // An F before another operation is a preflush; alone, or before F, it is the operation.
        let preflush = letters.first() == Some(&b'F')
            && matches!(letters.get(1), Some(b'R' | b'W' | b'D' | b'N' | b'F' | b'Z'));
        let (operation, rest) = match (letters, preflush) {
            ([b'F', operation, rest @ ..], true) => (*operation, rest),
            ([operation, rest @ ..], _) => (*operation, rest),
            ([], _) => (b'?', &[][..]),
        };
        // The second letter of a zone operation is not a flag: ZA append, ZR reset, ZO open, ZC close, ZF finish.
        let (zone, rest) = match (operation, rest) {
            (b'Z', [zone, rest @ ..]) => (Some(*zone), rest),
            _ => (None, rest),
        };
        let kind = match operation {
            b'R' => Kind::Read,
            b'W' if rest.first() == Some(&b'Z') => Kind::WriteZeroes,
            b'W' => Kind::Write,
            b'D' => Kind::Discard,
            b'F' => Kind::Flush,
            b'N' if preflush => Kind::Flush,
            b'Z' if zone == Some(b'A') => Kind::Write,
            _ => Kind::Other,
        };
        let flags = Flags::default()
            .with(Flags::PREFLUSH, preflush)
            .with(Flags::FUA, rest.contains(&b'F'))
            .with(Flags::AHEAD, rest.contains(&b'A'))
            .with(Flags::SYNC, rest.contains(&b'S'))
            .with(Flags::META, rest.contains(&b'M'))
            .with(Flags::ZONE, zone.is_some());
        Rwbs { kind, flags }
    }

    /// Whether it is a flush that the kernel issues to a device for others (`FF`, in blktrace `FN`). A requested flush
    /// is a write without data (`FWS`); recordings of blktrace's interface by earlier versions keep only its sync.
    pub(crate) fn is_device_flush(self) -> bool {
        self.kind == Kind::Flush && !self.flags.has(Flags::SYNC)
    }

    /// Adjusts to the kernel's events: N with a length means zeroing; driver commands have no length. Kernels without
    /// letters for zone operations print N with a length for these, too.
    pub(crate) fn in_events(self, length: u64) -> Rwbs {
        let Rwbs { kind, flags } = self;
        let is_zeroing = kind == Kind::Other && length > 0 && !flags.has(Flags::ZONE);
        if !is_zeroing {
            return self;
        }
        Rwbs { kind: Kind::WriteZeroes, flags: flags.with(Flags::UNNAMED, true) }
    }

    /// Adjusts to the length: a preflush write without data is a flush.
    pub fn of_length(self, bytes: u64) -> Rwbs {
        let empty_flush = bytes == 0 && self.flags.has(Flags::PREFLUSH);
        Rwbs { kind: if empty_flush { Kind::Flush } else { self.kind }, ..self }
    }
}

/// One event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Line of a text, or number of the event in a binary trace; from 1.
    pub at: u64,
    /// Time on the trace's clock.
    pub time: Nanos,
    /// Action.
    pub action: Action,
    /// Device.
    pub device: Device,
    /// First sector of 512 bytes.
    pub sector: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Operation and flags.
    pub rwbs: Rwbs,
    /// The running process.
    pub process: Process,
    /// Positive errno of a failed completion.
    pub error: i32,
}

impl Event {
    /// Whether the place is valid: it ends within 2^63 bytes. Without data any sector is valid.
    pub fn is_possible(&self) -> bool {
        let end = self.sector.checked_mul(SECTOR).and_then(|o| o.checked_add(self.bytes));
        self.bytes == 0 || end.is_some_and(|end| end <= 1 << 63)
    }
}

/// Error text for an event with an invalid place.
pub(crate) const BEYOND: &str = "it ends beyond 2^63 bytes, the largest place that Linux knows";

impl Default for Event {
    /// Placeholder before the first event, at time zero.
    fn default() -> Event {
        Event {
            at: 0,
            time: Nanos(0),
            action: Action::Other,
            device: Device::default(),
            sector: 0,
            bytes: 0,
            rwbs: Rwbs::parse(b""),
            process: Process::default(),
            error: 0,
        }
    }
}

/// Place of a request before a remap (`A`) to another device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// Device it was requested on.
    pub device: Device,
    /// Its first sector there.
    pub sector: u64,
}

impl Origin {
    /// Parses the origin at the end of a remap in a text: `<- (8,18) 2047952`.
    pub(crate) fn parse(text: &str) -> Option<Origin> {
        let (device, sector) = text.trim().rsplit_once("<- (")?.1.split_once(')')?;
        Some(Origin { device: Device::parse(device)?, sector: whole(sector.trim())? })
    }
}

/// Number of events by action, in the order of [`Action::ALL`].
pub type Counts = [u64; Action::ALL.len()];

/// Events of a trace, one after the other. They are returned by reference: moving them would copy them each time.
pub trait Events {
    /// Advances to the next event.
    fn next(&mut self) -> Next<&Event>;

    /// Returns the event that `next` showed last.
    fn shown(&self) -> &Event;

    /// Counts the remaining events by action, up to EOF or a fatal error. Damaged entries may be counted under their
    /// apparent action.
    fn count(&mut self, counts: &mut Counts) {
        loop {
            let action = match self.peek_action() {
                Some(action) => action,
                None => match self.next() {
                    Ok(Some(Entry::One(event))) => event.action,
                    Ok(Some(Entry::Bad(_))) => continue,
                    Ok(None) | Err(_) => return,
                },
            };
            counts[action as usize] += 1;
        }
    }

    /// Skips the next event and returns its action, if a quick look suffices. `None`: `next` has to read it.
    fn peek_action(&mut self) -> Option<Action> {
        None
    }

    /// Returns descriptions and counts of other contents so far.
    fn extra_counts(&self) -> Vec<(String, u64)> {
        Vec::new()
    }

    /// Origin of the remap shown; `None` for other events, and if the trace does not have it.
    fn moved_from(&self) -> Option<Origin> {
        None
    }

    /// Name of a process, if this source has it outside of events.
    fn name_of(&self, _pid: u32) -> Option<[u8; 16]> {
        None
    }

    /// Names the process of the event shown, if another source has the name.
    fn name_shown(&mut self, _name: [u8; 16]) {}
}

impl<E: Events + ?Sized> Events for Box<E> {
    fn next(&mut self) -> Next<&Event> {
        (**self).next()
    }

    fn shown(&self) -> &Event {
        (**self).shown()
    }

    fn count(&mut self, counts: &mut Counts) {
        (**self).count(counts);
    }

    fn name_of(&self, pid: u32) -> Option<[u8; 16]> {
        (**self).name_of(pid)
    }

    fn name_shown(&mut self, name: [u8; 16]) {
        (**self).name_shown(name);
    }

    fn extra_counts(&self) -> Vec<(String, u64)> {
        (**self).extra_counts()
    }

    fn moved_from(&self) -> Option<Origin> {
        (**self).moved_from()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rwbs_letters_decode_as_in_the_kernel() {
        let f = |f: &[Flags]| f.iter().fold(Flags::default(), |all, one| all.with(*one, true));
        for (letters, kind, flags) in [
            ("R", Kind::Read, f(&[])),
            ("RA", Kind::Read, f(&[Flags::AHEAD])),
            ("RSM", Kind::Read, f(&[Flags::SYNC, Flags::META])),
            ("WFS", Kind::Write, f(&[Flags::FUA, Flags::SYNC])),
            ("FWFSM", Kind::Write, f(&[Flags::PREFLUSH, Flags::FUA, Flags::SYNC, Flags::META])),
            ("F", Kind::Flush, f(&[])),
            ("FF", Kind::Flush, f(&[Flags::PREFLUSH])),
            ("FN", Kind::Flush, f(&[Flags::PREFLUSH])),
            ("D", Kind::Discard, f(&[])),
            ("DE", Kind::Discard, f(&[])),
            ("DS", Kind::Discard, f(&[Flags::SYNC])),
            ("WZS", Kind::WriteZeroes, f(&[Flags::SYNC])),
            ("N", Kind::Other, f(&[])),
            ("", Kind::Other, f(&[])),
        ] {
            assert_eq!(Rwbs::parse(letters.as_bytes()), Rwbs { kind, flags }, "{letters}");
        }
        assert_eq!(Rwbs::parse(b"FWS").of_length(0).kind, Kind::Flush);
        assert_eq!(Rwbs::parse(b"FWS").of_length(4096).kind, Kind::Write);
    }

    #[test]
    fn parses_device_major_and_minor() {
        assert_eq!(Device::parse("259,3").unwrap().to_string(), "259,3");
        assert_eq!(Device::parse(" 8:16 "), Device::new(8, 16));
        assert_eq!((Device::parse("8"), Device::parse("8,x"), Device::parse("4096,0")), (None, None, None));
    }
}
