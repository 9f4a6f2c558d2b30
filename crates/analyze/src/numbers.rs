//! Numbers in sentences for people.

/// A duration with three significant digits and its unit.
pub(crate) fn span(ns: u64) -> String {
    let (factor, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1e3, "µs"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", three_digits(ns as f64 / factor))
}

/// Three significant digits without exponent.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let before = value.abs().log10().floor() as i32;
    let decimals = (2 - before).clamp(0, 12) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_digits() {
        for (value, text) in [(7.584, "7.58"), (0.0891, "0.0891"), (1234.5, "1234"), (0.0, "0")] {
            assert_eq!(three_digits(value), text);
        }
    }
}
