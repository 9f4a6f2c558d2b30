//! Verification results in blkreplay's lines (spec 3.6): scripts look for `VERIFY ERROR` and `SUMMARY`.

use crate::form;
use iosonar_archive::{Fault, FoundBy, Verified};
use iosonar_plan::{SECTOR, VerifyModes};
use std::io::{self, Write};

/// Modes of `--with-verify`, `--with-final-verify` and `--with-paranoia`: each includes the previous one.
pub(crate) const MODES: [&str; 4] =
    ["none", "read,before-write", "read,before-write,final", "read,before-write,after-write,final"];

/// Modes of an option, by its number in blkreplay.
pub(crate) fn modes(number: usize) -> VerifyModes {
    // The words of MODES are valid.
    MODES[number].parse().unwrap_or_default()
}

/// blkreplay's number of the strongest option that is included in these modes.
pub(crate) fn number(modes: VerifyModes) -> u64 {
    match modes {
        VerifyModes { after_write: true, .. } => 3,
        VerifyModes { final_scan: true, .. } => 2,
        VerifyModes { read: true, .. } | VerifyModes { before_write: true, .. } => 1,
        _ => 0,
    }
}

/// Sectors found bad during the replay: blkreplay counts those of its final pass separately.
pub(crate) fn errors_during_replay(faults: &[Fault]) -> u64 {
    faults.iter().filter(|fault| fault.found_by != FoundBy::Final).map(sectors).sum()
}

fn sectors(fault: &Fault) -> u64 {
    fault.length / SECTOR
}

/// Writes a line for each bad sector, with the name of the fault after blkreplay's own words.
pub(crate) fn write(faults: &[Fault], out: &mut impl Write) -> io::Result<()> {
    faults.iter().try_for_each(|fault| write_fault(fault, out))
}

fn write_fault(fault: &Fault, out: &mut impl Write) -> io::Result<()> {
    let number = |write: &Option<iosonar_archive::FaultWrite>| write.as_ref().map(|write| write.id.sequence);
    let (found, expected) = (number(&fault.found), number(&fault.expected));
    let text = |number: Option<u64>| number.map_or("none".to_string(), |number| number.to_string());
    let (first, class) = (fault.offset / SECTOR, fault.class);
    let due = text(expected);
    if fault.found_by == FoundBy::AfterWrite {
        let length = sectors(fault);
        return writeln!(
            out,
            "VERIFY ERROR: memcmp(): bad storage semantics at sector = {first} len = {length} tag_start = {due} tag2_start = {} [{class}]",
            text(found)
        );
    }
    for index in 0..sectors(fault) {
        let at = first + index;
        match (fault.found_by, found) {
            (FoundBy::Final, _) => writeln!(
                out,
                "VERIFY ERROR:    at block {at} ({} != [expected] {due}) [{class}]",
                text(found)
            )?,
            (kind, Some(found)) => writeln!(
                out,
                "VERIFY ERROR ({}): data version mismatch at sector {first}+{index} (seqnr {found} != [expected] {due}) [{class}]",
                direction(kind)
            )?,
            (kind, None) => writeln!(
                out,
                "VERIFY ERROR ({}): bad start tag at sector {first}+{index} (tag none != [expected] {due}) [{class}]",
                direction(kind)
            )?,
        }
    }
    Ok(())
}

fn direction(found_by: FoundBy) -> &'static str {
    if found_by == FoundBy::BeforeWrite { "write" } else { "read" }
}

/// Last line of a run with a final pass. Open writes, which the original reports as mismatches, are known here and are
/// not faults.
pub(crate) fn summary(verified: &Verified, faults: &[Fault], max_block: u64) -> Option<String> {
    let scan = verified.scan.as_ref()?;
    let (checked, errors) =
        (scan.bytes / SECTOR, faults.iter().filter(|fault| fault.found_by == FoundBy::Final));
    // Results of earlier versions lack this count; sectors already reported by a read were not counted again there.
    let errors = errors.map(sectors).sum::<u64>().max(scan.bad_sectors);
    let percent = if max_block == 0 { 0.0 } else { checked as f64 * 100.0 / max_block as f64 };
    Some(format!(
        "{}checked {checked} / {max_block} blocks ({percent:.3}%), found {errors} errors, 0 mismatches",
        form::SUMMARY
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verify_options_accumulate() {
        for (option, words) in MODES.into_iter().enumerate() {
            assert_eq!(
                (modes(option).to_string(), number(modes(option))),
                (words.to_string(), option as u64)
            );
        }
    }
}
