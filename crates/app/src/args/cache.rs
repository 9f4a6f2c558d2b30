//! Options of `cache`.

use super::layout::{CachedArgs, EvictArgs};
use clap::{Args, Subcommand};

/// Options of `cache`.
#[derive(Debug, Args)]
pub struct CacheCommand {
    #[command(subcommand)]
    pub what: Cache,
}

/// Uses of the page cache.
#[derive(Debug, Subcommand)]
pub enum Cache {
    /// Remove files from the page cache, and verify that nothing stays
    Evict(EvictArgs),
    /// Print how many pages of files are in the page cache
    Count(CachedArgs),
}
