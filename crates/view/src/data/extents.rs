//! Latencies by extent: a row for each fragment in which requests start.

use super::csv::{Csv, Out, row};
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_plan::Op;
use std::io;

/// Requests by fragment.
pub(super) fn table(found: &ExtentLatencies, out: &mut Out<'_>) -> io::Result<()> {
    let columns = [
        "target",
        "op",
        "fragment",
        "offset_bytes",
        "address_bytes",
        "bytes",
        "requests",
        "total_ns",
        "max_ns",
    ];
    let mut csv = Csv::new(out, &columns)?;
    for file in &found.files {
        for op in [Op::Read, Op::Write] {
            for (number, sums) in &file.of(op).by_fragment {
                let fragment = file.placed.fragments()[*number];
                row!(
                    csv,
                    u64::from(file.target),
                    op.name(),
                    *number,
                    fragment.offset,
                    fragment.address,
                    fragment.bytes,
                    sums.requests,
                    sums.total_ns,
                    sums.max_ns
                )?;
            }
        }
    }
    Ok(())
}
