//! One device's address space: its pages, its spans, its last request.

use super::lanes::MOST_STEPS;
use super::recency::Recency;
use super::reuse::Reuse;
use super::sectors::{SectorTimes, Use};
use super::spans::Spans;
use super::table::{Entry, PageTable, Sectors, is_sampled};
use super::turns::Predecessor;
use super::windows::{Batch, Change, Sliding};
use super::{Demand, SECTORS_PER_PAGE, SetSizes};

/// Pages of a request that are processed between two checks of the memory.
const PIECE: u64 = 4096;
/// Maximum pages of a request, 1 GiB: an absurd length must not cause minutes of work.
const MOST_PAGES: u64 = 1 << 18;
/// Times of single sectors that cost as much memory as a page.
const TIMES_PER_PAGE: usize = 2;

/// State of one device.
#[derive(Debug, Clone)]
pub(super) struct Device {
    pub(super) id: u16,
    pub(super) predecessor: Predecessor,
    pub(super) spans: Spans,
    pub(super) table: PageTable,
    pub(super) times: SectorTimes,
}

/// Sums over all devices.
#[derive(Debug, Clone)]
pub(super) struct Sums {
    pub(super) windows: Vec<u64>,
    pub(super) sets: SetSizes<Sliding>,
    pub(super) reuse: Reuse,
}

/// Changes of the three sets by one request.
#[derive(Default)]
struct Batches {
    start: Batch,
    touched: Batch,
    pages: Batch,
}

impl Sums {
    pub(super) fn new(windows: Vec<u64>) -> Sums {
        let set = || Sliding::new(&windows);
        let sets = SetSizes { start: set(), touched: set(), pages: set() };
        Sums { sets, windows, reuse: Reuse::new() }
    }

    pub(super) fn merge(&mut self, other: Sums) {
        self.sets.start.merge(other.sets.start);
        self.sets.touched.merge(other.sets.touched);
        self.sets.pages.merge(other.sets.pages);
        self.reuse.merge(&other.reuse);
    }
}

/// Whether some pages of a request are ignored.
pub(super) fn is_cut(d: &Demand) -> bool {
    d.end().div_ceil(SECTORS_PER_PAGE) - d.sector / SECTORS_PER_PAGE > MOST_PAGES
}

/// Pages that a request touches, in pieces.
pub(super) fn pieces(d: &Demand) -> impl Iterator<Item = (u64, u64)> + use<> {
    let (first, end) = (d.sector / SECTORS_PER_PAGE, d.end().div_ceil(SECTORS_PER_PAGE));
    let end = if d.sectors == 0 { first } else { end.min(first + MOST_PAGES) };
    (first..end).step_by(PIECE as usize).map(move |from| (from, end.min(from + PIECE)))
}

/// Sectors of a page that a request touches, one bit each.
fn touched(d: &Demand, page: u64) -> u8 {
    let first = page * SECTORS_PER_PAGE;
    let below = d.sector.saturating_sub(first).min(8) as u32;
    let above = (first + SECTORS_PER_PAGE).saturating_sub(d.end()).min(8) as u32;
    ((0xff_u16 << below) as u8) & ((0xff_u16 >> above) as u8)
}

impl Device {
    pub(super) fn new(id: u16, windows: &[u64]) -> Device {
        Device {
            id,
            predecessor: Predecessor::default(),
            spans: Spans::new(windows),
            table: PageTable::new(),
            times: SectorTimes::default(),
        }
    }

    /// Memory that is in use, in pages.
    pub(super) fn used(&self) -> usize {
        self.table.len() + self.times.len() / TIMES_PER_PAGE
    }

    /// Halves the share of sampled pages from now on.
    pub(super) fn thin_out(&mut self) {
        self.table.thin_out();
        self.times.thin_out(self.table.log_rate());
    }

    /// Adds a piece of the pages of a request.
    pub(super) fn add(&mut self, d: &Demand, (from, end): (u64, u64), second: u32, sums: &mut Sums) {
        let log_rate = self.table.log_rate();
        self.table.reserve((end - from) as usize);
        let change = Change { windows: &sums.windows, second, log_weight: log_rate };
        let mut batches = Batches::default();
        let mut run = Run::default();
        let mut guess = 0;
        let mut reuse = |distance: Option<u64>, pages: u32| match distance {
            None => sums.reuse.first(d.op, pages, log_rate),
            Some(distance) => sums.reuse.again(d.op, distance, pages, log_rate),
        };
        for page in from..end {
            if !is_sampled(page, log_rate) {
                continue;
            }
            let (slot, is_new) = self.table.find_or_insert(page, guess);
            guess = slot + 1;
            let (entry, recency) = self.table.entry(slot);
            if !run.takes(entry, is_new) {
                run.end(recency, &mut reuse);
                run = Run::begin(entry, recency, is_new);
            }
            entry.position = run.add();
            let uses = &mut entry.uses[usize::from(d.op.is_write())];
            *uses = uses.saturating_add(1);
            let mut visit = Visit { page, times: &mut self.times, change: &change };
            if page == d.sector / SECTORS_PER_PAGE {
                let bit = 1 << (d.sector % SECTORS_PER_PAGE);
                let track = (&mut sums.sets.start, &mut batches.start);
                visit.sectors(Use::Start, &mut entry.starts, &mut entry.last_start, bit, track);
            }
            if is_new {
                batches.pages.first(1);
            } else if second > entry.last {
                batches.pages.reused(&mut sums.sets.pages, &change, entry.last, 1);
            }
            let track = (&mut sums.sets.touched, &mut batches.touched);
            visit.sectors(Use::Touched, &mut entry.touched, &mut entry.last, touched(d, page), track);
        }
        run.end(self.table.recency(), &mut reuse);
        batches.start.flush(&mut sums.sets.start, &change);
        batches.touched.flush(&mut sums.sets.touched, &change);
        batches.pages.flush(&mut sums.sets.pages, &change);
    }

    /// Adds the last use of everything to the working sets. Returns, for each window, how much was used from `since` on.
    /// `last` is the last second of the load.
    pub(super) fn close(&self, sums: &mut Sums, since: &[u64], last: u64) -> Vec<SetSizes<u64>> {
        let Sums { windows, sets, .. } = sums;
        let end = End { windows, since, last, log_rate: self.table.log_rate() };
        let mut start = LastUses::new(&end, &mut sets.start);
        let mut touched = LastUses::new(&end, &mut sets.touched);
        let mut pages = LastUses::new(&end, &mut sets.pages);
        let ones = |sectors: &Sectors| sectors.recent.count_ones();
        for entry in self.table.entries() {
            start.add(entry.last_start, ones(&entry.starts));
            touched.add(entry.last, ones(&entry.touched));
            pages.add(entry.last, 1);
        }
        self.times.times(Use::Start).for_each(|second| start.add(second, 1));
        self.times.times(Use::Touched).for_each(|second| touched.add(second, 1));
        let (start, touched, pages) = (start.close(), touched.close(), pages.close());
        let of = |i: usize| SetSizes { start: start[i], touched: touched[i], pages: pages[i] };
        (0..since.len()).map(of).collect()
    }
}

/// The end of a load.
struct End<'a> {
    windows: &'a [u64],
    /// Start of the last consecutive window of each length.
    since: &'a [u64],
    last: u64,
    log_rate: u32,
}

/// The last uses of one set.
struct LastUses<'a> {
    end: &'a End<'a>,
    set: &'a mut Sliding,
    /// Items by second. Most loads end soon enough for that.
    by_second: Vec<u64>,
    /// For each window, how many were used from its start on.
    recent: Vec<u64>,
}

impl<'a> LastUses<'a> {
    fn new(end: &'a End<'a>, set: &'a mut Sliding) -> LastUses<'a> {
        let seconds = if end.last < MOST_STEPS as u64 { end.last as usize + 1 } else { 0 };
        LastUses { end, set, by_second: vec![0; seconds], recent: vec![0; end.since.len()] }
    }

    fn add(&mut self, second: u32, items: u32) {
        let weight = u64::from(items) << self.end.log_rate;
        match self.by_second.get_mut(second as usize) {
            Some(sum) => *sum += weight,
            None => self.change(second, weight),
        }
    }

    fn change(&mut self, second: u32, weight: u64) {
        if weight == 0 {
            return;
        }
        self.set.last(self.end.windows, second, weight);
        for (sum, since) in self.recent.iter_mut().zip(self.end.since) {
            *sum += if u64::from(second) >= *since { weight } else { 0 };
        }
    }

    /// Adds all of them to the set; returns how many were recent.
    fn close(mut self) -> Vec<u64> {
        for (second, weight) in std::mem::take(&mut self.by_second).into_iter().enumerate() {
            self.change(second as u32, weight);
        }
        self.recent
    }
}

/// Consecutive pages whose last uses were consecutive, too, or that were never used. They have the same distance: each
/// one's predecessor, now on top, counts instead of the page itself. So they move there together.
#[derive(Debug, Default)]
struct Run {
    /// Position of the first one's last use, and its distance.
    last: Option<(u32, u64)>,
    /// Position that the first one gets.
    position: u32,
    pages: u32,
}

impl Run {
    fn begin(entry: &Entry, recency: &Recency, is_new: bool) -> Run {
        let last = (!is_new).then(|| (entry.position, recency.behind(entry.position)));
        Run { last, position: recency.next(), pages: 0 }
    }

    /// Whether this page continues the run.
    fn takes(&self, entry: &Entry, is_new: bool) -> bool {
        let goes_on = match self.last {
            None => is_new,
            Some((position, _)) => !is_new && entry.position == position + self.pages,
        };
        self.pages > 0 && goes_on
    }

    /// Adds a page; returns its new position.
    fn add(&mut self) -> u32 {
        self.pages += 1;
        self.position + self.pages - 1
    }

    /// Moves all of them to the top.
    fn end(&self, recency: &mut Recency, count: &mut impl FnMut(Option<u64>, u32)) {
        if let Some((position, _)) = self.last {
            recency.remove(position, self.pages);
        }
        recency.push(self.pages);
        count(self.last.map(|(_, distance)| distance), self.pages);
    }
}

/// A request at one of its pages.
struct Visit<'a> {
    page: u64,
    times: &'a mut SectorTimes,
    change: &'a Change<'a>,
}

impl Visit<'_> {
    /// The request uses the sectors `bits`. One that comes late, after requests of later seconds, counts as if it came
    /// in the second of the last use.
    fn sectors(
        &mut self,
        what: Use,
        sectors: &mut Sectors,
        last: &mut u32,
        bits: u8,
        (set, batch): (&mut Sliding, &mut Batch),
    ) {
        let (page, change) = (self.page, self.change);
        let new = bits & !sectors.ever;
        let older = bits & sectors.ever & !sectors.recent;
        if new != 0 {
            batch.first(new.count_ones());
        }
        if older != 0 {
            self.times.take(page, older, what, |from| batch.reused(set, change, from, 1));
        }
        if change.second > *last || sectors.ever == 0 {
            let again = sectors.recent & bits;
            if again != 0 {
                batch.reused(set, change, *last, again.count_ones());
            }
            if sectors.recent & !bits != 0 {
                self.times.keep(page, sectors.recent & !bits, what, *last);
            }
            (*last, sectors.recent) = (change.second, bits);
        } else {
            sectors.recent |= bits;
        }
        sectors.ever |= bits;
    }
}
