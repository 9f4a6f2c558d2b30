//! Derives the cause of a file's layout: the size of the request at allocation time, and the state of the free space.
//!
//! An allocator searches space of the requested size. Direct writes request it immediately, with the size of a write.
//! Buffered writes are allocated at flush time, for all dirty data together (delayed allocation). `fallocate` requests
//! the whole range. A small request is satisfied by the next hole, a large one skips holes (measured: iozone-and-layout
//! 6.3).

use super::answer::FileAnswer;
use super::{Files, Method, SpaceBefore, Way};
use iosonar_layout::FreeSpace;
use iosonar_plan::ByteSize;
use serde_json::Value;

/// Allocation request to the file system for a method's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// Bytes. Delayed allocation may find fewer dirty bytes.
    pub(crate) bytes: u64,
    pub(crate) by: By,
}

/// Trigger of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Each direct write.
    DirectWrite,
    /// Each synchronous write.
    SyncedWrite,
    /// Writeback of dirty data.
    WriteBack,
    /// `fallocate`.
    Allocation,
    /// The extent size hint.
    Hint,
    /// No data is written.
    Nothing,
}

impl Request {
    /// Request of a method, for files of `size` bytes.
    pub(crate) fn of(method: &Method, size: ByteSize) -> Request {
        let write = method.write_bytes(size).0;
        let (bytes, by) = match method.space {
            SpaceBefore::Allocated | SpaceBefore::AllocatedKeepSize | SpaceBefore::ZeroRange => {
                (size.0, By::Allocation)
            }
            _ if method.way == Way::None => (0, By::Nothing),
            _ if method.extent_hint.is_some_and(|hint| hint.0 > write) => {
                (method.extent_hint.map_or(0, |hint| hint.0), By::Hint)
            }
            _ if method.way == Way::Direct => (write, By::DirectWrite),
            _ if method.sync.is_set() => (write, By::SyncedWrite),
            _ => (method.fsync_every.map_or(size.0, |every| every.0.min(size.0)), By::WriteBack),
        };
        Request { bytes, by }
    }

    /// Whether a free range must fit the whole request. Delayed allocation and fallocate use smaller ranges, too.
    fn is_indivisible(self) -> bool {
        matches!(self.by, By::DirectWrite | By::SyncedWrite | By::Hint)
    }

    /// Number of fragments whose free range, with these remaining bytes, has no room for another request.
    pub(crate) fn filled(self, left_after: Option<&[Option<u64>]>) -> Option<u64> {
        let room = if self.is_indivisible() { self.bytes } else { 1 };
        let is_filled = |left: &&Option<u64>| left.is_some_and(|left| left < room);
        left_after.map(|left| left.iter().filter(is_filled).count() as u64)
    }

    /// Describes the request, e.g. "each direct write asks for 256 KiB".
    pub(crate) fn words(self) -> String {
        let bytes = rounded(self.bytes);
        match self.by {
            By::DirectWrite => format!("each direct write asks for {bytes}"),
            By::SyncedWrite => format!("each write waits for stable storage and asks for {bytes}"),
            By::WriteBack => format!("delayed allocation asks for up to {bytes} when data is written back"),
            By::Allocation => format!("fallocate asks for {bytes} before data is written"),
            By::Hint => format!("the extent size hint makes each request {bytes}"),
            By::Nothing => "no data is written, so nothing is allocated".into(),
        }
    }
}

/// Free space at the start of a method.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FreeSpaceBefore<'a> {
    /// Minimum and maximum size of the prepared holes.
    pub(crate) holes: Option<(u64, u64)>,
    /// Measured before files were created.
    pub(crate) free: Option<&'a FreeSpace>,
}

/// Describes the cause of a method's layout, in sentences.
pub(crate) fn cause(
    method: &Method,
    size: ByteSize,
    files: &[FileAnswer],
    found: FreeSpaceBefore<'_>,
) -> String {
    let request = Request::of(method, size);
    let Some(worst) = files.iter().max_by_key(|file| file.fragments) else { return String::new() };
    let asked = capitalized(&request.words());
    let fragments = worst.fragments;
    let layout = match worst.median_record_bytes {
        _ if fragments == 0 => match worst.figures.get("encoded_bytes").and_then(Value::as_u64) {
            Some(1..) => "the file is compressed, and its extents are no fragments".to_string(),
            _ => "the file has no blocks".to_string(),
        },
        _ if fragments == 1 => "the file has one fragment".to_string(),
        Some(median) => {
            format!("the file has {fragments} fragments, records of {} in the median", rounded(median))
        }
        None => format!("the file has {fragments} fragments"),
    };
    let reason = match found.free.filter(|free| free.ranges() > 0) {
        Some(free) => measured(method, request, worst, free),
        None => assumed(method, request, worst, found.holes),
    };
    format!("{asked}; {layout}{}.", reason.unwrap_or_default())
}

/// Cause from the measured free ranges. It states only facts shown by them and the map.
fn measured(method: &Method, request: Request, file: &FileAnswer, free: &FreeSpace) -> Option<String> {
    let (all, fits) = (free.ranges(), free.sizes().at_least(request.bytes));
    if file.fragments == 0 {
        return None;
    }
    if file.fragments == 1 {
        return (0 < fits && fits < all).then(|| format!(": {fits} of {all} free ranges had room for that"));
    }
    let whole = free.sizes().at_least(file.size_bytes);
    let room = match request.bytes < file.size_bytes {
        true => format!("{fits} of {all} free ranges had room for a request, {whole} for the file at once"),
        false if fits == 0 => {
            let largest = free.sizes().max().map(rounded).unwrap_or_default();
            format!("none of {all} free ranges had room for that, the largest had {largest}")
        }
        false => format!("{fits} of {all} free ranges had room for that"),
    };
    if let Some(filled) = file.free_ranges_filled.filter(|filled| filled.saturating_mul(2) >= file.fragments)
    {
        let end = match request.is_indivisible() {
            true => "where less than a request was left of their free range",
            false => "at the end of their free range",
        };
        let verb = if filled == 1 { "ends" } else { "end" };
        return Some(format!(": {filled} of them {verb} {end}. {}", capitalized(&room)));
    }
    Some(by_order(method, request, file).unwrap_or_else(|| format!(": {room}")))
}

/// Cause if at most the prepared holes are known.
fn assumed(
    method: &Method,
    request: Request,
    file: &FileAnswer,
    holes: Option<(u64, u64)>,
) -> Option<String> {
    let (fragments, median) = (file.fragments, file.median_record_bytes.unwrap_or(0));
    if fragments <= 1 {
        let (_, most) = holes.filter(|(_, most)| fragments == 1 && request.bytes > *most)?;
        return Some(format!(": no hole of at most {} is large enough", rounded(most)));
    }
    if let Some((least, most)) = holes
        && request.bytes <= most
        // A hole fits whole requests only, so a fragment can be shorter than it by one request.
        && (least.saturating_sub(request.bytes)..=most).contains(&median)
    {
        return Some(format!(
            ": each request fits into a hole of the prepared free space ({}), and when that is full the next one is taken",
            range(least, most)
        ));
    }
    by_order(method, request, file)
}

/// Cause if it is the order of requests.
fn by_order(method: &Method, request: Request, file: &FileAnswer) -> Option<String> {
    let median = file.median_record_bytes.unwrap_or(0);
    match method.files {
        Files::Together(n) | Files::InTurn(n) if median <= 64 * request.bytes => {
            Some(format!(": requests of {n} files in one directory take turns in the same free space"))
        }
        _ if method.order != super::FillOrder::Sequential && request.bytes < file.size_bytes => {
            Some(": blocks lie in the order in which they were written, which is not that of the file".into())
        }
        _ => None,
    }
}

fn range(least: u64, most: u64) -> String {
    if least == most { rounded(least) } else { format!("{} to {}", rounded(least), rounded(most)) }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// Formats a size in the largest unit that is no larger, with two decimals where needed.
pub(crate) fn rounded(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, factor)| bytes >= *factor) {
        Some((unit, factor)) => {
            let text = format!("{:.2}", bytes as f64 / *factor as f64);
            format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
        }
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str) -> (u64, By) {
        let request = Request::of(&method.parse().unwrap(), ByteSize(1 << 30));
        (request.bytes, request.by)
    }

    #[test]
    fn derives_request_size_from_method() {
        assert_eq!(request("xfs_mkfile"), (256 << 10, By::DirectWrite));
        assert_eq!(request("buffered+64k"), (1 << 30, By::WriteBack));
        assert_eq!(request("buffered+64k+fsync=1m"), (1 << 20, By::WriteBack));
        assert_eq!(request("buffered+64k+dsync"), (64 << 10, By::SyncedWrite));
        assert_eq!(request("fallocate+direct+64k"), (1 << 30, By::Allocation));
        assert_eq!(request("direct+64k+extsize=16m"), (16 << 20, By::Hint));
        assert_eq!(request("truncate+direct+64k+random"), (64 << 10, By::DirectWrite));
        assert_eq!(request("xfs_mkfile-n"), (0, By::Nothing));
    }

    fn sentence(method: &str, fragments: u64, median: u64, holes: Option<(u64, u64)>) -> String {
        let file = FileAnswer {
            fragments,
            size_bytes: 1 << 30,
            median_record_bytes: Some(median),
            ..FileAnswer::default()
        };
        cause(&method.parse().unwrap(), ByteSize(1 << 30), &[file], FreeSpaceBefore { holes, free: None })
    }

    /// Cause from measured free space: 84 holes of 15.75 MiB and two large ranges. Fragments leave `left` bytes of theirs.
    fn measured(method: &str, fragments: u64, left: u64) -> String {
        let mut free = FreeSpace::new(None);
        let ranges = [16_515_072u64].repeat(84).into_iter().chain([2 << 30, 3 << 30]);
        ranges.for_each(|length| free.add(0, length));
        let method = method.parse().unwrap();
        let left_after = vec![Some(left); fragments as usize];
        let file = FileAnswer {
            fragments,
            size_bytes: 1 << 30,
            median_record_bytes: Some((1 << 30) / fragments),
            free_ranges_filled: Request::of(&method, ByteSize(1 << 30)).filled(Some(&left_after)),
            ..FileAnswer::default()
        };
        let found = FreeSpaceBefore { holes: Some((1, 2)), free: Some(&free) };
        cause(&method, ByteSize(1 << 30), &[file], found)
    }

    #[test]
    fn cause_counts_free_ranges_with_room() {
        let filled = measured("xfs_mkfile", 64, 4096);
        let words = ": 64 of them end where less than a request was left of their free range. 86 of 86 free ranges had room for \
                     a request, 2 for the file at once.";
        assert!(filled.ends_with(words), "{filled}");
        let elsewhere = measured("xfs_mkfile", 64, 1 << 20);
        assert!(elsewhere.ends_with(
            "in the median: 86 of 86 free ranges had room for a request, 2 for the file at once."
        ));
        let one = measured("buffered+64k", 1, 0);
        assert!(one.ends_with("the file has one fragment: 2 of 86 free ranges had room for that."), "{one}");
        // If every range has room, that explains nothing.
        let any = measured("xfs_mkfile", 1, 0);
        assert!(any.ends_with("the file has one fragment."), "{any}");
        let parts = measured("buffered+64k", 4, 0);
        assert!(parts.contains(": 4 of them end at the end of their free range. 2 of 86"), "{parts}");
        let rest = measured("buffered+64k", 4, 4096);
        assert!(rest.ends_with("in the median: 2 of 86 free ranges had room for that."), "{rest}");
        let turns = measured("direct+4k+turns=2", 1 << 18, 8192);
        assert!(turns.contains("take turns"), "{turns}");
    }

    #[test]
    fn states_cause_only_when_known() {
        let hole = 16_515_072;
        let holes = Some((hole, hole));
        let small = sentence("xfs_mkfile", 68, hole, holes);
        assert!(small.contains("fits into a hole") && small.contains("15.75 MiB"), "{small}");
        let short = sentence("direct+1m", 69, 15 << 20, holes);
        assert!(short.contains("fits into a hole"), "{short}");
        let large = sentence("buffered+64k", 1, 1 << 30, holes);
        assert!(large.contains("one fragment: no hole"), "{large}");
        let turns = sentence("direct+4k+turns=2", 262_144, 4096, None);
        assert!(turns.contains("take turns"), "{turns}");
        let random = sentence("truncate+direct+64k+random", 16_384, 65_536, None);
        assert!(random.contains("not that of the file"), "{random}");
        // Claims are limited to facts shown by the map.
        let unknown = sentence("buffered+64k", 3, 300 << 20, holes);
        assert!(unknown.ends_with("records of 300 MiB in the median."), "{unknown}");
    }
}
