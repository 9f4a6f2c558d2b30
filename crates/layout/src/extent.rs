//! An extent reported by FIEMAP, decoded.

/// Bits of `fe_flags` (`include/uapi/linux/fiemap.h`).
mod flag {
    pub const UNKNOWN: u32 = 0x2;
    pub const DELALLOC: u32 = 0x4;
    pub const ENCODED: u32 = 0x8;
    pub const ENCRYPTED: u32 = 0x80;
    pub const INLINE: u32 = 0x200;
    pub const TAIL: u32 = 0x400;
    pub const UNWRITTEN: u32 = 0x800;
    pub const SHARED: u32 = 0x2000;
}

/// Kind of a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Data in blocks, possibly shared.
    Written,
    /// Allocated, and read as zeros: preallocation.
    Unwritten,
    /// Only in memory; the file system has not chosen blocks yet.
    Delalloc,
    /// Stored with the metadata.
    Inline,
    /// Compressed or encrypted: its length on the device is unknown.
    Encoded,
    /// The file system does not report its location.
    Unknown,
}

impl Kind {
    /// All of them, in the order of JSON.
    pub const ALL: [Kind; 6] =
        [Kind::Written, Kind::Unwritten, Kind::Delalloc, Kind::Inline, Kind::Encoded, Kind::Unknown];

    /// Its name in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Written => "written",
            Kind::Unwritten => "unwritten",
            Kind::Delalloc => "delalloc",
            Kind::Inline => "inline",
            Kind::Encoded => "encoded",
            Kind::Unknown => "unknown",
        }
    }

    /// The kind with this name.
    pub fn from_name(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    fn of(flags: u32) -> Kind {
        let has = |bits: u32| flags & bits != 0;
        match () {
            () if has(flag::DELALLOC) => Kind::Delalloc,
            () if has(flag::INLINE | flag::TAIL) => Kind::Inline,
            () if has(flag::ENCODED) => Kind::Encoded,
            () if has(flag::UNKNOWN) => Kind::Unknown,
            () if has(flag::UNWRITTEN) => Kind::Unwritten,
            () => Kind::Written,
        }
    }
}

/// A mapping record of a file system. All sizes are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Offset in the file.
    pub offset: u64,
    /// Length in the file. Above 0.
    pub length: u64,
    /// Address in the address space of the file system; `None` without blocks.
    pub address: Option<u64>,
    /// Its kind.
    pub kind: Kind,
    /// Whether other files, or other parts of this one, use the same blocks.
    pub is_shared: bool,
    /// Whether it is encrypted.
    pub is_encrypted: bool,
}

impl Extent {
    /// Decodes the fields of FIEMAP. An address of 0 means `None`: the first block of a file system is never a file's.
    pub fn new(offset: u64, physical: u64, length: u64, flags: u32) -> Extent {
        let kind = Kind::of(flags);
        let has_blocks = matches!(kind, Kind::Written | Kind::Unwritten | Kind::Encoded);
        Extent {
            offset,
            length: length.min(u64::MAX - offset),
            address: (has_blocks && physical != 0).then_some(physical),
            kind,
            is_shared: flags & flag::SHARED != 0,
            is_encrypted: flags & flag::ENCRYPTED != 0,
        }
    }

    /// First byte of the file after it.
    pub fn end(&self) -> u64 {
        self.offset + self.length
    }

    /// The range of addresses, which can follow another one; `None` without an address or a known length on the device.
    pub fn place(&self) -> Option<std::ops::Range<u64>> {
        let start = self.address.filter(|_| self.kind != Kind::Encoded)?;
        Some(start..start.saturating_add(self.length))
    }

    /// Whether it belongs to the fragment of the extent before it: it lies directly after it, or as far after it as in the
    /// file. `None` if one of them has no place.
    pub fn continues(&self, before: &Extent) -> Option<bool> {
        let (start, end) = (self.place()?.start, before.place()?.end);
        let hole = self.offset.saturating_sub(before.end());
        Some(start == end || Some(start) == end.checked_add(hole))
    }

    /// Splits the extent at an offset in the file.
    pub(crate) fn cut(self, at: u64) -> (Option<Extent>, Option<Extent>) {
        if at <= self.offset {
            return (None, Some(self));
        }
        if at >= self.end() {
            return (Some(self), None);
        }
        let first = Extent { length: at - self.offset, ..self };
        let moved = match self.kind {
            // The inside of an encoded extent has no separate address.
            Kind::Encoded => self.address,
            _ => self.address.map(|address| address.saturating_add(first.length)),
        };
        let rest = Extent { offset: at, length: self.end() - at, address: moved, ..self };
        (Some(first), Some(rest))
    }

    /// Words of the column of flags; empty for plain data.
    pub fn words(&self) -> String {
        let kind = (self.kind != Kind::Written).then(|| self.kind.name());
        let shared = self.is_shared.then_some("shared");
        let encrypted = self.is_encrypted.then_some("encrypted");
        kind.into_iter().chain(shared).chain(encrypted).collect::<Vec<_>>().join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_fiemap_flags_to_kinds() {
        for (flags, kind, words) in [
            (0x1, Kind::Written, ""),
            (0x7, Kind::Delalloc, "delalloc"),
            (0x801, Kind::Unwritten, "unwritten"),
            (0x2000, Kind::Written, "shared"),
            (0x2008, Kind::Encoded, "encoded,shared"),
            (0x88, Kind::Encoded, "encoded,encrypted"),
            (0x301, Kind::Inline, "inline"),
            (0x308, Kind::Inline, "inline"),
            (0x2, Kind::Unknown, "unknown"),
        ] {
            let extent = Extent::new(0, 4096, 4096, flags);
            assert_eq!((extent.kind, extent.words().as_str()), (kind, words), "{flags:#x}");
        }
    }

    #[test]
    fn extents_without_blocks_have_no_address() {
        assert_eq!(Extent::new(0, 0, 4096, 0x7).address, None);
        assert_eq!(Extent::new(0, 7777, 100, 0x200).address, None);
        assert_eq!(Extent::new(0, 0, 4096, 0).address, None);
        assert_eq!(Extent::new(0, 8192, 4096, 0x8).address, Some(8192));
        assert_eq!(Extent::new(0, 8192, 4096, 0x8).place(), None);
    }
}
