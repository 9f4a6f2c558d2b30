//! Fields of a plan in the words of blkreplay's command line.

/// Fields, each with the option that sets it.
pub const OPTIONS: &[(&str, &str)] = &[
    ("path", "DEVICE"),
    ("depth", "--threads="),
    ("file", "the load"),
    ("window.start", "--replay-start="),
    ("window.end", "--replay-end="),
    ("speed", "--speedup="),
    ("fill.random_percent", "--fill-random="),
    ("engine.service", "--simulate-io="),
    ("verify", "--with-verify"),
    ("verify.modes", "--with-verify"),
];
