//! From the issuing loop to the archive, through bounded memory, without losing a record.
//!
//! Each worker fills blocks of records that exist before the start; one writer thread takes full blocks,
//! appends them to the archive's log and gives them back. If it cannot keep up, [`Recorder::push`] waits for
//! a block: issuing stalls, each stall is counted, and no record is dropped.

use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use iosonar_archive::{LogWriter, Record, Stalls};
use iosonar_plan::Nanos;
use std::io;
use std::thread::JoinHandle;
use std::time::Instant;

/// Records in a block.
const BLOCK: usize = 1024;
/// Blocks that a worker owns: what it may be ahead of the writer.
const BLOCKS: usize = 8;
/// Age at which a block is handed on though it is not full: what `kill -9` may cost, at most.
const FLUSH_AFTER: Nanos = Nanos(250_000_000);

type Block = Vec<Record>;

/// A block on its way to the writer, with the index of the worker that gets it back.
type Filled = (usize, Block);

/// The writer has ended: its disk is full, or broken. [`Writer::finish`] tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer of the records has ended")]
pub struct WriterGone;

/// One worker's end.
#[derive(Debug)]
pub struct Recorder {
    worker: usize,
    block: Block,
    full: Sender<Filled>,
    empty: Receiver<Block>,
    flushed: Nanos,
    stalls: Stalls,
}

impl Recorder {
    /// Keeps a record; `now` is the worker's time. Waits where no block is left.
    pub fn push(&mut self, record: Record, now: Nanos) -> Result<(), WriterGone> {
        self.block.push(record);
        if self.block.len() == BLOCK { self.flush(now) } else { Ok(()) }
    }

    /// Hands on what has waited for long. To be called now and then, also when nothing happens.
    pub fn tick(&mut self, now: Nanos) -> Result<(), WriterGone> {
        let old = now.saturating_sub(self.flushed) >= FLUSH_AFTER;
        if old && !self.block.is_empty() { self.flush(now) } else { Ok(()) }
    }

    /// Hands on everything.
    pub fn flush(&mut self, now: Nanos) -> Result<(), WriterGone> {
        self.flushed = now;
        let next = self.next_block()?;
        let full = std::mem::replace(&mut self.block, next);
        self.full.send((self.worker, full)).map_err(|_| WriterGone)
    }

    fn next_block(&mut self) -> Result<Block, WriterGone> {
        match self.empty.try_recv() {
            Ok(block) => Ok(block),
            Err(TryRecvError::Disconnected) => Err(WriterGone),
            Err(TryRecvError::Empty) => {
                let since = Instant::now();
                let block = self.empty.recv().map_err(|_| WriterGone)?;
                self.stalls.add(Nanos(since.elapsed().as_nanos() as u64));
                Ok(block)
            }
        }
    }

    /// How often, and how long, the worker had to wait for the writer.
    pub fn stalls(&self) -> Stalls {
        self.stalls
    }
}

/// The writer thread's handle.
#[derive(Debug)]
pub struct Writer {
    thread: JoinHandle<io::Result<u64>>,
}

/// Where records go.
pub trait Sink: Send + 'static {
    /// Appends records.
    fn append(&mut self, records: &[Record]) -> io::Result<()>;
}

impl Sink for LogWriter {
    fn append(&mut self, records: &[Record]) -> io::Result<()> {
        LogWriter::append(self, records)
    }
}

/// Starts the writer, with one recorder for each of `workers`. `observe` sees every block on the writer's
/// thread, after it was appended.
pub fn start(
    mut sink: impl Sink,
    workers: usize,
    mut observe: impl FnMut(&[Record]) + Send + 'static,
) -> io::Result<(Writer, Vec<Recorder>)> {
    let (full, filled) = bounded::<Filled>(workers * BLOCKS);
    let mut recorders = Vec::with_capacity(workers);
    let mut returns = Vec::with_capacity(workers);
    for worker in 0..workers {
        let (give_back, empty) = bounded::<Block>(BLOCKS);
        for _ in 1..BLOCKS {
            let _ = give_back.send(Vec::with_capacity(BLOCK));
        }
        let block = Vec::with_capacity(BLOCK);
        let (stalls, flushed) = (Stalls::default(), Nanos(0));
        recorders.push(Recorder { worker, block, full: full.clone(), empty, flushed, stalls });
        returns.push(give_back);
    }
    let work = move || {
        let mut records = 0;
        for (worker, mut block) in filled {
            sink.append(&block)?;
            observe(&block);
            records += block.len() as u64;
            block.clear();
            // A worker that has ended needs no block.
            let _ = returns[worker].try_send(block);
        }
        Ok(records)
    };
    let thread = std::thread::Builder::new().name("recorder".into()).spawn(work)?;
    Ok((Writer { thread }, recorders))
}

impl Writer {
    /// Waits until everything that the recorders handed on is written, and all recorders are gone; gives the
    /// number of records.
    pub fn finish(self) -> io::Result<u64> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the recorder's writer panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    #[derive(Clone, Default)]
    struct Slow(Arc<Mutex<Vec<Record>>>);

    impl Sink for Slow {
        fn append(&mut self, records: &[Record]) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(5));
            self.0.lock().unwrap().extend_from_slice(records);
            Ok(())
        }
    }

    fn record(sequence: u64) -> Record {
        Record { sequence, ..Record::default() }
    }

    #[test]
    fn a_slow_writer_stalls_the_worker_and_nothing_is_lost() {
        let sink = Slow::default();
        let seen = Arc::new(Mutex::new(0));
        let counted = seen.clone();
        let (writer, recorders) =
            start(sink.clone(), 2, move |block| *counted.lock().unwrap() += block.len()).unwrap();
        let count = 40 * BLOCK as u64 + 7;
        let push_all = |mut recorder: Recorder| {
            for i in 0..count {
                recorder.push(record(i), Nanos(i)).unwrap();
            }
            recorder.flush(Nanos(count)).unwrap();
            recorder.stalls()
        };
        let stalls: Vec<Stalls> = std::thread::scope(|scope| {
            let threads: Vec<_> = recorders.into_iter().map(|r| scope.spawn(move || push_all(r))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(writer.finish().unwrap(), 2 * count);
        assert_eq!(*seen.lock().unwrap() as u64, 2 * count);
        assert!(stalls.iter().any(|s| s.count > 0 && s.total > Nanos(0)));
        let mut sequences: Vec<u64> = sink.0.lock().unwrap().iter().map(|r| r.sequence).collect();
        sequences.sort_unstable();
        assert!(sequences.chunks(2).enumerate().all(|(i, pair)| pair == [i as u64; 2]));
    }

    struct Full;

    impl Sink for Full {
        fn append(&mut self, _: &[Record]) -> io::Result<()> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }

    #[test]
    fn a_full_disk_is_told_to_the_worker_and_at_the_end() {
        let (writer, mut recorders) = start(Full, 1, |_| {}).unwrap();
        let mut recorder = recorders.remove(0);
        let ended = (0..).find(|i| recorder.push(record(*i), Nanos(0)).is_err());
        assert!(ended.unwrap() < (BLOCKS as u64 + 2) * BLOCK as u64);
        drop(recorder);
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn old_records_are_handed_on() {
        let sink = Slow::default();
        let (writer, mut recorders) = start(sink.clone(), 1, |_| {}).unwrap();
        let mut recorder = recorders.remove(0);
        recorder.push(record(0), Nanos(0)).unwrap();
        recorder.tick(Nanos(FLUSH_AFTER.0 - 1)).unwrap();
        recorder.tick(FLUSH_AFTER).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while sink.0.lock().unwrap().is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(sink.0.lock().unwrap().len(), 1);
        drop(recorder);
        writer.finish().unwrap();
    }
}
