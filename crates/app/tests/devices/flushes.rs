//! Flushes of a real database: recorded, replayed at their places, and found in the kernel's own trace of the replay.

use crate::common::*;
use crate::record::{check_kernel, recorder, stop};
use iosonar_archive::{Marks, Record};
use iosonar_plan::Op;
use iosonar_testkit::{Image, Lab, LoopDevice, Mounted, tool};
use serde_json::{Value, json};

/// Each insertion is a transaction, whose log SQLite flushes before the next one.
const DATABASE: &str = "\
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('pragma journal_mode = ' + sys.argv[2])
db.execute('pragma synchronous = full')
db.execute('create table t(number integer primary key, text text)')
for number in range(30):
    db.execute('insert into t(text) values (?)', ('x' * 200,))
db.close()
";

/// Submission and completion of a record on the kernel's clock, in nanoseconds.
fn span(record: &Record, origin: u64) -> (u64, u64) {
    (origin + record.submitted.unwrap().0, origin + record.completed.unwrap().0)
}

/// Records a device while a database writes to it.
fn recorded_database(lab: &Lab, journal: &str) -> Result<(), String> {
    let device = LoopDevice::of(Image::sparse(64), &[]);
    check_kernel(lab, &device)?;
    tool("mkfs.ext4", &["-q", "-E", "nodiscard", device.text()]);
    let mounted = Mounted::new(device.path(), "rw");
    let running = recorder(lab, &device, "", "first");
    tool("python3", &["-c", DATABASE, mounted.path().join("database").to_str().unwrap(), journal]);
    let told = stop(running);
    assert!(told.contains(" 0 lost"), "{told}");
    lab.expect(0, "convert first load.load");
    Ok(())
}

#[test]
fn replays_database_flushes_in_their_original_places() {
    needs!("mkfs.ext4", "python3");
    for (journal, engine) in [("wal", "uring"), ("delete", "aio"), ("delete", "threads")] {
        let lab = lab();
        or_skip!(recorded_database(&lab, journal));
        let text = std::fs::read_to_string(lab.path("load.load")).unwrap();
        let flushes = text.lines().filter(|line| line.starts_with("# flush")).count();
        let preflush = text.matches("; WPF ;").count();
        let durable = preflush + text.matches("; WF ;").count();
        assert!(flushes > 0 && durable >= 30, "{flushes} flushes, {durable} writes with FUA");

        let other = LoopDevice::random(64);
        let running = recorder(&lab, &other, "", "second");
        // The file system zeroes blocks without data, which io_submit cannot.
        let others = if engine == "aio" { " --discard drop" } else { "" };
        let replay = format!(
            "replay load.load -t {} --destroy --start-grace 0.2 --engine {engine}{others} -o ran",
            other.text()
        );
        lab.expect(0, &replay);
        assert!(stop(running).contains(" 0 lost"));
        let checked = lab.expect(0, "check ran second").out;
        assert!(
            checked.contains("every read and write was issued, and nothing else; flushes agree"),
            "{checked}"
        );
        assert!(checked.contains(&format!("FUA writes {durable} in the replay")), "{checked}");

        // The kernel received each flush between its submission and completion in the replay.
        let origin = |name| run_info(&lab.path(name)).origin_monotonic_ns;
        let (ours, kernels) = (origin("ran"), origin("second"));
        let is_flush = |r: &&Record| r.op == Op::Flush;
        let mut seen: Vec<u64> =
            lab.records("second").iter().filter(is_flush).map(|r| kernels + r.load_time.0).collect();
        seen.sort_unstable();
        let flushes_of_its_own = |r: &&Record| r.op == Op::Flush || r.marks.has(Marks::PREFLUSH);
        let mut wanted: Vec<(u64, u64)> =
            lab.records("ran").iter().filter(flushes_of_its_own).map(|r| span(r, ours)).collect();
        wanted.sort_unstable_by_key(|(_, end)| *end);
        for (from, to) in wanted {
            let found = seen.iter().position(|time| (from..=to).contains(time));
            seen.remove(found.unwrap_or_else(|| panic!("{engine}: no flush between {from} and {to}")));
        }

        // In the order of the load, except for requests that waited for a conflict.
        let mut ran = lab.records("ran");
        ran.sort_unstable_by_key(|r| r.sequence);
        let is_left_out =
            |line: &str| engine == "aio" && line.starts_with("# ") && !line.starts_with("# flush");
        let lines = text.lines().filter(|line| line.contains("; 0.0 ; 0.0") && !is_left_out(line));
        let is_flush: Vec<bool> = lines.map(|line| line.starts_with("# flush")).collect();
        assert_eq!(ran.iter().map(|r| r.op == Op::Flush).collect::<Vec<_>>(), is_flush);
        let told = summary(&lab, "ran");
        let dataless = text.matches("# discard").count() + text.matches("# write-zeroes").count();
        let others = if engine == "aio" { flushes } else { flushes + dataless };
        assert_eq!(told["counts"]["other"]["completed"], others);
        assert_eq!(told["counts"]["write"]["fua"], durable);
        println!(
            "{journal} {engine}: {flushes} flushes, {durable} writes with FUA, {} seen beside",
            seen.len()
        );

        // Without flushes the replay is easier, and says so.
        lab.expect(0, &format!("{} --flush drop", replay.replace("-o ran", "-o easier")));
        assert!(caution(&summary(&lab, "easier"), "flushes-dropped").is_some());
        let left_out = flushes + preflush;
        let differs = lab.expect(5, "check easier load.load").out;
        assert!(
            differs.contains(&format!("not issued {left_out} flushes, {durable} FUA writes")),
            "{differs}"
        );
    }
}

/// Fio's fdatasync(2) times, and the latencies of these flushes in a recording beside it.
fn flushes_beside_fio(lab: &Lab, device: &LoopDevice, threads: u32, out: &str) -> Value {
    let running = recorder(lab, device, "", out);
    let report = lab.path(&format!("{out}.json"));
    let words = format!(
        "--name=x --filename={} --ioengine=psync --direct=1 --rw=randwrite --bs=4k --fdatasync=1 --numjobs={threads} \
         --number_ios={} --group_reporting --output-format=json --output={}",
        device.text(),
        2_000 / threads,
        report.display()
    );
    tool("fio", &words.split_whitespace().collect::<Vec<_>>());
    assert!(stop(running).contains(" 0 lost"));
    let fio: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let fio = &fio["jobs"][0]["sync"]["lat_ns"];
    let ours = summary(lab, out);
    json!({
        "fio": {"count": fio["N"], "mean": fio["mean"], "p99": fio["percentile"]["99.000000"]},
        "ours": {
            "count": ours["latency"]["flush"]["count"],
            "mean": ours["latency"]["flush"]["mean_ns"],
            "p99": ours["latency"]["flush"]["p99_ns"],
        },
        "cancelled": ours["counts"]["other"]["cancelled"],
        "in_flight": ours["in_flight"]["mean_time_weighted"],
    })
}

/// A device whose flushes take long: its file lies in a file system on such a device, so that each flush writes all their journals.
struct Stacked {
    device: LoopDevice,
    /// From the uppermost down, which is the order of their removal.
    _below: Vec<(Mounted, LoopDevice)>,
}

impl Stacked {
    fn of(levels: u64) -> Stacked {
        let mut below: Vec<(Mounted, LoopDevice)> = Vec::new();
        let mut device = LoopDevice::of(Image::sparse(64 * (levels + 1)), &["--direct-io=off"]);
        for level in (1..=levels).rev() {
            tool("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", device.text()]);
            let mounted = Mounted::new(device.path(), "rw");
            let file = mounted.path().join("image");
            std::fs::File::create(&file).and_then(|file| file.set_len((64 * level) << 20)).unwrap();
            let upper = LoopDevice::buffered(&file);
            below.insert(0, (mounted, std::mem::replace(&mut device, upper)));
        }
        Stacked { device, _below: below }
    }
}

/// The kernel joins flushes that wait at the same time: each of them still ends when its own thread resumes. fio's times include the way
/// back to the thread, some 20 us of each flush, which no event of the block layer shows: the flushes here take a hundred times as long.
#[test]
fn flush_latencies_agree_with_fio() {
    needs!("fio", "mkfs.ext4");
    let lab = lab();
    let stacked = Stacked::of(3);
    let device = &stacked.device;
    or_skip!(check_kernel(&lab, device));
    for threads in [1, 4, 16] {
        let mut attempts = 0;
        let mut name = String::new();
        let is_alike = |both: &Value| {
            ["mean", "p99"].iter().all(|figure| {
                let [fio, ours] = ["fio", "ours"].map(|side| both[side][figure].as_f64().unwrap());
                (0.95..1.05).contains(&(ours / fio))
            })
        };
        let both = comes_to_say(is_alike, || {
            attempts += 1;
            name = format!("seen-{threads}-{attempts}");
            flushes_beside_fio(&lab, device, threads, &name)
        });
        println!("{threads} threads: {both}");
        // fio does not flush after the last write of a thread.
        let [seen, ours] = ["fio", "ours"].map(|side| both[side]["count"].as_u64().unwrap());
        assert!(seen <= ours && ours <= seen + u64::from(threads) && seen > 1_950, "{both}");
        assert_eq!(both["cancelled"], 0, "{both}");
        assert!(both["in_flight"].as_f64().unwrap() <= f64::from(threads), "{both}");
        lab.expect(0, &format!("convert {name} {name}.load"));
        let ran = format!("ran-{threads}");
        lab.expect(
            0,
            &format!(
                "replay {name}.load -t {} --destroy --start-grace 0.2 --no-progress -o {ran}",
                device.text()
            ),
        );
        assert_eq!(summary(&lab, &ran)["latency"]["flush"]["count"], ours, "{both}");
    }
}
