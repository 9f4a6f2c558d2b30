//! Conditions of these tests: one at a time, and only on capable machines.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Ends a test early, with one line that states the reason, if this machine lacks something. Otherwise the test runs alone.
#[macro_export]
macro_rules! needs_root {
    ($($program:literal),* $(,)?) => {
        if let Some(why) = iosonar_testkit::lacks(&["losetup", $($program),*]) {
            println!("SKIPPED: {why}");
            return;
        }
        let _alone = lab::alone();
    };
}

/// Serializes the tests of this program: a program that one of them starts has a copy of every descriptor for the
/// moment between fork and exec, and a device would stay claimed a little longer than its owner.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}
