//! Numbers for people: three significant digits, with units.

/// Allowed characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// `us`.
    Ascii,
    /// `µs`.
    Unicode,
}

/// At least `digits` significant digits without exponent; digits before the point are never cut.
fn significant(value: f64, digits: i32) -> String {
    // No more than twelve digits after the point are ever shown.
    if value.abs() < 0.5e-12 || !value.is_finite() {
        return "0".to_string();
    }
    let decimals_for =
        |v: f64| (digits - 1).saturating_sub(v.abs().log10().floor() as i32).clamp(0, 12) as usize;
    // Rounding may carry into one more digit: 9.996 is 10.0, not 10.00.
    let rounded: f64 = format!("{value:.*}", decimals_for(value)).parse().unwrap_or(value);
    format!("{rounded:.*}", decimals_for(rounded))
}

/// A plain number with three significant digits.
pub fn number(value: f64) -> String {
    significant(value, 3)
}

/// A duration: `3.29 s`, `240 us`.
pub fn duration(ns: u64, charset: Charset) -> String {
    let micro = if charset == Charset::Ascii { "us" } else { "µs" };
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, micro), (1.0, "ns")];
    if ns == 0 {
        return "0 s".to_string();
    }
    let exact = ns as f64;
    // 999.9 µs reads as 1.00 ms.
    let (factor, unit) = *units.iter().find(|(f, _)| exact >= f * 0.9995).unwrap_or(&(1.0, "ns"));
    if factor == 1.0 {
        return format!("{ns} ns");
    }
    let value = exact / factor;
    if value >= 1000.0 {
        format!("{} {unit}", grouped(value.round() as u64))
    } else {
        format!("{} {unit}", number(value))
    }
}

/// One unit for all values of a table: numbers without it, the unit stands in the table's head.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// Size of one unit.
    pub factor: f64,
    /// Its name.
    pub name: &'static str,
}

impl Unit {
    /// The unit of durations of which `most` is the greatest, in nanoseconds: no number has more than six digits before
    /// the point.
    pub fn of_durations(most: u64) -> Unit {
        let (factor, name) = match most {
            0..100_000 => (1.0, "ns"),
            100_000..1_000_000_000 => (1e3, "us"),
            1_000_000_000..1_000_000_000_000 => (1e6, "ms"),
            1_000_000_000_000..1_000_000_000_000_000 => (1e9, "s"),
            _ => (86_400e9, "d"),
        };
        Unit { factor, name }
    }

    /// The unit of rates in bytes per second of which `most` is the greatest.
    pub fn of_byte_rates(most: f64) -> Unit {
        let units = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
        let (factor, name) =
            units.into_iter().find(|(factor, _)| most >= factor * 0.9995).unwrap_or((1.0, "B/s"));
        Unit { factor, name }
    }

    /// The unit of sizes of which `most` is the greatest.
    pub fn of_bytes(most: u64) -> Unit {
        let units =
            [(1u64 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let (factor, name) = units.into_iter().find(|(factor, _)| most >= *factor).unwrap_or((1, "B"));
        Unit { factor: factor as f64, name }
    }

    /// A value as a number of this unit: three significant digits, at most five after the point.
    pub fn number(self, value: f64) -> String {
        let value = value / self.factor;
        let text = number(value);
        match text.split_once('.') {
            Some((_, decimals)) if decimals.len() > 5 => format!("{value:.5}"),
            _ => text,
        }
    }
}

/// A number without needless digits, at most six after the point: for ticks and round limits.
pub fn plain(value: f64) -> String {
    if value >= 1.0 && value.fract() == 0.0 {
        return grouped(value as u64);
    }
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text.is_empty() { "0".into() } else { text.into() }
}

/// 1, 2 or 5 times a power of ten, not less than a thousandth below `least`, which is above 0.
pub fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
    steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(1.0)
}

/// A limit as typed: `5 s`, `1.5 ms`.
pub fn limit(ns: u64) -> String {
    let (factor, unit) = match ns {
        0..1_000 => (1.0, "ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    format!("{} {unit}", plain(ns as f64 / factor))
}

/// A date of the calendar: `2026-11-21 02:30:00 UTC`.
pub fn date(unix_ns: u64) -> String {
    let time = jiff::Timestamp::from_nanosecond(unix_ns.into()).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A point in time on the run's clock, to a hundredth of a second if that is fine enough.
pub fn moment(ns: u64, charset: Charset) -> String {
    if ns < 1_000_000_000 { duration(ns, charset) } else { format!("{:.2} s", ns as f64 / 1e9) }
}

/// Time on a run's clock in whole seconds: `11:40`, `2:00:05`.
pub fn clock(ns: u64) -> String {
    let seconds = ns / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes:02}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// A count with blanks between groups of three digits: `510 176`.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// `1 more target`, `2 more targets`.
pub fn more_targets(n: usize) -> String {
    format!("{n} more {}", if n == 1 { "target" } else { "targets" })
}

/// A number of any size in a table: three significant digits, or a whole number in groups: `38.4`, `1 056`.
pub fn figure(value: f64) -> String {
    if value >= 999.5 { grouped(value.round() as u64) } else { number(value) }
}

/// Requests per second.
pub fn request_rate(per_second: f64) -> String {
    figure(per_second)
}

/// Bytes per second in decimal units, as in data sheets: `38.4 MB/s`.
pub fn byte_rate(per_second: f64) -> String {
    let units = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
    match units.iter().find(|(f, _)| per_second >= f * 0.9995) {
        Some((factor, unit)) => format!("{} {unit}", number(per_second / factor)),
        None => format!("{} B/s", number(per_second)),
    }
}

/// Bytes in binary units: `64.0 KiB`.
pub fn bytes(n: u64) -> String {
    let units = [(1u64 << 50, "PiB"), (1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units.iter().find(|(f, _)| n >= *f) {
        Some((factor, unit)) => format!("{} {unit}", number(n as f64 / *factor as f64)),
        None => format!("{n} B"),
    }
}

/// A share in percent. A non-zero share never reads as zero, an incomplete one never as 100 %.
pub fn share(part: u64, whole: u64) -> String {
    if part == 0 || whole == 0 {
        return "0 %".to_string();
    }
    let percent = part as f64 / whole as f64 * 100.0;
    match percent {
        p if p < 0.01 => "< 0.01 %".to_string(),
        p if part < whole && p > 99.95 => "> 99.9 %".to_string(),
        p => format!("{} %", number(p)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_three_digits_with_unit() {
        for (ns, text) in [
            (0, "0 s"),
            (7, "7 ns"),
            (999, "999 ns"),
            (1_000, "1.00 us"),
            (240_400, "240 us"),
            (999_900, "1.00 ms"),
            (9_996_000, "10.0 ms"),
            (3_290_000_000, "3.29 s"),
            (1_234_567_000_000, "1 235 s"),
        ] {
            assert_eq!(duration(ns, Charset::Ascii), text);
        }
        assert_eq!(duration(1_500, Charset::Unicode), "1.50 µs");
        assert_eq!(grouped(510_176), "510 176");
        assert_eq!(grouped(12), "12");
        assert_eq!((clock(700_000_000_000), clock(7_205_000_000_000)), ("11:40".into(), "2:00:05".into()));
        assert_eq!(byte_rate(38_400_000.0), "38.4 MB/s");
        assert_eq!(bytes(65_536), "64.0 KiB");
        assert_eq!(share(1, 1_000_000), "< 0.01 %");
        assert_eq!(share(999_999, 1_000_000), "> 99.9 %");
        assert_eq!(share(1, 3), "33.3 %");
        assert_eq!(share(3, 3), "100 %");
        for tiny in [0.0, f64::MIN_POSITIVE, 1e-300, 4e-13, f64::NAN, f64::INFINITY] {
            assert_eq!(number(tiny), "0");
        }
        assert_eq!((number(1.23e-9), number(6e-13)), ("0.00000000123".into(), "0.000000000001".into()));
        assert_eq!((limit(5_000_000_000), limit(1_500_000)), ("5 s".to_string(), "1.5 ms".to_string()));
    }
}
