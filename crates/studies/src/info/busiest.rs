//! The second with most requests.

use iosonar_plan::Nanos;

/// A second.
pub const SECOND_NS: u64 = 1_000_000_000;

/// Finds the second with most requests, for requests in the order of time.
#[derive(Default)]
pub struct Busiest {
    second: u64,
    requests: u64,
    /// Requests in the busiest second.
    pub most: u64,
}

impl Busiest {
    /// Counts a request.
    pub fn add(&mut self, time: Nanos) {
        let second = time.0 / SECOND_NS;
        if second != self.second {
            (self.second, self.requests) = (second, 0);
        }
        self.requests += 1;
        self.most = self.most.max(self.requests);
    }
}
