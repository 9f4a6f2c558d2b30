//! Reasons why this machine offers no io_uring, and the remedies.

use std::fmt;
use std::io;

/// Where the system's administrator allows io_uring.
const SWITCH: &str = "/proc/sys/kernel/io_uring_disabled";

/// io_uring cannot be used here. Its text is one sentence: the reason, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    reason: String,
}

impl Unavailable {
    pub(super) fn because(reason: impl Into<String>) -> Unavailable {
        Unavailable { reason: reason.into() }
    }

    /// Setting up a ring failed with this error.
    pub(super) fn from_setup(error: &io::Error) -> Unavailable {
        let switch = std::fs::read_to_string(SWITCH).unwrap_or_default();
        Unavailable::because(explain(error, switch.trim()))
    }
}

fn explain(error: &io::Error, switch: &str) -> String {
    match (error.raw_os_error(), switch) {
        (Some(libc::EPERM), "1") => "io_uring is only for privileged processes here: run as root, add this user to the \
             group of the sysctl kernel.io_uring_group, or set the sysctl kernel.io_uring_disabled to 0"
            .into(),
        (Some(libc::EPERM), "2") => {
            "io_uring is switched off here: set the sysctl kernel.io_uring_disabled to 0".into()
        }
        (Some(libc::EPERM), _) => "io_uring is forbidden here, probably by a container's seccomp filter: allow \
             io_uring_setup, io_uring_enter and io_uring_register (the sysctl kernel.io_uring_disabled does not forbid it)"
            .into(),
        (Some(libc::ENOSYS), _) => "there is no io_uring here: the kernel was built without it (it needs Linux 5.11), or a \
             container's seccomp filter hides it"
            .into(),
        (Some(libc::ENOMEM), _) => {
            "io_uring finds too little memory that may be locked: raise the limit (ulimit -l)".into()
        }
        (Some(libc::EMFILE | libc::ENFILE), _) => {
            "io_uring finds too many open files: raise the limit (ulimit -n)".into()
        }
        _ => format!("io_uring cannot be set up here: {error}"),
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Unavailable {}

impl From<Unavailable> for io::Error {
    fn from(unavailable: Unavailable) -> io::Error {
        io::Error::new(io::ErrorKind::Unsupported, unavailable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_one_sentence_and_remedy() {
        let text = |errno, switch| explain(&io::Error::from_raw_os_error(errno), switch);
        for (errno, switch, remedy) in [
            (libc::EPERM, "2", "kernel.io_uring_disabled to 0"),
            (libc::EPERM, "1", "kernel.io_uring_group"),
            (libc::EPERM, "0", "seccomp"),
            (libc::ENOSYS, "", "Linux 5.11"),
            (libc::ENOMEM, "0", "ulimit -l"),
            (libc::EMFILE, "0", "ulimit -n"),
            (libc::EINVAL, "0", "Invalid argument"),
        ] {
            let text = text(errno, switch);
            assert!(text.contains(remedy) && !text.contains('\n') && !text.contains("  "), "{text}");
        }
    }
}
