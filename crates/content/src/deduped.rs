//! The words of data for targets that deduplicate ([`Dedupe`]): each is a function of its place and of its target.

use crate::header::noise;
use iosonar_plan::Dedupe;

/// Scope in which a word of a unit repeats. Scopes share no numbers.
#[derive(Clone, Copy)]
enum WordScope {
    /// One word of the target.
    Local = 1,
    /// One word of all targets.
    Constant,
    /// Equal on all targets.
    Equal,
    /// Unique.
    Unique,
}

/// Words of one target.
#[derive(Debug)]
pub(crate) struct Words {
    dedupe: Dedupe,
    /// Sum of the target's number and the plan's addition to it.
    target: u64,
    /// Ends of the parts of a unit.
    ends: [u64; 3],
    local: u64,
    constant: u64,
    /// Unit of the last word: its start, and the seeds of its parts.
    start: u64,
    equal: u64,
    unique: u64,
}

impl Words {
    pub(crate) fn new(dedupe: Dedupe, target: u16) -> Words {
        let target = u64::from(target) + u64::from(dedupe.skew);
        let seed = |part: WordScope, words: [u64; 2]| seed(dedupe.seed, part, words);
        let local = noise(seed(WordScope::Local, [target, 0]), 0);
        let constant = noise(seed(WordScope::Constant, [0, 0]), 0);
        let mut words =
            Words { dedupe, target, ends: dedupe.ends(), local, constant, start: 0, equal: 0, unique: 0 };
        words.enter(0);
        words
    }

    /// The word at a place, a multiple of eight.
    #[inline]
    pub(crate) fn at(&mut self, place: u64) -> u64 {
        if place.wrapping_sub(self.start) >= self.dedupe.unit.0 {
            self.enter(place / self.dedupe.unit.0);
        }
        let at = place - self.start;
        match at {
            at if at < self.ends[0] => self.local,
            at if at < self.ends[1] => self.constant,
            at if at < self.ends[2] => noise(self.equal, at / 8),
            at => noise(self.unique, at / 8),
        }
    }

    fn enter(&mut self, unit: u64) {
        self.start = unit * self.dedupe.unit.0;
        self.equal = seed(self.dedupe.seed, WordScope::Equal, [unit, 0]);
        self.unique = seed(self.dedupe.seed, WordScope::Unique, [unit, self.target]);
    }
}

/// A different seed for each part of each unit.
fn seed(seed: u64, part: WordScope, words: [u64; 2]) -> u64 {
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31);
    [part as u64, words[0], words[1]].into_iter().fold(mix(0x1051_0a72, seed), mix)
}

#[cfg(test)]
mod tests {
    use crate::named::{DataPlace, fill};
    use flate2::{Compression, write::ZlibEncoder};
    use iosonar_plan::{ByteSize, Data, Dedupe};
    use std::collections::HashSet;
    use std::io::Write;

    const MIB: usize = 1 << 20;

    fn file(dedupe: Dedupe, target: u16) -> Vec<u8> {
        let mut bytes = vec![0; MIB];
        fill(&mut bytes, &Data::Dedupe(dedupe), DataPlace { offset: 0, target, seed: 0 });
        bytes
    }

    fn equal_percent(a: &[u8], b: &[u8]) -> f64 {
        a.iter().zip(b).filter(|(a, b)| a == b).count() as f64 * 100.0 / a.len() as f64
    }

    fn pages(bytes: &[u8]) -> usize {
        bytes.as_chunks::<4096>().0.iter().collect::<HashSet<_>>().len()
    }

    fn after_zlib(bytes: &[u8]) -> f64 {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap().len() as f64 / bytes.len() as f64
    }

    /// The figures that IOzone 3.471 was measured to have with two files of 1 MiB and records of 64 KiB.
    #[test]
    fn shares_match_iozone() {
        let of = |percent: u8| Dedupe::of(percent, ByteSize(64 << 10));
        let constant = Dedupe { constant_percent: 50, ..of(50) };
        for (dedupe, equal, zlib, unique) in [
            (of(0), 0.0, 1.0, 256),
            (of(50), 50.0, 1.0, 256),
            (of(100), 100.0, 1.0, 256),
            (constant, 50.0, 0.752, 193),
            (Dedupe { local_percent: 50, ..constant }, 37.5, 0.752, 194),
        ] {
            let (a, b) = (file(dedupe, 0), file(dedupe, 1));
            // Of unequal bytes one in 256 is equal by chance.
            let by_chance = (100.0 - equal) / 256.0;
            assert!((equal_percent(&a, &b) - equal - by_chance).abs() < 0.3, "{dedupe:?}");
            assert!((after_zlib(&a) - zlib).abs() < 0.01, "{dedupe:?}: {}", after_zlib(&a));
            assert_eq!(pages(&a), unique, "{dedupe:?}");
        }
    }

    #[test]
    fn seeds_and_skews_change_the_data() {
        let dedupe = Dedupe::of(50, ByteSize(4096));
        let one = file(dedupe, 0);
        assert!(equal_percent(&one, &file(Dedupe { seed: 2, ..dedupe }, 0)) < 1.0);
        assert_eq!(file(Dedupe { skew: 1, ..dedupe }, 0), file(dedupe, 1));
        assert_eq!(one, file(dedupe, 0));
    }
}
