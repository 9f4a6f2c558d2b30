//! Content of the server.

use std::sync::Arc;

/// A document.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its media type.
    pub media: &'static str,
    /// Its content security policy.
    pub policy: &'static str,
    /// Its bytes, shared by all clients that still read them.
    pub body: Arc<[u8]>,
}

/// Reply to a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// The document.
    Found(Answer),
    /// No document has this name.
    Missing,
    /// The document cannot be made now, and why.
    Unavailable(String),
}

/// A set of documents. Requests of several clients may ask at the same time.
pub trait Site: Send + Sync {
    /// Returns the document of a name: the path after the token, without a query. The first page has the empty name.
    fn reply(&self, name: &str) -> Reply;
}
