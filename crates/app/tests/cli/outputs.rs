//! Files that users name for output: which are refused or replaced, and which stay after a failed command.
//! Devices and mounted images: `tests/devices/outputs.rs`.

use super::*;
use std::collections::BTreeMap;
use std::path::Path;

/// Everything below a directory, with its content.
fn listing(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut waiting = vec![dir.to_path_buf()];
    while let Some(dir) = waiting.pop() {
        for entry in std::fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                waiting.push(path.clone());
            }
            let content = if path.is_file() { std::fs::read(&path).unwrap() } else { Vec::new() };
            found.insert(path, content);
        }
    }
    found
}

fn with_run() -> Lab {
    let lab = lab();
    fixture(&lab, "conflict7.load.gz");
    lab.expect(0, &format!("replay conflict7.load.gz {SIM} -o run"));
    lab
}

/// Asserts that the command ends with `code`, prints these words, and changes nothing.
#[track_caller]
pub fn leaves_nothing(lab: &Lab, code: i32, command: &str, words: &[&str]) {
    let before = listing(&lab.path("."));
    let ended = lab.expect(code, command);
    for word in words {
        assert!(ended.err.contains(word), "{command}: {word}: {}", ended.err);
    }
    let after = listing(&lab.path("."));
    let names = |all: &BTreeMap<PathBuf, Vec<u8>>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&before), names(&after), "{command}");
    assert!(before == after, "{command} changed a file");
}

#[test]
fn pages_and_pictures_replace_files_only_on_request() {
    let lab = with_run();
    for (command, file) in [
        ("report run", "run/report.html"),
        ("report run -o page.html", "page.html"),
        ("plot run --png --only response", "run/plots/g00.response.png"),
        ("plot run --png --only response --data -o pictures", "pictures/g00.response.png"),
    ] {
        lab.expect(0, command);
        lab.file(file, "something else");
        leaves_nothing(&lab, 2, command, &["--out", file, "exists already", "--force"]);
        lab.expect(0, &format!("{command} --force"));
        assert!(std::fs::metadata(lab.path(file)).unwrap().len() > 100, "{file}");
    }
    leaves_nothing(&lab, 2, "report run -o run/run.json --force", &["--out", "read by run"]);
    leaves_nothing(
        &lab,
        2,
        "report conflict7.load.gz -o conflict7.load.gz --force",
        &["--out", "read by conflict7.load.gz"],
    );
}

#[test]
fn rejects_devices_directories_and_dangling_links_as_outputs() {
    let lab = with_run();
    std::os::unix::fs::symlink("nowhere", lab.path("dangling")).unwrap();
    std::fs::create_dir(lab.path("dir")).unwrap();
    for (path, why) in [
        ("/dev/full", "a character device"),
        ("/dev/zero", "a character device"),
        ("dir", "a directory"),
        ("dangling", "a symbolic link that leads nowhere"),
    ] {
        for command in
            ["filter scale:2 conflict7.load.gz -o", "export run --to csv -o", "report run --force -o"]
        {
            leaves_nothing(&lab, 2, &format!("{command} {path}"), &["--out", path, why]);
        }
        leaves_nothing(&lab, 2, &format!("generate bursts {path}"), &["FILE", path, why]);
        leaves_nothing(&lab, 2, &format!("convert --to load conflict7.load.gz {path}"), &["OUT", path, why]);
    }
    // These would be put in place by renaming.
    for form in ["archive", "parquet"] {
        leaves_nothing(
            &lab,
            2,
            &format!("convert --to {form} conflict7.load.gz /dev/null"),
            &["OUT", "exists"],
        );
    }
    for command in [
        "generate bursts /dev/null --size 1MiB",
        "export run --to csv -o /dev/null",
        "report run -o /dev/null",
    ] {
        lab.expect(0, command);
    }
    assert!(std::fs::metadata("/dev/null").is_ok_and(|facts| !facts.is_file()));
}

#[test]
fn accepts_pipes_and_stdout_as_outputs() {
    let lab = with_run();
    let direct = lab.expect(0, "export run --to csv").out;
    assert_eq!(lab.expect(0, "export run --to csv -o /dev/stdout").out, direct);
    let pipe = lab.path("pipe");
    iosonar_testkit::tool("mkfifo", &[&pipe]);
    let through_pipe = |command: &str| {
        let pipe = pipe.clone();
        let reader = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
        lab.expect(0, command);
        reader.join().unwrap()
    };
    assert_eq!(through_pipe("export run --to csv -o pipe"), direct);
    assert!(through_pipe("report run -o pipe").ends_with("</html>\n"));
}

#[test]
fn failed_command_leaves_no_output() {
    let lab = with_run();
    lab.file("empty.load", "start ; sector ; length ; op ;  replay_delay ; replay_duration\n");
    lab.file("bad.load", "start ; sector ; length ; op\n1.0 ; 8 ; 8 ; R\n2.0 ; x ; 8 ; R\n");
    for (code, command) in [
        (1, "filter scale:2 empty.load -o new.load"),
        (1, "derive ramp empty.load -o new.load"),
        (2, "filter scale:2 bad.load -o new.load.gz"),
        (2, "derive ramp bad.load -o new.load"),
        (2, "derive adjacent bad.load -o new.load"),
        (2, "derive overload bad.load -o a/b"),
        (1, "convert --process nobody run new.load.gz"),
        (1, "convert --process nobody run new.parquet"),
        (1, "convert --process nobody run new-archive"),
        (2, "plot run -o a/b --range 1000s..2000s"),
        (2, "knee -t absent.img -o a/b --from 1 --to 10 --duration 1s"),
        (2, "replay bad.load --engine null --size 1GiB -t x -o a"),
        (2, "import bad.load -o a"),
    ] {
        leaves_nothing(&lab, code, command, &[]);
    }
    // A damaged archive is detected during the export.
    let records = lab.path("run/records.parquet");
    let mut bytes = std::fs::read(&records).unwrap();
    let middle = bytes.len() / 2;
    bytes[64..middle].fill(0xff);
    std::fs::write(&records, bytes).unwrap();
    for form in ["csv", "json", "replay"] {
        let ended = lab.run(&format!("export run --to {form} -o new"));
        assert!(ended.code != 0 && !lab.path("new").exists(), "{form}: {}", ended.err);
    }
}

/// No output may replace an input of its command, whatever its name.
#[test]
fn rejects_outputs_that_are_inputs() {
    let lab = with_run();
    lab.file("places", "0 4096 a\n");
    std::fs::hard_link(lab.path("places"), lab.path("alias")).unwrap();
    std::os::unix::fs::symlink("places", lab.path("link")).unwrap();
    for out in ["places", "./alias", "link"] {
        let command = format!("report run --places places -o {out} --force");
        leaves_nothing(&lab, 2, &command, &[&format!("--out {out}"), "read by --places"]);
    }
    std::fs::create_dir(lab.path("run/more")).unwrap();
    lab.file("run/more/notes", "somebody's");
    leaves_nothing(&lab, 2, "report run -o run/more/notes --force", &["read by run"]);
    // Standard input has a name, too.
    let before = std::fs::read(lab.path("conflict7.load.gz")).unwrap();
    for command in ["report - -o conflict7.load.gz --force", "report /dev/stdin -o conflict7.load.gz --force"]
    {
        let mut command = lab.command(command);
        command.stdin(std::fs::File::open(lab.path("conflict7.load.gz")).unwrap());
        let ended = iosonar_testkit::Ended::of(command.output().unwrap()).with_code(2, "report -");
        assert!(ended.err.contains("would be lost"), "{}", ended.err);
    }
    assert_eq!(std::fs::read(lab.path("conflict7.load.gz")).unwrap(), before);
}

const XDD: &str = "xdd -op write -targets 1 T -reqsize 8 -numreqs 4";

#[test]
fn xdd_replaces_only_ordinary_results() {
    let lab = lab();
    lab.file("T", vec![7; 64 << 10]);
    lab.file("setup", "-reqsize 8 -numreqs 4\n");
    lab.file("list", "0 0 8 w 0 0\n1 8 8 w 0 0\n");
    std::os::unix::fs::symlink(lab.path("T"), lab.path("p.target.0000.qthread.0000.bin")).unwrap();
    std::os::unix::fs::symlink(lab.path("list"), lab.path("q.T0Q0.txt")).unwrap();
    for (words, told) in [
        ("-output T", vec!["-output T", "target 0"]),
        ("-csvout ./T", vec!["-csvout ./T", "target 0"]),
        ("-ts dump p", vec!["-ts dump", "target 0"]),
        ("-setup setup -errout setup", vec!["-errout setup", "-setup"]),
        ("-seek load list -combined list", vec!["-combined list", "-seek load"]),
        ("-seek load list -seek save q", vec!["-seek save", "-seek load"]),
        ("-output o -csvout o", vec!["-csvout o", "-output"]),
        ("-errout /dev/full", vec!["-errout /dev/full", "character device"]),
        ("-seek save nodir/o", vec!["-seek save nodir/o"]),
        ("-ts summary -ts output nodir/o", vec!["-ts output nodir/o"]),
        ("-ts dump nodir/o", vec!["-ts dump nodir/o"]),
        ("-output o -ts dump nodir/o", vec!["-ts dump nodir/o"]),
    ] {
        leaves_nothing(&lab, 2, &format!("{XDD} {words}"), &told);
    }
    let results =
        "-output o -csvout c -errout e -combined k -ts summary -ts output s -ts dump d -seek save v -verbose";
    let files =
        ["o", "c", "e", "s.target.0000.qthread.0000.csv", "d.target.0000.qthread.0000.bin", "v.T0Q0.txt"];
    for file in files {
        lab.file(file, vec![b'x'; 100_000]);
    }
    for runs in 1..=2 {
        lab.expect(0, &format!("{XDD} {results}"));
        for file in files {
            assert!(std::fs::metadata(lab.path(file)).unwrap().len() < 100_000, "{file}");
        }
        assert_eq!(std::fs::read_to_string(lab.path("k")).unwrap().lines().count(), runs);
    }
}

#[test]
fn rejects_writing_to_a_file_that_is_read() {
    let lab = lab();
    lab.expect(0, "generate bursts a.load --duration 2s --size 1MiB");
    lab.file("setup", "-blocksize 1 -reqsize 8 -numreqs 2\n");
    lab.file("list", "0 0 8 w 0 0\n1 8 8 w 0 0\n");
    let plan =
        lab.expect(0, "run -t plan.toml --rw write --bs 512 --number-ios 1 --buffered --show-plan").out;
    lab.file("plan.toml", plan);
    for (command, words) in [
        ("replay a.load -t a.load --start-grace 0 --buffered -o out", ["load", "the same"]),
        ("xdd -op write -targets 1 setup -setup setup", ["target setup", "-setup"]),
        (
            "xdd -op write -targets 1 list -blocksize 1 -reqsize 8 -numreqs 2 -seek load list",
            ["list", "the same"],
        ),
        ("run plan.toml -o out", ["target plan.toml", "PLAN"]),
    ] {
        leaves_nothing(&lab, 2, command, &words);
    }
}
