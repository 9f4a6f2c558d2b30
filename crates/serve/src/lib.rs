//! A small HTTP server that shows one site to one user's browser: GET only, below a random token, with a bound for everything.
//!
//! Each request has a connection to itself. A client that sends or reads slowly keeps its connection until its time is over; the answer that it
//! has not read is shared with all others, so a stalled client takes no further memory.

mod connection;
mod request;
mod server;
mod site;
mod token;

pub use server::{Bounds, Server};
pub use site::{Answer, Reply, Site};
pub use token::Token;
