//! Last uses of sectors that differ from the last use of their page.

use super::SECTORS_PER_PAGE;
use super::hash::NumberHash;
use super::table::is_sampled;
use std::collections::HashMap;

/// Kind of use of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Touched by a request.
    Touched,
    /// First sector of a request.
    Start,
}

/// Second of the last use, by sector and kind of use.
#[derive(Debug, Clone, Default)]
pub(super) struct SectorTimes(HashMap<u64, u32, NumberHash>);

/// Sectors of a set in a page, lowest first.
fn sectors(page: u64, set: u8) -> impl Iterator<Item = u64> {
    (0..8).filter(move |bit| set >> bit & 1 == 1).map(move |bit| page * SECTORS_PER_PAGE + bit)
}

fn key(sector: u64, what: Use) -> u64 {
    sector << 1 | u64::from(what == Use::Start)
}

impl SectorTimes {
    /// Number of times that are kept.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Stores that sectors of `set` were last used in `second`.
    pub(super) fn keep(&mut self, page: u64, set: u8, what: Use, second: u32) {
        sectors(page, set).for_each(|s| {
            self.0.insert(key(s, what), second);
        });
    }

    /// Removes the last uses of the sectors of `set` and passes them to `f`.
    pub(super) fn take(&mut self, page: u64, set: u8, what: Use, mut f: impl FnMut(u32)) {
        sectors(page, set).filter_map(|s| self.0.remove(&key(s, what))).for_each(&mut f);
    }

    /// Removes sectors of pages that are not in the sample of one in 2^`log_rate`.
    pub(super) fn thin_out(&mut self, log_rate: u32) {
        self.0.retain(|key, _| is_sampled((key >> 1) / SECTORS_PER_PAGE, log_rate));
    }

    /// Every time of a kind, in no order.
    pub(super) fn times(&self, what: Use) -> impl Iterator<Item = u32> {
        self.0
            .iter()
            .filter(move |(key, _)| (*key & 1 == 1) == (what == Use::Start))
            .map(|(_, second)| *second)
    }
}
