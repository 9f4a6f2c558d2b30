//! Makes loads of loads.

mod adjacent;
mod output;
mod overload;
mod question;
mod ramp;
mod reading;

pub use adjacent::adjacent;
pub use output::NewLoad;
pub use overload::overload;
pub use question::{Adjacent, Filter, Overload, Ramp, Reading};
pub use ramp::{filter, ramp};
