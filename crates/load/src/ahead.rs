//! Reading a source ahead in a separate thread, so that decompressing, parsing, sorting, and a producer that pauses never hold up
//! the issuing loop.

use crate::recorded::LoadError;
use crate::{Source, SourceRequest};
use iosonar_os::spsc::{Empty, Receiver, Sender, channel};
use iosonar_plan::Nanos;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Maximum number of requests that are read ahead.
const AHEAD: usize = 4096;

/// Polling interval of a blocked thread: the one that reads while there is no room, and the one that waits for the first request.
/// Neither is woken, because a call for that would be most of the cost of a request.
const LOOK: Duration = Duration::from_micros(200);

/// Result of asking a source that is read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The next request.
    Request(SourceRequest),
    /// No request yet; ask again.
    NotYet,
    /// There are no more.
    End,
}

type Answer = Result<SourceRequest, LoadError>;

/// A source that is read ahead.
#[derive(Debug)]
pub struct ReadAhead {
    answers: Receiver<Answer>,
    /// An item taken from the queue before it was needed.
    first: Option<Answer>,
    lines: Arc<AtomicU64>,
}

impl ReadAhead {
    /// Starts reading the source that `open` returns; opening may take its time, too. The thread ends with the source, or when its
    /// receiver is gone.
    pub fn start(
        open: impl FnOnce() -> Result<Box<dyn Source>, LoadError> + Send + 'static,
    ) -> io::Result<ReadAhead> {
        let (mut answer, answers) = channel(AHEAD);
        let lines = Arc::new(AtomicU64::new(0));
        let counted = lines.clone();
        let read = move || match open() {
            Ok(source) => read(source, &mut answer, &counted),
            Err(error) => {
                send(&mut answer, Err(error));
            }
        };
        std::thread::Builder::new().name("load".into()).spawn(read)?;
        Ok(ReadAhead { answers, first: None, lines })
    }

    /// Waits until the first request is there or the source has ended; `false` if `limit` passed before.
    pub fn prime(&mut self, limit: Duration) -> bool {
        let begin = Instant::now();
        while self.first.is_none() {
            match self.answers.pop() {
                Ok(answer) => self.first = Some(answer),
                Err(Empty::ForEver) => return true,
                Err(Empty::ForNow) if begin.elapsed() >= limit => return false,
                Err(Empty::ForNow) => std::thread::sleep(LOOK),
            }
        }
        true
    }

    /// The next request, if it has been read.
    #[inline]
    pub fn poll(&mut self) -> Result<Next, LoadError> {
        match self.first.take().map_or_else(|| self.answers.pop(), Ok) {
            Ok(answer) => answer.map(Next::Request),
            Err(Empty::ForNow) => Ok(Next::NotYet),
            Err(Empty::ForEver) => Ok(Next::End),
        }
    }

    /// The next request, if it has been read; it stays the next.
    pub fn peek(&mut self) -> Option<&SourceRequest> {
        if self.first.is_none() {
            self.first = self.answers.pop().ok();
        }
        self.first.as_ref().and_then(|answer| answer.as_ref().ok())
    }

    /// Lines of input read so far; it may be ahead of the consumer.
    pub fn lines(&self) -> u64 {
        self.lines.load(Relaxed)
    }
}

fn read(mut source: Box<dyn Source>, answer: &mut Sender<Answer>, lines: &AtomicU64) {
    loop {
        let item = source.next(Nanos(0)).transpose();
        lines.store(source.lines(), Relaxed);
        let Some(item) = item else { return };
        let failed = item.is_err();
        if !send(answer, item) || failed {
            return;
        }
    }
}

/// Waits for room; `false` if the receiver is gone.
fn send(answer: &mut Sender<Answer>, mut item: Answer) -> bool {
    while let Err(back) = answer.push(item) {
        if answer.is_closed() {
            return false;
        }
        item = back;
        std::thread::sleep(LOOK);
    }
    !answer.is_closed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Durability, Extent, Op};

    struct Counter(u64);

    impl Source for Counter {
        fn next(&mut self, _: Nanos) -> Result<Option<SourceRequest>, LoadError> {
            let sequence = self.0;
            self.0 += 1;
            let (load_time, due, extent) =
                (Nanos(sequence), Some(Nanos(sequence)), Extent { offset: 0, length: 512 });
            Ok((sequence < 10_000).then_some(SourceRequest {
                sequence,
                load_time,
                due,
                op: Op::Read,
                durability: Durability::NONE,
                extent,
                ramp: false,
            }))
        }

        fn lines(&self) -> u64 {
            self.0
        }
    }

    #[test]
    fn delivers_requests_in_order() {
        let mut ahead = ReadAhead::start(|| Ok(Box::new(Counter(0)))).unwrap();
        assert!(ahead.prime(Duration::from_secs(60)));
        assert!(matches!(ahead.poll(), Ok(Next::Request(SourceRequest { sequence: 0, .. }))));
        let peeked = loop {
            match ahead.peek() {
                Some(item) => break item.sequence,
                None => std::thread::yield_now(),
            }
        };
        assert_eq!((peeked, ahead.peek().map(|item| item.sequence)), (1, Some(1)));
        let mut expected = 1;
        loop {
            match ahead.poll().unwrap() {
                Next::Request(item) => {
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
