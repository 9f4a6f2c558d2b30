//! IOzone's output, printed or written, in all the forms in which people keep it.

use crate::*;
use std::process::Stdio;

/// Imports a file by its content; its cells as test, sizes in KiB, and rates in KiB and operations per second.
#[track_caller]
fn cells(lab: &Lab, words: &str) -> Vec<(String, u64, u64, u64, f64)> {
    let _ = std::fs::remove_file(lab.path("o.json"));
    lab.expect(0, &format!("import {words} -o o.json"));
    let json: Value = serde_json::from_slice(&std::fs::read(lab.path("o.json")).unwrap()).unwrap();
    let cell = |cell: &Value| {
        let number = |name: &str| cell[name].as_u64().unwrap();
        let sizes = (number("file_bytes") >> 10, number("record_bytes") >> 10);
        let ops = cell["ops_per_second"].as_f64().unwrap();
        (cell["test"].as_str().unwrap().to_string(), sizes.0, sizes.1, number("kib_per_second"), ops)
    };
    json["results"].as_array().unwrap().iter().map(cell).collect()
}

#[test]
fn quoted_and_trimmed_tables_are_read() {
    let lab = lab();
    let text = std::fs::read_to_string(fixture_path("iozone/old-table.txt")).unwrap();
    lab.file("t.txt", &text);
    let wanted = cells(&lab, "iozone t.txt");
    assert_eq!(wanted.len(), 13);
    assert_eq!((wanted[7].0.as_str(), wanted[7].3, wanted[12].3), ("record_rewrite", 810_456, 1_300_111));
    let each =
        |change: &dyn Fn(&str) -> String| text.lines().map(|line| change(line) + "\n").collect::<String>();
    let collapsed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for changed in [
        each(&|l| l.trim_start().into()),
        each(&collapsed),
        each(&|l| format!("> {l}")),
        each(&|l| format!("> {}", collapsed(l))),
    ] {
        lab.file("changed", &changed);
        assert_eq!(cells(&lab, "iozone changed"), wanted, "{changed}");
        assert_eq!(cells(&lab, "changed"), wanted, "by content: {changed}");
        let by_import = std::fs::read(lab.path("o.json")).unwrap();
        lab.expect(0, "convert changed -o c.json");
        assert_eq!(std::fs::read(lab.path("c.json")).unwrap(), by_import, "{changed}");
        std::fs::remove_file(lab.path("c.json")).unwrap();
    }
}

#[test]
fn standard_input_is_read() {
    let lab = lab();
    let text = std::fs::File::open(fixture_path("iozone/old-table.txt")).unwrap();
    for words in ["import iozone - -o a.json", "import - -o b.json"] {
        let ended = lab.command(words).stdin(Stdio::from(text.try_clone().unwrap())).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        use std::io::Seek;
        (&text).rewind().unwrap();
    }
    let read = |name: &str| std::fs::read(lab.path(name)).unwrap();
    assert_eq!(read("a.json"), read("b.json"));
}

/// The figures of `-O` and `-N` are no kB/s; the worksheet agrees with the table.
#[test]
fn reads_units_and_worksheets() {
    let lab = lab();
    for option in ["", "-O", "-N"] {
        let out = lab
            .expect(
                0,
                &format!(
                    "iozone -a -n 256 -g 512 -y 64 -i 0 -i 1 -R -b x{option}.xls -f t {option} --json t{option}.json"
                ),
            )
            .out;
        lab.file("out.txt", &out);
        let by_text = cells(&lab, "out.txt");
        assert_eq!(by_text.len(), 7 * 4);
        let mut by_sheet = cells(&lab, &format!("x{option}.xls"));
        assert_eq!(by_sheet.len(), by_text.len());
        by_sheet.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let mut sorted = by_text.clone();
        sorted.sort_by(|a, b| a.partial_cmp(b).unwrap());
        assert_eq!(by_sheet, sorted, "{option}");
        let json: Value =
            serde_json::from_slice(&std::fs::read(lab.path(&format!("t{option}.json"))).unwrap()).unwrap();
        for cell in json["results"].as_array().unwrap() {
            let name = cell["test"].as_str().unwrap();
            let (file, record) =
                (cell["file_bytes"].as_u64().unwrap() >> 10, cell["record_bytes"].as_u64().unwrap() >> 10);
            let found =
                by_text.iter().find(|c| (c.0.as_str(), c.1, c.2) == (name, file, record)).expect("a cell");
            let measured = cell["kib_per_second"].as_u64().unwrap() as f64;
            // Figures in whole operations or whole microseconds are that coarse.
            let record_ms = record as f64 / measured * 1e6;
            let coarse = match option {
                "-O" => 0.01,
                "-N" => 1.0 / record_ms.floor().max(1.0),
                _ => 0.0,
            };
            let apart = found.3 as f64 / measured - 1.0;
            assert!(apart.abs() <= coarse + 1e-9, "{option} {name}: {} for {measured}", found.3);
        }
    }
}

#[test]
fn reports_unsupported_files() {
    let lab = lab();
    lab.expect(0, "iozone -i 0 -s 64k -r 4k -b y.xlsx");
    lab.expect(0, "iozone -t 2 -i 0 -s 64k -r 4k -b z.xls");
    lab.file("bad", "              kB  reclen    write  rewrite    read\n            1024      64  12x4\n");
    for (words, why) in [
        ("y.xlsx", "this is a workbook (.xlsx) whose cells are not read: name the text that iozone printed"),
        ("iozone y.xlsx", "this is a workbook"),
        ("z.xls", "a workbook of IOzone's throughput mode"),
        ("bad", "line 2: cannot be read"),
        ("iozone bad", "line 2: cannot be read"),
    ] {
        let ended = lab.expect(2, &format!("import {words} -o never.json"));
        assert!(ended.err.contains(why), "{words}: {}", ended.err);
    }
    assert!(!lab.path("never.json").exists());
}
