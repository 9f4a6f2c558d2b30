//! Synthetic loads, seeded: for demonstrations and tests. Recorded workloads are worth more.

use crate::random::Random;
use iosonar_plan::{Nanos, Op};
use iosonar_trace::blkreplay::{LOAD_HEADER, write_load};
use std::io::{Result, Write};

/// The shape of a synthetic load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// At each whole second a burst, and each burst larger than the one before (blkreplay manual 5.1.1): the
    /// load in which a target's collapse is easy to see.
    Bursts {
        /// Number of requests by which each burst grows.
        growth: u64,
    },
    /// Like a small server: reads at random with a hot set, sequential streaks of writes, a flush-like burst
    /// of writes every five seconds, a rate that swells and ebbs.
    Mixed {
        /// Mean requests per second.
        rate: u64,
    },
}

/// Size and seed of a synthetic load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    /// Its shape.
    pub shape: Shape,
    /// Its length.
    pub duration: Nanos,
    /// Length of the region, from 0, in sectors.
    pub sectors: u64,
    /// Share of reads in percent.
    pub read_percent: u8,
    /// Seed: equal seeds give equal loads.
    pub seed: u64,
}

/// Writes the load as text; returns the number of requests.
pub fn generate(spec: &Spec, out: &mut impl Write) -> Result<u64> {
    writeln!(out, "# synthetic load made by iosonar: {spec:?}")?;
    writeln!(out, "{LOAD_HEADER}")?;
    match spec.shape {
        Shape::Bursts { growth } => bursts(spec, growth, out),
        Shape::Mixed { rate } => mixed(spec, rate, out),
    }
}

/// Distance of the requests of a burst: as dense as a fast server could send them.
const BURST_GAP_NS: u64 = 20_000;

fn bursts(spec: &Spec, growth: u64, out: &mut impl Write) -> Result<u64> {
    let mut random = Random::new(spec.seed, 1);
    let mut count = 0;
    for second in 0..spec.duration.0 / Nanos::SECOND.0 {
        for i in 0..(second + 1) * growth {
            let time = Nanos(second * Nanos::SECOND.0 + (i * BURST_GAP_NS).min(Nanos::SECOND.0 - 1));
            let op = random_op(spec, &mut random);
            let sector = random.below(spec.sectors / 8) * 8;
            write_load(out, time, op, sector, 8)?;
            count += 1;
        }
    }
    Ok(count)
}

fn random_op(spec: &Spec, random: &mut Random) -> Op {
    if random.below(100) < u64::from(spec.read_percent) { Op::Read } else { Op::Write }
}

const SIZES: [u64; 8] = [8, 8, 8, 8, 16, 32, 64, 3];

fn mixed(spec: &Spec, rate: u64, out: &mut impl Write) -> Result<u64> {
    let mut random = Random::new(spec.seed, 2);
    let (mut time, mut count, mut streak) = (0.0f64, 0, 0u64);
    let (length, hot) = (spec.duration.as_secs_f64(), (spec.sectors / 64).max(128));
    while time < length {
        let op = random_op(spec, &mut random);
        let size = SIZES[random.below(SIZES.len() as u64) as usize].min(spec.sectors);
        let sector = match op {
            Op::Read if random.below(100) < 80 => random.below(hot),
            Op::Read => random.below(spec.sectors),
            _ => {
                // A streak continues where the last write ended, seven times of eight.
                streak = if random.below(8) == 0 { random.below(spec.sectors) } else { streak };
                streak
            }
        };
        let sector = sector.min(spec.sectors - size);
        if op == Op::Write {
            streak = (sector + size) % spec.sectors;
        }
        write_load(out, Nanos((time * 1e9) as u64), op, sector, size)?;
        count += 1;
        // The rate swells and ebbs over 20 s, and every fifth second starts with a burst.
        let swell = 1.0 + 0.8 * (time * std::f64::consts::TAU / 20.0).sin();
        let burst = if time % 5.0 < 0.2 { 6.0 } else { 1.0 };
        time += random.exponential() / (rate as f64 * swell * burst);
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Room, Source, Text, scan};
    use iosonar_plan::{Backward, TraceReplay};

    fn load() -> TraceReplay {
        TraceReplay { backward: Backward::Refuse, ..TraceReplay::of("x") }
    }

    #[test]
    fn generated_load_is_seeded_and_replayable() {
        for shape in [Shape::Bursts { growth: 10 }, Shape::Mixed { rate: 200 }] {
            let spec =
                Spec { shape, duration: Nanos::from_secs(12), sectors: 20_000, read_percent: 60, seed: 3 };
            let make = |spec: &Spec| {
                let mut text = Vec::new();
                let count = generate(spec, &mut text).unwrap();
                (text, count)
            };
            let (text, count) = make(&spec);
            assert_eq!(text, make(&spec).0);
            assert_ne!(text, make(&Spec { seed: 4, ..spec }).0);
            let text = String::from_utf8(text).unwrap();
            let facts = scan(Text::of(&text), &load(), &Room::default(), |n| panic!("{n:?}")).unwrap();
            assert_eq!(facts.requests, count);
            assert!(facts.reads > count / 2 && facts.writes > count / 5, "{facts:?}");
            assert!(facts.max_end <= 20_000 * 512 && facts.last < Nanos::from_secs(12));
            let mut source = crate::Recorded::new(Text::of(&text), &load(), |_| {}).unwrap();
            assert!(source.next(Nanos(0)).unwrap().is_some());
        }
    }
}
