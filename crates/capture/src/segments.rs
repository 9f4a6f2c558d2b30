//! Segments on disk: a new one periodically, limited in total size.

use iosonar_os::made::{Made, new_file};
use iosonar_trace::kernel::Event;
use iosonar_trace::kernel::segment::{ENDING, SegmentWriter};
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Number of segments of a limited recording, so that only a part of it is removed when it is full.
const PARTS: u64 = 8;

/// Statistics of the segments on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stored {
    /// Events written, including those in removed segments.
    pub events: u64,
    /// Bytes of the existing segments.
    pub bytes: u64,
    /// Number of segments removed to make room.
    pub removed_segments: u64,
    /// Events in removed segments.
    pub removed_events: u64,
}

/// Writes events into segments.
pub struct Segments {
    dir: PathBuf,
    every: Duration,
    most_bytes: Option<u64>,
    current: SegmentWriter<File>,
    /// File of the current segment.
    made: Made,
    begun: Instant,
    number: u64,
    /// Events in the current segment.
    events: u64,
    /// Complete segments: file, bytes, events.
    whole: VecDeque<(Made, u64, u64)>,
    stored: Stored,
}

impl Segments {
    /// Starts in an existing directory: a new segment each `every`; if they exceed `most_bytes`, the oldest are removed.
    ///
    /// # Errors
    /// Creating a segment failed.
    pub fn begin(dir: &Path, every: Duration, most_bytes: Option<u64>) -> io::Result<Segments> {
        let (current, made) = create(dir, 0)?;
        Ok(Segments {
            dir: dir.to_path_buf(),
            every,
            most_bytes,
            current,
            made,
            begun: Instant::now(),
            number: 0,
            events: 0,
            whole: VecDeque::new(),
            stored: Stored::default(),
        })
    }

    /// Appends events; `lost` were lost before them.
    ///
    /// # Errors
    /// Writing failed, for example on a full disk.
    pub fn append(&mut self, events: &[Event], lost: u64) -> io::Result<()> {
        if events.is_empty() && lost == 0 {
            return Ok(());
        }
        // Before the events are written: an error means that they are not.
        let is_large = self.most_bytes.is_some_and(|most| self.current.written() > most / PARTS);
        if self.events > 0 && (is_large || self.begun.elapsed() >= self.every) {
            self.rotate()?;
        }
        self.current.append(events, lost)?;
        self.events += events.len() as u64;
        self.stored.events += events.len() as u64;
        Ok(())
    }

    fn rotate(&mut self) -> io::Result<()> {
        let (next, made) = create(&self.dir, self.number + 1)?;
        let whole = std::mem::replace(&mut self.made, made);
        self.number += 1;
        let done = std::mem::replace(&mut self.current, next);
        let bytes = done.written();
        // A complete segment is on the disk, not only in memory.
        done.end().sync_data()?;
        self.whole.push_back((whole, bytes, std::mem::take(&mut self.events)));
        self.begun = Instant::now();
        while self.most_bytes.is_some_and(|most| self.bytes() > most) {
            let Some((oldest, _, events)) = self.whole.pop_front() else { break };
            oldest.remove()?;
            self.stored.removed_segments += 1;
            self.stored.removed_events += events;
        }
        Ok(())
    }

    fn bytes(&self) -> u64 {
        self.whole.iter().map(|(_, bytes, _)| bytes).sum::<u64>() + self.current.written()
    }

    /// Statistics so far.
    pub fn stored(&self) -> Stored {
        Stored { bytes: self.bytes(), ..self.stored }
    }

    /// Ends the last segment.
    ///
    /// # Errors
    /// Writing failed.
    pub fn end(self) -> io::Result<Stored> {
        let stored = self.stored();
        self.current.end().sync_data()?;
        Ok(stored)
    }
}

fn path(dir: &Path, number: u64) -> PathBuf {
    dir.join(format!("{number:06}.{ENDING}"))
}

fn create(dir: &Path, number: u64) -> io::Result<(SegmentWriter<File>, Made)> {
    let (file, made) = new_file(&path(dir, number))?;
    Ok((SegmentWriter::new(file)?, made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::Nanos;
    use iosonar_trace::Process;
    use iosonar_trace::kernel::{Action, Device, Rwbs};
    use std::fs;

    /// Segments of a directory, in time order.
    fn segment_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut files: Vec<PathBuf> = fs::read_dir(dir)?.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == ENDING));
        files.sort();
        Ok(files)
    }

    fn event(n: u64) -> Event {
        Event {
            at: 0,
            time: Nanos(n),
            action: Action::Queue,
            device: Device(7 << 20),
            // Unpredictable places are incompressible.
            sector: n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20,
            bytes: 4096,
            rwbs: Rwbs::parse(b"WS"),
            process: Process::new(1, b"test"),
            error: 0,
        }
    }

    #[test]
    fn removes_and_counts_the_oldest_segments() {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::begin(dir.path(), Duration::from_secs(3600), Some(16 << 10)).unwrap();
        for round in 0..200 {
            let events: Vec<Event> = (0..100).map(|n| event(round * 100 + n)).collect();
            segments.append(&events, 0).unwrap();
        }
        let stored = segments.end().unwrap();
        assert_eq!(stored.events, 20_000);
        assert!(stored.removed_segments > 0 && stored.bytes <= 18 << 10, "{stored:?}");
        let files = segment_files(dir.path()).unwrap();
        let mut reader = iosonar_trace::kernel::segment::Segments::new(files.iter().map(File::open));
        let mut times = Vec::new();
        use iosonar_trace::kernel::Events;
        while let Some(iosonar_trace::Entry::One(event)) = reader.next().unwrap() {
            times.push(event.time.0);
        }
        assert_eq!(times.len() as u64, stored.events - stored.removed_events);
        assert_eq!(times, (stored.removed_events..20_000).collect::<Vec<_>>());
    }

    #[test]
    fn starts_a_new_segment_after_its_interval() {
        let dir = tempfile::tempdir().unwrap();
        let mut segments = Segments::begin(dir.path(), Duration::ZERO, None).unwrap();
        (0..3).for_each(|n| segments.append(&[event(n)], 0).unwrap());
        segments.end().unwrap();
        assert_eq!(segment_files(dir.path()).unwrap().len(), 3);
    }
}
