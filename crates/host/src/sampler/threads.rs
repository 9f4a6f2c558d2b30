//! Times of the issuing threads: on a CPU, and waiting for one.

use super::Probe;
use super::files::words;
use iosonar_evidence::{IssuingThreads, Series};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

const SERIES: [Series; 3] = [
    Series::Issuing(IssuingThreads::Cpu),
    Series::Issuing(IssuingThreads::Wait),
    Series::Issuing(IssuingThreads::Slices),
];

type Times = [f64; SERIES.len()];

/// Times of all threads that have entered, including those that have left. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct ThreadTimes(Arc<Mutex<Threads>>);

#[derive(Debug, Default)]
struct Threads {
    /// One per thread that has entered, at its number.
    present: Vec<Option<File>>,
    /// Numbers of threads that have left, to be reused.
    free: Vec<usize>,
    /// Times of threads that have left.
    left: Times,
}

/// Counts a thread until it is dropped, by the thread itself.
#[derive(Debug)]
pub struct Present {
    times: ThreadTimes,
    number: usize,
}

impl ThreadTimes {
    /// Counts the calling thread; `None` if the kernel lacks the times (`CONFIG_SCHED_INFO`), or no file can be opened.
    pub fn enter(&self) -> Option<Present> {
        let file = File::open("/proc/thread-self/schedstat").ok()?;
        let mut threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match threads.free.pop() {
            Some(number) => {
                threads.present[number] = Some(file);
                number
            }
            None => {
                threads.present.push(Some(file));
                threads.present.len() - 1
            }
        };
        Some(Present { times: self.clone(), number })
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        let mut threads = self.times.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = threads.present[self.number].take().and_then(|file| times(&file));
        add(&mut threads.left, times.unwrap_or_default());
        threads.free.push(self.number);
    }
}

fn add(sum: &mut Times, times: Times) {
    sum.iter_mut().zip(times).for_each(|(sum, one)| *sum += one);
}

/// Parses a line of `schedstat`: `1234 56 7`.
fn times(file: &File) -> Option<Times> {
    let (mut line, mut times) = ([0; 96], Times::default());
    let length = file.read_at(&mut line, 0).ok()?;
    words(&line[..length], &mut |place, value| {
        if let Some(time) = times.get_mut(place) {
            *time = value;
        }
    });
    Some(times)
}

impl Probe for ThreadTimes {
    fn series(&self) -> &[Series] {
        &SERIES
    }

    fn sample(&mut self, give: &mut dyn FnMut(usize, f64)) {
        let threads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sum = threads.left;
        threads.present.iter().flatten().filter_map(times).for_each(|times| add(&mut sum, times));
        sum.into_iter().enumerate().for_each(|(place, time)| give(place, time));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(times: &ThreadTimes) -> Times {
        let mut found = Times::default();
        times.clone().sample(&mut |place, value| found[place] = value);
        found
    }

    #[test]
    fn keeps_cpu_times_of_exited_threads() {
        let times = ThreadTimes::default();
        let spin = || {
            let _present = times.enter()?;
            let mut sum = 0u64;
            // Until the kernel has counted something.
            while now(&times)[0] < 1e6 {
                sum = std::hint::black_box(sum + 1);
            }
            Some(now(&times))
        };
        let Some(within) = std::thread::scope(|scope| scope.spawn(spin).join().unwrap()) else {
            println!("SKIPPED: times of threads, because this kernel has no schedstat");
            return;
        };
        let behind = now(&times);
        assert!(behind[0] >= within[0] && behind[2] >= 1.0, "{within:?}, {behind:?}");
        assert_eq!(now(&times), behind, "nobody is left");
    }
}
