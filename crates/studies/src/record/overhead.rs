//! The overhead of recording: alternating windows with and without it, while a load uses the devices.

use super::devices::Devices;
use super::question::Question;
use super::run::{cpu_ns, settings};
use iosonar_capture::Recorder;
use iosonar_runner::{Error, Session};
use std::fmt;
use std::fs;
use std::time::{Duration, Instant};

/// Length of a window, and how often the buffers are emptied in one.
const WINDOW: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_millis(100);

/// Work of the devices and the machine in a window.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ios: f64,
    /// Time that requests took, all added, milliseconds.
    io_ms: f64,
    /// CPU time of the whole machine that was not idle, seconds.
    busy_s: f64,
}

/// A pair of windows, without and with recording.
#[derive(Debug, Default)]
struct Pair {
    off: Sums,
    on: Sums,
}

/// The overhead of recording: medians of ratios with the range of the pairs.
#[derive(Debug)]
pub struct Overhead {
    asked: u64,
    pairs: Vec<Pair>,
    events: u64,
    own_ns: u64,
    lost: u64,
}

/// Measures for the duration of the question, 20 s by default; a stop of the session ends it earlier.
///
/// # Errors
/// The duration is too short, the kernel refuses, or nothing uses the devices.
pub fn measure(session: &Session, question: &Question) -> Result<Overhead, Error> {
    question.check()?;
    let asked = question.duration.map_or(20, |d| d.0 / 1_000_000_000) / 2;
    if asked < 3 {
        return Err(Error::refused_because(
            "--measure-overhead needs --duration 6s at least: three pairs of windows of a second each",
        ));
    }
    let devices = Devices::find(&question.devices)?;
    devices.check(question.watch)?;
    let names: Vec<&str> = devices.all().map(|device| device.name.as_str()).collect();
    let mut recorder = Recorder::start(&settings(question, &devices)).map_err(Error::refused)?;
    let mut found = Overhead { asked, pairs: Vec::new(), events: 0, own_ns: 0, lost: 0 };
    for number in 0..asked {
        let mut pair = Pair::default();
        // Balances drift: off, on, on, off.
        for on in [number % 2 == 1, number % 2 == 0] {
            recorder.set_events(on).map_err(Error::broke)?;
            recorder.round().map_err(Error::broke)?;
            let cpu = cpu_ns();
            let sums = window(&names, session, || {
                let round = recorder.round().map_err(Error::broke)?;
                found.events += recorder.events().len() as u64;
                found.lost += round.lost;
                Ok(())
            })?;
            *(if on { &mut pair.on } else { &mut pair.off }) = sums;
            found.own_ns += if on { cpu_ns() - cpu } else { 0 };
        }
        if session.control.signal().is_some() {
            break;
        }
        found.pairs.push(pair);
    }
    if found.pairs.iter().all(|pair| pair.off.ios == 0.0) {
        return Err(Error::refused_because(format_args!(
            "nothing used {} meanwhile: start what shall be recorded first",
            names.join(", ")
        )));
    }
    Ok(found)
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Overhead { asked, pairs, events, own_ns, lost } = self;
        writeln!(
            f,
            "recording against nothing, {asked} pairs of windows of 1 s: median (least .. greatest) of the ratios"
        )?;
        writeln!(f, "  requests per second  {}", spread(pairs, |s| Some(s.ios)))?;
        writeln!(f, "  mean latency         {}", spread(pairs, |s| (s.ios > 0.0).then(|| s.io_ms / s.ios)))?;
        writeln!(f, "  CPU for a request    {}", spread(pairs, |s| (s.ios > 0.0).then(|| s.busy_s / s.ios)))?;
        let of_a_cpu = *own_ns as f64 / 1e7 / pairs.len().max(1) as f64;
        let of_an_event = *own_ns as f64 / (*events).max(1) as f64;
        writeln!(
            f,
            "  this recorder        {of_a_cpu:.2} % of a CPU, {of_an_event:.0} ns for an event, {events} events, {lost} lost"
        )
    }
}

/// Median and range of on / off.
fn spread(pairs: &[Pair], of: impl Fn(&Sums) -> Option<f64>) -> String {
    let ratio = |pair: &Pair| Some(of(&pair.on)? / of(&pair.off).filter(|n| *n > 0.0)?);
    let mut ratios: Vec<f64> = pairs.iter().filter_map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let middle = ratios.get(ratios.len().saturating_sub(1) / 2).zip(ratios.get(ratios.len() / 2));
    match (ratios.first(), middle.map(|(a, b)| (a + b) / 2.0), ratios.last()) {
        (Some(least), Some(median), Some(greatest)) => format!("{median:.3} ({least:.3} .. {greatest:.3})"),
        _ => "not known: no window had requests".to_string(),
    }
}

/// Measures a window; one ended by the session does not count.
fn window(
    names: &[&str],
    session: &Session,
    mut each: impl FnMut() -> Result<(), Error>,
) -> Result<Sums, Error> {
    let (begin, before) = (Instant::now(), sums(names)?);
    while begin.elapsed() < WINDOW && session.control.signal().is_none() {
        std::thread::sleep(ROUND.min(WINDOW.saturating_sub(begin.elapsed())));
        each()?;
    }
    let after = sums(names)?;
    Ok(Sums {
        ios: after.ios - before.ios,
        io_ms: after.io_ms - before.io_ms,
        busy_s: after.busy_s - before.busy_s,
    })
}

/// Reads `/sys/block/NAME/stat` and `/proc/stat`, in the forms of the kernel's `Documentation/block/stat.rst` and of proc(5).
fn sums(names: &[&str]) -> Result<Sums, Error> {
    let mut sums = Sums::default();
    for name in names {
        let text = fs::read_to_string(format!("/sys/block/{name}/stat"))?;
        let fields: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let field = |i: usize| fields.get(i).copied().unwrap_or(0.0);
        sums.ios += field(0) + field(4);
        sums.io_ms += field(3) + field(7);
    }
    let text = fs::read_to_string("/proc/stat")?;
    let ticks: Vec<f64> =
        text.lines().next().unwrap_or_default().split_whitespace().filter_map(|n| n.parse().ok()).collect();
    // All but idle and waiting; a tick is 10 ms on every architecture that Linux runs on.
    let busy = ticks.iter().enumerate().filter(|(i, _)| !matches!(i, 3 | 4) && *i < 8).map(|(_, n)| n);
    sums.busy_s = busy.sum::<f64>() / 100.0;
    Ok(sums)
}
