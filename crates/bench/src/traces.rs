//! Traces of any length in every form that `convert` reads, all of the same synthetic requests.

use iosonar_plan::{Extent, Nanos, Op, SECTOR};
use iosonar_trace::blkreplay::{LOAD_HEADER, write_load};
use iosonar_trace::fio::{FioWriter, Version};
use iosonar_trace::{Kind, SeekListWriter, Traced};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// `dev_t` of the synthetic disk 8,16, as the kernel packs it.
const DEVICE: u32 = 8 << 20 | 16;
/// Process of all requests.
const PID: u32 = 4711;
const NAME: &str = "postgres";
/// Upper bound of latencies, which limits how far a completion is away.
const LONGEST_NS: u64 = 250_000;

/// A synthetic request: 20 µs after the previous one on average, with about 8 others in flight.
#[derive(Clone, Copy)]
struct Made {
    time: u64,
    latency: u64,
    op: Op,
    sector: u64,
    sectors: u64,
}

impl Made {
    fn traced(self) -> Traced {
        let extent = Extent { offset: self.sector * SECTOR, length: self.sectors * SECTOR };
        Traced::new(0, Nanos(self.time), Kind::from(self.op), extent)
    }
}

fn requests(count: u64) -> impl Iterator<Item = Made> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut time = 0;
    (0..count).map(move |_| {
        let (draw, place) = (random.next_u64(), random.next_u64());
        time += draw % 40_000;
        let latency = 50_000 + (draw >> 20) % (LONGEST_NS - 50_000);
        let op = if draw >> 62 == 0 { Op::Write } else { Op::Read };
        // Pages of 4 KiB in 1 TiB.
        Made { time, latency, op, sector: place % (1 << 28) * 8, sectors: 8 << (draw >> 59 & 3) }
    })
}

/// Makes a trace of `count` requests in a form; for `blktrace` the two files of a machine with two CPUs.
pub fn make(form: &str, path: &Path, count: u64) -> Result<()> {
    match form {
        "blktrace" => return blktrace(path, count),
        "fio" => return fio(path, count),
        _ => {}
    }
    let mut out = BufWriter::new(File::create(path)?);
    let all = requests(count);
    match form {
        "load" => load(&mut out, all)?,
        "seek-list" => return seek_list(out, all),
        "diskmon" => each(&mut out, all, disk_mon)?,
        "fio-latency" => each(&mut out, all, |out, _, r| fio_latency(out, r))?,
        "msr" => each(&mut out, all, |out, _, r| msr(out, r))?,
        "alibaba" => each(&mut out, all, |out, _, r| alibaba(out, r))?,
        "tencent" => each(&mut out, all, |out, _, r| tencent(out, r))?,
        "spc" => each(&mut out, all, |out, _, r| spc(out, r))?,
        "fiu" => each(&mut out, all, |out, _, r| fiu(out, r))?,
        "netapp" => each(&mut out, all, |out, _, r| net_app(out, r))?,
        "blkparse" => events(all, |n, event| blkparse(&mut out, n, event))?,
        "ftrace" => events(all, |_, event| ftrace(&mut out, event))?,
        other => return Err(format!("{other}: there is no such form").into()),
    }
    Ok(out.flush()?)
}

type Out = BufWriter<File>;

fn each(
    out: &mut Out,
    all: impl Iterator<Item = Made>,
    write: impl Fn(&mut Out, u64, Made) -> std::io::Result<()>,
) -> std::io::Result<()> {
    (0..).zip(all).try_for_each(|(n, request)| write(out, n, request))
}

fn load(out: &mut Out, mut all: impl Iterator<Item = Made>) -> std::io::Result<()> {
    writeln!(out, "{LOAD_HEADER}")?;
    all.try_for_each(|r| write_load(out, Nanos(r.time), r.op, r.sector, r.sectors))
}

fn seek_list(out: Out, all: impl Iterator<Item = Made>) -> Result<()> {
    let mut list = SeekListWriter::new(out, SECTOR)?;
    for request in all {
        list.push(&request.traced())?;
    }
    Ok(list.end().flush()?)
}

fn fio(path: &Path, count: u64) -> Result<()> {
    let mut log = FioWriter::new(BufWriter::new(File::create(path)?), Version::Three, "/dev/sdb")?;
    for request in requests(count) {
        log.push(&request.traced())?;
    }
    Ok(log.end()?.flush()?)
}

/// Writes a row of `write_lat_log` with offsets: completion time in milliseconds, latency, and direction.
fn fio_latency(out: &mut Out, r: Made) -> std::io::Result<()> {
    let (end_ms, direction) = ((r.time + r.latency) / 1_000_000, u8::from(r.op.is_write()));
    let (bytes, offset) = (r.sectors * SECTOR, r.sector * SECTOR);
    writeln!(out, "{end_ms}, {}, {direction}, {bytes}, {offset}, 0", r.latency)
}

fn disk_mon(out: &mut Out, n: u64, r: Made) -> std::io::Result<()> {
    let seconds = |ns: u64| (ns / 1_000_000_000, ns % 1_000_000_000 / 10);
    let ((time, part), (long, longer)) = (seconds(r.time), seconds(r.latency));
    let op = if r.op.is_write() { "Write" } else { "Read" };
    writeln!(out, "{n}\t{time}.{part:08}\t{long}.{longer:08}\t0\t{op}\t{}\t{}", r.sector, r.sectors)
}

/// 2008, in units of 100 ns since 1601.
const TICKS_OF_2008: u64 = 128_166_372_003_061_629;
/// 2020, in microseconds since 1970; 2018, in seconds.
const MICROS_OF_2020: u64 = 1_577_808_144_360_767;
const SECONDS_OF_2018: u64 = 1_538_323_200;

fn msr(out: &mut Out, r: Made) -> std::io::Result<()> {
    let op = if r.op.is_write() { "Write" } else { "Read" };
    let (time, took) = (TICKS_OF_2008 + r.time / 100, r.latency / 100);
    writeln!(out, "{time},usr,0,{op},{},{},{took}", r.sector * SECTOR, r.sectors * SECTOR)
}

fn alibaba(out: &mut Out, r: Made) -> std::io::Result<()> {
    let time = MICROS_OF_2020 + r.time / 1000;
    writeln!(out, "419,{},{},{},{time}", r.op.letter(), r.sector * SECTOR, r.sectors * SECTOR)
}

fn tencent(out: &mut Out, r: Made) -> std::io::Result<()> {
    let time = SECONDS_OF_2018 + r.time / 1_000_000_000;
    writeln!(out, "{time},{},{},{},1063", r.sector, r.sectors, u8::from(r.op.is_write()))
}

fn spc(out: &mut Out, r: Made) -> std::io::Result<()> {
    let (seconds, micros) = (r.time / 1_000_000_000, r.time % 1_000_000_000 / 1000);
    writeln!(out, "0,{},{},{},{seconds}.{micros:06}", r.sector, r.sectors * SECTOR, r.op.letter())
}

fn net_app(out: &mut Out, r: Made) -> std::io::Result<()> {
    let micros = |nanos: u64| format!("{}.{:03}", nanos / 1000, nanos % 1000);
    let (time, op, took) = (micros(r.time), if r.op.is_write() { "WR" } else { "RD" }, micros(r.latency));
    writeln!(out, "28,{time},0,{op},1,0,7,3,0,0,{},{},0,7,3,{took}", r.sector, r.sectors)
}

fn fiu(out: &mut Out, r: Made) -> std::io::Result<()> {
    writeln!(out, "{} 1234 fio {} {} {} 6 0 0a1b2c3d", r.time, r.sector, r.sectors, r.op.letter())
}

/// Submission or completion of a request.
#[derive(Clone, Copy)]
struct Event {
    time: u64,
    is_end: bool,
    request: Made,
}

/// Calls a function for both events of each request, ordered by time, with their numbers.
fn events<E>(
    all: impl Iterator<Item = Made>,
    mut each: impl FnMut(u64, Event) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let mut ends: BTreeMap<(u64, u64), Made> = BTreeMap::new();
    let mut number = 0;
    let mut tell = |time, is_end, request| {
        number += 1;
        each(number, Event { time, is_end, request })
    };
    for (n, request) in (0u64..).zip(all) {
        while let Some(end) = ends.first_entry().filter(|end| end.key().0 <= request.time) {
            let ((time, _), request) = end.remove_entry();
            tell(time, true, request)?;
        }
        tell(request.time, false, request)?;
        ends.insert((request.time + request.latency, n), request);
    }
    ends.into_iter().try_for_each(|((time, _), request)| tell(time, true, request))
}

/// Seconds and nanoseconds.
fn split(ns: u64) -> (u64, u64) {
    (ns / 1_000_000_000, ns % 1_000_000_000)
}

fn blkparse(out: &mut Out, n: u64, e: Event) -> std::io::Result<()> {
    let ((seconds, nanos), Made { op, sector, sectors, .. }) = (split(e.time), e.request);
    let (pid, action, behind) = if e.is_end { (0, 'C', "0") } else { (PID, 'Q', NAME) };
    let letters = if op.is_write() { "WS" } else { "R" };
    writeln!(
        out,
        "{:3},{:<3} {:2} {n:8} {seconds:5}.{nanos:09} {pid:5} {action:>2} {letters:>3} {sector} + {sectors} [{behind}]",
        DEVICE >> 20,
        DEVICE & 0xf_ffff,
        n & 1
    )
}

fn ftrace(out: &mut Out, e: Event) -> std::io::Result<()> {
    let ((seconds, nanos), Made { op, sector, sectors, .. }) = (split(e.time), e.request);
    let (micros, cpu) = (nanos / 1000, e.time & 1);
    let letters = if op.is_write() { "WS" } else { "R" };
    let (task, name, bytes, behind) = match e.is_end {
        false => (format!("{NAME}-{PID}"), "block_bio_queue", "", NAME),
        true => ("<idle>-0".to_string(), "block_rq_complete", "() ", "0"),
    };
    // Newer kernels print a request's priority.
    let priority = if e.is_end { " none,0,0" } else { "" };
    writeln!(
        out,
        "{task:>23} [{cpu:03}] d..1. {seconds:5}.{micros:06}: {name}: 8,16 {letters} {bytes}{sector} + {sectors}{priority} [{behind}]"
    )
}

/// blktrace's version 7 (the kernel's `include/uapi/linux/blktrace_api.h`), in this machine's byte order.
fn blktrace(path: &Path, count: u64) -> Result<()> {
    let file = |cpu: u32| File::create(format!("{}.blktrace.{cpu}", path.display())).map(BufWriter::new);
    let mut files = [file(0)?, file(1)?];
    let name = [NAME.as_bytes(), &[0; 16 - NAME.len()]].concat();
    for out in &mut files {
        out.write_all(&head(0, 0, 0, 1 << 26, name.len() as u16))?;
        out.write_all(&name)?;
    }
    events(requests(count), |n, e| {
        let Made { op, sector, sectors, .. } = e.request;
        let category = if op.is_write() { 1 << 1 | 1 << 3 } else { 1 };
        let action = category << 16 | if e.is_end { 8 } else { 1 };
        files[n as usize & 1].write_all(&head(e.time, sector, (sectors * SECTOR) as u32, action, 0))
    })?;
    files.iter_mut().try_for_each(Write::flush)?;
    Ok(())
}

fn head(time: u64, sector: u64, bytes: u32, action: u32, data: u16) -> [u8; 48] {
    let mut head = [0; 48];
    let mut put = |at: usize, bytes: &[u8]| head[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &0x6561_7407_u32.to_ne_bytes());
    put(8, &time.to_ne_bytes());
    put(16, &sector.to_ne_bytes());
    for (at, word) in [(24, bytes), (28, action), (32, PID), (36, DEVICE)] {
        put(at, &word.to_ne_bytes());
    }
    put(46, &data.to_ne_bytes());
    head
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_trace::Format;

    #[test]
    fn every_generated_format_is_detected() {
        let dir = tempfile::tempdir().unwrap();
        for form in Format::NAMES.into_iter().filter(|form| *form != "parquet") {
            let path = dir.path().join(form);
            make(form, &path, 100).unwrap();
            let first = if form == "blktrace" { path.with_extension("blktrace.1") } else { path };
            let found = Format::recognise(&std::fs::read(first).unwrap()).unwrap();
            let wanted = Format::of_name(form).unwrap();
            assert_eq!(found.to_string(), wanted.to_string(), "{form}");
        }
        assert!(make("nothing", &dir.path().join("x"), 1).is_err());
    }

    #[test]
    fn events_are_in_time_order() {
        let mut last = 0;
        let mut count = 0;
        let each = |n: u64, event: Event| {
            assert!(event.time >= last && n == count + 1);
            (last, count) = (event.time, n);
            Ok::<(), ()>(())
        };
        events(requests(1000), each).unwrap();
        assert_eq!(count, 2000);
    }
}
