//! Options of `live`.

use clap::Args;
use iosonar_plan::{Nanos, Speed};
use std::path::PathBuf;

/// Options of `live`.
#[derive(Debug, Args)]
#[command(after_help = "\
Keys: q quits, space or p pauses, left and right arrow move back and forward, + and - change the time span, r and w \
show reads or writes only, l toggles a logarithmic scale, s saves the picture as text, ? shows help.
The view follows a run that is still running, unless --at or --speed is given. Requests in flight are not recorded yet, so \
they are missing.

Examples:
  iosonar live first
  iosonar live first --speed 10 --at 60s
  iosonar live first --once --at 60s --size 120x40     the picture as text")]
pub struct LiveArgs {
    /// Directory of a result, finished or not
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Show it this much faster. Default: it takes at most 20 s
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<Speed>,
    /// Start at this time of the run; with --once show this time. Default there: the end
    #[arg(long, value_name = "TIME")]
    pub at: Option<Nanos>,
    /// Print one picture as plain text, and end
    #[arg(long, conflicts_with = "speed")]
    pub once: bool,
    /// Set columns and rows of that picture. Default: those of the terminal, or 80x24
    #[arg(long, value_name = "COLUMNSxROWS", requires = "once", value_parser = columns_and_rows)]
    pub size: Option<(usize, usize)>,
}

/// `80x24`.
fn columns_and_rows(text: &str) -> Result<(usize, usize), String> {
    let (least, most) = (iosonar_view::live::LEAST, (1000, 1000));
    let parts = text.split_once('x').and_then(|(c, r)| Some((c.parse().ok()?, r.parse().ok()?)));
    let fits = |s: &(usize, usize)| s.0 >= least.0 && s.1 >= least.1 && s.0 <= most.0 && s.1 <= most.1;
    parts
        .filter(fits)
        .ok_or(format!("give columns and rows, from {}x{} to {}x{}", least.0, least.1, most.0, most.1))
}
