//! Inputs: the seeds of a target, then random mutations of them. Input I of a seed number is always the same.

use iosonar_testkit::SplitMix;
use std::io::Result;
use std::path::{Path, PathBuf};

/// Maximum length of an input.
const MOST_BYTES: usize = 1 << 16;
/// Boundary values of integers.
const NUMBERS: [u64; 12] =
    [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, 1 << 63, u64::MAX];
/// Boundary values and other words, as text.
const WORDS: [&str; 12] = [
    "0",
    "-1",
    "1",
    "4294967296",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1e308",
    "NaN",
    "-inf",
    "0.0000000001",
    "99999999999999999999999999999999999999999",
];

/// Seeded numbers.
struct Chance(SplitMix);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0.next()
    }

    /// Returns a number below `end`; 0 if that is 0.
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// The inputs of a target.
pub struct Inputs {
    seeds: Vec<Vec<u8>>,
    tokens: Vec<Vec<u8>>,
    first: u64,
}

impl Inputs {
    /// Reads the seeds and the dictionary of a target.
    pub fn new(target: &str, seed: u64) -> Result<Inputs> {
        let home = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<PathBuf> = match std::fs::read_dir(home.join("seeds").join(target)) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?,
            Err(_) => Vec::new(),
        };
        files.sort();
        let seeds = files.iter().map(std::fs::read).collect::<Result<_>>()?;
        let dictionary = std::fs::read_to_string(home.join("dictionaries").join(target)).unwrap_or_default();
        // Different targets take different inputs of one seed.
        let first = target.bytes().fold(seed, |hash, byte| SplitMix(hash ^ u64::from(byte)).next());
        Ok(Inputs { seeds, tokens: tokens(&dictionary), first })
    }

    /// Number of unmodified seeds at the start.
    pub fn seeds(&self) -> usize {
        self.seeds.len()
    }

    /// Returns an input by its number.
    pub fn get(&self, number: u64) -> Vec<u8> {
        if let Some(seed) = usize::try_from(number).ok().and_then(|n| self.seeds.get(n)) {
            return seed.clone();
        }
        let mut chance = Chance(SplitMix(self.first ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)));
        let mut data = if self.seeds.is_empty() { Vec::new() } else { chance.of(&self.seeds).clone() };
        for _ in 0..1 << chance.below(5) {
            self.change(&mut data, &mut chance);
        }
        data.truncate(MOST_BYTES);
        data
    }

    /// Applies one mutation.
    fn change(&self, data: &mut Vec<u8>, chance: &mut Chance) {
        let at = chance.below(data.len() + 1);
        let most = 1 << chance.below(8);
        let length = 1 + chance.below(most);
        let end = (at + length).min(data.len());
        match chance.below(12) {
            0 => put(data, at, &[chance.next() as u8]),
            1 if at < data.len() => data[at] ^= 1 << chance.below(8),
            2 => drop(data.splice(at..at, chance.next().to_le_bytes().into_iter().take(length))),
            3 => drop(data.drain(at..end)),
            4 => data.truncate(at),
            5 => {
                let piece = data[at..end].to_vec();
                let to = chance.below(data.len() + 1);
                data.splice(to..to, piece);
            }
            6 => {
                let (number, width) = (chance.of(&NUMBERS).to_le_bytes(), 1 << chance.below(4));
                put(data, at, &number[..width]);
            }
            7 => {
                let word = chance.of(&WORDS).bytes();
                let digits = data[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
                data.splice(at..at + digits, word);
            }
            8 if !self.seeds.is_empty() => {
                let other = chance.of(&self.seeds);
                data.truncate(at);
                data.extend(&other[chance.below(other.len() + 1)..]);
            }
            9 | 10 if !self.tokens.is_empty() => {
                let token = chance.of(&self.tokens).iter().copied();
                data.splice(at..at, token);
            }
            _ => {
                let space = *chance.of(b" \n;,=\0\xff");
                data.insert(at, space);
            }
        }
    }
}

/// Overwrites bytes from a place on, extending the data if necessary.
fn put(data: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    let end = (at + bytes.len()).min(data.len());
    data.splice(at..end, bytes.iter().copied());
}

/// Parses the words of a dictionary in libFuzzer's form: `"word"` or `name="word"` in each line, with `\\`, `\"` and `\xNN`.
pub fn tokens(dictionary: &str) -> Vec<Vec<u8>> {
    let lines = dictionary.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| token(line.strip_suffix('"')?.split_once('"')?.1)).collect()
}

fn token(quoted: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut token) = (quoted.bytes(), Vec::new());
    while let Some(byte) = bytes.next() {
        token.push(match (byte, byte == b'\\') {
            (byte, false) => byte,
            _ => match bytes.next()? {
                b'x' => {
                    let digits = [bytes.next()?, bytes.next()?];
                    u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
                }
                other => other,
            },
        });
    }
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_depend_only_on_target_seed_and_number() {
        let [a, b, other] =
            [("traces", 7), ("traces", 7), ("traces", 8)].map(|(t, s)| Inputs::new(t, s).unwrap());
        let many = |inputs: &Inputs| (0..200).map(|n| inputs.get(n)).collect::<Vec<_>>();
        assert_eq!(many(&a), many(&b));
        assert_ne!(many(&a), many(&other));
        let differing = many(&a).into_iter().collect::<std::collections::BTreeSet<_>>();
        assert!(differing.len() > 150, "{} different inputs", differing.len());
    }

    #[test]
    fn generates_inputs_without_seeds() {
        let inputs = Inputs::new("broken", 1).unwrap();
        assert_eq!(inputs.seeds(), 0);
        assert!((0..100).any(|number| inputs.get(number).len() > 10));
        assert!((0..1000).all(|number| inputs.get(number).len() <= MOST_BYTES));
    }

    #[test]
    fn reads_dictionary_words() {
        let text = "# words\n\"plain\"\nname=\"a\\\"b\\\\\\x00\\xff\"\n\nno word\n";
        assert_eq!(tokens(text), [b"plain".to_vec(), b"a\"b\\\0\xff".to_vec()]);
    }
}
