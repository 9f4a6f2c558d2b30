//! Inputs that are neither a load nor a run, where one is expected.

use crate::*;

/// A text without a request used to be drawn as an empty load.
#[test]
fn rejects_text_without_requests_and_draws_nothing() {
    let lab = lab();
    lab.file("users", "root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1::/usr/sbin:/usr/sbin/nologin\n");
    for command in ["plot users", "plot users --text", "report users", "analyze users"] {
        let ended = lab.expect(2, command);
        assert!(
            ended.err.contains("users: none of its 2 lines is a request, so it is no load"),
            "{command}: {}",
            ended.err
        );
    }
    assert!(!lab.path("users.plots").exists() && !lab.path("users.html").exists());
    // A load form without a request is a load.
    lab.file(
        "empty.load",
        "# nothing was recorded\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n",
    );
    assert!(!lab.run("analyze empty.load").err.contains("no load"));
}

#[test]
fn describes_study_directories_and_their_runs() {
    let lab = lab();
    lab.expect(0, "knee -t dev --engine sim --size 1g --from 100 --to 2000 --duration 3s -o k --no-progress");
    let shown = lab.expect(0, "show --all k").out;
    assert!(shown.starts_with("No limit was reached: at least 1 950 random 4 KiB reads/s"), "{shown}");
    assert!(shown.contains("\nno knee reached: sustains at least"), "{shown}");
    assert!(shown.contains("one of its runs is k/ramp"), "{shown}");
    lab.expect(0, "show k/ramp");
    lab.expect(0, "matrix f --sizes 1m --records 64k --repeat 1 -o m --no-progress");
    let shown = lab.expect(0, "show --all m").out;
    assert!(
        shown.starts_with("These are speeds of memory: every file fits into the page cache.\n"),
        "{shown}"
    );
    assert!(shown.contains("\nwrite, sync: median of 1 in MiB/s") && shown.contains("CAUTION: "), "{shown}");
    assert_eq!(
        lab.expect(0, "show m --json").out,
        std::fs::read_to_string(lab.path("m/cells.json")).unwrap()
    );
    let err = lab.expect(2, "plot k").err;
    assert!(
        err.contains("it stands in k/knee.json, k/knee.html and k/knee.png; one of its runs is k/ramp"),
        "{err}"
    );
    for (dir, command) in [("k", "iosonar knee"), ("m", "iosonar matrix")] {
        for verb in ["plot", "report", "explain", "analyze", "judge"] {
            let err = lab.expect(2, &format!("{verb} {dir}")).err;
            assert!(
                err.contains(&format!("{dir} is the answer of '{command}', and no single run")),
                "{verb}: {err}"
            );
        }
    }
}

#[test]
fn compares_answers_of_studies() {
    let lab = lab();
    for (name, service) in [("k", "100us"), ("l", "200us")] {
        lab.expect(
            0,
            &format!(
                "knee -t dev --engine sim --sim-service {service} --size 1g --depth 1 --from 2000 --to 16000 --duration 4s -o {name} \
                 --no-progress"
            ),
        );
    }
    let text = lab.expect(0, "compare k l").out;
    for part in ["sustained, requests/s", " apart", "Each side was measured once."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json: Value = serde_json::from_str(&lab.expect(0, "compare k l --json").out).unwrap();
    let figure = &json["comparisons"][0]["figures"][0];
    let change = figure["change_percent"].as_f64().unwrap();
    assert!((-60.0..-40.0).contains(&change) && figure["intervals_are_apart"] == true, "{json:#}");
    for (command, needle) in [
        ("compare k l --fail-if p99>+1%", "--fail-if is not available for answers of 'iosonar knee'"),
        ("compare k l/ramp", "k is the answer of 'iosonar knee', and not all others are"),
    ] {
        let err = lab.expect(2, command).err;
        assert!(err.contains(needle), "{command}: {err}");
    }
}

/// A recording and a result become a load first, by a command that works.
#[test]
fn recordings_and_results_need_conversion_before_replay() {
    let lab = lab();
    lab.target("a.img", 8 << 20);
    let line = "  8,0    0  1 0.001000000  1234  D   R 0 + 8 [fio]\n  8,0    0  2 0.002000000  1234  C   R 0 + 8 [fio]\n";
    lab.file("t", line);
    lab.expect(0, "convert --to archive t recorded");
    lab.expect(0, "run -t a.img --rw randread --bs 4k --number-ios 50 --no-progress -o ran");
    for (name, what) in [("recorded", "a recording"), ("ran", "a result")] {
        let err = lab.expect(2, &format!("replay {name} -t a.img -o x")).err;
        let command = format!("iosonar convert {name} {name}.load.gz");
        assert!(err.contains(&format!("it is {what}; make its load with '{command}'")), "{err}");
        assert_eq!(lab.expect(2, &format!("knee {name} -t a.img -o x")).err, err);
        lab.expect(0, &command["iosonar ".len()..]);
        lab.expect(
            0,
            &format!("replay {name}.load.gz -t a.img -o replayed-{name} --no-progress --start-grace 0.1"),
        );
    }
}
