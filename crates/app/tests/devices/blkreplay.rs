//! blkreplay's command line on a real device, as a script would use it.

use crate::common::*;
use iosonar_plan::Op;
use iosonar_testkit::{Ended, Image, LoopDevice, tool};
use std::process::Command;

#[test]
fn blkreplay_script_runs_with_only_destroy_added() {
    needs!("zcat", "gzip");
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let before = device.bytes();
    let lab = lab();
    let write = |time: u64, sector| Line { time: time * 1_000_000, sector, length: 8, op: Op::Write };
    // One write wraps, and one lies outside the window.
    let load = [write(0, 8), write(20, 16), write(40, 16_384 + 64), write(5_000, 800)];
    lab.file("load", load_text(&load));
    tool("gzip", &[lab.path("load")]);
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_iosonar"), lab.path("blkreplay")).unwrap();
    let script = |word: &str| {
        let line = format!(
            "zcat load.gz | {{ ./blkreplay --threads=64 --replay-duration=5 --start-grace=0 {word} {}; echo $? >code; }} | \
             gzip >x.replay.gz",
            device.text()
        );
        let mut sh = Command::new("sh");
        let ended = Ended::of(sh.args(["-c", &line]).current_dir(lab.path("")).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        let code = std::fs::read_to_string(lab.path("code")).unwrap();
        (code.trim().to_owned(), ended.err, tool("zcat", &[lab.path("x.replay.gz")]))
    };
    let (code, told, result) = script("");
    assert_eq!((code.as_str(), result.as_str()), ("2", ""), "{told}");
    assert!(told.contains(device.text()) && told.contains("--destroy"), "{told}");
    tool("sync", &["-f".as_ref(), image.path().as_os_str()]);
    assert!(device.bytes() == before, "the device was touched");
    let (code, told, result) = script("--destroy");
    assert_eq!(code, "0", "{told}\n{result}");
    assert!(!result.contains("FAKE") && result.contains("# run state : finished"), "{result}");
    lab.file("x.replay", &result);
    let mut done = read_load(&lab.path("x.replay"));
    done.sort_unstable();
    assert_eq!(done, [write(0, 8), write(20, 16), write(40, 64)]);
    let after = device.bytes();
    let changed = |sector: usize| after[sector * 512..][..4096] != before[sector * 512..][..4096];
    assert!(changed(8) && changed(16) && changed(64));
    assert!(after[800 * 512..] == before[800 * 512..], "what lies behind the window was written");
}
