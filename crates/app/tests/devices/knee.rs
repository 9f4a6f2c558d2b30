//! `iosonar knee` on a loop device that the kernel throttles: what was set is what is found.

use crate::common::lab;
use iosonar_testkit::{Ended, Image, LoopDevice, ReadLimit};

#[test]
fn a_limit_of_the_kernel_is_found() {
    needs!();
    for limit in [400, 1500] {
        let device = LoopDevice::of(Image::random(32), &[]);
        let group = or_skip!(ReadLimit::new(device.name(), limit));
        let lab = lab();
        let words = group.words();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // Where it begins is told, so that the test does not last longer than it has to.
        let (from, to) = (limit / 2, limit * 3 / 2);
        let args = format!(
            "knee -t {} --from {from} --to {to} --duration 12s --no-progress --json --out k",
            device.text()
        );
        let ended = Ended::of(lab.command_under(&words, &args).output().unwrap());
        assert_eq!(ended.code, 0, "{}\n{}", ended.out, ended.err);
        let told: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let rate = told["verdict"]["sustained_per_second"].as_f64().unwrap_or_else(|| panic!("{told:#}"));
        println!("{limit} set, {rate} found");
        assert!((rate / f64::from(limit) - 1.0).abs() < 0.1, "{limit}: {told:#}");
        assert!(lab.path("k/knee.png").exists() && lab.path("k/ramp/records.parquet").exists());
    }
}
