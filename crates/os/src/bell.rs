//! Wakes a thread that sleeps because it found nothing to do, without a system call while it is awake.

#[cfg(loom)]
use loom::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Thread},
};
#[cfg(not(loom))]
use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, Thread},
};

/// One thread sleeps, any number of others wake it.
///
/// The sleeper announces that it is [about to sleep](Doorbell::about_to_sleep), looks for work again, and parks. The others make
/// their work known first and ring then. Both touch one flag by read-modify-write, which orders them: either the sleeper's last
/// look sees the work, or the ring sees the flag.
#[derive(Debug)]
pub struct Doorbell {
    sleeper: Thread,
    is_asleep: AtomicBool,
}

impl Doorbell {
    /// A doorbell that wakes the calling thread.
    pub fn for_this_thread() -> Doorbell {
        Doorbell { sleeper: thread::current(), is_asleep: AtomicBool::new(false) }
    }

    /// Announces the sleep; the sleeper calls this before its last look.
    pub fn about_to_sleep(&self) {
        self.is_asleep.swap(true, Ordering::AcqRel);
    }

    /// Wakes the sleeper if it sleeps, or is about to.
    pub fn ring(&self) {
        if self.is_asleep.swap(false, Ordering::AcqRel) {
            self.sleeper.unpark();
        }
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::spsc::{Empty, channel};
    use loom::sync::Arc;

    /// Without a time limit on its sleep, the writer still gets every block, and sees the end.
    #[test]
    fn loom_no_wake_up_is_lost() {
        loom::model(|| {
            let (mut full, mut filled) = channel::<usize>(2);
            let bell = Arc::new(Doorbell::for_this_thread());
            let ringer = bell.clone();
            // Not joined: loom takes a late unpark for the end of a join.
            thread::spawn(move || {
                full.push(7).unwrap();
                ringer.ring();
                drop(full);
                ringer.ring();
            });
            let mut seen = 0;
            loop {
                match filled.pop() {
                    Ok(value) => seen += value,
                    Err(Empty::ForEver) => break,
                    Err(Empty::ForNow) => {
                        bell.about_to_sleep();
                        match filled.pop() {
                            Ok(value) => seen += value,
                            Err(Empty::ForEver) => break,
                            Err(Empty::ForNow) => thread::park(),
                        }
                    }
                }
            }
            assert_eq!(seen, 7);
        });
    }
}
