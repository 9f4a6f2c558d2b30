//! What can be typed about checking that targets give back what was written.

use clap::Args;
use iosonar_plan::{ByteSize, ExpectedData, Injection, Verification, VerifyModes};
use std::path::PathBuf;

/// What is checked, and with how much memory.
#[derive(Debug, Args)]
#[command(next_help_heading = "Verification")]
pub struct VerifyArgs {
    /// Verify what targets give back: read, before-write, after-write, final, outside
    ///
    /// Several with commas between them. read: what requests read from places that this run has written. before-write, after-write: read each place again before
    /// and after it is written. final: read all that was written when the requests are over; sample=5%: only this share of it.
    /// outside: sectors next to what is written, and samples elsewhere (10000 on each target, or outside=N), must be the same before and after the run.
    /// Faults are named, and the exit code is 5. With --data: contents, or location (the first 8 bytes). headers: each sector that is read is as some run
    /// has written it to this place.
    #[arg(long, value_name = "MODES", value_parser = words)]
    pub verify: Option<VerifyWords>,
    /// Limit the memory for what sectors may hold; above it, some are not checked
    #[arg(long, value_name = "SIZE", default_value = "1GiB")]
    pub verify_memory: ByteSize,
    /// Inject faults, to test how they are detected: lost:every=1000, torn-page:at=3+17
    ///
    /// The result is no storage result. The kinds are those of docs/verify.md; plans have them, too. crash:at=N gives the target a volatile write
    /// cache and stops it at operation N; flush-ignored:every=N beside it ignores flushes.
    #[arg(long, value_name = "FAULT", num_args = 1..)]
    pub inject: Vec<Injection>,
    /// Keep in this new file what is in flight and acknowledged, also when the process is killed
    ///
    /// It has 16 MiB. 'iosonar verify RESULT --mode after-crash' reads it. A file in memory (/dev/shm) costs no I/O.
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Issue no more requests after the first fault
    #[arg(long)]
    pub verify_fatal: bool,
    /// Keep the expected and the found bytes of the first 100 faults in the result
    #[arg(long, requires = "verify")]
    pub verify_dump: bool,
}

/// What `--verify` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyWords {
    /// Sectors with headers, against what the run has written.
    Modes(VerifyModes),
    /// Data by name, against its place.
    Data(ExpectedData),
}

fn words(text: &str) -> Result<VerifyWords, String> {
    match text {
        "contents" => Ok(VerifyWords::Data(ExpectedData::Contents)),
        "location" => Ok(VerifyWords::Data(ExpectedData::Location)),
        "headers" => Ok(VerifyWords::Data(ExpectedData::Headers)),
        words => words.parse().map(VerifyWords::Modes),
    }
}

impl VerifyArgs {
    /// How data by name is checked, if it is.
    pub fn of_data(&self) -> Option<ExpectedData> {
        if let Some(VerifyWords::Data(what)) = self.verify { Some(what) } else { None }
    }

    /// How sectors with headers are checked.
    pub fn verification(&self) -> Verification {
        let modes =
            if let Some(VerifyWords::Modes(modes)) = self.verify { modes } else { Default::default() };
        Verification {
            modes,
            memory: self.verify_memory,
            stop_at_fault: self.verify_fatal,
            journal: self.journal.clone(),
            dump: self.verify_dump,
        }
    }
}
