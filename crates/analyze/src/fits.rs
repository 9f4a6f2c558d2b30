//! Whether counts that another process has made can be merged.

/// Counts from elsewhere, which may be those of another program or a damaged file.
pub(crate) trait Fits {
    /// Whether these counts can be merged with `own`, and figures can be made of them: they have the same shape, and every index lies
    /// within its list. The counts themselves may be wrong.
    fn fits(&self, _own: &Self) -> bool {
        true
    }
}
