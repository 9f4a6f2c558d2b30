//! Memory stays within the computed limit, and state that does not fit is unknown, never wrong.

use iosonar_archive::WriteId;
use iosonar_verify::{Ended, Expected, Legal, Sectors, Tag, bound, bound_of_chunks};
use std::collections::HashSet;

/// Sectors of a chunk.
const CHUNK: u64 = 128;
const GIB: u64 = 1 << 30;

fn tag(sequence: u64) -> Tag {
    Tag::of(WriteId { target: 0, phase: 0, pass: 0, sequence })
}

fn write(expected: &mut Expected, range: Sectors, tag: Tag) {
    let flight = expected.begin_write(range, tag);
    expected.end_write(flight, Ended::Acknowledged);
}

/// Reads written sectors; returns how many had a legal version that was checked.
fn read(expected: &mut Expected, range: Sectors, content: Tag) -> u64 {
    let flight = expected.begin_read(range);
    let mut checked = 0;
    expected.end_read(flight, range.count, |sector, legal| {
        match legal {
            Legal::One(tag) => assert_eq!(tag, content, "sector {sector}"),
            Legal::Unknown => return None,
            other => panic!("sector {sector}: {other:?}"),
        }
        checked += 1;
        Some(content)
    });
    checked
}

/// The range of the `n`th of `writes` writes of 4 KiB over 1 TiB, in a scattered order without repetition.
fn scattered(n: u64) -> Sectors {
    let blocks = 1 << 28;
    Sectors::new((n * 0x9E37_79B1) % blocks * 8, 8)
}

/// At least `share` percent of the bound are used.
fn scatter(writes: u64, share: u64) {
    let tib = 1 << 40;
    let chunks: HashSet<u64> = (0..writes).map(|n| scattered(n).start / CHUNK).collect();
    let bound = bound_of_chunks(chunks.len() as u64, tib, true);
    let mut expected = Expected::new(bound);
    (0..writes).for_each(|n| write(&mut expected, scattered(n), tag(n)));
    println!(
        "{writes} writes over 1 TiB: {} chunks, bound {bound}, in use {} ({:.1} %)",
        chunks.len(),
        expected.bytes(),
        100.0 * expected.bytes() as f64 / bound as f64
    );
    assert_eq!((expected.unknown_sectors(), expected.given_up_sectors()), (0, 0));
    assert!(expected.bytes() <= bound && expected.bytes() * 100 >= bound * share);
    let checked: u64 = (0..writes).map(|n| read(&mut expected, scattered(n), tag(n))).sum();
    assert_eq!(checked, writes * 8);

    // A tenth of the memory.
    let mut expected = Expected::new(bound / 10);
    (0..writes).for_each(|n| write(&mut expected, scattered(n), tag(n)));
    assert!(expected.unknown_sectors() > 0 && expected.bytes() <= bound / 10);
    let checked: u64 = (0..writes).map(|n| read(&mut expected, scattered(n), tag(n))).sum();
    println!("a tenth of it: {checked} of {} sectors are known", writes * 8);
    // It is the latest ones that are known.
    assert!(checked > 0 && checked < writes * 8);
    let last: u64 = (writes - writes / 100..writes).map(|n| read(&mut expected, scattered(n), tag(n))).sum();
    assert!(last * 10 >= writes / 100 * 8 * 9, "{last} of {} of the last hundredth", writes / 100 * 8);
}

#[test]
fn scattered_writes_stay_within_the_bound() {
    scatter(200_000, 80);
}

#[test]
#[ignore = "10^7 writes, 1.5 GB"]
fn ten_million_scattered_writes_stay_within_the_bound() {
    scatter(10_000_000, 90);
}

#[test]
fn table_for_one_gib_stays_within_bound() {
    for aligned in [true, false] {
        let bound = bound(GIB, aligned);
        let mut expected = Expected::new(bound);
        // Coarse first, then fine.
        for chunk in 0..GIB / 65536 {
            write(&mut expected, Sectors::new(chunk * CHUNK, CHUNK), tag(chunk));
        }
        for chunk in (0..GIB / 65536).filter(|_| !aligned) {
            write(&mut expected, Sectors::new(chunk * CHUNK + 3, 1), tag(chunk));
        }
        println!("1 GiB, aligned {aligned}: bound {bound}, in use {}", expected.bytes());
        assert_eq!((expected.unknown_sectors(), expected.given_up_sectors()), (0, 0));
        assert!(expected.bytes() <= bound);
        let fixed = 128 << 10;
        let most = if aligned { 3 * GIB / 2 / 1024 } else { 9 * GIB / 1024 };
        assert!(expected.bytes() <= most + fixed, "{} of {most}", expected.bytes());
    }
}

/// The sectors that are unknown or were written, after `writes` writes of a sector that are scattered over `gib` GiB.
fn touched_by(writes: u64, gib: u64, limit: u64) -> (u64, u64) {
    let mut expected = Expected::new(limit);
    // In 4 KiB each, without repetition.
    let blocks = gib << 18;
    let place = |n: u64| Sectors::new((n * 0x9E37_79B1) % blocks * 8 + n % 8, 1);
    (0..writes).for_each(|n| write(&mut expected, place(n), tag(n)));
    assert!(expected.bytes() <= limit, "{} of {limit}", expected.bytes());
    let touched: Vec<Sectors> = expected.touched().collect();
    for place in (0..writes).map(place) {
        let at = touched.partition_point(|range| range.end() <= place.start);
        assert!(touched[at].start <= place.start, "{place:?} is not among what was touched");
    }
    let sectors = touched.iter().map(|range| range.count).sum();
    println!(
        "{writes} writes over {gib} GiB with {limit}: {sectors} touched, {} unknown",
        expected.unknown_sectors()
    );
    (sectors, expected.unknown_sectors())
}

#[test]
fn only_written_sectors_become_unknown() {
    let (touched, unknown) = touched_by(4000, 64, 1 << 20);
    assert!(touched == 4000 && (1..4000).contains(&unknown), "{touched} {unknown}");
    // Of 1 TiB branches take a third of the memory.
    let (touched, unknown) = touched_by(4000, 1024, 1 << 20);
    assert!(touched == 4000 && unknown < 4000, "{touched} {unknown}");
    // With more writes some 64 KiB become unknown for each of them.
    let (touched, _) = touched_by(60_000, 64, 1 << 20);
    assert!(touched <= 60_000 * CHUNK, "{touched}");
}

#[test]
fn untouched_tib_takes_little_memory() {
    let mut expected = Expected::new(GIB);
    let untouched = expected.bytes();
    write(&mut expected, Sectors::new(0, 8), tag(1));
    write(&mut expected, Sectors::new((1 << 31) - 8, 8), tag(2));
    // The root takes 8 KiB; three blocks of 64 KiB are for nodes.
    assert!(expected.bytes() - untouched < 4 * 65536);
    assert_eq!(expected.touched().collect::<Vec<_>>(), [Sectors::new(0, 8), Sectors::new((1 << 31) - 8, 8)]);
    // So does a discard of all of it.
    write(&mut expected, Sectors::new(0, 1 << 31), Tag::ANY);
    assert_eq!(expected.touched().collect::<Vec<_>>(), [Sectors::new(0, 1 << 31)]);
    expected.forget(Sectors::new(0, 1 << 31));
    assert_eq!(expected.touched().count(), 0);
    assert!(expected.bytes() - untouched < 4 * 65536);
}

#[test]
fn unaddressable_sectors_are_unknown() {
    let mut expected = Expected::new(1 << 20);
    let far = Sectors::new(1 << 53, 8);
    write(&mut expected, far, tag(1));
    assert_eq!(read(&mut expected, far, tag(1)), 0);
    assert_eq!(expected.given_up_sectors(), 8);
}

#[test]
fn unknown_sectors_become_known_when_written() {
    let mut expected = Expected::new(1 << 20);
    write(&mut expected, Sectors::new(0, 128), Tag::UNKNOWN);
    write(&mut expected, Sectors::new(8, 8), tag(1));
    write(&mut expected, Sectors::new(20, 1), tag(2));
    assert_eq!(read(&mut expected, Sectors::new(8, 8), tag(1)), 8);
    assert_eq!(read(&mut expected, Sectors::new(20, 1), tag(2)), 1);
    assert_eq!(read(&mut expected, Sectors::new(16, 4), tag(1)), 0);
    assert_eq!((expected.unknown_sectors(), expected.given_up_sectors()), (119, 128));
}

#[test]
fn more_overlaps_than_fit_are_unknown() {
    let mut expected = Expected::new(1 << 20);
    let range = Sectors::new(3, 2);
    let flights: Vec<_> = (0..20).map(|n| expected.begin_write(range, tag(n))).collect();
    assert_eq!(expected.expected(3).legal(), Legal::Unknown);
    for flight in flights {
        expected.end_write(flight, Ended::Acknowledged);
    }
    assert_eq!(expected.expected(3).legal(), Legal::Unknown);
    write(&mut expected, range, tag(20));
    assert_eq!(read(&mut expected, range, tag(20)), 2);

    // More uncertain places than fit.
    let place = |n: u64| Sectors::new(n * 16, 4);
    for n in 0..100_000 {
        let flight = expected.begin_write(place(n), tag(n));
        expected.end_write(flight, Ended::Failed);
    }
    assert!(expected.bytes() <= 1 << 20);
    assert!(expected.unknown_sectors() > 0);
    (0..100_000).for_each(|n| write(&mut expected, place(n), tag(n)));
    let checked: u64 = (99_000..100_000).map(|n| read(&mut expected, place(n), tag(n))).sum();
    assert!(checked > 0);
}
