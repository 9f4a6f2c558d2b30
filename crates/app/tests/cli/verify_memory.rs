//! Costs of a verification: memory of its state and of simulated devices, and bytes read by its scan.

use crate::*;

/// Sectors of 512 bytes in a run of 4000 scattered writes, with 1 MiB for the state.
fn scattered(lab: &Lab, target: &str, block: &str, memory: &str) -> Value {
    let run = format!(
        "run {target} --rw randwrite --bs {block} --size 64G --number-ios 4000 --iodepth 8 --no-progress \
         --verify read,final --verify-memory {memory} -o r"
    );
    lab.expect(0, &run);
    let verified = summary(lab, "r")["verified"].clone();
    std::fs::remove_dir_all(lab.path("r")).unwrap();
    assert_eq!(verified["faults"], serde_json::json!({}), "{verified}");
    verified
}

#[test]
fn final_scan_reads_only_sectors_of_sparse_writes() {
    let lab = lab();
    lab.target("a.img", 64 << 30);
    for (target, block, memory, sectors) in [
        ("-t dev --engine sim", "512", "1MiB", 1),
        ("-t dev --engine sim", "8k", "1MiB", 16),
        ("-t a.img", "4k", "1MiB", 8),
    ] {
        let verified = scattered(&lab, target, block, memory);
        let number = |name: &str| verified[name].as_u64().unwrap();
        let written = 4000 * sectors;
        assert!((1..=written).contains(&number("given_up")), "{target} {block} {memory}: {verified}");
        assert!(number("checked") > 0 && number("checked") + number("unknown") <= written, "{verified}");
        // Whole blocks are read, and so are small gaps between them.
        let read = verified["scan"]["bytes"].as_u64().unwrap();
        assert!(read > 0 && read <= 2 * 4000 * 4096.max(sectors * 512), "{target} {block} {memory}: {read}");
    }
}

#[test]
fn final_scan_reads_at_most_64_kib_per_scattered_write() {
    let lab = lab();
    let run = "run -t dev --engine sim --rw randwrite --bs 512 --size 64G --number-ios 60000 --iodepth 8 --no-progress \
               --verify final --verify-memory 1MiB -o r";
    lab.expect(0, run);
    let verified = summary(&lab, "r")["verified"].clone();
    assert_eq!(verified["faults"], serde_json::json!({}), "{verified}");
    let given_up = verified["given_up"].as_u64().unwrap();
    assert!((1..=60_000 * 128).contains(&given_up), "{verified}");
    assert!(verified["scan"]["bytes"].as_u64().unwrap() <= 60_000 * 3 * (64 << 10), "{verified}");
    assert!(verified["memory"].as_u64().unwrap() <= 1 << 20, "{verified}");
}
