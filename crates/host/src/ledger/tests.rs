//! Tests of the ledger, on temporary files.

use super::*;
use crate::fixture::Tree;
use crate::identify;
use std::collections::HashMap;

/// A directory with a ledger and a target of 1 MiB.
struct LedgerFixture {
    dir: tempfile::TempDir,
    ledger: Ledger,
}

const MIB: u64 = 1 << 20;

fn range(start: u64, end: u64) -> WrittenRange {
    WrittenRange { start, end }
}

impl LedgerFixture {
    fn new() -> LedgerFixture {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), vec![7; MIB as usize]).unwrap();
        let ledger = Ledger::At(dir.path().join("state/iosonar/targets.jsonl"));
        LedgerFixture { dir, ledger }
    }

    fn path(&self) -> &Path {
        match &self.ledger {
            Ledger::At(path) => path,
            Ledger::Nowhere(why) => panic!("{why}"),
        }
    }

    fn target(&self) -> TargetFacts {
        identify(&self.dir.path().join("f"), &Root::default()).unwrap()
    }

    fn write(&self, range: WrittenRange, is_fill: bool) {
        self.try_to_write(range, is_fill).unwrap();
    }

    fn try_to_write(&self, range: WrittenRange, is_fill: bool) -> Result<()> {
        let result = self.dir.path().join("result");
        let written = Written { target: &self.target(), range, is_fill, result: &result };
        self.ledger.add(&[written], &Root::default())
    }

    fn former(&self) -> Fact<Vec<FormerRun>> {
        self.ledger.former_runs(&self.target(), &Root::default())
    }

    fn ranges(&self) -> Vec<WrittenRange> {
        self.former().known().unwrap().iter().map(|run| run.written).collect()
    }

    fn why(&self) -> String {
        match self.former() {
            Fact::Absent { absent } => absent,
            Fact::Known(runs) => panic!("{runs:?}"),
        }
    }
}

#[test]
fn ledger_keeps_runs_until_range_is_refilled() {
    let place = LedgerFixture::new();
    assert_eq!(place.ranges(), []);
    place.write(range(0, MIB), true);
    assert_eq!(place.ranges(), [], "a fill is no run");
    place.write(range(0, 4096), false);
    place.write(range(8192, MIB), false);
    assert_eq!(place.ranges(), [range(0, 4096), range(8192, MIB)]);
    place.write(range(0, MIB / 2), true);
    assert_eq!(place.ranges(), [range(MIB / 2, MIB)]);
    place.write(range(0, MIB), true);
    assert_eq!(place.ranges(), []);
}

#[test]
fn recreated_file_has_no_history() {
    let place = LedgerFixture::new();
    place.write(range(0, 4096), false);
    let file = place.dir.path().join("f");
    fs::remove_file(&file).unwrap();
    fs::write(&file, vec![7; MIB as usize]).unwrap();
    assert_eq!(place.ranges(), []);
}

#[test]
fn reports_later_changes_and_existing_result() {
    let place = LedgerFixture::new();
    place.write(range(0, 4096), false);
    let run = |place: &LedgerFixture| place.former().known().unwrap()[0].clone();
    assert_eq!((run(&place).result, run(&place).changed_since), (None, false));
    let result = place.dir.path().join("result");
    fs::create_dir(&result).unwrap();
    fs::write(result.join("run.json"), "{}").unwrap();
    std::thread::sleep(Duration::from_millis(20));
    fs::write(place.dir.path().join("f"), vec![8; MIB as usize]).unwrap();
    assert_eq!((run(&place).result, run(&place).changed_since), (Some(result), true));
}

#[test]
fn drops_oldest_entries() {
    let place = LedgerFixture::new();
    for number in 0..(MOST_ENTRIES + SLACK + 2) as u64 {
        place.write(range(number, number + 1), false);
    }
    let (entries, damaged) = parse(&read(place.path()).unwrap());
    assert_eq!(damaged, None);
    assert!((MOST_ENTRIES..MOST_ENTRIES + SLACK).contains(&entries.len()), "{}", entries.len());
    let newest = (MOST_ENTRIES + SLACK + 1) as u64;
    assert_eq!(entries.last().unwrap().written, range(newest, newest + 1));
    assert_eq!(place.ranges().len(), MOST_TOLD);
}

#[test]
fn never_drops_foreign_lines() {
    let place = LedgerFixture::new();
    place.write(range(0, 4096), false);
    let entry = fs::read_to_string(place.path()).unwrap();
    let foreign: Vec<String> = (0..600).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    let entries = entry.repeat(MOST_ENTRIES + SLACK - 1);
    fs::write(place.path(), entry + &foreign.concat() + &entries).unwrap();
    place.write(range(8192, 12_288), false);
    let text = fs::read_to_string(place.path()).unwrap();
    assert_eq!(text.lines().count(), 600 + MOST_ENTRIES);
    assert!(text.contains(&foreign.concat()));
    assert!(text.lines().last().unwrap().contains("8192"), "{:?}", place.former());
}

#[test]
fn concurrent_writers_lose_no_entry() {
    let place = LedgerFixture::new();
    std::thread::scope(|scope| {
        for writer in 0..8_u64 {
            let place = &place;
            scope.spawn(move || {
                for number in 0..25 {
                    let own = range(writer * 100 + number, writer * 100 + number + 1);
                    // On a slow machine the lock may time out; then nothing was added.
                    while let Err(error) = place.try_to_write(own, false) {
                        assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    }
                }
            });
        }
    });
    let (entries, damaged) = parse(&read(place.path()).unwrap());
    let mut found: Vec<u64> = entries.iter().map(|entry| entry.written.start).collect();
    found.sort_unstable();
    let all: Vec<u64> = (0..8).flat_map(|writer| (0..25).map(move |number| writer * 100 + number)).collect();
    assert_eq!((found, damaged), (all, None));
}

#[test]
fn damaged_ledger_is_unknown_but_truncated_line_is_skipped() {
    let place = LedgerFixture::new();
    place.write(range(0, 4096), true);
    let mut text = fs::read_to_string(place.path()).unwrap();
    text += "{\"target\":{\"fi";
    fs::write(place.path(), &text).unwrap();
    assert!(place.why().starts_with("line 2 of the ledger "), "{}", place.why());
    place.write(range(0, 4096), false);
    assert_eq!(place.ranges(), [range(0, 4096)]);
    fs::write(place.path(), [0xff, 0xfe]).unwrap();
    assert!(place.why().ends_with("cannot be used: it is no text"), "{}", place.why());
}

#[test]
fn never_writes_to_non_ledger_files() {
    let place = LedgerFixture::new();
    let other = place.dir.path().join("notes");
    fs::write(&other, "notes\n").unwrap();
    let lines = place.dir.path().join("lines");
    let theirs: String = (0..2000).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    fs::write(&lines, &theirs).unwrap();
    let pretty = place.dir.path().join("pretty");
    fs::write(&pretty, "{\n  \"n\": 1\n}\n").unwrap();
    let target = place.target();
    let written = Written { target: &target, range: range(0, 1), is_fill: false, result: Path::new("r") };
    let paths = [&other, &lines, &pretty, Path::new("/dev/null"), place.dir.path()].map(Path::to_path_buf);
    for path in paths {
        let ledger = Ledger::At(path);
        ledger.add(&[written], &Root::default()).unwrap_err();
        assert!(ledger.former_runs(&target, &Root::default()).known().is_none());
    }
    assert_eq!(fs::read_to_string(other).unwrap(), "notes\n");
    assert_eq!(fs::read_to_string(&lines).unwrap(), theirs);
    assert!(Ledger::At(lines).foreign().unwrap().contains("is not used"));
    assert_eq!(fs::read_to_string(pretty).unwrap(), "{\n  \"n\": 1\n}\n");
    assert_eq!(place.ledger.foreign(), None);
    let many = vec![written; MOST_TARGETS + 1];
    place.ledger.add(&many, &Root::default()).unwrap();
    assert!(!place.path().exists(), "so many targets are not kept");
}

#[test]
fn ledger_path_follows_environment() {
    let at = |pairs: &[(&str, &str)]| {
        let values: HashMap<&str, &str> = pairs.iter().copied().collect();
        Ledger::named(|name| values.get(name).map(OsString::from))
    };
    let home = ("HOME", "/home/u");
    assert_eq!(at(&[home]), Ledger::At("/home/u/.local/state/iosonar/targets.jsonl".into()));
    let state = at(&[home, ("XDG_STATE_HOME", "/state")]);
    assert_eq!(state, Ledger::At("/state/iosonar/targets.jsonl".into()));
    assert_eq!(at(&[home, ("XDG_STATE_HOME", "state")]), at(&[home]));
    assert_eq!(at(&[home, (VARIABLE, "mine")]), Ledger::At("mine".into()));
    let off = "the ledger is off (IOSONAR_LEDGER=off)";
    assert_eq!(at(&[home, (VARIABLE, "off")]), Ledger::Nowhere(off.into()));
    assert!(matches!(at(&[]), Ledger::Nowhere(why) if why.contains("HOME are not set")));
}

/// A device as shown by the kernel after boot.
fn disk(boot: &str, diskseq: &str, serial: Option<&str>) -> std::result::Result<(Identity, u64), String> {
    let tree = Tree::new();
    tree.disk("vdx", "254:16", 1000);
    tree.file("/proc/sys/kernel/random/boot_id", boot);
    tree.file("/sys/block/vdx/diskseq", diskseq);
    if let Some(serial) = serial {
        tree.file("/sys/block/vdx/serial", serial);
    }
    let device = crate::block::describe("254:16".parse().unwrap(), &tree.root()).unwrap();
    of_device(&device, boot.into())
}

#[test]
fn identifies_disks_by_serial_and_attachment() {
    let (first, moved) = disk("a", "5", Some("S")).unwrap();
    assert_eq!(moved, 0);
    let is_same = |boot, diskseq, serial| first.is(&disk(boot, diskseq, serial).unwrap().0);
    assert!(is_same("a", "5", Some("S")) && is_same("b", "9", Some("S")));
    assert!(!is_same("a", "6", Some("S")), "attached again while the system was up");
    assert!(!is_same("b", "5", Some("T")) && !is_same("b", "5", None));
    let nameless = disk("a", "5", None).unwrap().0;
    assert!(nameless.is(&disk("a", "5", None).unwrap().0) && !nameless.is(&disk("b", "5", None).unwrap().0));
}
