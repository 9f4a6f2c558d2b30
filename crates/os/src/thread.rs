//! What a thread or process may ask of the kernel about itself.

/// Asks the kernel to wake this thread as exactly as it can: a timer slack of 1 ns instead of 50 µs. A kernel
/// that refuses leaves wake-ups a little later, which shows as delay.
pub fn set_timer_slack_1ns() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and touches no memory of ours.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
}

/// Whether this process ignores `signal`, as `nohup` has its children ignore SIGHUP.
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: sigaction is plain data, for which all zeros is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null new action changes nothing; the old one is written to memory of ours that outlives the call.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) } == 0;
    known && action.sa_sigaction == libc::SIG_IGN
}
