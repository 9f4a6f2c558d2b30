//! The windows of loads that are replayed on several targets.

mod windows;

pub use windows::Windows;
