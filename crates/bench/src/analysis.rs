//! Makes archives of any size for measuring analysis, and measures the cost of each statistic.

use iosonar_analyze::demand::DemandOptions;
use iosonar_analyze::{Counted, Detail, Limits, Partial, Records, Summary, Wanted, merge_parts, pass};
use iosonar_archive::{Archive, ArchiveWriter, Fields, Record, RecordFile, RunInfo, RunState, SUMMARY};
use iosonar_dialect_blkreplay::recording;
use iosonar_os::usage::own_cpu_time;
use iosonar_plan::{Extent, Nanos, Op, Plan};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::path::Path;
use std::time::Instant;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The product's own name, so that it accepts the archives as its own.
const TOOL: &str = concat!("iosonar ", env!("CARGO_PKG_VERSION"));
/// Pages of 4 KiB in 1 TiB.
const PAGES: u64 = 1 << 28;
/// Requests later than this many cannot complete before one that was submitted: the slowest takes 11.25 ms, and they
/// come 20 µs apart.
const FLYING: usize = 1 << 10;
/// Records appended at once.
const PIECE: usize = 1 << 12;

/// Makes an archive of `count` requests over 1 TiB, 20 µs apart: bands of 90 µs, 0.6 ms and 9 ms, two thirds reads; four
/// of five go to random pages, the others to a hot set. As in every archive, records come about in the order of
/// completion, and the summary stands beside them.
pub fn make(dir: &Path, count: u64) -> Result<()> {
    let (plan, mut run) = recording("made up", PAGES << 12);
    run.state = RunState::Finished;
    run.tool = TOOL.into();
    let archive = ArchiveWriter::create(dir, &plan, &serde_json::Value::Null, &run)?;
    let mut log = archive.record_log()?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut in_flight = BTreeMap::new();
    let mut piece = Vec::with_capacity(PIECE);
    for sequence in 0..count {
        let record = record(sequence, &mut random);
        in_flight.insert((record.completed, sequence), record);
        if in_flight.len() > FLYING {
            piece.extend(in_flight.pop_first().map(|(_, first)| first));
        }
        if piece.len() == PIECE {
            log.append(&piece)?;
            piece.clear();
        }
    }
    piece.extend(in_flight.into_values());
    log.append(&piece)?;
    drop(log);
    sum_up(archive.finish()?, &plan, &run)
}

fn sum_up(archive: Archive, plan: &Plan, run: &RunInfo) -> Result<()> {
    let stored = Stored(archive.record_file()?.ok_or("the run has not ended")?);
    let wanted = Wanted { tally: true, ..Wanted::nothing() };
    let tally = pass(&stored, 1, &Limits::default(), &wanted)?.tally.ok_or("it was wanted")?;
    archive.write_text(SUMMARY, &Summary::new(&tally, plan, run).to_json())?;
    Ok(())
}

fn record(sequence: u64, random: &mut Xoshiro256PlusPlus) -> Record {
    let (word, place) = (random.next_u64(), random.next_u64());
    let page = if word % 5 == 0 { place % (1 << 16) } else { place % PAGES };
    let latency = match word >> 8 & 15 {
        0..5 => 90_000,
        5..13 => 620_000,
        _ => 9_000_000,
    };
    let latency = latency + (word >> 16) % (latency / 4);
    let due = sequence * 20_000;
    let submitted = due + 500 + (word >> 40) % 3_000;
    let extent = Extent { offset: page << 12, length: 4096 << (word >> 62) };
    Record {
        sequence,
        op: if word >> 4 & 3 == 0 { Op::Write } else { Op::Read },
        load_time: Nanos(due),
        due: Nanos(due),
        submitted: Some(Nanos(submitted)),
        completed: Some(Nanos(submitted + latency)),
        requested: extent,
        executed: extent,
        result: extent.length as i64,
        ..Record::default()
    }
}

/// The records of an archive, in its parts.
struct Stored(RecordFile);

impl Records for Stored {
    fn parts(&self) -> usize {
        self.0.parts()
    }

    fn read_part(&self, part: usize, wanted: Fields, f: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        self.0.read_part(part, wanted, f).map_err(io::Error::other)
    }

    fn records_before(&self, part: usize) -> Option<u64> {
        Some(self.0.records_before(part))
    }

    fn end_hint_ns(&self) -> Option<u64> {
        Some(self.0.due_range()?.1)
    }
}

/// Prints the time of each statistic of an archive, one line of JSON each.
pub fn measure(dir: &Path, which: &str) -> Result<()> {
    let file = Archive::open(dir)?.record_file()?.ok_or("the run has not ended")?;
    let stored = Stored(file);
    let nothing = Wanted::nothing();
    let demand = Some(DemandOptions::default());
    let wanted = match which {
        "read" => nothing,
        "figures" => Wanted { tally: true, ..nothing },
        "course" => Wanted { diagrams: Some(Detail::Course), ..nothing },
        "pictures" => Wanted { diagrams: Some(Detail::Full), ..nothing },
        "stalls" => Wanted { stalls: true, ..nothing },
        "demand" => Wanted { demand, ..nothing },
        "everything" => Wanted { tally: true, diagrams: Some(Detail::Full), stalls: true, demand, ..nothing },
        other => return Err(format!("{other}: there is no such statistic").into()),
    };
    let begin = Instant::now();
    let found = pass(&stored, 1, &Limits::default(), &wanted)?;
    let seconds = begin.elapsed().as_secs_f64();
    let cpu = own_cpu_time();
    println!(
        "{{\"records\":{},\"seconds\":{seconds},\"cpu_ns\":{},\"late\":{},\"peak_bytes\":{}}}",
        found.records,
        cpu.user_ns + cpu.system_ns,
        found.late,
        peak_bytes()?
    );
    Ok(())
}

/// Merges the counts of an archive `parts` times, as those of the ranks of a run, each from its stored form. Prints time and memory.
pub fn merge(dir: &Path, parts: u64) -> Result<()> {
    let limits = Limits::default();
    let counted = Counted { targets: 1, limits: Some(&limits), diagrams: Some(Detail::Full) };
    let bytes = {
        let mut counts = Partial::one_of(parts as usize, counted);
        let mut number = 0;
        Archive::open(dir)?.for_each_record(&mut |record| {
            counts.add(number, record);
            number += 1;
        })?;
        counts.as_one_of(parts as usize).to_bytes()
    };
    let begin = Instant::now();
    let (merged, failed) = merge_parts(parts as usize, |_| Partial::stored(counted, &bytes).map(Some));
    let merged = merged.filter(|_| failed.is_empty()).ok_or("counts could not be merged")?;
    let seconds = begin.elapsed().as_secs_f64();
    println!(
        "{{\"parts\":{parts},\"records\":{},\"part_bytes\":{},\"seconds\":{seconds},\"peak_bytes\":{}}}",
        merged.records(),
        bytes.len(),
        peak_bytes()?
    );
    Ok(())
}

/// Peak memory of this process.
fn peak_bytes() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kib << 10)
}
