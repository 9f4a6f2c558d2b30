//! What a thread may ask of the kernel.

/// Asks the kernel to wake this thread as exactly as it can: a timer slack of 1 ns instead of 50 µs. A kernel
/// that refuses leaves wake-ups a little later, which shows as delay.
pub fn set_timer_slack_1ns() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}
