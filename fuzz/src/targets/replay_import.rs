//! Any bytes as a result of blkreplay: an error or records whose times are in order, never a panic.

/// See the module.
pub fn run(data: &[u8]) {
    let _ = iosonar_dialect_blkreplay::import(data, "fuzz", &mut |record| {
        assert!(record.completed >= record.submitted);
        Ok(())
    });
}
