//! Verification of honest targets of many kinds: recorded loads, buffered runs, files that grow, targets that are only read; and of
//! samples.

use crate::*;

/// Asserts that a run checked at least one sector and found no fault; returns its verification.
#[track_caller]
fn assert_honest(lab: &Lab, command: &str, result: &str) -> Value {
    let ended = lab.expect(0, &format!("{command} --no-progress -o {result}"));
    let verified = summary(lab, result)["verified"].clone();
    assert_eq!(verified["faults"], serde_json::json!({}), "{command}");
    assert!(verified["checked"].as_u64().unwrap() > 0, "{command}: {verified}");
    assert!(ended.out.contains("every one holds a version that it may hold"), "{command}: {}", ended.out);
    verified
}

const POLICIES: [&str; 4] = ["push-back", "order", "drop", "allow"];

/// Acceptance 4 of `spec/verify.md`, on the simulated device.
#[test]
fn recorded_loads_have_no_faults_under_any_policy() {
    slow!();
    std::thread::scope(|threads| {
        for name in ["backup", "compiler", "database", "logs", "packages"] {
            threads.spawn(move || {
                let lab = lab();
                let load = recorded(&lab, name);
                for policy in POLICIES {
                    let replay = format!(
                        "replay {load} -t dev --engine sim --size 3GiB --asap --overlap {policy} --verify read,final"
                    );
                    let verified = assert_honest(&lab, &replay, policy);
                    assert!(verified["scan"]["bytes"].as_u64().unwrap() > 50 << 20, "{name}: {verified}");
                }
            });
        }
    });
}

/// Addresses wrap around on a small target, so that requests overlap others all the time; at the load's own times, too.
#[test]
fn recorded_loads_on_a_small_file_have_no_faults() {
    slow!();
    let lab = lab();
    lab.target("a.img", 64 << 20);
    for (name, policy, speed) in [
        ("database", "push-back", "--asap"),
        ("compiler", "allow", "--asap"),
        ("packages", "order", "--asap"),
        ("backup", "drop", "--speed 200"),
    ] {
        let load = recorded(&lab, name);
        let replay = format!(
            "replay {load} -t a.img {speed} --depth 16 --overlap {policy} --verify read,before-write,final"
        );
        assert_honest(&lab, &replay, name);
    }
}

#[test]
fn buffered_runs_are_checked() {
    let lab = lab();
    lab.target("a.img", 8 << 20);
    let run = "run -t a.img --buffered --rw randrw --bs 4k --size 8M --number-ios 6000 --iodepth 8";
    for modes in ["read,final", "read,before-write,after-write,final"] {
        assert_honest(&lab, &format!("{run} --verify {modes}"), modes);
    }
    // Partly covered sectors have no header to check.
    let odd = "run -t a.img --buffered --rw randrw --bs 1000 --size 8M --number-ios 2000 --iodepth 4 --verify read,final";
    lab.expect(3, &format!("{odd} --no-progress -o odd"));
    assert_eq!(summary(&lab, "odd")["verified"]["faults"], serde_json::json!({}));
}

#[test]
fn verifies_growing_and_recreated_files() {
    let lab = lab();
    let plan = |passes: &str, file: &str| {
        format!(
            "version = 2\nrun_id = 7\nseed = 1\ndepth = 4\nverify = {{ modes = 'read,final' }}\n{passes}\
             [[target]]\npath = 'new.img'\nfile = {{ {file} }}\n\
             [[phase]]\nname = 'write'\n[[phase.job]]\ntarget = 0\n[phase.job.workload]\nkind = 'generated'\n\
             order = 'sequential'\nat_end = 'extend'\nblock_size = '64KiB'\nread_percent = 0\nstop = {{ bytes = '8MiB' }}\n\
             [[phase]]\nname = 'both'\n[[phase.job]]\ntarget = 0\n[phase.job.workload]\nkind = 'generated'\n\
             order = 'random'\nblock_size = '4KiB'\nread_percent = 50\nstop = {{ requests = 2000 }}\n"
        )
    };
    lab.file("grows.toml", plan("", "create = true"));
    let verified = assert_honest(&lab, "run grows.toml", "grows");
    // Every place was written, so each read was checked.
    assert!(verified["unwritten"] == 0 && verified["scan"]["bytes"] == 8 << 20, "{verified}");
    // Data of an earlier run is no fault: the file is created again.
    lab.file("again.toml", plan("", "create = true, delete = true").replace("run_id = 7", "run_id = 8"));
    assert_honest(&lab, "run again.toml", "again");
}

#[test]
fn read_only_run_checks_nothing_and_reports_it() {
    use std::os::unix::fs::PermissionsExt;
    let lab = lab();
    let path = lab.target("a.img", 1 << 20);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o444)).unwrap();
    let before = std::fs::read(&path).unwrap();
    let modes = "read,before-write,after-write,final";
    let ended =
        lab.expect(3, &format!("run -t a.img --rw randread --bs 4k --verify {modes} --no-progress -o r"));
    assert!(ended.out.contains("verify: NOTHING was checked"), "{}", ended.out);
    assert!(std::fs::read(&path).unwrap() == before);
}

/// Acceptance 8 of `spec/verify.md`: less memory than is needed makes sectors unknown, and no fault of any.
#[test]
fn too_little_memory_makes_sectors_unknown() {
    let lab = lab();
    let scattered = "run -t dev --engine sim --rw randrw --bs 512 --size 16G --random-distribution zipf:0.9 --number-ios 60000 \
                     --iodepth 8 --no-progress --verify read,final --verify-memory 1MiB -o r";
    lab.expect(0, scattered);
    let summary = summary(&lab, "r");
    let verified = &summary["verified"];
    assert!(
        verified["unknown"].as_u64().unwrap() > 0 && verified["checked"].as_u64().unwrap() > 0,
        "{verified}"
    );
    assert_eq!(verified["faults"], serde_json::json!({}));
    assert!(cautions(&summary).iter().any(|id| id.starts_with("verif")), "{:?}", cautions(&summary));
}

/// Acceptance 5 of `spec/verify.md`: each fourth write of a chunk is lost, 100 in all, and 5 % of the chunks are read.
#[test]
fn sampled_scan_finds_one_of_a_hundred_faults() {
    slow!();
    let seeds = 100;
    let found = |seed: u64| {
        let lab = lab();
        let run = format!(
            "run -t dev --engine sim --rw write --bs 64k --size 25M --verify final,sample=5% --inject lost:every=4 --seed {seed} \
             --run-id {seed} --no-progress -o r"
        );
        let code = lab.run(&run).code;
        assert!([0, 5].contains(&code), "seed {seed}: {code}");
        code == 5
    };
    let found = std::thread::scope(|threads| {
        let parts: Vec<_> = (0..2)
            .map(|part| {
                threads.spawn(move || (1..=seeds).filter(|seed| seed % 2 == part && found(*seed)).count())
            })
            .collect();
        parts.into_iter().map(|part| part.join().unwrap()).sum::<usize>()
    });
    assert!(found >= 99, "{found} of {seeds}");
}
