//! Verification blames no honest target, whatever the access method, and no lie about data passes, also where the data is constant.

use crate::*;
use iosonar_testkit::Ended;
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::Duration;

fn run_json(lab: &Lab, result: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(lab.path(result).join("run.json")).unwrap()).unwrap()
}

fn faults(lab: &Lab, result: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(lab.path(result).join("faults.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The words of a text, however its lines are broken.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether strace can trace programs here.
fn has_strace() -> bool {
    Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|ended| ended.status.success())
}

/// Runs a command line in which one system call on a file succeeds without an effect; returns its exit code and messages.
fn with_one_lie(lab: &Lab, file: &str, call: &str, (result, when): (u64, u32), args: &str) -> (i32, String) {
    let (trace, path) = (format!("trace={call}"), lab.path(file));
    let inject = format!("inject={call}:retval={result}:when={when}");
    let log = lab.path("strace.log");
    let strace = [
        "strace",
        "-f",
        "-qq",
        "-o",
        log.to_str().unwrap(),
        "-e",
        &trace,
        "-P",
        path.to_str().unwrap(),
        "-e",
        &inject,
    ];
    let ended = lab.command_under(&strace, args).output().unwrap();
    let injected = std::fs::read_to_string(&log).unwrap().matches("INJECTED").count();
    // Each thread counts its calls separately.
    assert!(injected > 0, "{args}: {}", String::from_utf8_lossy(&ended.stderr));
    let text = [ended.stdout, ended.stderr].concat();
    (ended.status.code().unwrap_or(-1), words(&String::from_utf8_lossy(&text)))
}

/// Two jobs copy to and from overlapping places of a mapping: sectors hold parts of both.
#[test]
fn accepts_copies_that_tear_inside_sectors() {
    let lab = lab();
    lab.target("f", 1 << 20);
    for round in 0..3 {
        let args = format!(
            "run -t f --engine mmap --buffered --numjobs 2 --overlap allow --rw randrw --norandommap --bs 64k --size 256k \
             --number-ios 2500 --verify read,final --verify-fatal --no-progress -o m{round}"
        );
        lab.expect(0, &args);
    }
    // Reads of the page cache lock nothing against a write.
    let args = "run -t f --engine threads --buffered --numjobs 2 --iodepth 4 --overlap allow --rw randrw --norandommap --bs 64k \
                --size 256k --number-ios 2500 --verify read,final --no-progress -o b";
    lab.expect(0, args);
}

#[test]
fn finds_damage_in_mapped_files_without_overlaps() {
    let lab = lab();
    let path = lab.target("f", 1 << 20);
    lab.expect(0, "run -t f --engine mmap --buffered --rw write --bs 64k --size 512k --no-progress -o r");
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    let mut bytes = [0; 1];
    file.read_exact_at(&mut bytes, 70_000).unwrap();
    file.write_all_at(&[bytes[0] ^ 4], 70_000).unwrap();
    let ended = lab.expect(5, "verify r --no-progress");
    assert!(ended.out.contains("flipped"), "{}", ended.out);
}

/// A copy cut off by a kill is accepted at any byte; damage in older data is found.
#[test]
fn accepts_copies_that_a_kill_has_cut_and_finds_damage_beside_them() {
    slow!();
    let lab = lab();
    let path = lab.target("f", 1 << 20);
    for round in 0..3 {
        let args = format!(
            "run -t f --engine mmap --buffered --rw write --bs 64k --time-based --runtime 60 --journal j{round} --no-progress -o k{round}"
        );
        let mut run = lab.command(&args).stdout(std::process::Stdio::null()).spawn().unwrap();
        lab.until_records(&format!("k{round}"));
        std::thread::sleep(Duration::from_millis(20));
        run.kill().unwrap();
        run.wait().unwrap();
        lab.expect(0, &format!("verify k{round} --mode after-crash --no-progress"));
    }
    // Of the 16 places at most one was in flight: of two distant ones at least one was not.
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    for at in [3 << 16, 11 << 16] {
        let mut bytes = [0; 1];
        file.read_exact_at(&mut bytes, at + 300).unwrap();
        file.write_all_at(&[bytes[0] ^ 4], at + 300).unwrap();
    }
    lab.expect(5, "verify k2 --mode after-crash --no-progress");
}

/// The buffer of each stream answers its reads and holds its writes.
#[test]
fn refuses_to_verify_streams_that_share_a_file() {
    let lab = lab();
    lab.target("f", 1 << 20);
    let stdio = "--engine stdio --buffered --overlap allow --rw randrw --norandommap --bs 512 --size 64k --number-ios 500";
    for (targets, verify) in [
        ("-t f --numjobs 2", "--verify read,final"),
        ("-t f --numjobs 2", "--data sequenced --verify contents"),
        ("-t f -t ./f", "--verify final"),
    ] {
        let ended = lab.expect(2, &format!("run {targets} {stdio} {verify} --no-progress -o r"));
        assert!(ended.err.contains("--engine stdio with several jobs on one file"), "{}", ended.err);
    }
    assert!(!lab.path("r").exists());
    // One stream is verified, and several without verification are not verified later either.
    lab.expect(0, &format!("run -t f {stdio} --verify read,final --no-progress -o one"));
    lab.expect(0, &format!("run -t f --numjobs 2 {stdio} --no-progress -o two"));
    let ended = lab.expect(2, "verify two --no-progress");
    assert!(ended.err.contains("--engine stdio"), "{}", ended.err);
}

/// Data in the program's buffer is written out before the file is read back.
#[test]
fn reads_back_what_a_stream_has_buffered() {
    let lab = lab();
    for engine in ["stdio", "mmap", "sync", "uring"] {
        lab.target("f", 1 << 20);
        let args = format!(
            "run -t f --engine {engine} --buffered --rw write --bs 1k --size 256k --data sequenced --verify contents \
             --verify-immediate --no-progress -o {engine}"
        );
        let ended = lab.expect(0, &args);
        assert!(ended.out.contains("data of 256 requests checked"), "{engine}: {}", ended.out);
    }
}

/// A read that succeeds and transfers nothing: the buffer still holds the bytes of the read before.
#[test]
fn finds_reads_of_constant_data_that_transferred_nothing() {
    slow!();
    if !has_strace() {
        return iosonar_testkit::skip(
            "finds_reads_of_constant_data_that_transferred_nothing",
            "strace cannot run here",
        );
    }
    let lab = lab();
    lab.target("f", 1 << 20);
    for data in ["byte:0x78", "ascii:HELLO", "sequenced"] {
        lab.expect(
            0,
            &format!("run -t f --buffered --rw write --bs 4k --data {data} --no-progress -o w-{data}"),
        );
        for (engine, call) in
            [("threads", "pread64"), ("sync", "read"), ("pvsync", "preadv"), ("vsync", "readv")]
        {
            let args = format!(
                "run -t {} --engine {engine} --buffered --rw read --bs 4k --data {data} --verify contents --no-progress -o {engine}-{data}",
                lab.path("f").display()
            );
            let (code, text) = with_one_lie(&lab, "f", call, (4096, 40), &args);
            assert_eq!(code, 5, "{engine} {data}: {text}");
            assert!(text.contains("transferred nothing"), "{engine} {data}: {text}");
        }
    }
    let xdd = format!(
        "xdd -op read -targets 1 {} -reqsize 4 -numreqs 64 -datapattern sequenced",
        lab.path("f").display()
    );
    for verify in ["-verify contents", "-verify location"] {
        let (code, text) = with_one_lie(&lab, "f", "pread64", (4096, 20), &format!("{xdd} {verify}"));
        assert_eq!(code, 5, "{verify}: {text}");
        assert!(text.contains("transferred nothing"), "{verify}: {text}");
    }
    for option in ["-V 90", "-+X", "-+Z", "-+d", ""] {
        let path = lab.path("g");
        let _ = std::fs::remove_file(&path);
        let args = format!("iozone -s 1m -r 64k -i 0 -i 1 {option} -f {}", path.display());
        // The file must exist for strace to find it.
        let (code, text) = with_one_lie(&lab, "g", "read", (65_536, 5), &args);
        assert_eq!(code, 5, "iozone {option}: {text}");
        assert!(text.contains("Error in file"), "iozone {option}: {text}");
    }
}

#[test]
fn finds_injected_reads_of_constant_data_that_transferred_nothing() {
    let lab = lab();
    for engine in ["uring", "aio", "posixaio", "mmap", "stdio"] {
        lab.target("f", 1 << 20);
        let run = format!(
            "run -t f --engine {engine} --buffered --bs 4k --size 256k --data byte:0x78 --no-progress"
        );
        lab.expect(0, &format!("{run} --rw write -o w-{engine}"));
        let read = format!("{run} --rw read --verify contents --inject untransferred:at=7 -o r-{engine}");
        let ended = lab.expect(5, &read);
        assert!(ended.out.contains("that of 1 is not what it should be"), "{engine}: {}", ended.out);
        assert!(words(&ended.out).contains("transferred nothing"), "{engine}: {}", ended.out);
    }
}

#[test]
fn reports_position_of_bad_data_like_iozone() {
    let lab = lab();
    lab.expect(0, "iozone -i 0 -s 1m -r 64k -w -f t");
    let file = std::fs::File::options().write(true).open(lab.path("t")).unwrap();
    file.write_all_at(b"XXXXXXXX", 524_288).unwrap();
    let ended = lab.expect(5, "iozone -i 1 -s 1m -r 64k -f t -w");
    assert!(ended.err.contains("Error in file t: Position 524288"), "{}", ended.err);
    // A file not written by IOzone has no headers, and is not checked.
    lab.target("foreign", 1 << 20);
    lab.expect(0, "iozone -i 1 -s 1m -r 64k -f foreign -+E");
}

#[test]
fn warns_when_nothing_was_verified_with_remedy() {
    let lab = lab();
    lab.expect(0, "fill v.img --size 1m --no-progress");
    let reads = "run -t v.img --rw read --bs 16k --no-progress --verify";
    let ended = lab.expect(3, &format!("{reads} read,final -o r"));
    assert!(
        words(&ended.out).contains("NOTHING was verified")
            && words(&ended.out).contains("iosonar verify RESULT"),
        "{}",
        ended.out
    );
    assert!(!ended.out.contains("Use --verify final"), "{}", ended.out);
    let writes = "run -t v.img --rw write --bs 16k --no-progress --verify read -o w";
    let ended = lab.expect(3, writes);
    assert!(words(&ended.out).contains("Add final"), "{}", ended.out);
    // A result without writes, data by name that is not read back, and other front ends.
    lab.expect(3, "verify r --no-progress");
    lab.expect(3, "run -t v.img --rw write --bs 16k --data byte:1 --verify contents --no-progress -o d");
    let ended =
        lab.expect(3, "xdd -op write -targets 1 v.img -reqsize 4 -numreqs 4 -datapattern x -verify contents");
    assert!(ended.err.contains("NOTHING was verified"), "{}", ended.err);
    lab.file("read.load", "start ; sector ; length ; op ;  replay_delay=0 ; replay_duration=0\n0.0 ;          8 ;   8 ; R ; 0 ; 0\n");
    let mut command = lab.command("blkreplay --with-final-verify --start-grace=0 v.img");
    command.stdin(std::fs::File::open(lab.path("read.load")).unwrap());
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, 3, "{}{}", ended.out, ended.err);
    assert!(ended.err.contains("NOTHING was verified"), "{}", ended.err);
}

#[test]
fn counts_each_sector_once_and_repeated_checks_apart() {
    let lab = lab();
    lab.target("f", 4 << 20);
    let args = "run -t f --engine sync --rw randrw --norandommap --bs 4k --number-ios 8000 --verify read,before-write,after-write,final \
                --no-progress -o r";
    let ended = lab.expect(0, args);
    let verified = &run_json(&lab, "r")["verified"];
    let (checked, again) =
        (verified["checked"].as_u64().unwrap(), verified["checked_again"].as_u64().unwrap());
    assert!(checked <= 8192 && again > 8192, "{verified}");
    assert!(
        words(&ended.out).contains("more checks were of sectors that had been checked before"),
        "{}",
        ended.out
    );
}

#[test]
fn names_lost_writes_over_an_earlier_run_lost() {
    let lab = lab();
    lab.target("f", 4 << 20);
    lab.expect(0, "run -t f --rw write --bs 4k --no-progress -o first");
    let args =
        "run -t f --rw write --bs 4k --verify read,final --inject lost:every=50 --no-progress -o second";
    let ended = lab.expect(5, args);
    let first = run_json(&lab, "first")["run_id"].clone();
    let faults = faults(&lab, "second");
    assert!(faults.len() > 5, "{faults:?}");
    for fault in &faults {
        assert_eq!((&fault["class"], &fault["note"]), (&"lost".into(), &"earlier-run".into()), "{fault}");
        assert!(first.is_null() || fault["run_id"] == first, "{fault} {first}");
    }
    assert!(words(&ended.out).contains("still hold a write of run"), "{}", ended.out);
}

#[test]
fn blkreplay_final_pass_counts_faults_found_by_reads() {
    slow!();
    let lab = lab();
    lab.target("f", 1 << 20);
    lab.file(
        "load",
        "start ; sector ; length ; op ;  replay_delay=0 ; replay_duration=0\n\
         0.0 ;          8 ;   8 ; W ; 0 ; 0\n0.1 ;          8 ;   8 ; R ; 0 ; 0\n",
    );
    let args = "replay load --target f --verify read,final --inject lost:at=0 --no-progress --out r";
    lab.expect(5, args);
    let verified = &run_json(&lab, "r")["verified"];
    assert_eq!(verified["scan"]["bad_sectors"], 8, "{verified}");
    lab.expect(0, "export r --to replay -o r.replay");
    let text = std::fs::read_to_string(lab.path("r.replay")).unwrap();
    assert!(text.contains("found 8 errors"), "{text}");
}

/// Converts a sector without a mask into one of version 1.
fn to_version_1(sector: &mut [u8]) {
    let (phase, length) = (sector[50..52].to_vec(), 512);
    assert_eq!((&sector[..8], &sector[8..16]), (&[0; 8][..], &b"iosonar2"[..]));
    sector[15] = b'1';
    sector[50..52].fill(0);
    sector[56..58].copy_from_slice(&phase);
    sector[58..64].fill(0);
    let mut crc = !0u32;
    for byte in &sector[..length] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    sector[60..64].copy_from_slice(&(!crc).to_le_bytes());
}

#[test]
fn reads_sectors_of_version_1() {
    let lab = lab();
    let path = lab.target("f", 1 << 20);
    lab.expect(0, "run -t f --rw write --bs 4k --fill-random 0 --no-progress -o r");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes.chunks_mut(512).for_each(to_version_1);
    std::fs::write(&path, &bytes).unwrap();
    let ended = lab.expect(0, "verify r --no-progress");
    assert!(ended.out.contains("2 048 sectors checked"), "{}", ended.out);
    bytes[5 * 512 + 300] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    lab.expect(5, "verify r --no-progress");
}
