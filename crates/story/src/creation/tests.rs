//! Stories of made experiments.

use super::creation_story;
use iosonar_analyze::Statement;
use iosonar_cells::creation::{
    CreationAnswer, Experiment, FileAnswer, FreeStates, ScanAnswer, ScanReads, Setting, Trial,
};
use iosonar_cells::{Change, Verdict};
use iosonar_plan::{ByteSize, Nanos, RunId};

const TURNS: &str = "direct+4k+turns=2";
const REFERENCE: &str = "fallocate+buffered+64k";

/// Files in turns with 16 384 fragments, of 1 MiB with 21, and of the reference with one; five rounds.
fn answer() -> CreationAnswer {
    let experiment = Experiment {
        methods: [TURNS, "xfs_mkfile", REFERENCE].map(|method| method.parse().unwrap()).into(),
        size: ByteSize(64 << 20),
        scan_record: ByteSize(65_536),
        scan_direct: false,
        rounds: 5,
        seed: 1,
        sample_every: Nanos::SECOND,
        run_id: RunId::default(),
    };
    let file = |fragments: u64| {
        let mut file = FileAnswer { fragments, size_bytes: 64 << 20, ..FileAnswer::default() };
        file.figures.insert("fragments".into(), fragments.into());
        file
    };
    let files = vec![vec![file(16_384), file(16_384)], vec![file(21)], vec![file(1)]];
    let setting = Setting { command: "iosonar layout run . --size 64m -o l".into(), ..Setting::default() };
    let (creation, scans, page_bytes) = (&[][..], &[][..], 4096);
    let (experiment, free, device_reads) = (&experiment, FreeStates::default(), ScanReads::default());
    let mut answer =
        Trial { experiment, setting, creation, scans, files, device_reads, free, page_bytes }.answer();
    let scan = |round: u32| ScanAnswer {
        round,
        bytes: 64 << 20,
        seconds: 0.1,
        bytes_per_second: 671e6,
        cached_pages_before_scan: Some(0),
    };
    answer.methods.iter_mut().for_each(|method| method.scan = (1..=5).map(scan).collect());
    answer.methods[0].change = change(-89.0, -96.0, -69.0, Verdict::Slower);
    answer.methods[1].change = change(1.0, -11.0, 13.0, Verdict::NoDifferenceShown);
    answer
}

fn change(percent: f64, low: f64, high: f64, verdict: Verdict) -> Option<Change> {
    Some(Change {
        n_a: 4,
        n_b: 4,
        a_bytes_per_second: 1e9,
        b_bytes_per_second: 1e9 * (1.0 + percent / 100.0),
        change_percent: percent,
        low_percent: Some(low),
        high_percent: Some(high),
        verdict,
    })
}

fn story_of(answer: &CreationAnswer) -> Statement {
    let story = creation_story(answer);
    assert!(story.headline.chars().count() <= 90 && story.because.len() <= 2, "{story:#?}");
    let json = serde_json::to_value(answer).unwrap();
    for path in story.because.iter().flat_map(|reason| &reason.evidence) {
        assert!(json.pointer(&format!("/{}", path.replace('.', "/"))).is_some(), "{path}: {story:#?}");
    }
    story
}

#[test]
fn headline_has_factor_interval_and_fragments() {
    let story = story_of(&answer());
    assert_eq!(
        story.headline,
        "Files written in turns of 4 KiB are read 9.1 times slower (3.2 to 25): 16 384 fragments."
    );
    assert!(story.because[0].text.starts_with("direct+4k+turns=2: Each direct write asks for 4 KiB"));
    assert_eq!(story.because[1].text, "21 fragments of direct+256k cost nothing that 5 rounds can show.");
    assert_eq!(
        story.worth.as_deref(),
        Some("5 rounds of scans without the page cache, the first not compared")
    );
    let remedy = "create such files as fallocate+buffered+64k does: 1 fragment here";
    assert_eq!(story.remedy.as_deref(), Some(remedy));
}

#[test]
fn measured_request_sizes_come_before_other_methods() {
    let mut answer = answer();
    answer.methods[0].device_read_bytes_mean = Some(4096.0);
    answer.methods[2].device_read_bytes_mean = Some(524_288.0);
    let story = story_of(&answer);
    assert_eq!(
        story.because[1].text,
        "Its device read 4 KiB in a request on average, that of fallocate+buffered+64k 512 KiB."
    );
}

#[test]
fn small_differences_are_percents() {
    let mut answer = answer();
    answer.methods[0].change = None;
    answer.methods[1].change = change(-12.0, -16.0, -8.0, Verdict::Slower);
    assert_eq!(
        story_of(&answer).headline,
        "direct+256k is read 12 % slower (8.0 to 16 %): 21 fragments instead of 1."
    );
    answer.methods[1].change = change(150.0, 90.0, 220.0, Verdict::Faster);
    let story = story_of(&answer);
    assert!(
        story.headline.starts_with("direct+256k is read 2.5 times faster (1.9 to 3.2): 21"),
        "{story:#?}"
    );
    assert_eq!(story.remedy, None);
}

#[test]
fn no_difference_names_the_change_that_would_be_seen() {
    let mut answer = answer();
    answer.methods[0].change = change(2.0, -6.0, 10.0, Verdict::NoDifferenceShown);
    let story = story_of(&answer);
    assert_eq!(
        story.headline,
        "No difference between the scans is shown, with up to 16 384 fragments in a file."
    );
    assert_eq!(story.because[0].text, "A change of about 12 % would have been seen.");
    let command = "iosonar layout run . --size 64m -o l-rounds20 --rounds 20";
    assert_eq!(story.remedy.as_deref(), Some(command));
}

#[test]
fn too_few_rounds_or_reads_allow_no_statement() {
    let mut unknown = answer();
    for method in &mut unknown.methods[..2] {
        method.change = change(0.0, 0.0, 0.0, Verdict::CannotBeTold);
    }
    let story = story_of(&unknown);
    assert_eq!(story.headline, "Whether scans differ cannot be told; files have up to 16 384 fragments.");
    let mut few = answer();
    few.methods[1].scan.iter_mut().for_each(|scan| scan.bytes = 7 * 65_536);
    let story = story_of(&few);
    assert_eq!(story.headline, "28 reads in the compared scans: too few to tell whether scans differ.");
    assert_eq!(story.because[0].evidence, ["scan_record_bytes", "methods.1.scan"]);
}

#[test]
fn warm_and_fake_scans_are_named() {
    let mut warm = answer();
    warm.methods[0].scan[1].cached_pages_before_scan = Some(7);
    assert!(story_of(&warm).worth.unwrap().ends_with("not all of them known to be cold"));
    let fake = CreationAnswer { fake: Some("FAKE as a device result: holes".into()), ..answer() };
    assert_eq!(story_of(&fake).headline, "FAKE as a device result: holes.");
}

#[test]
fn a_method_alone_has_its_rates() {
    let mut answer = answer();
    answer.methods.truncate(1);
    answer.methods[0].change = None;
    assert_eq!(story_of(&answer).headline, "direct+4k+turns=2: 16 384 fragments.");
}
