//! Requests and bytes of the processes of a trace.

use iosonar_text::shown;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Processes whose requests are counted separately; those of further ones are counted together.
const MOST_PROCESSES: usize = 4_096;
/// Processes that the text names; JSON has all of them.
const SHOWN_PROCESSES: usize = 10;

/// Requests and bytes of each process, by its name.
#[derive(Default)]
pub struct Processes(HashMap<String, (u64, u64)>);

impl Processes {
    /// Counts a request if the trace names its process.
    pub fn add(&mut self, name: &str, bytes: u64) {
        if name.is_empty() {
            return;
        }
        let name = if self.0.len() < MOST_PROCESSES || self.0.contains_key(name) { name } else { "(others)" };
        // Most requests are of a known process.
        if !self.0.contains_key(name) {
            self.0.insert(name.to_string(), (0, 0));
        }
        let (requests, sum) = self.0.get_mut(name).expect("it was just put there");
        (*requests, *sum) = (*requests + 1, sum.saturating_add(bytes));
    }

    /// Name, requests and bytes, the busiest first.
    pub fn busiest_first(&self) -> Vec<(&str, u64, u64)> {
        let mut all: Vec<_> =
            self.0.iter().map(|(name, (requests, bytes))| (name.as_str(), *requests, *bytes)).collect();
        all.sort_by_key(|(name, requests, bytes)| (Reverse(*requests), Reverse(*bytes), name.to_string()));
        all
    }

    pub fn json(&self) -> Value {
        let one = |(name, requests, bytes)| json!({"name": name, "requests": requests, "bytes": bytes});
        self.busiest_first().into_iter().map(one).collect()
    }

    /// Formats a line for each of the busiest ones.
    pub fn lines(&self) -> Vec<String> {
        let all = self.busiest_first();
        let line = |(name, requests, bytes): &(&str, u64, u64)| {
            format!("{}: {requests} requests, {bytes} bytes", shown(*name))
        };
        let busiest = all.iter().take(SHOWN_PROCESSES).map(line);
        let mut lines: Vec<String> = busiest.collect();
        if all.len() > SHOWN_PROCESSES {
            lines.push(format!("and {} more; --json has all", all.len() - SHOWN_PROCESSES));
        }
        lines
    }
}
