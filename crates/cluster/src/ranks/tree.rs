//! Messages between ranks along a binomial tree: the parent of a rank is its number without the lowest bit that is set.

use iosonar_analyze::{Counted, Partial};
use iosonar_engine::Control;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::thread;
use std::time::Duration;

/// First and longest pause of a rank that waits.
const PAUSE: Duration = Duration::from_micros(50);
const LONGEST_PAUSE: Duration = Duration::from_millis(2);

/// Subject of a message. Messages of one kind from one rank to another keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A step that all ranks do together.
    Step,
    /// Exchanges of clocks.
    Clock,
    /// Progress, while others work.
    Progress,
    /// An event that concerns all at once.
    Notice,
    /// Counts of records.
    Counts,
    /// The command has ended.
    End,
}

/// The processes of an MPI run, each with its number.
pub trait Messages: Sync {
    /// Number of this process, from 0.
    fn rank(&self) -> usize;

    /// Number of processes.
    fn ranks(&self) -> usize;

    /// Sends a message.
    fn send(&self, to: usize, kind: Kind, bytes: &[u8]);

    /// The next message of a rank, if one has arrived.
    fn take(&self, from: usize, kind: Kind) -> Option<Vec<u8>>;

    /// The next message of a rank. While it waits, it leaves its CPU to those that work.
    fn wait(&self, from: usize, kind: Kind) -> Vec<u8> {
        let mut pause = PAUSE;
        loop {
            if let Some(bytes) = self.take(from, kind) {
                return bytes;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// The parent of a rank; `None` for the root.
pub fn parent(rank: usize) -> Option<usize> {
    (rank > 0).then(|| rank & (rank - 1))
}

/// The children of a rank, ascending.
pub fn children(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    let lowest = if rank == 0 { ranks.next_power_of_two() } else { rank & rank.wrapping_neg() };
    (0..usize::BITS)
        .map(|bit| 1 << bit)
        .take_while(move |step| *step < lowest)
        .map(move |step| rank + step)
        .take_while(move |child| *child < ranks)
}

/// Passes what the root has to all ranks.
pub(crate) fn spread<T: Serialize + DeserializeOwned>(messages: &dyn Messages, of_root: Option<T>) -> T {
    let bytes = match parent(messages.rank()) {
        Some(parent) => messages.wait(parent, Kind::Step),
        None => bytes_of(&of_root.expect("the root has it")),
    };
    children(messages.rank(), messages.ranks()).for_each(|child| messages.send(child, Kind::Step, &bytes));
    value_of(&bytes)
}

/// Merges a value of each rank, in the order of the ranks; the root gets the result.
pub(crate) fn merge<T: Serialize + DeserializeOwned>(
    messages: &dyn Messages,
    own: T,
    merge: impl Fn(T, T) -> T,
) -> Option<T> {
    let from = |child| value_of(&messages.wait(child, Kind::Step));
    let all = children(messages.rank(), messages.ranks()).map(from).fold(own, merge);
    match parent(messages.rank()) {
        Some(parent) => {
            messages.send(parent, Kind::Step, &bytes_of(&all));
            None
        }
        None => Some(all),
    }
}

/// The values of all ranks, in their order, at the root.
pub(crate) fn gather<T: Serialize + DeserializeOwned>(messages: &dyn Messages, own: T) -> Option<Vec<T>> {
    merge(messages, vec![own], |mut all, more| {
        all.extend(more);
        all
    })
}

/// Merges a value of each rank; all get the result.
pub(crate) fn agree<T: Serialize + DeserializeOwned>(
    messages: &dyn Messages,
    own: T,
    merged: impl Fn(T, T) -> T,
) -> T {
    let of_root = merge(messages, own, merged);
    spread(messages, of_root)
}

/// The first failure of any rank, with the name of the rank; the same on all of them. A signal to any of them stops all.
pub(crate) fn first_failure(
    messages: &dyn Messages,
    control: &Control,
    own: Result<(), String>,
) -> Result<(), String> {
    let own = own.map_err(|why| format!("rank {}: {why}", messages.rank()));
    let signal = control.signal().map(|signal| signal.0);
    let (first, signal) = agree(messages, (own, signal), |one: (Result<(), String>, Option<i32>), other| {
        (one.0.and(other.0), one.1.or(other.1))
    });
    if let (Some(signal), None) = (signal, control.signal()) {
        control.stop(signal);
    }
    first
}

/// Merges the counts of all ranks along the tree into those of the root. Returns why those of some ranks are missing, with their numbers; ranks
/// without counts have no such reason.
pub fn merge_counts(
    messages: &dyn Messages,
    all: &mut Option<Partial>,
    counted: Counted<'_>,
) -> Vec<(usize, String)> {
    let (rank, ranks) = (messages.rank(), messages.ranks());
    let mut missing = Vec::new();
    for child in children(rank, ranks) {
        let bytes = messages.wait(child, Kind::Counts);
        let added = match (&mut *all, bytes.is_empty()) {
            (_, true) => Ok(()),
            (Some(all), false) => all.merge_stored(&bytes),
            (None, false) => Partial::stored(counted, &bytes).map(|others| *all = Some(others)),
        };
        if let Err(error) = added {
            let below = child..ranks.min(child + (child & child.wrapping_neg()));
            missing.extend(below.map(|rank| (rank, format!("its counts cannot be merged: {error}"))));
        }
    }
    if let Some(parent) = parent(rank) {
        messages.send(parent, Kind::Counts, &all.as_ref().map(Partial::to_bytes).unwrap_or_default());
    }
    missing
}

pub(crate) fn bytes_of(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("messages are JSON")
}

/// # Panics
/// The message is of another program: the ranks of a run are one program.
pub(crate) fn value_of<T: DeserializeOwned>(bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).expect("a message of the same program")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use iosonar_analyze::Limits;
    use iosonar_archive::Record;
    use std::collections::{HashMap, VecDeque};
    use std::sync::Mutex;

    type Queues = Mutex<HashMap<(usize, usize, u8), VecDeque<Vec<u8>>>>;

    /// Threads of this process as ranks.
    pub(crate) struct Threads<'a> {
        rank: usize,
        ranks: usize,
        queues: &'a Queues,
    }

    impl Messages for Threads<'_> {
        fn rank(&self) -> usize {
            self.rank
        }

        fn ranks(&self) -> usize {
            self.ranks
        }

        fn send(&self, to: usize, kind: Kind, bytes: &[u8]) {
            let mut queues = self.queues.lock().unwrap();
            queues.entry((self.rank, to, kind as u8)).or_default().push_back(bytes.to_vec());
        }

        fn take(&self, from: usize, kind: Kind) -> Option<Vec<u8>> {
            self.queues.lock().unwrap().get_mut(&(from, self.rank, kind as u8))?.pop_front()
        }
    }

    /// The results of all ranks. No message remains.
    pub(crate) fn on_ranks<T: Send>(ranks: usize, run: impl Fn(&dyn Messages) -> T + Sync) -> Vec<T> {
        let queues = Queues::default();
        let results = thread::scope(|scope| {
            let (queues, run) = (&queues, &run);
            let threads: Vec<_> =
                (0..ranks).map(|rank| scope.spawn(move || run(&Threads { rank, ranks, queues }))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(queues.lock().unwrap().values().all(VecDeque::is_empty));
        results
    }

    #[test]
    fn every_rank_has_one_parent() {
        for ranks in 1..70 {
            let mut found: Vec<usize> = (0..ranks).flat_map(|rank| children(rank, ranks)).collect();
            found.sort_unstable();
            assert_eq!(found, (1..ranks).collect::<Vec<_>>());
            for rank in 0..ranks {
                assert!(children(rank, ranks).all(|child| parent(child) == Some(rank)), "{rank} of {ranks}");
            }
        }
    }

    #[test]
    fn values_are_merged_in_the_order_of_the_ranks() {
        for ranks in [1, 2, 3, 7, 8, 13] {
            let all: Vec<usize> = (0..ranks).collect();
            let gathered = on_ranks(ranks, |messages| gather(messages, messages.rank()));
            assert_eq!(gathered[0].as_deref(), Some(&all[..]));
            assert!(gathered[1..].iter().all(Option::is_none));
            let greatest = on_ranks(ranks, |messages| agree(messages, messages.rank(), usize::max));
            assert!(greatest.iter().all(|one| *one == ranks - 1));
        }
    }

    #[test]
    fn counts_are_merged_and_those_that_do_not_fit_are_named() {
        let limits = Limits::default();
        let counted = Counted { targets: 1, limits: Some(&limits), diagrams: None };
        let merged = on_ranks(7, |messages| {
            let mut own =
                Partial::new(Counted { targets: if messages.rank() == 4 { 2 } else { 1 }, ..counted });
            own.add(0, &Record::default());
            let mut all = Some(own).filter(|_| messages.rank() != 5);
            let missing = merge_counts(messages, &mut all, counted);
            (
                all.map_or(0, |all| all.records()),
                missing.into_iter().map(|(rank, _)| rank).collect::<Vec<_>>(),
            )
        });
        // Ranks 4 and 6 count another plan together.
        assert_eq!(merged[0], (4, vec![4, 5, 6]));
        assert_eq!(merged[4], (1, vec![6]));
        assert!(merged[1..4].iter().all(|(_, missing)| missing.is_empty()));
    }

    #[test]
    fn a_failure_of_a_rank_is_that_of_all() {
        let failed = on_ranks(5, |messages| {
            let own = if messages.rank() >= 2 { Err(format!("no {}", messages.rank())) } else { Ok(()) };
            first_failure(messages, &Control::default(), own)
        });
        assert!(failed.iter().all(|one| *one == Err("rank 2: no 2".to_string())), "{failed:?}");
        assert!(
            on_ranks(5, |messages| first_failure(messages, &Control::default(), Ok(())))
                .iter()
                .all(Result::is_ok)
        );
    }
}
