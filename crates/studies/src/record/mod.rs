//! Records the block I/O of live devices as an archive.

mod answer;
mod begun;
mod devices;
mod leftover;
mod made;
pub mod overhead;
mod presence;
mod question;
mod run;

pub use answer::{Answer, Counted};
pub use devices::Devices;
pub use iosonar_capture::{Interface, Watch};
pub use leftover::{clean_up, is_tracing_left};
pub use made::conclude_cut_off;
pub use question::Question;
pub use run::run;
