//! The files of single queue threads.

use iosonar_dialect_xdd::{Settings, TargetSettings};

/// A file of one queue thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Report {
    /// `-ts output`
    Stamps,
    /// `-ts dump`
    Dump,
    /// `-seek save`
    Seeks,
}

impl Report {
    const ALL: [Report; 3] = [Report::Stamps, Report::Dump, Report::Seeks];

    /// The option that names it.
    pub fn option(self) -> &'static str {
        match self {
            Report::Stamps => "-ts output",
            Report::Dump => "-ts dump",
            Report::Seeks => "-seek save",
        }
    }

    /// Name of a queue thread's file, if the target has such reports.
    fn file(self, target: &TargetSettings, number: u16, queue: u16) -> Option<String> {
        let ts = &target.timestamps;
        let stamped = |prefix: &String, ending: &str| {
            format!("{prefix}.target.{number:04}.qthread.{queue:04}.{ending}")
        };
        match self {
            Report::Stamps => {
                ts.output.as_ref().filter(|_| ts.on && ts.has_text()).map(|prefix| stamped(prefix, "csv"))
            }
            Report::Dump => ts.dump.as_ref().filter(|_| ts.on).map(|prefix| stamped(prefix, "bin")),
            Report::Seeks => {
                target.seek.save.as_ref().map(|prefix| format!("{prefix}.T{number}Q{queue}.txt"))
            }
        }
    }
}

/// A report of a queue thread: target and number.
pub type Thread = (Report, u16, u16);

/// The files of all queue threads, and whether they are appended to.
pub fn reports(settings: &Settings) -> impl Iterator<Item = (Thread, String, bool)> + '_ {
    (0u16..).zip(&settings.targets).flat_map(|(number, target)| {
        let threads =
            (0..target.queuedepth as u16).flat_map(|queue| Report::ALL.map(|report| (report, queue)));
        threads.filter_map(move |(report, queue)| {
            let at_end = report == Report::Stamps && target.timestamps.append;
            Some(((report, number, queue), report.file(target, number, queue)?, at_end))
        })
    })
}
