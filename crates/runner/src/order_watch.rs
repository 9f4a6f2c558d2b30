//! Watches by the kernel's tracepoints whether requests overtake others between the system call and the driver.

use crate::Error;
use crate::kernel_watch::{BUFFERS, EVERY, FirstDevice, KernelWatch};
use iosonar_capture::{CaptureError, Interface, Recorder, Settings, Watch};
use iosonar_evidence::{Environment, Fact, IssueOrder, TargetFacts};
use iosonar_text::shown;
use iosonar_trace::kernel;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A thread that counts during a run.
pub struct OrderWatch(KernelWatch<Result<IssueOrder, CaptureError>>);

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
        let order = kernel::IssueOrder::of_threads(threads as u64);
        let watch = KernelWatch::start("order", move |is_over| count(recorder, order, is_over))?;
        Ok(OrderWatch(watch))
    }

    /// Ends it, and says what was seen.
    pub fn end(self) -> Fact<IssueOrder> {
        match self.0.end() {
            Some(Ok(order)) => Fact::Known(order),
            Some(Err(why)) => Fact::absent(why.to_string()),
            None => Fact::absent("the thread that watched the order has failed"),
        }
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

fn numbers(target: &TargetFacts) -> Result<impl Iterator<Item = kernel::Device>, Error> {
    let device = FirstDevice::of(target).ok_or_else(|| {
        Error::refused_because(format_args!(
            "--watch-order: {} is not on one block device, so there is no order to watch",
            shown(&target.path)
        ))
    })?;
    Ok(device.numbers())
}
