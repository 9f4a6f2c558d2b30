//! Notes on parts of a result's time: kept beside the records, shown wherever the result is.

use crate::{SIM, lab};
use iosonar_testkit::{Ended, Lab};
use serde_json::{Value, json};

/// A text that wants to be markup.
const HOSTILE: &str = "cache </script><img src=x onerror=alert(1)> full | *b* \u{1b}[2J \u{202e}";

fn result(lab: &Lab) {
    lab.expect(
        0,
        &format!("run {SIM} --rw randread --bs 4k --rate-iops 1000 --runtime 3s --time-based -o first"),
    );
}

/// Adds a note to the result.
#[track_caller]
fn note(lab: &Lab, code: i32, at: &str, text: &str) -> Ended {
    lab.expect_args(code, &["note", "first", "--at", at, text])
}

fn files(lab: &Lab) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(lab.path("first")).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<(String, Vec<u8>)> = entries
        .filter(|entry| entry.file_name() != "notes.jsonl")
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn notes_are_listed_removed_and_change_no_other_file() {
    let lab = lab();
    result(&lab);
    let before = files(&lab);
    assert_eq!(lab.expect(0, "note first").out, "no notes\n");
    note(&lab, 0, "1.5-2", "a backup started");
    let listed = note(&lab, 0, "100ms..1200ms", "the cache was full").out;
    let both = "   1  100 ms to 1.20 s: the cache was full\n   2  1.50 s to 2.00 s: a backup started\n";
    assert_eq!(listed, both);
    assert_eq!(lab.expect(0, "note first --list").out, both);
    assert_eq!(lab.expect(0, "note first --remove 1").out, "   1  1.50 s to 2.00 s: a backup started\n");
    assert_eq!(files(&lab), before);
    lab.expect(0, "note first --remove 1");
    assert!(!lab.path("first/notes.jsonl").exists());
}

#[test]
fn notes_are_in_every_view_of_the_result_and_stay_text() {
    let lab = lab();
    result(&lab);
    let without = lab.expect(0, "show first").out;
    note(&lab, 0, "1-2", HOSTILE);
    let shown = lab.expect(0, "show first").out;
    let line = "  note      1.00 s to 2.00 s: cache </script><img src=x onerror=alert(1)> full\n            | *b* \\u{1b}[2J";
    assert!(shown.contains(line) && shown.lines().count() <= 24, "{shown}");
    assert!(!shown.contains('\u{1b}') && shown.is_ascii(), "{shown}");
    assert!(!without.contains("  note "));
    assert!(lab.expect(0, "show first --all").out.contains("\nNotes\n  1.00 s to 2.00 s: cache"));
    let json: Value = serde_json::from_str(&lab.expect(0, "show first --json").out).unwrap();
    let text = HOSTILE.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        json["notes"],
        json!([{"from_ns": 1_000_000_000u64, "to_ns": 2_000_000_000u64, "text": text}])
    );
    let markdown = lab.expect(0, "show first --markdown").out;
    assert!(
        markdown.contains("### Notes\n\n- **1.00 s to 2.00 s** cache \\</script\\>\\<img src=x onerror=alert(1)\\> full \\| \\*b\\*"),
        "{markdown}"
    );
    lab.expect(0, "report first -o page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.contains("<li><a href=\"#t=0-3\">1.00 s to 2.00 s</a> cache &lt;/script&gt;&lt;img src=x"));
    assert!(page.contains(
        "\"notes\":[{\"from_ns\":1000000000,\"to_ns\":2000000000,\"text\":\"cache \\u003c/script>"
    ));
    assert!(!page.contains("<img src=x") && !page.contains("cache </script>"));
}

#[test]
fn refusals_name_the_remedy() {
    let lab = lab();
    result(&lab);
    for (words, why) in [
        ("first no-time", "--at <T1-T2>"),
        ("first --at 1-2", "<TEXT>"),
        ("first --at 2-1 a", "before 2s"),
        ("first --remove 3", "no note 3: there are no notes"),
        ("first --list --remove 1", "cannot be used with"),
        ("nowhere --list", "nowhere"),
    ] {
        let refused = lab.expect(2, &format!("note {words}"));
        assert!(refused.err.contains(why), "{words}: {}", refused.err);
    }
    assert!(note(&lab, 2, "1-2", " \n").err.contains("the text of the note is empty"));
    let refused = note(&lab, 2, "1-2", &"x".repeat(501));
    assert!(
        refused.err.contains("the note has 501 characters, the limit is 500: shorten it"),
        "{}",
        refused.err
    );
    assert!(!lab.path("first/notes.jsonl").exists());
    for _ in 0..100 {
        lab.expect(0, "note first --at 1-2 a");
    }
    let refused = lab.expect(2, "note first --at 1-2 a");
    assert!(
        refused.err.contains("100 notes, which is the limit: remove one (--remove N)"),
        "{}",
        refused.err
    );
    let after_the_end = lab.expect(0, "note first --remove 1");
    assert_eq!(after_the_end.err, "");
    let after_the_end = lab.expect(0, "note first --at 50 a");
    assert!(after_the_end.err.contains("1 note is after the end of the run at 3"), "{}", after_the_end.err);
}

#[test]
fn running_results_and_damaged_notes_are_refused() {
    let lab = lab();
    result(&lab);
    let path = lab.path("first/run.json");
    let finished = std::fs::read_to_string(&path).unwrap();
    let running = finished.replace("\"finished\"", "\"running\"");
    assert_ne!(running, finished);
    std::fs::write(&path, running).unwrap();
    let refused = lab.expect(2, "note first --at 1-2 a");
    assert!(
        refused.err.contains("first is being written: repeat this when the run has ended"),
        "{}",
        refused.err
    );
    std::fs::write(&path, finished).unwrap();
    lab.file("first/notes.jsonl", "{\"from_ns\":1}\n");
    for words in ["note first", "note first --at 1-2 a", "note first --remove 1"] {
        let refused = lab.expect(2, words);
        assert!(refused.err.contains("notes.jsonl: line 1: missing field"), "{}", refused.err);
    }
    // The result can be read without them.
    let shown = lab.expect(0, "show first");
    assert!(
        shown.err.contains("shown without what cannot be read") && shown.err.contains("notes.jsonl"),
        "{}",
        shown.err
    );
}
