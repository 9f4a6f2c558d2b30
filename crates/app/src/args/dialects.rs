//! Command lines in another program's words.

use clap::Args;

/// XDD's options.
#[derive(Debug, Args)]
pub struct XddArgs {
    /// Options of XDD 6.5, in its own form
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub options: Vec<std::ffi::OsString>,
}

/// IOzone's options.
#[derive(Debug, Args)]
pub struct IozoneArgs {
    /// Options of IOzone 3, in its own form
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION")]
    pub options: Vec<std::ffi::OsString>,
}
