//! Which pages of files are in the page cache; removes files from it, and verifies that nothing stays.

mod answer;
mod evicted;
mod pages;
mod question;
mod run;
mod stays;

pub use answer::{Counted, CountedFile};
pub use evicted::{Evicted, EvictedFile};
pub use pages::Pages;
pub use question::Question;
pub use run::{count, evict};
