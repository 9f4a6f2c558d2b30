//! Any bytes as pages of the kernel's trace ring buffer, and any text as their form: never a panic.

use iosonar_trace::kernel::ring::{Forms, Pages};

const PAGE: &str = include_str!("../../../crates/trace/tests/fixtures/tracefs/format/header_page");
const QUEUE: &str = include_str!("../../../crates/trace/tests/fixtures/tracefs/format/block_bio_queue");
const COMPLETE: &str = include_str!("../../../crates/trace/tests/fixtures/tracefs/format/block_rq_complete");

/// See the module.
pub fn run(data: &[u8]) {
    let known = [("block_bio_queue", QUEUE.to_string()), ("block_rq_complete", COMPLETE.to_string())];
    let forms = Forms::parse(PAGE, known).expect("a kernel's own forms");
    let text = String::from_utf8_lossy(data).into_owned();
    let told = Forms::parse(PAGE, [("block_bio_queue", QUEUE.replace("offset:16", &text))]);
    for forms in [Some(forms), told.ok()].into_iter().flatten() {
        let mut pages = Pages::new(&forms);
        data.chunks(4096).for_each(|page| {
            pages.decode(page, &mut |event| assert!(event.is_possible()));
        });
    }
}
