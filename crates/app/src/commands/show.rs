//! `iosonar show`: what a run came to.

use super::open;
use crate::args::ShowArgs;
use crate::exit::{Exit, Failure};
use crate::output::{Analysis, print, tell};

/// Prints the summary, computed anew from the records.
pub fn show(args: ShowArgs) -> Result<Exit, Failure> {
    let archive = open(&args.dir)?;
    if args.show_plan {
        print(&archive.plan().to_toml())?;
        return Ok(Exit::Fine);
    }
    let analysis = Analysis::of(&archive, &(&args.limits).into())?;
    let text = if args.json { analysis.summary.to_json() } else { iosonar_view::show(&analysis.summary) };
    print(&text)?;
    if analysis.lost_bytes > 0 {
        tell(format_args!(
            "iosonar: the run did not end; the last {} bytes of its log are cut off and were left out",
            analysis.lost_bytes
        ));
    }
    Ok(Exit::Fine)
}
