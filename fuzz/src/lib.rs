//! Fuzz targets: each is a function of any bytes that must not panic, and asserts its invariants.
//!
//! A target is a file in `targets/` and a word in the list below; everything else is derived from that. No part of the product.

mod input;

pub use input::{Inputs, tokens};

/// A fuzz target.
#[derive(Clone, Copy)]
pub struct Target {
    /// Name of its file, its seeds and its dictionary.
    pub name: &'static str,
    /// Panics if an invariant is violated.
    pub run: fn(&[u8]),
}

macro_rules! targets {
    ($($name:ident),* $(,)?) => {
        /// One file for each target.
        pub mod targets { $(pub mod $name;)* }
        /// Every target.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), run: targets::$name::run }),*];
    };
}
targets! {
    blkreplay_options,
    counts,
    host_messages,
    host_words,
    iozone_options,
    load_lines,
    options,
    plan_toml,
    record_log,
    record_parquet,
    replay_import,
    ring_page,
    sector,
    seek_list,
    series_log,
    telemetry,
    traces,
    xdd_dump,
    xdd_options,
}

/// Fails on some inputs: shows that the driver finds failures.
pub const BROKEN: Target = Target { name: "broken", run: |data| assert!(data.len() % 7 != 3, "broken") };

/// Returns the target of this name.
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().chain([&BROKEN]).find(|target| target.name == name).copied()
}

/// The valid text at the start of the bytes.
fn text(data: &[u8]) -> &str {
    match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&data[..error.valid_up_to()]).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn every_target_file_is_listed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/targets");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<String> =
            files.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned()).collect();
        files.sort();
        assert_eq!(files, TARGETS.iter().map(|target| target.name).collect::<Vec<_>>());
    }

    #[test]
    fn every_target_accepts_its_seeds_and_mutations() {
        for target in TARGETS {
            let inputs = Inputs::new(target.name, 1).unwrap();
            assert!(inputs.seeds() > 0, "{} has no seeds", target.name);
            (0..inputs.seeds() as u64 + 20).for_each(|number| (target.run)(&inputs.get(number)));
        }
    }

    #[test]
    fn text_ends_at_the_first_invalid_byte() {
        assert_eq!((text(b"abc"), text(b"ab\xffc"), text(b"\xff")), ("abc", "ab", ""));
    }
}
