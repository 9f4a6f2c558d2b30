//! The loads of `examples/loads`: each is read without a complaint, and its page gives the tool's figures.

use crate::*;
use std::collections::{BTreeMap, BTreeSet};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/loads")
}

/// The names of all loads, without `.load.gz`.
fn loads() -> BTreeSet<String> {
    let loads = names(".load.gz");
    assert!(!loads.is_empty(), "no loads in {}", folder().display());
    loads
}

fn names(ending: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder()).expect("examples/loads").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.strip_suffix(ending).map(String::from)).collect()
}

fn page(name: &str) -> String {
    let path = folder().join(format!("{name}.md"));
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Maps the first column of a page's table to the number in the second. Rows whose second column starts with no number are skipped.
fn numbers(page: &str) -> BTreeMap<&str, u64> {
    let row = |line| {
        let [_, name, cell, _] = <[&str; 4]>::try_from(str::split(line, '|').collect::<Vec<_>>()).ok()?;
        let digits = cell.trim().split_once(',').map_or(cell.trim(), |(number, _)| number).replace(' ', "");
        Some((name.trim(), digits.parse().ok()?))
    };
    page.lines().filter_map(row).collect()
}

fn info(lab: &Lab, name: &str) -> Value {
    let file = format!("{name}.load.gz");
    lab.file(&file, std::fs::read(folder().join(&file)).expect("a load"));
    let ended = lab.expect(0, &format!("info --strict --json {file}"));
    assert_eq!(ended.err, "", "{name}");
    serde_json::from_str(&ended.out).expect("facts as JSON")
}

#[test]
fn every_load_is_complete_and_sorted() {
    let lab = lab();
    for name in loads() {
        let facts = info(&lab, &name);
        assert_eq!(facts["damaged_entries"], 0, "{name}");
        assert_eq!(facts["besides"]["requests that were brought to their places in time"], 0, "{name}");
        let kinds = ["reads", "writes"].map(|kind| facts["kinds"][kind].as_u64().expect("a count"));
        assert_eq!(facts["requests"], kinds.iter().sum::<u64>(), "{name} holds something else than these");
        assert!(kinds.iter().all(|&count| count > 0), "{name}: {kinds:?}");
    }
}

#[test]
fn every_page_states_the_figures_of_its_load() {
    let lab = lab();
    for name in loads() {
        let (facts, page) = (info(&lab, &name), page(&name));
        let told = numbers(&page);
        for (row, fact) in [
            ("requests", "/requests"),
            ("reads", "/kinds/reads"),
            ("writes", "/kinds/writes"),
            ("highest sector", "/demand/positions/highest_end_sector"),
        ] {
            let fact = facts.pointer(fact).and_then(Value::as_u64);
            assert!(fact.is_some(), "{name}: {row}");
            assert_eq!(told.get(row).copied(), fact, "{name}: {row}");
        }
    }
}

#[test]
fn every_load_has_a_page_a_line_in_the_table_and_is_small() {
    let mut pages = names(".md");
    assert!(pages.remove("README"));
    assert_eq!(pages, loads());
    let table = page("README");
    for name in pages {
        assert!(table.contains(&format!("[{name}]({name}.md)")), "README.md does not link {name}.md");
        let bytes = std::fs::metadata(folder().join(format!("{name}.load.gz"))).expect("a load").len();
        assert!(bytes < 1 << 20, "{name}.load.gz has {bytes} bytes; that is too much for the repository");
    }
}

/// Loads contain no private data: two lines written by the tool, and then numbers and R or W.
#[test]
fn loads_contain_no_private_data() {
    for name in loads() {
        let file = std::fs::File::open(folder().join(format!("{name}.load.gz"))).expect("a load");
        let text = std::io::read_to_string(flate2::read::MultiGzDecoder::new(file)).expect("a load is text");
        let mut lines = text.lines();
        let made_by = lines.next().expect("a line that tells how the load was made");
        assert!(made_by.starts_with(&format!("# made by iosonar convert of {name} (")), "{made_by}");
        assert!(!made_by.contains('/'), "{made_by} names a path");
        assert_eq!(lines.next(), rows(&[]).lines().next(), "{name}");
        for line in lines {
            let cells: Vec<&str> = line.split(';').map(str::trim).collect();
            let is_number =
                |cell: &&str| !cell.is_empty() && cell.chars().all(|c| c.is_ascii_digit() || c == '.');
            assert_eq!(cells.len(), 6, "{name}: {line}");
            assert!(["R", "W"].contains(&cells[3]), "{name}: {line}");
            assert_eq!(cells.iter().filter(|cell| is_number(cell)).count(), 5, "{name}: {line}");
        }
    }
}
