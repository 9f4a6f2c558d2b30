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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_exact_as_they_need_to_be() {
        assert_eq!(
            [0.0005, 0.093, 0.9997, 1.0, 0.25].map(percent),
            ["0.05 %", "9.3 %", "100 %", "100 %", "25 %"]
        );
        assert_eq!([100.0, 1536.0, 2e9].map(size), ["100 bytes", "1.5 KiB", "1.9 GiB"]);
    }
}
