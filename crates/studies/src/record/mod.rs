//! Records the block I/O of live devices as an archive.

mod answer;
mod begun;
mod devices;
mod made;
pub mod overhead;
mod presence;
mod question;
mod run;

pub use answer::{Answer, Counted};
pub use devices::Devices;
pub use iosonar_capture::{Interface, Watch};
pub use made::conclude_cut_off;
pub use question::Question;
pub use run::run;
