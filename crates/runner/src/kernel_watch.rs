//! A thread that reads the kernel's tracepoints during a run.

use crate::abort::{nothing_to_undo, undo_on_abort};
use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{DevNumber, TargetFacts};
use iosonar_judge::device_of;
use iosonar_trace::kernel;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at the kernel's buffers.
pub(crate) const EVERY: Duration = Duration::from_millis(50);
/// Bytes of these: some 200 000 events, more than devices here do in that time.
pub(crate) const BUFFERS: u64 = 32 << 20;

/// How long the end of the program waits for the kernel to be as it was.
const UNDONE: Duration = Duration::from_secs(2);

/// A thread that works during a run. The work owns the tracing instance, which is removed from the kernel however the program ends, except
/// by SIGKILL.
pub(crate) struct KernelWatch<T> {
    thread: Option<JoinHandle<T>>,
    is_over: Arc<AtomicBool>,
}

impl<T: Send + 'static> KernelWatch<T> {
    /// Starts a thread; its work returns soon after the flag that it gets is set.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn start(
        name: &str,
        work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
    ) -> std::io::Result<KernelWatch<T>> {
        let (is_over, is_undone) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (ends, undone) = (is_over.clone(), is_undone.clone());
        let work = move || {
            let seen = work(&ends);
            undone.store(true, Relaxed);
            seen
        };
        let thread = std::thread::Builder::new().name(name.into()).spawn(work)?;
        let ends = is_over.clone();
        undo_on_abort(move || {
            ends.store(true, Relaxed);
            let begun = Instant::now();
            while !is_undone.load(Relaxed) && begun.elapsed() < UNDONE {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Ok(KernelWatch { thread: Some(thread), is_over })
    }

    /// Ends it and returns its result; `None` if it panicked.
    pub(crate) fn end(mut self) -> Option<T> {
        self.stop()
    }
}

impl<T> KernelWatch<T> {
    fn stop(&mut self) -> Option<T> {
        self.is_over.store(true, Relaxed);
        let ended = self.thread.take()?.join();
        nothing_to_undo();
        ended.ok()
    }
}

/// A run that does not begin leaves nothing in the kernel.
impl<T> Drop for KernelWatch<T> {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// The device that a target's requests reach first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstDevice {
    /// The device.
    pub(crate) device: kernel::Device,
    /// The disk that the device is a partition of, or the device itself.
    pub(crate) disk: kernel::Device,
    /// First byte of the device on that disk; `None` if unknown.
    pub(crate) start: Option<u64>,
}

impl FirstDevice {
    /// `None` if the target is not on one block device.
    pub(crate) fn of(target: &TargetFacts) -> Option<FirstDevice> {
        let packed = |number: DevNumber| kernel::Device::new(number.major, number.minor);
        let of: &BlockDevice = device_of(target)?;
        let device = packed(of.number)?;
        Some(match &of.role {
            Role::Partition { disk, start, .. } => {
                FirstDevice { device, disk: packed(disk.number)?, start: start.known().copied() }
            }
            _ => FirstDevice { device, disk: device, start: Some(0) },
        })
    }

    /// Numbers of the events of its requests. Which one the events of a partition's requests have, its own or that of its disk, depends on
    /// the kernel.
    pub(crate) fn numbers(self) -> impl Iterator<Item = kernel::Device> {
        [Some(self.device), Some(self.disk).filter(|disk| *disk != self.device)].into_iter().flatten()
    }
}
