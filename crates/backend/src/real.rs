//! Common entry to the backends with real I/O, so that the engine knows none of them.

use crate::blocking::{Blocking, Calls};
use crate::threads::alone;
use crate::{Aio, Backend, Mmap, Posixaio, Pvsync, ReadWrite, Stdio, Threads, Uring, Vsync};
use iosonar_os::{BufferPool, Clock};
use iosonar_plan::{Engine, ShortPolicy, StdioOptions};
use std::fs::File;
use std::io;

/// Settings of every backend with real I/O.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The open target.
    pub file: File,
    /// The run's clock.
    pub clock: Clock,
    /// The most operations in flight.
    pub depth: u32,
    /// Number of further operations that do not belong to the workload.
    pub extra: u32,
    /// Bytes of the target that operations may touch.
    pub reach: u64,
    /// Whether any operation writes.
    pub writes: bool,
    /// Handling of a short transfer.
    pub short: ShortPolicy,
    /// Whether each operation locks its bytes of the file; only engines of blocking calls do.
    pub locks: bool,
    /// Where the operations' buffers will come from. A backend may make it known to the kernel; buffers from elsewhere
    /// work, too.
    pub pool: Option<&'a BufferPool>,
}

/// The backend of an engine with real I/O; and restrictions by the machine or the engine, one sentence each.
///
/// # Errors
/// The engine cannot be used on this target, in one sentence. Nothing was started.
///
/// # Panics
/// If the engine has no real I/O.
pub fn real(engine: Engine, setup: Setup<'_>) -> io::Result<(Box<dyn Backend>, Vec<String>)> {
    let locks = setup.locks;
    match engine {
        Engine::Uring(options) => {
            let (uring, notices) = Uring::new(setup, options)?;
            Ok((Box::new(uring), notices))
        }
        Engine::Threads if locks => Ok(calls(alone(setup), locks)),
        Engine::Threads => Ok((Box::new(Threads::open(setup)?), Vec::new())),
        Engine::Aio => {
            let (aio, notices) = Aio::new(setup)?;
            Ok((Box::new(aio), notices))
        }
        Engine::Sync => Ok(calls(ReadWrite::open(setup), locks)),
        Engine::Vsync(vectors) => Ok(calls(Vsync::open(setup, vectors), locks)),
        Engine::Pvsync(vectors) => Ok(calls(Pvsync::open(setup, vectors), locks)),
        Engine::Stdio(StdioOptions { buffer }) => {
            let buffer = usize::try_from(buffer.0).unwrap_or(usize::MAX);
            Ok(calls(Stdio::open(setup, buffer)?, locks))
        }
        Engine::Mmap(options) => Ok(calls(Mmap::open(setup, options)?, locks)),
        Engine::Posixaio => Ok((Box::new(Posixaio::open(setup)), Vec::new())),
        Engine::Null | Engine::Sim(_) => panic!("engine {} has no real I/O", engine.name()),
    }
}

/// A backend of blocking calls, with or without locks: a run without them has no code for them in its path.
fn calls<C: Calls + 'static>(calls: Blocking<C>, locks: bool) -> (Box<dyn Backend>, Vec<String>) {
    if locks { (Box::new(calls.locking()), Vec::new()) } else { (Box::new(calls), Vec::new()) }
}
