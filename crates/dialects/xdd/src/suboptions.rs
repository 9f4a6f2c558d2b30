//! Options with suboptions, and the meaning of each suboption.

use crate::operands::{Call, MAX_TARGETS, MAX_WHOLE};
use crate::settings::{SeekOrder, SeekSettings, ThrottleSettings, TimeStampSettings, WhenFull};
use crate::setup::plain_dashes;
use iosonar_dialect_common::{UsageError, quoted};
use iosonar_plan::{
    Amount, Begins, ByteSize, Data, Decimal, Ends, ExpectedData, JobVerification, Lockstep, Trigger,
    VerifyModes,
};
use iosonar_trace::MOST_BUCKETS;

type Done = Result<(), UsageError>;

/// Maximum interleave in plans.
const MAX_INTERLEAVE: u32 = 1 << 31;

pub(crate) fn op(c: &mut Call) -> Done {
    let reads = match c.word("read or write")?.as_str() {
        "read" => 100,
        "write" => 0,
        other => return Err(c.no_such(other, "read or write")),
    };
    c.each(move |t| t.read_percent = Decimal::whole(reads))
}

pub(crate) fn passes(c: &mut Call) -> Done {
    if c.peek(0) == Some("count") {
        c.word("count")?;
    }
    let n = c.small(1, u32::MAX)?;
    c.run(|g| g.passes = n)
}

pub(crate) fn id(c: &mut Call) -> Done {
    let word = c.word("a text")?;
    c.run(|g| {
        let text = if word == "commandline" { g.command_line.clone() } else { word };
        g.id.push_str(&text);
        g.id.push(' ');
    })
}

pub(crate) fn processor(c: &mut Call) -> Done {
    let processor = c.small(0, 8191)?;
    let target = c.target_number()?;
    c.numbered(Some(target), move |_, t| t.processor = Some(processor))
}

/// Parses the name of a target: any word that cannot be an option.
pub(crate) fn target_name(c: &mut Call) -> Result<String, UsageError> {
    let name = c.any_word("the name of a target")?;
    if name.is_empty() {
        return Err(c.wrong("the name of a target is empty: give one"));
    }
    match plain_dashes(&name).starts_with('-') {
        true => Err(c.wrong(&format!(
            "{} stands where a target should be named, and looks like an option: give as many names as the number says, \
             and write ./ before a name with a dash",
            quoted(&name)
        ))),
        false => Ok(name),
    }
}

/// Adds `name` as `copies` targets.
pub(crate) fn add_targets(c: &mut Call, name: &str, copies: u64) -> Done {
    let known = c.draft().names.len() as u64;
    if known.saturating_add(copies) > MAX_TARGETS {
        return Err(c.wrong(&format!("at most {MAX_TARGETS} targets fit into a run: name fewer")));
    }
    c.draft().names.extend((0..copies).map(|_| name.to_string()));
    Ok(())
}

pub(crate) fn targets(c: &mut Call) -> Done {
    let first = c.any_word("the number of targets")?;
    let plain = plain_dashes(&first).into_owned();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if let Some(copies) = plain.strip_prefix('-').filter(|n| is_number(n)) {
        let copies = c.whole(copies, 1, MAX_TARGETS)?;
        let name = target_name(c)?;
        return add_targets(c, &name, copies);
    }
    if is_number(&first) {
        let count = c.whole(&first, 1, MAX_TARGETS)?;
        for _ in 0..count {
            let name = target_name(c)?;
            add_targets(c, &name, 1)?;
        }
        return Ok(());
    }
    match plain.starts_with('-') || first.is_empty() {
        true => Err(c.no_such(&first, "the number of targets, and then their names")),
        false => add_targets(c, &first, 1),
    }
}

pub(crate) fn throttle(c: &mut Call) -> Done {
    let throttle = match c.word("ops or bw")?.as_str() {
        "ops" => ThrottleSettings::Ops(c.positive()?),
        "bw" => ThrottleSettings::Bandwidth(c.positive()?),
        other => return Err(c.no_such(other, "ops or bw")),
    };
    c.each(move |t| t.throttle = Some(throttle))
}

pub(crate) fn datapattern(c: &mut Call) -> Done {
    let data = match c.word("a character or the name of a pattern")?.as_str() {
        "random" => Data::Random,
        "sequenced" => Data::Sequenced,
        "ascii" => Data::Ascii(c.word("the text")?),
        "hex" => Data::Byte(hex_byte(c)?),
        word => match word.as_bytes() {
            [byte] => Data::Byte(*byte),
            _ => {
                let instead = "one character of one byte, random, sequenced, ascii TEXT or hex DIGITS";
                return Err(c.no_such(word, instead));
            }
        },
    };
    c.each(move |t| t.datapattern = Some(data.clone()))
}

fn hex_byte(c: &mut Call) -> Result<u8, UsageError> {
    let digits = c.word("two hexadecimal digits")?;
    let is_hex = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    match u8::from_str_radix(&digits, 16) {
        Ok(byte) if is_hex && digits.len() == 2 => Ok(byte),
        _ if is_hex && digits.len() > 2 => {
            let problem = format!("{} is more than one byte, and only one is possible", quoted(&digits));
            Err(c.wrong(&format!("{problem}: give two hexadecimal digits")))
        }
        _ => Err(c.no_such(&digits, "two hexadecimal digits")),
    }
}

pub(crate) fn verify(c: &mut Call) -> Done {
    let what = match c.word("location, contents, compare or immediate")?.as_str() {
        "location" => ExpectedData::Location,
        "contents" | "compare" => ExpectedData::Contents,
        "immediate" => {
            return c.each(|t| {
                t.verify = Some(JobVerification { what: ExpectedData::Contents, immediate: true })
            });
        }
        // Words of `iosonar run --verify`.
        other if other.parse().is_ok_and(|modes: VerifyModes| modes != VerifyModes::default()) => {
            return Err(c.wrong(&format!(
                "{} checks sectors with headers, and XDD's data patterns have none: give contents, location or immediate, or use \
                 iosonar run --verify {other}",
                quoted(other)
            )));
        }
        other => return Err(c.no_such(other, "location, contents, compare or immediate")),
    };
    c.each(move |t| {
        let immediate = t.verify.is_some_and(|v| v.immediate);
        t.verify = Some(JobVerification { what, immediate });
    })
}

pub(crate) fn seek(c: &mut Call) -> Done {
    let word = c.word("an operator")?;
    let change: Box<dyn Fn(&mut SeekSettings)> = match word.as_str() {
        "sequential" => order(SeekOrder::Sequential),
        "random" => order(SeekOrder::Random),
        "stagger" | "staggered" => order(SeekOrder::Stagger),
        "none" => order(SeekOrder::None),
        "load" => order(SeekOrder::Load(c.file()?)),
        "interleave" => {
            let n = c.small(1, MAX_INTERLEAVE)?;
            Box::new(move |s| s.interleave = n)
        }
        "range" => {
            let n = c.integer(1, MAX_WHOLE)?;
            Box::new(move |s| s.range = Some(n))
        }
        "seed" => {
            let n = c.integer(0, MAX_WHOLE)?;
            Box::new(move |s| s.seed = n)
        }
        "save" => {
            let file = c.file()?;
            Box::new(move |s| s.save = Some(file.clone()))
        }
        "seekhist" => {
            let n = c.small(1, MOST_BUCKETS)?;
            Box::new(move |s| s.seekhist = Some(n))
        }
        "disthist" => {
            let n = c.small(1, MOST_BUCKETS)?;
            Box::new(move |s| s.disthist = Some(n))
        }
        other => {
            let all = "sequential, random, stagger, none, interleave, range, seed, save, load, seekhist or disthist";
            return Err(c.no_such(other, all));
        }
    };
    c.each(move |t| change(&mut t.seek))
}

fn order(order: SeekOrder) -> Box<dyn Fn(&mut SeekSettings)> {
    Box::new(move |s| s.order = order.clone())
}

pub(crate) fn timestamps(c: &mut Call) -> Done {
    let word = c.word("an operator")?;
    let change: Box<dyn Fn(&mut TimeStampSettings)> = match word.as_str() {
        "summary" => Box::new(|s| s.summary = true),
        "detailed" => Box::new(|s| (s.detailed, s.summary) = (true, true)),
        "normalize" => Box::new(|s| s.normalize = true),
        "append" => Box::new(|s| s.append = true),
        "wrap" => Box::new(|s| s.when_full = WhenFull::Wrap),
        "oneshot" => Box::new(|s| s.when_full = WhenFull::OneShot),
        "on" => Box::new(|_| ()),
        "off" => return c.each(|t| t.timestamps.on = false),
        "output" => {
            let prefix = c.file()?;
            Box::new(move |s| s.output = Some(prefix.clone()))
        }
        "dump" => {
            let prefix = c.file()?;
            Box::new(move |s| s.dump = Some(prefix.clone()))
        }
        "size" => {
            let n = c.integer(1, MAX_WHOLE)?;
            Box::new(move |s| s.size = Some(n))
        }
        "triggerop" => {
            let n = c.integer(0, MAX_WHOLE)?;
            Box::new(move |s| s.trigger_op = Some(n))
        }
        "triggertime" => {
            let time = c.seconds()?;
            Box::new(move |s| s.trigger_time = Some(time))
        }
        other => {
            let all = "summary, detailed, normalize, output, append, dump, size, wrap, oneshot, triggerop, triggertime, on or off";
            return Err(c.no_such(other, all));
        }
    };
    c.each(move |t| {
        change(&mut t.timestamps);
        t.timestamps.on = true;
    })
}

/// Parses the amount a target has to reach: a word and a number.
fn amount(c: &mut Call, with_percent: bool) -> Result<Amount, UsageError> {
    let words =
        if with_percent { "time, op, percent, mbytes or kbytes" } else { "time, op, mbytes or kbytes" };
    let bytes = |c: &mut Call, shift: u32| {
        c.integer(1, (1 << (63 - shift)) - 1).map(|n| Amount::Bytes(ByteSize(n << shift)))
    };
    match c.word(words)?.as_str() {
        "time" => c.some_seconds().map(Amount::Time),
        "op" => c.integer(1, MAX_WHOLE).map(Amount::Ops),
        "percent" if with_percent => match c.percent()? {
            zero if zero.parts() == 0 => Err(c.wrong("0 percent is too small: give a percentage above 0")),
            percent => Ok(Amount::Percent(percent)),
        },
        "mbytes" => bytes(c, 20),
        "kbytes" => bytes(c, 10),
        other => Err(c.no_such(other, words)),
    }
}

/// Parses two different target numbers.
fn pair(c: &mut Call) -> Result<(u16, u16), UsageError> {
    let (first, second) = (c.target_number()?, c.target_number()?);
    match first == second {
        true => Err(c.wrong(&format!("target {first} cannot wait for itself: name two targets"))),
        false => Ok((first, second)),
    }
}

pub(crate) fn lockstep(c: &mut Call) -> Done {
    let (master, slave) = pair(c)?;
    let every = amount(c, true)?;
    let task = amount(c, false)?;
    let begins = match c.word("wait or run")?.as_str() {
        "wait" => Begins::Wait,
        "run" => Begins::Run,
        other => return Err(c.no_such(other, "wait or run")),
    };
    let ends = match c.word("complete or stop")?.as_str() {
        "complete" => Ends::Complete,
        "stop" => Ends::Stop,
        other => return Err(c.no_such(other, "complete or stop")),
    };
    let lockstep = Lockstep { master, slave, every, task, begins, ends };
    c.run(|g| {
        g.lockstep.retain(|other| (other.master, other.slave) != (master, slave));
        g.lockstep.push(lockstep);
    })
}

pub(crate) fn trigger(c: &mut Call) -> Result<Trigger, UsageError> {
    let (leader, follower) = pair(c)?;
    Ok(Trigger { leader, follower, when: amount(c, true)? })
}

/// Adds a trigger; a later one for the same targets overrides an earlier one.
pub(crate) fn replace(triggers: &mut Vec<Trigger>, trigger: Trigger) {
    triggers.retain(|other| (other.leader, other.follower) != (trigger.leader, trigger.follower));
    triggers.push(trigger);
}
