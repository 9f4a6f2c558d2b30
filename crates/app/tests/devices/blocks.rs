//! Devices with blocks of 4096 bytes, and requests at and across the end.

use crate::common::*;
use iosonar_archive::Marks;
use iosonar_content::SectorHeader;
use iosonar_plan::{Extent, Op, SECTOR};
use iosonar_testkit::{Image, LoopDevice};
use serde_json::Value;

#[test]
fn unaligned_requests_are_widened_marked_and_cautioned() {
    needs!();
    on_each_engine(odd_requests);
}

fn odd_requests(engine: &str) {
    let device = LoopDevice::of(Image::random(4), &["-b", "4096"]);
    let size = 4 << 11;
    let before = device.bytes();
    // Requested, executed, marks.
    let (rounded, border, wrapped) = (Marks::ROUNDED, Marks::AT_BORDER, Marks::WRAPPED);
    let none = Marks::default();
    let cases = [
        (Op::Write, (2001, 8), (2000, 16), rounded),
        (Op::Write, (3000, 1), (3000, 8), rounded),
        (Op::Read, (2001, 8), (2000, 16), rounded),
        (Op::Write, (4000, 8), (4000, 8), none),
        (Op::Write, (size - 8, 8), (size - 8, 8), none),
        (Op::Write, (size - 1, 1), (size - 8, 8), rounded),
        (Op::Read, (size - 4, 8), (size - 8, 8), border),
        (Op::Write, (size - 4, 12), (size - 16, 16), border.with(rounded, true)),
        (Op::Write, (size + 100, 8), (96, 16), wrapped.with(rounded, true)),
        (Op::Read, (3 * size - 2, 4), (size - 8, 8), wrapped.with(border, true).with(rounded, true)),
    ];
    let line = |(i, (op, (sector, length), ..)): (usize, &(Op, (u64, u64), _, _))| Line {
        time: i as u64 * 1_000_000,
        sector: *sector,
        length: *length,
        op: *op,
    };
    let lines: Vec<Line> = cases.iter().enumerate().map(line).collect();
    let lab = lab();
    lab.file("load", load_text(&lines));
    lab.expect(
        0,
        &format!("replay load -t {} --destroy --start-grace 0.1 --engine {engine} -o out", device.text()),
    );
    let records = in_order(lab.records("out"));
    for (record, (op, asked, done, marks)) in records.iter().zip(cases) {
        assert_eq!(record.op, op);
        assert_eq!(record.requested, Extent::from_sectors(asked.0, asked.1).unwrap());
        assert_eq!(record.executed, Extent::from_sectors(done.0, done.1).unwrap(), "{record:?}");
        assert_eq!(record.marks.0 & !Marks::PUSHED.0, marks.0, "{record:?}");
        assert_eq!(record.result, record.executed.length as i64);
    }
    let summary: Value = serde_json::from_str(&lab.expect(0, "show out --json").out).unwrap();
    let all = &summary["counts"]["all"];
    let marked = |mark: Marks| cases.iter().filter(|c| c.3.has(mark)).count();
    assert_eq!(
        (&all["rounded"], &all["at_border"], &all["wrapped"]),
        (&marked(rounded).into(), &marked(border).into(), &marked(wrapped).into())
    );
    assert_eq!(summary["targets"][0]["block_bytes"], 4096);
    let caution = summary["cautions"].as_array().unwrap().iter().find(|c| c["id"] == "rounded").unwrap();
    let text = caution["text"].as_str().unwrap();
    assert!(text.contains("overwrote neighbouring sectors"), "{text}");
    let writes = cases.iter().filter(|c| c.0 == Op::Write && c.3.has(rounded)).count();
    assert!(
        text.starts_with(&format!("{} requests", marked(rounded)))
            && text.contains(&format!("{writes} of them were writes")),
        "{text}"
    );
    lab.expect(
        3,
        &format!("replay load -t {} --destroy --start-grace 0.1 --strict -o strict", device.text()),
    );

    // The neighbours really are overwritten, and nothing else is.
    let after = device.bytes();
    for (sector, (old, new)) in before.as_chunks::<512>().0.iter().zip(after.as_chunks::<512>().0).enumerate()
    {
        let place = Extent { offset: sector as u64 * SECTOR, length: SECTOR };
        let written = records.iter().any(|r| r.op == Op::Write && r.executed.overlaps(place));
        match SectorHeader::decode(new) {
            Ok(header) => assert!(written && header.sector == sector as u64, "{header:?}"),
            Err(_) => assert!(!written && old == new, "sector {sector}"),
        }
    }
}

#[test]
fn no_rounding_on_512_byte_blocks() {
    needs!();
    let device = LoopDevice::random(4);
    let size = 4 << 11;
    let lines: Vec<Line> = [(2001, 8), (3000, 1), (size - 1, 1), (size - 7, 7)]
        .map(|(sector, length)| Line { time: 0, sector, length, op: Op::Write })
        .to_vec();
    let lab = lab();
    lab.file("load", load_text(&lines));
    let ended = lab.expect(0, &format!("replay load -t {} --destroy --start-grace 0 -o out", device.text()));
    for (record, line) in in_order(lab.records("out")).iter().zip(lines) {
        assert_eq!(record.executed, Extent::from_sectors(line.sector, line.length).unwrap());
        assert_eq!(record.marks.0 & !Marks::PUSHED.0, 0);
    }
    assert!(!ended.out.contains("neighbouring"), "{}", ended.out);
}
