//! Whether requests are issued to the driver in the order in which they were queued.

use super::{Action, Device, Event};
use std::collections::HashMap;

/// Maximum number of places remembered: the places of merged requests are never issued.
const MOST: usize = 1 << 16;

/// Compares the order of `Q` with that of `D`. Requests are identified by their first sector, so a request that was
/// merged into the previous one is a part of that one. Each device has its order.
#[derive(Debug, Clone)]
pub struct IssueOrder {
    /// Number of the last `Q` of each place.
    queued: HashMap<(Device, u64), u64>,
    number: u64,
    /// Number of the request issued last to each device.
    last: HashMap<Device, u64>,
    /// Requests that may be queued concurrently, so that their order is undefined.
    at_once: u64,
    issued: u64,
    behind: u64,
}

impl IssueOrder {
    /// Expects `threads` threads: requests queued at the same moment have no order.
    pub fn of_threads(threads: u64) -> IssueOrder {
        let at_once = threads.saturating_sub(1);
        IssueOrder { queued: HashMap::new(), number: 0, last: HashMap::new(), at_once, issued: 0, behind: 0 }
    }

    /// Adds the next event; events must be in time order.
    pub fn add(&mut self, event: &Event) {
        if event.bytes == 0 {
            return;
        }
        let place = (event.device, event.sector);
        match event.action {
            Action::Queue => {
                self.number += 1;
                self.queued.insert(place, self.number);
                if self.queued.len() > MOST {
                    let recent = self.number - MOST as u64 / 2;
                    self.queued.retain(|_, number| *number > recent);
                }
            }
            Action::Issue => {
                let Some(number) = self.queued.remove(&place) else { return };
                let last = self.last.insert(event.device, number).unwrap_or(0);
                self.issued += 1;
                self.behind += u64::from(number + self.at_once < last);
            }
            _ => {}
        }
    }

    /// Requests issued to the driver.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Issued requests that had been queued before the previously issued one.
    pub fn out_of_order(&self) -> u64 {
        self.behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(events: &[(Action, u64)]) -> (u64, u64) {
        let mut order = IssueOrder::of_threads(1);
        for (action, sector) in events {
            order.add(&Event { action: *action, sector: *sector, bytes: 4096, ..Event::default() });
        }
        (order.issued(), order.out_of_order())
    }

    #[test]
    fn counts_fifo_issue_as_in_order() {
        let events: Vec<_> = [80, 8, 40]
            .into_iter()
            .flat_map(|sector| [(Action::Queue, sector), (Action::Issue, sector)])
            .collect();
        assert_eq!(order(&events), (3, 0));
        assert_eq!(order(&[]), (0, 0));
    }

    #[test]
    fn counts_sorted_requests_as_out_of_order() {
        let queued = [80, 8, 40, 16].map(|sector| (Action::Queue, sector));
        let issued = [8, 16, 40, 80].map(|sector| (Action::Issue, sector));
        // 8 (2), 16 (4), 40 (3), 80 (1): two were queued before the previously issued one.
        assert_eq!(order(&[queued, issued].concat()), (4, 2));
    }

    #[test]
    fn ignores_merged_and_unqueued_requests_in_bounded_memory() {
        assert_eq!(
            order(&[(Action::Queue, 8), (Action::Queue, 16), (Action::Issue, 8), (Action::Issue, 99)]),
            (1, 0)
        );
        let mut order = IssueOrder::of_threads(1);
        for sector in 0..1_000_000 {
            order.add(&Event { action: Action::Queue, sector, bytes: 4096, ..Event::default() });
        }
        assert!(order.queued.len() <= MOST, "{}", order.queued.len());
    }

    #[test]
    fn order_is_tracked_per_device_and_thread() {
        let [a, b] = [1, 2].map(|minor| Device::new(8, minor).unwrap());
        let queue = [(Action::Queue, a), (Action::Queue, b), (Action::Issue, b), (Action::Issue, a)];
        let mut order = IssueOrder::of_threads(1);
        for (action, device) in queue {
            order.add(&Event { action, device, sector: 8, bytes: 4096, ..Event::default() });
        }
        assert_eq!((order.issued(), order.out_of_order()), (2, 0));
        // With two threads, a swap of neighbours is no disorder.
        let swapped = [(Action::Queue, 8), (Action::Queue, 16), (Action::Issue, 16), (Action::Issue, 8)];
        let of = |threads: u64| {
            let mut order = IssueOrder::of_threads(threads);
            for (action, sector) in swapped {
                order.add(&Event { action, sector, bytes: 4096, ..Event::default() });
            }
            order.out_of_order()
        };
        assert_eq!((of(1), of(2)), (1, 0));
    }

    #[test]
    fn flushes_are_not_ordered() {
        let mut order = IssueOrder::of_threads(1);
        order.add(&Event { action: Action::Queue, ..Event::default() });
        order.add(&Event { action: Action::Issue, ..Event::default() });
        assert_eq!(order.issued(), 0);
    }
}
