//! Dates as `ctime` writes them, `Thu Nov 24 18:22:48 1986`, always in UTC.
//!
//! The Gregorian calendar repeats every 400 years. Counting years from the first of March puts the leap day
//! last, which leaves one formula for the days before a month.

const DAY: u64 = 86_400;
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Days in 400 years.
const ERA: u64 = 146_097;
/// From 0000-03-01 to 1970-01-01.
const EPOCH: u64 = 719_468;
/// Whoever measured later than this has a broken clock: nanoseconds since 1970 no longer fit in 64 bits.
const LAST_YEAR: u64 = 2553;

/// `seconds` since 1970 as `ctime` writes them, without the newline.
pub(crate) fn format(seconds: u64) -> String {
    let (days, second) = (seconds / DAY, seconds % DAY);
    let (year, month, day) = civil(days);
    format!(
        "{} {} {day:2} {:02}:{:02}:{:02} {year}",
        WEEKDAYS[(days % 7) as usize],
        MONTHS[month as usize - 1],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Seconds since 1970 of a date as `ctime` writes it; `None` if it is none, or lies outside 1970 to 2553.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let (weekday, month, day) = (words.next()?, words.next()?, number(words.next()?)?);
    let (time, year) = (words.next()?, number(words.next()?)?);
    if words.next().is_some() || !WEEKDAYS.contains(&weekday) || !(1970..=LAST_YEAR).contains(&year) {
        return None;
    }
    let month = MONTHS.iter().position(|m| *m == month)? as u64 + 1;
    let mut parts = time.split(':').map(number);
    let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 60 || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_before(year, month, day)?;
    // The 30th of February is no day: it would come back as the first or second of March.
    (civil(days) == (year, month, day)).then(|| days * DAY + hour * 3600 + minute * 60 + second)
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// Year, month and day from 1 of the `days`-th day after 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days / ERA, days % ERA);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// Days from 1970-01-01 to a date from 1970 on.
fn days_before(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = year - u64::from(month <= 2);
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let year_of_era = year % 400;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (year / 400 * ERA + day_of_era).checked_sub(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_dates() {
        for (seconds, text) in [
            (0, "Thu Jan  1 00:00:00 1970"),
            (533_240_568, "Mon Nov 24 18:22:48 1986"),
            (951_782_400, "Tue Feb 29 00:00:00 2000"),
            (951_868_799, "Tue Feb 29 23:59:59 2000"),
            (951_868_800, "Wed Mar  1 00:00:00 2000"),
            (1_709_164_800, "Thu Feb 29 00:00:00 2024"),
            (1_735_689_599, "Tue Dec 31 23:59:59 2024"),
            (4_107_542_400, "Mon Mar  1 00:00:00 2100"),
        ] {
            assert_eq!(format(seconds), text);
            assert_eq!(parse(text), Some(seconds), "{text}");
        }
    }

    #[test]
    fn no_dates() {
        for text in [
            "",
            "Thu Jan  1",
            "Thu Jan  1 00:00:00 1969",
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
        fn any_number_of_seconds_has_a_date(seconds: u64) {
            prop_assert!(!format(seconds).is_empty());
        }
    }
}
