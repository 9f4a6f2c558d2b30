//! Numbers in sentences.

/// A share in percent: `0.05 %`, `9.3 %`, `100 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent.fract() == 0.0 || percent >= 99.95 {
        0
    } else if percent < 1.0 {
        2
    } else {
        1
    };
    format!("{percent:.digits$} %")
}

/// Bytes, in the largest binary unit below them: `1.5 MiB`.
pub(crate) fn size(bytes: f64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    match units.iter().find(|(_, power)| bytes >= (1u64 << power) as f64) {
        Some((unit, power)) => format!("{:.1} {unit}", bytes / (1u64 << power) as f64),
        None => format!("{bytes:.0} bytes"),
    }
}

/// A time in microseconds, without the unit: `102`, `2.6`.
pub(crate) fn micros(ns: u64) -> String {
    let digits = if ns < 9_950 { 1 } else { 0 };
    format!("{:.digits$}", ns as f64 / 1e3)
}

/// A factor: `1.7`, `41`.
pub(crate) fn factor(value: f64) -> String {
    let digits = if value < 9.95 { 1 } else { 0 };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_adequate_precision() {
        assert_eq!(
            [0.0005, 0.093, 0.9997, 1.0, 0.25].map(percent),
            ["0.05 %", "9.3 %", "100 %", "100 %", "25 %"]
        );
        assert_eq!([100.0, 1536.0, 2e9].map(size), ["100 bytes", "1.5 KiB", "1.9 GiB"]);
        assert_eq!([2_600, 9_960, 4_150_000].map(micros), ["2.6", "10", "4150"]);
        assert_eq!([1.69, 40.7].map(factor), ["1.7", "41"]);
    }
}
