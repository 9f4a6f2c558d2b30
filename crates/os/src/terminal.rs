//! The terminal that standard error is shown on.

/// Its width in columns now; it changes when the window does. None where standard error is no terminal, or one that
/// does not tell.
pub fn stderr_columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(rustix::stdio::stderr()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
