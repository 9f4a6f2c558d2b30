//! What settings must keep to beyond each option alone, said with XDD's names; and what the user should be told.

use crate::draft::{no_target, target_name};
use crate::operands::shown;
use crate::parse::UsageError;
use crate::settings::{GlobalSettings, SeekOrder, Settings, TargetSettings, Typed};
use iosonar_plan::{Amount, BetweenPasses, Checked, Coordination, Data};

type Checks = Result<(), UsageError>;

/// The longest request, as plans have it.
const MAX_REQUEST: u64 = 1 << 30;
/// The most requests over all passes, as plans have it.
const MAX_REQUESTS: u64 = 1 << 53;
/// Direct I/O goes by whole sectors on every device.
const SECTOR: u64 = iosonar_plan::SECTOR;

/// Checks everything, fits queue depths to amounts, and adds notices.
pub(crate) fn check(settings: &mut Settings) -> Checks {
    let Settings { targets, global, typed } = &mut *settings;
    for (number, target) in targets.iter().enumerate() {
        let at = |(option, problem): (String, String)| {
            UsageError::new(&option, &format!("{}: {problem}", target_name(number, target)))
        };
        amount(target, global, typed).map_err(at)?;
        sizes(target, global.passes, typed).map_err(at)?;
        seek(target, global, typed).map_err(at)?;
        direct(target, global.targetoffset, typed).map_err(at)?;
        data(target, typed).map_err(at)?;
        files(target, typed).map_err(at)?;
    }
    coupling(targets, global, typed)?;
    notices(targets, global, typed);
    Ok(())
}

/// An option as typed, and what is wrong with it.
type Problem = Result<(), (String, String)>;

fn problem(option: String, text: impl Into<String>) -> Problem {
    Err((option, text.into()))
}

fn amount(target: &TargetSettings, global: &GlobalSettings, typed: &Typed) -> Problem {
    let is_list = matches!(target.seek.order, SeekOrder::Load(_));
    let is_timed = target.timelimit.is_some() || global.runtime.is_some();
    match target.requests().is_some() || is_list || is_timed {
        true => Ok(()),
        false => problem(
            typed.name("numreqs"),
            "nothing says how much is to be done: give -numreqs, -mbytes, -kbytes, -timelimit or -runtime",
        ),
    }
}

fn sizes(target: &TargetSettings, passes: u32, typed: &Typed) -> Problem {
    let request = target.request_bytes();
    if request > MAX_REQUEST {
        let option = if typed.has("reqsize") || !typed.has("blocksize") { "reqsize" } else { "blocksize" };
        let text = format!(
            "a request of {} blocks of {} bytes is too large: at most {MAX_REQUEST} bytes",
            target.reqsize, target.blocksize
        );
        return problem(typed.name(option), text);
    }
    if target.requests().unwrap_or(0).saturating_mul(passes.into()) > MAX_REQUESTS {
        let option = if target.numreqs.is_some() { "numreqs" } else { "reqsize" };
        return problem(typed.name(option), "more than 2^53 requests over all passes: ask for fewer");
    }
    Ok(())
}

fn seek(target: &TargetSettings, global: &GlobalSettings, typed: &Typed) -> Problem {
    let (name, request) = (typed.name("seek"), target.request_bytes());
    let amount = target.pass_bytes().or(target.numreqs.map(|n| n.saturating_mul(request)));
    let least = match target.seek.order {
        SeekOrder::Random => target.pass_bytes().map_or(request, |bytes| bytes.min(request)),
        SeekOrder::Stagger => match amount {
            Some(bytes) => bytes,
            None => {
                let text = "requests are spread over the range, so their number must be known: give -numreqs, -mbytes or \
                            -kbytes";
                return problem(name, text);
            }
        },
        _ => return Ok(()),
    };
    let range = target.seek.range.map(|blocks| blocks.saturating_mul(target.blocksize)).or(amount);
    match range {
        None => {
            let timed = if global.runtime.is_some() { "runtime" } else { "timelimit" };
            let text = format!("with {} alone there is no range: give -seek range", typed.name(timed));
            problem(name, text)
        }
        Some(range) if range < least => {
            problem(name, format!("a range of {range} bytes does not hold {least} bytes: give a larger one"))
        }
        Some(_) => Ok(()),
    }
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
    // Wrapping keeps the remainder right; what overflows is refused later.
    match amounts.iter().find(|(_, bytes)| target.dio && bytes % SECTOR != 0) {
        Some((what, _)) => problem(
            typed.name("dio"),
            format!("alignment: {what} must be a multiple of {SECTOR} bytes for direct I/O: change it"),
        ),
        None => Ok(()),
    }
}

fn data(target: &TargetSettings, typed: &Typed) -> Problem {
    let Some(verify) = target.verify else { return Ok(()) };
    let is_sequenced = target.datapattern == Some(Data::Sequenced);
    // What a run writes itself it knows, also without a pattern: zeros.
    let is_own = verify.immediate && !target.reads();
    let is_random = matches!(target.datapattern, Some(Data::Random));
    if verify.what == Checked::Contents && is_random && !verify.immediate {
        let text = "random data differs in every request, so only -verify immediate can check it: use that, or -datapattern \
                    sequenced";
        return problem(typed.name("verify"), text);
    }
    let by_place = !matches!(target.datapattern, Some(Data::Random | Data::Ascii(_)));
    let may_meet = !matches!(target.seek.order, SeekOrder::Sequential | SeekOrder::Stagger);
    if verify.immediate && !by_place && may_meet && target.queuedepth > 1 {
        let text = "queue threads may write to one place, and each would find another's data: use -queuedepth 1, or \
                    -datapattern sequenced";
        return problem(typed.name("verify"), text);
    }
    match verify.what {
        Checked::Contents if target.datapattern.is_none() && !is_own => {
            problem(typed.name("verify"), "nothing says what the contents should be: give -datapattern")
        }
        Checked::Location if verify.immediate && !is_sequenced => problem(
            typed.name("verify"),
            "a location can be read back at once only where it was written: give -datapattern sequenced",
        ),
        _ => Ok(()),
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

/// Targets that wait for each other exist, and none waits for ever.
fn coupling(targets: &[TargetSettings], global: &GlobalSettings, typed: &Typed) -> Checks {
    let lockstep = global.lockstep.iter().map(|l| ("lockstep", l.master, l.slave, l.every));
    let start = global.starttriggers.iter().map(|t| ("starttrigger", t.leader, t.follower, t.when));
    let stop = global.stoptriggers.iter().map(|t| ("stoptrigger", t.leader, t.follower, t.when));
    for (option, leader, follower, when) in lockstep.chain(start).chain(stop) {
        let option = typed.name(option);
        for number in [leader, follower] {
            if usize::from(number) >= targets.len() {
                return Err(no_target(&option, number, targets.len()));
            }
        }
        let is_counted = targets[usize::from(leader)].requests().is_some();
        if matches!(when, Amount::Percent(_)) && !is_counted {
            let text = format!(
                "percent of what target {leader} does is not known before: give it -numreqs, -mbytes or -kbytes"
            );
            return Err(UsageError::new(&option, &text));
        }
    }
    let two_masters = |l: &iosonar_plan::Lockstep| {
        global.lockstep.iter().any(|o| o.slave == l.slave && o.master != l.master)
    };
    if let Some(l) = global.lockstep.iter().find(|l| two_masters(l)) {
        let text = format!("target {} is the slave of two masters: remove one", l.slave);
        return Err(UsageError::new(&typed.name("lockstep"), &text));
    }
    no_circle(global, typed)
}

fn no_circle(global: &GlobalSettings, typed: &Typed) -> Checks {
    let coordination = Coordination {
        lockstep: global.lockstep.clone(),
        start: global.starttriggers.clone(),
        ..Coordination::default()
    };
    let mut waits: Vec<(u16, u16)> = coordination.waits().collect();
    loop {
        let before = waits.len();
        let followers: std::collections::BTreeSet<u16> = waits.iter().map(|(_, f)| *f).collect();
        waits.retain(|(leader, _)| followers.contains(leader));
        if waits.is_empty() {
            return Ok(());
        }
        if waits.len() == before {
            let names: Vec<String> = waits.iter().map(|(l, f)| format!("{f} for {l}")).collect();
            let option = if typed.has("lockstep") { "lockstep" } else { "starttrigger" };
            let text = format!("targets wait for each other in a circle ({}): remove one", names.join(", "));
            return Err(UsageError::new(&typed.name(option), &text));
        }
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
        global.notices.push(format!("{}: one target has nobody to wait for", typed.name("syncio")));
    }
}

/// The targets that something holds for, in words: a thousand of them make one line.
fn which(targets: &[TargetSettings], holds: fn(&TargetSettings) -> bool) -> Option<String> {
    let found: Vec<usize> = (0..targets.len()).filter(|n| holds(&targets[*n])).collect();
    match found[..] {
        [] => None,
        [only] => Some(format!("target {only} ({})", shown(&targets[only].path()))),
        _ if found.len() == targets.len() => Some("all targets".into()),
        [first, ..] => Some(format!("target {first} and {} more", found.len() - 1)),
    }
}
