//! Any bytes as a trace of any form: an error, bad entries or requests in order, never a panic, and never more requests than
//! bytes. The first byte chooses the form.

use iosonar_plan::Nanos;
use iosonar_trace::fio::FioLog;
use iosonar_trace::fio_latency::LatencyLog;
use iosonar_trace::kernel::blkparse::{Blkparse, Form};
use iosonar_trace::kernel::blktrace::Blktrace;
use iosonar_trace::kernel::ftrace::Ftrace;
use iosonar_trace::kernel::segment::Segments;
use iosonar_trace::kernel::{At, Events, Merged, Paired, Timing};
use iosonar_trace::tables::{Rows, Table};
use iosonar_trace::{Entry, Format, InOrder, Load, Requests, SeekList};

fn read(requests: impl Requests, most: usize) {
    let mut requests = InOrder::new(requests);
    let (mut last, mut count) = (0, 0);
    while let Ok(Some(entry)) = requests.next() {
        if let Entry::One(request) = entry {
            assert!(request.time.0 >= last);
            assert!(request.extent.offset.checked_add(request.extent.length).is_some_and(|end| end <= 1 << 63));
            last = request.time.0;
        }
        count += 1;
        assert!(count <= most);
    }
    requests.devices();
    requests.extra_counts();
}

fn events<E: Events>(events: impl Fn() -> E, most: usize) {
    for timing in [Timing::None, Timing::Exact, Timing::Guessed] {
        read(Paired::new(events(), At::QUEUE, timing).from_first(Nanos(3_600_000_000_000)), most);
    }
}

/// See the module.
pub fn run(data: &[u8]) {
    let Some((form, bytes)) = data.split_first() else { return };
    let most = bytes.len() + 1;
    Format::recognise(bytes);
    match form % 10 {
        0 => read(Load::new(bytes), most),
        1 => events(|| Merged::new(bytes.split(|b| *b == 0xff).map(Blktrace::new)), most),
        2 => events(|| Blkparse::new(bytes, Form::default()), most),
        3 => events(|| Ftrace::new(bytes), most),
        4 => read(FioLog::new(bytes), most),
        5 => read(SeekList::new(bytes, 1024), most),
        6 => Table::ALL.iter().for_each(|table| read(Rows::new(bytes, *table), most)),
        // Events of a segment are packed: one may have less than a byte.
        7 => events(|| Segments::new([Ok(bytes)]), usize::MAX),
        8 => {
            let (form, text) = bytes.split_at(bytes.iter().position(|b| *b == b'\n').unwrap_or(0));
            if let Ok(form) = String::from_utf8_lossy(form).parse::<Form>() {
                events(|| Blkparse::new(text, form.clone()), most);
            }
        }
        _ => read(LatencyLog::new(bytes), most),
    }
}
