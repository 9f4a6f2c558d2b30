//! The `iosonar` command.

fn main() {}
