//! Binary dumps: round trips, and refusal of anything else.

use iosonar_dialect_xdd::{Dump, DumpError, DumpHead, DumpWriter, RunClock, StampEntry, read_dump};
use iosonar_plan::{Nanos, Op};
use proptest::prelude::*;

fn entry() -> impl Strategy<Value = StampEntry> {
    let place = (any::<u32>(), any::<bool>(), any::<u64>(), any::<u64>(), any::<u64>());
    let what = (any::<i64>(), any::<u64>(), any::<u64>());
    (place, what).prop_map(|((pass, write, number, offset, length), (result, start, end))| {
        let op = if write { Op::Write } else { Op::Read };
        StampEntry { pass, op, number, offset, length, result, start: Nanos(start), end: Nanos(end) }
    })
}

fn dump() -> impl Strategy<Value = Dump> {
    let numbers = (any::<u16>(), any::<u16>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<i64>());
    (numbers, ".{0,20}", prop::collection::vec(entry(), 0..8)).prop_map(|(n, id, entries)| {
        let (target, queue_thread, block_size, request_size, epoch_unix_ns, delta_ns) = n;
        let clock = RunClock { epoch_unix_ns, delta_ns };
        let head = DumpHead { target, queue_thread, block_size, request_size, id, clock };
        Dump { head, entries }
    })
}

fn sample() -> Dump {
    let entry = StampEntry {
        pass: 1,
        op: Op::Write,
        number: 2,
        offset: 3,
        length: 4,
        result: -5,
        start: Nanos(6),
        end: Nanos(7),
    };
    let head = DumpHead { target: 8, queue_thread: 9, id: "abc".into(), ..DumpHead::default() };
    Dump { head, entries: vec![entry; 2] }
}

#[test]
fn format_is_stable() {
    let bytes = sample().to_bytes();
    assert_eq!(&bytes[..8], b"IOSXDDTS");
    assert_eq!(&bytes[8..28], [1, 0, 0, 0, 4, 3, 2, 1, 56, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0]);
    assert_eq!(bytes[60..68], 2u64.to_le_bytes());
    let entry = &bytes[bytes.len() - 8 - 56..bytes.len() - 8];
    assert_eq!(&entry[..16], [1, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(entry[32..40], (-5i64).to_le_bytes());
}

#[test]
fn distinguishes_kinds_of_invalid_dumps() {
    let bytes = sample().to_bytes();
    for foreign in [&b""[..], b"\x7fELF....", b"I/O"] {
        assert_eq!(read_dump(foreign), Err(DumpError::Foreign));
    }
    let mut newer = bytes.clone();
    newer[8] = 2;
    assert_eq!(read_dump(&newer), Err(DumpError::Version(2)));
    let mut longer = bytes.clone();
    longer.push(0);
    assert_eq!(read_dump(&longer), Err(DumpError::TooLong(1)));
    let mut absurd = bytes.clone();
    absurd[60..68].fill(0xff);
    let has = bytes.len() as u64;
    assert_eq!(read_dump(&absurd), Err(DumpError::CutOff { has, needs: u64::MAX }));
    let mut changed = bytes.clone();
    changed[100] ^= 1;
    assert_eq!(read_dump(&changed), Err(DumpError::Checksum));
    for length in 1..bytes.len() {
        let error = read_dump(&bytes[..length]).unwrap_err();
        assert!(matches!(error, DumpError::CutOff { .. }), "{length}: {error}");
    }
}

#[test]
fn writer_matches_announced_count() {
    let dump = sample();
    let mut writer = DumpWriter::new(Vec::new(), &dump.head, 2).unwrap();
    writer.add(&dump.entries[0]).unwrap();
    writer.add(&dump.entries[1]).unwrap();
    assert_eq!(writer.finish().unwrap(), dump.to_bytes());
    let short = DumpWriter::new(Vec::new(), &dump.head, 1).unwrap();
    assert!(short.finish().unwrap_err().to_string().contains("1 stamps were announced, 0 came"));
}

proptest! {
    #[test]
    fn dumps_read_back(dump in dump()) {
        prop_assert_eq!(read_dump(&dump.to_bytes()), Ok(dump));
    }

    #[test]
    fn detects_a_changed_byte(dump in dump(), at: prop::sample::Index, flip in 1u8..) {
        let mut bytes = dump.to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(read_dump(&bytes).is_err());
    }

    #[test]
    fn any_bytes_are_read_without_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..300), ours: bool) {
        if ours && bytes.len() >= 12 {
            bytes[..12].copy_from_slice(b"IOSXDDTS\x01\0\0\0");
        }
        let _ = read_dump(&bytes);
    }
}
