//! Records as text: CSV and JSON Lines, for `grep`, spreadsheets and scripts.
//!
//! Both formats have the columns of `records.parquet`, with the same names and in the same order: one table describes
//! them all. The last column is `stamp`: lines are cut out and passed on, and each must still state that it is not a
//! storage result.

use crate::Record;
use crate::columns::{COLUMNS, Field, word_of};
use iosonar_text::csv::{self, Cell};
use std::io::{self, Write};

/// The last column.
const STAMP: &str = "stamp";

/// A field of a record, ready to be printed.
enum Value {
    Unsigned(u64),
    Signed(i64),
    Word(&'static str),
    Flag(bool),
    Absent,
}

fn value(field: &Field, record: &Record) -> Value {
    match field {
        Field::Word(access) => Value::Unsigned((access.get)(record)),
        Field::Optional(access) => (access.get)(record).map_or(Value::Absent, Value::Unsigned),
        Field::Signed(access) => Value::Signed((access.get)(record)),
        Field::Small(access) => Value::Unsigned((access.get)(record).into()),
        Field::Name(names, access) => Value::Word(word_of(names, (access.get)(record))),
        Field::Mark(mark) => Value::Flag(record.marks.has(*mark)),
    }
}

/// Writes records as CSV: a header line, then one line per record. Absent values are empty, flags `true` or
/// `false`, operation and outcome words; times are nanoseconds on the run's clock, sizes bytes.
#[derive(Debug)]
pub struct CsvWriter<W> {
    table: csv::Writer<W>,
    stamp: String,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header line. `out` should be buffered: each record is one write. `stamp` states why this is not a
    /// storage result, see [`Plan::stamp`](iosonar_plan::Plan::stamp); it is empty for storage results.
    pub fn new(out: W, stamp: &str) -> io::Result<CsvWriter<W>> {
        CsvWriter::with_form(out, stamp, csv::Form::default())
    }

    /// The same in another CSV form.
    pub fn with_form(out: W, stamp: &str, form: csv::Form) -> io::Result<CsvWriter<W>> {
        let names = COLUMNS.iter().map(|(name, _)| *name).chain([STAMP]);
        Ok(CsvWriter { table: csv::Writer::new(out, form, names)?, stamp: stamp.into() })
    }

    /// Writes one record.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        let cells = COLUMNS.iter().map(|(_, field)| match value(field, record) {
            Value::Unsigned(n) => Cell::Number(n),
            Value::Signed(n) => Cell::Signed(n),
            Value::Word(word) => Cell::from(word),
            Value::Flag(flag) => Cell::from(if flag { "true" } else { "false" }),
            Value::Absent => Cell::Absent,
        });
        self.table.row(cells.chain([Cell::from(self.stamp.as_str())]))
    }

    /// Flushes, and returns the output.
    pub fn finish(self) -> io::Result<W> {
        self.table.finish()
    }
}

/// Writes records as JSON Lines: one object per record and line. Absent values are `null`, flags `true` or
/// `false`, operation and outcome strings.
///
/// Numbers are whole and may need all 64 bits; a reader that parses them as floating point keeps times exact for 104 days.
#[derive(Debug)]
pub struct JsonWriter<W> {
    out: W,
    /// End of each line: the stamp and the newline.
    end: String,
    /// Reused, so that a record costs no allocation.
    line: Vec<u8>,
}

impl<W: Write> JsonWriter<W> {
    /// `out` should be buffered: each record is one write. `stamp` states why this is not a storage result, see
    /// [`Plan::stamp`](iosonar_plan::Plan::stamp); it is empty for storage results, and the field then `null`.
    pub fn new(out: W, stamp: &str) -> JsonWriter<W> {
        let stamp = if stamp.is_empty() { serde_json::Value::Null } else { stamp.into() };
        JsonWriter { out, end: format!(",\"{STAMP}\":{stamp}}}\n"), line: Vec::with_capacity(1024) }
    }

    /// Writes one record.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        self.line.clear();
        for (index, (name, field)) in COLUMNS.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            write!(self.line, "{before}\"{name}\":")?;
            match value(field, record) {
                Value::Unsigned(n) => write!(self.line, "{n}")?,
                Value::Signed(n) => write!(self.line, "{n}")?,
                Value::Word(word) => write!(self.line, "\"{word}\"")?,
                Value::Flag(flag) => write!(self.line, "{flag}")?,
                Value::Absent => self.line.extend_from_slice(b"null"),
            }
        }
        self.line.extend_from_slice(self.end.as_bytes());
        self.out.write_all(&self.line)
    }

    /// Flushes, and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Marks, Outcome};
    use iosonar_plan::{Extent, Nanos, Op, Stamp};
    use serde_json::{Value as Json, json};

    fn failed_write() -> Record {
        Record {
            sequence: 7,
            target: 1,
            worker: 2,
            pass: 3,
            phase: 4,
            op: Op::Write,
            outcome: Outcome::Failed,
            marks: Marks::PUSHED.with(Marks::ROUNDED, true).with(Marks::FUA, true),
            load_time: Nanos(10),
            due: Nanos(11),
            released: Some(Nanos(12)),
            blocked_by: Some(u64::MAX),
            submitted: Some(Nanos(13)),
            completed: Some(Nanos(1 << 62)),
            reap_lag: Nanos(8),
            requested: Extent { offset: 512, length: 1024 },
            executed: Extent { offset: 0, length: 4096 },
            result: -28,
        }
    }

    fn dropped_read() -> Record {
        Record { outcome: Outcome::Dropped, due: Nanos(5), ..Record::default() }
    }

    fn csv(records: &[Record], stamp: &str) -> String {
        let mut writer = CsvWriter::new(Vec::new(), stamp).unwrap();
        records.iter().for_each(|r| writer.push(r).unwrap());
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    fn json_lines(records: &[Record], stamp: &str) -> Vec<Json> {
        let mut writer = JsonWriter::new(Vec::new(), stamp);
        records.iter().for_each(|r| writer.push(r).unwrap());
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn csv_has_a_header_and_one_line_per_record() {
        let want = "\
            sequence,target,worker,pass,phase,op,outcome,load_time_ns,due_ns,released_ns,blocked_by,submitted_ns,\
            completed_ns,reap_lag_ns,requested_offset_bytes,requested_length_bytes,executed_offset_bytes,\
            executed_length_bytes,result,pushed,ordered,wrapped,at_border,rounded,short,held,no_buffer,ramp,ambiguous,fua,\
            preflush,stamp\n\
            7,1,2,3,4,write,failed,10,11,12,18446744073709551615,13,4611686018427387904,8,512,1024,0,4096,-28,\
            true,false,false,false,true,false,false,false,false,false,true,false,\n\
            0,0,0,0,0,read,dropped,0,5,,,,,0,0,0,0,0,0,false,false,false,false,false,false,false,false,false,false,\
            false,false,\n";
        assert_eq!(csv(&[failed_write(), dropped_read()], ""), want);
        assert_eq!(csv(&[], "").lines().count(), 1);
    }

    #[test]
    fn json_contains_every_field() {
        let lines = json_lines(&[failed_write(), dropped_read()], "");
        let want = json!({
            "sequence": 7, "target": 1, "worker": 2, "pass": 3, "phase": 4, "op": "write", "outcome": "failed",
            "load_time_ns": 10, "due_ns": 11, "released_ns": 12, "blocked_by": u64::MAX, "submitted_ns": 13,
            "completed_ns": 1u64 << 62, "reap_lag_ns": 8, "requested_offset_bytes": 512, "requested_length_bytes": 1024,
            "executed_offset_bytes": 0, "executed_length_bytes": 4096, "result": -28, "pushed": true,
            "ordered": false, "wrapped": false, "at_border": false, "rounded": true, "short": false,
            "held": false, "no_buffer": false, "ramp": false, "ambiguous": false, "fua": true,
            "preflush": false,
            "stamp": null,
        });
        assert_eq!(lines[0], want);
        assert_eq!(lines[1]["submitted_ns"], Json::Null);
        assert_eq!(lines.len(), 2);
    }

    #[test]
    fn unknown_operations_keep_their_names() {
        let one = |op| Record { op, ..Record::default() };
        let records = [Op::Flush, Op::named("rename").unwrap(), Op::of_code(15).unwrap()].map(one);
        let words = ["flush", "rename", "op-15"];
        let lines = json_lines(&records, "");
        assert!(lines.iter().zip(words).all(|(line, word)| line["op"] == word));
        assert!(csv(&records, "").lines().skip(1).zip(words).all(|(line, word)| line.contains(word)));
    }

    #[test]
    fn csv_and_json_have_every_column() {
        let lines = json_lines(&[failed_write()], "");
        let names = csv(&[], "").trim_end().split(',').map(String::from).collect::<Vec<_>>();
        assert_eq!(names.len(), COLUMNS.len() + 1);
        assert!(names.iter().all(|name| lines[0].get(name).is_some()));
    }

    #[test]
    fn every_line_carries_the_stamp() {
        let records = [failed_write(), dropped_read()];
        let stamp = Stamp::DryRun.text();
        let text = csv(&records, stamp);
        assert_eq!(text.lines().filter(|line| line.ends_with(&format!(",{stamp}"))).count(), 2, "{text}");
        assert!(json_lines(&records, stamp).iter().all(|line| line["stamp"] == stamp));
        assert!(csv(&records, "a,\"b\"").ends_with(",\"a,\"\"b\"\"\"\n"));
        assert_eq!(json_lines(&records, "a\"b")[0]["stamp"], "a\"b");
    }
}
