//! Results that are verified from another directory, or after they were moved.

use crate::*;
use iosonar_testkit::Ended;
use std::path::Path;

const WRITES: &str = "run -t w.img --rw write --bs 4k --size 1M --no-progress -o written";

/// Runs the command in a directory.
fn within(lab: &Lab, dir: &Path, code: i32, args: &str) -> Ended {
    Ended::of(lab.command(args).current_dir(dir).output().unwrap()).with_code(code, args)
}

fn written(lab: &Lab, name: &str) -> PathBuf {
    let dir = lab.path(name);
    std::fs::create_dir(&dir).unwrap();
    lab.target(&format!("{name}/w.img"), 2 << 20);
    within(lab, &dir, 0, WRITES);
    dir
}

#[test]
fn verifies_from_any_directory() {
    let lab = lab();
    let dir = written(&lab, "a");
    let result = dir.join("written");
    let ended = within(&lab, Path::new("/"), 0, &format!("verify {}", result.display()));
    let file = dir.join("w.img").display().to_string();
    assert!(ended.err.contains(&file) && ended.err.contains("the run was started in"), "{}", ended.err);
    // A file of the same name in the current directory is another one.
    lab.target("w.img", 2 << 20);
    let ended = lab.expect(0, "verify a/written");
    assert!(ended.err.contains("w.img is another file of this name"), "{}", ended.err);
    let ended = lab.expect(5, "verify a/written --target w.img=w.img");
    assert!(!ended.err.contains("another file"), "{}", ended.err);
    // The usual case needs no options.
    assert_eq!(within(&lab, &dir, 0, "verify written --no-progress").err, "");
    let json: Value = serde_json::from_str(&lab.expect(0, "verify a/written --json").out).unwrap();
    assert_eq!(json["targets"][0], file.as_str());
}

#[test]
fn finds_a_target_that_was_moved_with_the_result() {
    let lab = lab();
    let dir = written(&lab, "a");
    std::fs::rename(&dir, lab.path("b")).unwrap();
    let ended = within(&lab, Path::new("/"), 0, &format!("verify {}", lab.path("b/written").display()));
    assert!(ended.err.contains("beside the result"), "{}", ended.err);
    std::fs::remove_file(lab.path("b/w.img")).unwrap();
    let ended = lab.expect(2, "verify b/written");
    for needle in ["a/w.img", "b/w.img", "beside the result", "--target w.img=FILE"] {
        assert!(ended.err.contains(needle), "{needle}: {}", ended.err);
    }
}

#[test]
fn results_without_a_directory_are_verified_as_before() {
    let lab = lab();
    let dir = written(&lab, "a");
    let run = dir.join("written/run.json");
    let mut json: Value = serde_json::from_str(&std::fs::read_to_string(&run).unwrap()).unwrap();
    assert_eq!(json["directory"], dir.to_str().unwrap());
    json.as_object_mut().unwrap().remove("directory");
    std::fs::write(&run, json.to_string()).unwrap();
    within(&lab, &dir, 0, "verify written");
    let ended = within(&lab, Path::new("/"), 0, &format!("verify {}", dir.join("written").display()));
    assert!(ended.err.contains("beside the result"), "{}", ended.err);
}

#[test]
fn rejects_journals_that_are_missing() {
    let lab = lab();
    let dir = written(&lab, "a");
    let ended = within(&lab, &dir, 2, "verify written --mode after-crash --journal gone/j");
    assert!(ended.err.contains("--journal gone/j: No such file"), "{}", ended.err);
    // The run was killed, and its journal is needed.
    let kill = "run -t w.img --rw write --bs 4k --size 1M --rate-iops 100 --time-based --runtime 60s --no-progress \
                --journal j -o killed";
    let mut running = lab.command(kill).current_dir(&dir).spawn().unwrap();
    lab.until_records("a/killed");
    running.kill().unwrap();
    running.wait().unwrap();
    let killed = format!("verify {} --mode after-crash", dir.join("killed").display());
    let ended = within(&lab, Path::new("/"), 0, &killed);
    assert!(ended.out.contains("its journal completes the records"), "{}", ended.out);
    std::fs::remove_file(dir.join("j")).unwrap();
    let ended = within(&lab, Path::new("/"), 2, &killed);
    for needle in ["journal of the run is missing", "a/j", "--journal FILE", "--journal none"] {
        assert!(ended.err.contains(needle), "{needle}: {}", ended.err);
    }
    let ended = within(&lab, Path::new("/"), 0, &format!("{killed} --journal none"));
    assert!(ended.out.contains("counts as in flight"), "{}", ended.out);
}
