//! `-heartbeat`: a line on standard error at intervals, with pass, operations and rate of each target.

use crate::output::print_message;
use crate::signals::take_status_request;
use iosonar_dialect_xdd::Settings;
use iosonar_runner::Scene;
use std::time::{Duration, Instant};

/// How often the loop checks whether the run has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Prints heartbeats until the run ends, if requested.
pub fn show(settings: &Settings, scene: &Scene<'_>) {
    let every = settings.global.heartbeat.map(|every| Duration::from_nanos(every.0));
    let begin = Instant::now();
    let mut beats = 0u32;
    while !scene.is_over() {
        std::thread::sleep(LOOK);
        let is_asked = take_status_request();
        let elapsed = begin.elapsed();
        let beats_due = every.is_some_and(|every| elapsed >= every.saturating_mul(beats + 1));
        if beats_due || is_asked {
            beats += u32::from(beats_due);
            print_message(line(settings, scene, elapsed));
        }
    }
}

fn line(settings: &Settings, scene: &Scene<'_>, elapsed: Duration) -> String {
    let mut loops = scene.progress.loops();
    let mut text = String::new();
    for (number, target) in settings.targets.iter().enumerate() {
        let own: Vec<_> = loops.by_ref().take(target.queuedepth as usize).collect();
        let pass = own.iter().map(|l| l.pass + 1).max().unwrap_or(1);
        if number == 0 {
            text = format!("Pass {pass:04} Op/AvgRate ");
        }
        let requests: u64 = own.iter().map(|l| l.requests).sum();
        let bytes: u64 = own.iter().map(|l| l.bytes).sum();
        let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-9) / 1e6;
        text += &format!("{requests:06}/{rate:6.2} * ");
    }
    text.trim_end().to_string()
}
