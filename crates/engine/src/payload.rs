//! The data of requests: memory for all of them, and the written content.

use crate::cpu_cache::CpuCache;
use crate::pools::Pools;
use iosonar_content::{SectorHeader, fill, named};
use iosonar_os::{Buffer, BufferPool};
use iosonar_plan::{Data, Extent, Fill, Nanos, Op, RunId, SECTOR};

/// Identity of the data.
#[derive(Debug, Clone)]
pub(crate) struct DataSource {
    pub(crate) run_id: RunId,
    pub(crate) target: u16,
    pub(crate) phase: u16,
    pub(crate) fill: Fill,
    /// The data that replaces sectors with headers, and the seed of its random part.
    pub(crate) data: Option<Data>,
    pub(crate) seed: u64,
}

impl DataSource {
    /// The properties of a request that data by name depends on.
    pub(crate) fn place(&self, pass: u32, extent: Extent, sequence: u64) -> named::DataPlace {
        named::DataPlace { offset: extent.offset, target: self.target, seed: self.seed_of(pass, sequence) }
    }

    /// Seed of a random request: different for each request of a run, the same in an equal run.
    fn seed_of(&self, pass: u32, sequence: u64) -> u64 {
        let pass = u64::from(self.phase) << 32 | u64::from(pass);
        let words = [self.seed, self.target.into(), pass, sequence];
        words.into_iter().fold(0x105_0a72, |hash: u64, word| {
            (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(31)
        })
    }
}

/// The properties of a request that its data depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DataRequest {
    pub(crate) sequence: u64,
    pub(crate) op: Op,
    pub(crate) extent: Extent,
    /// Time from the start of the pass; 0 without a due time. Not from the clock: equal runs write equal bytes.
    pub(crate) due: Nanos,
}

/// Bytes that are made at a time, some microseconds: completions are reaped in between.
pub(crate) const SLICE: usize = 16 << 10;

/// Data of the next write, as far as it is made.
#[derive(Debug)]
struct Ahead {
    content: DataRequest,
    buffer: Buffer,
    made: usize,
}

impl Ahead {
    fn is_whole(&self) -> bool {
        self.made == self.buffer.len()
    }
}

/// Memory for the data of one worker's requests, bounded by the plan.
#[derive(Debug)]
pub(crate) struct Payloads {
    data_source: DataSource,
    pass: u32,
    /// `None` where the backend needs no data.
    pool: Option<BufferPool>,
    ahead: Option<Ahead>,
    /// Destination of the pool at the end.
    home: Option<Pools>,
    cpu_cache: Option<CpuCache>,
}

impl Drop for Payloads {
    fn drop(&mut self) {
        self.forget_ahead();
        if let (Some(pool), Some(home)) = (self.pool.take(), &self.home) {
            home.put_back(pool);
        }
    }
}

impl Payloads {
    pub(crate) fn new(data_source: DataSource, pool: Option<BufferPool>, home: Option<Pools>) -> Payloads {
        iosonar_content::prepare(data_source.fill);
        Payloads { data_source, pass: 0, pool, ahead: None, home, cpu_cache: None }
    }

    /// Sets the bytes of other memory for [`Payloads::purge_cpu_cache`].
    pub(crate) fn purging(mut self, bytes: u64) -> Payloads {
        self.cpu_cache = CpuCache::new(bytes);
        self
    }

    /// Fills the CPU cache with memory that no request uses, where requested.
    pub(crate) fn purge_cpu_cache(&self) {
        if let Some(cache) = &self.cpu_cache {
            cache.purge();
        }
    }

    /// Sequence numbers start again: data made ahead for the last pass must not meet its namesake.
    pub(crate) fn begin(&mut self, pass: u32) {
        self.pass = pass;
        self.forget_ahead();
    }

    fn forget_ahead(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            self.give(ahead.buffer);
        }
    }

    /// The memory; `None` where requests have no data.
    pub(crate) fn pool(&self) -> Option<&BufferPool> {
        self.pool.as_ref()
    }

    /// Whether requests have no data.
    pub(crate) fn are_empty(&self) -> bool {
        self.pool.is_none()
    }

    /// Whether data of `length` bytes can ever be held.
    pub(crate) fn can_hold(&self, length: u64) -> bool {
        let fits = |pool: &BufferPool| usize::try_from(length).is_ok_and(|length| pool.check(length).is_ok());
        self.pool.as_ref().is_none_or(fits)
    }

    /// Whether the data of a request still has to be made, which takes time.
    pub(crate) fn is_to_be_made(&self, content: &DataRequest) -> bool {
        let is_made = |ahead: &Ahead| ahead.is_whole() && ahead.content == *content;
        content.op == Op::Write && self.pool.is_some() && !self.ahead.as_ref().is_some_and(is_made)
    }

    /// Whether data can be made slice by slice while requests are in flight, and none is made yet. Data by name is made
    /// in one go: completions would be noticed late.
    pub(crate) fn has_room_ahead(&self) -> bool {
        self.pool.is_some()
            && self.data_source.data.is_none()
            && !self.ahead.as_ref().is_some_and(Ahead::is_whole)
    }

    /// Makes the next slice of a write's data; `true` when no more can be made: all is made, or no memory is free.
    pub(crate) fn prepare(&mut self, content: DataRequest) -> bool {
        if !self.is_to_be_made(&content) {
            return true;
        }
        let (mut buffer, made) = match self.ahead.take() {
            Some(ahead) if ahead.content == content => (ahead.buffer, ahead.made),
            other => {
                // The other request was dropped, or waits: its data is of no use now.
                self.ahead = other;
                self.forget_ahead();
                let Some(buffer) = self.buffer(content) else { return true };
                (buffer, 0)
            }
        };
        let made = self.make(&mut buffer, content, made);
        self.ahead.insert(Ahead { content, buffer, made }).is_whole()
    }

    /// The data of a request; `None` while all memory is in use (some is freed by the next completion).
    pub(crate) fn take(&mut self, content: DataRequest) -> Option<Buffer> {
        let (mut buffer, mut made) = match self.ahead.take() {
            Some(ahead) if ahead.content == content => (ahead.buffer, ahead.made),
            other => {
                self.ahead = other;
                let buffer = self.buffer(content).or_else(|| {
                    // Data made for another request must not block this one.
                    self.forget_ahead();
                    self.buffer(content)
                })?;
                (buffer, 0)
            }
        };
        while content.op == Op::Write && made < buffer.len() {
            made = self.make(&mut buffer, content, made);
        }
        Some(buffer)
    }

    /// Memory for a request, with any content.
    fn buffer(&mut self, content: DataRequest) -> Option<Buffer> {
        match &mut self.pool {
            Some(pool) if content.op.is_transfer() => pool.take(content.extent.length as usize),
            _ => Some(Buffer::empty()),
        }
    }

    /// Makes the next slice of the data after `made` bytes; returns how much is made then.
    fn make(&self, buffer: &mut Buffer, content: DataRequest, made: usize) -> usize {
        if let Some(data) = &self.data_source.data {
            named::fill(buffer, data, self.data_source.place(self.pass, content.extent, content.sequence));
            return buffer.len();
        }
        let end = buffer.len().min(made + SLICE);
        let first = SectorHeader {
            run_id: self.data_source.run_id,
            target: self.data_source.target,
            phase: self.data_source.phase,
            pass: self.pass,
            sector: content.extent.offset / SECTOR,
            sequence: content.sequence,
            due_ns: content.due.0,
            index: 0,
            length: u16::try_from(content.extent.length / SECTOR).unwrap_or(u16::MAX),
        };
        fill(&mut buffer[made..end], first.after(made as u64 / SECTOR), self.data_source.fill);
        end
    }

    pub(crate) fn give(&mut self, buffer: Buffer) {
        if let Some(pool) = self.pool.as_mut().filter(|_| !buffer.is_empty()) {
            pool.give(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(sequence: u64) -> DataRequest {
        DataRequest { sequence, op: Op::Write, extent: Extent { offset: 0, length: 8192 }, due: Nanos(0) }
    }

    fn payloads(bytes: u64) -> Payloads {
        let data_source =
            DataSource { run_id: 1, target: 0, phase: 0, fill: Fill::default(), data: None, seed: 1 };
        Payloads::new(data_source, Some(BufferPool::new(bytes, false).unwrap()), None)
    }

    #[test]
    fn prepared_data_is_used_or_discarded() {
        let mut payloads = payloads(8192);
        assert!(payloads.prepare(write(1)));
        assert!(!payloads.is_to_be_made(&write(1)) && payloads.is_to_be_made(&write(2)));
        let buffer = payloads.take(write(2)).expect("data made for 1 gives way");
        assert!(payloads.take(write(1)).is_none());
        payloads.give(buffer);
        let header = |b: &Buffer| SectorHeader::decode(b[..512].try_into().unwrap()).unwrap().sequence;
        assert_eq!(header(&payloads.take(write(1)).unwrap()), 1);
    }

    #[test]
    fn each_pass_prepares_its_own_data() {
        let mut payloads = payloads(1 << 20);
        payloads.prepare(write(1));
        payloads.begin(1);
        let buffer = payloads.take(write(1)).unwrap();
        assert_eq!(SectorHeader::decode(buffer[..512].try_into().unwrap()).unwrap().pass, 1);
        assert!(payloads.can_hold(1 << 20) && !payloads.can_hold(1 + (1 << 20)));
    }

    #[test]
    fn filling_in_slices_yields_the_same_bytes() {
        let content =
            DataRequest { extent: Extent { offset: 4096, length: 3 * SLICE as u64 + 1000 }, ..write(5) };
        let mut payloads = payloads(1 << 20);
        let whole = payloads.take(content).unwrap().to_vec();
        let slices = (0..).take_while(|_| !payloads.prepare(content)).count();
        assert_eq!(slices, 3, "the fourth slice is the last");
        assert!(payloads.take(content).unwrap().to_vec() == whole);
        // Half-made data is finished when its request goes.
        payloads.prepare(content);
        assert!(payloads.is_to_be_made(&content) && payloads.take(content).unwrap().to_vec() == whole);
        for (i, sector) in whole.as_chunks::<512>().0.iter().enumerate() {
            let header = SectorHeader::decode(sector).unwrap();
            assert_eq!((header.sector, header.index, header.length), (8 + i as u64, i as u16, 97));
        }
    }
}
