//! The first lines of answers that are not the story of one run.

use iosonar_analyze::{Reason, Statement};

/// A statement with at most two reasons; the headline ends at a word if it is too long.
pub(crate) fn statement(headline: String, because: impl IntoIterator<Item = Reason>) -> Statement {
    let headline = crate::words::fitted(headline);
    Statement { headline, because: because.into_iter().take(2).collect(), worth: None, remedy: None }
}
