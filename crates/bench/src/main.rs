//! Measurements of `./bench` that a shell cannot make: a bare spinning loop, the reading of loads, the clocks. And the page of results that
//! the repository keeps.
//!
//! `iosonar-bench bare RATE REQUESTS SPIN_US`, `iosonar-bench parse LINES ROUNDS`, `iosonar-bench clock`,
//! `iosonar-bench archive DIR RECORDS`, `iosonar-bench trace FORM FILE REQUESTS`, `iosonar-bench statistic WHICH DIR`,
//! `iosonar-bench merge DIR PARTS`, `iosonar-bench history FILE DIR`; each that makes nothing prints one line of JSON. No part of the product.

mod analysis;
mod history;
mod traces;

use iosonar_os::usage::own_cpu_time;
use iosonar_os::{Clock, monotonic_ns, set_timer_slack_1ns};
use iosonar_plan::{Nanos, Op};
use iosonar_trace::blkreplay::{LOAD_HEADER, Line, Reader, write_load};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let numbers: Vec<u64> = words.iter().skip(1).filter_map(|word| word.parse().ok()).collect();
    match (words.first(), numbers.as_slice()) {
        (Some(&"bare"), &[rate, requests, spin_us]) if rate * requests > 0 => {
            bare(rate, requests, spin_us * 1_000)
        }
        (Some(&"parse"), &[lines, rounds]) if lines > 0 => parse(lines, rounds),
        (Some(&"clock"), []) => clock(),
        (Some(&"pingpong"), &[rounds]) if rounds > 0 => ping_pong(rounds),
        (Some(&"archive"), &[records]) if words.len() == 3 => {
            return end(analysis::make(Path::new(words[1]), records));
        }
        (Some(&"trace"), &[requests]) if words.len() == 4 => {
            return end(traces::make(words[1], Path::new(words[2]), requests));
        }
        (Some(&"statistic"), []) if words.len() == 3 => {
            return end(analysis::measure(Path::new(words[2]), words[1]));
        }
        (Some(&"merge"), &[count]) if words.len() == 3 => {
            return end(analysis::merge(Path::new(words[1]), count));
        }
        (Some(&"history"), _) if words.len() == 3 => {
            return end(history::make(Path::new(words[1]), Path::new(words[2])));
        }
        _ => {
            eprintln!(
                "usage: iosonar-bench bare RATE REQUESTS SPIN_US | parse LINES ROUNDS | clock | pingpong ROUNDS | \
                 archive DIR RECORDS | trace FORM FILE REQUESTS | statistic WHICH DIR | \
                 merge DIR PARTS | history FILE DIR"
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

fn end(result: Result<(), Box<dyn std::error::Error>>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("iosonar-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Two threads wake each other in turn through a futex: the minimum cost of a handover here. A round is one handover.
fn ping_pong(rounds: u64) {
    let (turn, changed) = (Mutex::new(0u64), Condvar::new());
    let begin = monotonic_ns();
    std::thread::scope(|scope| {
        for player in 0..2 {
            let (turn, changed) = (&turn, &changed);
            scope.spawn(move || {
                let mut now = turn.lock().expect("nobody panics");
                while *now < rounds {
                    if *now % 2 == player {
                        *now += 1;
                        changed.notify_one();
                    } else {
                        now = changed.wait(now).expect("nobody panics");
                    }
                }
                changed.notify_all();
            });
        }
    });
    let seconds = (monotonic_ns() - begin) as f64 / 1e9;
    println!("{{\"rounds\":{rounds},\"seconds\":{seconds}}}");
}

/// Sleeps until shortly before each of the Poisson arrivals, spins up to it and measures the lateness: the limit of this machine at
/// present.
fn bare(rate: u64, requests: u64, spin: u64) {
    let due = arrivals(rate, requests);
    let mut late = vec![0; due.len()];
    set_timer_slack_1ns();
    // Time zero lies ahead, as in a run.
    let clock = Clock::from_origin(monotonic_ns() + 50_000_000);
    for (due, late) in due.iter().zip(&mut late) {
        *late = loop {
            let now = clock.now();
            if now >= *due {
                break now - due;
            }
            if *due - now > spin {
                std::thread::sleep(Duration::from_nanos(due - now - spin));
            } else {
                std::hint::spin_loop();
            }
        };
    }
    let cpu = own_cpu_time();
    let tenth = late.len().div_ceil(10);
    let (first, last) = (median(&late[..tenth]), median(&late[late.len() - tenth..]));
    let at_end = late.len().div_ceil(100);
    println!(
        "{{\"requests\":{},\"p50_ns\":{},\"p99_ns\":{},\"max_ns\":{},\"drift_ns\":{},\"at_end_p50_ns\":{},\
         \"cpu_ns\":{},\"clock\":\"{}\"}}",
        late.len(),
        median(&late),
        quantile(&late, 0.99),
        quantile(&late, 1.0),
        last as i64 - first as i64,
        median(&late[late.len() - at_end..]),
        cpu.user_ns + cpu.system_ns,
        clock.source()
    );
}

fn arrivals(rate: u64, requests: u64) -> Vec<u64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mean = 1e9 / rate as f64;
    let mut time = 0.0;
    (0..requests)
        .map(|_| {
            let uniform = ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
            time += -uniform.ln() * mean;
            time as u64
        })
        .collect()
}

fn median(values: &[u64]) -> u64 {
    quantile(values, 0.5)
}

/// Nearest-rank quantile.
fn quantile(values: &[u64], q: f64) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

/// Parses a load in memory `rounds` times, and takes the fastest: decoded text to requests only.
fn parse(lines: u64, rounds: u64) {
    let text = load(lines);
    let mut best = u64::MAX;
    for _ in 0..rounds.max(1) {
        let begin = own_cpu_time();
        let mut reader = Reader::new(text.as_slice());
        let (mut requests, mut check) = (0, 0u64);
        while let Ok(Some(line)) = reader.next_line() {
            if let Line::Request(request) = line {
                requests += 1;
                check ^= request.time.0 ^ request.extent.offset;
            }
        }
        std::hint::black_box(check);
        assert_eq!(requests, lines, "every line is a request");
        let end = own_cpu_time();
        best = best.min(end.user_ns + end.system_ns - begin.user_ns - begin.system_ns);
    }
    println!("{{\"lines\":{lines},\"bytes\":{},\"cpu_ns\":{best}}}", text.len());
}

/// A load like recorded ones: aligning blanks, times to the nanosecond, both operations.
fn load(lines: u64) -> Vec<u8> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut text = format!("{LOAD_HEADER}\n").into_bytes();
    let mut time = 0;
    for _ in 0..lines {
        let draw = random.next_u64();
        time += draw % 200_000;
        let op = if draw >> 63 == 0 { Op::Read } else { Op::Write };
        let (sector, length) = ((draw >> 20) % (1 << 33), 8 << (draw >> 60 & 3));
        let written = write_load(&mut text, Nanos(time), op, sector, length);
        written.expect("memory takes it");
    }
    text
}

/// Prints the cost of one reading of each clock, and the clock that runs use here.
fn clock() {
    let origin = monotonic_ns();
    let (ours, system) = (Clock::from_origin(origin), Clock::system(origin));
    println!(
        "{{\"source\":\"{}\",\"cost_ps\":{},\"clock_gettime_cost_ps\":{}}}",
        ours.source(),
        ours.cost_ps(),
        system.cost_ps()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_observed_values() {
        let values: Vec<u64> = (1..=100).rev().collect();
        assert_eq!((median(&values), quantile(&values, 0.99), quantile(&values, 1.0)), (50, 99, 100));
        assert_eq!(median(&[7]), 7);
    }

    #[test]
    fn arrivals_are_sorted_at_their_rate() {
        let due = arrivals(10_000, 20_000);
        assert!(due.len() == 20_000 && due.is_sorted());
        let last = due[due.len() - 1] as f64;
        assert!((last / 2e9 - 1.0).abs() < 0.05, "{last}");
    }
}
