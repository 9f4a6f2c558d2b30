//! Reading a source ahead in a thread of its own, so that decompressing, parsing, sorting, and a producer that
//! pauses never hold up whoever issues the requests.

use crate::recorded::LoadError;
use crate::{Item, Source};
use iosonar_plan::Nanos;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// Requests that are read ahead at most.
const AHEAD: usize = 4096;

/// What a source that is read ahead answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next request.
    Item(Item),
    /// There is none yet; ask again.
    NotYet,
    /// There are no more.
    End,
}

type Answer = Result<Item, LoadError>;

/// A source that is read ahead.
#[derive(Debug)]
pub struct ReadAhead {
    answers: Receiver<Answer>,
    /// Taken from the channel before it was asked for.
    first: Option<Answer>,
    lines: Arc<AtomicU64>,
}

impl ReadAhead {
    /// Starts reading what `open` gives; opening may take its time, too. The thread ends with the source, or when
    /// nobody listens any more.
    pub fn start(
        open: impl FnOnce() -> Result<Box<dyn Source>, LoadError> + Send + 'static,
    ) -> io::Result<ReadAhead> {
        let (answer, answers) = sync_channel(AHEAD);
        let lines = Arc::new(AtomicU64::new(0));
        let counted = lines.clone();
        let read = move || match open() {
            Ok(source) => read(source, &answer, &counted),
            Err(error) => {
                let _ = answer.send(Err(error));
            }
        };
        std::thread::Builder::new().name("load".into()).spawn(read)?;
        Ok(ReadAhead { answers, first: None, lines })
    }

    /// Waits until the first request is there or the source has ended; `false` if `limit` passed before.
    pub fn prime(&mut self, limit: Duration) -> bool {
        if self.first.is_some() {
            return true;
        }
        match self.answers.recv_timeout(limit) {
            Ok(answer) => {
                self.first = Some(answer);
                true
            }
            Err(RecvTimeoutError::Disconnected) => true,
            Err(RecvTimeoutError::Timeout) => false,
        }
    }

    /// The next request, if it has been read.
    pub fn poll(&mut self) -> Result<Next, LoadError> {
        match self.first.take().map_or_else(|| self.answers.try_recv(), Ok) {
            Ok(answer) => answer.map(Next::Item),
            Err(TryRecvError::Empty) => Ok(Next::NotYet),
            Err(TryRecvError::Disconnected) => Ok(Next::End),
        }
    }

    /// Lines of input read so far; it may be ahead of what was asked for.
    pub fn lines(&self) -> u64 {
        self.lines.load(Relaxed)
    }
}

fn read(mut source: Box<dyn Source>, answer: &SyncSender<Answer>, lines: &AtomicU64) {
    loop {
        let item = source.next(Nanos(0)).transpose();
        lines.store(source.lines(), Relaxed);
        let Some(item) = item else { return };
        let failed = item.is_err();
        if answer.send(item).is_err() || failed {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Extent, Op};

    struct Counter(u64);

    impl Source for Counter {
        fn next(&mut self, _: Nanos) -> Result<Option<Item>, LoadError> {
            let sequence = self.0;
            self.0 += 1;
            let (load_time, due, extent) =
                (Nanos(sequence), Some(Nanos(sequence)), Extent { offset: 0, length: 512 });
            Ok((sequence < 10_000).then_some(Item {
                sequence,
                load_time,
                due,
                op: Op::Read,
                extent,
                ramp: false,
            }))
        }

        fn lines(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn everything_comes_in_order() {
        let mut ahead = ReadAhead::start(|| Ok(Box::new(Counter(0)))).unwrap();
        assert!(ahead.prime(Duration::from_secs(60)));
        assert!(matches!(ahead.poll(), Ok(Next::Item(Item { sequence: 0, .. }))));
        let mut expected = 1;
        loop {
            match ahead.poll().unwrap() {
                Next::Item(item) => {
                    assert_eq!(item.sequence, expected);
                    expected += 1;
                }
                Next::NotYet => std::thread::yield_now(),
                Next::End => break,
            }
        }
        assert_eq!((expected, ahead.lines()), (10_000, 10_001));
    }
}
