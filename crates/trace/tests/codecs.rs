//! Round trips of read-only traces, through texts and bytes made by writers in this file.

use iosonar_plan::{Extent, Nanos, SECTOR};
use iosonar_trace::kernel::blkparse::{Blkparse, COMMON};
use iosonar_trace::kernel::blktrace::Blktrace;
use iosonar_trace::kernel::ftrace::Ftrace;
use iosonar_trace::kernel::{Action, Device, Event, Events, Merged, Rwbs};
use iosonar_trace::tables::{Rows, Table};
use iosonar_trace::{Entry, Flags, Kind, Process, Requests};
use proptest::prelude::*;
use std::fmt::Write;

/// A row of a table: time, place and length in units of the table, and process.
#[derive(Debug, Clone)]
struct Row {
    time: u64,
    latency: u64,
    is_write: bool,
    sector: u64,
    sectors: u64,
    device: u8,
}

prop_compose! {
    fn rows()(rows in prop::collection::vec(
        (0u64..1 << 40, 0u64..1 << 40, any::<bool>(), 0u64..1 << 50, 1u64..1 << 20, 0u8..4), 0..30,
    )) -> Vec<Row> {
        let row = |(time, latency, is_write, sector, sectors, device)| Row { time, latency, is_write, sector, sectors, device };
        rows.into_iter().map(row).collect()
    }
}

/// Nanoseconds per unit of a table's times, and their origin.
fn units(table: Table) -> (u64, u64) {
    match table {
        Table::DiskMon => (10, 0),
        // 1601, in units of 100 ns before 1970.
        Table::Msr => (100, 116_444_736_000_000_000),
        Table::Alibaba => (1000, 0),
        Table::Tencent => (1_000_000_000, 0),
        Table::Spc | Table::NetApp => (1000, 0),
        Table::Fiu => (1, 0),
    }
}

/// Formats the row for its table; times of all tables stay below 2^63 ns.
fn line(table: Table, row: &Row) -> String {
    let Row { latency, sector, sectors, device, is_write, .. } = *row;
    let time = told_time(table, row);
    let (word, letter) = if is_write { ("Write", "W") } else { ("Read", "R") };
    let (offset, length) = (sector * SECTOR, sectors * SECTOR);
    match table {
        Table::DiskMon => {
            let seconds = |t: u64| format!("{}.{:08}", t / 100_000_000, t % 100_000_000);
            format!("7\t{}\t{}\t{device}\t{word}\t{sector}\t{sectors}", seconds(time), seconds(latency))
        }
        Table::Msr => format!("{},host,{device},{word},{offset},{length},{latency}", time + units(table).1),
        Table::Alibaba => format!("{device},{letter},{offset},{length},{time}"),
        Table::Tencent => format!("{time},{sector},{sectors},{},{device}", u8::from(is_write)),
        Table::Spc => {
            format!("{device},{sector},{length},{letter},{}.{:06}", time / 1_000_000, time % 1_000_000)
        }
        Table::NetApp => {
            let (command, latency) = (if is_write { "WR" } else { "RD_IN" }, latency % (1 << 43));
            format!("28,{time}.000,0,{command},1,0,7,{device},0,0,{sector},{sectors},0,7,3,{latency}.000")
        }
        Table::Fiu => format!("{time} 12 fio {sector} {sectors} {letter} 8 {device} 00ff"),
    }
}

fn told_time(table: Table, row: &Row) -> u64 {
    row.time % (i64::MAX as u64 / units(table).0)
}

/// Small distinct times: the list is in time order.
fn events() -> impl Strategy<Value = Vec<Event>> {
    let small = (0usize..5, 0usize..3, 0u8..32, 0usize..4, 0usize..3);
    let one = (small, 1u64..1 << 30, 0u64..1 << 50, 1u64..1 << 20, 0i32..4096);
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let mut time = 0;
        let mut event = |((action, kind, flags, process, device), later, sector, sectors, error)| {
            time += 1000 * later;
            let action =
                [Action::Queue, Action::GetRequest, Action::Insert, Action::Issue, Action::Complete][action];
            let error = if action == Action::Complete { error } else { 0 };
            let (pid, name): (u32, &str) =
                [(7, "fio"), (4711, "Web Content"), (12, "kworker/1:1H-kb"), (4_000_001, "jbd2/sda1-8")]
                    [process];
            let (major, minor) = [(8, 16), (259, 3), (4095, 1_048_575)][device];
            Event {
                at: 0,
                time: Nanos(time),
                action,
                device: Device::new(major, minor).unwrap(),
                sector,
                bytes: sectors * SECTOR,
                rwbs: Rwbs { kind: [Kind::Read, Kind::Write, Kind::Discard][kind], flags: Flags(flags) },
                process: Process::new(pid, name.as_bytes()),
                error,
            }
        };
        all.into_iter().map(&mut event).collect()
    })
}

fn letters(rwbs: Rwbs) -> String {
    let mut text = String::new();
    let has = |flag| rwbs.flags.has(flag);
    let letters = [
        (has(Flags::PREFLUSH), "F"),
        (rwbs.kind == Kind::Read, "R"),
        (rwbs.kind == Kind::Write, "W"),
        (rwbs.kind == Kind::Discard, "D"),
        (has(Flags::FUA), "F"),
        (has(Flags::AHEAD), "A"),
        (has(Flags::SYNC), "S"),
        (has(Flags::META), "M"),
    ];
    letters.iter().filter(|(is_there, _)| *is_there).for_each(|(_, letter)| text.push_str(letter));
    text
}

fn read(mut events: impl Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(entry) = events.next().unwrap() {
        match entry {
            Entry::One(event) => all.push(Event { at: 0, ..*event }),
            Entry::Bad(bad) => panic!("{bad}"),
        }
    }
    all
}

/// The process of a completion is the interrupted one: texts have no name there.
fn without_interrupted(events: &[Event]) -> Vec<Event> {
    let told = |e: &Event| {
        let name = if e.action == Action::Complete { [0; 16] } else { e.process.name };
        Event { process: Process { name, ..e.process }, ..*e }
    };
    events.iter().map(told).collect()
}

/// `struct blk_io_trace` of version 7, in either byte order.
fn blktrace(
    out: &mut Vec<u8>,
    big: bool,
    time: u64,
    words: [u64; 2],
    small: [u32; 4],
    error: u16,
    data: &[u8],
) {
    let mut put = |le: &[u8]| {
        let mut bytes = le.to_vec();
        if big {
            bytes.reverse();
        }
        out.extend(bytes);
    };
    let [sector, sequence] = words;
    put(&0x6561_7407_u32.to_le_bytes());
    put(&(sequence as u32).to_le_bytes());
    put(&time.to_le_bytes());
    put(&sector.to_le_bytes());
    small.iter().for_each(|word| put(&word.to_le_bytes()));
    put(&0u32.to_le_bytes());
    put(&error.to_le_bytes());
    put(&(data.len() as u16).to_le_bytes());
    out.extend(data);
}

fn category(rwbs: Rwbs) -> u32 {
    let has = |flag, bit: u32| if rwbs.flags.has(flag) { 1 << bit } else { 0 };
    let kind = match rwbs.kind {
        Kind::Read => 1,
        Kind::Write => 1 << 1,
        _ => 1 << 13 | 1 << 1,
    };
    kind | has(Flags::PREFLUSH, 2)
        | has(Flags::SYNC, 3)
        | has(Flags::AHEAD, 11)
        | has(Flags::META, 12)
        | has(Flags::FUA, 15)
}

fn number(action: Action) -> u32 {
    match action {
        Action::Queue => 1,
        Action::GetRequest => 4,
        Action::Insert => 12,
        Action::Issue => 7,
        _ => 8,
    }
}

/// Files of two CPUs; a process is named once, on the CPU where it comes first.
fn cpu_files(events: &[Event], big: bool) -> [Vec<u8>; 2] {
    let (mut files, mut named) = ([Vec::new(), Vec::new()], Vec::new());
    for (n, event) in (0u64..).zip(events) {
        let file = &mut files[(event.sector % 2) as usize];
        let Process { pid, name } = event.process;
        if !named.contains(&pid) {
            named.push(pid);
            blktrace(file, big, event.time.0 - 1, [0, n], [0, 1 << 26, pid, 0], 0, &name);
        }
        let action = category(event.rwbs) << 16 | number(event.action);
        let small = [event.bytes as u32, action, pid, event.device.0];
        blktrace(file, big, event.time.0, [event.sector, n], small, (event.error as u16).wrapping_neg(), b"");
    }
    files
}

/// Formats a line as blkparse(1) does.
fn blkparse(form: &str, event: &Event) -> String {
    let (mut out, mut rest) = (String::new(), form.chars().peekable());
    let name = event.process.name();
    while let Some(c) = rest.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut width = String::new();
        while let Some(digit) = rest.next_if(char::is_ascii_digit) {
            width.push(digit);
        }
        let (seconds, nanos) = (event.time.0 / 1_000_000_000, event.time.0 % 1_000_000_000);
        let is_end = event.action == Action::Complete;
        let text = match rest.next().unwrap() {
            'a' => event.action.name().chars().next().unwrap().to_string(),
            'c' => "1".into(),
            // The default form has the error of a completion in the place of a name, as a 16-bit number.
            'C' if is_end && form == COMMON[0] => (event.error as u16).wrapping_neg().to_string(),
            'C' => name.to_string(),
            'd' => letters(event.rwbs),
            'D' => format!("{:3},{:<3}", event.device.0 >> 20, event.device.0 & 0xf_ffff),
            'M' => (event.device.0 >> 20).to_string(),
            'm' => (event.device.0 & 0xf_ffff).to_string(),
            'n' => (event.bytes / SECTOR).to_string(),
            'N' => event.bytes.to_string(),
            'p' => event.process.pid.to_string(),
            's' => "42".into(),
            'S' => event.sector.to_string(),
            't' => format!("{nanos:09}"),
            'T' => seconds.to_string(),
            other => panic!("%{other}"),
        };
        let width: usize = width.parse().unwrap_or(0);
        write!(out, "{text:>width$}").unwrap();
    }
    out.push('\n');
    out
}

/// The part of an event that a blkparse format contains.
fn told_by(form: &str, event: &Event) -> Event {
    let has = |field: &str| form.contains(field);
    let is_end = event.action == Action::Complete;
    Event {
        device: if has("%D") || has("%M") { event.device } else { Device::default() },
        error: if form == COMMON[0] { event.error } else { 0 },
        rwbs: if has("%d") || has("%3d") { event.rwbs } else { Rwbs::parse(b"") },
        process: Process {
            pid: if has("p ") || has("p,") { event.process.pid } else { 0 },
            name: if has("%C") && !is_end { event.process.name } else { [0; 16] },
        },
        ..*event
    }
}

/// A line of the kernel's text, or of perf's.
fn ftrace(event: &Event, by_perf: bool) -> String {
    let Process { pid, .. } = event.process;
    let (name, micros) = (event.process.name(), event.time.0 / 1000);
    let (seconds, micros) = (micros / 1_000_000, micros % 1_000_000);
    let (device, letters) = (event.device, letters(event.rwbs));
    let (place, bytes) = (format!("{} + {}", event.sector, event.bytes / SECTOR), event.bytes);
    let fields = match event.action {
        Action::Queue => format!("block_bio_queue: {device} {letters} {place} [{name}]"),
        Action::GetRequest => format!("block_getrq: {device} {letters} {place} [{name}]"),
        Action::Insert => format!("block_rq_insert: {device} {letters} {bytes} () {place} none,0,0 [{name}]"),
        Action::Issue => format!("block_rq_issue: {device} {letters} {bytes} () {place} [{name}]"),
        _ => format!("block_rq_complete: {device} {letters} () {place} none,0,0 [{}]", -event.error),
    };
    if by_perf {
        format!("{name:>16} {pid:>7} [001] {seconds:>5}.{micros:06}: block:{fields}\n")
    } else {
        format!("{name:>16}-{pid:<7} [001] d..1. {seconds:>5}.{micros:06}: {fields}\n")
    }
}

proptest! {
    #[test]
    fn rows_of_tables_read_back(rows in rows()) {
        for table in Table::ALL {
            let text: String = rows.iter().map(|row| line(table, row) + "\n").collect();
            let mut reader = Rows::new(text.as_bytes(), table);
            let mut found = Vec::new();
            while let Some(entry) = reader.next().unwrap() {
                let Entry::One(r) = entry else { panic!("{table:?}: {entry:?}") };
                found.push((r.time, r.extent, r.kind, r.latency, reader.devices()[r.device as usize].clone()));
            }
            let want = |row: &Row| {
                let (unit, _) = units(table);
                let latency = matches!(table, Table::DiskMon | Table::Msr | Table::NetApp).then(|| Nanos(row.latency * unit));
                let device = match table {
                    Table::DiskMon => format!("disk{}", row.device),
                    Table::Msr => format!("host{}", row.device),
                    Table::Spc => format!("asu{}", row.device),
                    Table::NetApp => format!("lun{}", row.device),
                    Table::Fiu => format!("8,{}", row.device),
                    _ => row.device.to_string(),
                };
                let extent = Extent { offset: row.sector * SECTOR, length: row.sectors * SECTOR };
                let kind = if row.is_write { Kind::Write } else { Kind::Read };
                (Nanos(told_time(table, row) * unit), extent, kind, latency, device)
            };
            prop_assert_eq!(found, rows.iter().map(want).collect::<Vec<_>>(), "{:?}", table);
        }
    }

    #[test]
    fn files_of_blktrace_read_back(events in events(), big: bool) {
        let files = cpu_files(&events, big);
        let found = read(Merged::new(files.iter().map(|file| Blktrace::new(file.as_slice()))));
        prop_assert_eq!(found, events);
    }

    #[test]
    fn texts_of_blkparse_read_back(events in events()) {
        for form in COMMON {
            let text: String = events.iter().map(|event| blkparse(form, event)).collect();
            let found = read(Blkparse::new(text.as_bytes(), form.parse().unwrap()));
            let want: Vec<Event> = events.iter().map(|event| told_by(form, event)).collect();
            prop_assert_eq!(without_interrupted(&found), want, "{}", form);
        }
    }

    #[test]
    fn texts_of_tracepoints_read_back(events in events(), by_perf: bool) {
        let text: String = events.iter().map(|event| ftrace(event, by_perf)).collect();
        prop_assert_eq!(without_interrupted(&read(Ftrace::new(text.as_bytes()))), without_interrupted(&events));
    }
}
