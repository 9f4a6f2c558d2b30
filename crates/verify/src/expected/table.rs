//! The settled state of each sector: exactly one version is legal.

use crate::{Sectors, Tag};
use std::collections::BTreeMap;

/// What is known of a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settled {
    pub(super) tag: Tag,
    pub(super) seen: bool,
    pub(super) rewritten: bool,
}

const UNTOUCHED: Settled = Settled { tag: Tag::INITIAL, seen: false, rewritten: false };

#[derive(Debug, Default)]
pub(super) struct Table {
    sectors: BTreeMap<u64, Settled>,
    given_up: u64,
}

impl Table {
    pub(super) fn new(_limit: u64) -> Table {
        Table::default()
    }
    pub(super) fn get(&self, sector: u64) -> Settled {
        self.sectors.get(&sector).copied().unwrap_or(UNTOUCHED)
    }
    pub(super) fn set(&mut self, range: Sectors, tag: Tag, seen: bool, rewritten: bool) {
        for sector in range.start..range.end() {
            let old = self.get(sector);
            self.given_up += u64::from(tag == Tag::UNKNOWN && old.tag != Tag::UNKNOWN);
            if tag == Tag::INITIAL {
                self.sectors.remove(&sector);
            } else {
                let rewritten = rewritten || old.tag != Tag::INITIAL;
                self.sectors.insert(sector, Settled { tag, seen, rewritten });
            }
        }
    }
    pub(super) fn check(&mut self, range: Sectors, mut found: impl FnMut(u64, Tag) -> bool) {
        for sector in range.start..range.end() {
            if found(sector, self.get(sector).tag) {
                self.mark_seen(sector);
            }
        }
    }
    pub(super) fn mark_seen(&mut self, sector: u64) {
        if let Some(settled) = self.sectors.get_mut(&sector) {
            settled.seen = true;
        }
    }
    pub(super) fn touched(&self) -> impl Iterator<Item = Sectors> {
        self.sectors.keys().map(|&sector| Sectors::new(sector, 1))
    }
    pub(super) fn unknown(&self) -> u64 {
        self.sectors.values().filter(|settled| settled.tag == Tag::UNKNOWN).count() as u64
    }
    pub(super) fn given_up(&self) -> u64 {
        self.given_up
    }
    pub(super) fn bytes(&self) -> u64 {
        64 * self.sectors.len() as u64
    }
}
