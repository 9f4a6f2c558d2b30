//! Common entry to the backends with real I/O, so that the engine knows none of them.

use crate::blocking::{Blocking, Calls};
use crate::threads::alone;
use crate::{Aio, Backend, Mmap, Posixaio, Pvsync, ReadWrite, Setup, Stdio, Threads, Uring, Vsync};
use iosonar_plan::{Engine, StdioOptions};
use std::io;

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
