//! Table of blkreplay's options: spelling, argument, default, help text and effect. A new option is one entry here.

use crate::call::Call;
use crate::verify;
use iosonar_dialect_common::UsageError;
use iosonar_plan::{Backward, OverlapPolicy, Strong};

/// An option.
pub(crate) struct Opt {
    /// Name without dashes.
    pub(crate) name: &'static str,
    pub(crate) takes: Takes,
    pub(crate) origin: Origin,
    /// Default as shown in help: a value, or on/off for options without one.
    pub(crate) default: &'static str,
    /// Help text, one or two sentences.
    pub(crate) help: &'static str,
    /// Parses the value and applies the option.
    pub(crate) set: fn(&mut Call<'_>) -> Result<(), UsageError>,
}

/// Argument of an option, as shown in help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value(&'static str),
    /// An optional value.
    Maybe(&'static str),
}

/// Origin of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// blkreplay's: the value may directly follow the name.
    Original,
    /// iosonar's: the value follows `=` or is the next word, as everywhere else in iosonar.
    Ours,
}

/// Looks up an option by name.
pub(crate) fn named(name: &str) -> Option<&'static Opt> {
    TABLE.iter().find(|option| option.name == name)
}

macro_rules! table {
    ($($origin:ident $name:literal $takes:expr, $default:literal $help:literal $set:expr;)*) => {
        &[$(Opt {
            name: $name,
            takes: $takes,
            origin: Origin::$origin,
            default: $default,
            help: $help,
            set: $set,
        }),*]
    };
}

use Takes::{Maybe, Nothing, Value};

/// Every option, in the order of help.
pub(crate) static TABLE: &[Opt] = table! {
    Original "replay-start" Value("S"), "0"
        "Start at this time of the load. The first request after it is due at time 0 of the run."
        |c| { c.settings.start = c.time()?; Ok(()) };
    Original "replay-end" Value("S"), "0"
        "Stop at this time of the load; 0: at its end."
        |c| { c.settings.end = c.time_above_zero()?; Ok(()) };
    Original "replay-duration" Value("S"), "0"
        "Replay a window of this length, from --replay-start on; 0: no limit. It overrides --replay-end."
        |c| { c.settings.duration = c.time_above_zero()?; Ok(()) };
    Original "replay-out" Value("S"), "0"
        "Add this to column 1 of the result. Delays and latencies do not change."
        |c| { c.settings.replay_out = c.time()?; Ok(()) };
    Original "start-grace" Value("S"), "15"
        "Wait this long between the end of the preparations and time 0; the load is read ahead meanwhile."
        |c| { c.settings.start_grace = c.time()?; Ok(()) };
    Original "with-conflicts" Nothing, "off"
        "Issue requests that overlap one in flight. Of this option and the next three the last one wins."
        |c| { c.settings.overlap = OverlapPolicy::Allow; Ok(()) };
    Original "with-drop" Nothing, "off"
        "Drop and count requests that conflict with one in flight."
        |c| { c.settings.overlap = OverlapPolicy::Drop; Ok(()) };
    Original "with-partial" Nothing, "on"
        "Defer them until the conflict is over; others pass. Conflicting requests keep their order."
        |c| { c.settings.overlap = OverlapPolicy::PushBack; Ok(()) };
    Original "with-ordering" Nothing, "off"
        "Defer them and all requests after them."
        |c| { c.settings.overlap = OverlapPolicy::Order; Ok(()) };
    Original "strong" Value("0|1|2"), "1"
        "Set which pairs conflict. 0: write and write; 1: all but read and read; 2: all."
        |c| {
            c.settings.strong = match c.whole(0, 2)? {
                0 => Strong::WriteWrite,
                1 => Strong::AnyWrite,
                _ => Strong::Every,
            };
            Ok(())
        };
    Original "threads" Value("N"), "1024"
        "Limit the requests in flight, 1 to 65536. Take the number from the application that recorded the load."
        |c| { c.settings.threads = c.whole(1, 65_536)?; Ok(()) };
    Original "fill-random" Value("P"), "0"
        "Make this share of written data incompressible, in percent; the rest is zeros."
        |c| { c.settings.fill_random = c.percent()?; Ok(()) };
    Original "no-overhead" Nothing, "on"
        "Verify nothing."
        |c| { c.settings.verify = verify::modes(0); Ok(()) };
    Original "with-verify" Nothing, "off"
        "Verify what is read from places that the run has written, and read such places before they are written again."
        |c| { c.settings.verify = verify::modes(1); Ok(()) };
    Original "with-final-verify" Nothing, "off"
        "The same, and read all written places at the end."
        |c| { c.settings.verify = verify::modes(2); Ok(()) };
    Original "with-paranoia" Nothing, "off"
        "The same, and read each write back immediately."
        |c| { c.settings.verify = verify::modes(3); Ok(()) };
    Original "verbose" Maybe("N"), "0"
        "No effect: the archive of --out has the times of every request."
        |c| {
            if c.level()? > 0 {
                c.no_effect("results hold no lines about single steps; --out=DIR keeps the times of every request");
            }
            Ok(())
        };
    Original "o-direct" Nothing, "on"
        "Bypass the page cache (O_DIRECT)."
        |c| { c.settings.buffered = false; Ok(()) };
    Original "no-o-direct" Nothing, "off"
        "Use the page cache. The result is FAKE: it does not measure the storage."
        |c| { c.settings.buffered = true; Ok(()) };
    Original "o-sync" Nothing, "off"
        "Open DEVICE with O_SYNC."
        |c| { c.settings.sync = true; Ok(()) };
    Original "no-o-sync" Nothing, "on"
        "Open DEVICE without O_SYNC."
        |c| { c.settings.sync = false; Ok(()) };
    Original "dry-run" Nothing, "off"
        "Do everything but the I/O. The result is FAKE. Only the size of DEVICE matters."
        |c| { c.settings.dry_run = true; Ok(()) };
    Original "fake-io" Nothing, "off"
        "The same as --dry-run, which generates no data and no positions either."
        |c| { c.settings.dry_run = true; Ok(()) };
    Original "simulate-io" Value("S"), "0"
        "Simulate a device with this service time, on a clock of its own: the run does not wait. The result is \
         FAKE. 0: no simulation."
        |c| { c.settings.simulate_io = c.time_above_zero()?; Ok(()) };
    Original "ahead-limit" Value("S"), "1"
        "No effect: no request is submitted before its due time."
        |c| {
            c.time()?;
            c.no_effect(
                "nothing is submitted ahead of its time, and conflicts are those with requests really in flight",
            );
            Ok(())
        };
    Original "fan-out" Value("N"), "4"
        "No effect: there is no tree of processes."
        |c| {
            c.whole(0, u32::MAX)?;
            c.no_effect("one thread issues all requests, and there is no tree of processes to branch");
            Ok(())
        };
    Original "no-dispatcher" Nothing, "off"
        "No effect: there are no collector processes."
        |c| {
            c.no_effect("completions come from the kernel directly, and there are no collector processes");
            Ok(())
        };
    Original "bottleneck" Value("N"), "0"
        "Limit the requests in flight if this is less than --threads; else no effect, because no request is queued ahead. 0: \
         no limit of its own."
        |c| { c.settings.bottleneck = Some(c.whole(0, u32::MAX)?).filter(|most| *most > 0); Ok(()) };
    Original "speedup" Value("F"), "1"
        "Replay F times as fast as recorded. The timing is then no longer that of the recorded workload."
        |c| { c.settings.speedup = c.speed()?; Ok(()) };
    Original "mmap-mode" Nothing, "off"
        "No effect: blkreplay accepts it, too, and never had it."
        |c| {
            c.no_effect("blkreplay itself never carried it out, and neither does this program");
            Ok(())
        };
    Ours "destroy" Nothing, "off"
        "Allow writing to a block device: its content is lost. A device that is mounted or in use is never written."
        |c| { c.settings.destroy = true; Ok(()) };
    Ours "backward" Value("refuse|sort|shift"), "shift"
        "Set what to do where the load's time runs backward: refuse the rest, sort it, or shift what follows."
        |c| {
            c.settings.backward = c.one_of(&[
                ("refuse", Backward::Refuse),
                ("sort", Backward::Sort),
                ("shift", Backward::Shift),
            ])?;
            Ok(())
        };
    Ours "skip-bad" Nothing, "off"
        "Skip lines that look like requests but are invalid, instead of stopping at the first one."
        |c| { c.settings.skip_bad = true; Ok(()) };
    Ours "out" Value("DIR"), ""
        "Keep an archive of the run in the new directory DIR, for analyses, pictures and comparisons."
        |c| { c.settings.out = Some(c.name()?); Ok(()) };
    Ours "show-plan" Nothing, "off"
        "Print the plan of the run as TOML and exit."
        |c| { c.settings.show_plan = true; Ok(()) };
    Ours "no-progress" Nothing, "off"
        "Show no progress on standard error."
        |c| { c.settings.no_progress = true; Ok(()) };
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Command, parse};

    #[test]
    fn option_names_are_unique_and_have_help() {
        let mut names: Vec<&str> = TABLE.iter().map(|o| o.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), TABLE.len());
        assert!(TABLE.iter().all(|o| o.help.ends_with('.') && o.takes != Value("")));
    }

    /// The defaults in help are those in effect.
    #[test]
    fn help_shows_the_effective_defaults() {
        let settings = |args: &[String]| match parse(args) {
            Ok(Command::Run(settings)) => crate::Settings { notices: Vec::new(), ..*settings },
            other => panic!("{args:?}: {other:?}"),
        };
        let plain = settings(&["dev".into()]);
        for option in TABLE.iter().filter(|o| !matches!(o.default, "" | "off")) {
            let value = if option.takes == Nothing { String::new() } else { format!("={}", option.default) };
            let typed = format!("--{}{value}", option.name);
            assert_eq!(settings(&[typed.clone(), "dev".into()]), plain, "{typed}");
        }
    }
}
