//! The journal of a run, which survives the process: a request is in it before it is submitted, and its end before anything builds
//! on it. See [`iosonar_archive::read_journal`] for the file.

use iosonar_archive::{
    JOURNAL_HEAD, JOURNAL_SLOTS, Outcome, Record, SLOT_WORDS, journal_head, slot_ended, slot_of,
};
use iosonar_os::SharedWords;
use iosonar_os::create::new_allocated_file;
use iosonar_os::made::Made;
use iosonar_plan::{Nanos, Op, RunId};
use iosonar_record::{Recorder, WriterGone};
use iosonar_sched::Slot;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// The journal of a run.
pub(crate) struct Journal {
    words: SharedWords,
    made: Made,
}

impl Journal {
    /// Creates the file, with all its space.
    pub(crate) fn create(path: &Path, run_id: RunId) -> io::Result<Journal> {
        let count = JOURNAL_HEAD + JOURNAL_SLOTS * SLOT_WORDS;
        let made = new_allocated_file(path, (count * size_of::<u64>()) as u64)?;
        // To map it, it has to be readable, too.
        let file = std::fs::File::options().read(true).write(true).open(path);
        let words = file.and_then(|file| SharedWords::new(&file, count));
        let words = words.inspect_err(|_| drop(made.remove()))?;
        words
            .words()
            .iter()
            .zip(journal_head(run_id))
            .for_each(|(word, value)| word.store(value.to_le(), Relaxed));
        Ok(Journal { words, made })
    }

    /// Removes the file: no request was started, so it has no content.
    pub(crate) fn discard(&self) {
        // Ignore removal errors; report the original one.
        let _ = self.made.remove();
    }

    /// The lane of one of `loops` issuing loops.
    pub(crate) fn lane(&self, index: usize, loops: usize, depth: u32) -> Lane<'_> {
        let each = JOURNAL_SLOTS / loops.max(1);
        let slots = &self.words.words()[JOURNAL_HEAD..];
        let own = &slots[index * each * SLOT_WORDS..][..each * SLOT_WORDS];
        // Entries of an earlier phase are in the log.
        Lane {
            slots: own,
            unused: 0,
            over: VecDeque::with_capacity(each),
            by_slot: vec![None; depth as usize],
        }
    }
}

/// The part of the journal that belongs to an issuing loop.
pub(crate) struct Lane<'a> {
    slots: &'a [AtomicU64],
    /// First slot that had no request yet.
    unused: usize,
    /// Slots whose request is over, and how many records of the loop have to be in the log before they may be used again.
    over: VecDeque<(usize, u64)>,
    /// Place of the request of each scheduler slot.
    by_slot: Vec<Option<usize>>,
}

/// Whether a request matters after a crash: it changes something, or makes that durable.
fn matters(op: Op) -> bool {
    op.changes_data() || op.is_flush() || matches!(op, Op::Delete | Op::Truncate | Op::Allocate)
}

impl Lane<'_> {
    /// Notes a request that is about to be submitted at `now`.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        slot: Slot,
        request: &Record,
        now: Nanos,
        recorder: &mut Recorder,
    ) -> Result<(), WriterGone> {
        if !matters(request.op) {
            return Ok(());
        }
        let place = self.free(recorder, now)?;
        self.store(place, slot_of(request, now));
        self.by_slot[slot.0 as usize] = Some(place);
        Ok(())
    }

    /// Notes that a request has ended.
    #[inline]
    pub(crate) fn end(&mut self, slot: Slot, outcome: Outcome, completed: Nanos) {
        let Some(place) = self.by_slot[slot.0 as usize] else { return };
        let own = &self.slots[place * SLOT_WORDS..];
        let (first, time) = slot_ended(u64::from_le(own[0].load(Relaxed)), outcome, completed);
        own[6].store(time.to_le(), Relaxed);
        own[0].store(first.to_le(), Release);
    }

    /// Notes that its record went to the recorder: when that is in the log, its place is free.
    #[inline]
    pub(crate) fn recorded(&mut self, slot: Slot, recorder: &Recorder) {
        if let Some(place) = self.by_slot[slot.0 as usize].take() {
            self.over.push_back((place, recorder.pushed()));
        }
    }

    /// Notes a completed step whose record went to the recorder: a flush at the end of a pass, for example.
    pub(crate) fn step(&mut self, record: &Record, recorder: &mut Recorder) -> Result<(), WriterGone> {
        let (Some(submitted), Some(completed)) = (record.submitted, record.completed) else { return Ok(()) };
        if !matters(record.op) {
            return Ok(());
        }
        let place = self.free(recorder, completed)?;
        let mut words = slot_of(record, submitted);
        (words[0], words[6]) = slot_ended(words[0], record.outcome, completed);
        self.store(place, words);
        self.over.push_back((place, recorder.pushed()));
        Ok(())
    }

    /// A place for another request: one whose request is in the log, so that few pages are in use; else a new one.
    #[inline]
    fn free(&mut self, recorder: &mut Recorder, now: Nanos) -> Result<usize, WriterGone> {
        if let Some((_, records)) = self.over.front()
            && *records <= recorder.written()
        {
            return Ok(self.over.pop_front().map_or(0, |(place, _)| place));
        }
        if (self.unused + 1) * SLOT_WORDS <= self.slots.len() {
            self.unused += 1;
            return Ok(self.unused - 1);
        }
        self.await_free(recorder, now)
    }

    /// There are more places than requests can be in flight, so one of them is over.
    #[cold]
    fn await_free(&mut self, recorder: &mut Recorder, now: Nanos) -> Result<usize, WriterGone> {
        let (place, records) = self.over.pop_front().ok_or(WriterGone)?;
        recorder.await_written(records, now)?;
        Ok(place)
    }

    #[inline]
    fn store(&self, place: usize, words: [u64; SLOT_WORDS]) {
        let own = &self.slots[place * SLOT_WORDS..][..SLOT_WORDS];
        // A reader between these stores sees no request: the previous one is in the log.
        own[0].store(0, Release);
        own[1..].iter().zip(&words[1..]).for_each(|(word, value)| word.store(value.to_le(), Relaxed));
        own[0].store(words[0].to_le(), Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_archive::{Frame, read_journal};
    use iosonar_plan::Extent;
    use iosonar_record::{Frames, Sink, start};
    use std::time::Instant;

    struct Nowhere;

    impl Sink for Nowhere {
        fn append(&mut self, _: &mut Frame) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(sequence: u64) -> Record {
        let executed = Extent { offset: sequence * 4096, length: 4096 };
        Record { sequence, op: Op::Write, executed, requested: executed, ..Record::default() }
    }

    #[test]
    fn journal_holds_writes_missing_from_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let journal = Journal::create(&path, 5).unwrap();
        assert!(Journal::create(&path, 5).is_err());
        let (writer, mut recorders) = start(Nowhere, 1, &Frames::default()).unwrap();
        let mut recorder = recorders.remove(0);
        // So many loops that this one has eight places.
        let mut lane = journal.lane(3, JOURNAL_SLOTS / 8, 2);
        for number in 0..1000u64 {
            let slot = Slot(number as u32 % 2);
            lane.begin(slot, &write(number), Nanos(number), &mut recorder).unwrap();
            let records = read_journal(&path, 5).unwrap();
            let is_open = |record: &&Record| record.completed.is_none();
            assert!(records.iter().any(|record| record.sequence == number && is_open(&record)));
            let known =
                |sequence| sequence < recorder.written() || records.iter().any(|r| r.sequence == sequence);
            assert!((0..number).all(known));
            lane.end(slot, Outcome::Completed, Nanos(number + 1));
            recorder.push(&write(number), Nanos(number)).unwrap();
            lane.recorded(slot, &recorder);
        }
        let flush =
            Record { op: Op::Fsync, submitted: Some(Nanos(1)), completed: Some(Nanos(2)), ..write(0) };
        recorder.push(&flush, Nanos(2)).unwrap();
        lane.step(&flush, &mut recorder).unwrap();
        // Reads change nothing.
        lane.begin(Slot(0), &Record::default(), Nanos(0), &mut recorder).unwrap();
        let records = read_journal(&path, 5).unwrap();
        assert!(records.iter().any(|record| record.op == Op::Fsync && record.completed == Some(Nanos(2))));
        assert!(records.len() <= 8 && records.iter().all(|record| record.op != Op::Read));
        recorder.finish().unwrap();
        writer.finish().unwrap();
    }

    /// `cargo test --release -p iosonar-engine journal -- --nocapture --ignored` prints the cost.
    #[test]
    #[ignore = "prints a time, which depends on the machine"]
    fn cost_of_a_request() {
        let dir = tempfile::tempdir().unwrap();
        let journal = Journal::create(&dir.path().join("journal"), 5).unwrap();
        let (writer, mut recorders) = start(Nowhere, 1, &Frames::default()).unwrap();
        let mut recorder = recorders.remove(0);
        let mut lane = journal.lane(0, 1, 32);
        let count = 20_000_000u64;
        let mut times = [0.0; 2];
        for (with, time) in times.iter_mut().enumerate() {
            let since = Instant::now();
            for number in 0..count {
                let slot = Slot(number as u32 % 32);
                let record = write(number);
                if with == 1 {
                    lane.begin(slot, &record, Nanos(number), &mut recorder).unwrap();
                    lane.end(slot, Outcome::Completed, Nanos(number + 1));
                }
                recorder.push(&record, Nanos(number)).unwrap();
                if with == 1 {
                    lane.recorded(slot, &recorder);
                }
            }
            *time = since.elapsed().as_nanos() as f64 / count as f64;
        }
        println!("a record: {:.1} ns; with the journal {:.1} ns", times[0], times[1]);
        recorder.finish().unwrap();
        writer.finish().unwrap();
    }
}
