//! Converts traces, results and archives: traces of all forms to loads, logs, lists and archives, results to archives and tables, archives to
//! texts of their records.

mod answer;
mod archive;
mod cells;
mod detect;
mod form;
mod outputs;
mod question;
mod records;
mod requests;
mod results;
mod run;
mod sink;
mod written;

pub use answer::{Answer, Imported, Requests};
pub use form::{Form, RecordForm, RequestForm};
pub use iosonar_host::output::OutputName;
pub use question::{Declared, Question, Split};
pub use run::run;
pub use written::Written;
