//! Text of results about deskewed rates, besides the numbers.

use iosonar_analyze::{Deskew, PassSkew};
use std::fmt::Write;

/// Lines about passes without a window, and with `details` about the skew of all passes.
pub fn deskew_notes(deskew: &Deskew, details: bool) -> String {
    let mut text = String::new();
    for ((_, pass), skew) in deskew.passes() {
        let _ = note(&mut text, skew, u64::from(pass) + 1, details);
    }
    text
}

fn note(text: &mut String, skew: &PassSkew, pass: u64, details: bool) -> std::fmt::Result {
    let window = skew.window();
    if details {
        let (front, back) = (skew.front().as_secs_f64(), skew.back().as_secs_f64());
        let (seconds, bytes) = (window.unwrap_or_default().as_secs_f64(), skew.bytes);
        writeln!(
            text,
            "Deskew, pass, {pass}, front-end skew in seconds, {front:.6}, back-end skew in seconds, {back:.6}, \
             window in seconds, {seconds:.6}, bytes in window, {bytes}"
        )?;
    }
    if window.is_none() {
        writeln!(text, "Deskew, pass, {pass}, skew too high to make a reasonable calculation")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_analyze::SkewWindows;
    use iosonar_archive::Record;
    use iosonar_plan::Nanos;

    fn notes(second: (u64, u64), details: bool) -> String {
        let record = |target: u16, (start, end): (u64, u64)| {
            let (submitted, completed) = (Some(Nanos(start)), Some(Nanos(end)));
            Record { target, submitted, completed, result: 5, ..Record::default() }
        };
        let mut windows = SkewWindows::default();
        [record(0, (0, 10)), record(1, second)].iter().for_each(|r| windows.add(r));
        deskew_notes(&windows.measure(), details)
    }

    #[test]
    fn reports_only_missing_window_without_details() {
        assert_eq!(notes((5, 20), false), "");
        assert_eq!(notes((5, 20), true).lines().count(), 1);
        let text = "Deskew, pass, 1, skew too high to make a reasonable calculation\n";
        assert_eq!(notes((10, 20), false), text);
    }
}
