//! Extra reads between generated reads.

use crate::recorded::LoadError;
use crate::{Source, SourceRequest};
use iosonar_plan::{ExtraReads, Nanos};

/// The requests of a job with a pair of extra reads at fixed intervals. All are numbered together.
pub struct Jittered<S> {
    source: S,
    extra: ExtraReads,
    /// Number of the next request.
    number: u64,
}

impl<S: Source> Jittered<S> {
    /// Adds extra reads to the requests of the only loop of a job.
    pub fn new(source: S, extra: ExtraReads) -> Jittered<S> {
        Jittered { source, extra, number: 0 }
    }

    /// The next request, after the source has shown its own next one.
    fn of(&self, own: SourceRequest) -> SourceRequest {
        let extent = self.extra.extent(self.number).unwrap_or(own.extent);
        SourceRequest { sequence: self.number, extent, ..own }
    }
}

impl<S: Source> Source for Jittered<S> {
    fn next(&mut self, now: Nanos) -> Result<Option<SourceRequest>, LoadError> {
        let own = match self.extra.extent(self.number) {
            Some(_) => self.source.upcoming(now),
            None => self.source.next(now)?,
        };
        let item = own.map(|own| self.of(own));
        self.number += u64::from(item.is_some());
        Ok(item)
    }

    fn upcoming(&self, now: Nanos) -> Option<SourceRequest> {
        self.source.upcoming(now).map(|own| self.of(own))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Generated, Setting};
    use iosonar_plan::{ByteSize, Generator, Order};

    #[test]
    fn own_requests_keep_order_and_end_the_sequence() {
        let generator = Generator::new(Order::Sequential, ByteSize(4096));
        let generated = Generated::new(&generator, &Setting::alone(10 * 4096, 1), None).unwrap();
        let extra = ExtraReads { every: 5, size: ByteSize(1) };
        let mut source = Jittered::new(generated, extra);
        let mut items = Vec::new();
        loop {
            let upcoming = source.upcoming(Nanos(0));
            let Some(item) = source.next(Nanos(0)).unwrap() else { break };
            assert_eq!(upcoming, Some(item));
            items.push((item.sequence, item.extent.offset / 4096, item.extent.length));
        }
        let extras = |first: u64| [(first, 0, 1), (first + 1, 1, 1)];
        let own = |first: u64, place: u64| (0..5).map(move |n| (first + n, place + n, 4096));
        let want: Vec<_> = extras(0).into_iter().chain(own(2, 0)).chain(extras(7)).chain(own(9, 5)).collect();
        assert_eq!(items, want);
    }
}
