//! Verbs with `--on`, on this machine: processes of it stand in for those of hosts.

use crate::*;
use serde_json::Value;

#[test]
fn fill_is_answered_by_each_process() {
    let lab = lab();
    lab.target("a.img", 1 << 20);
    let ended = lab.expect(0, "fill --on local:a.img local:b.img --size 1m --json --no-progress");
    let answers: Value = serde_json::from_str(&ended.out).unwrap();
    for (number, target) in [(0, "a.img"), (1, "b.img")] {
        let own = &answers["hosts"][number];
        assert_eq!((&own["host"], &own["target"]), (&Value::Null, &target.into()));
        assert_eq!(own["answer"]["written_bytes"], 1 << 20, "{own}");
    }
    let before = std::fs::read(lab.path("a.img")).unwrap();
    let refused = lab.expect(2, "fill --on local:a.img local:missing.img --no-progress");
    assert!(refused.err.contains("missing.img does not exist"), "{}", refused.err);
    assert!(std::fs::read(lab.path("a.img")).unwrap() == before);
    let twice = lab.expect(0, "fill a.img --on local --times 2 --no-progress");
    assert!(twice.out.starts_with("this machine: filled 1.00 MiB of a.img 2 times in "), "{}", twice.out);
}

#[test]
fn verbs_with_hosts_refuse_what_has_no_effect() {
    let lab = lab();
    lab.target("a.img", 1 << 20);
    for (words, why) in [
        ("fill --on alpha", "--on: a host has no target: write HOST:TARGET"),
        (
            "fill a.img --on alpha --show-plan",
            "--show-plan has no effect with --on: each host makes its plan",
        ),
        ("doctor --on a[", "--on a[: a bracket is not closed"),
        ("fill", "<TARGET>"),
        ("fill --on alpha a/b", "'a/b' is a path, and no name of a host: write a target before --on"),
        ("matrix new.tmp --send-program x", "--send-program has no effect on this machine"),
        ("run -t a.img --rw read --send-program x", "--send-program has no effect on one machine"),
        ("fill a.img --send-program x", "--send-program has no effect on this machine"),
        ("fill a.img --sudo", "--on"),
    ] {
        let refused = lab.expect(2, words);
        assert!(refused.err.contains(why), "{words}: {}", refused.err);
    }
}

#[test]
fn a_result_is_verified_by_another_process() {
    let lab = lab();
    lab.target("a.img", 1 << 20);
    lab.expect_done("run -t a.img --rw write --bs 4k --size 1m --no-progress -o r");
    let ended = lab.expect(0, "verify r --on local --json --no-progress");
    let answers: Value = serde_json::from_str(&ended.out).unwrap();
    let read = answers["hosts"][0]["answer"]["targets"][0].as_str().unwrap();
    assert!(read.ends_with("a.img"), "{answers}");
    let named = lab.expect(2, "verify r --on local:a.img");
    assert!(named.err.contains("--on: the result names its targets"), "{}", named.err);
    let crashed = lab.expect(2, "verify r --on local --mode after-crash");
    assert!(crashed.err.contains("--mode after-crash reads targets of this machine"), "{}", crashed.err);
}
