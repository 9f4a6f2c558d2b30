//! IOzone's dialect: its command line becomes a matrix of tests, and the table of its cells becomes IOzone's reports.
//!
//! `options` has the table of options; [`parse`] reads a command line, [`Settings::matrix`] converts it to a matrix,
//! and [`text_table`], [`text_report`] and [`throughput`] print the results. [`import`] reads IOzone's own output. This
//! crate opens no files and reads no clocks.

mod before;
mod biff2;
mod clients;
mod columns;
mod help;
mod import;
mod import_line;
mod import_sheet;
mod logs;
mod options;
mod parse;
mod printed;
mod report;
mod settings;
mod text;
mod throughput;
mod to_matrix;
mod workbook;
mod workbook_form;

pub use before::{cells, notices};
pub use clients::read_clients;
pub use columns::{Column, Unit, columns};
pub use help::full_help;
pub use import::{ImportError, Imported, import, import_file, is_iozones, is_printed};
pub use import_sheet::SheetError;
pub use logs::{LogName, LoggedRequest, Logs, Stamp};
pub use parse::{Command, parse};
pub use printed::printed;
pub use report::text_report;
pub use settings::{Async, Client, Settings, TelemetryFacts};
pub use text::{banner, text_table};
pub use throughput::{throughput, throughput_report};
pub use workbook_form::WorkbookForm;
