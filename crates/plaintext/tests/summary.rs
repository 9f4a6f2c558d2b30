//! The text form against files in `golden/`. `BLESS=1 cargo test -p iosonar-plaintext --test summary` writes them again.

mod common;

use common::{Run, empty, extreme, replay};
use iosonar_plaintext::summary;
use std::path::Path;

fn check(name: &str, run: &Run) {
    let text = summary(&run.summary());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} differs; if that is right, bless it with BLESS=1. Now it is:\n{text}");
    assert!(text.is_ascii(), "{name}");
    for line in text.lines() {
        assert!(line.len() <= 79, "{name}: {line}");
        assert!(!line.chars().any(|c| c.is_control()), "{name}: {line:?}");
    }
}

#[test]
fn texts_match_golden_files() {
    check("replay.txt", &replay(20_000, 1_100.0, false));
    check("collapse.txt", &replay(20_000, 120.0, true));
    check("extreme.txt", &extreme());
    check("empty.txt", &empty(&["/dev/sdx"]));
}
