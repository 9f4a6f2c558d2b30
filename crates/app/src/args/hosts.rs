//! Options of work on several machines.

use super::words::{Word, words};
use clap::Args;
use iosonar_plan::{Collect, HostClocks, LostHost, Nanos};
use std::path::PathBuf;

/// Which machines work, and how they are reached.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Several machines")]
pub struct ReachArgs {
    /// Use these machines through ssh: HOST, HOST:TARGET, node[01-16]:TARGET or @FILE
    ///
    /// A file has one of the others a line. A host without a target uses all that are typed without a host; 'local' is this machine. If each host has a target, those
    /// without a host are on this machine. The program is sent to hosts that do not have it, and so are loads. docs/hosts.md has the details.
    #[arg(long, value_name = "HOST[:TARGET]", num_args = 1..)]
    pub on: Vec<String>,
    /// Use the program at this path of the hosts, of the same build as this one; nothing is sent
    #[arg(long, value_name = "PATH", requires = "on")]
    pub remote_path: Option<String>,
    /// Use this file on the hosts, for example a static build, instead of this program
    ///
    /// It is sent there.
    #[arg(long, value_name = "FILE", conflicts_with = "remote_path")]
    pub send_program: Option<PathBuf>,
    /// Start the program on the hosts by sudo -n
    #[arg(long, requires = "on")]
    pub sudo: bool,
}

/// Where a run is executed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Several machines")]
pub struct HostArgs {
    #[command(flatten)]
    pub reach: ReachArgs,
    /// Choose what each host or rank has of a target. Default: each
    ///
    /// A part of a range needs --size in bytes; of a load, hosts get the requests by turns. Rates and depths are those of each in any case. Without this option, ranks of MPI have different
    /// targets.
    #[arg(long, value_name = "HOW", value_parser = words(SHARE))]
    pub share: Option<Share>,
    /// Set what the other hosts do when one is lost. Default: stop
    ///
    /// A host is lost when its connection ends, or when it gives no sign of life for 10 s.
    #[arg(long, value_name = "WHAT", value_parser = words(LOST))]
    pub on_lost_host: Option<LostHost>,
    /// Refuse the run if the clock of a host is not known to this time before the start
    #[arg(long, value_name = "TIME")]
    pub max_clock_error: Option<Nanos>,
    /// Choose the source of the differences between the clocks of hosts. Default: exchanges
    ///
    /// The system clocks have to be kept equal by chrony or PTP on all hosts; their error is that of the kernel (adjtimex).
    #[arg(long, value_name = "HOW", value_parser = words(CLOCK))]
    pub clock: Option<HostClocks>,
    /// Choose the contents of the result. Default: records
    ///
    /// With a summary, records stay on the hosts. Pictures and figures are the same, but for those that need single requests or their
    /// order. 'iosonar collect' fetches the records later.
    #[arg(long, value_name = "WHAT", value_parser = words(COLLECT))]
    pub collect: Option<Collect>,
}

/// Share of a host in a target that others have, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    Each,
    Split,
}

/// Ways of sharing a target.
const SHARE: &[Word<Share>] = &[
    ("each", "Its whole range, as every other host", Share::Each),
    ("split", "An equal part of its range, or of the load", Share::Split),
];

/// Sources of the differences between clocks.
const CLOCK: &[Word<HostClocks>] = &[
    ("exchanges", "Messages there and back", HostClocks::Exchanges),
    ("system", "The system clocks, which are kept equal", HostClocks::System),
];

/// Contents of a result of hosts.
const COLLECT: &[Word<Collect>] = &[
    ("records", "All records", Collect::Records),
    ("summary", "Counts; the records stay on the hosts", Collect::Summary),
];

/// Behavior of a run without one of its hosts.
const LOST: &[Word<LostHost>] = &[
    ("stop", "Stop issuing; what is recorded is kept", LostHost::Stop),
    ("continue", "Go on to the end of the run", LostHost::Continue),
];
