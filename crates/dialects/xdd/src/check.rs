//! Checks settings across options, with XDD's names in errors, and adds notices for the user.

use crate::draft::target_name;
use crate::settings::{GlobalSettings, SeekOrder, Settings, TargetSettings, Typed};
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::{BetweenPasses, Data, ExpectedData};

type Checks = Result<(), UsageError>;

/// Direct I/O is aligned to sectors on every device.
const SECTOR: u64 = iosonar_plan::SECTOR;

/// Checks all settings, limits queue depths to amounts, and adds notices.
pub(crate) fn check(settings: &mut Settings) -> Checks {
    let Settings { targets, global, typed } = &mut *settings;
    for (number, target) in targets.iter().enumerate() {
        let at = |(option, problem): (String, String)| {
            UsageError::of(&option, &format!("{}: {problem}", target_name(number, target)))
        };
        direct(target, global.targetoffset, typed).map_err(at)?;
        data(target, typed).map_err(at)?;
        files(target, typed).map_err(at)?;
    }
    notices(targets, global, typed);
    Ok(())
}

/// An option as typed, and its problem.
type Problem = Result<(), (String, String)>;

fn problem(option: String, text: impl Into<String>) -> Problem {
    Err((option, text.into()))
}

fn direct(target: &TargetSettings, targetoffset: u64, typed: &Typed) -> Problem {
    let by_block = matches!(target.seek.order, SeekOrder::Random | SeekOrder::Stagger);
    let amounts = [
        ("the request size", target.request_bytes()),
        ("the block size", if by_block { target.blocksize } else { SECTOR }),
        ("the start offset", target.startoffset.wrapping_mul(target.blocksize)),
        ("the pass offset", target.passoffset.wrapping_mul(target.blocksize)),
        ("the target offset", targetoffset.wrapping_mul(target.blocksize)),
    ];
    // Wrapping keeps the remainder correct; overflows are refused later.
    match amounts.iter().find(|(_, bytes)| target.dio && bytes % SECTOR != 0) {
        Some((what, _)) => problem(
            typed.name("dio"),
            format!("alignment: {what} must be a multiple of {SECTOR} bytes for direct I/O: change it"),
        ),
        None => Ok(()),
    }
}

fn data(target: &TargetSettings, typed: &Typed) -> Problem {
    // A run knows its own writes, even without a pattern: zeros.
    let is_own = |verify: &iosonar_plan::JobVerification| verify.immediate && !target.reads();
    let checked = target.verify.filter(|verify| verify.what == ExpectedData::Contents && !is_own(verify));
    match checked.filter(|_| target.datapattern.is_none()) {
        Some(_) => {
            problem(typed.name("verify"), "nothing says what the contents should be: give -datapattern")
        }
        None => Ok(()),
    }
}

fn files(target: &TargetSettings, typed: &Typed) -> Problem {
    let option = match target.between_passes {
        BetweenPasses::Recreate => typed.name("recreatefiles"),
        BetweenPasses::NewFile => typed.name("createnewfiles"),
        BetweenPasses::Keep | BetweenPasses::Reopen => return Ok(()),
    };
    if target.devicefile {
        let name = typed.name("devicefile");
        return problem(option, format!("no files are made on a device: remove this or {name}"));
    }
    match target.writes() {
        true => Ok(()),
        false => problem(option, "a new file holds nothing to read: give -op write, or remove this option"),
    }
}

fn notices(targets: &mut [TargetSettings], global: &mut GlobalSettings, typed: &Typed) {
    let mut notice =
        |targets: &[TargetSettings], option: &str, text: &str, holds: fn(&TargetSettings) -> bool| {
            if let Some(which) = which(targets, holds) {
                global.notices.push(format!("{}: {which}: {text}", typed.name(option)));
            }
        };
    let too_deep = |t: &TargetSettings| t.requests().is_some_and(|n| n < u64::from(t.queuedepth));
    notice(targets, "queuedepth", "fewer requests than queue threads: as many threads as requests", too_deep);
    for target in targets.iter_mut().filter(|t| too_deep(t)) {
        let requests = target.requests().unwrap_or(1);
        target.queuedepth = u32::try_from(requests).unwrap_or(u32::MAX);
    }
    notice(targets, "randomize", "without -seek random it changes nothing", |t| {
        t.randomize && t.seek.order != SeekOrder::Random
    });
    notice(targets, "seek", "an interleave changes sequential locations only", |t| {
        t.seek.interleave > 1 && t.seek.order != SeekOrder::Sequential
    });
    notice(
        targets,
        "datapattern",
        "what is read is compared with the sequenced pattern only with -verify",
        |t| t.datapattern == Some(Data::Sequenced) && t.reads() && t.verify.is_none(),
    );
    notice(
        targets,
        "verify",
        "nothing is read here, so nothing is checked; -verify immediate reads back",
        |t| t.verify.is_some_and(|v| !v.immediate) && !t.reads(),
    );
    notice(targets, "timestamps", "nothing says what to report: give -ts summary or -ts detailed", |t| {
        t.timestamps.on && t.timestamps.output.is_some() && !t.timestamps.summary
    });
    notice(targets, "devicefile", "the kind of a target is detected anyway; no file is created", |t| {
        t.devicefile
    });
    if global.syncio.is_some() && targets.len() == 1 {
        global.notices.push(format!("{}: one target has no other target to wait for", typed.name("syncio")));
    }
}

/// The targets for which a condition holds, in words: a thousand of them make one line.
fn which(targets: &[TargetSettings], holds: fn(&TargetSettings) -> bool) -> Option<String> {
    let found: Vec<usize> = (0..targets.len()).filter(|n| holds(&targets[*n])).collect();
    match found[..] {
        [] => None,
        [only] => Some(format!("target {only} ({})", quoted(&targets[only].path()))),
        _ if found.len() == targets.len() => Some("all targets".into()),
        [first, ..] => Some(format!("target {first} and {} more", found.len() - 1)),
    }
}
