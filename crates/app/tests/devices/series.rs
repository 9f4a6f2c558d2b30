//! Samples of the machine's counters, compared with the kernel's own files read by a script.

use crate::common::*;
use iosonar_archive::Archive;
use iosonar_testkit::{Lab, LoopDevice, tool};
use std::collections::BTreeMap;

/// Reads `/proc/diskstats` and `/proc/stat`: writes and sectors written of a device, interrupts, task switches, time in programs.
fn counted(device: &LoopDevice) -> [f64; 5] {
    let script = format!(
        "awk '$3==\"{}\" {{print $8, $10}}' /proc/diskstats; awk '/^intr/ {{print $2}} /^ctxt/ {{print $2}} /^cpu / {{user=$2}} END \
         {{print user}}' /proc/stat",
        device.name()
    );
    let text = tool("sh", &["-c", &script]);
    let numbers: Vec<f64> = text.split_whitespace().map(|word| word.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// First and last sample of each series.
fn ends(lab: &Lab, name: &str) -> BTreeMap<String, (f64, f64)> {
    let mut ends: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    let archive = Archive::open(&lab.path(name)).unwrap();
    archive
        .for_each_sample(&mut |_, series, value| {
            ends.entry(series.to_string()).and_modify(|ends| ends.1 = value).or_insert((value, value));
        })
        .unwrap();
    ends
}

/// The first sample is not below a script's reading before the run, and the last one not above its reading afterwards. Counters
/// without other users are equal.
#[test]
fn samples_match_kernel_counters() {
    needs!("awk");
    let (device, lab) = (LoopDevice::random(16), lab());
    let words = "--destroy --engine threads --depth 4 --rw randwrite --bs 8k --number-ios 1000 --sample-every 10ms --no-progress";
    let before = counted(&device);
    lab.expect(0, &format!("run -t {} {words} --start-delay 0 -o r", device.text()));
    let after = counted(&device);
    let ends = ends(&lab, "r");
    let of_device = |field: &str| ends[&format!("{}.{field}", device.name())];
    let names = ["cpu.user_ticks", "kernel.context_switches", "kernel.interrupts"].map(|name| ends[name]);
    for (name, (first, last), place) in [
        ("write_ios", of_device("write_ios"), 0),
        ("write_sectors", of_device("write_sectors"), 1),
        ("interrupts", names[2], 2),
        ("context switches", names[1], 3),
        ("user", names[0], 4),
    ] {
        let (begin, end) = (before[place], after[place]);
        assert!(begin <= first && first <= last && last <= end, "{name}: {begin} {first} {last} {end}");
    }
    let grown = |(first, last): (f64, f64)| last - first;
    assert_eq!((grown(of_device("write_ios")), grown(of_device("write_sectors"))), (1000.0, 16_000.0));
    assert_eq!((after[0] - before[0], after[1] - before[1]), (1000.0, 16_000.0));
    // The picture shows them, and its table adds up to the same.
    lab.expect(0, "plot r --only machine --data --out pictures");
    assert!(lab.path("pictures/g60.machine.png").exists());
    let table = std::fs::read_to_string(lab.path("pictures/g60.machine.csv")).unwrap();
    let busy =
        table.lines().filter(|line| line.contains(&format!(",{},utilization_percent,", device.name())));
    assert!(busy.count() > 0, "{table}");
    // The page shows the same in its strips.
    lab.expect(0, "report r -o page.html");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    let meta = page.split_once("id=\"iosonar-meta\">").unwrap().1.split_once("</script>").unwrap().0;
    let meta: serde_json::Value = serde_json::from_str(meta).unwrap();
    let busy = &meta["runs"][0]["machine"]["lanes"][0];
    assert_eq!((&busy["id"], &busy["curves"][0]["name"]), (&"utilization".into(), &device.name().into()));
    let cost = &summary(&lab, "r")["health"]["cpu"];
    assert!(cost["sampling_ns"].as_u64().unwrap() > 0 && cost["sampling_share_of_one"].is_f64(), "{cost}");
}
