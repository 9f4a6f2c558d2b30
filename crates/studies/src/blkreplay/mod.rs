//! A run of blkreplay's command line: where its records are, its result, and errors that name its options.

mod place;
mod result;
mod words;

pub use place::ResultPlace;
pub use result::write_result;
pub use words::in_own_words;
