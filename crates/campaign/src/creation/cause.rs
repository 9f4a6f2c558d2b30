//! Why a file has the layout that it has: the size of the request at allocation time, and the state of the free space.
//!
//! An allocator looks for space of the size that it is asked for. Direct writes ask at once, with the size of a write. Buffered
//! writes are allocated when they are flushed, all that is dirty together (delayed allocation). `fallocate` asks for the whole
//! range. A small request is satisfied by the next hole, a large one skips holes (measured: iozone-and-layout 6.3).

use super::answer::FileAnswer;
use super::{Files, Method, SpaceBefore, Way};
use iosonar_plan::ByteSize;

/// What the file system is asked for when it allocates space for a method's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// In bytes. Delayed allocation may find fewer bytes dirty.
    pub(crate) bytes: u64,
    pub(crate) by: By,
}

/// What makes the file system allocate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Each direct write.
    DirectWrite,
    /// Each write that waits for stable storage.
    SyncedWrite,
    /// Writing back what is dirty.
    WriteBack,
    /// `fallocate`.
    Allocation,
    /// The extent size hint.
    Hint,
    /// Nothing: no data is written.
    Nothing,
}

impl Request {
    /// Of a method, for files of `size` bytes.
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

    /// In words, as "each direct write asks for 256KiB".
    pub(crate) fn words(self) -> String {
        let bytes = ByteSize(self.bytes);
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

/// Why a file of a method is as it is, in sentences. `holes`: sizes of the holes that free space was prepared with, least and
/// most.
pub(crate) fn cause(
    method: &Method,
    size: ByteSize,
    files: &[FileAnswer],
    holes: Option<(u64, u64)>,
) -> String {
    let request = Request::of(method, size);
    let Some(worst) = files.iter().max_by_key(|file| file.fragments) else { return String::new() };
    let asked = capitalized(&request.words());
    let fragments = worst.fragments;
    let found = match worst.median_record_bytes {
        _ if fragments == 0 => "the file has no blocks".to_string(),
        _ if fragments == 1 => "the file has one fragment".to_string(),
        Some(median) => {
            format!("the file has {fragments} fragments, records of {} in the median", rounded(median))
        }
        None => format!("the file has {fragments} fragments"),
    };
    let reason = reason(method, request, worst, holes);
    format!("{asked}; {found}{reason}.")
}

fn reason(method: &Method, request: Request, file: &FileAnswer, holes: Option<(u64, u64)>) -> String {
    let (fragments, median) = (file.fragments, file.median_record_bytes.unwrap_or(0));
    if fragments <= 1 {
        return match holes.filter(|(_, most)| fragments == 1 && request.bytes > *most) {
            Some((_, most)) => format!(": no hole of at most {} is large enough", rounded(most)),
            None => String::new(),
        };
    }
    if let Some((least, most)) = holes
        && request.bytes <= most
        // A hole takes whole requests, so that a fragment can be shorter than it by one.
        && (least.saturating_sub(request.bytes)..=most).contains(&median)
    {
        return format!(
            ": each request fits into a hole of the prepared free space ({}), and when that is full the next one is taken",
            range(least, most)
        );
    }
    match method.files {
        Files::Together(n) | Files::InTurn(n) if median <= 64 * request.bytes => {
            format!(": requests of {n} files in one directory take turns in the same free space")
        }
        _ if method.order != super::FillOrder::Sequential && request.bytes < file.size_bytes => {
            ": blocks lie in the order in which they were written, which is not that of the file".into()
        }
        _ => String::new(),
    }
}

fn range(least: u64, most: u64) -> String {
    if least == most { rounded(least) } else { format!("{} to {}", rounded(least), rounded(most)) }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().collect::<String>() + letters.as_str())
}

/// A size in the largest unit that is no larger, with two decimals where needed.
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
    fn what_is_asked_for_follows_from_the_method() {
        assert_eq!(request("xfs_mkfile"), (256 << 10, By::DirectWrite));
        assert_eq!(request("buffered+64k"), (1 << 30, By::WriteBack));
        assert_eq!(request("buffered+64k+fsync=1m"), (1 << 20, By::WriteBack));
        assert_eq!(request("buffered+64k+dsync"), (64 << 10, By::SyncedWrite));
        assert_eq!(request("fallocate+direct+64k"), (1 << 30, By::Allocation));
        assert_eq!(request("direct+64k+extsize=16m"), (16 << 20, By::Hint));
        assert_eq!(request("truncate+direct+64k+random"), (64 << 10, By::DirectWrite));
        assert_eq!(request("xfs_mkfile-n"), (0, By::Nothing));
    }

    fn told(method: &str, fragments: u64, median: u64, holes: Option<(u64, u64)>) -> String {
        let file = FileAnswer {
            fragments,
            size_bytes: 1 << 30,
            median_record_bytes: Some(median),
            ..FileAnswer::default()
        };
        cause(&method.parse().unwrap(), ByteSize(1 << 30), &[file], holes)
    }

    #[test]
    fn causes_are_told_where_they_are_known() {
        let hole = 16_515_072;
        let holes = Some((hole, hole));
        let small = told("xfs_mkfile", 68, hole, holes);
        assert!(small.contains("fits into a hole") && small.contains("15.75 MiB"), "{small}");
        let short = told("direct+1m", 69, 15 << 20, holes);
        assert!(short.contains("fits into a hole"), "{short}");
        let large = told("buffered+64k", 1, 1 << 30, holes);
        assert!(large.contains("one fragment: no hole"), "{large}");
        let turns = told("direct+4k+turns=2", 262_144, 4096, None);
        assert!(turns.contains("take turns"), "{turns}");
        let random = told("truncate+direct+64k+random", 16_384, 65_536, None);
        assert!(random.contains("not that of the file"), "{random}");
        // Nothing is claimed that the map does not show.
        let unknown = told("buffered+64k", 3, 300 << 20, holes);
        assert!(unknown.ends_with("records of 300 MiB in the median."), "{unknown}");
    }
}
