//! Clocks of ranks, read along the tree: a rank reads those of its children, so the errors of the levels add up.

use super::tree::{Kind, Messages, bytes_of, children, parent, spread, value_of};
use crate::clock::{ClockMap, ClockTrack, Exchange, Read, own_clock};
use iosonar_archive::HostClock;
use iosonar_os::monotonic_ns;
use serde::{Deserialize, Serialize};

/// The clock of this rank, read from that of the root.
pub(crate) struct RankClock {
    /// `None`: it is the clock of the root.
    track: Option<ClockTrack>,
}

/// Times at which a message of the parent arrived and its answer left.
#[derive(Serialize, Deserialize)]
struct Answer {
    arrived: u64,
    answered: u64,
}

/// A message of the parent.
#[derive(Serialize, Deserialize)]
enum Asked {
    /// Answer at once.
    Ping,
    /// The result of the exchanges.
    Read(Read),
}

impl RankClock {
    /// All ranks together find out who has another clock than the root.
    pub(crate) fn new(messages: &dyn Messages) -> RankClock {
        let own = own_clock();
        let of_root = spread(messages, (messages.rank() == 0).then(|| own.clone()));
        RankClock { track: (own != of_root).then(ClockTrack::default) }
    }

    /// All ranks together read their clocks by this number of exchanges on each edge of the tree.
    pub(crate) fn read(&mut self, messages: &dyn Messages, exchanges: usize) {
        if let Some(parent) = parent(messages.rank()) {
            messages.send(parent, Kind::Clock, &bytes_of(&self.track.is_some()));
            if let Some(track) = &mut self.track {
                track.add_reading_of(answer(messages, parent));
            }
        }
        for child in children(messages.rank(), messages.ranks()) {
            if value_of::<bool>(&messages.wait(child, Kind::Clock)) {
                let read = self.ask(messages, child, exchanges);
                messages.send(child, Kind::Clock, &bytes_of(&Asked::Read(read)));
            }
        }
    }

    /// Reads the clock of a child.
    fn ask(&self, messages: &dyn Messages, child: usize, exchanges: usize) -> Read {
        let exchange = |_| {
            let sent = monotonic_ns();
            messages.send(child, Kind::Clock, &bytes_of(&Asked::Ping));
            let Answer { arrived, answered } = value_of(&at_once(messages, child));
            Exchange { sent, arrived, answered, heard: monotonic_ns(), agreed: None }
        };
        let mut own = ClockTrack::default();
        own.add_series(&(0..exchanges).map(exchange).collect::<Vec<_>>());
        own.reading_for(|parent| self.map().here(parent)).expect("a series of exchanges is a reading")
    }

    /// The map of its times to those of the root.
    pub(crate) fn map(&self) -> ClockMap {
        self.track.as_ref().map(ClockTrack::map).unwrap_or_default()
    }

    /// A time of this clock on that of the root.
    pub(crate) fn here(&self, there: u64) -> u64 {
        self.map().here(there).here
    }

    /// A time of the root on this clock.
    pub(crate) fn there(&self, here: u64) -> u64 {
        self.track.as_ref().and_then(|track| track.there(here)).unwrap_or(here)
    }

    /// The greatest error of a time now.
    pub(crate) fn error(&self) -> u64 {
        let Some(track) = &self.track else { return 0 };
        track.error_at(self.here(monotonic_ns()))
    }

    /// How exactly it is known in the run from `origin` to `end`, times of the root; `None` for the clock of the root.
    pub(crate) fn facts(&self, origin: u64, end: u64) -> Option<HostClock> {
        Some(self.track.as_ref()?.facts(origin, end))
    }
}

/// Answers the parent until it has read this clock.
fn answer(messages: &dyn Messages, parent: usize) -> Read {
    let mut asked = messages.wait(parent, Kind::Clock);
    loop {
        let arrived = monotonic_ns();
        match value_of(&asked) {
            Asked::Ping => {
                let answer = Answer { arrived, answered: monotonic_ns() };
                messages.send(parent, Kind::Clock, &bytes_of(&answer));
            }
            Asked::Read(read) => return read,
        }
        asked = at_once(messages, parent);
    }
}

/// The next message of a rank, waited for without a pause: each would be part of the error.
fn at_once(messages: &dyn Messages, from: usize) -> Vec<u8> {
    loop {
        match messages.take(from, Kind::Clock) {
            Some(bytes) => return bytes,
            None => std::thread::yield_now(),
        }
    }
}
