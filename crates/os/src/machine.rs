//! The type of this machine.

/// The name of its architecture, as `uname -m` prints it.
pub fn machine_type() -> String {
    rustix::system::uname().machine().to_string_lossy().into_owned()
}
