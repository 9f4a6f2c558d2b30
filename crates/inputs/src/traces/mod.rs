//! Traces of all forms as requests: the input of `convert`, `info` and `check`.

mod devices;
mod open;
mod reading;
mod recorded;
mod recording;
mod selected;
mod trace;

pub use devices::{DeviceNames, Matched, matched};
pub use open::{RecordOrder, open};
pub use reading::Reading;
pub use recording::{from_segments, recorded_at};
pub use selected::OTHERS;
pub use trace::{Device, EVENTS, Trace};
