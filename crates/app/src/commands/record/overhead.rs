//! The overhead of recording: alternating windows with and without it, while a load uses the devices.

use super::{InKernel, cpu_ns};
use crate::exit::{Exit, Failure};
use crate::output::print_lines;
use crate::signals;
use anyhow::anyhow;
use iosonar_capture::{Recorder, Settings};
use iosonar_host::{BlockDevice, TargetFacts};
use iosonar_plan::Nanos;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
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

/// Measures for `duration`, 20 s by default, and prints medians of ratios with the range of the pairs.
pub fn measure(
    settings: &Settings,
    devices: &[(TargetFacts, BlockDevice)],
    duration: Option<Nanos>,
) -> Result<Exit, Failure> {
    let pairs = duration.map_or(20, |d| d.0 / 1_000_000_000) / 2;
    if pairs < 3 {
        return Err(Failure::refused(anyhow!(
            "--measure-overhead needs --duration 6s at least: three pairs of windows of a second each"
        )));
    }
    let names: Vec<&str> = devices.iter().map(|(_, device)| device.name.as_str()).collect();
    let mut recorder = Recorder::start(settings).map_err(Failure::refused)?;
    let (mut found, mut events, mut own_ns, mut lost) = (Vec::new(), 0u64, 0u64, 0u64);
    let end = Arc::new(AtomicI32::new(0));
    let kernel = InKernel::default();
    kernel.set(true);
    let in_kernel = kernel.clone();
    signals::end_on_signal(end.clone(), move || {
        if in_kernel.is_left() {
            print_lines("\niosonar: aborted; 'iosonar record --cleanup' switches tracing off");
        }
    })?;
    for number in 0..pairs {
        let mut pair = Pair::default();
        // Balances drift: off, on, on, off.
        for on in [number % 2 == 1, number % 2 == 0] {
            recorder.set_events(on)?;
            recorder.round()?;
            let cpu = cpu_ns();
            let sums = window(&names, &end, || {
                let round = recorder.round()?;
                events += recorder.events().len() as u64;
                lost += round.lost;
                Ok(())
            })?;
            *(if on { &mut pair.on } else { &mut pair.off }) = sums;
            own_ns += if on { cpu_ns() - cpu } else { 0 };
        }
        if end.load(Relaxed) != 0 {
            break;
        }
        found.push(pair);
    }
    drop(recorder);
    kernel.set(false);
    if found.iter().all(|pair| pair.off.ios == 0.0) {
        return Err(Failure::refused(anyhow!(
            "nothing used {} meanwhile: start what shall be recorded first",
            names.join(", ")
        )));
    }
    println!(
        "recording against nothing, {pairs} pairs of windows of 1 s: median (least .. greatest) of the ratios"
    );
    println!("  requests per second  {}", spread(&found, |s| Some(s.ios)));
    println!("  mean latency         {}", spread(&found, |s| (s.ios > 0.0).then(|| s.io_ms / s.ios)));
    println!("  CPU for a request    {}", spread(&found, |s| (s.ios > 0.0).then(|| s.busy_s / s.ios)));
    let pairs = found.len();
    let seconds = pairs.max(1) as f64;
    println!(
        "  this recorder        {:.2} % of a CPU, {:.0} ns for an event, {} events, {lost} lost",
        own_ns as f64 / 1e7 / seconds,
        own_ns as f64 / events.max(1) as f64,
        events
    );
    Ok(Exit::Fine)
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

/// Measures a window; one ended by `end` does not count.
fn window(
    names: &[&str],
    end: &AtomicI32,
    mut each: impl FnMut() -> Result<(), Failure>,
) -> Result<Sums, Failure> {
    let (begin, before) = (Instant::now(), sums(names)?);
    while begin.elapsed() < WINDOW && end.load(Relaxed) == 0 {
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
fn sums(names: &[&str]) -> Result<Sums, Failure> {
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
