//! The remote shell that starts programs on other machines.

use std::path::Path;

/// The environment variable that names it.
const VARIABLE: &str = "RSH";
/// Default command: it does not ask for a password, and detects a machine that does not answer and a lost connection.
const DEFAULT: &str = "ssh -T -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15";

/// The remote shell with its options, as the environment names it.
pub(crate) fn of_environment() -> Vec<String> {
    words(&std::env::var(VARIABLE).unwrap_or_default())
}

/// Parses a remote shell named by the user. OpenSSH must not ask for a password: it is in the background, where reading from the terminal
/// would stop it.
fn words(named: &str) -> Vec<String> {
    let shell = if named.trim().is_empty() { DEFAULT } else { named };
    let mut words: Vec<String> = shell.split_whitespace().map(String::from).collect();
    let is_ssh = words.first().is_some_and(|word| Path::new(word).file_name() == Some("ssh".as_ref()));
    // Keywords of its options are not case-sensitive, and the first of two values counts.
    if is_ssh && !shell.to_ascii_lowercase().contains("batchmode") {
        words.splice(1..1, ["-o".into(), "BatchMode=yes".into()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ssh_uses_batch_mode_unless_overridden() {
        let words = |named: &str| words(named).join(" ");
        assert_eq!(words(" "), DEFAULT);
        assert_eq!(words("ssh"), "ssh -o BatchMode=yes");
        assert_eq!(words("/usr/bin/ssh  -p 22"), "/usr/bin/ssh -o BatchMode=yes -p 22");
        for kept in ["ssh -oBatchMode=no", "ssh -o batchmode=yes -p 22", "rsh -l me", "my-ssh", "sh ssh"] {
            assert_eq!(words(kept), kept);
        }
    }
}
