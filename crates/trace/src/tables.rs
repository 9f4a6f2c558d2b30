//! Traces in tables, one request per row: Windows DiskMon, MSR Cambridge (SNIA), Alibaba and Tencent block traces, SPC
//! (UMass), FIU (SNIA), NetApp.

use crate::request::{Bad, Entry, Kind, Names, Next, Pairing, Process, Requests, Traced};
use crate::text::{Lines, micros, seconds, whole, words};
use iosonar_plan::{Extent, Nanos};
use std::io::BufRead;

/// Kind of table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Table {
    /// Sysinternals DiskMon: number, time in seconds, duration, disk, Read or Write, sector, sectors; separated by blanks.
    DiskMon,
    /// `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`: times in 100 ns since 1601, places in bytes.
    Msr,
    /// `device_id,opcode,offset,length,timestamp`: times in microseconds since 1970, places in bytes.
    Alibaba,
    /// `Timestamp,Offset,Size,IOType,VolumeID`: times in seconds since 1970, places in sectors, 0 reads and 1 writes.
    Tencent,
    /// `ASU,LBA,Size,Opcode,Timestamp` of the Storage Performance Council, as UMass publishes its traces: places in
    /// sectors, sizes in bytes, times in seconds since the start. Later columns are optional and ignored.
    Spc,
    /// `timestamp pid process lba size op major minor md5` of FIU, as published by SNIA: times in nanoseconds of a
    /// clock that started earlier, places and sizes in sectors.
    Fiu,
    /// A dump of NetApp's E-Series, as hfplayer replays it: its 16 columns, or 17 with `ABS_SECS.D` as the second one. Times in
    /// microseconds since the start, places in blocks of 512 bytes.
    NetApp,
}

/// From 1601, where Windows starts to count, to 1970, in units of 100 ns.
const TICKS_TO_1970: u64 = 116_444_736_000_000_000;

impl Table {
    /// Every table, in the order of detection.
    pub const ALL: [Table; 7] =
        [Table::Msr, Table::Alibaba, Table::Tencent, Table::Spc, Table::Fiu, Table::NetApp, Table::DiskMon];

    /// Whether times count from a date, not from the start of the trace.
    pub fn is_dated(self) -> bool {
        !matches!(self, Table::DiskMon | Table::Spc | Table::NetApp)
    }

    /// Parses a row into request and device name.
    fn row<'a>(self, at: u64, text: &'a str) -> Result<(Traced, Device<'a>), String> {
        match self {
            Table::DiskMon => disk_mon(at, text),
            Table::Msr => msr(at, text),
            Table::Alibaba => alibaba(at, text),
            Table::Tencent => tencent(at, text),
            Table::Spc => spc(at, text),
            Table::Fiu => fiu(at, text),
            Table::NetApp => net_app(at, text),
        }
    }

    /// Separator between the two parts of a device's name.
    fn between(self) -> &'static str {
        if self == Table::Fiu { "," } else { "" }
    }

    /// Whether a line is a row of this table.
    pub fn recognises(self, line: &str) -> bool {
        self.row(1, line.trim()).is_ok()
    }

    /// Whether a line is neither a row nor meant as one: headers and comments.
    fn is_text(line: &str) -> bool {
        !line.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+')
    }
}

/// Device name, in one part or two.
type Device<'a> = (&'a str, &'a str);

fn fields<'a, const N: usize>(text: &'a str, names: [&str; N]) -> Result<[&'a str; N], String> {
    let mut found = [""; N];
    let mut parts = text.split(',').map(str::trim);
    for (field, name) in found.iter_mut().zip(names) {
        *field = parts.next().filter(|p| !p.is_empty()).ok_or_else(|| format!("the {name} is missing"))?;
    }
    match parts.next() {
        Some(_) => Err(format!("it has more than {N} columns")),
        None => Ok(found),
    }
}

fn number(name: &str, text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("the {name} '{text}' is no whole number, or too large"))
}

fn bytes(offset: u64, length: u64) -> Result<Extent, String> {
    if length == 0 {
        return Err("the length is 0".into());
    }
    Extent::new(offset, length).ok_or_else(beyond)
}

fn beyond() -> String {
    "it ends beyond 2^63 bytes, the largest offset that Linux knows".into()
}

fn sectors(sector: u64, sectors: u64) -> Result<Extent, String> {
    if sectors == 0 {
        return Err("the length is 0".into());
    }
    Extent::from_sectors(sector, sectors).ok_or_else(beyond)
}

fn read_or_write(text: &str) -> Result<Kind, String> {
    match text.as_bytes().first().map(u8::to_ascii_uppercase) {
        Some(b'R') => Ok(Kind::Read),
        Some(b'W') => Ok(Kind::Write),
        _ => Err(format!("'{text}' is neither a read nor a write")),
    }
}

fn time(nanos: Option<u64>) -> Result<Nanos, String> {
    nanos.filter(|n| *n < 1 << 63).map(Nanos).ok_or_else(|| "the time is too large".into())
}

fn ended(request: Traced, latency: Nanos) -> Traced {
    Traced { latency: Some(latency), pairing: Pairing::Exact, ..request }
}

fn disk_mon(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    let [row, begin, duration, disk, operation, sector, length] =
        words(text).map_err(|count| format!("it has {count} columns, not 7"))?;
    number("number", row)?;
    number("disk", disk)?;
    let begin = time(Some(seconds(begin).ok_or("the time is no number of seconds")?))?;
    let duration = Nanos(seconds(duration).ok_or("the duration is no number of seconds")?);
    let extent = sectors(number("sector", sector)?, number("length", length)?)?;
    Ok((ended(Traced::new(at, begin, read_or_write(operation)?, extent), duration), ("disk", disk)))
}

fn msr(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    let names = ["timestamp", "host's name", "disk's number", "type", "offset", "size", "response time"];
    let [ticks, host, disk, operation, offset, size, response] = fields(text, names)?;
    number("disk's number", disk)?;
    let ticks = number("timestamp", ticks)?.checked_sub(TICKS_TO_1970);
    let begin = time(ticks.ok_or("the timestamp lies before 1970")?.checked_mul(100))?;
    let response = time(number("response time", response)?.checked_mul(100))?;
    let extent = bytes(number("offset", offset)?, number("size", size)?)?;
    if !matches!(operation, "Read" | "Write") {
        return Err(format!("the type '{operation}' is neither Read nor Write"));
    }
    Ok((ended(Traced::new(at, begin, read_or_write(operation)?, extent), response), (host, disk)))
}

fn alibaba(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    let [device, operation, offset, length, stamp] =
        fields(text, ["device", "operation", "offset", "length", "timestamp"])?;
    let begin = time(number("timestamp", stamp)?.checked_mul(1000))?;
    let extent = bytes(number("offset", offset)?, number("length", length)?)?;
    if operation.len() != 1 {
        return Err(format!("the operation '{operation}' is neither R nor W"));
    }
    Ok((Traced::new(at, begin, read_or_write(operation)?, extent), ("", device)))
}

fn tencent(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    let [stamp, offset, size, operation, volume] =
        fields(text, ["timestamp", "offset", "size", "I/O type", "volume"])?;
    let begin = time(seconds(stamp))?;
    let extent = sectors(number("offset", offset)?, number("size", size)?)?;
    let kind = match operation {
        "0" => Kind::Read,
        "1" => Kind::Write,
        _ => return Err(format!("the I/O type '{operation}' is neither 0 (read) nor 1 (write)")),
    };
    Ok((Traced::new(at, begin, kind, extent), ("", volume)))
}

fn spc(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    // Fields after the fifth are optional.
    let end = text.match_indices(',').nth(4).map_or(text.len(), |(place, _)| place);
    let names = ["application's number (ASU)", "sector (LBA)", "size", "operation", "timestamp"];
    let [unit, sector, size, operation, stamp] = fields(&text[..end], names)?;
    number("application's number (ASU)", unit)?;
    let begin = time(seconds(stamp))?;
    let extent = sectors(number("sector (LBA)", sector)?, 1)?;
    let extent = bytes(extent.offset, number("size", size)?)?;
    if operation.len() != 1 {
        return Err(format!("the operation '{operation}' is neither R nor W"));
    }
    Ok((Traced::new(at, begin, read_or_write(operation)?, extent), ("asu", unit)))
}

fn fiu(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    let [stamp, pid, process, sector, size, operation, major, minor, _digest] =
        words(text).map_err(|count| format!("it has {count} columns, not 9"))?;
    let begin = time(Some(number("timestamp", stamp)?))?;
    let pid =
        u32::try_from(number("process's number", pid)?).map_err(|_| "the process's number is too large")?;
    let extent = sectors(number("sector", sector)?, number("size", size)?)?;
    for (name, part) in [("major number", major), ("minor number", minor)] {
        number(name, part)?;
    }
    if operation.len() != 1 {
        return Err(format!("the operation '{operation}' is neither R nor W"));
    }
    let process = Process::new(pid, process.as_bytes());
    Ok((Traced { process, ..Traced::new(at, begin, read_or_write(operation)?, extent) }, (major, minor)))
}

/// `DUMP_OFFSET, ELAPSED_USECS, ELAPSED_TICKS, CMD, INFLIGHT_IOS, TS, SEQID, LUN_SSID, OP, PHASE, LBA, NBLKS, LATENCY_TICKS, HOST_ID,
/// HOST_LUN, LATENCY_USECS`. Commands are RD and WR, some with an ending (RD_IN).
fn net_app(at: u64, text: &str) -> Result<(Traced, Device<'_>), String> {
    const COLUMNS: usize = 16;
    let columns: Vec<&str> = text.split(',').map(str::trim).collect();
    let column = match columns.len() {
        COLUMNS => |number: usize| number,
        // The absolute time is the second column.
        17 => |number: usize| number + 1,
        count => return Err(format!("it has {count} columns, neither 16 nor 17")),
    };
    let [elapsed, command, lun, sector, length, latency] = [1, 3, 7, 10, 11, 15].map(|n| columns[column(n)]);
    let time = |name: &str, text: &str| {
        micros(text).map(Nanos).ok_or_else(|| format!("the {name} '{text}' is no number of microseconds"))
    };
    let (begin, latency) = (time("elapsed time", elapsed)?, time("latency", latency)?);
    let extent = sectors(number("sector (LBA)", sector)?, number("number of blocks", length)?)?;
    number("number of the LUN", lun)?;
    let kind = match command.split('_').next() {
        Some("RD") => Kind::Read,
        Some("WR") => Kind::Write,
        _ => return Err(format!("the command '{command}' is neither RD nor WR")),
    };
    Ok((ended(Traced::new(at, begin, kind, extent), latency), ("lun", lun)))
}

/// Reads the rows of a table.
pub struct Rows<R> {
    lines: Lines<R>,
    table: Table,
    devices: Names,
    name: String,
}

impl<R: BufRead> Rows<R> {
    /// Reads decompressed text.
    pub fn new(input: R, table: Table) -> Rows<R> {
        Rows { lines: Lines::new(input), table, devices: Names::default(), name: String::new() }
    }
}

impl<R: BufRead> Requests for Rows<R> {
    fn next(&mut self) -> Next<Traced> {
        loop {
            let at = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let text = line.trim();
            match self.table.row(at, text) {
                Ok((request, (first, second))) => {
                    self.name.clear();
                    self.name.push_str(first);
                    self.name.push_str(self.table.between());
                    self.name.push_str(second);
                    return Ok(Some(match self.devices.number(&self.name) {
                        Some(device) => Entry::One(Traced { device, ..request }),
                        None => Entry::Bad(Bad::line(at, "there are more than 65536 devices", text)),
                    }));
                }
                Err(_) if text.is_empty() || Table::is_text(text) => {}
                Err(why) => return Ok(Some(Entry::Bad(Bad::line(at, why, text)))),
            }
        }
    }

    fn devices(&self) -> Vec<String> {
        self.devices.all()
    }

    fn device(&self, number: u32) -> Option<String> {
        self.devices.get(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Time, offset, length, kind and latency.
    type Row = (u64, u64, u64, Kind, u64);

    fn all(table: Table, text: &str) -> (Vec<Row>, Vec<String>, Vec<String>) {
        let mut rows = Rows::new(text.as_bytes(), table);
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        while let Some(entry) = rows.next().unwrap() {
            match entry {
                Entry::One(r) => {
                    let latency = r.latency.map_or(0, |l| l.0);
                    good.push((r.time.0, r.extent.offset, r.extent.length, r.kind, latency));
                }
                Entry::Bad(b) => bad.push(b.to_string()),
            }
        }
        (good, bad, rows.devices())
    }

    #[test]
    fn reads_rows_of_every_table_format() {
        let text = "#\tTime\tDuration (s)\tDisk\tRequest\tSector\tLength\n0\t0.015625\t0.00041200\t1\tRead\t2048\t64\n";
        let want =
            (vec![(15_625_000, 2048 * 512, 64 * 512, Kind::Read, 412_000)], vec![], vec!["disk1".into()]);
        assert_eq!(all(Table::DiskMon, text), want);
        let text = "128166372003061629,hm,1,Read,383496192,32768,413\n";
        let unix = (128_166_372_003_061_629 - TICKS_TO_1970) * 100;
        assert_eq!(all(Table::Msr, text).0, [(unix, 383_496_192, 32768, Kind::Read, 41_300)]);
        assert_eq!(all(Table::Msr, text).2, ["hm1"]);
        let text = "device_id,opcode,offset,length,timestamp\n419,W,8792731648,16384,1577808144360767\n";
        let want = [(1_577_808_144_360_767_000, 8_792_731_648, 16384, Kind::Write, 0)];
        assert_eq!(all(Table::Alibaba, text).0, want);
        let text = "1538323200,12910952,128,0,1063\n";
        let want = [(1_538_323_200_000_000_000, 12_910_952 * 512, 128 * 512, Kind::Read, 0)];
        assert_eq!(all(Table::Tencent, text).0, want);
        let text = "0,20941264,8192,W,0.551706\n1,3436288,15872,r,1.011732,4,7\n";
        let want = [
            (551_706_000, 20_941_264 * 512, 8192, Kind::Write, 0),
            (1_011_732_000, 3_436_288 * 512, 15_872, Kind::Read, 0),
        ];
        assert_eq!(all(Table::Spc, text), (want.to_vec(), vec![], vec!["asu0".into(), "asu1".into()]));
        let text = "#DUMP_OFFSET.I,ELAPSED_USECS.D\n4124,50.5,822,RD_IN,2,822,5001,6,0,0,2048,8,426600,7,6,200.25\n\
                    4152,0.000,100,822,WR,3,822,5002,6,0,0,4,2,426600,7,6,200\n";
        let want = vec![
            (50_500, 2048 * 512, 4096, Kind::Read, 200_250),
            (100_000, 2048, 1024, Kind::Write, 200_000),
        ];
        assert_eq!(all(Table::NetApp, text), (want, vec![], vec!["lun6".into()]));
        let text = "89966346617 4892 syslogd 904265560 8 W 6 0 0a1b2c3d\n";
        let want = [(89_966_346_617, 904_265_560 * 512, 4096, Kind::Write, 0)];
        assert_eq!(all(Table::Fiu, text), (want.to_vec(), vec![], vec!["6,0".into()]));
    }

    #[test]
    fn reports_invalid_rows() {
        for (table, line, why) in [
            (Table::Msr, "1,hm,1,Read,383496192,32768,413", "before 1970"),
            (Table::Msr, "128166372003061629,hm,1,Trim,383496192,32768,413", "neither Read"),
            (Table::Msr, "128166372003061629,hm,1,Read,383496192,32768", "response time is missing"),
            (Table::Alibaba, "1,R,5,0,7", "length is 0"),
            (Table::Alibaba, "1,R,5,9,7,8", "more than 5"),
            (Table::Tencent, "1,5,9,2,7", "neither 0"),
            (Table::Tencent, "1,-5,9,1,7", "'-5'"),
            (Table::DiskMon, "1 0.5 0.1 1 Read 5", "6 columns"),
            (Table::Spc, "1,5,512,x,0.5", "neither a read"),
            (Table::Spc, "1,5,512,r", "timestamp is missing"),
            (Table::NetApp, "1,2,3,RD,5,6,7,8,9,10,11,12,13,14,15", "15 columns"),
            (Table::NetApp, "1,2,3,FL,5,6,7,8,9,10,11,12,13,14,15,16", "'FL' is neither RD"),
            (Table::Fiu, "1 2 a 5 8 W 6", "7 columns"),
            (Table::Fiu, "1 9999999999 a 5 8 W 6 0 x", "number is too large"),
        ] {
            let (_, bad, _) = all(table, line);
            assert!(bad[0].starts_with("line 1: ") && bad[0].contains(why), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "([0-9a-zA-Z.,+\\- ]{0,50}\n){0,4}") {
            for table in Table::ALL {
                all(table, &text);
            }
        }
    }
}
