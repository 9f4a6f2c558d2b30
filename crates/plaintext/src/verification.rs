//! Results of verification as lines of text.

use crate::lines::{COLUMNS, Lines};
use iosonar_analyze::Summary;
use iosonar_archive::{
    CrashFacts, Damaged, Fault, FaultClass, FaultWrite, KnownBy, MissingWrites, OutsideFacts, ScanFacts,
    Survival, Verified,
};
use iosonar_plan::{Nanos, SECTOR};
use iosonar_text::units::grouped;

/// Results of verification, as text.
pub fn verified(verified: &Verified) -> String {
    let mut out = Lines::new(COLUMNS);
    block(&mut out, verified);
    out.finish()
}

/// The block of the summary; nothing if nothing was to be verified.
pub(crate) fn lines(out: &mut Lines, summary: &Summary) {
    summary.verified.iter().for_each(|verified| block(out, verified));
}

fn block(out: &mut Lines, verified: &Verified) {
    out.heading(&headline(verified));
    repeated(verified).iter().for_each(|repeated| out.paragraph("  ", repeated));
    if !verified.faults.is_empty() {
        out.paragraph("  ", &counts(verified));
    }
    for (class, count) in &verified.faults {
        let first = verified.first.iter().find(|fault| fault.class == *class);
        let told = first.map_or(String::new(), sentence);
        let times = format!("{}x", grouped(count.faults));
        let first = if count.faults > 1 { "first: " } else { "" };
        out.paragraph(&format!("  {:<18} {times:>6}  ", class.name()), &format!("{first}{told}"));
        if *class == FaultClass::Lost {
            verified.missing.iter().for_each(|missing| out.paragraph("    ", &since(missing, verified)));
        }
    }
    if let Some(outside) = &verified.outside {
        out.paragraph("  ", &beside(outside));
    }
    verified.crash.iter().for_each(|crash| survived(out, crash));
    if let Some(scan) = &verified.scan {
        out.paragraph("  ", &scanned(scan));
    }
}

/// Data that survived a crash.
fn survived(out: &mut Lines, crash: &CrashFacts) {
    let demanded = match (crash.durable, crash.missing) {
        (0, _) => "nothing had to be there: no write was flushed, or had force unit access".into(),
        (durable, 0) if crash.durable_not_read > 0 => format!(
            "{} writes were durable: {} were not read, all others are there",
            grouped(durable),
            grouped(crash.durable_not_read)
        ),
        (durable, 0) => format!("{} writes were durable: all there", grouped(durable)),
        (durable, missing) => {
            format!("{} writes were durable: {} are MISSING", grouped(durable), grouped(missing))
        }
    };
    out.paragraph("  ", &demanded);
    let torn = format!("torn at {} bytes", grouped(crash.unit));
    for (what, survival) in [
        ("acknowledged without a flush", &crash.not_durable),
        ("in flight", &crash.in_flight),
        ("failed", &crash.failed),
    ] {
        if survival.total() > 0 {
            out.paragraph(
                "  ",
                &format!("{} {what}: {}", grouped(survival.total()), of_survival(survival, &torn)),
            );
        }
    }
    if crash.reordered > 0 {
        let text = format!(
            "{} of those without a flush are there though one that was acknowledged earlier is lost (allowed)",
            grouped(crash.reordered)
        );
        out.paragraph("  ", &text);
    }
    out.paragraph("  ", &known_by(crash));
}

fn of_survival(survival: &Survival, torn: &str) -> String {
    let counts = [
        (survival.there, "there"),
        (survival.lost, "lost"),
        (survival.torn, torn),
        (survival.overwritten, "written over"),
        (survival.not_read, "not read"),
    ];
    let counts: Vec<String> =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", grouped(*n))).collect();
    let is_allowed = survival.lost + survival.torn > 0;
    counts.join(", ") + if is_allowed { " (allowed)" } else { "" }
}

fn known_by(crash: &CrashFacts) -> String {
    match crash.known_by {
        KnownBy::Records => "the run came to its end: its records are complete".into(),
        KnownBy::Journal => "the run was killed: its journal completes the records".into(),
        KnownBy::LastRecord => {
            let more = match crash.unrecorded {
                0 => String::new(),
                n => format!("; {} sectors hold writes without a record", grouped(n)),
            };
            format!(
                "the run was killed and has no --journal of this start of the machine: what it submitted in the last 0.5 s before its last record counts as in flight{more}"
            )
        }
    }
}

fn headline(verified: &Verified) -> String {
    let total = verified.total();
    let outside = verified.outside.unwrap_or_default().compared;
    match (verified.checked + verified.checked_again, total) {
        (0, 0) if outside > 0 => {
            format!("verify: {} sectors that the run did not write are what they were", grouped(outside))
        }
        (0, 0) => "verify: NOTHING was checked".into(),
        (_, 0) => {
            format!(
                "verify: {} sectors checked, every one holds a version that it may hold",
                checked(verified)
            )
        }
        (_, total) => {
            let classes = verified.faults.len();
            let (s, es) = (if total == 1 { "" } else { "s" }, if classes == 1 { "" } else { "es" });
            format!(
                "verify: {} sectors checked, {} fault{s} in {classes} class{es}",
                checked(verified),
                grouped(total)
            )
        }
    }
}

/// Sectors that were checked, each once.
fn checked(verified: &Verified) -> String {
    let least = if verified.checked_at_least { "at least " } else { "" };
    format!("{least}{}", grouped(verified.checked))
}

/// Checks beyond the first one of each sector, and sectors that hold parts of several writes; `None` if zero.
fn repeated(verified: &Verified) -> Option<String> {
    let again = match verified.checked_again {
        0 => None,
        n => Some(format!("{} more checks were of sectors that had been checked before", grouped(n))),
    };
    let mixed = match verified.mixed {
        0 => None,
        n => Some(format!(
            "{} sectors held parts of several writes that were in flight together, as the access method allows",
            grouped(n)
        )),
    };
    let parts: Vec<String> = again.into_iter().chain(mixed).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

fn counts(verified: &Verified) -> String {
    let sectors: u64 = verified.faults.values().map(|count| count.sectors).sum();
    let mut text = format!(
        "{} sectors are bad; {} read with unknown state, {} never written and not checked",
        grouped(sectors),
        grouped(verified.unknown),
        grouped(verified.unwritten)
    );
    if verified.not_listed > 0 {
        text += &format!("; {} more faults are not in the list", grouped(verified.not_listed));
    }
    text
}

/// One sentence for many lost writes.
fn since(missing: &MissingWrites, verified: &Verified) -> String {
    let MissingWrites { target, after, writes } = *missing;
    let after = after.map_or(String::new(), |after| format!(" after {:.6} s", after.as_secs_f64()));
    let is_one = verified.missing.len() == 1 && target == 0;
    let target = if is_one { String::new() } else { format!(" of target {target}") };
    format!("all writes{target}{after} are missing: {} that were acknowledged", grouped(writes))
}

fn beside(outside: &OutsideFacts) -> String {
    let OutsideFacts { remembered, compared } = *outside;
    format!(
        "outside: {} sectors next to what was to be written, and samples elsewhere, were read before the run; {} of them, which it \
         did not write, were compared.",
        grouped(remembered),
        grouped(compared)
    )
}

fn scanned(scan: &ScanFacts) -> String {
    let took = scan.end.saturating_sub(scan.start).as_secs_f64();
    let stopped = if scan.stopped { ", and was stopped before its end" } else { "" };
    let mut text =
        format!("final scan: {} read in {took:.1} s{stopped}.", iosonar_text::units::bytes(scan.bytes));
    if scan.read_chunks < scan.chunks {
        text += &format!(" {} of {} sampled chunks bad", grouped(scan.bad_chunks), grouped(scan.read_chunks));
        if scan.bad_chunks == 0 && scan.read_chunks > 0 {
            // The rule of three: of n that are good, the upper end of a confidence interval of 95 % is 3/n.
            let most = 300.0 / scan.read_chunks as f64;
            text += &format!(": with 95 % confidence fewer than {most:.2} % of all");
        }
        text.push('.');
    }
    if scan.unreadable > 0 {
        text += &format!(" {} sectors could not be read", grouped(scan.unreadable));
        if scan.untried > 0 {
            text += &format!(", of which {} between others were not tried one by one", grouped(scan.untried));
        }
        text.push('.');
    }
    text += " The target's own cache may have answered.";
    text
}

/// One fault in words.
pub fn sentence(fault: &Fault) -> String {
    let sectors = fault.length / SECTOR;
    let is_one = sectors == 1;
    let what = match sectors {
        1 => format!("the sector at {}", grouped(fault.offset)),
        n => format!("{} sectors at {}", grouped(n), grouped(fault.offset)),
    };
    // For one sector or for several.
    let verb = |one: &'static str, several: &'static str| if is_one { one } else { several };
    let holds = verb("holds", "hold");
    let told = match fault.class {
        FaultClass::Misdirected | FaultClass::Duplicated | FaultClass::Swapped => {
            format!("{what} {holds} the write of {}{}", place(fault.belongs_at), of_request(&fault.found))
        }
        FaultClass::OtherTarget => {
            format!("{what} {holds} a write of another target{}", of_request(&fault.found))
        }
        FaultClass::OtherRun | FaultClass::FlushViolated if fault.run_id.is_some() => {
            format!("{what} {holds} a write of run {:x}", fault.run_id.unwrap_or_default())
        }
        FaultClass::Flipped | FaultClass::Corrupted | FaultClass::HeaderDamaged => {
            what + &fault.damaged.map_or(String::new(), |damaged| difference(&damaged))
        }
        FaultClass::TornInside => {
            format!(
                "{what}: one version up to byte {}, another one after it",
                fault.torn_at.unwrap_or_default()
            )
        }
        FaultClass::Foreign => format!("{what} {} with {}", verb("begins", "begin"), fault.first_bytes),
        FaultClass::Zeroed => format!("{what} {} zero", verb("is", "are")),
        FaultClass::Ones => format!("all bytes of {what} are 0xFF"),
        FaultClass::Untransferred => format!("{what}: the read succeeded and transferred nothing"),
        FaultClass::Short => format!("{what}: the read succeeded and ended before its end"),
        FaultClass::Unreadable => format!("{what} cannot be read"),
        FaultClass::Phantom => {
            format!("{what} changed, and no request covers {}{}", verb("it", "them"), instead(fault, holds))
        }
        _ => format!("{what}{}", found_instead(fault, holds)),
    };
    let expected = fault.expected.as_ref().map(request);
    let expected = expected.map_or(String::new(), |expected| format!("; due there: {expected}"));
    let transient = if fault.transient { "; a second read was right" } else { "" };
    format!("{told}{expected}{transient}{}", possible(&fault.also_possible))
}

/// How the bytes of a sector differ.
fn difference(damaged: &Damaged) -> String {
    let Damaged { bits, first, last, .. } = *damaged;
    let bits =
        if bits == 1 { "1 bit differs".to_string() } else { format!("{} bits differ", grouped(bits.into())) };
    if first == last {
        format!(": {bits}, in byte {first} of it")
    } else {
        format!(": {bits}, in bytes {first} to {last} of it")
    }
}

/// The data that is there now.
fn instead(fault: &Fault, holds: &str) -> String {
    match (fault.run_id, fault.note.as_str(), fault.first_bytes.as_str()) {
        (Some(run), ..) => format!("; {holds} a write of run {run:x}"),
        (None, "", "") => String::new(),
        (None, "", bytes) => format!("; begins with {bytes}"),
        (None, note, _) => format!("; {holds} {note}"),
    }
}

fn found_instead(fault: &Fault, holds: &str) -> String {
    let versions = match fault.versions_older {
        Some(1) => " (1 version older)".into(),
        Some(n) if n > 1 => format!(" ({} versions older)", grouped(n)),
        _ => String::new(),
    };
    match (&fault.found, fault.note.as_str()) {
        (Some(found), _) => format!(" {holds} request {}{versions}", grouped(found.id.sequence)),
        (None, "") => String::new(),
        (None, note) => match fault.run_id {
            Some(run) => {
                format!(" still {holds} a write of run {run:x}")
            }
            None => format!(" {holds} {note}"),
        },
    }
}

fn place(offset: Option<u64>) -> String {
    offset.map_or("another place".into(), grouped)
}

fn of_request(write: &Option<FaultWrite>) -> String {
    write.as_ref().map_or(String::new(), |write| format!(" ({})", request(write)))
}

fn request(write: &FaultWrite) -> String {
    let seconds = |time: Nanos| format!("{:.6} s", time.as_secs_f64());
    let phase = if write.id.phase > 0 { format!(", phase {}", write.id.phase) } else { String::new() };
    let acknowledged =
        write.acknowledged.map_or(String::new(), |time| format!(", acknowledged at {}", seconds(time)));
    format!("request {}{phase}, pass {}{acknowledged}", grouped(write.id.sequence), write.id.pass + 1)
}

fn possible(classes: &[FaultClass]) -> String {
    match classes {
        [] => String::new(),
        classes => {
            let words: Vec<&str> = classes.iter().map(|class| class.name()).collect();
            format!("; also possible: {}", words.join(", "))
        }
    }
}
