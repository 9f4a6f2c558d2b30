//! One HTML page.
