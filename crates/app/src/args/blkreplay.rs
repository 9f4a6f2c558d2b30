//! What can be typed after `iosonar blkreplay`: everything, in blkreplay's own form.

use clap::Args;
use std::ffi::OsString;

/// What blkreplay would be given.
#[derive(Debug, Args)]
pub struct BlkreplayArgs {
    /// Options of blkreplay 1.0.4 and DEVICE, in its own form
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub options: Vec<OsString>,
}
