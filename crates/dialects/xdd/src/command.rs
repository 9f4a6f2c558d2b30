//! The action of a command line.

use crate::settings::Settings;

/// Action of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// A run.
    Run(Box<Settings>),
    /// Print [`crate::full_help`] only.
    FullHelp,
    /// Print the program's version only.
    Version,
}
