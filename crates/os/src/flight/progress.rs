//! Progress of one request, call by call: when it continues, and when and how it ends.

/// The most bytes that Linux transfers in one call.
pub const CALL_MAX: u64 = 0x7fff_f000;

/// Maximum number of calls in a row that return nothing but "interrupted" or "try again".
const RETRIES: u32 = 1000;

/// Progress of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    length: u64,
    done: u64,
    retries: u32,
    /// The rest is requested after a short transfer.
    completes: bool,
    short: bool,
}

impl Progress {
    /// Progress of a request of `length` bytes. After a short transfer it continues if it `completes`, else it ends.
    pub fn new(length: u64, completes: bool) -> Progress {
        Progress { length, done: 0, retries: 0, completes, short: false }
    }

    /// Bytes that are done.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Bytes that the next call requests.
    pub fn remaining(&self) -> u64 {
        (self.length - self.done).min(CALL_MAX)
    }

    /// Whether some call transferred less than requested.
    pub fn is_short(&self) -> bool {
        self.short
    }

    /// Processes the result of a call: bytes, or the negative errno. Returns the request's result if it ends with that.
    ///
    /// An error ends it, whatever was done before, with one exception: direct I/O cannot request a rest that does not begin at a
    /// block, which is how the end of a file looks.
    pub fn on_result(&mut self, result: i64) -> Option<i64> {
        const EINTR: i64 = -(libc::EINTR as i64);
        const EAGAIN: i64 = -(libc::EAGAIN as i64);
        const EINVAL: i64 = -(libc::EINVAL as i64);
        match result {
            EINTR | EAGAIN if self.retries < RETRIES => {
                self.retries += 1;
                None
            }
            EINVAL if self.short => Some(self.done as i64),
            error if error < 0 => Some(error),
            bytes => self.advance(bytes as u64),
        }
    }

    fn advance(&mut self, bytes: u64) -> Option<i64> {
        let asked = self.remaining();
        assert!(bytes <= asked, "a call transferred {bytes} bytes of {asked}");
        self.done += bytes;
        self.retries = 0;
        self.short |= bytes < asked;
        let ends = self.done == self.length || bytes == 0 || (bytes < asked && !self.completes);
        ends.then_some(self.done as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(length: u64, completes: bool, results: &[i64]) -> (Option<i64>, bool) {
        let mut progress = Progress::new(length, completes);
        let end = results.iter().find_map(|r| progress.on_result(*r));
        (end, progress.is_short())
    }

    #[test]
    fn short_transfers_follow_the_policy() {
        assert_eq!(run(4096, true, &[4096]), (Some(4096), false));
        assert_eq!(run(4096, true, &[1024, 3072]), (Some(4096), true));
        assert_eq!(run(4096, true, &[1024, 0]), (Some(1024), true));
        assert_eq!(run(4096, true, &[0]), (Some(0), true));
        assert_eq!(run(4096, true, &[1024]), (None, true));
        assert_eq!(run(4096, false, &[1024]), (Some(1024), true));
        assert_eq!(run(0, true, &[0]), (Some(0), false));
    }

    #[test]
    fn errors_end_a_request_but_eintr_does_not() {
        assert_eq!(run(4096, true, &[-5]), (Some(-5), false));
        assert_eq!(run(4096, true, &[-4, -11, 1024, -4, -28]), (Some(-28), true));
        assert_eq!(run(4096, true, &[1000, -22]), (Some(1000), true), "behind the end of a file");
        assert_eq!(run(4096, true, &[-22]), (Some(-22), false));
        assert_eq!(run(4096, true, &[-11; 1001]), (Some(-11), false), "not for ever");
    }

    #[test]
    fn splits_long_requests_into_several_calls() {
        let length = CALL_MAX + 4096;
        assert_eq!(run(length, false, &[CALL_MAX as i64, 4096]), (Some(length as i64), false));
    }
}
