//! Watches by the kernel's tracepoints whether requests overtake others between the system call and the driver.

use crate::Error;
use crate::abort::{nothing_to_undo, undo_on_abort};
use iosonar_capture::{CaptureError, Interface, Recorder, Settings, Watch};
use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{DevNumber, Environment, Fact, IssueOrder, TargetFacts};
use iosonar_judge::device_of;
use iosonar_text::shown;
use iosonar_trace::kernel;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks at the kernel's buffers.
const EVERY: Duration = Duration::from_millis(50);
/// Bytes of these: some 200 000 events, more than devices here do in that time.
const BUFFERS: u64 = 32 << 20;

/// How long the end of the program waits for the kernel to be as it was.
const UNDONE: Duration = Duration::from_secs(2);

/// A thread that counts during a run. Its tracing instance is removed from the kernel however the program ends, except by SIGKILL.
pub struct OrderWatch {
    thread: Option<JoinHandle<Result<IssueOrder, CaptureError>>>,
    is_over: Arc<AtomicBool>,
}

impl OrderWatch {
    /// Starts watching the devices of the targets, to which `threads` threads submit.
    ///
    /// # Errors
    /// A target is on no device, or the kernel does not let us watch.
    pub fn start(environment: &Environment, threads: usize) -> Result<OrderWatch, Error> {
        let mut devices = Vec::new();
        for target in &environment.targets {
            devices.extend(numbers(target)?);
        }
        let settings = Settings {
            devices,
            watch: Watch::Order,
            interface: Interface::Tracepoints,
            buffer_bytes: BUFFERS,
        };
        let recorder = Recorder::start(&settings).map_err(|why| {
            Error::refused_because(format_args!(
                "--watch-order: {why}; without it, only the order stays unknown"
            ))
        })?;
        let (is_over, is_undone) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let [told, tells] = [&is_over, &is_undone].map(Arc::clone);
        let order = kernel::IssueOrder::of_threads(threads as u64);
        let watch = move || {
            let counted = count(recorder, order, &told);
            tells.store(true, Relaxed);
            counted
        };
        let thread = std::thread::Builder::new().name("order".into()).spawn(watch)?;
        let ends = is_over.clone();
        undo_on_abort(move || {
            ends.store(true, Relaxed);
            let begun = Instant::now();
            while !is_undone.load(Relaxed) && begun.elapsed() < UNDONE {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        Ok(OrderWatch { thread: Some(thread), is_over })
    }

    /// Ends it, and says what was seen.
    pub fn end(mut self) -> Fact<IssueOrder> {
        match self.stop() {
            Some(Ok(Ok(order))) => Fact::Known(order),
            Some(Ok(Err(why))) => Fact::absent(why.to_string()),
            Some(Err(_)) | None => Fact::absent("the thread that watched the order has failed"),
        }
    }

    fn stop(&mut self) -> Option<std::thread::Result<Result<IssueOrder, CaptureError>>> {
        self.is_over.store(true, Relaxed);
        let ended = self.thread.take()?.join();
        nothing_to_undo();
        Some(ended)
    }
}

/// A run that does not begin leaves nothing in the kernel.
impl Drop for OrderWatch {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

fn count(
    mut recorder: Recorder,
    mut order: kernel::IssueOrder,
    is_over: &AtomicBool,
) -> Result<IssueOrder, CaptureError> {
    let mut lost_events = 0;
    while !is_over.load(Relaxed) {
        std::thread::sleep(EVERY);
        lost_events += recorder.round()?.lost;
        recorder.events().iter().for_each(|event| order.add(event));
    }
    let (left, round) = recorder.stop()?;
    left.iter().for_each(|event| order.add(event));
    let (issued, out_of_order) = (order.issued(), order.out_of_order());
    Ok(IssueOrder { issued, out_of_order, lost_events: lost_events + round.lost })
}

/// The device that a target's requests reach first. Which number the events of a partition's requests have, its own or that of its
/// disk, depends on the kernel.
fn numbers(target: &TargetFacts) -> Result<Vec<kernel::Device>, Error> {
    let path = shown(&target.path);
    let device = device_of(target).ok_or_else(|| {
        Error::refused_because(format_args!(
            "--watch-order: {path} is not on one block device, so there is no order to watch"
        ))
    })?;
    let disk: Option<&BlockDevice> = match &device.role {
        Role::Partition { disk, .. } => Some(disk.as_ref()),
        _ => None,
    };
    let packed = |number: DevNumber| kernel::Device::new(number.major, number.minor);
    Ok([Some(device), disk].into_iter().flatten().filter_map(|device| packed(device.number)).collect())
}
