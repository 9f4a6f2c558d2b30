//! State that all threads of a run share.

use crate::control::Control;
use crate::injected::Injected;
use crate::journal::Journal;
use crate::pools::Pools;
use crate::progress::Progress;
use crate::rendezvous::Rendezvous;
use crate::verify::Verifier;
use iosonar_backend::Store;
use iosonar_host::sampler::ThreadTimes;
use iosonar_os::Clock;
use iosonar_record::Frames;
use std::sync::{Mutex, PoisonError};

/// State shared by all threads of a run.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) control: &'a Control,
    pub(crate) progress: &'a Progress,
    /// Refusals of the machine, one sentence each.
    pub(crate) notices: &'a Mutex<Vec<String>>,
    /// Counts the threads that issue requests.
    pub(crate) threads: &'a ThreadTimes,
    /// Processes that execute other parts of the plan.
    pub(crate) others: &'a dyn Rendezvous,
    /// Memory for records between phases.
    pub(crate) frames: &'a Frames,
    /// Memory for data between phases.
    pub(crate) pools: &'a Pools,
    /// Contents of simulated targets, by their numbers.
    pub(crate) stores: &'a [Store],
    /// Injects faults, where the plan wants that.
    pub(crate) injected: Option<&'a Injected>,
    /// Checks data, where the plan wants that.
    pub(crate) verifier: Option<&'a Verifier>,
    /// The journal, where the plan wants one.
    pub(crate) journal: Option<&'a Journal>,
}

impl Shared<'_> {
    /// Adds a notice to the result.
    pub(crate) fn note(self, text: String) {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}
