//! `iosonar knee` on a loop device that the kernel throttles finds the limit that was set.

use crate::common::{lab, run_info};
use iosonar_archive::{Interruption, RunState};
use iosonar_testkit::{ControlGroup, Image, Lab, LoopDevice};
use serde_json::Value;

/// On a machine with other users a ramp may be disturbed: then the verdict says so, and the test tries again.
const TRIES: u32 = 4;

/// Runs `knee` on a device limited to `per_second` reads; an error where the kernel does not limit.
fn limited(per_second: u32, args: &str) -> Result<(Lab, Value), String> {
    let device = LoopDevice::of(Image::random(32), &[]);
    let group = ControlGroup::of_reads(device.name(), per_second)?;
    for left in (0..TRIES).rev() {
        let lab = lab();
        let args = format!("knee -t {} {args} --no-progress --json --out k", device.text());
        let ended = group.run(&lab, &args);
        let told: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{}", ended.err));
        if ended.code == 1 && told["verdict"]["why"] == "unsteady" && left > 0 {
            println!("{per_second} set, but it was disturbed");
            continue;
        }
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        let rate = told["verdict"]["sustained_per_second"].as_f64().unwrap_or_else(|| panic!("{told:#}"));
        println!("{per_second} set, {rate} found");
        assert!((rate / f64::from(per_second) - 1.0).abs() < 0.1, "{per_second}: {told:#}");
        return Ok((lab, told));
    }
    unreachable!("the last try returns")
}

#[test]
fn finds_a_kernel_rate_limit() {
    needs!();
    for limit in [400, 1500] {
        // An explicit start keeps the test short.
        let (from, to) = (limit / 2, limit * 3 / 2);
        let (lab, _) = or_skip!(limited(limit, &format!("--from {from} --to {to} --duration 12s")));
        assert!(lab.path("k/knee.png").exists() && lab.path("k/ramp/records.parquet").exists());
    }
}

#[test]
fn search_finds_kernel_rate_limit_automatically() {
    needs!();
    let (_lab, told) = or_skip!(limited(400, "--from 20 --duration 5s"));
    let ramps = told["ramps"].as_array().unwrap();
    let names: Vec<&str> = ramps.iter().map(|ramp| ramp["name"].as_str().unwrap()).collect();
    let has_both = names.starts_with(&["coarse-1", "coarse-2"]) && names.last().unwrap().starts_with("fine-");
    assert!(has_both, "{names:?}");
    // The first ramp ends at half of the device's limit.
    assert_ne!(ramps[0]["verdict"]["result"], "found");
}

#[test]
fn ramp_ends_early_once_target_is_overloaded() {
    needs!();
    let (lab, _) = or_skip!(limited(400, "--from 200 --to 4000 --duration 14s"));
    let info = run_info(&lab.path("k/ramp"));
    assert_eq!(info.state, RunState::Interrupted(Interruption::EndTime));
    let last = lab.records("k/ramp").iter().filter_map(|record| record.submitted).max().unwrap();
    assert!((4.0..11.0).contains(&last.as_secs_f64()), "{last}");
}
