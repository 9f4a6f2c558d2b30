//! Files of others stay, and permission is typed: outputs of front ends, continued matrices, plans of results, the ledger.

use crate::live::Running;
use crate::outputs::leaves_nothing;
use crate::*;
use iosonar_testkit::{Ended, until};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const THESIS: &str = "thesis\n";

fn holds(lab: &Lab, file: &str, text: &str) {
    assert_eq!(fs::read_to_string(lab.path(file)).unwrap_or_default(), text, "{file}");
}

#[test]
fn iozone_reports_overwrite_no_file() {
    let lab = lab();
    lab.file("precious", THESIS);
    lab.file("tele", "0 4096\n4096 4096\n");
    fs::hard_link(lab.path("tele"), lab.path("alias")).unwrap();
    symlink("precious", lab.path("link")).unwrap();
    symlink("nowhere", lab.path("dangling")).unwrap();
    for option in ["--json", "--csv", "-b"] {
        for (file, why) in [
            ("precious", "exists already"),
            ("./link", "exists already"),
            ("dangling", "leads nowhere"),
            ("tele", "read by -X"),
            ("alias", "read by -X"),
            ("iz", "target 0"),
            ("./iz", "target 0"),
        ] {
            let command = format!("iozone -X tele -f iz {option} {file}");
            leaves_nothing(&lab, 2, &command, &[&format!("{option} {file}"), why]);
        }
    }
    leaves_nothing(&lab, 2, "iozone -i 0 -i 1 -Y tele -f iz -b alias", &["-b alias", "read by -Y"]);
    leaves_nothing(&lab, 2, "iozone -s 64k -i 0 -f iz --json o --csv ./o", &["--csv ./o", "--json"]);
    leaves_nothing(&lab, 2, "iozone -X tele -f tele --destroy", &["target tele", "the same"]);
    lab.expect(0, "iozone -X tele -f iz --json j --csv c -b w.xlsx");
    assert!(["j", "c", "w.xlsx"].iter().all(|file| lab.path(file).metadata().unwrap().len() > 100));
}

/// A killed run leaves no report, and a run that ends replaces no file created meanwhile.
#[test]
fn iozone_reports_appear_only_when_complete() {
    let lab = lab();
    let start = || {
        let running = Running::of(&mut lab.command("iozone -a -f iz --json j --csv c -b w.xlsx -+z"));
        let grows = || lab.path("iz").metadata().is_ok_and(|file| file.len() > 0);
        until("the test file grows", grows);
        assert!(["j", "c", "w.xlsx"].iter().all(|file| !lab.path(file).exists()));
        running
    };
    let running = start();
    running.signal("KILL");
    running.end();
    let left: Vec<_> =
        fs::read_dir(lab.path(".")).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| name == "iz" || name == "targets.jsonl"), "{left:?}");
    fs::remove_file(lab.path("iz")).unwrap();
    let running = start();
    lab.file("precious", THESIS);
    symlink("precious", lab.path("j")).unwrap();
    running.signal("INT");
    assert_eq!(running.end().code, 1);
    holds(&lab, "precious", THESIS);
    assert!(lab.path("j").is_symlink());
}

#[test]
fn xdd_results_replace_a_file_only_when_complete() {
    slow!();
    let lab = lab();
    lab.file("T", vec![7; 64 << 10]);
    for file in ["o", "c", "e"] {
        lab.file(file, THESIS);
    }
    let files = "-output o -csvout c -errout e -combined k -ts summary -ts output s -ts dump d -seek save v";
    let words =
        format!("xdd -op write -targets 1 T -reqsize 8 -numreqs 4000 -throttle ops 50 {files} -out r");
    let start = || {
        let running = Running::of(&mut lab.command(&words));
        lab.until_records("r");
        let names = ["k", "s.target.0000.qthread.0000.csv", "v.T0Q0.txt"];
        assert!(names.iter().all(|file| !lab.path(file).exists()));
        running
    };
    let running = start();
    running.signal("KILL");
    running.end();
    ["o", "c", "e"].iter().for_each(|file| holds(&lab, file, THESIS));
    fs::remove_dir_all(lab.path("r")).unwrap();
    let running = start();
    lab.file("precious", THESIS);
    fs::remove_file(lab.path("o")).unwrap();
    symlink("precious", lab.path("o")).unwrap();
    running.signal("INT");
    assert_ne!(running.end().code, 0);
    holds(&lab, "precious", THESIS);
}

/// Starts a matrix that may destroy its file, and kills it.
fn killed_matrix(lab: &Lab, options: &str) {
    let words = format!("matrix t.f --sizes 64k..1m --records 64k --tests write --repeat 200 {options} -o m");
    let running = Running::of(&mut lab.command(&words));
    lab.until_records("m/part-1");
    running.signal("KILL");
    assert_ne!(running.end().code, 0);
    let _ = fs::remove_file(lab.path("t.f"));
    lab.file("t.f", THESIS);
}

#[test]
fn resumed_matrix_needs_destroy_again() {
    let lab = lab();
    killed_matrix(&lab, "--destroy");
    let question = lab.path("m/matrix.json");
    let text = fs::read_to_string(&question).unwrap();
    assert!(!text.contains("destroy"), "{text}");
    // Older versions kept the permission.
    for text in [text.clone(), text.replacen('{', "{\n  \"destroy\": true,", 1)] {
        fs::write(&question, text).unwrap();
        let refused = lab.expect(2, "matrix --resume m --no-progress").err;
        assert!(refused.contains("t.f: the file exists") && refused.contains("--destroy"), "{refused}");
        holds(&lab, "t.f", THESIS);
    }
    lab.expect(0, "matrix --resume m --no-progress --destroy");
    assert!(!lab.path("t.f").exists());
}

#[test]
fn matrix_writable_by_others_resumes_only_with_full_command() {
    let lab = lab();
    killed_matrix(&lab, "");
    let question = lab.path("m/matrix.json");
    fs::set_permissions(&question, PermissionsExt::from_mode(0o666)).unwrap();
    leaves_nothing(&lab, 2, "matrix --resume m", &["--resume m: every user may write", "type FILE"]);
    let typed =
        "matrix t.f --sizes 64k..1m --records 64k --tests write --repeat 200 --resume m --no-progress";
    // The contents of such a directory do not prove that it owns a file.
    let refused = lab.expect(2, typed).err;
    assert!(refused.contains("t.f"), "{refused}");
    holds(&lab, "t.f", THESIS);
    fs::rename(lab.path("t.f"), lab.path("moved")).unwrap();
    lab.expect(0, typed);
}

#[test]
fn matrix_numbers_are_bounded_in_options_and_files() {
    let lab = lab();
    killed_matrix(&lab, "");
    fs::remove_file(lab.path("t.f")).unwrap();
    let question = lab.path("m/matrix.json");
    let kept: Value = serde_json::from_slice(&fs::read(&question).unwrap()).unwrap();
    let sizes: Vec<u64> = (1..=1000).map(|size| size << 10).collect();
    for (field, value, limit) in [
        ("repeat", u32::MAX.into(), "1 to 1000"),
        ("repeat", 0.into(), "1 to 1000"),
        ("depth", u32::MAX.into(), "1 to 65536"),
        ("stride", 0.into(), "1 to 1000000"),
        ("streams", serde_json::json!([u32::MAX]), "1 to 1024"),
        ("streams", serde_json::json!(vec![1; 5000]), "1 to 1024"),
        ("streams", serde_json::json!([2]), "2 to 1024"),
        ("sizes", serde_json::json!(vec!["64KiB"; 1001]), "1 to 1000"),
        ("records", serde_json::json!([]), "1 to 1000"),
        ("methods", serde_json::json!(vec!["sync"; 1000]), "1 to 9"),
        ("files", serde_json::json!(vec!["t.f"; 2000]), "1 to 1024"),
    ] {
        let mut changed = kept.clone();
        changed[field] = value;
        fs::write(&question, changed.to_string()).unwrap();
        let named = if limit.starts_with("2 ") { "files" } else { field };
        leaves_nothing(&lab, 2, "matrix --resume m", &[named, limit]);
    }
    fs::write(&question, kept.to_string()).unwrap();
    let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
    let sizes = sizes.join(",");
    let many = format!("matrix t.f --sizes {sizes} --records {sizes} --all-pairs --dry-run");
    assert!(lab.expect(2, &many).err.contains("200000 are the most"));
}

/// Pictures of a matrix replace those of an earlier part, and never the target of a link.
#[test]
fn matrix_pictures_never_follow_symlinks() {
    let lab = lab();
    lab.expect(0, "matrix t.f --sizes 64k --records 64k --tests write --repeat 1 -o m --no-progress");
    lab.file("precious", THESIS);
    fs::remove_file(lab.path("m/heat-write-sync.svg")).unwrap();
    symlink("../precious", lab.path("m/heat-write-sync.svg")).unwrap();
    lab.run("matrix --resume m");
    holds(&lab, "precious", THESIS);
    assert!(lab.path("m/heat-write-sync.svg").is_symlink());
}

#[test]
fn stored_plan_grants_no_write_permission() {
    let lab = lab();
    lab.expect(0, "iozone -s 64k -r 64k -i 0 -w -f t.f --destroy --out r");
    let plan = fs::read_to_string(lab.path("r/plan.toml")).unwrap();
    assert!(plan.contains("destroy = true"), "{plan}");
    lab.file("t.f", THESIS);
    leaves_nothing(&lab, 2, "run r/plan.toml --no-progress -o again", &["t.f: the file exists"]);
    lab.expect(0, "run r/plan.toml --no-progress --destroy -o again");
    // A plan that the user has written gives permission as if typed.
    lab.file("t.f", THESIS);
    lab.file("plan.toml", plan);
    lab.expect(0, "run plan.toml --no-progress -o third");
}

#[test]
fn xdd_setup_file_grants_no_write_permission() {
    let lab = lab();
    lab.file("T", THESIS);
    lab.file("outer", "-setup inner\n");
    lab.file("inner", "-reqsize 1 -blocksize 1 -numreqs 1\n-destroy\n");
    let words = "xdd -op write -targets 1 T";
    for file in ["inner", "outer"] {
        let command = format!("{words} -setup {file}");
        leaves_nothing(&lab, 2, &command, &["-destroy", "'inner'", "type it on the command line"]);
    }
    lab.file("inner", "-reqsize 1 -blocksize 1 -numreqs 1\n");
    lab.expect(0, &format!("{words} -setup outer -destroy"));
}

/// Lines of another program are neither added to nor dropped.
#[test]
fn never_changes_a_foreign_file_named_as_ledger() {
    let lab = lab();
    lab.file("t", vec![7; 1 << 20]);
    let lines: String = (0..2000).map(|number| format!("{{\"n\":{number}}}\n")).collect();
    for (file, text) in [("data.jsonl", lines.as_str()), ("pretty.json", "{\n  \"n\": 1\n}\n")] {
        lab.file(file, text);
        let words = format!("run -t t --rw write --bs 64k --number-ios 4 --no-progress -o of-{file}");
        let run = lab.command(&words).env("IOSONAR_LEDGER", file).output().unwrap();
        let ended = Ended::of(run).with_code(0, &words);
        assert!(ended.err.contains(&format!("the ledger {file} is not used")), "{}", ended.err);
        holds(&lab, file, text);
    }
    lab.file("empty.jsonl", "");
    let words = "run -t t --rw write --bs 64k --number-ios 4 --no-progress -o of-empty";
    let run = lab.command(words).env("IOSONAR_LEDGER", "empty.jsonl").output().unwrap();
    Ended::of(run).with_code(0, words);
    assert_eq!(fs::read_to_string(lab.path("empty.jsonl")).unwrap().lines().count(), 1);
}

/// Directories and files whose names resemble those of unfinished results.
#[test]
fn keeps_foreign_files_named_like_unfinished_results() {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    let names =
        ["out.partial", ".out.partial", "out.tmp", ".iosonar-convert-1-0", ".iosonar-derive-99999999-0"];
    for name in names {
        fs::create_dir(lab.path(name)).unwrap();
        lab.file(&format!("{name}/lock"), THESIS);
    }
    lab.file(".iosonar-1-0.partial", THESIS);
    lab.expect(0, "convert --to archive conflict7.load.gz out");
    lab.expect(0, "convert --to parquet conflict7.load.gz out.parquet");
    lab.expect(0, "derive overload conflict7.load.gz --keep-rest -o split");
    names.iter().for_each(|name| holds(&lab, &format!("{name}/lock"), THESIS));
    holds(&lab, ".iosonar-1-0.partial", THESIS);
    let hidden = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with('.');
    assert!(!fs::read_dir(lab.path("split")).unwrap().flatten().any(|entry| hidden(&entry)));
}
