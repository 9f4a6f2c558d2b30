//! XDD's command line on a real device: written only with `-destroy`, and never through a loop device's backing file.

use crate::common::*;
use iosonar_testkit::{Image, LoopDevice, tool};

// Example 3 of the manual as printed, on a smaller device.
#[test]
fn a_device_is_written_only_with_destroy() {
    needs!();
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let before = device.bytes();
    let lab = lab();
    lab.file("xdd.setup", "-blocksize 2048\n–reqsize 128\n-mbytes 8\n–verbose\n–passes 3 -timelimit 10\n");
    let name = device.text();
    let example =
        format!("xdd –op write –targets 2 {name} {name} -setup xdd.setup –ts detailed –ts output ts.write");
    let unchanged = || {
        tool("sync", &["-f".as_ref(), image.path().as_os_str()]);
        assert!(device.bytes() == before, "the device was touched");
        assert!(!lab.path("ts.write.target.0000.qthread.0000.csv").exists());
    };
    let refused = lab.expect(2, &example);
    assert!(refused.err.contains(name) && refused.err.contains("destroy"), "{}", refused.err);
    unchanged();
    // Targets in use are not written even then: the backing file of the device, and a device held open exclusively.
    let backing = image.path().display().to_string();
    lab.expect(2, &format!("xdd -op write -destroy -targets 1 {backing} -numreqs 4"));
    lab.expect(2, &format!("xdd -op write -destroy -targets 1 {name} -numreqs 4 -createnewfiles"));
    let holder = iosonar_testkit::open_exclusively(device.path()).expect("nobody holds it yet");
    lab.expect(2, &format!("{example} -destroy"));
    drop(holder);
    unchanged();
    // Reading needs no permission.
    lab.expect(0, &format!("xdd -op read -targets 1 {name} -numreqs 4"));
    unchanged();
    let ended = lab.expect(0, &format!("{example} -destroy -deletefile"));
    assert!(device.path().exists(), "a device is never deleted");
    let passes = ended.out.lines().filter(|line| line.starts_with("T PASS"));
    let passes: Vec<Vec<&str>> =
        passes.map(|line| line.split_whitespace().skip(2).take(4).collect()).collect();
    assert_eq!(passes.len(), 6, "{}", ended.out);
    for (n, pass) in passes.iter().enumerate() {
        let target = if n % 2 == 0 { "0" } else { "1" };
        assert_eq!(pass[..], [target, "1", "8388608", "32"], "{}", ended.out);
    }
    assert!(ended.err.contains(name), "what will be overwritten is said: {}", ended.err);
    for target in 0..2 {
        let report = lab.path(&format!("ts.write.target.{target:04}.qthread.0000.csv"));
        let report = std::fs::read_to_string(report).unwrap();
        assert_eq!(report.matches(&format!("\n{target}, w, ")).count(), 96);
    }
    assert!(device.bytes().iter().all(|byte| *byte == 0), "zeros unless a pattern is given");
    assert!(!lab.path(&format!("{name}.00000001")).exists());
    // Section 5.3: a reader follows a writer on one device, and two writers share it.
    let lockstep = format!(
        "xdd -targets 3 {name} {name} {name} -op write -op target 1 read -reqsize 256 -mbytes 8 -destroy"
    );
    let data = "-datapattern sequenced -verify target 1 contents -lockstep 0 1 op 1 op 1 wait complete";
    let ended = lab.expect(0, &format!("{lockstep} {data}"));
    assert!(ended.out.contains("No errors reported in 32 requests checked"), "{}", ended.out);
}

// Found by reading: each of these once wrote, or deleted, a file that the user had not named.
#[test]
fn guard_covers_every_write_and_delete() {
    needs!();
    let image = Image::random(8);
    let device = LoopDevice::on(&image.path(), &[]);
    let before = device.bytes();
    let (lab, name) = (lab(), device.text());
    // A series does not wrap to the start of a device where the device ends.
    let beyond =
        lab.expect(2, &format!("xdd -op write -destroy -targets 1 {name} -startoffset 7168 -mbytes 4"));
    assert!(beyond.err.contains("writes up to byte"), "{}", beyond.err);
    let ended = lab.expect(1, &format!("xdd -op read -targets 1 {name} -startoffset 7168 -mbytes 4"));
    assert!(ended.err.contains("End-Of-File"), "{}", ended.err);
    // The file of a later pass is no way around the guard.
    std::os::unix::fs::symlink(device.path(), lab.path("g.00000002")).unwrap();
    lab.expect(2, "xdd -op write -targets 1 g -createnewfiles -passes 2 -numreqs 4 -reqsize 4");
    assert!(!lab.path("g.00000001").exists(), "a refusal makes nothing");
    // A file that carries a device is not deleted either.
    let backing = image.path().display().to_string();
    lab.expect(2, &format!("xdd -op read -targets 1 {backing} -deletefile -numreqs 4"));
    assert!(image.path().exists());
    lab.expect(2, &format!("xdd -op read -targets 1 {name} -numreqs 4 -output {name}"));
    tool("sync", &["-f".as_ref(), image.path().as_os_str()]);
    assert!(device.bytes() == before, "the device was touched");
}

/// Space that the kernel swaps to, as long as this lives.
struct Swap<'a>(&'a std::path::Path);

impl<'a> Swap<'a> {
    /// Not every file system can hold one.
    fn on(file: &'a std::path::Path) -> Result<Swap<'a>, String> {
        tool("mkswap", &[file]);
        let output = std::process::Command::new("swapon").arg(file).output().map_err(|e| e.to_string())?;
        match output.status.success() {
            true => Ok(Swap(file)),
            false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
        }
    }
}

impl Drop for Swap<'_> {
    fn drop(&mut self) {
        tool("swapoff", &[self.0]);
    }
}

// A file needs no permission to be written, but not every file is free.
#[test]
fn a_swap_file_is_never_written() {
    needs!("mkswap");
    let image = Image::random(2);
    let (path, lab) = (image.path(), lab());
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let swap = or_skip!(Swap::on(&path));
    let before = std::fs::read(&path).unwrap();
    let name = path.display();
    for args in [
        format!("xdd -op write -targets 1 {name} -numreqs 1"),
        format!("xdd -op write -destroy -targets 1 {name} -numreqs 1 -deletefile"),
        format!("run -t {name} --steps sequential --rw write --io-size 4k"),
    ] {
        let refused = lab.expect(2, &args);
        assert!(refused.err.contains("is swap space"), "{args}: {}", refused.err);
    }
    assert!(std::fs::read(&path).unwrap() == before);
    drop(swap);
    lab.expect(0, &format!("xdd -op write -targets 1 {name} -numreqs 1"));
}
