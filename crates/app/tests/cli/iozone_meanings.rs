//! Meaning of IOzone's words and figures: times of its parent, places of its figures, its telemetry files.

use crate::live::Running;
use crate::*;
use iosonar_testkit::until;

/// A figure of throughput mode, by the start of its line.
#[track_caller]
fn figure(out: &str, who: &str) -> f64 {
    let line = out.lines().find(|line| line.trim_start().starts_with(who)).expect("a line");
    line.split_once('=').expect("a figure").1.split_whitespace().next().unwrap().parse().expect("a number")
}

/// The parent waits until the last stream has flushed and closed its file, and its time starts with the first stream.
#[test]
fn parent_rate_never_exceeds_children_rate() {
    let lab = lab();
    for words in [
        "-c -e -i 0 -+n -r 64k -s 2m -t 2 -x",
        "-i 0 -+n -r 64k -s 2m -t 2 -x",
        "-i 0 -+n -r 16k -s 1m -t 3 -d 20000",
        "-i 0 -+n -r 16k -s 1m -t 2 -d 20000 -T -O",
        "-c -i 0 -i 1 -r 64k -s 1m -t 1",
    ] {
        let out = lab.expect(0, &format!("iozone {words}")).out;
        for block in out.split("Children see").skip(1) {
            let block = format!("Children see{block}");
            let (children, parent) = (figure(&block, "Children see"), figure(&block, "Parent sees"));
            assert!(parent > 0.0 && parent <= children, "{words}: {block}");
        }
    }
    // Streams that start 300 ms apart keep the parent waiting that long, less the delay of the first one on a busy machine.
    lab.expect(0, "iozone -i 0 -+n -r 64k -s 1m -t 2 -d 300000 -x --json out.json");
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
    assert!(json["results"][0]["whole_ns"].as_u64().unwrap() >= 150 * MS, "{json}");
}

#[test]
fn xls_names_produce_the_old_spreadsheet_format() {
    let lab = lab();
    for (name, start) in [("a.wks", &[9, 0, 4, 0][..]), ("b.XLS", &[9, 0, 4, 0]), ("c.xlsx", b"PK")] {
        lab.expect(0, &format!("iozone -i 0 -s 64k -r 4k -b {name}"));
        assert!(std::fs::read(lab.path(name)).unwrap().starts_with(start), "{name}");
    }
}

/// Positions of the figures in a row printed by IOzone 3.471.
#[test]
fn columns_match_iozone_positions() {
    let lab = lab();
    let out = lab.expect(0, "iozone -s 1m -r 64k -j 3").out;
    let row = out.lines().find(|line| line.starts_with("            1024      64")).expect("a row");
    let ends = [33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143];
    assert_eq!(row.len(), 143, "{row}");
    for end in ends {
        assert!(row.as_bytes()[end - 1].is_ascii_digit(), "{end}: {row}");
        assert!(row.as_bytes().get(end).is_none_or(|next| *next == b' '), "{end}: {row}");
    }
    let head = "              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite \
                frewrite    fread  freread\n";
    assert!(out.contains(head), "{out}");
}

/// A file written with `-X` ends with the last byte of the trajectory.
#[test]
fn telemetry_reads_files_written_by_telemetry() {
    let lab = lab();
    lab.file("way", "0 4096\n8192 4096 1\n12288 1000\n");
    let length = |name: &str| lab.path(name).metadata().unwrap().len();
    lab.expect(0, "iozone -X way -w -f t");
    for words in ["-Y way -i 1 -w", "-Y way -w", "-Y way", "-+E -Y way -i 1", "-+E -Y way"] {
        let _ = std::fs::remove_file(lab.path("out.json"));
        lab.expect(0, &format!("iozone {words} -f t -+n --json out.json"));
        let json: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
        let tests: Vec<&str> =
            json["results"].as_array().unwrap().iter().map(|r| r["test"].as_str().unwrap()).collect();
        assert_eq!((tests, length("t")), (vec!["read"], 13_288), "{words}");
        assert_eq!(json["results"][0]["bytes"], 4096 + 4096 + 1000, "{words}");
    }
    // Without a file, test 0 creates one that ends there, too.
    lab.expect(0, "iozone -Y way -w -f new");
    assert_eq!(length("new"), 13_288);
    lab.file("short", vec![1u8; 13_000]);
    let refused = lab.expect(2, "iozone -Y way -i 1 -w -f short");
    assert!(refused.err.contains("it holds 13000 bytes, and tests read 13288"), "{}", refused.err);
}

#[test]
fn json_states_how_measurement_ended() {
    let lab = lab();
    let json =
        |name: &str| -> Value { serde_json::from_slice(&std::fs::read(lab.path(name)).unwrap()).unwrap() };
    lab.expect(0, "iozone -i 0 -s 64k --json whole.json");
    assert_eq!(
        (&json("whole.json")["state"], &json("whole.json")["missing_cells"]),
        (&"complete".into(), &0.into())
    );

    let running = Running::of(&mut lab.command("iozone -a -i 0 -i 1 --json cut.json"));
    until("the test file grows", || {
        lab.path("iozone.tmp").metadata().is_ok_and(|file| file.len() >= 1 << 20)
    });
    running.signal("INT");
    assert_eq!(running.end().code, 130);
    let cut = json("cut.json");
    assert_eq!(cut["state"], "interrupted");
    assert_eq!(
        cut["missing_cells"].as_u64().unwrap(),
        126 * 4 - cut["results"].as_array().unwrap().len() as u64
    );
    let compared = lab.expect(0, "compare cut.json cut.json");
    assert!(compared.err.contains("cut.json: the measurement did not end in order"), "{}", compared.err);

    std::fs::create_dir(lab.path("matrix")).unwrap();
    let running = Running::of(&mut lab.command(
        "matrix m.tmp --sizes 1m..64m --records 4k --tests write --repeat 50 --out matrix/m --json",
    ));
    until("the test file grows", || lab.path("m.tmp").metadata().is_ok_and(|file| file.len() >= 1 << 20));
    running.signal("INT");
    let ended = running.end();
    let matrix: Value = serde_json::from_str(&ended.out).expect("JSON");
    assert_eq!((ended.code, &matrix["state"]), (130, &"interrupted".into()));
}

/// Damage is reported in every mode: the file, the place, how many bytes and records, and exit code 5.
#[test]
fn reports_damage_in_every_mode() {
    slow!();
    let lab = lab();
    let damage = |name: &str, at: usize| {
        let mut bytes = std::fs::read(lab.path(name)).unwrap();
        bytes[at..at + 8].copy_from_slice(b"XXXXXXXX");
        std::fs::write(lab.path(name), bytes).unwrap();
    };
    for content in ["", "-+d", "-V 7", "-+X", "-+w 50"] {
        let _ = std::fs::remove_file(lab.path("t"));
        lab.expect(0, &format!("iozone {content} -i 0 -s 256k -r 64k -w -f t"));
        damage("t", 131_084);
        for how in ["-i 1", "-i 1 -B", "-i 7", "-i 3", "-i 10", "-i 1 -H 2", "-a -y 64k -q 64k -i 1"] {
            let ended = lab.expect(5, &format!("iozone {content} {how} -+n -s 256k -r 64k -w -f t"));
            assert!(ended.err.contains("Error in file t: Position 1310"), "{content} {how}: {}", ended.err);
            assert!(ended.err.contains(" bytes of the record are not what was written"), "{}", ended.err);
            assert!(ended.err.contains("t: 1 of 4 records that were checked are bad"), "{}", ended.err);
        }
        for kind in ["", "-T"] {
            let streams = format!("iozone {content} {kind} -t 2 -x -s 256k -r 64k -w");
            for name in ["f1", "f2"] {
                let _ = std::fs::remove_file(lab.path(name));
            }
            lab.expect(0, &format!("{streams} -i 0 -F f1 f2"));
            damage("f2", 65_536);
            let ended = lab.expect(5, &format!("{streams} -i 1 -+n -F f1 f2"));
            assert!(
                ended.err.contains("Error in file f2: Position 65536"),
                "{content} {kind}: {}",
                ended.err
            );
            assert!(!ended.err.contains("file f1"), "{content} {kind}: {}", ended.err);
        }
    }
}
