//! Table of IOzone's options: spelling, argument, effect and help text.
//!
//! A new option is one entry here. Arguments are read through [`Call`], which refuses invalid numbers.

use crate::parse::{Call, Command};
use crate::settings::{Async, Settings};
use iosonar_dialect_common::UsageError;
use iosonar_plan::{ByteSize, Data, MapAdvice, MsyncPolicy, SyncFlag};

/// An option.
pub(crate) struct Opt {
    /// Name with its dash: `-a`, `-+n`, `--json`.
    pub(crate) name: &'static str,
    /// Argument, as in a synopsis.
    pub(crate) args: &'static str,
    /// One-line help.
    pub(crate) brief: &'static str,
    /// Parses the argument and applies the option.
    pub(crate) read: fn(&mut Call<'_>) -> Result<(), UsageError>,
}

/// Options of IOzone that are not implemented yet.
const LATER: &[(&str, &str)] = &[
    ("-+c", "clients are started by this program through the remote shell: use -+m FILE"),
    ("-+i", "clients answer through the remote shell, which needs no port: remove it"),
    ("-+s", "clients are started by this program through the remote shell: use -+m FILE"),
    ("-+t", "the network is not measured by itself: measure files with -+m and -t"),
];

/// Remedy for an option of IOzone that is not implemented.
pub(crate) fn later(name: &str) -> Option<&'static str> {
    LATER.iter().find(|(option, _)| *option == name).map(|(_, remedy)| *remedy)
}

/// Looks up an option by name.
pub(crate) fn find(name: &str) -> Option<&'static Opt> {
    TABLE.iter().find(|option| option.name == name)
}

fn set(call: &mut Call<'_>, change: impl FnOnce(&mut Settings)) -> Result<(), UsageError> {
    change(call.settings());
    Ok(())
}

/// Adds a notice that an option has no effect.
fn without_effect(call: &mut Call<'_>, why: &str) -> Result<(), UsageError> {
    let notice = format!("{} has no effect: {why}", call.name());
    set(call, |s| s.notices.push(notice))
}

/// Enables mmap, and keeps the strictest msync policy.
fn map(settings: &mut Settings, msync: MsyncPolicy) {
    let before = settings.mmap.unwrap_or_default();
    settings.mmap = Some(if before == MsyncPolicy::Sync { before } else { msync });
}

/// Range of `-+` options in percent.
const PERCENT: std::ops::RangeInclusive<u64> = 0..=100;
const MILLISECONDS: std::ops::RangeInclusive<u64> = 1..=3_600_000;
/// Advice by number of `-+A`.
const ADVICE: [MapAdvice; 5] =
    [MapAdvice::Normal, MapAdvice::Random, MapAdvice::Sequential, MapAdvice::DontNeed, MapAdvice::WillNeed];
const STREAMS: std::ops::RangeInclusive<u64> = 1..=1024;

macro_rules! table {
    ($($name:literal $args:literal $brief:literal $read:expr;)*) => {
        &[$(Opt { name: $name, args: $args, brief: $brief, read: $read }),*]
    };
}

/// Every option, by name.
pub(crate) static TABLE: &[Opt] = table! {
    "-a" "" "Measure all pairs of file and record sizes: files 64k to 512m, records 4k to 16m."
        |c| set(c, |s| s.auto = true);
    "-A" "" "Measure tests 0 and 1 with all pairs of sizes: -a -z -i 0 -i 1."
        |c| set(c, |s| {
            (s.auto, s.no_crossover) = (true, true);
            s.tests.extend([0, 1]);
            s.notices.push("-A is an old form of -a -z -i 0 -i 1".into());
        });
    "-b" "FILE" "Write a workbook: .xlsx, or IOzone's old form if the name ends in .xls or .wks."
        |c| { let file = c.word("the name of a file")?; set(c, |s| s.workbook = Some(file)) };
    "-B" "" "Map the files into memory for reads and writes."
        |c| set(c, |s| map(s, s.mmap.unwrap_or_default()));
    "-c" "" "Count the time of closing files."
        |c| set(c, |s| s.with_close = true);
    "-C" "" "Print the figures of each stream."
        |c| set(c, |s| s.per_stream = true);
    "-d" "MICROSECONDS" "Start streams one after the other, with this time between them."
        |c| { let us = c.number(0..=3_600_000_000)? as u32; set(c, |s| s.stagger_us = Some(us)) };
    "-D" "" "Map the files, and call msync with MS_ASYNC after each write."
        |c| set(c, |s| map(s, MsyncPolicy::Async));
    "-e" "" "Count the time of flushing what was written (fsync)."
        |c| set(c, |s| s.with_fsync = true);
    "-E" "" "Accepted for compatibility: tests 9 to 12 need no option here."
        |c| set(c, |_| ());
    "-f" "FILE" "Set the name of the test file. Default: iozone.tmp."
        |c| { let file = c.word("the name of a file")?; set(c, |s| s.file = Some(file)) };
    "-F" "FILE..." "Set the names of the test files, one for each stream; after -t."
        |c| { let files = c.files()?; set(c, |s| s.files = files) };
    "-g" "SIZE" "Set the largest file of the matrix (-a). Default: 512m."
        |c| { let size = c.size()?; set(c, |s| s.most_file = Some(size)) };
    "-G" "" "Map the files, and call msync with MS_SYNC after each write."
        |c| set(c, |s| map(s, MsyncPolicy::Sync));
    "-h" "" "Print this help."
        |c| c.answer(Command::Help);
    "-H" "DEPTH" "Use asynchronous requests of the C library, DEPTH of them beside the current one."
        |c| { let depth = c.number(0..=60_000)? as u32; c.asynchronous(Async { depth }) };
    "-i" "NUMBER" "Select a test, 0 to 12; may be repeated. Default: all."
        |c| { let number = c.number(0..=12)? as u8; set(c, |s| s.tests.push(number)) };
    "-I" "" "Bypass the page cache (O_DIRECT)."
        |c| set(c, |s| s.direct = true);
    "-j" "RECORDS" "Set the distance of requests in the stride test. Default: 17."
        |c| { let stride = c.number(1..=1 << 31)? as u32; set(c, |s| s.stride = Some(stride)) };
    "-J" "MILLISECONDS" "Busy-wait this long between requests; the time of a test excludes it."
        |c| { let ms = c.number(MILLISECONDS)? as u32; set(c, |s| s.think_ms = Some(ms)) };
    "-k" "DEPTH" "As -H: no data is copied in either case."
        |c| { let depth = c.number(0..=60_000)? as u32; c.asynchronous(Async { depth }) };
    "-K" "" "Read two other places before every 100th record of tests that read in order."
        |c| set(c, |s| s.jitter = true);
    "-l" "STREAMS" "Set the smallest number of streams."
        |c| { let n = c.number(STREAMS)? as u32; set(c, |s| s.least_streams = Some(n)) };
    "-L" "BYTES" "Accepted for compatibility: the size of a cache line."
        |c| { c.number(1..=1 << 20)?; without_effect(c, "no buffer depends on the size of a cache line") };
    "-m" "" "Use buffers of 16 MiB in turn, instead of the same one again."
        |c| set(c, |s| s.many_buffers = true);
    "-M" "" "Print the machine's name and kernel."
        |c| set(c, |s| s.machine = true);
    "-n" "SIZE" "Set the smallest file of the matrix (-a). Default: 64k."
        |c| { let size = c.size()?; set(c, |s| s.least_file = Some(size)) };
    "-N" "" "Print microseconds per operation."
        |c| set(c, |s| s.in_microseconds = true);
    "-o" "" "Open files with O_SYNC."
        |c| set(c, |s| s.sync = s.sync.max(SyncFlag::Sync));
    "-O" "" "Print operations per second."
        |c| set(c, |s| s.in_ops = true);
    "-p" "" "Purge the CPU cache before each test, by reading as much other memory."
        |c| set(c, |s| s.purge = true);
    "-q" "SIZE" "Set the largest record of the matrix (-a). Default: 16m."
        |c| { let size = c.record()?; set(c, |s| s.most_record = Some(size)) };
    "-Q" "" "Write the latencies of tests 0 and 1 into wol.dat, rwol.dat, rol.dat and rrol.dat."
        |c| set(c, |s| s.latency_files = true);
    "-r" "SIZE" "Set the size of a record; may be repeated. Default: 4k."
        |c| { let size = c.record()?; set(c, |s| s.records.push(size)) };
    "-P" "CPU" "Bind streams to CPUs in turn, the first one to this CPU."
        |c| { let cpu = c.number(0..=8191)? as u32; set(c, |s| s.first_cpu = Some(cpu)) };
    "-R" "" "Print a report for spreadsheets after the table."
        |c| set(c, |s| s.report = true);
    "-s" "SIZE" "Set the size of a file; may be repeated. Default: 512k."
        |c| { let size = c.size()?; set(c, |s| s.sizes.push(size)) };
    "-S" "KIB" "Set the size of the CPU cache that -p purges. Default: that of this machine."
        |c| { let kib = c.number(1..=1 << 20)?; set(c, |s| s.cpu_cache = Some(ByteSize(kib << 10))) };
    "-t" "STREAMS" "Measure this many streams together, each with a file; may be repeated."
        |c| { let n = c.number(STREAMS)? as u32; set(c, |s| s.streams.push(n)) };
    "-T" "" "Use threads as streams, instead of processes."
        |c| set(c, |s| s.threads = true);
    "-u" "STREAMS" "Set the largest number of streams."
        |c| { let n = c.number(STREAMS)? as u32; set(c, |s| s.most_streams = Some(n)) };
    "-U" "DIR" "Unmount DIR and mount it again before each test: the file system of the test file (-f)."
        |c| { let dir = c.word("a mount point")?; set(c, |s| s.remount = Some(dir)) };
    "-v" "" "Print the version."
        |c| c.answer(Command::Version);
    "-V" "BYTE" "Write this byte, and check every byte that is read."
        |c| { let byte = c.number(0..=255)? as u8; c.content(Data::Byte(byte)) };
    "-w" "" "Keep the test files."
        |c| set(c, |s| s.keep = true);
    "-W" "" "Lock files during each test: for writing or for reading."
        |c| set(c, |s| s.lock = true);
    "-x" "" "Let all streams finish, instead of ending with the first."
        |c| set(c, |s| s.no_stonewall = true);
    "-X" "FILE" "Write what the lines of this telemetry file say: offset, bytes, and a delay in ms."
        |c| { let file = c.word("the name of a file")?; set(c, |s| s.write_telemetry = Some(file)) };
    "-y" "SIZE" "Set the smallest record of the matrix (-a). Default: 4k."
        |c| { let size = c.record()?; set(c, |s| s.least_record = Some(size)) };
    "-Y" "FILE" "Read what the lines of this telemetry file say."
        |c| { let file = c.word("the name of a file")?; set(c, |s| s.read_telemetry = Some(file)) };
    "-z" "" "Measure records below 64k on files above 16m, too (-a)."
        |c| set(c, |s| s.no_crossover = true);
    "-+b" "SIZE,MILLISECONDS" "After this much data call fsync, then wait; the time of a test excludes the wait."
        |c| { let burst = c.burst(MILLISECONDS)?; set(c, |s| s.burst = Some(burst)) };
    "-Z" "" "Read and write the first page of mapped files through their descriptors, too."
        |c| set(c, |s| s.mixed_mmap = true);
    "-+A" "NUMBER" "Advise the kernel on mapped files: 0 normal, 1 random, 2 sequential, 3 dontneed, 4 willneed."
        |c| { let place = c.number(0..=4)? as usize; set(c, |s| s.advice = Some(ADVICE[place])) };
    "-+B" "" "Let the mixed test go from the start of each file to its end."
        |c| set(c, |s| s.mix_in_order = true);
    "-+C" "PERCENT" "Set the percent of the -+y part that is equal within a file only."
        |c| { let n = c.number(PERCENT)? as u8; set(c, |s| s.local_percent = Some(n)) };
    "-+d" "" "Write data that holds its place, and check every byte that is read."
        |c| c.content(Data::Sequenced);
    "-+D" "" "Open files with O_DSYNC."
        |c| set(c, |s| s.sync = s.sync.max(SyncFlag::Dsync));
    "-+E" "" "Read files that exist, and change nothing. Needs -i with reading tests."
        |c| set(c, |s| s.existing = true);
    "-+J" "" "Count the waiting of -J as part of the time of a test."
        |c| set(c, |s| s.with_think = true);
    "-+k" "" "Divide the size of -s among the streams."
        |c| set(c, |s| s.total_size = true);
    "-+K" "STREAMS" "Set the number of readers in the mixed test."
        |c| { let n = c.number(0..=1024)? as u32; set(c, |s| s.mix_readers = Some(n)) };
    "-+h" "NAME" "Accepted for compatibility: the name by which clients find this machine."
        |c| { c.word("a name")?; without_effect(c, "clients answer through the remote shell") };
    "-+m" "FILE" "Run each stream on the machine of a line: HOST DIRECTORY PROGRAM [TESTFILE]."
        |c| { let file = c.word("the name of a file")?; set(c, |s| s.cluster = Some(file)) };
    "-+l" "" "Lock the bytes of each request: for writing or for reading."
        |c| set(c, |s| s.lock_records = true);
    "-+L" "" "Let all streams use one file, and lock the bytes of each request."
        |c| set(c, |s| (s.shared, s.lock_records) = (true, true));
    "-+n" "" "Repeat no test: no rewrite, no reread."
        |c| set(c, |s| s.no_retest = true);
    "-+O" "RATE" "Issue this many operations per second in each stream."
        |c| { let rate = c.number(1..=1_000_000_000)? as u32; set(c, |s| s.rate = Some(rate)) };
    "-+p" "PERCENT" "Set the percent of readers in the mixed test."
        |c| { let n = c.number(PERCENT)? as u32; set(c, |s| s.mix_percent = Some(n)) };
    "-+q" "SECONDS" "Wait between tests."
        |c| { let pause = c.number(0..=86_400)? as u32; set(c, |s| s.pause_s = pause) };
    "-+r" "" "Open files with O_RSYNC and O_SYNC; on Linux both are the same flag."
        |c| set(c, |s| s.sync = SyncFlag::Rsync);
    "-+S" "NUMBER" "Set the seed of the bytes that are equal (-+w). Default: 1."
        |c| { let n = c.number(0..=(1 << 63) - 1)?; set(c, |s| s.equal_seed = Some(n)) };
    "-+T" "" "Write the times of each test into Child_N.log, for each stream."
        |c| set(c, |s| s.stamp_files = true);
    "-+u" "" "Print the CPU time of each test in percent: in the report (-R), or with -t."
        |c| set(c, |s| s.cpu = true);
    "-+V" "" "Let all streams use one file, without locks."
        |c| set(c, |s| s.shared = true);
    "-+w" "PERCENT" "Make this much of each record equal in all files, for targets that deduplicate."
        |c| { let n = c.number(PERCENT)? as u8; set(c, |s| s.equal_percent = Some(n)) };
    "-+W" "NUMBER" "Add this to the number of each stream in what is not equal (-+w). Default: 0."
        |c| { let n = c.number(0..=1 << 31)? as u32; set(c, |s| s.skew = Some(n)) };
    "-+x" "FACTOR" "Set the factor of both series of sizes (-a). Default: 2."
        |c| { let n = c.number(2..=1 << 20)?; set(c, |s| s.factor = Some(n)) };
    "-+X" "" "Write the byte 0xbb, and check every byte that is read."
        |c| c.content(Data::Byte(0xbb));
    "-+y" "PERCENT" "Make this much of the -+w part one word, equal within and across files."
        |c| { let n = c.number(PERCENT)? as u8; set(c, |s| s.constant_percent = Some(n)) };
    "-+z" "" "Write histograms of latencies into Iozone_histogram_child_N.txt, for each stream."
        |c| set(c, |s| s.histogram_files = true);
    "-+Z" "" "Write the byte 0xa5, and check every byte that is read."
        |c| c.content(Data::Byte(0xa5));
    "--cold" "" "Evict files from the page cache before each test that reads, and prove it."
        |c| set(c, |s| s.cold = true);
    "--csv" "FILE" "Write the cells as comma-separated values; -: to standard output."
        |c| { let file = c.output()?; set(c, |s| s.csv = Some(file)) };
    "--csv-safe" "" "Write an apostrophe before words of --csv that a spreadsheet would take for formulas."
        |c| set(c, |s| s.csv_safe = true);
    "--destroy" "" "Allow overwriting and deleting files that exist, and writing to block devices."
        |c| set(c, |s| s.destroy = true);
    "--dry-run" "" "List the cells and stop."
        |c| set(c, |s| s.dry_run = true);
    "--help" "" "Print this help."
        |c| c.answer(Command::Help);
    "--json" "FILE" "Write the cells as JSON; -: to standard output, and the table to standard error."
        |c| { let file = c.output()?; set(c, |s| s.json = Some(file)) };
    "--on" "HOST[:FILE]..." "Run streams on these machines through ssh, by turns: HOST, node[01-16], @FILE, or local."
        |c| { let hosts = c.words("the name of a host")?; set(c, |s| s.on.extend(hosts)) };
    "--order" "NAME" "Set the order of random tests: shuffled, by --seed, or iozone, always the same. Default: shuffled."
        |c| { let place = c.choice(&["shuffled", "iozone"])?; set(c, |s| s.iozone_order = place == 1) };
    "--out" "DIR" "Keep the archive, with every request, in this directory."
        |c| { let dir = c.word("the name of a directory")?; set(c, |s| s.out = Some(dir)) };
    "--sample-every" "TIME" "Set the interval between samples of the machine's counters, 10ms to 1h. Default: 1s."
        |c| { let interval = c.interval()?; set(c, |s| s.sample_every = Some(interval)) };
    "--seed" "NUMBER" "Set the seed of random orders. Default: 1."
        |c| { let seed = c.number(0..=(1 << 63) - 1)?; set(c, |s| s.seed = Some(seed)) };
    "--show-plan" "" "Print the plan as TOML and stop; 'iosonar run' runs it."
        |c| set(c, |s| s.show_plan = true);
    "--trace-offsets" "" "Print the offset of each request, a line each, before the table."
        |c| set(c, |s| s.trace_offsets = true);
    "--version" "" "Print the version."
        |c| c.answer(Command::Version);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_listed_once() {
        for (place, option) in TABLE.iter().enumerate() {
            assert!(TABLE[..place].iter().all(|other| other.name != option.name), "{}", option.name);
            assert!(later(option.name).is_none(), "{}", option.name);
        }
    }
}
