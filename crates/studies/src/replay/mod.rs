//! Replays loads on targets: the windows of the loads.

mod windows;

pub use windows::Windows;
