//! Inspection of sectors: intact, damaged in every way, torn, of an older form, and foreign ones.

use iosonar_content::{
    Damage, Sector, SectorHeader, damage, fill, inspect, intact, intact_each, poison, regenerate,
    seed_of_body, seed_of_tail, torn_at,
};
use iosonar_plan::Fill;
use proptest::prelude::*;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

const POISON: u64 = 0x9015_0a72_c0ff_ee11;
const HEADER: SectorHeader = SectorHeader {
    run_id: 0x1234_5678_9abc_def0,
    target: 3,
    phase: 1,
    pass: 2,
    sector: 1_000_003,
    sequence: 4711,
    due_ns: 12_345_000_000,
    index: 5,
    length: 8,
};
/// No random bytes, a mask alone, the last without a whole random word, the first two words, odd ones, half, nearly all, all.
const PERCENTS: [u8; 10] = [0, 1, 12, 13, 16, 33, 50, 77, 99, 100];

fn of(random_percent: u8) -> Fill {
    Fill { random_percent }
}

/// A sector made as `docs/formats.md` describes it, by other code than the product's.
fn encoded(version: u8, header: &SectorHeader, random_percent: u8) -> [u8; 512] {
    let mut sector = [0; 512];
    let random = 512 * usize::from(random_percent) / 100;
    let seed = if random > 0 { header.seed() } else { 0 };
    for (at, place) in sector[..random].iter_mut().enumerate().skip(64) {
        let state =
            (1 + 56 * (header.sector % 64) + (at as u64 - 64) / 8).wrapping_mul(0xa076_1d64_78bd_642f);
        let product = u128::from(state) * u128::from(state ^ 0xe703_7ed1_a0b4_28db);
        let word = (product >> 64) as u64 ^ product as u64 ^ seed;
        *place = word.to_le_bytes()[at % 8];
    }
    let mut put = |at: usize, bytes: &[u8]| sector[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &seed.to_le_bytes());
    put(8, b"iosonar");
    put(15, &[version + b'0']);
    put(16, &header.run_id.to_le_bytes());
    put(24, &header.sector.to_le_bytes());
    put(32, &header.sequence.to_le_bytes());
    put(40, &header.due_ns.to_le_bytes());
    put(48, &header.target.to_le_bytes());
    put(52, &header.pass.to_le_bytes());
    if version == 1 {
        put(56, &header.phase.to_le_bytes());
    } else {
        put(50, &header.phase.to_le_bytes());
        put(56, &header.index.to_le_bytes());
        put(58, &header.length.to_le_bytes());
    }
    let checksum = crc32fast::hash(&sector);
    sector[60..64].copy_from_slice(&checksum.to_le_bytes());
    if seed != 0 {
        let mut pad = [0; 56];
        Xoshiro256PlusPlus::seed_from_u64(!seed).fill_bytes(&mut pad);
        sector[8..64].iter_mut().zip(pad).for_each(|(byte, pad)| *byte ^= pad);
    }
    sector
}

/// The header in the form of version 1.
fn without_index(header: SectorHeader) -> SectorHeader {
    SectorHeader { index: 0, length: 0, ..header }
}

fn headers() -> impl Strategy<Value = SectorHeader> {
    let wide = (any::<u64>(), any::<u64>(), any::<u64>(), any::<u64>(), any::<u32>());
    (wide, any::<[u16; 4]>()).prop_map(
        |((run_id, sector, sequence, due_ns, pass), [target, phase, index, length])| SectorHeader {
            run_id,
            target,
            phase,
            pass,
            sector,
            sequence,
            due_ns,
            index,
            length,
        },
    )
}

fn percents() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0), Just(50), Just(100), 0u8..=100]
}

/// The form cannot change without this test: data on targets outlives the program.
#[test]
fn format_is_stable() {
    let hash = |sector: [u8; 512]| {
        sector.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
        })
    };
    assert_eq!(HEADER.seed(), 0xd68b_9c5a_45d4_acab);
    let hashes = [0, 50, 100].map(|percent| hash(regenerate(&HEADER, of(percent))));
    assert_eq!(hashes, [0xf3c5_f6bd_b6c1_3d5d, 0x4cd4_486d_d714_9ce8, 0x375a_6609_4daa_3ca5], "{hashes:#x?}");
    // Hashes from the program that wrote version 1.
    let hashes = [0, 50, 100].map(|percent| hash(encoded(1, &HEADER, percent)));
    assert_eq!(hashes, [0x229b_24e2_9682_6921, 0x4ea6_c8ad_d4bf_9f28, 0xb14e_e9d6_a311_d829], "{hashes:#x?}");
}

#[test]
fn detects_and_locates_every_flipped_bit() {
    for percent in PERCENTS {
        for header in [HEADER, SectorHeader { sector: 0, phase: 0, due_ns: 0, ..HEADER }] {
            let good = regenerate(&header, of(percent));
            assert_eq!(intact(&good, of(percent)), Some(header));
            for bit in 0..512 * 8 {
                let mut bad = good;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(intact(&bad, of(percent)), None, "bit {bit}, {percent} %");
                let at = (bit / 8) as u16;
                let damage = Damage { bits: 1, bytes: 1, first: at, last: at };
                let found = inspect(&bad, of(percent), POISON);
                // A seed without another copy is lost: then the sector cannot be identified.
                if bit < 64 && (1..16).contains(&percent) {
                    assert_eq!(found, Sector::NoHeader);
                } else {
                    assert_eq!(found, Sector::Damaged { header, damage }, "bit {bit}, {percent} %");
                }
            }
        }
    }
}

#[test]
fn locates_every_flipped_bit_of_version_1() {
    let header = without_index(HEADER);
    for percent in [0, 50, 100] {
        let good = encoded(1, &header, percent);
        for bit in 0..512 * 8 {
            let mut bad = good;
            bad[bit / 8] ^= 1 << (bit % 8);
            let at = (bit / 8) as u16;
            let damage = Damage { bits: 1, bytes: 1, first: at, last: at };
            assert_eq!(
                inspect(&bad, of(percent), POISON),
                Sector::Damaged { header, damage },
                "bit {bit}, {percent} %"
            );
        }
    }
}

#[test]
fn classifies_sectors_not_written_by_a_run() {
    let mut poisoned = vec![0xee; 3 * 512 + 100];
    poison(&mut poisoned, POISON);
    assert_eq!(&poisoned[512 + 8..1024], &[0xee; 504]);
    // A shorter last sector has the mark, too.
    assert_eq!(poisoned[3 * 512..][..8], poisoned[..8]);
    assert_eq!(&poisoned[3 * 512 + 8..], &[0xee; 92]);
    for percent in PERCENTS {
        let is = |sector: &[u8; 512]| inspect(sector, of(percent), POISON);
        assert_eq!(is(&[0; 512]), Sector::Zeros);
        assert_eq!(is(&[0xff; 512]), Sector::Ones);
        assert_eq!(is(&[0x5a; 512]), Sector::NoHeader);
        for sector in poisoned.as_chunks().0 {
            assert_eq!(is(sector), Sector::Poison);
        }
        // A buffer that was written from before.
        let mut sector = regenerate(&HEADER, of(percent));
        poison(&mut sector, POISON);
        assert_eq!(is(&sector), Sector::Poison);
    }
}

#[test]
fn index_and_length_saturate() {
    let header = SectorHeader { index: 65_530, length: u16::MAX, ..HEADER };
    let mut buffer = vec![0; 10 * 512];
    fill(&mut buffer, header, of(100));
    for (i, sector) in buffer.as_chunks().0.iter().enumerate() {
        let found = intact(sector, of(100)).unwrap();
        assert_eq!((found.index, found.sector), ((65_530 + i).min(65_535) as u16, HEADER.sector + i as u64));
    }
    assert_eq!(header.after(u64::from(u32::MAX)).index, u16::MAX);
}

/// Where the header of the first version is whole, it identifies the sector.
#[test]
fn locates_tear_within_sector() {
    let other = SectorHeader { sequence: 4712, due_ns: 99, index: 0, length: 16, ..HEADER };
    for percent in [0, 33, 50, 100] {
        let (head, tail) = (regenerate(&HEADER, of(percent)), regenerate(&other, of(percent)));
        let random = 512 * usize::from(percent) / 100;
        for k in 1..512 {
            let mut torn = tail;
            torn[..k].copy_from_slice(&head[..k]);
            let at = torn_at(&torn, &head, &tail);
            if torn == head || torn == tail {
                assert_eq!(at, None);
                continue;
            }
            let at = usize::from(at.unwrap());
            assert!(at <= k && head[at..k] == tail[at..k] && head[at - 1] != tail[at - 1], "{at} for {k}");
            assert_eq!(torn_at(&torn, &tail, &head), None);
            let found = inspect(&torn, of(percent), POISON);
            if k >= 64 {
                let damage = damage(&torn, &head).unwrap();
                assert_eq!(found, Sector::Damaged { header: HEADER, damage }, "{k}, {percent} %");
            }
            if percent == 100 && k <= 512 - 16 {
                let from = if k <= 64 { 64 } else { k.next_multiple_of(8) as u16 };
                assert_eq!(seed_of_tail(&torn, HEADER.sector, of(100)), Some((other.seed(), from)));
                let of_body = (k <= 64).then(|| other.seed());
                assert_eq!(seed_of_body(&torn, HEADER.sector, of(100)), of_body);
            }
        }
        let whole = (random >= 80).then(|| HEADER.seed());
        assert_eq!(seed_of_body(&head, HEADER.sector, of(percent)), whole);
        assert_eq!(seed_of_body(&head, HEADER.sector + 1, of(percent)), None);
        assert_eq!(torn_at(&head, &head, &tail), None);
        assert_eq!(torn_at(&[9; 512], &head, &tail), None);
    }
}

proptest! {
    #[test]
    fn sectors_match_reference_encoding(header in headers(), percent in percents()) {
        let sector = regenerate(&header, of(percent));
        prop_assert_eq!(sector, encoded(2, &header, percent));
        prop_assert_eq!(intact(&sector, of(percent)), Some(header));
        prop_assert_eq!(SectorHeader::decode(&sector), Ok(header));
        prop_assert_eq!(inspect(&sector, of(percent), POISON), Sector::Intact(header));
    }

    /// Holds also for a run with another fill.
    #[test]
    fn sectors_of_version_1_and_of_other_fills_are_read(
        header in headers(), percent in percents(), other in percents(),
    ) {
        let sector = encoded(1, &header, percent);
        prop_assert_eq!(intact(&sector, of(percent)), Some(without_index(header)));
        prop_assert_eq!(inspect(&sector, of(other), POISON), Sector::Intact(without_index(header)));
        let sector = regenerate(&header, of(percent));
        prop_assert_eq!(inspect(&sector, of(other), POISON), Sector::Intact(header));
    }

    /// Parts of requests one after the other, some sectors of them damaged or from elsewhere: each is judged as alone.
    #[test]
    fn sectors_of_a_read_are_judged_independently(
        parts in prop::collection::vec((headers(), 1u64..6, 0u64..4), 1..6),
        percent in percents(),
        damages in prop::collection::vec((any::<prop::sample::Index>(), 0usize..512, 1u8..=255), 0..4),
    ) {
        let of_part = |(header, count, skipped): &(SectorHeader, u64, u64)| {
            (0..*count).map(|n| regenerate(&header.after(n + skipped * n), of(percent))).collect::<Vec<_>>()
        };
        let mut sectors: Vec<[u8; 512]> = parts.iter().flat_map(of_part).collect();
        for (index, byte, bits) in damages {
            sectors[index.index(parts.len())][byte] ^= bits;
        }
        let mut seen = 0;
        intact_each(&sectors, of(percent), &mut |index, header| {
            assert_eq!((index, header), (seen, intact(&sectors[index], of(percent))));
            seen += 1;
        });
        prop_assert_eq!(seen, sectors.len());
    }

    /// Slices of a request equal the whole.
    #[test]
    fn a_request_is_filled_in_slices(header in headers(), percent in percents(), cut in 0usize..=16) {
        let header = SectorHeader { sector: header.sector >> 1, ..header };
        let (mut whole, mut parts) = (vec![1; 16 * 512 + 7], vec![2; 16 * 512 + 7]);
        fill(&mut whole, header, of(percent));
        let (first, second) = parts.split_at_mut(cut * 512);
        fill(first, header, of(percent));
        fill(second, header.after(cut as u64), of(percent));
        prop_assert_eq!(&whole, &parts);
        for (i, sector) in (0..).zip(whole.as_chunks().0) {
            prop_assert_eq!(*sector, regenerate(&header.after(i), of(percent)));
        }
    }

    #[test]
    fn detects_any_changed_byte(
        header in headers(), percent in percents(), at in 0usize..512, change in 1u8..,
    ) {
        let good = regenerate(&header, of(percent));
        let mut bad = good;
        bad[at] ^= change;
        prop_assert_eq!(intact(&bad, of(percent)), None);
        let damage = damage(&bad, &good);
        let at = at as u16;
        prop_assert_eq!(damage, Some(Damage { bits: change.count_ones(), bytes: 1, first: at, last: at }));
        if at >= 64 {
            let found = inspect(&bad, of(percent), POISON);
            prop_assert_eq!(found, Sector::Damaged { header, damage: damage.unwrap() });
        }
    }

    /// A sector is not taken for another one, unless at least two damaged bytes happen to leave its seed as it is.
    #[test]
    fn damage_never_forges_another_header(
        header in headers(), percent in percents(), changes in prop::collection::vec((0usize..512, 1u8..), 1..40),
        is_in_header: bool,
    ) {
        let good = regenerate(&header, of(percent));
        let mut bad = good;
        for (at, change) in changes {
            bad[if is_in_header { at % 64 } else { at }] ^= change;
        }
        if let Sector::Damaged { header: found, .. } = inspect(&bad, of(percent), POISON) {
            let damaged = (16..58).filter(|at| bad[*at] != good[*at]).count();
            let is_same = without_index(found) == without_index(header);
            prop_assert!(is_same || percent > 0 && damaged > 1 && found.seed() == header.seed(), "{:?}", found);
        } else if bad != good {
            prop_assert_eq!(inspect(&bad, of(percent), POISON), Sector::NoHeader);
        }
        prop_assert_eq!(damage(&good, &good), None);
    }

    #[test]
    fn foreign_bytes_have_no_header(bytes in prop::collection::vec(any::<u8>(), 512), percent in percents()) {
        let sector = bytes.try_into().unwrap();
        prop_assert_eq!(inspect(&sector, of(percent), POISON), Sector::NoHeader);
    }
}
