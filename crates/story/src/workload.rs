//! Requests in words.

use iosonar_plan::{BlockSizes, Order, Workload};

/// The order of the addresses, with a blank after it: `random `. Empty for orders without a short name; `None` for a recorded load.
pub(crate) fn order(workload: &Workload) -> Option<&'static str> {
    match workload {
        Workload::Generated(generator) => Some(match generator.order {
            Order::Random | Order::Shuffled | Order::MersenneShuffled => "random ",
            Order::Sequential => "sequential ",
            _ => "",
        }),
        Workload::Trace(_) => None,
    }
}

/// The size of the requests, if all have the same.
pub(crate) fn size(workload: &Workload) -> Option<u64> {
    match workload {
        Workload::Generated(generator) => match (&generator.block_size, &generator.write_block_size) {
            (BlockSizes::One(size), None) => Some(size.0),
            _ => None,
        },
        Workload::Trace(_) => None,
    }
}
