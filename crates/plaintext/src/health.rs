//! The health of the replayer in words: the same lines for the terminal and for the page.

use iosonar_analyze::{CpuFacts, Drift, HeldFacts, SetupFacts, Stall, Summary, TimeStats, Waits};
use iosonar_text::units::{self, Charset};

/// A distribution of the health.
pub struct Times {
    /// Its name.
    pub name: &'static str,
    /// Its path in the summary.
    pub path: &'static str,
    /// Its figures.
    pub stats: TimeStats,
}

/// Distributions of the health. The completion delay is the true one where the kernel's events show it; otherwise the part of it that the
/// program knows, without the wait for a CPU.
pub fn times(s: &Summary) -> Vec<Times> {
    let seen = s.path.as_ref().and_then(|path| path.complete_to_seen);
    let completion = match seen {
        Some(_) => ("completion delay", "path.complete_to_seen", seen),
        None => ("completion delay", "health.reap_lag", s.health.reap_lag),
    };
    let named = [("issue delay", "health.issue_error", s.health.issue_error), completion];
    named.into_iter().filter_map(|(name, path, stats)| Some(Times { name, path, stats: stats? })).collect()
}

/// All other facts: a name and a text.
pub fn facts(s: &Summary, charset: Charset) -> Vec<(&'static str, String)> {
    let words = Words(charset);
    let health = &s.health;
    let mut facts = Vec::new();
    if let Some(drift) = &health.issue_error_drift {
        facts.push(("drift", words.drift(drift)));
    }
    if let Some(end) = &health.at_end {
        let requests = units::grouped(end.requests);
        let (half, most) = (words.time(end.delay_p50_ns), words.time(end.delay_max_ns));
        facts.push(("at the end", format!("last {requests} requests: delay p50 {half}, max {most}")));
    }
    if let (Some(held), Some(lag)) = (&health.held, &health.reap_lag)
        && held.requests > 0
        && s.run.has_timetable
    {
        facts.extend(words.held(held, lag.count));
    }
    let stalls = &health.stalls;
    for (name, stall) in
        [("recorder", stalls.recorder), ("push-back list", stalls.push_back), ("memory", stalls.buffer)]
    {
        facts.extend(words.stall(name, stall));
    }
    facts.extend(health.cpu.as_ref().map(|cpu| ("CPU", words.cpu(cpu))));
    if let Some(setup) = &health.setup {
        facts.push(("engine", words.engine(setup, s.run.engine.as_deref().unwrap_or_default())));
        facts.extend((!setup.clock.is_empty()).then(|| ("clock", words.clock(setup))));
    }
    facts
}

struct Words(Charset);

impl Words {
    fn time(&self, ns: u64) -> String {
        units::duration(ns, self.0)
    }

    fn drift(&self, drift: &Drift) -> String {
        let sign = if drift.drift_ns < 0 { "-" } else { "+" };
        format!(
            "issue delay p50 {} in the first tenth, {} in the last: {sign}{}",
            self.time(drift.first_tenth_p50_ns),
            self.time(drift.last_tenth_p50_ns),
            self.time(drift.drift_ns.unsigned_abs())
        )
    }

    fn held(&self, held: &HeldFacts, all: u64) -> Vec<(&'static str, String)> {
        let mut lines = vec![(
            "held",
            format!(
                "{} requests ({}) had to wait, no part of the issue delay",
                units::grouped(held.requests),
                units::share(held.requests, all)
            ),
        )];
        let waits: [(&'static str, &Waits); 3] = [
            ("  for conflicts", &held.conflict),
            ("  for their turn", &held.turn),
            ("  for memory", &held.no_buffer),
        ];
        for (name, waits) in waits.into_iter().filter(|(_, waits)| waits.requests > 0) {
            let text = format!(
                "{} requests, {} in all, at most {}",
                units::grouped(waits.requests),
                self.time(waits.delay_ns),
                self.time(waits.delay_max_ns)
            );
            lines.push((name, text));
        }
        lines
    }

    fn stall(&self, name: &str, stall: Stall) -> Option<(&'static str, String)> {
        let (count, total) = (units::grouped(stall.count), self.time(stall.total_ns));
        (stall.count > 0).then(|| ("stalled", format!("{count} times for the {name}, {total} in all")))
    }

    fn cpu(&self, cpu: &CpuFacts) -> String {
        let mut parts = Vec::new();
        parts.extend(cpu.per_request_ns.map(|ns| format!("{} per request", self.time(ns))));
        parts.extend(cpu.share_of_one.map(|share| format!("{} % of one CPU", units::number(share * 100.0))));
        parts.push(format!("user {}, system {}", self.time(cpu.user_ns), self.time(cpu.system_ns)));
        if cpu.watching_ns > 0 {
            parts.push(format!("of this {} to show progress", self.time(cpu.watching_ns)));
        }
        if cpu.sampling_ns > 0 {
            let share = cpu
                .sampling_share_of_one
                .map_or(String::new(), |share| format!(" ({} % of one CPU)", units::number(share * 100.0)));
            parts.push(format!("{} to sample counters{share}", self.time(cpu.sampling_ns)));
        }
        parts.join(", ")
    }

    fn engine(&self, setup: &SetupFacts, planned: &str) -> String {
        let instead = match &setup.fallback {
            Some(_) => format!(" instead of {planned}"),
            None => String::new(),
        };
        let spin = match setup.spin_ns {
            0 => "no spinning".to_string(),
            ns => format!("spins {} before a due time", self.time(ns)),
        };
        format!("{}{instead}, {spin}, {} for data", setup.engine, units::bytes(setup.buffer_bytes))
    }

    fn clock(&self, setup: &SetupFacts) -> String {
        format!(
            "{}, {} ns for a reading, off by {} at most",
            setup.clock,
            units::number(setup.clock_cost_ns),
            self.time(setup.clock_error_ns)
        )
    }
}
