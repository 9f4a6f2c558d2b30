//! The live view of a run on several hosts: the sum, and a row for each host.

use super::cells::{Frame, Ink};
use super::throughput::BARS;
use crate::units::{self, Charset};

/// A host, as its row shows it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostRow {
    /// Its name.
    pub name: String,
    /// State in a word; empty while it works.
    pub state: &'static str,
    /// Requests per second, one value an interval, the latest last.
    pub rates: Vec<f64>,
    /// Bytes per second now.
    pub bytes_per_second: f64,
    /// 99th percentile of the response times since the last report, in nanoseconds.
    pub p99_ns: u64,
    /// Delay of the latest request, in nanoseconds.
    pub late_ns: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

/// All hosts at one moment.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HostsMoment {
    /// Heading: the sum, as the progress line has it.
    pub title: String,
    /// The hosts.
    pub rows: Vec<HostRow>,
    /// Last line: keys, or a message.
    pub footer: String,
}

/// Columns of the figures of a host, after its picture.
const FIGURES: usize = 58;
/// Most columns of a name.
const MOST_NAME: usize = 24;
/// Levels of the picture where the terminal has no others.
const ASCII: [char; 4] = [' ', '.', ':', '#'];

/// Draws a moment. Of more hosts than there are rows, the slowest are shown.
pub fn draw_hosts(moment: &HostsMoment, (columns, rows): (usize, usize), charset: Charset) -> Frame {
    let mut frame = Frame::new(columns, rows);
    frame.put(0, 0, &moment.title, Ink::Plain);
    let name = moment.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(4, MOST_NAME);
    let picture = columns.saturating_sub(name + 2 + FIGURES);
    let heading = format!(
        "{:name$} {:picture$} {:>9} {:>11} {:>9} {:>9} {:>6}",
        "host", "", "req/s", "bytes/s", "p99", "late", "q"
    );
    frame.put(0, 2, &heading, Ink::Plain);
    let shown = slowest(&moment.rows, rows.saturating_sub(5));
    // One scale for all, so that a slow host looks like one.
    let most = shown.iter().flat_map(|row| &row.rates).copied().fold(0.0, f64::max);
    for (at, row) in shown.iter().enumerate() {
        let text: String = row.name.chars().take(name).collect();
        frame.put(0, 3 + at, &text, Ink::Plain);
        frame.put(name + 1, 3 + at, &bars(&row.rates, picture, most, charset), Ink::Plain);
        frame.put(name + 2 + picture, 3 + at, &figures(row, charset), Ink::Plain);
    }
    let hidden = moment.rows.len() - shown.len();
    if hidden > 0 {
        frame.put(0, rows.saturating_sub(2), &format!("and {hidden} faster ones"), Ink::Plain);
    }
    frame.put(0, rows.saturating_sub(1), &moment.footer, Ink::Plain);
    frame
}

/// The rows that fit, in their order.
fn slowest(rows: &[HostRow], most: usize) -> Vec<&HostRow> {
    let rate = |row: &HostRow| row.rates.last().copied().unwrap_or(0.0);
    let mut numbers: Vec<usize> = (0..rows.len()).collect();
    if rows.len() > most {
        numbers.sort_by(|a, b| rate(&rows[*a]).total_cmp(&rate(&rows[*b])));
        numbers.truncate(most);
        numbers.sort_unstable();
    }
    numbers.into_iter().map(|number| &rows[number]).collect()
}

fn bars(rates: &[f64], width: usize, most: f64, charset: Charset) -> String {
    let levels: &[char] = if charset == Charset::Ascii { &ASCII } else { &BARS };
    let level =
        |rate: f64| levels[((rate / most * (levels.len() - 1) as f64).ceil() as usize).min(levels.len() - 1)];
    let begin = rates.len().saturating_sub(width);
    let shown: String =
        rates[begin..].iter().map(|rate| if most > 0.0 { level(*rate) } else { ' ' }).collect();
    format!("{shown:>width$}")
}

fn figures(row: &HostRow, charset: Charset) -> String {
    if !row.state.is_empty() {
        return format!("{:>9}", row.state);
    }
    let time = |ns: u64| units::duration(ns, charset);
    format!(
        "{:>9} {:>11} {:>9} {:>9} {:>6}",
        units::request_rate(row.rates.last().copied().unwrap_or(0.0)),
        format!("{}/s", units::bytes(row.bytes_per_second as u64)),
        time(row.p99_ns),
        time(row.late_ns),
        row.in_flight,
    )
}

/// Requests and bytes that a host has done, by its last report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostDone {
    /// Requests.
    pub requests: u64,
    /// Bytes.
    pub bytes: u64,
    /// Time of the report on any clock, in nanoseconds; 0 before the first one.
    pub at_ns: u64,
}

/// Rates of a host over time.
#[derive(Debug, Clone, Default)]
struct Rates {
    requests: Vec<f64>,
    bytes: f64,
    done: HostDone,
}

/// Rates of hosts over time, from their reports.
#[derive(Debug, Clone, Default)]
pub struct HostRates(Vec<Rates>);

/// Most intervals that are kept: more than a terminal has columns.
const KEPT: usize = 512;

impl HostRates {
    /// Takes the last reports of all hosts. Returns the requests per second of each so far, and its bytes per second now. A host without a new
    /// report keeps its rate.
    pub fn take(&mut self, done: &[HostDone]) -> Vec<(Vec<f64>, f64)> {
        self.0.resize_with(done.len(), Rates::default);
        for (rates, now) in self.0.iter_mut().zip(done) {
            rates.take(now);
        }
        self.0.iter().map(|rates| (rates.requests.clone(), rates.bytes)).collect()
    }
}

impl Rates {
    fn take(&mut self, now: &HostDone) {
        let before = self.done;
        let mut rate = self.requests.last().copied().unwrap_or(0.0);
        if now.at_ns > before.at_ns {
            // The time before the first report is not known.
            let seconds = if before.at_ns == 0 { 1.0 } else { (now.at_ns - before.at_ns) as f64 / 1e9 };
            let per_second = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
            rate = per_second(now.requests, before.requests);
            self.bytes = per_second(now.bytes, before.bytes);
            self.done = *now;
        }
        self.requests.push(rate);
        let surplus = self.requests.len().saturating_sub(KEPT);
        self.requests.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, rates: &[f64]) -> HostRow {
        HostRow {
            name: name.into(),
            rates: rates.to_vec(),
            bytes_per_second: 4_096_000.0,
            p99_ns: 1_200_000,
            in_flight: 32,
            ..HostRow::default()
        }
    }

    #[test]
    fn each_host_has_a_row_with_its_rates_on_one_scale() {
        let rows =
            vec![row("alpha", &[0.0, 500.0, 1000.0]), HostRow { state: "lost", ..row("b", &[1000.0, 0.0]) }];
        let moment = HostsMoment { title: "00:03 | 2 hosts".into(), rows, footer: "q quit".into() };
        let text = draw_hosts(&moment, (90, 8), Charset::Unicode).to_text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "00:03 | 2 hosts");
        assert!(lines[3].starts_with("alpha") && lines[3].contains(" ▄█ "), "{text}");
        assert!(lines[3].ends_with("1 000  3.91 MiB/s   1.20 ms       0 s     32"), "{text}");
        assert!(lines[4].starts_with("b") && lines[4].ends_with("lost"), "{text}");
        assert_eq!(lines[7], "q quit");
        let ascii = draw_hosts(&moment, (90, 8), Charset::Ascii).to_text();
        assert!(ascii.is_ascii() && ascii.contains(" :# "), "{ascii}");
    }

    #[test]
    fn of_many_hosts_the_slowest_are_shown_in_their_order() {
        let rows = (0..20).map(|n| row(&format!("n{n:02}"), &[f64::from((n * 7) % 20)])).collect();
        let moment = HostsMoment { rows, ..HostsMoment::default() };
        let text = draw_hosts(&moment, (80, 9), Charset::Ascii).to_text();
        let names: Vec<&str> =
            text.lines().filter(|line| line.starts_with('n')).map(|line| &line[..3]).collect();
        assert_eq!(names, ["n00", "n03", "n06", "n09"]);
        assert!(text.contains("and 16 faster ones"), "{text}");
        // A terminal of any size.
        for size in [(0, 0), (1, 1), (20, 3), (300, 2)] {
            draw_hosts(&moment, size, Charset::Unicode);
        }
    }

    #[test]
    fn rates_are_those_of_the_time_between_reports() {
        let done = |requests, bytes, at: u64| HostDone { requests, bytes, at_ns: at * 100_000_000 };
        let mut rates = HostRates::default();
        rates.take(&[done(100, 1000, 70), done(0, 0, 0)]);
        let now = rates.take(&[done(200, 3000, 75), done(10, 10, 75)]);
        assert_eq!(now, [(vec![100.0, 200.0], 4000.0), (vec![0.0, 10.0], 10.0)]);
        // A late report is no host that stands still.
        let now = rates.take(&[done(200, 3000, 75), done(40, 40, 95)]);
        assert_eq!(now, [(vec![100.0, 200.0, 200.0], 4000.0), (vec![0.0, 10.0, 15.0], 15.0)]);
        (0..2 * KEPT).for_each(|_| drop(rates.take(&[done(0, 0, 0)])));
        assert_eq!(rates.take(&[done(0, 0, 0)])[0].0.len(), KEPT);
    }
}
