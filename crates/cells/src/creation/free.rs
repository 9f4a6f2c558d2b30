//! Describes the free space before each method.

use super::CreationAnswer;
use super::cause::rounded;
use iosonar_layout::{FreeSpace, SizeClass};
use serde::Serialize;

/// The free space of a file system before files were created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FreeBefore {
    /// Free ranges; absent if unknown.
    pub free_space: Option<FreeSpace>,
    /// Why they are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_space_unknown: Option<String>,
}

/// The free space of all methods before files were created.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FreeStates {
    /// By method, for each method's separate file system; empty if methods share one.
    pub of_methods: Vec<FreeBefore>,
    /// For the file system that all methods share.
    pub shared: Option<FreeBefore>,
}

impl FreeStates {
    /// Free space of a method's file system before any method created files.
    pub(crate) fn of(&self, method: usize) -> Option<&FreeSpace> {
        self.of_methods.get(method).or(self.shared.as_ref())?.free_space.as_ref()
    }
}

impl FreeBefore {
    /// From the file system's report, or the reason for its absence.
    pub fn of(found: Result<FreeSpace, String>) -> FreeBefore {
        let (free_space, free_space_unknown) = match found {
            Ok(free) => (Some(free), None),
            Err(why) => (None, Some(why)),
        };
        FreeBefore { free_space, free_space_unknown }
    }

    /// Describes it in one line, e.g. "85 ranges, largest 1.99 GiB, 84 of 8 to 16 MiB".
    pub fn words(&self) -> String {
        let Some(free) = &self.free_space else {
            let why = self.free_space_unknown.as_deref().unwrap_or_default();
            return format!("unknown: {why}");
        };
        let Some(largest) = free.sizes().max() else { return "none".into() };
        let count = match free.ranges() {
            1 => "1 range".to_string(),
            n => format!("{n} ranges"),
        };
        let most = free.sizes().classes().into_iter().max_by_key(|class| class.extents);
        let most = most.filter(|class| class.extents > 1);
        let most = most.map(|class| format!(", {} of {}", class.extents, class_words(class)));
        format!("{count}, largest {}{}", rounded(largest), most.unwrap_or_default())
    }
}

/// Formats `8 to 16 MiB`, `512 KiB to 1 MiB`.
fn class_words(class: SizeClass) -> String {
    let (from, to) = (rounded(class.from_bytes), rounded(class.from_bytes.saturating_mul(2)));
    match (from.split_once(' '), to.split_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}

impl CreationAnswer {
    /// Returns a line for each free space state.
    pub(crate) fn free_lines(&self) -> Vec<String> {
        let shared = self.free.iter().map(|free| format!("free space before: {}", free.words()));
        let mut states: Vec<(String, Vec<&str>)> = Vec::new();
        for (method, free) in self.methods.iter().filter_map(|method| Some((method, method.free.as_ref()?))) {
            let words = free.words();
            match states.iter_mut().find(|(known, _)| *known == words) {
                Some((_, methods)) => methods.push(&method.method),
                None => states.push((words, vec![&method.method])),
            }
        }
        let is_one = states.len() == 1;
        let line = |(words, methods): (String, Vec<&str>)| match is_one {
            true => format!("free space before: {words}"),
            false => format!("free space before {}: {words}", methods.join(", ")),
        };
        shared.chain(states.into_iter().map(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn free(lengths: &[(u64, u64)]) -> FreeSpace {
        let mut free = FreeSpace::new(None);
        lengths.iter().for_each(|(length, n)| (0..*n).for_each(|_| free.add(0, *length)));
        free
    }

    #[test]
    fn formats_free_space_state_in_one_line() {
        let aged = FreeBefore::of(Ok(free(&[(16_515_072, 84), (2 << 30, 1)])));
        assert_eq!(aged.words(), "85 ranges, largest 2 GiB, 84 of 8 to 16 MiB");
        let between = FreeBefore::of(Ok(free(&[(768 << 10, 2)])));
        assert_eq!(between.words(), "2 ranges, largest 768 KiB, 2 of 512 KiB to 1 MiB");
        assert_eq!(FreeBefore::of(Ok(free(&[(1 << 20, 1)]))).words(), "1 range, largest 1 MiB");
        assert_eq!(FreeBefore::of(Ok(free(&[]))).words(), "none");
        assert_eq!(FreeBefore::of(Err("btrfs does not".into())).words(), "unknown: btrfs does not");
    }

    #[test]
    fn unknown_free_space_is_null_with_reason() {
        let unknown = serde_json::to_value(FreeBefore::of(Err("why".into()))).unwrap();
        assert_eq!(unknown, serde_json::json!({ "free_space": null, "free_space_unknown": "why" }));
        let known = serde_json::to_value(FreeBefore::of(Ok(free(&[(4096, 3)])))).unwrap();
        assert!(known["free_space"]["ranges"] == 3 && known.get("free_space_unknown").is_none(), "{known}");
    }
}
