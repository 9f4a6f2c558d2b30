//! The live view of a run on several hosts, on this terminal.

use crate::hosts_progress::{done, state};
use crate::live::style;
use crate::screen::{Screen, last_said};
use iosonar_cluster::{PartProgress, RunProgress};
use iosonar_engine::Control;
use iosonar_view::live::{HostRates, HostRow, HostsMoment, draw_hosts};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Interval of the rates.
const LOOK: Duration = Duration::from_secs(1);
/// How long a message replaces the keys.
const NOTED: Duration = Duration::from_secs(5);
const KEYS: &str = "q quit   v lines";
/// Control and L.
const REFRESH: u8 = 12;

/// The view and its terminal.
pub struct HostsView {
    screen: Screen,
    control: Arc<Control>,
    is_wanted: bool,
    rates: HostRates,
    looked: Option<Duration>,
    moment: HostsMoment,
    /// Number of messages so far, and when the last one came.
    said: (usize, Option<Instant>),
}

impl HostsView {
    /// A view that is shown with the next progress; `None` without a terminal.
    pub fn open(control: Arc<Control>) -> Option<HostsView> {
        Some(HostsView {
            screen: Screen::open()?,
            control,
            is_wanted: true,
            rates: HostRates::default(),
            looked: None,
            moment: HostsMoment::default(),
            said: (0, None),
        })
    }

    /// Obeys keys, and shows the hosts; returns whether they are shown. `head` makes a line of the requests and bytes per second of all.
    pub fn show(&mut self, now: &RunProgress<'_>, head: impl FnOnce(f64, f64) -> String) -> bool {
        let elapsed = now.phase.elapsed;
        self.screen.keys(Duration::ZERO).into_iter().for_each(|key| self.act(key));
        if self.looked.is_none_or(|looked| elapsed.saturating_sub(looked) >= LOOK) {
            self.looked = Some(elapsed);
            let rows = self.rows(&now.parts);
            let requests = rows.iter().filter_map(|row| row.rates.last()).sum();
            let bytes = rows.iter().map(|row| row.bytes_per_second).sum();
            self.moment = HostsMoment { title: head(requests, bytes), rows, footer: String::new() };
        }
        // The rest is work of this machine, with messages on the screen before.
        let is_last = now.phase.number + 1 == now.phase.of;
        self.is_wanted &= !is_last || now.parts.iter().any(|part| state(part) == "runs");
        self.moment.footer = self.footer();
        match (self.is_wanted, self.screen.is_entered()) {
            (true, false) => self.screen.enter(),
            (false, true) => self.screen.leave(),
            _ => {}
        }
        let Some(size) = self.screen.size().filter(|_| self.is_wanted) else { return false };
        self.screen.show(draw_hosts(&self.moment, size, style().1));
        self.screen.is_entered()
    }

    fn act(&mut self, key: u8) {
        match key {
            b'v' => self.is_wanted = !self.is_wanted,
            b'q' if self.is_wanted => self.control.stop(signal_hook::consts::SIGINT),
            REFRESH => self.screen.refresh(),
            _ => {}
        }
    }

    fn rows(&mut self, parts: &[PartProgress]) -> Vec<HostRow> {
        let rates = self.rates.take(&parts.iter().map(done).collect::<Vec<_>>());
        let row = |(part, (rates, bytes_per_second)): (&PartProgress, (Vec<f64>, f64))| HostRow {
            name: iosonar_text::one_line(&part.name).into_owned(),
            state: match state(part) {
                "runs" => "",
                other => other,
            },
            rates,
            bytes_per_second,
            p99_ns: part.requests.p99_ns,
            late_ns: part.requests.late_ns,
            in_flight: part.requests.in_flight,
        };
        parts.iter().zip(rates).map(row).collect()
    }

    /// The last message for a while, otherwise the keys.
    fn footer(&mut self) -> String {
        let (count, last) = last_said();
        if count != self.said.0 {
            self.said = (count, Some(Instant::now()));
        }
        match self.said.1.filter(|since| since.elapsed() < NOTED).and(last) {
            Some(message) => message.trim().to_string(),
            None => KEYS.into(),
        }
    }
}
