//! What is named where a load or a run is expected, and is neither.

use crate::*;

/// A text without a request was drawn as an empty load before.
#[test]
fn a_text_without_a_request_is_no_load_and_nothing_is_drawn() {
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
    // A load without a request is one.
    lab.file(
        "empty.load",
        "# nothing was recorded\nstart ; sector; length ; op ;  replay_delay=0 ; replay_duration=0\n",
    );
    assert!(!lab.run("analyze empty.load").err.contains("no load"));
}

#[test]
fn directories_of_studies_say_what_they_are_and_where_their_runs_are() {
    let lab = lab();
    lab.expect(0, "knee -t dev --engine sim --size 1g --from 100 --to 2000 --duration 3s -o k --no-progress");
    let shown = lab.expect(0, "show k").out;
    assert!(shown.starts_with("no knee reached: sustains at least"), "{shown}");
    assert!(shown.contains("one of its runs is k/ramp"), "{shown}");
    lab.expect(0, "show k/ramp");
    lab.expect(0, "matrix f --sizes 1m --records 64k --repeat 1 -o m --no-progress");
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
