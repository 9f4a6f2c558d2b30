//! Any bytes as a load, under every policy for backward time: an error or requests, never a panic.

use iosonar_load::{Recorded, Room, Source, Text, scan};
use iosonar_plan::{Backward, Nanos, TraceReplay};

/// See the module.
pub fn run(data: &[u8]) {
    for backward in [Backward::Refuse, Backward::Sort, Backward::Shift] {
        let load = TraceReplay { backward, skip_bad: true, ..TraceReplay::of("fuzz") };
        let Ok(input) = iosonar_trace::decompress(std::io::Cursor::new(data.to_vec())) else { return };
        let _ = scan(Text::once(input), &load, &Room::default(), |_| {});
        let Ok(input) = iosonar_trace::decompress(std::io::Cursor::new(data.to_vec())) else { return };
        let mut source = Recorded::new(Text::once(input), &load, |_| {}).expect("there are no filters");
        while let Ok(Some(item)) = source.next(Nanos(0)) {
            assert!(item.op.has_place() == (item.extent.length > 0));
        }
    }
}
