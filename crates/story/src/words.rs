//! Numbers and lists in sentences.

use iosonar_analyze::HEADLINE_CHARS;
use iosonar_text::units::{self, Charset};

/// A duration: `1.60 ms`.
pub(crate) fn time(ns: u64) -> String {
    units::duration(ns, Charset::Unicode)
}

/// A duration from a mean.
pub(crate) fn mean_time(ns: f64) -> String {
    time(ns.max(0.0).round() as u64)
}

/// Requests per second with three significant digits: `18 000/s`, `9.50/s`.
pub(crate) fn rate(per_second: f64) -> String {
    format!("{}/s", rounded_rate(per_second))
}

/// A number with three significant digits: `18 000`, `9.50`.
pub(crate) fn rounded_rate(per_second: f64) -> String {
    if per_second < 999.5 {
        return units::number(per_second);
    }
    let unit = 10f64.powi(per_second.log10().floor() as i32 - 2);
    units::grouped(((per_second / unit).round() * unit) as u64)
}

/// A share in percent without decimals; a small one never reads as 0 %, an incomplete one never as 100 %.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        p if p > 0.0 && p < 1.0 => "less than 1 %".into(),
        p if p < 100.0 => format!("{:.0} %", p.min(99.0)),
        _ => "100 %".into(),
    }
}

/// A mean size: `8.00 KiB`.
pub(crate) fn size(bytes: f64) -> String {
    units::bytes(bytes.max(0.0).round() as u64)
}

/// Bytes without needless decimals: `4 KiB`.
pub(crate) fn short_bytes(n: u64) -> String {
    units::bytes(n).replace(".00 ", " ").replace(".0 ", " ")
}

/// A moment of the run: `6.00 s`.
pub(crate) fn moment(ns: u64) -> String {
    units::moment(ns, Charset::Unicode)
}

/// A number of events as a word, where one is common: `Once`, `Twice`, `Three times`, `20 times`.
pub(crate) fn times(count: usize) -> String {
    match count {
        1 => "Once".into(),
        2 => "Twice".into(),
        3..=9 => format!("{} times", number_word(count)),
        _ => format!("{count} times"),
    }
}

/// A small number as a word at the start of a sentence.
pub(crate) fn number_word(count: usize) -> String {
    const WORDS: [&str; 10] = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];
    WORDS.get(count).map_or_else(|| count.to_string(), |word| word.to_string())
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// The text with a capital letter at its start.
pub(crate) fn capitalized(text: String) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// The first of several wordings that fits into a headline, or the last one.
pub(crate) fn fitting<const N: usize>(wordings: [String; N]) -> String {
    let last = wordings.last().cloned().unwrap_or_default();
    wordings.into_iter().find(|text| text.chars().count() <= HEADLINE_CHARS).unwrap_or(last)
}

/// A headline of at most [`HEADLINE_CHARS`] characters: a longer one ends at a word, with three points. A terminal without the ellipsis would
/// show one, as at the end of a sentence.
pub(crate) fn fitted(text: String) -> String {
    if text.chars().count() <= HEADLINE_CHARS {
        return text;
    }
    let cut: String = text.chars().take(HEADLINE_CHARS - 3).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}...", cut[..end].trim_end_matches([',', ':', ';', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_numbers_of_sentences() {
        assert_eq!(
            (rate(18_049.0), rate(9.5), rate(999.7)),
            ("18 000/s".into(), "9.50/s".into(), "1 000/s".into())
        );
        assert_eq!(
            (percent(0.001), percent(0.999), percent(1.0)),
            ("less than 1 %".into(), "99 %".into(), "100 %".into())
        );
        assert_eq!((times(1), times(3), times(20)), ("Once".into(), "Three times".into(), "20 times".into()));
        assert_eq!(listed(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }

    #[test]
    fn cuts_long_headlines_at_a_word() {
        let long = fitted("word ".repeat(40));
        assert!(long.chars().count() <= HEADLINE_CHARS && long.ends_with("word..."), "{long}");
        assert_eq!(fitted("short.".into()), "short.");
    }
}
