//! From the issuing loop to the archive, through bounded memory, without losing a record.
//!
//! Each worker packs its records into frames that exist before the start; one writer thread takes full frames, appends
//! them to the archive's log and gives them back. Both ways are queues without locks. If the writer cannot keep up,
//! [`Recorder::push`] waits for a frame: issuing stalls, each stall is counted, and no record is dropped.

use iosonar_archive::{FRAME_BYTES, Frame, LogWriter, Record, Stalls};
use iosonar_os::Doorbell;
use iosonar_os::spsc::{Empty, Receiver, Sender, channel};
use iosonar_plan::Nanos;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Memory for the frames of all workers together, unless each has the minimum: the maximum lag of the writer.
const MEMORY: usize = 64 << 20;
/// Frames of a worker: two at least, one to fill while the other is written.
const FRAMES: std::ops::RangeInclusive<usize> = 2..=512;
/// Age at which a partly filled frame is sent to the writer: the maximum loss on `kill -9`.
const HAND_ON_AFTER: Nanos = Nanos(250_000_000);
/// Polling interval of an idle writer, and of a worker without a frame.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_FOR_FRAME: Duration = Duration::from_micros(100);

/// The writer has ended: its disk is full or broken. [`Writer::finish`] returns the reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the writer of the records has ended")]
pub struct WriterGone;

/// Unused frames. Those of one phase serve the next: a new one costs page faults.
#[derive(Debug, Clone, Default)]
pub struct Frames(Arc<Mutex<Vec<Frame>>>);

impl Frames {
    fn take(&self) -> Frame {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    fn put_back(&self, mut frame: Frame) {
        if frame.is_none() {
            return;
        }
        frame.clear();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(frame);
    }
}

/// The worker's end.
#[derive(Debug)]
pub struct Recorder {
    frame: Frame,
    /// `None` only while dropping.
    full: Option<Sender<Frame>>,
    empty: Receiver<Frame>,
    /// Destination of its frames at the end.
    unused: Frames,
    bell: Arc<Doorbell>,
    /// Time of the last frame sent.
    handed_on: Nanos,
    /// Number of pushed records, and of those that the writer has put into the log.
    pushed: u64,
    written: Arc<AtomicU64>,
    /// The writer has ended.
    is_gone: bool,
    stalls: Stalls,
}

impl Recorder {
    /// Keeps a record; `now` is the worker's time. Waits while no frame is free.
    ///
    /// # Errors
    /// The writer has ended; the record is not kept, nor is any after it.
    #[inline]
    pub fn push(&mut self, record: &Record, now: Nanos) -> Result<(), WriterGone> {
        if self.is_gone {
            return Err(WriterGone);
        }
        self.pushed += 1;
        if self.frame.push(record) { Ok(()) } else { self.hand_on(now) }
    }

    /// Number of pushed records.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Number of records, from the first on, that are in the log.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }

    /// Waits until the first `records` of those that were pushed are in the log; `now` is the worker's time.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn await_written(&mut self, records: u64, now: Nanos) -> Result<(), WriterGone> {
        if self.written() >= records {
            return Ok(());
        }
        if !self.frame.is_empty() {
            self.hand_on(now)?;
        }
        let since = Instant::now();
        while self.written() < records {
            if self.full.as_ref().is_none_or(Sender::is_closed) {
                return self.give_up();
            }
            std::thread::sleep(LOOK_FOR_FRAME);
        }
        self.stalls.add(Nanos(since.elapsed().as_nanos() as u64));
        Ok(())
    }

    /// Sends records that have waited for long. To be called now and then, also when idle. It never blocks: without another frame
    /// this one can still be filled.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn tick(&mut self, now: Nanos) -> Result<(), WriterGone> {
        if self.is_gone {
            return Err(WriterGone);
        }
        if self.frame.is_empty() || now.saturating_sub(self.handed_on) < HAND_ON_AFTER {
            return Ok(());
        }
        match self.empty.pop() {
            Ok(next) => self.send(next, now),
            Err(Empty::ForNow) => Ok(()),
            Err(Empty::ForEver) => self.give_up(),
        }
    }

    /// Sends all records, at the end; returns how often, and how long, the worker had to wait for the writer. It never blocks: the
    /// last frame needs only an empty one after it.
    ///
    /// # Errors
    /// The writer has ended.
    pub fn finish(mut self) -> Result<Stalls, WriterGone> {
        let sender = self.full.as_ref().expect("it goes only with the recorder");
        if self.is_gone || sender.is_closed() {
            return Err(WriterGone);
        }
        if !self.frame.is_empty() {
            self.send(Frame::none(), self.handed_on)?;
        }
        Ok(self.stalls)
    }

    fn hand_on(&mut self, now: Nanos) -> Result<(), WriterGone> {
        let next = match self.empty.pop() {
            Ok(frame) => Ok(frame),
            Err(Empty::ForEver) => Err(WriterGone),
            Err(Empty::ForNow) => self.wait_for_frame(),
        };
        match next {
            Ok(next) => self.send(next, now),
            Err(WriterGone) => self.give_up(),
        }
    }

    fn send(&mut self, next: Frame, now: Nanos) -> Result<(), WriterGone> {
        self.handed_on = now;
        let full = std::mem::replace(&mut self.frame, next);
        let sender = self.full.as_mut().expect("it goes only with the recorder");
        let sent = sender.push(full).map_err(|_| WriterGone);
        self.bell.ring();
        sent
    }

    /// Drops all further records: a frame without a receiver must not overflow.
    fn give_up(&mut self) -> Result<(), WriterGone> {
        self.is_gone = true;
        Err(WriterGone)
    }

    #[cold]
    fn wait_for_frame(&mut self) -> Result<Frame, WriterGone> {
        let since = Instant::now();
        let frame = loop {
            std::thread::sleep(LOOK_FOR_FRAME);
            match self.empty.pop() {
                Ok(frame) => break frame,
                Err(Empty::ForEver) => return Err(WriterGone),
                Err(Empty::ForNow) => {}
            }
        };
        self.stalls.add(Nanos(since.elapsed().as_nanos() as u64));
        Ok(frame)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        // Wakes the writer, which must see at once that this end is gone.
        self.full = None;
        self.bell.ring();
        self.unused.put_back(std::mem::replace(&mut self.frame, Frame::none()));
        while let Ok(frame) = self.empty.pop() {
            self.unused.put_back(frame);
        }
    }
}

/// The writer thread's handle.
#[derive(Debug)]
pub struct Writer<S> {
    thread: JoinHandle<io::Result<(S, u64)>>,
}

/// Destination of records.
pub trait Sink: Send + 'static {
    /// Appends a frame of records.
    fn append(&mut self, frame: &mut Frame) -> io::Result<()>;
}

impl Sink for LogWriter {
    fn append(&mut self, frame: &mut Frame) -> io::Result<()> {
        self.append_frame(frame)
    }
}

/// The writer's ends of one worker's queues.
struct Lane {
    filled: Receiver<Frame>,
    give_back: Sender<Frame>,
    written: Arc<AtomicU64>,
    unused: Frames,
}

/// Result of polling the lanes.
#[derive(PartialEq)]
enum Polled {
    Frames,
    Nothing,
    /// Every worker is gone, so no frame will come.
    End,
}

fn frames(workers: usize) -> usize {
    (MEMORY / FRAME_BYTES / workers.max(1)).clamp(*FRAMES.start(), *FRAMES.end())
}

/// Bytes that the frames of one of `workers` take at most.
pub fn bytes_each(workers: usize) -> u64 {
    (frames(workers) * FRAME_BYTES) as u64
}

/// Starts the writer, with one recorder for each of `workers`. Frames come from `unused`, as far as it has some, and go back
/// there when worker and writer have ended.
pub fn start<S: Sink>(sink: S, workers: usize, unused: &Frames) -> io::Result<(Writer<S>, Vec<Recorder>)> {
    let frames = frames(workers);
    let (mut lanes, mut ends) = (Vec::with_capacity(workers), Vec::with_capacity(workers));
    for _ in 0..workers {
        let (full, filled) = channel(frames);
        let (mut give_back, empty) = channel(frames);
        for _ in 1..frames {
            let _ = give_back.push(unused.take());
        }
        let written = Arc::new(AtomicU64::new(0));
        lanes.push(Lane { filled, give_back, written: written.clone(), unused: unused.clone() });
        ends.push((full, empty, written));
    }
    let (tell, told) = std::sync::mpsc::channel();
    let work = move || {
        let bell = Arc::new(Doorbell::for_this_thread());
        let _ = tell.send(bell.clone());
        write(sink, &mut lanes, &bell)
    };
    let thread = std::thread::Builder::new().name("recorder".into()).spawn(work)?;
    let bell = told.recv().map_err(|_| io::Error::other("the recorder's writer did not start"))?;
    let recorder = |(full, empty, written)| Recorder {
        frame: unused.take(),
        unused: unused.clone(),
        full: Some(full),
        empty,
        bell: bell.clone(),
        handed_on: Nanos(0),
        pushed: 0,
        written,
        is_gone: false,
        stalls: Stalls::default(),
    };
    Ok((Writer { thread }, ends.into_iter().map(recorder).collect()))
}

fn write<S: Sink>(mut sink: S, lanes: &mut [Lane], bell: &Doorbell) -> io::Result<(S, u64)> {
    let mut records = 0;
    loop {
        if write_what_is_there(&mut sink, lanes, &mut records)? == Polled::Frames {
            continue;
        }
        bell.about_to_sleep();
        match write_what_is_there(&mut sink, lanes, &mut records)? {
            Polled::End => return Ok((sink, records)),
            Polled::Nothing => std::thread::park_timeout(LOOK),
            Polled::Frames => {}
        }
    }
}

fn write_what_is_there(sink: &mut impl Sink, lanes: &mut [Lane], records: &mut u64) -> io::Result<Polled> {
    let mut found = Polled::End;
    for lane in lanes {
        match lane.filled.pop() {
            Ok(mut frame) => {
                found = Polled::Frames;
                sink.append(&mut frame)?;
                *records += u64::from(frame.count());
                lane.written.fetch_add(u64::from(frame.count()), Ordering::Release);
                frame.clear();
                // A worker that has ended needs no frame.
                let left = if lane.give_back.is_closed() { Err(frame) } else { lane.give_back.push(frame) };
                left.err().into_iter().for_each(|frame| lane.unused.put_back(frame));
            }
            Err(Empty::ForNow) if found == Polled::End => found = Polled::Nothing,
            Err(_) => {}
        }
    }
    Ok(found)
}

impl<S> Writer<S> {
    /// Waits until all records sent by the recorders are written, and all recorders are gone; returns the sink, and the number of
    /// records.
    ///
    /// # Errors
    /// Those of the sink: no record after an error is kept.
    pub fn finish(self) -> io::Result<(S, u64)> {
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the recorder's writer panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Counts records, and takes its time.
    #[derive(Clone, Default)]
    struct Slow(Arc<(AtomicU64, Mutex<Vec<u32>>)>);

    impl Sink for Slow {
        fn append(&mut self, frame: &mut Frame) -> io::Result<()> {
            std::thread::sleep(Duration::from_millis(5));
            self.0.0.fetch_add(frame.count().into(), Ordering::Relaxed);
            self.0.1.lock().unwrap().push(frame.count());
            Ok(())
        }
    }

    fn record(sequence: u64) -> Record {
        Record { sequence, ..Record::default() }
    }

    #[test]
    fn awaits_records_written_to_log() {
        let (writer, mut recorders) = start(Slow::default(), 1, &Frames::default()).unwrap();
        let mut recorder = recorders.remove(0);
        (0..5).for_each(|i| recorder.push(&record(i), Nanos(i)).unwrap());
        assert_eq!((recorder.pushed(), recorder.written()), (5, 0));
        recorder.await_written(3, Nanos(6)).unwrap();
        assert_eq!(recorder.written(), 5);
        recorder.finish().unwrap();
        writer.finish().unwrap();
    }

    #[test]
    fn slow_writer_stalls_worker_but_loses_no_record() {
        let sink = Slow::default();
        // So many workers that each has few frames.
        let workers = MEMORY / FRAME_BYTES;
        let (writer, mut recorders) = start(sink.clone(), workers, &Frames::default()).unwrap();
        let count = 40 * FRAME_BYTES as u64 / 129;
        let push_all = |mut recorder: Recorder| {
            for i in 0..count {
                recorder.push(&record(i), Nanos(i)).unwrap();
            }
            recorder.finish().unwrap()
        };
        recorders.truncate(2);
        let stalls: Vec<Stalls> = std::thread::scope(|scope| {
            let threads: Vec<_> = recorders.into_iter().map(|r| scope.spawn(move || push_all(r))).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert_eq!(writer.finish().unwrap().1, 2 * count);
        assert_eq!(sink.0.0.load(Ordering::Relaxed), 2 * count);
        assert!(stalls.iter().any(|s| s.count > 0 && s.total > Nanos(0)));
    }

    #[test]
    fn frames_are_reused_by_the_next_phase() {
        let unused = Frames::default();
        for phase in 0..3 {
            let (writer, mut recorders) = start(Slow::default(), 1, &unused).unwrap();
            assert!(unused.0.lock().unwrap().is_empty(), "phase {phase}");
            let mut recorder = recorders.remove(0);
            recorder.push(&record(0), Nanos(0)).unwrap();
            recorder.finish().unwrap();
            assert_eq!(writer.finish().unwrap().1, 1);
            let count = unused.0.lock().unwrap().len();
            assert!((frames(1) - 1..=frames(1)).contains(&count), "phase {phase}: {count}");
        }
    }

    #[derive(Debug)]
    struct Full;

    impl Sink for Full {
        fn append(&mut self, _: &mut Frame) -> io::Result<()> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }

    #[test]
    fn reports_enospc_to_worker_and_at_finish() {
        let (writer, mut recorders) = start(Full, 1, &Frames::default()).unwrap();
        let mut recorder = recorders.remove(0);
        let ended = (0..).find(|i| recorder.push(&record(*i), Nanos(0)).is_err());
        assert!(ended.unwrap() < (MEMORY / 129 * 2) as u64);
        // Requests in flight still complete, and must not overflow the frame.
        (0..100_000).for_each(|i| assert!(recorder.push(&record(i), Nanos(i)).is_err()));
        assert!(recorder.tick(Nanos(u64::MAX)).is_err());
        assert!(recorder.finish().is_err());
        assert_eq!(writer.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn flushes_old_records_without_full_frame() {
        let sink = Slow::default();
        let (writer, mut recorders) = start(sink.clone(), 1, &Frames::default()).unwrap();
        let mut recorder = recorders.remove(0);
        recorder.push(&record(0), Nanos(0)).unwrap();
        recorder.tick(Nanos(HAND_ON_AFTER.0 - 1)).unwrap();
        recorder.tick(HAND_ON_AFTER).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while sink.0.0.load(Ordering::Relaxed) == 0 && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(sink.0.0.load(Ordering::Relaxed), 1);
        drop(recorder);
        assert_eq!(writer.finish().unwrap().1, 1);
    }
}
