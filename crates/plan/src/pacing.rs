//! Precision of issuing at due times, and isolation of the issuing threads.

use crate::Nanos;
use serde::{Deserialize, Serialize};

/// How long before a due time the issuing thread stops sleeping and spins, where a CPU is free for it. Waking up
/// from sleep takes tens of microseconds on a virtual machine.
pub const DEFAULT_SPIN: Nanos = Nanos(100_000);

/// Pacing and isolation of the issuing threads.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pacing {
    /// How long before a due time to stop sleeping and spin; 0 means never. `None` means [`DEFAULT_SPIN`] if there is a CPU for
    /// each issuing thread and one more, else 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spin: Option<Nanos>,
    /// CPUs that issuing threads are bound to, in turn; empty: the kernel chooses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pin: Vec<u32>,
    /// Niceness of the issuing threads, -20 to 19. Below 0 it needs a privilege.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nice: Option<i8>,
    /// Real-time priority of the issuing threads (`SCHED_FIFO`), 1 to 99. It needs a privilege.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub realtime: Option<u8>,
}
