//! Whether counts that another process has made can be merged, and whether they concern its own targets.

/// Counts from elsewhere, which may be those of another program or a damaged file.
pub(crate) trait Fits {
    /// Whether these counts can be merged with `own`, and figures can be made of them: they have the same shape, and every index lies
    /// within its list. The counts themselves may be wrong.
    fn fits(&self, _own: &Self) -> bool {
        true
    }
}

/// Counts that are kept by target.
pub(crate) trait ByTarget {
    /// Whether they concern no other targets than those for which `is_own` holds.
    fn concerns_only(&self, is_own: &dyn Fn(usize) -> bool) -> bool;
}
