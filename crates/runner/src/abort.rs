//! Actions to undo when a second signal ends the process at once.
//!
//! A process ends once, so it has one action, and a later one replaces it: one verb at a time has something to undo. The command calls
//! [`undo_and`] before it ends; a program that embeds a session and has no such end need not.

use std::sync::{Mutex, PoisonError};

static UNDO: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Sets what [`undo_and`] does, once, in place of what was set before.
pub fn undo_on_abort(undo: impl Fn() + Send + 'static) {
    *UNDO.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(undo));
}

/// Clears what was set: there is nothing to undo any more.
pub fn nothing_to_undo() {
    *UNDO.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Undoes what was set, and calls `end`, which ends the process. Other threads that call it meanwhile wait.
pub fn undo_and(end: impl FnOnce()) {
    let mut undo = UNDO.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(undo) = undo.take() {
        undo();
    }
    end();
}
