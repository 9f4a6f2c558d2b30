//! The partial of a static analysis: everything that is counted per request.

use super::device::{Device, Sums, is_cut, pieces};
use super::lanes::{Lanes, MOST_STEPS};
use super::seek::Seek;
use super::sizes::Sizes;
use super::turns::Steps;
use super::wrap::Wrap;
use super::{ByOp, Demand, DemandCounts, DemandOptions, DemandSpan, SECTOR_BYTES, SECTORS_PER_PAGE};

const SECOND_NS: u64 = 1_000_000_000;
/// Sectors of a GiB.
pub(super) const GIB_SECTORS: u64 = (1 << 30) / SECTOR_BYTES;
/// Cells of positions at most.
const MOST_CELLS: usize = 1 << 16;
/// Place after all that 64 bits can address in bytes.
const HIGHEST_SECTOR: u64 = 1 << 55;
/// Range of seconds in working sets: 136 years.
const LAST_SECOND: u64 = u32::MAX as u64 - 1;

/// Lanes of rates: reads, writes, then the sectors of both.
pub(super) const RATE_LANES: usize = 4;
/// Lanes of turns: requests, turns.
pub(super) const TURN_LANES: usize = 2;

/// Requests, sectors and page accesses of one operation.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Volume {
    pub(super) requests: u64,
    pub(super) sectors: u64,
    pub(super) page_accesses: u64,
}

/// Counts of any part of a load. Requests arrive in the order of time; one tally takes all requests of a device.
///
/// A request that comes late, after requests of later seconds, is counted at its own time in all series; for turns, reuse
/// distances and last uses it counts at its arrival.
#[derive(Debug, Clone)]
pub struct DemandTally {
    pub(super) options: DemandOptions,
    /// In the order of their numbers, unless tallies with the same device were merged.
    pub(super) devices: Vec<Device>,
    /// The device of the last request.
    current: usize,
    /// Memory of all devices, in pages.
    used: usize,
    pub(super) sums: Sums,
    pub(super) volume: [Volume; 2],
    pub(super) span: Option<DemandSpan>,
    pub(super) sizes: Sizes,
    pub(super) bounds: Option<(u64, u64)>,
    pub(super) not_page_aligned: u64,
    /// Requests of which only the first pages are counted.
    pub(super) cut: u64,
    pub(super) positions: Lanes,
    pub(super) seek: Seek,
    pub(super) per_second: Lanes,
    pub(super) throughput: Lanes,
    pub(super) turns: Lanes,
    pub(super) steps: Steps,
    pub(super) wraps: Vec<Wrap>,
}

/// Limits the address to the 64-bit range in bytes.
fn on_a_device(demand: &Demand) -> Demand {
    Demand { sector: demand.sector.min(HIGHEST_SECTOR), ..*demand }
}

impl DemandTally {
    /// An empty tally.
    pub fn new(options: &DemandOptions) -> DemandTally {
        DemandTally {
            devices: Vec::new(),
            current: 0,
            used: 0,
            sums: Sums::new(options.windows()),
            volume: [Volume::default(); 2],
            span: None,
            sizes: Sizes::new(),
            bounds: None,
            not_page_aligned: 0,
            cut: 0,
            positions: Lanes::new(2, MOST_CELLS),
            seek: Seek::new(),
            per_second: Lanes::new(RATE_LANES, MOST_STEPS),
            throughput: Lanes::new(RATE_LANES, MOST_STEPS),
            turns: Lanes::new(TURN_LANES, MOST_STEPS),
            steps: Steps::default(),
            wraps: options.device_bytes.iter().map(|bytes| Wrap::new(*bytes)).collect(),
            options: options.clone(),
        }
    }

    /// Adds a request.
    pub fn add(&mut self, demand: &Demand) {
        self.add_outline(demand);
        self.add_pages(demand);
    }

    /// Adds all of a request but its pages: they cost most, and another tally in another thread may take them. See
    /// [`DemandTally::with_pages`].
    pub fn add_outline(&mut self, demand: &Demand) {
        let d = on_a_device(demand);
        let device = self.find_device(d.device);
        self.count(&d);
        self.count_rates(&d, device);
        if d.sectors > 0 {
            self.devices[device].spans.add(d.time_ns / SECOND_NS, d.sector);
        }
    }

    /// Prefetches the first pages of the next requests all at once instead of one after the other: in a large table that is
    /// most of the cost.
    pub fn expect_pages(&self, demands: &[Demand]) {
        for demand in demands {
            if let Some(device) = self.devices.get(self.current).filter(|d| d.id == demand.device) {
                device.table.expect(demand.sector / SECTORS_PER_PAGE);
            }
        }
    }

    /// Adds the pages of a request.
    pub fn add_pages(&mut self, demand: &Demand) {
        let d = on_a_device(demand);
        let device = self.find_device(d.device);
        let second = (d.time_ns / SECOND_NS).min(LAST_SECOND) as u32;
        for piece in pieces(&d) {
            self.volume[usize::from(d.op.is_write())].page_accesses += piece.1 - piece.0;
            let device = &mut self.devices[device];
            let before = device.used();
            device.add(&d, piece, second, &mut self.sums);
            self.used = self.used + device.used() - before;
            self.fit();
        }
    }

    /// Joins this tally, which took the outline of requests, with `pages`, which took the pages of the same requests.
    pub fn with_pages(mut self, pages: DemandTally) -> DemandTally {
        debug_assert_eq!(self.devices.len(), pages.devices.len(), "both have seen the same requests");
        for (mine, theirs) in self.devices.iter_mut().zip(pages.devices) {
            (mine.table, mine.times) = (theirs.table, theirs.times);
        }
        for (mine, theirs) in self.volume.iter_mut().zip(&pages.volume) {
            mine.page_accesses = theirs.page_accesses;
        }
        (self.used, self.sums) = (pages.used, pages.sums);
        self
    }

    /// Index of a device, which is mostly that of the last request.
    fn find_device(&mut self, id: u16) -> usize {
        if self.devices.get(self.current).is_none_or(|d| d.id != id) {
            self.current = self.devices.partition_point(|d| d.id < id);
            if self.devices.get(self.current).is_none_or(|d| d.id != id) {
                self.devices.insert(self.current, Device::new(id, &self.sums.windows));
            }
        }
        self.current
    }

    /// Updates the counters that need neither order nor neighbours.
    fn count(&mut self, d: &Demand) {
        let volume = &mut self.volume[usize::from(d.op.is_write())];
        volume.requests += 1;
        volume.sectors += d.sectors;
        let span = self.span.get_or_insert(DemandSpan { first_ns: d.time_ns, last_ns: d.time_ns });
        (span.first_ns, span.last_ns) = (span.first_ns.min(d.time_ns), span.last_ns.max(d.time_ns));
        let (low, high) = self.bounds.get_or_insert((d.sector, d.end()));
        (*low, *high) = (d.sector.min(*low), d.end().max(*high));
        let is_aligned =
            d.sector.is_multiple_of(SECTORS_PER_PAGE) && d.end().is_multiple_of(SECTORS_PER_PAGE);
        self.not_page_aligned += u64::from(!is_aligned);
        self.cut += u64::from(is_cut(d));
        self.sizes.add(d.sectors, d.op);
        self.positions.at(d.sector / GIB_SECTORS)[usize::from(d.op.is_write())] += 1;
        self.seek.add(d);
        self.wraps.iter_mut().for_each(|w| w.add(d));
    }

    fn count_rates(&mut self, d: &Demand, device: usize) {
        let op = usize::from(d.op.is_write());
        let sectors = d.sectors;
        let count = |row: &mut [u64]| {
            row[op] += 1;
            row[2 + op] += sectors;
        };
        count(self.per_second.at(d.time_ns / SECOND_NS));
        count(self.throughput.at(d.time_ns / self.options.throughput_window_ns.max(1)));
        let step = self.devices[device].predecessor.step(d);
        self.steps.add(d.op, step);
        let row = self.turns.at(d.time_ns / self.options.turn_window_ns.max(1));
        row[0] += 1;
        row[1] += u64::from(step.is_turn);
    }

    /// Thins out the largest device until all of them fit into the memory.
    fn fit(&mut self) {
        while self.used > self.options.exact_pages.max(1) {
            let Some(largest) = self.devices.iter_mut().max_by_key(|d| d.used()) else { return };
            let before = largest.used();
            if before == 0 {
                return;
            }
            largest.thin_out();
            self.used = self.used + largest.used() - before;
        }
    }

    /// Merges `other`, which was made with the same options and has *other devices*. The same device in both would be
    /// counted as two.
    pub fn merge(&mut self, other: DemandTally) {
        debug_assert_eq!(self.options, other.options, "tallies of one load have the same options");
        self.devices.extend(other.devices);
        self.devices.sort_by_key(|d| d.id);
        self.used += other.used;
        self.fit();
        self.sums.merge(other.sums);
        for (mine, theirs) in self.volume.iter_mut().zip(&other.volume) {
            mine.requests += theirs.requests;
            mine.sectors += theirs.sectors;
            mine.page_accesses += theirs.page_accesses;
        }
        let spans = self.span.into_iter().chain(other.span);
        self.span = spans.reduce(|a, b| DemandSpan {
            first_ns: a.first_ns.min(b.first_ns),
            last_ns: a.last_ns.max(b.last_ns),
        });
        let bounds = self.bounds.into_iter().chain(other.bounds);
        self.bounds = bounds.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        self.sizes.merge(&other.sizes);
        self.not_page_aligned += other.not_page_aligned;
        self.cut += other.cut;
        self.positions.merge(other.positions);
        self.seek.merge(other.seek);
        self.per_second.merge(other.per_second);
        self.throughput.merge(other.throughput);
        self.turns.merge(other.turns);
        self.steps.merge(&other.steps);
        self.wraps.iter_mut().zip(&other.wraps).for_each(|(mine, theirs)| mine.merge(theirs));
    }

    /// Requests, sectors and bytes.
    pub(super) fn counts(&self) -> ByOp<DemandCounts> {
        let of = |volumes: &[Volume]| {
            let sectors = volumes.iter().map(|v| v.sectors).sum::<u64>();
            let requests = volumes.iter().map(|v| v.requests).sum();
            DemandCounts { requests, sectors, bytes: sectors.saturating_mul(SECTOR_BYTES) }
        };
        let [read, write] = &self.volume;
        ByOp { all: of(&self.volume), read: of(&[*read]), write: of(&[*write]) }
    }
}
