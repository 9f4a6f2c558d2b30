//! The claim of a run, the quantity that it measures: a figure is fake only against a claim.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The quantity that the figures of a run represent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Claim {
    /// Speed of a storage device: each byte is to cross it.
    Device,
    /// Speed of a file system with its caches, as applications see it.
    Filesystem,
    /// Speed of memory: reads are to hit a cache.
    Cache,
    /// Behaviour of this device under a recorded load.
    Replay,
}

impl Claim {
    /// All of them.
    pub const ALL: [Claim; 4] = [Claim::Device, Claim::Filesystem, Claim::Cache, Claim::Replay];

    /// The word in plans, on command lines and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Claim::Device => "device",
            Claim::Filesystem => "filesystem",
            Claim::Cache => "cache",
            Claim::Replay => "replay",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownClaim(String);

impl fmt::Display for UnknownClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: it is device, filesystem, cache or replay", self.0)
    }
}

impl std::error::Error for UnknownClaim {}

impl FromStr for Claim {
    type Err = UnknownClaim;

    fn from_str(word: &str) -> Result<Claim, UnknownClaim> {
        Claim::ALL.into_iter().find(|claim| claim.name() == word).ok_or_else(|| UnknownClaim(word.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Plan;

    fn plan(more: &str, workload: &str) -> Plan {
        let text = format!(
            "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n{more}\n[[target]]\npath = 'x'\nworkload = {{ {workload} }}"
        );
        Plan::from_toml(&text).unwrap()
    }

    #[test]
    fn default_claim_follows_from_the_jobs() {
        let trace = "kind = 'trace', file = 'a.load'";
        let made = "kind = 'generated', order = 'random', block_size = '4KiB', read_percent = 100, stop = { requests = 1 }, pace = { kind = 'closed' }";
        for (more, workload, claim) in [
            ("", trace, Claim::Replay),
            ("", made, Claim::Device),
            ("access = { buffered = true }", trace, Claim::Filesystem),
            ("engine = { kind = 'mmap' }\naccess = { buffered = true }", made, Claim::Filesystem),
            ("claim = 'cache'", made, Claim::Cache),
        ] {
            let plan = plan(more, workload);
            assert_eq!(plan.claim(), claim, "{more} {workload}");
            assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
    }

    #[test]
    fn claims_round_trip() {
        for claim in Claim::ALL {
            assert_eq!(claim.name().parse(), Ok(claim));
        }
        let refused = "disk".parse::<Claim>().unwrap_err().to_string();
        assert_eq!(refused, "`disk`: it is device, filesystem, cache or replay");
    }
}
