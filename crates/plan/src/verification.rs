//! Checking that a target returns the data that was written to it.

use crate::strict::is_default;
use crate::{ByteSize, Decimal};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Display};
use std::path::PathBuf;
use std::str::FromStr;

/// Checking that a target returns the data that was written to it. Nothing is checked where no mode is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The checks, and their times.
    pub modes: VerifyModes,
    /// Memory for the expected state of sectors. Above it, the sectors that were written longest ago become unknown: counted,
    /// reported, and not checked.
    #[serde(default = "one_gib", skip_serializing_if = "is_one_gib")]
    pub memory: ByteSize,
    /// No more requests are issued after the first fault.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_at_fault: bool,
    /// A file that logs which requests were submitted and acknowledged, also when the process is killed. It must not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<PathBuf>,
    /// The result keeps the expected and the found bytes of the first 100 faults.
    #[serde(default, skip_serializing_if = "is_default")]
    pub dump: bool,
}

fn one_gib() -> ByteSize {
    ByteSize(1 << 30)
}

fn is_one_gib(bytes: &ByteSize) -> bool {
    *bytes == one_gib()
}

impl Default for Verification {
    fn default() -> Verification {
        Verification {
            modes: VerifyModes::default(),
            memory: one_gib(),
            stop_at_fault: false,
            journal: None,
            dump: false,
        }
    }
}

impl Verification {
    /// Whether anything is checked.
    pub fn is_on(&self) -> bool {
        self.modes != VerifyModes::default()
    }
}

/// A job's part in the verification: the data of its requests is compared with data that their places determine, in addition to what
/// the run itself has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobVerification {
    /// The expected data.
    pub what: ExpectedData,
    /// Each write is read back and checked at once.
    #[serde(default)]
    pub immediate: bool,
}

/// Data that the place of a request determines, so that no earlier write of the run has to be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExpectedData {
    /// The first eight bytes of a request hold its byte offset.
    Location,
    /// Every byte is as set by `data`.
    Contents,
    /// Each whole sector has the header of its place and is as it was written, whichever run wrote it.
    Headers,
}

/// The checks, and their times: words with commas between them.
///
/// ```
/// use iosonar_plan::VerifyModes;
///
/// let modes: VerifyModes = "read,final".parse().unwrap();
/// assert!(modes.read && modes.final_scan && !modes.after_write);
/// assert_eq!(modes.to_string(), "read,final");
/// assert!("contents".parse::<VerifyModes>().unwrap_err().contains("before-write"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct VerifyModes {
    /// `read`: data that the requests themselves read from places that the run has written.
    pub read: bool,
    /// `before-write`: a place that the run has written is read and checked before it is written again.
    pub before_write: bool,
    /// `after-write`: written data is read back at once.
    pub after_write: bool,
    /// `final`: all places that the run has written are read when its requests are over.
    pub final_scan: bool,
    /// `sample=P%`: the scan reads this share of the places only.
    pub sample: Option<Decimal>,
    /// `outside`, `outside=N`: sectors next to the run's writes, and N samples elsewhere on each target, are read before the run
    /// and at its end; they must not change.
    pub outside: Option<u64>,
}

/// Number of samples of `outside` without a number.
const SAMPLES: u64 = 10_000;
/// Maximum number of samples: 13 bytes of memory for each.
const MOST_SAMPLES: u64 = 1 << 20;

impl VerifyModes {
    /// The words, for messages.
    pub const KNOWN: &'static str = "read, before-write, after-write, final, sample=P%, outside";

    /// Whether requests are checked during the run.
    pub fn checks_requests(self) -> bool {
        self.read || self.before_write || self.after_write
    }
}

impl FromStr for VerifyModes {
    type Err = String;

    fn from_str(words: &str) -> Result<VerifyModes, String> {
        let mut modes = VerifyModes::default();
        if words == "none" {
            return Ok(modes);
        }
        for word in words.split(',') {
            let again = match word {
                "read" => std::mem::replace(&mut modes.read, true),
                "before-write" => std::mem::replace(&mut modes.before_write, true),
                "after-write" => std::mem::replace(&mut modes.after_write, true),
                "final" => std::mem::replace(&mut modes.final_scan, true),
                "outside" => modes.outside.replace(SAMPLES).is_some(),
                other => match other.split_once('=') {
                    Some(("sample", share)) => modes.sample.replace(percent(share)?).is_some(),
                    Some(("outside", count)) => modes.outside.replace(samples(count)?).is_some(),
                    _ => {
                        return Err(format!(
                            "'{other}' is no mode: write {}, with commas between several, or none",
                            VerifyModes::KNOWN
                        ));
                    }
                },
            };
            if again {
                return Err(format!("'{word}' is there twice: write it once"));
            }
        }
        if modes.sample.is_some() && !modes.final_scan {
            return Err("sample=P% chooses places for the scan at the end: add final".into());
        }
        Ok(modes)
    }
}

/// A share of a whole, as `5%` or `0.5%`.
fn percent(text: &str) -> Result<Decimal, String> {
    let number = text.strip_suffix('%').and_then(|number| number.parse::<Decimal>().ok());
    let is_share = |share: &Decimal| *share > Decimal::whole(0) && *share <= Decimal::whole(100);
    number
        .filter(is_share)
        .ok_or_else(|| format!("sample={text}: a share above 0% and up to 100% is needed, such as sample=5%"))
}

/// A number of samples.
fn samples(text: &str) -> Result<u64, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST_SAMPLES);
    number.ok_or_else(|| {
        format!(
            "outside={text}: a number of samples up to {MOST_SAMPLES} is needed, such as outside={SAMPLES}"
        )
    })
}

impl Display for VerifyModes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [
            (self.read, "read"),
            (self.before_write, "before-write"),
            (self.after_write, "after-write"),
            (self.final_scan, "final"),
        ];
        let mut words: Vec<String> =
            words.into_iter().filter(|(is_on, _)| *is_on).map(|(_, word)| word.into()).collect();
        words.extend(self.sample.map(|share| format!("sample={share}%")));
        words.extend(self.outside.map(|count| match count {
            SAMPLES => "outside".into(),
            count => format!("outside={count}"),
        }));
        f.write_str(if words.is_empty() { "none" } else { "" })?;
        f.write_str(&words.join(","))
    }
}

impl From<VerifyModes> for String {
    fn from(modes: VerifyModes) -> String {
        modes.to_string()
    }
}

impl TryFrom<String> for VerifyModes {
    type Error = String;

    fn try_from(words: String) -> Result<VerifyModes, String> {
        words.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::sample;
    use crate::{Data, Engine, ExpectedData, JobVerification, Plan};

    #[test]
    fn modes_round_trip_and_unknown_ones_are_rejected() {
        for words in
            ["none", "read", "read,before-write,after-write,final,sample=0.5%,outside", "final", "outside=7"]
        {
            assert_eq!(words.parse::<VerifyModes>().unwrap().to_string(), words);
        }
        for (words, needle) in [
            ("", "'' is no mode"),
            ("read,final,read", "twice"),
            ("sample=5%", "add final"),
            ("final,sample=0%", "above 0%"),
            ("final,sample=101%", "up to 100%"),
            ("final,sample=5", "such as sample=5%"),
            ("Read", "'Read' is no mode"),
            ("outside,outside=5", "twice"),
            ("outside=many", "up to 1048576"),
            ("outside=1048577", "such as outside=10000"),
        ] {
            let why = words.parse::<VerifyModes>().unwrap_err();
            assert!(why.contains(needle), "{words}: {why}");
        }
    }

    #[test]
    fn plans_keep_verification_and_reject_contradictions() {
        let mut plan = sample();
        plan.verify.modes = "read,final".parse().unwrap();
        plan.verify.memory = ByteSize(2 << 30);
        plan.verify.dump = true;
        let text = plan.to_toml();
        assert!(text.contains("[verify]\nmodes = \"read,final\"\nmemory = \"2GiB\"\ndump = true"), "{text}");
        assert_eq!(Plan::from_toml(&text).unwrap(), plan);
        assert!(!sample().to_toml().contains("[verify]"));
        let refused = |change: &dyn Fn(&mut Plan)| {
            let mut changed = plan.clone();
            change(&mut changed);
            changed.validate().unwrap_err().to_string()
        };
        assert!(refused(&|p| p.engine = Engine::Null).contains("reads and writes nothing"));
        assert!(refused(&|p| p.verify.memory = ByteSize(4096)).contains("verify.memory"));
        assert!(
            refused(&|p| {
                p.phases[0].jobs[0].options.data = Some(Data::Sequenced);
                p.phases[0].jobs[0].options.verify =
                    Some(JobVerification { what: ExpectedData::Contents, immediate: false });
            })
            .contains("options.data")
        );
    }
}
