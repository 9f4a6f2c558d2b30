//! Requests against the extent maps of their files: every group is counted again from the exported records and the map that the
//! command prints.

use crate::common::*;
use crate::layout::{Volume, json, map_of, number};
use iosonar_archive::Archive;
use iosonar_testkit::Lab;
use serde_json::Value;
use std::path::Path;

/// Address of each 4 KiB block of a file, and the number of its fragment.
fn blocks(map: &Value) -> Vec<(u64, u64)> {
    let (mut blocks, mut fragment, mut end) = (Vec::new(), 0, None);
    for extent in map["extents"].as_array().unwrap() {
        let address = number(extent, "address_bytes");
        fragment += u64::from(end != Some(address));
        let length = number(extent, "length_bytes");
        blocks.extend((0..length / 4096).map(|n| (fragment, address + n * 4096)));
        end = Some(address + length);
    }
    blocks
}

/// Requests of a group.
fn counted(of: &Value, list: &str, key: &str, word: &str) -> u64 {
    let group = of[list].as_array().unwrap().iter().find(|group| group[key] == word).unwrap();
    group["latency"]["requests"].as_u64().unwrap_or(0)
}

fn figures_are_those_of_records_and_map(lab: &Lab, path: &Path) {
    let map = map_of(lab, path);
    let blocks = blocks(&map);
    assert!(blocks.last().unwrap().0 > 20, "it is fragmented");
    lab.expect(
        0,
        &format!("run --target {} --rw randread --bs 20k --number_ios 800 --depth 1 -o r", path.display()),
    );
    let found = json(lab, "layout latency --json r");
    let file = &found["files"][0];
    assert_eq!((number(file, "fragments"), number(file, "target")), (number(&map, "fragments"), 0));
    let exported = lab.expect(0, "export r --to csv").out;
    let mut lines = exported.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|found| *found == name).unwrap();
    let [submitted, completed, offset, length] =
        ["submitted_ns", "completed_ns", "executed_offset_bytes", "executed_length_bytes"].map(column);
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        [submitted, completed, offset, length].map(|column| fields[column].parse::<u64>().unwrap())
    };
    let mut requests: Vec<[u64; 4]> = lines.map(of_line).collect();
    requests.sort_unstable();
    let (mut across, mut next, mut total_across, mut end) = (0, 0, 0, None);
    for [submitted, completed, offset, length] in &requests {
        let (first, last) =
            (blocks[(offset / 4096) as usize], blocks[((offset + length - 1) / 4096) as usize]);
        if first.0 != last.0 {
            across += 1;
            total_across += completed - submitted;
        }
        next += u64::from(end == Some(first.1));
        end = Some(last.1 + 4096);
    }
    let reads = &file["reads"];
    assert!(across > 0 && across < 800, "{across}");
    assert_eq!(counted(reads, "by_place", "place", "across"), across);
    assert_eq!(counted(reads, "by_place", "place", "inside"), 800 - across);
    assert_eq!(counted(reads, "by_start", "start", "next"), next);
    let groups = reads["by_start"].as_array().unwrap().iter();
    // The first request has no predecessor.
    assert_eq!(groups.filter_map(|group| group["latency"]["requests"].as_u64()).sum::<u64>(), 799);
    let group =
        reads["by_place"].as_array().unwrap().iter().find(|group| group["place"] == "across").unwrap();
    assert_eq!(number(&group["latency"], "total_ns"), total_across);
    let text = lab.expect(0, "layout latency r").out;
    assert!(text.contains("across fragments") && text.contains("% of pairs"), "{text}");
    lab.expect(0, "plot r --only extents --data --out pictures");
    let table = std::fs::read_to_string(lab.path("pictures/g61.extents.csv")).unwrap();
    let requests: u64 =
        table.lines().skip(1).map(|line| line.split(',').nth(6).unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(requests, 800);
}

/// Files that were written in turn are fragmented; random reads of them cross from one fragment into another, or do not.
fn random_reads_of_a_fragmented_file(mkfs: &[&str]) {
    let volume = Volume::new(mkfs);
    let lab = lab();
    let dir = volume.path("").display().to_string();
    lab.expect(
        0,
        &format!(
            "layout run {dir} --size 4m --methods direct+32k+turns=2 --rounds 2 --keep -o made --no-progress"
        ),
    );
    // Each scan reads a file wholly, in order.
    let scans = json(&lab, "layout latency --json made");
    assert_eq!(number(&scans["files"][1]["reads"]["latency"], "requests"), 2 * 64);
    figures_are_those_of_records_and_map(&lab, &volume.path("iosonar-direct+32k+turns=2-1"));
}

#[test]
fn reports_latencies_by_location_on_xfs() {
    needs!("mkfs.xfs");
    random_reads_of_a_fragmented_file(&["mkfs.xfs", "-q", "-f"]);
}

#[test]
fn reports_latencies_by_location_on_btrfs() {
    needs!("mkfs.btrfs");
    random_reads_of_a_fragmented_file(&["mkfs.btrfs", "-q", "-f"]);
}

/// Files that the plan deletes have a map; requests before a file was created again are apart; devices have no map.
#[test]
fn keeps_maps_of_deleted_files_but_not_of_devices() {
    needs!("mkfs.xfs");
    let volume = Volume::new(&["mkfs.xfs", "-q", "-f"]);
    let lab = lab();
    let path = volume.path("new");
    lab.expect(
        0,
        &format!(
            "run -t {} --steps sequential --rw write --bs 64k --io-size 256k --create --passes 3 --between-passes recreate \
             --unlink -o r",
            path.display()
        ),
    );
    assert!(!path.exists());
    let found = json(&lab, "layout latency --json r");
    let file = &found["files"][0];
    assert_eq!(number(file, "earlier_requests"), 8);
    assert_eq!(number(&file["writes"]["latency"], "requests"), 4);
    assert!(
        lab.expect(0, "layout latency r")
            .out
            .contains("8 requests before the file was created again are not shown")
    );
    lab.expect(0, "run --target null --size 1m --engine null --rw read --bs 4k --number_ios 4 -o nothing");
    let refused = lab.expect(2, "layout latency nothing").err;
    assert!(refused.contains("it has no extent maps"), "{refused}");
    let refused = lab.expect(1, "plot nothing --only extents").err;
    assert!(refused.contains("there are no extent maps of files"), "{refused}");
}

/// Each process keeps the map of its file; the one result has them, and samples of the machine.
#[test]
fn one_result_has_maps_and_samples_of_all_processes() {
    needs!("mkfs.xfs");
    let volume = Volume::new(&["mkfs.xfs", "-q", "-f"]);
    let lab = lab();
    let [a, b] = ["a", "b"].map(|name| volume.path(name).display().to_string());
    lab.expect(0, &format!("iozone -t 2 -s 1m -r 64k -i 0 -i 1 -F {a} {b} --out r"));
    let found = json(&lab, "layout latency --json r");
    let paths: Vec<&str> =
        found["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(paths, [a.as_str(), b.as_str()]);
    let mut devices = 0;
    let archive = Archive::open(&lab.path("r")).unwrap();
    archive
        .for_each_sample(&mut |_, series, _| devices += u64::from(series.to_string().ends_with(".read_ios")))
        .unwrap();
    assert!(devices > 0);
}
