//! Formats sizes.

const UNITS: [&str; 6] = ["bytes", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Formats a size with a binary unit, for example `64.0 MiB`.
pub(crate) fn human(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn units_are_binary() {
        assert_eq!(human(512), "512 bytes");
        assert_eq!(human(64 << 20), "64.0 MiB");
        assert_eq!(human(u64::MAX), "16384.0 PiB");
    }
}
