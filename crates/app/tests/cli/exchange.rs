//! Results in other forms: blkreplay's and back, CSV, JSON.

use crate::*;
use serde_json::Value;

const FAULTY: &str =
    "--engine sim --sim-service 200ms --sim-errors 7 --sim-short 11 --depth 512 --seed 3 --run-id 5";

/// Removes fields that blkreplay's form lacks: the command, the name of the load, the order of the source.
fn comparable(mut summary: Value) -> Value {
    summary["run"]["command"] = Value::Null;
    for target in summary["targets"].as_array_mut().unwrap() {
        target["source"] = Value::Null;
    }
    for error in summary["errors"].as_array_mut().unwrap() {
        error["first_sequence"] = Value::Null;
    }
    summary
}

#[test]
fn blkreplay_round_trip_keeps_the_summary() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    for policy in ["allow", "drop", "push-back"] {
        let (r, i, text) = (format!("r-{policy}"), format!("i-{policy}"), format!("{policy}.replay"));
        lab.expect(
            1,
            &format!("replay conflict400.load.gz -t x --size 1GiB {FAULTY} --overlap {policy} -o {r}"),
        );
        lab.expect(0, &format!("export {r} --to replay -o {text}"));
        lab.expect(0, &format!("import {text} -o {i}"));
        let (original, imported) = (comparable(summary(&lab, &r)), comparable(summary(&lab, &i)));
        for part in
            ["counts", "errors", "span", "latency", "delay", "response", "throughput", "in_flight", "limits"]
        {
            assert_eq!(original[part], imported[part], "{policy}: {part}");
        }
    }
}

#[test]
fn csv_and_json_have_a_row_for_every_record_and_carry_the_stamp() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    lab.expect(0, "replay conflict7.load.gz -t x --size 1GiB --engine sim -o r");
    let csv = lab.expect(0, "export r --to csv").out;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 8);
    let columns = rows[0].split(',').count();
    assert!(rows.iter().all(|row| row.split(',').count() == columns), "{csv}");
    assert!(rows[1..].iter().all(|row| row.ends_with("SIMULATED -- NOT A STORAGE RESULT")));
    let json = lab.expect(0, "export r --to json").out;
    let objects: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), 7);
    for (object, record) in objects.iter().zip(lab.records("r")) {
        assert_eq!(object["sequence"], record.sequence);
        assert_eq!(object["submitted_ns"], record.submitted.unwrap().0);
        assert_eq!(object["stamp"], "SIMULATED -- NOT A STORAGE RESULT");
    }
}

#[test]
fn keeps_existing_outputs_and_rejects_non_results() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    lab.expect(0, "replay conflict7.load.gz -t x --size 1GiB --engine sim -o r");
    lab.file("there.csv", "mine");
    assert!(lab.expect(2, "export r --to csv -o there.csv").err.contains("ever overwritten"));
    assert_eq!(std::fs::read(lab.path("there.csv")).unwrap(), b"mine");
    lab.expect(2, "export r --to replay --target 1");
    lab.file("text.replay", "no result\n");
    assert!(lab.expect(2, "import text.replay -o i").err.contains("text.replay"));
    assert!(!lab.path("i").exists());
    lab.expect(2, "import missing.replay -o i");
}

/// A text of blkreplay itself names neither engine nor depth, and may lack its maxima.
#[test]
fn imported_result_leaves_missing_facts_unknown() {
    slow!();
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(
        0,
        "replay conflict400.load.gz -t x --size 1GiB --engine sim --sim-jitter 3ms --depth 17 -o r",
    );
    lab.expect(0, "export r --to replay -o whole.replay");
    let whole = std::fs::read_to_string(lab.path("whole.replay")).unwrap();
    let foreign = whole.replace("dry_run=1", "dry_run=0").replace("INFO: simulate_io=", "INFO: was=");
    let without = |names: &[&str]| -> String {
        let stays = |line: &&str| !names.iter().any(|name| line.starts_with(name));
        foreign.lines().filter(stays).map(|line| format!("{line}\n")).collect()
    };
    lab.file("told.replay", without(&["# tool", "# run_id"]));
    lab.file("untold.replay", without(&["# tool", "# run_id", "max_submitted", "max_pushback"]));
    let most = most_in_flight(&lab.records("r"));
    assert!(most > 1);
    for (name, waited) in [("told", true), ("untold", false)] {
        lab.expect(0, &format!("import {name}.replay -o {name}"));
        let read: Value =
            serde_json::from_str(&lab.expect(0, &format!("analyze {name}.replay --json")).out).unwrap();
        for s in [&summary(&lab, name), &read["summary"]] {
            assert_eq!((&s["run"]["engine"], &s["run"]["depth"]), (&Value::Null, &Value::Null), "{name}");
            assert_eq!(s["in_flight"]["max_on_one_target"], most, "{name}");
            assert_eq!(s["targets"][0]["max_in_flight"], most, "{name}");
            assert_eq!(s["waiting"]["max_for_conflict_on_one_target"].is_u64(), waited, "{name}");
        }
        let shown = lab.expect(0, &format!("show --all {name}")).out;
        assert!(shown.contains("engine unknown") && shown.contains("depth unknown"), "{shown}");
        assert_eq!(shown.contains("for a conflict unknown"), !waited, "{shown}");
        lab.expect(0, &format!("plot {name} --svg -o {name}.plots"));
        lab.expect(0, &format!("report {name} -o {name}.html"));
        // The way back keeps unknown fields unknown.
        lab.expect(0, &format!("export {name} --to replay -o again.{name}"));
        let again = std::fs::read_to_string(lab.path(&format!("again.{name}"))).unwrap();
        assert_eq!(again.contains("max_pushback"), waited);
    }
    // A simulated result names its engine.
    lab.expect(0, "import whole.replay -o ours");
    assert_eq!(summary(&lab, "ours")["run"]["engine"], "sim");
}

/// A truncated or doubled result has no facts about one run, but requests.
#[test]
fn damaged_results_are_refused_with_a_remedy() {
    let lab = lab();
    fixture(&lab, "conflict400.load.gz");
    lab.expect(0, "replay conflict400.load.gz -t x --size 1GiB --engine sim -o r");
    lab.expect(0, "convert r whole.replay.gz");
    let whole = std::fs::read(lab.path("whole.replay.gz")).unwrap();
    lab.file("cut.replay.gz", &whole[..whole.len() / 2]);
    let text = lab.expect(0, "convert r --to replay").out;
    lab.file("twice.replay", text.repeat(2));
    for name in ["cut.replay.gz", "twice.replay"] {
        for words in
            [format!("convert {name}"), format!("convert {name} --to csv"), format!("import {name} -o new")]
        {
            let ended = lab.expect(2, &words);
            assert!(
                ended.err.contains("; --from load converts the requests alone"),
                "{words}: {}",
                ended.err
            );
        }
        assert!(lab.expect(0, &format!("convert --from load {name} -")).out.lines().count() > 50, "{name}");
    }
    assert!(!lab.path("new").exists());
}

/// Scripts read the path of an output that they have not named.
#[test]
fn only_new_names_are_printed() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    lab.expect(0, "replay conflict7.load.gz -t x --size 1GiB --engine sim -o r");
    lab.expect(0, "convert r r.replay");
    for (words, printed, made) in [
        ("convert r.replay", "r.iosonar\n", "r.iosonar"),
        ("convert r.replay -o one", "", "one"),
        ("import r.replay -o two", "", "two"),
        ("convert conflict7.load.gz --to archive", "conflict7.iosonar\n", "conflict7.iosonar"),
        ("convert conflict7.load.gz three", "", "three"),
    ] {
        let ended = lab.expect(0, words);
        assert_eq!(ended.out, printed, "{words}");
        assert!(ended.err.contains(&format!("{made}: 7 requests")), "{words}: {}", ended.err);
    }
    // Split, a result is a trace.
    lab.expect(0, "convert --split device r.replay split");
    assert!(!lab.path("split").exists());
}

/// `export` and `import` are earlier words of `convert`.
#[test]
fn convert_does_the_work_of_export_and_import() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    lab.expect(0, "replay conflict7.load.gz -t x --size 1GiB --engine sim -o r");
    for form in ["csv", "json", "replay"] {
        let exported = lab.expect(0, &format!("export r --to {form}")).out;
        assert_eq!(lab.expect(0, &format!("convert r --to {form}")).out, exported, "{form}");
        lab.expect(0, &format!("convert r -o r.{form}"));
        assert_eq!(std::fs::read_to_string(lab.path(&format!("r.{form}"))).unwrap(), exported, "{form}");
        lab.expect(0, &format!("convert r packed.{form}.gz"));
        assert!(std::fs::read(lab.path(&format!("packed.{form}.gz"))).unwrap().starts_with(&[0x1f, 0x8b]));
    }
    assert_eq!(lab.expect(0, "import r.replay").out, "r.iosonar\n");
    assert_eq!(lab.expect(0, "convert r.replay").out, "r-2.iosonar\n");
    assert_eq!(lab.records("r.iosonar"), lab.records("r-2.iosonar"));
    assert_eq!(summary(&lab, "r-2.iosonar")["run"]["engine"], "sim");
    assert_eq!(lab.expect(0, "convert packed.replay.gz --to csv").out.lines().count(), 8);
    // As a load, a result has requests and no facts about its run.
    lab.expect(0, "convert --from load r.replay as-load");
    assert_eq!(summary(&lab, "as-load")["run"]["engine"], "recorded");
    for (words, why) in [
        ("convert r --to csv -o r.csv", "--out r.csv"),
        ("convert r r.csv", "OUT r.csv"),
        ("convert r.replay -o r", "--out r"),
        ("convert r.replay r", "OUT r"),
        ("convert r --to load --csv-safe", "--csv-safe"),
        ("convert r", "only one file is named"),
        ("convert --from result conflict7.load.gz -o new", "this is a load"),
        ("convert --from result --device x r.replay -o new", "--device has no effect with --from result"),
        ("convert --from iozone --split device r.replay -o new", "--split has no effect with --from iozone"),
        ("convert r.replay --to csv --target 1", "--target 1: r.replay has targets 0 to 0"),
    ] {
        let ended = lab.expect(2, words);
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
    }
}
