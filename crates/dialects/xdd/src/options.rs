//! Table of XDD's options: spelling, arguments, effect and help text.
//!
//! A new option is one entry here. Arguments are read through [`Call`], which refuses invalid numbers; `each` and `run`
//! denote the scope of the option, both as the entry's first word and as the function it calls.

use crate::command::Command;
use crate::operands::{Call, MAX_WHOLE};
use crate::setup::plain_dashes;
use crate::suboptions as sub;
use iosonar_dialect_common::UsageError;
use iosonar_plan::BetweenPasses;

/// An option.
pub(crate) struct Opt {
    /// Names without the dash; the manual's name is first.
    pub(crate) names: &'static [&'static str],
    pub(crate) scope: Scope,
    /// Arguments after `target N`, as in a synopsis.
    pub(crate) args: &'static str,
    /// One-line help.
    pub(crate) brief: &'static str,
    /// Details; may be empty.
    pub(crate) text: &'static str,
    /// Parses the arguments and applies the option.
    pub(crate) read: fn(&mut Call<'_, '_>) -> Result<(), UsageError>,
}

/// Scope of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All targets, or the one given with `target N` after its name.
    Each,
    /// The whole run.
    Run,
    /// The whole run; not in XDD, also accepted with two dashes.
    Ours,
}

/// Looks up the option of a word: an exact name, with one dash, or with two for iosonar's own options.
pub(crate) fn find(word: &str) -> Option<&'static Opt> {
    let word = plain_dashes(word);
    let name = word.strip_prefix('-')?;
    let with = |name: &str, is_ours: bool| {
        let named = |o: &&Opt| o.names.contains(&name) && (!is_ours || o.scope == Scope::Ours);
        TABLE.iter().find(named)
    };
    name.strip_prefix('-').map_or_else(|| with(name, false), |name| with(name, true))
}

/// Options of XDD 7 that XDD 6.5 lacks, and their equivalents here.
const OPTIONS_OF_XDD_7: [(&str, &str); 4] = [
    ("bytes", "is -kbytes here, in units of 1024 bytes"),
    ("memalign", "is -align here, as in XDD 6.5"),
    ("passdelay", "is -delay here, as in XDD 6.5"),
    (
        "pretruncate",
        "is no option of XDD 6.5: 'iosonar run --before-pass truncate:SIZE' truncates a file before each pass",
    ),
];

/// Equivalent of an option that only XDD 7 has; without dashes.
pub(crate) fn in_place_of_xdd_7(name: &str) -> Option<&'static str> {
    OPTIONS_OF_XDD_7.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name)).map(|(_, ours)| *ours)
}

/// Remedy for options that need several machines; these come with the time service.
const LATER: &str =
    "it belongs to what several machines do together, which comes with a later version: remove the option";

/// Maximum request length, and maximum alignment offset of data, in plans.
const MAX_REQUEST: u64 = 1 << 30;
/// This many blocks of 2^20 bytes are below 2^63 bytes.
const MAX_MEBI: u64 = (1 << 43) - 1;
/// Maximum number of blocks of 2^10 bytes, and of requests, that can be counted.
const MAX_KIBI: u64 = (1 << 53) - 1;

macro_rules! table {
    ($($scope:ident $names:tt $args:literal $brief:literal $text:literal $read:expr;)*) => {
        &[$(Opt { names: &$names, scope: Scope::$scope, args: $args, brief: $brief, text: $text, read: $read }),*]
    };
}

/// Every option, by name.
pub(crate) static TABLE: &[Opt] = table! {
    Each ["align", "al"] "BYTES"
        "Align memory for data to BYTES after a page boundary."
        "It shows what alignment costs; with -dio the kernel may refuse it."
        |c| { let n = c.integer(0, MAX_REQUEST - 1)?; c.each(move |t| t.align = n) };
    Each ["blocksize", "bs"] "BYTES"
        "Set the bytes of a block, the unit of sizes and offsets. Default: 1024."
        "Any whole number above 0, but -dio needs a multiple of the device's sectors."
        |c| { let n = c.integer(1, MAX_REQUEST)?; c.each(move |t| t.blocksize = n) };
    Run ["combined", "combinedout", "combo"] "FILE"
        "Append the combined line of results to FILE, as comma-separated values."
        "It collects the results of many runs, one line each."
        |c| { let f = c.file()?; c.run(|g| g.combined = Some(f)) };
    Each ["createnewfiles", "cnf"] ""
        "Create one file per pass: the name, a dot, and the pass in eight digits."
        "Files that exist are refused without -destroy. Not on devices, and only where something is written. Of -createnewfiles, -recreatefiles and -reopen the \
         last one holds."
        |c| c.each(|t| t.between_passes = BetweenPasses::NewFile);
    Run ["csvout", "csvo", "cvs"] "FILE"
        "Write all results to FILE as comma-separated values, too."
        "The previous content of FILE is lost. An example of the manual spells it -cvs."
        |c| { let f = c.file()?; c.run(|g| g.csvout = Some(f)) };
    Each ["datapattern", "dp", "pattern"] "CHARACTER | random | sequenced | ascii TEXT | hex DIGITS"
        "Set the data to write. Default: zeros."
        "CHARACTER fills every byte. random differs in every request, and is the same in every run. sequenced: \
         every eight bytes hold their own byte offset on the target. ascii: TEXT at the beginning of each request, \
         then zeros. hex: a byte in two digits."
        sub::datapattern;
    Run ["delay"] "SECONDS"
        "Wait between two passes; the time belongs to neither."
        "" |c| { let s = c.seconds()?; c.run(|g| g.delay = s) };
    Each ["deletefile", "del"] ""
        "Delete the target at the end of the run if it is a regular file."
        "" |c| c.each(|t| t.deletefile = true);
    Run ["deskew"] ""
        "Report the rates of the time in which all targets were busy, too."
        "From the start of the last target to the end of the first one. No target is stopped for it."
        |c| c.run(|g| g.deskew = true);
    Ours ["destroy"] ""
        "Allow writing to block devices: their content is lost."
        "Without it only regular files and character devices are written. A device that is mounted or in use is \
         never written. A setup file cannot give this permission."
        |c| { c.permission()?; c.run(|g| g.destroy = true) };
    Each ["devicefile", "devf"] ""
        "Treat the target as a device: do not create a file if it does not exist."
        "" |c| c.each(|t| t.devicefile = true);
    Each ["dio", "directio"] ""
        "Bypass the page cache (O_DIRECT)."
        "Requests and offsets must then be multiples of the device's sectors."
        |c| c.each(|t| t.dio = true);
    Run ["errout", "eo"] "FILE"
        "Write error messages to FILE."
        "The previous content of FILE is lost."
        |c| { let f = c.file()?; c.run(|g| g.errout = Some(f)) };
    Run ["fullhelp", "exthelp"] ""
        "Show every option in one line each, and exit."
        "" |c| { c.draft().answer = Some(Command::FullHelp); Ok(()) };
    Run ["heartbeat", "hb"] "SECONDS"
        "Show pass, operations and rate of each target every SECONDS."
        "It goes to standard error."
        |c| { let s = c.some_seconds()?; c.run(|g| g.heartbeat = Some(s)) };
    Run ["id", "identifier"] "TEXT | commandline"
        "Set the name of this run in results; commandline stands for all arguments."
        "Several are concatenated."
        sub::id;
    Each ["kbytes", "kb"] "NUMBER"
        "Set the amount of a pass in units of 1024 bytes."
        "Of -kbytes and -mbytes the last one holds; -numreqs goes before both. The last request is shorter where \
         the amount asks for it."
        |c| { let n = c.integer(1, MAX_KIBI)?; c.each(move |t| (t.kbytes, t.mbytes) = (Some(n), None)) };
    Run ["lockstep", "ls", "lockstepoverlapped", "lso"]
        "MASTER SLAVE time|op|percent|mbytes|kbytes HOWLONG time|op|mbytes|kbytes HOWMUCH wait|run complete|stop"
        "Let target SLAVE do a task each time that target MASTER reaches HOWLONG."
        "Tasks queue up, and the master never waits. wait: the slave waits for the first interval; run: it begins \
         with a task. When the master ends, the slave completes its pass, or stops after the tasks that were asked \
         for."
        sub::lockstep;
    Run ["maxall"] ""
        "The same as -maxpri -processlock."
        "" |c| c.run(|g| (g.maxpri, g.processlock, g.noproclock) = (true, true, false));
    Run ["maxerrors"] "NUMBER"
        "End the pass of a target after NUMBER errors. Default: never."
        "The next pass goes on."
        |c| { let n = c.integer(1, MAX_WHOLE)?; c.run(|g| g.maxerrors = Some(n)) };
    Run ["maxpri", "maximumpriority"] ""
        "Run at the highest priority."
        "It needs a privilege."
        |c| c.run(|g| g.maxpri = true);
    Each ["mbytes", "mb"] "NUMBER"
        "Set the amount of a pass in units of 1048576 bytes."
        "See -kbytes."
        |c| { let n = c.integer(1, MAX_MEBI)?; c.each(move |t| (t.mbytes, t.kbytes) = (Some(n), None)) };
    Run ["minall", "miall"] ""
        "The same as -nomemlock -noproclock."
        "The manual's history spells it -miall." |c| c.run(|g| (g.nomemlock, g.noproclock, g.processlock) = (true, true, false));
    Run ["nobarrier", "nb"] ""
        "Let targets start passes without waiting for each other."
        "" |c| c.run(|g| g.nobarrier = true);
    Run ["nomemlock", "nomlock"] ""
        "Do not lock memory for data (the default)."
        "" |c| c.run(|g| g.nomemlock = true);
    Run ["noproclock", "noplock"] ""
        "Do not lock the process in memory (the default)."
        "" |c| c.run(|g| (g.noproclock, g.processlock) = (true, false));
    Each ["numreqs", "nr"] "NUMBER"
        "Set the number of requests of a pass."
        "It goes before -mbytes and -kbytes, in whichever order they stand."
        |c| { let n = c.integer(1, MAX_KIBI)?; c.each(move |t| t.numreqs = Some(n)) };
    Each ["op", "operation"] "read|write"
        "Set the operation. Default: read."
        "Of -op and -rwratio the last one holds."
        sub::op;
    Ours ["out"] "DIR"
        "Keep an archive of the run in the new directory DIR."
        "It holds every request, and what analyses, pictures and comparisons need."
        |c| { let f = c.file()?; c.run(|g| g.out = Some(f)) };
    Run ["output", "o"] "FILE"
        "Write results to FILE instead of standard output."
        "What FILE held before is lost."
        |c| { let f = c.file()?; c.run(|g| g.output = Some(f)) };
    Run ["passes", "p", "pass"] "NUMBER"
        "Set the number of passes. Default: 1."
        "The word count may stand before the number, as an example of the manual has it."
        sub::passes;
    Each ["passoffset", "po"] "BLOCKS"
        "Start each pass BLOCKS further than the previous one."
        "" |c| { let n = c.integer(0, MAX_WHOLE)?; c.each(move |t| t.passoffset = n) };
    Each ["preallocate", "pa"] "NUMBER"
        "Allocate NUMBER times 1024 bytes before a file is written."
        "The file does not get longer by it. It means nothing for reads and for devices."
        |c| { let n = c.integer(0, MAX_KIBI)?; c.each(move |t| t.preallocate = n) };
    Run ["processlock", "plock"] ""
        "Lock the process in memory."
        "It needs a privilege."
        |c| c.run(|g| (g.processlock, g.noproclock) = (true, false));
    Run ["processor", "pt"] "PROCESSOR TARGET"
        "Bind the threads of a target to a processor; the processor stands first."
        "" sub::processor;
    Run ["profile"] ""
        "Not possible: the manual only mentions it."
        ""
        |c| Err(c.wrong(
            "the manual names it in its history only and does not say what it does: remove the option",
        ));
    Run ["qthreadinfo", "qtinfo"] ""
        "Show each queue thread in a line of its own."
        "" |c| c.run(|g| g.qthreadinfo = true);
    Each ["queuedepth", "qd"] "NUMBER"
        "Set the number of threads that share the requests of a target. Default: 1."
        "Thread q of n does requests q, q + n, q + 2n and so on, so that it does not change what is accessed."
        |c| { let n = c.small(1, 1024)?; c.each(move |t| t.queuedepth = n) };
    Each ["randomize", "rand"] ""
        "Use other random locations in each pass."
        "It needs -seek random."
        |c| c.each(|t| t.randomize = true);
    Each ["range"] "BLOCKS"
        "The same as -seek range BLOCKS."
        "Section 4.7 of the manual spells it so."
        |c| {
            let n = c.integer(1, MAX_WHOLE)?;
            c.stands_for("seek");
            c.each(move |t| t.seek.range = Some(n))
        };
    Each ["readafterwrite", "raw"] "..."
        "Not possible yet: a reader that follows a writer on another machine."
        "On one machine -lockstep does it."
        |c| Err(c.wrong(
            "following a writer on another machine comes with a later version: on one machine use -lockstep",
        ));
    Run ["reallyverbose", "rv"] ""
        "Show what -verbose shows, with more columns."
        "" |c| c.run(|g| (g.verbose, g.reallyverbose) = (true, true));
    Each ["recreatefiles", "recreate"] ""
        "Delete and recreate the file between passes."
        "Not on devices, and only where something is written. See -createnewfiles."
        |c| c.each(|t| t.between_passes = BetweenPasses::Recreate);
    Each ["reopen", "reop", "reopenfiles"] ""
        "Close and open the target between passes."
        "See -createnewfiles. The manual's history spells it -reopenfiles."
        |c| c.each(|t| t.between_passes = BetweenPasses::Reopen);
    Each ["report_threshold", "reportthreshold", "rept"] "SECONDS"
        "Report each operation that takes longer."
        "" |c| { let s = c.seconds()?; c.each(move |t| t.report_threshold = Some(s)) };
    Each ["reqsize", "rs"] "BLOCKS"
        "Set the size of a request in blocks. Default: 128."
        "" |c| { let n = c.integer(1, MAX_REQUEST)?; c.each(move |t| t.reqsize = n) };
    Run ["roundrobin", "rr"] "NUMBER"
        "Bind targets to the first NUMBER processors in turn."
        ""
        |c| {
            let n = c.small(1, 8192)?;
            c.run(|g| g.roundrobin = Some(n))?;
            c.numbered(None, move |number, t| t.processor = Some(u32::from(number) % n))
        };
    Run ["runtime", "rt"] "SECONDS"
        "End the run after SECONDS; passes are added until then."
        "" |c| { let s = c.some_seconds()?; c.run(|g| g.runtime = Some(s)) };
    Each ["rwratio", "rw"] "PERCENT"
        "Set the share of reads in percent, spread evenly; the other operations write."
        "Of -op and -rwratio the last one holds."
        |c| { let p = c.percent()?; c.each(move |t| t.read_percent = p) };
    Each ["seek", "s"]
        "sequential | random | stagger | none | interleave N | range BLOCKS | seed N | save FILE | load FILE | \
         seekhist N | disthist N"
        "Set the locations of requests. Default: sequential."
        "One operator each time. random: anywhere in the range, by the seed. stagger: ascending, spread evenly \
         over the range. none: all at the first location. interleave: N requests from one to the next. range: \
         without it the amount of a pass. save: the locations go to FILE.T<target>Q<thread>.txt, which load reads; \
         a loaded list says operation and size, too. seekhist, disthist: N classes of locations or distances are \
         counted."
        sub::seek;
    Run ["setup"] "FILE"
        "Read options from FILE as if they stood here."
        "White space of any kind parts words, # starts a comment, quotes of both kinds keep words together; such \
         files may name others."
        |c| { let f = c.file()?; c.insert_file(&f) };
    Each ["sgio", "scsigeneric"] ""
        "Not possible yet: requests as SCSI commands."
        ""
        |c| Err(c.wrong(
            "SCSI commands instead of reads and writes come with a later version: remove the option, or use -dio",
        ));
    Each ["sharedmemory", "shm"] ""
        "Use a shared memory segment for data."
        "It is given back whichever way the run ends."
        |c| c.each(|t| t.sharedmemory = true);
    Ours ["show-plan"] ""
        "Print the plan of the run as TOML, and exit."
        "" |c| c.run(|g| g.show_plan = true);
    Run ["singleproc", "sp"] "PROCESSOR"
        "Bind all threads to a processor."
        ""
        |c| {
            let n = c.small(0, 8191)?;
            c.run(|g| g.singleproc = Some(n))?;
            c.numbered(None, move |_, t| t.processor = Some(n))
        };
    Run ["startdelay", "sd"] "SECONDS"
        "Wait before the first operation; the time belongs to no pass."
        "" |c| { let s = c.seconds()?; c.run(|g| g.startdelay = s) };
    Each ["startoffset", "so"] "BLOCKS"
        "Set the first block of the range."
        "" |c| { let n = c.integer(0, MAX_WHOLE)?; c.each(move |t| t.startoffset = n) };
    Run ["starttime", "stime"] "SECONDS"
        "Not possible yet: a start at a time of the global clock."
        "" |c| Err(c.wrong(LATER));
    Run ["starttrigger", "st"] "TARGET FOLLOWER time|op|percent|mbytes|kbytes NUMBER"
        "Start each pass of FOLLOWER when TARGET reaches NUMBER in it."
        "Operations and bytes are those that completed. If TARGET ends before, that is reported, and FOLLOWER \
         does not wait any longer."
        |c| { let t = sub::trigger(c)?; c.run(|g| sub::replace(&mut g.starttriggers, t)) };
    Run ["stoptrigger", "et"] "TARGET FOLLOWER time|op|percent|mbytes|kbytes NUMBER"
        "End the pass of FOLLOWER when TARGET reaches NUMBER in it."
        "" |c| { let t = sub::trigger(c)?; c.run(|g| sub::replace(&mut g.stoptriggers, t)) };
    Run ["syncio", "sio"] "NUMBER"
        "Make all threads wait for each other every NUMBER operations."
        "It means nothing with one target."
        |c| { let n = c.integer(1, MAX_WHOLE)?; c.run(|g| g.syncio = Some(n)) };
    Each ["syncwrite", "sw"] ""
        "Flush what was written at the end of each pass, within its time."
        "" |c| c.each(|t| t.syncwrite = true);
    Run ["target"] "NAME"
        "Add a target."
        "" |c| { let name = sub::target_name(c)?; sub::add_targets(c, &name, 1) };
    Each ["targetdir", "td"] "DIR"
        "Prefix the names of targets with DIR as it is: end it with a slash."
        "" |c| { let dir = c.word("a directory")?; c.each(move |t| t.targetdir = dir.clone()) };
    Run ["targetoffset", "to", "procoffset"] "BLOCKS"
        "Add k times BLOCKS to every location of target k."
        "It holds for the whole run, although the manual's synopsis shows a target: -startoffset target N moves one \
         target. Its former name is -procoffset."
        |c| { let n = c.integer(0, MAX_WHOLE)?; c.run(|g| g.targetoffset = n) };
    Run ["targets"] "N NAME1 ... NAMEN | -N NAME | NAME"
        "Set the targets, numbered from 0; more may follow."
        "With -N the same target N times."
        sub::targets;
    Run ["targetstartdelay", "tsd"] "SECONDS"
        "Start target k by k times SECONDS later, in addition to -startdelay."
        "" |c| { let s = c.seconds()?; c.run(|g| g.targetstartdelay = s) };
    Each ["throttle", "throt"] "ops NUMBER | bw NUMBER"
        "Limit a target to NUMBER operations or 1000000 bytes per second."
        "The last one holds. It is the limit of all threads of a target together."
        sub::throttle;
    Each ["timelimit", "tl"] "SECONDS"
        "End a pass after SECONDS (whole seconds) at the latest."
        "What is in flight then completes and counts. 10.0 means 10; fractions of a second are those of XDD 7 only."
        |c| { let s = c.whole_seconds()?; c.each(move |t| t.timelimit = Some(s)) };
    Run ["timerinfo", "ti"] ""
        "Show what reading the clock costs."
        "" |c| c.run(|g| g.timerinfo = true);
    Run ["timeserver", "tsvr", "port", "bounce"] "host NAME | port NUMBER | bounce NUMBER"
        "Not possible yet: the global clock."
        "" |c| Err(c.wrong(LATER));
    Each ["timestamps", "ts"]
        "summary | detailed | normalize | output PREFIX | append | dump PREFIX | size N | wrap | oneshot | \
         triggerop N | triggertime SECONDS | on | off"
        "Report the times of each operation."
        "One operator each time. detailed: each operation, and the summary. output: into \
         PREFIX.target.NNNN.qthread.NNNN.csv; append: behind what they hold. dump: in binary form. size: each \
         thread keeps N stamps, the latest (wrap) or the first (oneshot). triggerop, triggertime: stamping begins \
         with this operation of the first pass, or so long after the start of the run. normalize: times are marked \
         as those of the global clock, which is this machine's."
        sub::timestamps;
    Run ["verbose"] ""
        "Show a line for each pass."
        "" |c| c.run(|g| g.verbose = true);
    Each ["verify"] "location | contents | compare | immediate"
        "Verify data that is read."
        "location: the first eight bytes of a request are its byte offset. contents, compare: every byte is as \
         -datapattern says. immediate: each write is read back and compared at once. Checking is in no operation's \
         time."
        sub::verify;
    Run ["version", "ver"] ""
        "Show the version, and exit."
        "" |c| { c.draft().answer = Some(Command::Version); Ok(()) };
    Run ["zone"] "..."
        "Not possible: the manual only mentions it."
        ""
        |c| Err(c.wrong(
            "the manual names it in its history only and does not say what it does: remove the option",
        ));
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_belongs_to_one_option() {
        let mut names: Vec<&str> = TABLE.iter().flat_map(|o| o.names).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!((names.len(), TABLE.len() > 70), (count, true));
        assert!(TABLE.is_sorted_by_key(|o| o.names[0]));
        for (theirs, ours) in OPTIONS_OF_XDD_7 {
            let named = ours.strip_prefix("is -").map(|rest| rest.split([' ', ',']).next().unwrap());
            assert!(!names.contains(&theirs), "{theirs}");
            assert!(named.is_none_or(|name| TABLE.iter().any(|o| o.names[0] == name)), "{theirs}: {ours}");
        }
        assert!(TABLE.iter().all(|o| !o.brief.is_empty() && o.brief.ends_with('.')));
    }

    #[test]
    fn double_dashes_are_for_own_options_only() {
        assert!(find("--destroy").is_some() && find("-destroy").is_some() && find("––out").is_some());
        for word in ["--op", "op", "-Op", "-", "--", "", "-reqsize=8", "---out", "-ou"] {
            assert!(find(word).is_none(), "{word}");
        }
    }
}
