//! Options of `collect`.

use super::common::ProgressArgs;
use clap::Args;
use std::path::PathBuf;

/// Options of `collect`.
#[derive(Debug, Args)]
#[command(after_help = "\
Hosts keep their records after 'run --collect summary', and if they lose their connection during a run. This command fetches them through \
ssh, and writes a result with the records of all hosts; the first result stays as it is. A host removes its records when they have \
arrived. A host that cannot be reached is named, and the new result still says where its records are.
Exit codes: 0 fine; 1 it broke, or a host was not reached; 2 no host has kept records, or none can be reached.")]
pub struct CollectArgs {
    /// Directory of the result of a run on several hosts
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Write the result into this directory, which must not exist. Default: DIR-collected
    #[arg(long, short = 'o', value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Use this file on the hosts, for example a static build, instead of this program
    #[arg(long, value_name = "FILE")]
    pub send_program: Option<PathBuf>,
    #[command(flatten)]
    pub progress: ProgressArgs,
}
