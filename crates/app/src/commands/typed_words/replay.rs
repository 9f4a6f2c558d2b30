//! Options of `replay`, by the field of the plan that they set.

/// Fields that `replay` sets.
pub const FIELDS: &[(&str, &str)] = &[
    ("start_grace", "--start-grace"),
    ("depth", "--depth"),
    ("file", "LOAD"),
    ("window.start", "--start"),
    ("window.end", "--end"),
    ("speed", "--speed"),
    ("pace", "--asap"),
    ("filter", "--filter"),
];
