//! The summary as plain ASCII text for a terminal.
pub fn show(_: &iosonar_analyze::Summary) -> String {
    String::new()
}
