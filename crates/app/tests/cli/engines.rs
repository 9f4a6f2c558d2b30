//! The engines with real I/O do the same, and what the machine does not allow or the plan limits is said.

use crate::*;
use iosonar_archive::{Marks, Outcome};

const ENGINES: [&str; 3] = ["uring", "aio", "threads"];

fn ids(lab: &Lab, dir: &str) -> Vec<String> {
    let json: Value = serde_json::from_str(&lab.expect(0, &format!("show {dir} --json")).out).unwrap();
    let cautions = json["cautions"].as_array().unwrap().iter();
    cautions.map(|c| c["id"].as_str().unwrap().to_string()).collect()
}

fn run_info(lab: &Lab, dir: &str) -> Value {
    serde_json::from_slice(&std::fs::read(lab.path(dir).join("run.json")).unwrap()).unwrap()
}

#[test]
fn all_leave_the_same_bytes() {
    let lab = lab();
    let words = "--rw randrw --rwmixread 20 --bssplit 4k/50:16k/30:64k/20 --iodepth 16 --number-ios 400 \
                 --fill-random 60 --run-id 11 --no-progress";
    let left: Vec<(Vec<u8>, Value)> = ENGINES
        .iter()
        .map(|engine| {
            let target = format!("{engine}.img");
            lab.file(&target, vec![7u8; 4 << 20]);
            lab.expect(0, &format!("run --engine {engine} -t {target} {words} -o {engine}"));
            let info = run_info(&lab, engine);
            assert_eq!(info["means"]["engine"], *engine, "{}", info["means"]["fallback"]);
            (std::fs::read(lab.path(&target)).unwrap(), info["targets"][0]["issued_hash"].clone())
        })
        .collect();
    assert!(left[0].0.iter().any(|b| *b != 7));
    assert!(left[0].0 == left[1].0 && left[1].0 == left[2].0);
    assert!(left[0].1 == left[1].1 && left[1].1 == left[2].1 && left[0].1.as_str().unwrap().len() == 16);
}

#[test]
fn little_memory_for_data_is_waited_for_and_said() {
    let lab = lab();
    lab.file("t.img", vec![7u8; 4 << 20]);
    let words = "-t t.img --rw randwrite --bs 64k --iodepth 32 --number-ios 200 --no-progress";
    for engine in ENGINES {
        lab.expect(0, &format!("run --engine {engine} {words} --buffer-memory 128k -o {engine}"));
        let records = lab.records(engine);
        assert!(records.len() == 200 && records.iter().all(Record::is_completed));
        let waited = records.iter().filter(|r| r.marks.has(Marks::NO_BUFFER)).count();
        assert!(waited > 50, "{engine}: {waited}");
        assert!(ids(&lab, engine).contains(&"buffer-stalls".into()), "{engine}");
        assert!(run_info(&lab, engine)["means"]["buffer_bytes"].as_u64().unwrap() <= 128 << 10);
    }
    lab.expect(0, &format!("run {words} -o plenty"));
    assert!(lab.records("plenty").iter().all(|r| !r.marks.has(Marks::NO_BUFFER)));
    let refused = lab.expect(2, &format!("run {words} --buffer-memory 32k -o never"));
    assert!(refused.err.contains("--buffer-memory") && refused.err.contains("65536"), "{}", refused.err);
}

#[test]
fn too_many_errors_end_a_target_and_no_other() {
    let lab = lab();
    let words =
        "--engine sim --sim-errors 10 --size 1g --rw randread --iodepth 4 --number-ios 2000 --no-progress";
    let ended = lab.expect(1, &format!("run -t one -t two {words} --max-errors 5 --seed 3 -o r"));
    assert!(ended.err.contains("--max-errors"), "{}", ended.err);
    let info = run_info(&lab, "r");
    for target in 0..2 {
        let records: Vec<_> = lab.records("r").into_iter().filter(|r| r.target == target).collect();
        let failed = records.iter().filter(|r| r.outcome == Outcome::Failed).count();
        // Those in flight when the limit was passed are still awaited.
        assert!((6..=9).contains(&failed), "{failed}");
        assert!(info["targets"][usize::from(target)]["ended_early"].as_str().unwrap().contains("5 requests"));
    }
    assert_eq!(info["state"]["state"], "broken", "both ended early");
    lab.expect(1, &format!("run -t one {words} -o all"));
    assert_eq!(lab.records("all").len(), 2000, "without a limit it goes on");
}

#[test]
fn what_is_refused_is_said_and_the_run_goes_on() {
    let lab = lab();
    lab.file("t.img", vec![7u8; 1 << 20]);
    let words = "-t t.img --rw randread --number-ios 20 --no-progress";
    lab.expect(0, &format!("run {words} --pin 8000 -o pinned"));
    let notices = run_info(&lab, "pinned")["means"]["notices"].to_string();
    assert!(notices.contains("--pin 8000") && notices.contains("goes on"), "{notices}");
    assert!(ids(&lab, "pinned").contains(&"means-notice".into()));
    lab.expect(0, &format!("run {words} --pin 0 --spin 0 -o unpinned"));
    let info = run_info(&lab, "unpinned");
    assert_eq!(
        (info["means"]["spin"].as_str(), &info["means"]["notices"]),
        (Some("0s"), &Value::Array(vec![]))
    );
    let refused = lab.expect(2, &format!("run {words} --engine threads --hipri -o never"));
    assert!(refused.err.contains("--hipri") && refused.err.contains("--engine uring"), "{}", refused.err);
}
