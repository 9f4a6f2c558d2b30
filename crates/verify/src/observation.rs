//! Unexpected results of reads, before they have a name.

use crate::Tag;
use iosonar_archive::{FoundBy, READS_AGAIN, ReadAgain, WriteId};
use iosonar_content::{Damage, Sector, SectorHeader, checksum, inspect};
use iosonar_plan::{Fill, Nanos};

/// Bytes of a sector.
pub type Bytes = [u8; 512];

/// Content of bad sectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadContent {
    /// Whole sectors of a write, the first with this header.
    Version(SectorHeader),
    /// A valid header, with other bytes than those of its write.
    Damaged(SectorHeader, Damage),
    /// Zeros.
    Zeros,
    /// Bytes 0xFF.
    Ones,
    /// The mark in memory from before the read.
    Poison,
    /// Bytes without a header.
    NoHeader,
    /// No data: the read ended before it.
    Short,
    /// No data: the read failed with this errno.
    Unreadable(i32),
}

impl BadContent {
    /// Classifies the content of a bad sector.
    pub fn of(sector: &Bytes, fill: Fill, poison: u64) -> BadContent {
        match inspect(sector, fill, poison) {
            Sector::Intact(header) => BadContent::Version(header),
            Sector::Damaged { header, damage } => BadContent::Damaged(header, damage),
            Sector::Zeros => BadContent::Zeros,
            Sector::Ones => BadContent::Ones,
            Sector::Poison => BadContent::Poison,
            Sector::NoHeader => BadContent::NoHeader,
        }
    }

    /// Whether the sector `distance` sectors after this one continues the same content.
    fn goes_on_with(&self, next: &BadContent, distance: u64) -> bool {
        match (self, next) {
            (BadContent::Version(a), BadContent::Version(b)) => {
                write_of(a) == write_of(b) && a.run_id == b.run_id && a.sector + distance == b.sector
            }
            (BadContent::Damaged(..) | BadContent::NoHeader, _) => false,
            (a, b) => a == b,
        }
    }

    /// Key that distinguishes contents found at one place at different times.
    fn key(&self) -> u64 {
        let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
        let of = |kind: u64, header: Option<&SectorHeader>| {
            let words = header.map(|h| {
                [
                    h.run_id,
                    h.sector,
                    h.sequence,
                    u64::from(h.target) << 16 | u64::from(h.phase),
                    h.pass.into(),
                ]
            });
            words.into_iter().flatten().fold(kind, mix)
        };
        match self {
            BadContent::Version(header) => of(1, Some(header)),
            BadContent::Damaged(header, damage) => mix(of(2, Some(header)), u64::from(damage.bits)),
            BadContent::Zeros => 3,
            BadContent::Ones => 4,
            BadContent::Poison => 5,
            BadContent::NoHeader => 6,
            BadContent::Short => 7,
            BadContent::Unreadable(errno) => mix(8, *errno as u64),
        }
    }
}

/// The write that a header names.
pub fn write_of(header: &SectorHeader) -> WriteId {
    WriteId { target: header.target, phase: header.phase, pass: header.pass, sequence: header.sequence }
}

/// Sectors of the write that a place should hold, as the second read found them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectorsAround {
    /// The first sector.
    pub start: u64,
    /// Which of them hold that write; `None` for sectors written since.
    pub holds: Vec<Option<bool>>,
}

/// A read that made an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader {
    /// Number of the target.
    pub target: u16,
    /// Kind of the read.
    pub found_by: FoundBy,
    /// Its request; `None` if it belongs to no request.
    pub request: Option<WriteId>,
    /// When it was submitted.
    pub submitted: Nanos,
    /// When it completed.
    pub completed: Nanos,
}

/// The longest run of sectors of one read with the same wrong content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The read.
    pub reader: Reader,
    /// The first sector on the target.
    pub start: u64,
    /// Number of sectors.
    pub count: u64,
    /// Their legal contents.
    pub legal: Vec<Tag>,
    /// They may hold parts of several of these: the records of the run decide.
    pub is_suspect: bool,
    /// A read of this run had found a legal version there.
    pub seen: bool,
    /// This run has written the place more than once.
    pub rewritten: bool,
    /// Their content.
    pub found: BadContent,
    /// Bytes of the first sector, where it is no whole sector of a write.
    pub bytes: Option<Box<Bytes>>,
    /// Bytes of all sectors, as far as they are kept.
    pub kept: Vec<u8>,
    /// Results of later reads.
    pub again: [ReadAgain; READS_AGAIN],
    /// The whole of the write that the place should hold, in the second read.
    pub around: Option<SectorsAround>,
    /// Whether the place that the header names holds that write, too.
    pub belongs_elsewhere_and_is_there: Option<bool>,
}

/// A sector with illegal content.
#[derive(Debug, Clone, Copy)]
pub struct BadSector<'a> {
    /// Number of the sector on the target.
    pub sector: u64,
    /// Its legal contents.
    pub legal: &'a [Tag],
    /// See [`Observation::is_suspect`].
    pub is_suspect: bool,
    /// See [`Observation::seen`].
    pub seen: bool,
    /// See [`Observation::rewritten`].
    pub rewritten: bool,
    /// Its content.
    pub found: BadContent,
    /// Its bytes, if there are any.
    pub bytes: Option<&'a Bytes>,
}

impl BadSector<'_> {
    /// Key that distinguishes contents found here: the same content again is no other fault.
    pub fn key(&self) -> u64 {
        let tags = self.legal.iter().fold(0, |sum: u64, tag| sum.rotate_left(7) ^ u64::from(tag.0));
        // Parts of versions may differ where the classification of the whole does not.
        let parts =
            self.bytes.filter(|_| self.is_suspect).map_or(0, |bytes| u64::from(checksum(bytes)) << 8 | 1);
        self.found.key().rotate_left(17) ^ tags ^ parts
    }
}

impl Observation {
    /// Adds a bad sector that follows those before it.
    pub fn add(observations: &mut Vec<Observation>, reader: Reader, bad: &BadSector<'_>) {
        if let Some(last) = observations.last_mut()
            && last.is_continued_by(&reader, bad)
        {
            last.count += 1;
            return;
        }
        let is_whole = matches!(bad.found, BadContent::Version(_));
        observations.push(Observation {
            reader,
            start: bad.sector,
            count: 1,
            legal: bad.legal.to_vec(),
            is_suspect: bad.is_suspect,
            seen: bad.seen,
            rewritten: bad.rewritten,
            found: bad.found,
            bytes: bad.bytes.filter(|_| !is_whole).map(|bytes| Box::new(*bytes)),
            kept: Vec::new(),
            again: [ReadAgain::NotRead; READS_AGAIN],
            around: None,
            belongs_elsewhere_and_is_there: None,
        });
    }

    fn is_continued_by(&self, reader: &Reader, bad: &BadSector<'_>) -> bool {
        !(self.is_suspect || bad.is_suspect)
            && self.reader == *reader
            && self.start + self.count == bad.sector
            && self.found.goes_on_with(&bad.found, self.count)
            && self.legal == bad.legal
            && (self.seen, self.rewritten) == (bad.seen, bad.rewritten)
    }

    /// First sector after the run.
    pub fn end(&self) -> u64 {
        self.start + self.count
    }

    /// The place that the found header names, where it is another one of the same target.
    pub fn named_place(&self, run_id: u64) -> Option<u64> {
        match &self.found {
            BadContent::Version(header) => Some(header).filter(|header| {
                header.run_id == run_id && header.target == self.reader.target && header.sector != self.start
            }),
            _ => None,
        }
        .map(|header| header.sector)
    }
}
