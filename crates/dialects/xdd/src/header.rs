//! Sections before the results: options, system, targets. Each line is `name, value`, so that it is also valid in a
//! comma-separated file.

use crate::facts::{HeaderFacts, PassAmount, StampFacts, SystemFacts, TargetFacts};
use crate::settings::ThrottleSettings;
use iosonar_plan::{Amount, Begins, Decimal, Ends, Lockstep, Nanos};
use jiff::Timestamp;
use std::fmt::Display;

const BANNER: &str = "IOIOIOIOIOIOIOIOIOIOI XDD IOIOIOIOIOIOIOIOIOIOIOI";

/// All sections before the results, in order.
pub fn header(options: &HeaderFacts, system: &SystemFacts, targets: &[TargetFacts]) -> String {
    let mut text = options_section(options);
    text.push('\n');
    text.push_str(&system_section(system));
    text.push_str("Target information,\n");
    for target in targets {
        text.push_str(&target_section(target));
    }
    text
}

/// Requested options of the whole run.
pub fn options_section(facts: &HeaderFacts) -> String {
    let mut lines = Lines::new("");
    lines.text(BANNER);
    lines.add("xdd - Version", plain(&facts.version));
    lines.add("Starting time for this run", plain(&facts.started));
    lines.add("ID for this run", format!("'{}'", plain(&facts.id)));
    lines.add("Maximum Process Priority", enabled(facts.max_priority));
    lines.add("Passes", facts.passes);
    lines.add("Pass Delay in seconds", seconds(facts.pass_delay));
    lines.add("Maximum Error Threshold", or_none(facts.max_errors));
    lines.add("Target Offset", facts.target_offset);
    lines.add("I/O Synchronization", facts.sync_io);
    lines.add("Total run-time limit in seconds", seconds(facts.run_time.unwrap_or_default()));
    lines.add("Output file name", plain(&facts.output));
    lines.add("CSV output file name", plain(&facts.csv_output));
    lines.add("Error output file name", plain(&facts.error_output));
    if let Some(name) = &facts.combined_output {
        lines.add("Combined output file name", plain(name));
    }
    lines.add("Pass seek randomization", enabled(facts.randomize));
    lines.add("File write synchronization", enabled(facts.sync_write));
    lines.add("Pass synchronization barriers", enabled(facts.barriers));
    if let Some(service) = &facts.time_service {
        lines.add("Timeserver hostname", plain(&service.host));
        lines.add("Timeserver port number", service.port);
        lines.add("Global start time", service.start);
    }
    lines.add("Number of Targets", facts.targets);
    lines.add("Number of I/O Threads", facts.io_threads);
    lines.text
}

/// Facts about the machine.
pub fn system_section(facts: &SystemFacts) -> String {
    let memory = u128::from(facts.page_size) * u128::from(facts.pages);
    let mut lines = Lines::new("");
    lines.add("Computer Name", format!("{}, User Name, {}", plain(&facts.computer), plain(&facts.user)));
    lines.add("OS release and version", plain(&facts.system));
    lines.add("Machine hardware type", plain(&facts.hardware));
    lines.add("Number of processors on this system", facts.processors);
    lines.add("Page size in bytes", facts.page_size);
    lines.add("Number of physical pages", facts.pages);
    lines.add("Megabytes of physical memory", memory >> 20);
    lines.add("Seconds before starting", seconds(facts.until_start));
    lines.text
}

/// Section of a target, or of one of its queue threads: its name after one tab, the rest after two.
pub fn target_section(facts: &TargetFacts) -> String {
    let mut text = format!("\tTarget[{}] Q[{}], {}\n", facts.number, facts.queue_thread, plain(&facts.name));
    let mut lines = Lines::new("\t\t");
    add_place(&mut lines, facts);
    add_amount(&mut lines, facts);
    add_data(&mut lines, facts);
    lines.add("Seek pattern", plain(&facts.seek_pattern));
    lines.add("Seek range", or_none(facts.seek_range));
    lines.add("Preallocation", facts.preallocation);
    lines.add("Queue Depth", facts.queue_depth);
    add_stamps(&mut lines, facts.stamps.as_ref());
    lines.add("Delete file", enabled(facts.delete_file));
    for pair in &facts.lockstep {
        add_lockstep(&mut lines, pair);
    }
    text.push_str(&lines.text);
    text
}

/// Last line of a run's results.
pub fn ending_line(ended: &str) -> String {
    format!("Ending time for this run, {}\n", plain(ended))
}

/// Formats date and time like `ctime`, in UTC: `Sun Sep 17 14:24:13 2006`.
pub fn ctime(unix_ns: u64) -> String {
    let time = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or(Timestamp::MAX);
    time.strftime("%a %b %e %H:%M:%S %Y").to_string()
}

fn add_place(lines: &mut Lines, facts: &TargetFacts) {
    let directory = if facts.directory.is_empty() { "./" } else { &facts.directory };
    lines.add("Target directory", format!("\"{}\"", plain(directory)));
    lines.add("Process ID", facts.process_id);
    if let Some(thread) = facts.thread_id {
        lines.add("Thread ID", thread);
    }
    lines.add("Processor", facts.processor.map_or("all/any".into(), |p| p.to_string()));
}

fn add_amount(lines: &mut Lines, facts: &TargetFacts) {
    let reads = facts.read_percent.as_f64();
    lines.add("Read/write ratio", format!("{reads:.2}, {:.2}", 100.0 - reads));
    match facts.throttle {
        Some(ThrottleSettings::Ops(ops)) => lines.add("Throttle in ops/sec", format!("{:6.2}", ops.as_f64())),
        Some(ThrottleSettings::Bandwidth(million)) => add_bandwidth(lines, million),
        None => add_bandwidth(lines, Decimal::whole(0)),
    }
    lines.add("Per-pass time limit in seconds", seconds(facts.time_limit.unwrap_or_default()));
    lines.add("Blocksize in bytes", facts.block_size);
    let bytes = u128::from(facts.request_blocks) * u128::from(facts.block_size);
    lines.add("Request size", format!("{}, blocks, {bytes}, bytes", facts.request_blocks));
    if let Some(requests) = facts.requests {
        lines.add("Number of Requests", requests);
    }
    lines.add("Start offset", facts.start_offset);
    match facts.amount {
        Some(PassAmount::MegaBytes(n)) => lines.add("Number of MegaBytes", n),
        Some(PassAmount::KiloBytes(n)) => lines.add("Number of KiloBytes", n),
        None => {}
    }
    lines.add("Pass Offset in blocks", facts.pass_offset);
}

fn add_bandwidth(lines: &mut Lines, million_bytes: Decimal) {
    lines.add("Throttle in MB/sec", format!("{:6.2}", million_bytes.as_f64()));
}

fn add_data(lines: &mut Lines, facts: &TargetFacts) {
    let kind = if facts.shared_memory { "shared memory segment" } else { "normal memory" };
    lines.add("I/O memory buffer", kind);
    lines.add("I/O memory buffer alignment in bytes", facts.alignment);
    lines.add("Data pattern in buffer", plain(&facts.data_pattern));
    lines.add("Data verification", plain(&facts.verification));
    lines.add("Direct I/O", enabled(facts.direct));
}

fn add_stamps(lines: &mut Lines, stamps: Option<&StampFacts>) {
    let Some(stamps) = stamps else {
        return lines.add("Timestamping", "disabled");
    };
    let mut text = String::from("enabled");
    if stamps.detailed || stamps.summary {
        text.push_str(" for");
    }
    for (is_on, word) in [(stamps.detailed, " DETAILED"), (stamps.summary, " SUMMARY")] {
        text.push_str(if is_on { word } else { "" });
    }
    lines.add("Timestamping", text);
    if let Some(name) = &stamps.text_file {
        lines.add("Timestamp ASCII output file name", plain(name));
    }
    if let Some(name) = &stamps.dump_file {
        lines.add("Timestamp binary output file name", plain(name));
    }
}

fn add_lockstep(lines: &mut Lines, pair: &Lockstep) {
    lines.add("Lockstep Master Target", pair.master);
    lines.add("Lockstep Slave Target", pair.slave);
    lines.add("Lockstep Interval", amount(pair.every));
    lines.add("Lockstep Task", amount(pair.task));
    let begins = match pair.begins {
        Begins::Wait => "wait",
        Begins::Run => "run",
    };
    lines.add("Lockstep Initial Condition", begins);
    let ends = match pair.ends {
        Ends::Complete => "complete",
        Ends::Stop => "stop",
    };
    lines.add("Lockstep Termination", ends);
}

/// Value and unit, in the largest unit of the options that is exact.
fn amount(amount: Amount) -> String {
    match amount {
        Amount::Time(time) => format!("{}, seconds", seconds(time)),
        Amount::Ops(ops) => format!("{ops}, operations"),
        Amount::Percent(percent) => format!("{percent}, percent"),
        Amount::Bytes(bytes) if bytes.0.is_multiple_of(1 << 20) => format!("{}, mbytes", bytes.0 >> 20),
        Amount::Bytes(bytes) if bytes.0.is_multiple_of(1 << 10) => format!("{}, kbytes", bytes.0 >> 10),
        Amount::Bytes(bytes) => format!("{}, bytes", bytes.0),
    }
}

struct Lines {
    indent: &'static str,
    text: String,
}

impl Lines {
    fn new(indent: &'static str) -> Lines {
        Lines { indent, text: String::new() }
    }

    fn text(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn add(&mut self, name: &str, value: impl Display) {
        let line = format!("{}{name}, {value}", self.indent);
        self.text(&line);
    }
}

fn enabled(is_on: bool) -> &'static str {
    if is_on { "enabled" } else { "disabled" }
}

fn or_none(number: Option<u64>) -> String {
    number.map_or("none".into(), |n| n.to_string())
}

/// Seconds without unit, exact and short: `0`, `1.5`.
fn seconds(time: Nanos) -> String {
    let (whole, rest) = (time.0 / 1_000_000_000, time.0 % 1_000_000_000);
    match rest {
        0 => whole.to_string(),
        _ => format!("{whole}.{rest:09}").trim_end_matches('0').to_string(),
    }
}

/// Makes `text` safe as part of one line: names may contain any character, even a line end.
fn plain(text: &str) -> String {
    iosonar_text::one_line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::ByteSize;

    #[test]
    fn dates_match_ctime() {
        assert_eq!(ctime(0), "Thu Jan  1 00:00:00 1970");
        assert_eq!(ctime(1_158_503_053_999_999_999), "Sun Sep 17 14:24:13 2006");
        assert!(!ctime(u64::MAX).is_empty());
    }

    #[test]
    fn formats_seconds_short_and_exact() {
        for (ns, text) in [(0, "0"), (1_500_000_000, "1.5"), (1, "0.000000001"), (10_000_000_000, "10")] {
            assert_eq!(seconds(Nanos(ns)), text);
        }
    }

    #[test]
    fn amounts_use_units_of_the_options() {
        for (given, text) in [
            (Amount::Time(Nanos(2_300_000_000)), "2.3, seconds"),
            (Amount::Ops(8), "8, operations"),
            (Amount::Percent(Decimal::whole(10)), "10, percent"),
            (Amount::Bytes(ByteSize(2 << 20)), "2, mbytes"),
            (Amount::Bytes(ByteSize(3 << 10)), "3, kbytes"),
            (Amount::Bytes(ByteSize(7)), "7, bytes"),
        ] {
            assert_eq!(amount(given), text);
        }
    }

    #[test]
    fn names_cannot_break_their_line() {
        let facts = HeaderFacts { id: "a\nPasses, 9".into(), ..HeaderFacts::default() };
        let text = options_section(&facts);
        assert!(text.contains("ID for this run, 'a\\nPasses, 9'\n"), "{text}");
        assert_eq!(text.lines().filter(|l| l.starts_with("Passes,")).count(), 1);
    }
}
