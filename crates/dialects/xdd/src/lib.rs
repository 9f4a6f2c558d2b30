//! XDD's dialect: its command line becomes a plan, and an archive becomes its reports.
//!
//! This crate opens no devices, starts no threads and reads no clocks.

mod check;
mod command;
mod deskew;
mod draft;
mod dump;
mod facts;
mod header;
mod help;
mod messages;
mod operands;
mod options;
mod parse;
mod rate_text;
mod rates;
mod sections;
mod seeks;
mod settings;
mod setup;
mod stamps;
mod suboptions;
mod to_plan;
mod words;

pub use command::Command;
pub use deskew::deskew_notes;
pub use dump::{Dump, DumpError, DumpHead, DumpWriter, is_dump, read_dump};
pub use facts::{
    HeaderFacts, PassAmount, RateDetail, RateTarget, RunClock, StampEntry, StampFacts, SystemFacts,
    TargetFacts, TimeServiceFacts,
};
pub use header::{ctime, ending_line, header, options_section, system_section, target_section};
pub use help::{full_help, man_page};
pub use messages::{check_verdict, failed_operation, miscompare, slow_operation};
pub use parse::parse;
pub use rate_text::{RateColumns, rate_csv, rate_csv_row, rate_text};
pub use rates::{IoType, RateRow, RateTable};
pub use sections::sections;
pub use seeks::seek_entries;
pub use settings::{
    DEFAULT_ID, DEFAULT_SEED, GlobalSettings, SeekOrder, SeekSettings, Settings, TargetSettings,
    ThrottleSettings, TimeStampSettings, WhenFull,
};
pub use stamps::{StampHead, StampMode, StampReport, StampSelection, StampWindow, stamp_entries};
