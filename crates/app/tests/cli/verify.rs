//! Verification through the command: reports, kept files and refusals.

use crate::*;
use iosonar_testkit::Ended;
use serde_json::Value;

const MIXED: &str = "run -t dev --engine sim --rw randrw --rwmixread 40 --bs 16k --size 8M --random-distribution zipf:0.5 \
                     --number-ios 4000 --iodepth 8 --no-progress";

fn json(lab: &Lab, file: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(lab.path(file)).unwrap()).unwrap()
}

fn faults(lab: &Lab, result: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path(result).join("faults.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The words of a text, however its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn reports_no_faults_on_honest_target() {
    let lab = lab();
    lab.target("a.img", 8 << 20);
    for (number, engine) in
        ["--engine sim", "--engine uring", "--engine threads", "--engine sync --iodepth 1"].iter().enumerate()
    {
        let command = MIXED.replace("-t dev --engine sim", &format!("-t a.img {engine}"));
        let command =
            if engine.contains("--iodepth") { command.replace("--iodepth 8 ", "") } else { command };
        let modes = if number % 2 == 0 { "read,final" } else { "read,before-write,after-write,final" };
        let ended = lab.expect(0, &format!("{command} --verify {modes} -o r{number}"));
        assert!(ended.out.contains("every one holds a version that it may hold"), "{engine}: {}", ended.out);
        let verified = &json(&lab, &format!("r{number}/summary.json"))["verified"];
        assert_eq!(verified["faults"], serde_json::json!({}), "{engine}");
        let checks = ["checked", "checked_again"].map(|name| verified[name].as_u64().unwrap());
        assert!(checks[0] <= 16_384 && checks.iter().sum::<u64>() > 20_000, "{engine}: {verified}");
        assert_eq!(verified["modes"], modes);
        assert_eq!(verified["added_reads"].as_u64().unwrap() > 0, number % 2 == 1, "{engine}");
        assert!(faults(&lab, &format!("r{number}")).is_empty());
    }
}

#[test]
fn faults_are_reported_saved_and_exit_with_5() {
    let lab = lab();
    let ended = lab.expect(5, &format!("{MIXED} --verify read,final --inject lost:every=100 -o r"));
    let text = &ended.out;
    for needle in ["verify:", "lost", "due there: request", "DATA ERRORS:", "FAULTS INJECTED"] {
        assert!(text.contains(needle), "{needle}: {text}");
    }
    let faults = faults(&lab, "r");
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault["class"] == "lost"));
    let verified = &json(&lab, "r/run.json")["verified"];
    assert_eq!(verified["faults"]["lost"]["faults"], faults.len());
    // The result repeats the report later.
    let shown = lab.expect(0, "show --all r").out;
    assert!(shown.contains("verify:") && shown.contains("lost"), "{shown}");
    // All injected faults that stayed were found.
    let ledger = std::fs::read_to_string(lab.path("r/injected.jsonl")).unwrap();
    let stays = |line: &&str| line.contains("\"applied\":true") && line.contains("\"superseded_at_ns\":null");
    assert!(faults.len() >= ledger.lines().filter(stays).count());
}

#[test]
fn the_first_fault_can_end_the_run() {
    let lab = lab();
    lab.expect(5, &format!("{MIXED} --verify read --verify-fatal --inject flipped:every=10 -o r"));
    let run = json(&lab, "r/run.json");
    assert!(run["targets"][0]["ended_early"].as_str().unwrap().contains("--verify-fatal"), "{run}");
}

#[test]
fn final_scan_can_be_sampled() {
    let lab = lab();
    let ended = lab.expect(0, &format!("{MIXED} --verify final,sample=20% -o r"));
    let text = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("sampled chunks bad: with 95 % confidence fewer than"), "{text}");
    let scan = &json(&lab, "r/run.json")["verified"]["scan"];
    let (all, read) = (scan["chunks"].as_u64().unwrap(), scan["read_chunks"].as_u64().unwrap());
    assert!(read > 0 && read < all / 2, "{read} of {all}");
}

/// Sectors next to written places, and elsewhere, are compared on every engine; a load's places are known from its scan.
#[test]
fn compares_unwritten_sectors_on_every_engine() {
    slow!();
    let lab = lab();
    lab.target("a.img", 8 << 20);
    lab.file("l.load", rows(&[("0.000", 8, 8, 'W'), ("0.001", 64, 16, 'W'), ("0.002", 16, 8, 'W')]));
    let outside = |result: &str| json(&lab, &format!("{result}/run.json"))["verified"]["outside"].clone();
    for (number, engine) in ["sim", "uring", "threads"].iter().enumerate() {
        let target = if *engine == "sim" { "dev" } else { "a.img" };
        let command = MIXED.replace("-t dev --engine sim", &format!("-t {target} --engine {engine}"));
        let ended = lab.expect(0, &format!("{command} --verify read,outside=300 -o r{number}"));
        assert!(ended.out.contains("outside: "), "{engine}: {}", ended.out);
        let facts = outside(&format!("r{number}"));
        assert!(facts["compared"].as_u64().unwrap() >= 300, "{engine}: {facts}");
    }
    // Sectors 8 to 23 and 64 to 79 are written: 7, 24, 63 and 80 are next to them.
    let replay = "replay l.load -t a.img --asap --no-progress";
    let ended = lab.expect(0, &format!("{replay} --verify outside=0 -o beside"));
    assert!(words(&ended.out).contains("4 of them, which it did not write, were compared."), "{}", ended.out);
    assert_eq!(outside("beside"), serde_json::json!({ "remembered": 4, "compared": 4 }));
    lab.expect(0, &format!("{replay} --verify outside -o all"));
    let all = outside("all")["compared"].as_u64().unwrap();
    assert!((10_000..=10_004).contains(&all), "{all}");
    // Standard input is read once: the places of writes are not known in advance.
    let mut piped = lab.command(&format!("{} --verify outside=100 -o piped", replay.replace("l.load", "-")));
    let ended = Ended::of(piped.stdin(std::fs::File::open(lab.path("l.load")).unwrap()).output().unwrap());
    assert_eq!((ended.code, &outside("piped")["remembered"]), (0, &100.into()), "{}", ended.err);
    let notices = json(&lab, "piped/run.json")["means"]["notices"].to_string();
    assert!(notices.contains("standard input") && notices.contains("compares samples"), "{notices}");
}

#[test]
fn changes_outside_the_run_are_phantoms() {
    let lab = lab();
    lab.target("a.img", 2 << 20);
    let writes = "run -t a.img --rw write --bs 4k --size 1M --iodepth 4 --no-progress --verify outside";
    let ended = lab.expect(5, &format!("{writes} --inject phantom:every=64 -o r"));
    let faults = faults(&lab, "r");
    assert!(words(&ended.out).contains("changed, and no request covers"), "{}", ended.out);
    assert!(!faults.is_empty() && faults.iter().all(|fault| fault["class"] == "phantom"), "{faults:?}");
    assert!(faults.iter().all(|fault| fault["offset"].as_u64().unwrap() >= 1 << 20));
}

#[test]
fn checking_nothing_is_a_caution() {
    let lab = lab();
    let reads = "run -t dev --engine sim --rw randread --bs 4k --size 1M --no-progress --verify read";
    let ended = lab.expect(3, &format!("{reads} -o r"));
    assert!(ended.out.contains("verify: NOTHING was checked"), "{}", ended.out);
    lab.expect(3, &format!("{reads} --strict -o s"));
}

#[test]
fn low_verify_memory_is_reported_but_no_fault() {
    let lab = lab();
    let scattered = "run -t dev --engine sim --rw randrw --bs 512 --size 16G --number-ios 60000 --iodepth 8 --no-progress";
    let ended = lab.expect(0, &format!("{scattered} --verify read,final --verify-memory 1MiB -o r"));
    assert!(ended.out.contains("not completely verified"), "{}", ended.out);
    let verified = &json(&lab, "r/run.json")["verified"];
    assert!(
        verified["given_up"].as_u64().unwrap() > 0 && verified["memory"].as_u64().unwrap() <= 1 << 20,
        "{verified}"
    );
}

#[test]
fn rejects_unverifiable_runs_with_remedy() {
    let lab = lab();
    lab.file("l.load", rows(&[("0.000", 0, 8, 'W')]));
    lab.target("a.img", 1 << 20);
    for (command, needles) in [
        (format!("{MIXED} --verify contentz"), vec!["'contentz' is no mode", "before-write"]),
        (format!("{MIXED} --verify crc32c"), vec!["--verify read,final"]),
        (
            MIXED.replace("--engine sim", "--engine null") + " --verify read",
            vec!["--verify read", "use another engine"],
        ),
        ("replay l.load -t a.img --verify contents".into(), vec!["--verify read, final"]),
        (
            "run -t a.img --rw write --bs 4k --size 1M --data sequenced --verify final".into(),
            vec!["--data", "--verify"],
        ),
        (format!("{MIXED} --verify read --verify-memory 4k"), vec!["--verify-memory"]),
        (format!("{MIXED} --verify outside=x"), vec!["outside=x", "such as outside=10000"]),
        (
            "replay l.load -t a.img --dry-run --verify outside".into(),
            vec!["--verify outside", "use another engine"],
        ),
        (format!("{MIXED} --inject lost"), vec!["--inject", "every"]),
    ] {
        let ended = lab.expect(2, &command);
        for needle in needles {
            assert!(ended.err.contains(needle), "{command}: {needle}: {}", ended.err);
        }
    }
}

#[test]
fn a_result_is_verified_later_from_its_records() {
    slow!();
    let lab = lab();
    let target = lab.target("a.img", 8 << 20);
    let writes = MIXED.replace("-t dev --engine sim", "-t a.img");
    lab.expect(0, &format!("{writes} -o first"));
    let ended = lab.expect(0, "verify first");
    assert!(ended.out.contains("every one holds a version that it may hold"), "{}", ended.out);
    // On a copy with a changed byte and a block from elsewhere.
    let mut bytes = std::fs::read(&target).unwrap();
    let is_written = |block: &usize| bytes[block * 4096..][..8] != [0; 8];
    let written: Vec<usize> = (0..bytes.len() / 4096).filter(is_written).collect();
    let (one, from, to) = (written[0] * 4096, written[10] * 4096, written[20] * 4096);
    bytes[one + 100] ^= 1;
    bytes.copy_within(from..from + 4096, to);
    lab.file("copy.img", &bytes);
    lab.expect(0, "verify first");
    let found: Value =
        serde_json::from_str(&lab.expect(5, "verify first --target a.img=copy.img --json").out).unwrap();
    let classes: Vec<&str> =
        found["faults"].as_array().unwrap().iter().map(|f| f["class"].as_str().unwrap()).collect();
    assert_eq!(classes, ["flipped", "duplicated"], "{found}");
    assert_eq!(found["faults"][1]["belongs_at"], from);
    let told = lab.expect(5, "verify first --target a.img=copy.img").out;
    assert!(told.contains("flipped") && told.contains("duplicated"), "{told}");
    for (command, needle) in [
        ("verify first --target b.img=copy.img", "the run has no target b.img; it has a.img"),
        ("verify first --target copy.img", "OLD=NEW"),
        ("verify first --sample 0%", "above 0%"),
        ("verify first --target a.img=none.img", "none.img"),
        ("verify nothing", "nothing"),
    ] {
        let ended = lab.expect(2, command);
        assert!(ended.err.contains(needle), "{command}: {}", ended.err);
    }
    lab.expect(0, "run -t dev --engine sim --rw write --bs 4k --size 1M --no-progress -o simulated");
    assert!(lab.expect(2, "verify simulated").err.contains("no run on a real target"));
}

/// The scan of a run and a verification later find the same.
#[test]
fn later_verification_finds_the_same_faults() {
    slow!();
    let lab = lab();
    lab.target("a.img", 8 << 20);
    let run = MIXED.replace("-t dev --engine sim", "-t a.img");
    lab.expect(
        5,
        &format!(
            "{run} --verify final --inject lost:every=150 torn-page:every=150 flipped:every=150 -o first"
        ),
    );
    let places = |faults: &[Value]| -> Vec<(String, u64, u64)> {
        let number = |fault: &Value, name: &str| fault[name].as_u64().unwrap();
        let place =
            |f: &Value| (f["class"].as_str().unwrap().to_string(), number(f, "offset"), number(f, "length"));
        let mut places: Vec<_> = faults.iter().map(place).collect();
        places.sort();
        places
    };
    let later: Value = serde_json::from_str(&lab.expect(5, "verify first --json").out).unwrap();
    let (own, later) = (places(&faults(&lab, "first")), places(later["faults"].as_array().unwrap()));
    assert!(own.len() > 5);
    assert_eq!(own, later);
}

/// Bytes of the first faults are kept: as they are on the target, and as they should be.
#[test]
fn keeps_bytes_of_faults() {
    let lab = lab();
    let target = lab.target("a.img", 4 << 20);
    let writes = "run -t a.img --rw write --bs 4k --size 4M --iodepth 4 --no-progress --verify final --inject flipped:every=5";
    lab.expect(5, &format!("{writes} --verify-dump -o r"));
    let (faults, image) = (faults(&lab, "r"), std::fs::read(target).unwrap());
    assert!(faults.len() > 110);
    for (number, fault) in (1..=100).zip(&faults) {
        let kept =
            |kind: &str| std::fs::read(lab.path(&format!("r/faults/fault-{number:03}.{kind}"))).unwrap();
        let (offset, length) =
            (fault["offset"].as_u64().unwrap() as usize, fault["length"].as_u64().unwrap() as usize);
        let (expected, found) = (kept("expected"), kept("found"));
        assert!(found == image[offset..offset + length] && expected.len() == length, "{fault}");
        let bits: u32 = expected[..512].iter().zip(&found).map(|(a, b)| (a ^ b).count_ones()).sum();
        assert_eq!(fault["damaged"]["bits"], bits);
    }
    assert!(!lab.path("r/faults/fault-101.found").exists());
    // A result with these files is valid.
    lab.expect(0, "show r");
    lab.expect(0, &format!("{} -o s", writes.replace(" --inject flipped:every=5", " --verify-dump")));
    assert!(!lab.path("s/faults").exists());
    assert!(lab.expect(2, "run -t a.img --rw read --bs 4k --verify-dump").err.contains("--verify"));
}

/// A device that stops writing loses everything since: one sentence reports it.
#[test]
fn summarizes_loss_of_all_later_writes() {
    let lab = lab();
    let at: Vec<String> = (100..=127).map(|number| number.to_string()).collect();
    let writes = "run -t dev --engine sim --rw write --bs 64k --size 8M --iodepth 1 --no-progress --verify final -o r --inject";
    let ended = lab.expect(5, &format!("{writes} lost:at={}", at.join("+")));
    let verified = &json(&lab, "r/summary.json")["verified"];
    assert_eq!(verified["missing"][0]["writes"], 28, "{verified}");
    let records = lab.records("r");
    assert_eq!(verified["missing"][0]["after"], records[99].completed.unwrap().to_string(), "{verified}");
    let text = words(&ended.out);
    assert!(text.contains("all writes after") && text.contains("are missing: 28"), "{text}");
    // A write after them is stored.
    let ended = lab.expect(5, &format!("{} lost:at={}", writes.replace("-o r", "-o s"), at[..27].join("+")));
    assert!(!ended.out.contains("are missing"), "{}", ended.out);
}
