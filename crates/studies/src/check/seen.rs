//! The reads and writes of a trace.

use super::clock::Span;
use super::flushes::FlushCounts;
use iosonar_inputs::traces::{Device, Trace};
use iosonar_plan::{Nanos, Op};
use iosonar_runner::{Error, Notice, Session};
use iosonar_trace::{Key, Traced};
use std::collections::HashMap;

/// The reads and writes of a trace.
pub(super) struct TracedRequests {
    pub(super) keys: Vec<Key>,
    /// Names of the devices, which the keys contain as numbers.
    pub(super) devices: Vec<String>,
    /// Number of damaged entries.
    pub(super) bad: u64,
    /// Reads and writes outside of the span.
    pub(super) outside: u64,
    /// Reads of the excluded threads.
    pub(super) own: u64,
    pub(super) flushes: FlushCounts,
}

impl TracedRequests {
    /// Collects requests within the span, without the reads of `own` threads.
    pub(super) fn of(
        session: &Session,
        trace: &mut Trace,
        span: Option<Span>,
        own: &[&str],
    ) -> Result<TracedRequests, Error> {
        let (mut keys, mut devices, mut outside, mut own_reads) = (Vec::new(), Devices::default(), 0, 0);
        let is_own = |request: &Traced| !own.is_empty() && own.contains(&&*request.process.name());
        let is_inside = |time: Nanos| span.is_none_or(|(from, to)| (from..=to).contains(&time));
        let mut flushes = FlushCounts::default();
        let bad = trace.each(
            |text| session.observer.notice(&Notice::Skipped(text)),
            |request, device| {
                if is_inside(request.time) && flushes.add(request) {
                    return Ok(());
                }
                match request.kind.op() {
                    Some(_) if !is_inside(request.time) => outside += 1,
                    Some(Op::Read) if is_own(request) => own_reads += 1,
                    Some(op) => {
                        keys.push(Key::new(op, request.extent).on(devices.number(device)));
                    }
                    None => {}
                }
                Ok::<_, Error>(())
            },
        )?;
        Ok(TracedRequests { keys, devices: devices.names, bad, outside, own: own_reads, flushes })
    }

    pub(super) fn renumber(&mut self, number: impl Fn(usize) -> u16) {
        self.keys.iter_mut().for_each(|key| key.device = number(key.device.into()));
    }
}

/// Devices that have reads or writes, numbered in the order of appearance.
#[derive(Default)]
struct Devices {
    /// Keyed by the trace's own number.
    numbers: HashMap<u32, u16>,
    names: Vec<String>,
}

impl Devices {
    /// Returns the number of a device. A joined trace may have more names than numbers: the excess ones share the last number.
    fn number(&mut self, device: Device<'_>) -> u16 {
        *self.numbers.entry(device.number).or_insert_with(|| {
            if self.names.len() < usize::from(u16::MAX) {
                self.names.push(device.name.to_string());
            }
            (self.names.len() - 1) as u16
        })
    }
}
