//! The path of requests on a logical volume, in a virtual machine: a device of device mapper, which has no queue of requests.

use crate::common::*;
use iosonar_testkit::TRUNCATED_NS;
use serde_json::Value;

const PROGRAMS: [&str; 1] = ["lvm"];

#[test]
fn path_of_a_logical_volume_is_that_of_its_trace() {
    let mut command = or_skip!(machine(&PROGRAMS));
    let _turn = shared_turn();
    command.args(["-m", "dm-mod", "-d", "64", "-t", "120"]).arg(script("vm_path.sh"));
    let ended = iosonar_testkit::Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
    assert!(!ended.out.contains("-- failed"), "{}", ended.out);
    let answer = |name: &str| {
        let found = ended.out.split("== ").find_map(|answer| answer.strip_prefix(name)?.strip_prefix('\n'));
        found.unwrap_or_else(|| panic!("no {name}: {}", ended.out))
    };
    let traced: Vec<u64> =
        answer("traced").split_whitespace().map(|number| number.parse().unwrap()).collect();
    let [count, p50_us] = traced[..] else { panic!("{traced:?}") };
    let summary: Value = serde_json::from_str(answer("path")).unwrap();
    let path = &summary["path"];
    let of = |key: &str| path[key].as_u64().unwrap();
    println!("{} of 10000 joined, {count} in the text", of("joined"));
    assert!(of("joined") >= 9_900 && of("joined") + of("not_joined") == 10_000, "{path}");
    // A bio-based device has no issue events: its time starts at the queue.
    assert_eq!(path["queue_to_issue"], Value::Null, "{path}");
    let (p50, by_text) = (path["issue_to_complete"]["p50_ns"].as_u64().unwrap(), p50_us * 1000);
    println!("device p50: {p50} ns in the summary, {by_text} ns by the text");
    assert!(p50.abs_diff(by_text) <= by_text / 20 + TRUNCATED_NS, "{p50} and {by_text}");
}
