//! Which engine executes the requests.

use crate::Nanos;
use crate::strict::no_fields;
use serde::{Deserialize, Serialize};

/// An engine, with what only it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Engine {
    /// io_uring: one issuing thread for each target, requests and completions through rings shared with the kernel.
    Uring(UringOptions),
    /// The kernel's older asynchronous interface (`io_submit`), for comparison with old results.
    #[serde(deserialize_with = "no_fields")]
    Aio,
    /// One blocking thread for each request in flight, as a server would do that forks per request.
    #[serde(deserialize_with = "no_fields")]
    Threads,
    /// No I/O at all: every request completes at once. Shows what the generator itself costs.
    #[serde(deserialize_with = "no_fields")]
    Null,
    /// A model of a device on a clock of its own, seeded: no I/O, no waiting.
    Sim(SimModel),
}

impl Default for Engine {
    fn default() -> Engine {
        Engine::Uring(UringOptions::default())
    }
}

impl Engine {
    /// Whether results say something about a real target.
    pub fn is_real(self) -> bool {
        matches!(self, Engine::Uring(_) | Engine::Aio | Engine::Threads)
    }

    /// The name that users type.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Uring(_) => "uring",
            Engine::Aio => "aio",
            Engine::Threads => "threads",
            Engine::Null => "null",
            Engine::Sim(_) => "sim",
        }
    }
}

/// What io_uring is asked for. Each of these changes what is measured, so none is chosen silently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UringOptions {
    /// Completions are polled for instead of awaited by interrupt (`IORING_SETUP_IOPOLL`). The driver must have
    /// poll queues, and the target direct I/O.
    #[serde(default)]
    pub hipri: bool,
    /// A kernel thread takes submissions, so that submitting needs no system call (`IORING_SETUP_SQPOLL`). It uses
    /// a CPU of its own.
    #[serde(default)]
    pub sqpoll: bool,
}

/// How the simulated device behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimModel {
    /// Least service time of a request.
    #[serde(default = "default_service")]
    pub service: Nanos,
    /// Mean of an exponentially distributed addition to the service time.
    #[serde(default)]
    pub jitter: Nanos,
    /// Requests served at the same time; further ones queue in the device. 0, or above the depth: no limit.
    #[serde(default)]
    pub channels: u32,
    /// One request in this many fails with EIO; 0: none.
    #[serde(default)]
    pub error_every: u32,
    /// One request in this many transfers less than asked; 0: none.
    #[serde(default)]
    pub short_every: u32,
    /// Times at which nothing completes.
    #[serde(default)]
    pub stall: Option<SimStall>,
}

fn default_service() -> Nanos {
    Nanos(100_000)
}

impl Default for SimModel {
    fn default() -> Self {
        SimModel {
            service: default_service(),
            jitter: Nanos(0),
            channels: 0,
            error_every: 0,
            short_every: 0,
            stall: None,
        }
    }
}

/// A stall that comes again and again: every `period` the device completes nothing for `length`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimStall {
    /// From the start of one stall to the start of the next; above `length`.
    pub period: Nanos,
    /// How long nothing completes.
    pub length: Nanos,
}
