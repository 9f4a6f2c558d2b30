//! `iosonar cache`: which pages of files are in the page cache; evicts files from it.

use crate::args::cache::Cache;
use crate::args::layout::{CachedArgs, EvictArgs};
use crate::exit::{Exit, Failure};
use crate::file_progress::show_files;
use crate::output::print;
use iosonar_studies::cache::{self, Question};

/// Evicts files from the page cache, or counts their pages there.
pub fn cache(args: &Cache) -> Result<Exit, Failure> {
    match args {
        Cache::Evict(args) => evict(args),
        Cache::Count(args) => count(args),
    }
}

fn evict(args: &EvictArgs) -> Result<Exit, Failure> {
    let question = Question { files: args.files.clone() };
    let answer = show_files(&args.progress, |session| cache::evict(session, &question));
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { answer.to_string() })?;
    Ok(answer.success().into())
}

fn count(args: &CachedArgs) -> Result<Exit, Failure> {
    let question = Question { files: args.files.clone() };
    let answer = show_files(&args.progress, |session| cache::count(session, &question));
    print(&if args.json { format!("{:#}\n", answer.to_json()) } else { answer.to_string() })?;
    Ok(answer.success().into())
}
