//! Flushes between generated writes.

use crate::recorded::LoadError;
use crate::{Source, SourceRequest};
use iosonar_plan::{Durability, Extent, FlushRule, Nanos};

/// The requests of a job with a flush after a number of its writes.
///
/// Requests and flushes are numbered together: the n-th of a job is request n × jobs + job. So numbers follow each other in
/// each job, and no two jobs have the same.
pub struct Flushed<S> {
    source: S,
    rule: FlushRule,
    job: u64,
    jobs: u64,
    /// Requests and flushes before the next one.
    passed: u64,
    /// Writes since the last flush.
    writes: u64,
    /// The last write, if a flush follows it.
    last: Option<SourceRequest>,
}

impl<S: Source> Flushed<S> {
    /// Adds flushes to the share of job `job`, from 0, of `jobs`.
    pub fn new(source: S, rule: FlushRule, job: u32, jobs: u32) -> Flushed<S> {
        Flushed { source, rule, job: job.into(), jobs: jobs.into(), passed: 0, writes: 0, last: None }
    }

    fn number(&self) -> u64 {
        self.passed * self.jobs + self.job
    }

    /// A flush is due when the write before it was.
    fn flush(&self, write: &SourceRequest) -> SourceRequest {
        SourceRequest {
            sequence: self.number(),
            op: self.rule.op.op(),
            durability: Durability::NONE,
            extent: Extent::default(),
            ..*write
        }
    }
}

impl<S: Source> Source for Flushed<S> {
    fn next(&mut self, now: Nanos) -> Result<Option<SourceRequest>, LoadError> {
        let item = match self.last.take() {
            Some(write) => self.flush(&write),
            None => {
                let Some(item) = self.source.next(now)? else { return Ok(None) };
                self.writes += u64::from(item.op.is_write());
                if self.writes == self.rule.after_writes {
                    (self.writes, self.last) = (0, Some(item));
                }
                SourceRequest { sequence: self.number(), ..item }
            }
        };
        self.passed += 1;
        Ok(Some(item))
    }

    fn upcoming(&self, now: Nanos) -> Option<SourceRequest> {
        match &self.last {
            Some(write) => Some(self.flush(write)),
            None => self.source.upcoming(now).map(|item| SourceRequest { sequence: self.number(), ..item }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generated, Setting};
    use iosonar_plan::{ByteSize, Decimal, FlushOp, Generator, Op, Order, Stop};

    fn items(read_percent: u32, after_writes: u64, job: u32, jobs: u32) -> Vec<SourceRequest> {
        let generator = Generator {
            read_percent: Decimal::whole(read_percent.into()),
            stop: Stop { requests: Some(100), ..Stop::default() },
            ..Generator::new(Order::Sequential, ByteSize(4096))
        };
        let generated = Generated::new(&generator, &Setting::alone(1 << 20, 1), None).unwrap();
        let rule = FlushRule { after_writes, op: FlushOp::Fsync };
        let mut flushed = Flushed::new(generated.part(job, jobs), rule, job, jobs);
        let mut items = Vec::new();
        loop {
            let upcoming = flushed.upcoming(Nanos(0));
            let Some(item) = flushed.next(Nanos(0)).unwrap() else { break };
            assert_eq!(upcoming, Some(item));
            items.push(item);
        }
        items
    }

    #[test]
    fn flushes_after_every_n_writes() {
        let all = items(0, 8, 0, 1);
        assert_eq!(all.len(), 112);
        for (number, item) in (0..).zip(&all) {
            let is_flush = number % 9 == 8;
            assert_eq!((item.sequence, item.op == Op::Fsync), (number, is_flush));
            assert_eq!(item.extent.length, if is_flush { 0 } else { 4096 });
        }
        let mixed = items(50, 5, 0, 1);
        let mut writes = 0;
        for item in &mixed {
            writes += u64::from(item.op == Op::Write);
            assert!(item.op != Op::Fsync || writes % 5 == 0);
        }
        assert_eq!(mixed.iter().filter(|item| item.op == Op::Fsync).count(), 10);
    }

    #[test]
    fn jobs_flush_by_own_writes_with_unique_sequence_numbers() {
        let shares = [0, 1, 2].map(|job| items(0, 4, job, 3));
        let mut numbers: Vec<u64> = shares.iter().flatten().map(|item| item.sequence).collect();
        let total = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), total);
        let flushes = |share: &Vec<SourceRequest>| share.iter().filter(|item| item.op == Op::Fsync).count();
        assert_eq!(shares.each_ref().map(flushes), [8, 8, 8]);
    }
}
