//! Verbs that machines execute on their own targets: `doctor`, `fill` and `verify` with `--on`.

use crate::common::*;
use crate::hosts::{end, targets};
use crate::machines::Machines;
use serde_json::Value;
use std::os::unix::fs::FileExt;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The bytes of a file that are not zero.
fn filled(lab: &iosonar_testkit::Lab, file: &str) -> usize {
    std::fs::read(lab.path(file)).unwrap().iter().filter(|byte| **byte != 0).count()
}

#[test]
fn hosts_fill_their_targets_only_if_none_refuses() {
    needs!(beside others; "ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 0]);
    let on = targets(&lab, &machines);
    // A file that is made before the writes is removed, and an empty one keeps its length.
    let (new, empty) = (lab.path("new.img"), lab.file("empty.img", ""));
    for file in [&new, &empty] {
        let words = format!("fill --size 1m --on m0:{} m1:/no/such/place/target", file.display());
        let refused = end(&lab, &machines, &words);
        assert!(refused.code == 2 && refused.err.contains("host m1: "), "{}{}", refused.out, refused.err);
    }
    assert!(!new.exists() && empty.metadata().unwrap().len() == 0);
    let refused = end(&lab, &machines, &format!("fill --on {on} m1:/no/such/target --no-progress"));
    assert_eq!(refused.code, 2, "{}{}", refused.out, refused.err);
    assert!(
        refused.err.contains("host m1 (/no/such/target): /no/such/target does not exist"),
        "{}",
        refused.err
    );
    assert_eq!((filled(&lab, "target-m0"), filled(&lab, "target-m1")), (0, 0));
    let ended = end(&lab, &machines, &format!("fill --on {on} --no-progress"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    for name in ["m0", "m1"] {
        assert!(ended.out.contains(&format!("{name}: filled 8.00 MiB of /")), "{}", ended.out);
        assert!(filled(&lab, &format!("target-{name}")) > 8_000_000);
    }
    let again = end(&lab, &machines, &format!("fill --on {on} --json --percent 50"));
    let answers = json(&again.out);
    assert_eq!(answers["hosts"][1]["answer"]["written_bytes"], 4 << 20, "{answers}");
    assert_eq!((&answers["hosts"][1]["host"], &answers["hosts"][1]["error"]), (&"m1".into(), &Value::Null));
    let first = on.split(' ').next().unwrap();
    let twice = end(&lab, &machines, &format!("fill --on {first} {first}"));
    assert!(twice.code == 2 && twice.err.contains(" is named twice"), "{}", twice.err);
    let kept = lab.run(&format!("fill --on {on} --out kept"));
    assert!(kept.code == 2 && kept.err.contains("--out has no effect with --on"), "{}", kept.err);
    assert!(machines.all.iter().all(|machine| machine.agents().is_empty()));
}

#[test]
fn hosts_look_at_their_targets_before_a_run() {
    needs!(beside others; "ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[0, 3]);
    let on = targets(&lab, &machines);
    let ended = end(&lab, &machines, &format!("doctor --on {on} --claim filesystem --quiet 0s"));
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let whose: Vec<&str> = ended.out.lines().filter(|line| ["m0", "m1"].contains(line)).collect();
    assert_eq!(whose, ["m0", "m1"], "{}", ended.out);
    let ended = end(&lab, &machines, &format!("doctor --on {on} --claim filesystem --quiet 0s --json"));
    let answers = json(&ended.out);
    assert_eq!(answers["hosts"][0]["answer"]["claim"], "filesystem", "{answers}");
}

#[test]
fn each_target_of_a_run_is_verified_on_its_host() {
    needs!(beside others; "ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 0]);
    let on = targets(&lab, &machines);
    let words = "--rw randwrite --bs 4k --size 4m --iodepth 4 --no-progress";
    let ended = end(&lab, &machines, &format!("run {words} --on {on} --out r"));
    assert!([0, 4].contains(&ended.code), "{}", ended.err);
    let ended = end(&lab, &machines, "verify r --json --no-progress");
    assert_eq!(ended.code, 0, "{}{}", ended.out, ended.err);
    let answers = json(&ended.out);
    for (number, name) in [(0, "m0"), (1, "m1")] {
        let own = &answers["hosts"][number];
        assert_eq!(own["host"], name);
        let read = own["answer"]["targets"].as_array().unwrap();
        assert!(read.len() == 1 && read[0].as_str().unwrap().ends_with(&format!("target-{name}")), "{own}");
    }
    // One sector of one target is overwritten.
    let file = std::fs::File::options().write(true).open(lab.path("target-m1")).unwrap();
    file.write_all_at(&[7; 512], 1 << 20).unwrap();
    let ended = end(&lab, &machines, "verify r --json --no-progress");
    assert_eq!(ended.code, 5, "{}{}", ended.out, ended.err);
    let answers = json(&ended.out);
    let faults = |number: usize| answers["hosts"][number]["answer"]["faults"].as_array().unwrap().len();
    assert_eq!((faults(0), faults(1)), (0, 1), "{answers}");
    // Both are in a file system that another host has, too.
    let ended = end(&lab, &machines, "verify r --on m0 --no-progress");
    assert_eq!(ended.code, 5, "{}{}", ended.out, ended.err);
    assert!(machines.all.iter().all(|machine| machine.agents().is_empty()));
}

/// Two hosts that have one file: neither can verify its writes alone.
#[test]
fn writes_of_two_hosts_to_one_file_are_verified_together() {
    needs!(beside others; "ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[0, 3]);
    let file = lab.target("shared.img", 1 << 20).display().to_string();
    let words =
        format!("run --rw randwrite --bs 4k --size 1m --on m0:{file} m1:{file} --no-progress --out r");
    let ended = end(&lab, &machines, &words);
    assert!([0, 4].contains(&ended.code), "{}", ended.err);
    let alone = end(&lab, &machines, "verify r --no-progress");
    assert_eq!(alone.code, 2, "{}{}", alone.out, alone.err);
    assert!(alone.err.contains("another host of the run has written to the same file"), "{}", alone.err);
    let together = end(&lab, &machines, "verify r --on m1 --no-progress");
    assert_eq!(together.code, 0, "{}{}", together.out, together.err);
}

#[test]
fn streams_of_a_matrix_are_on_their_hosts() {
    needs!(beside others; "ssh", "sshd", "ssh-keygen", "ip", "unshare");
    let lab = lab();
    let machines = Machines::start(&lab, &[100, 0]);
    let file = lab.path("matrix.tmp").display().to_string();
    let words = "--sizes 256k,512k --records 64k --tests write,read --repeat 2 --claim cache --no-progress";
    let ended = end(&lab, &machines, &format!("matrix {file} {words} --on m0 m1 --out m --json"));
    assert_eq!(ended.code, 0, "{}", ended.err);
    let table = json(&ended.out);
    let cells = table["results"].as_array().unwrap();
    assert_eq!(cells.len(), 2 * 2 * 2, "{table}");
    assert!(cells.iter().all(|cell| cell["streams"] == 2), "{table}");
    let info = run_info(&lab.path("m/part-1"));
    let hosts: Vec<_> = info.hosts.iter().map(|host| host.name.clone().unwrap()).collect();
    assert_eq!(hosts, ["m0", "m1"]);
    assert!(lab.path("m/matrix.html").exists() && !lab.path("matrix.tmp.0").exists());
    let again = end(&lab, &machines, "matrix --resume m --on m1");
    assert!(
        again.code == 2 && again.err.contains("a matrix that is continued has its hosts"),
        "{}",
        again.err
    );
    let resumed = end(&lab, &machines, "matrix --resume m --json");
    assert_eq!(resumed.code, 0, "{}", resumed.err);
}
