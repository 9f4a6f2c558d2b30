//! Dates as `ctime` writes them, `Thu Nov 24 18:22:48 1986`, always in UTC.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const FORM: &str = "%a %b %e %H:%M:%S %Y";

/// Formats `seconds` since 1970 as `ctime` does, without the newline.
pub(crate) fn format(seconds: u64) -> String {
    let date = i64::try_from(seconds).ok().and_then(|s| Timestamp::from_second(s).ok());
    date.unwrap_or(Timestamp::MAX).strftime(FORM).to_string()
}

/// Parses a date as `ctime` writes it into seconds since 1970; `None` if it is invalid, before 1970, or so late (a
/// broken clock) that nanoseconds since 1970 exceed 64 bits.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let date = DateTime::strptime(FORM, words.join(" ")).ok()?;
    let seconds = u64::try_from(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()).ok()?;
    seconds.checked_mul(1_000_000_000).map(|_| seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn formats_and_parses_known_dates() {
        for (seconds, text) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (533_240_568, "Mon Nov 24 18:22:48 1986"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (951_868_799, "Tue Feb 29 23:59:59 2000"),
            (951_868_800, "Wed Mar  1 00:00:00 2000"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn rejects_invalid_dates() {
        for text in [
            "",
            "Thu Jan  1",
            "Wed Dec 31 00:00:00 1969",
            "Thu Jan  1 00:00:00 9999999999999999999",
            "Wed Feb 30 00:00:00 2000",
            "Thu Jan  0 00:00:00 1970",
            "Thu Jan  1 24:00:00 1970",
            "Thu Jan  1 00:00 1970",
            "Thu Foo  1 00:00:00 1970",
            "Thu Jan  1 00:00:00 1970 more",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn dates_read_back(seconds in 0u64..18_400_000_000) {
            prop_assert_eq!(parse(&format(seconds)), Some(seconds));
        }

        #[test]
        fn any_text_is_read_without_panic(text: String) {
            parse(&text);
        }
    }
}
