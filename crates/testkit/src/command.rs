//! Runs the binary in a temporary directory.

use crate::until;
use iosonar_archive::{Archive, Record};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A temporary directory, and the binary.
#[derive(Debug)]
pub struct Lab {
    dir: TempDir,
    /// Directory of the ledger, separate because tests inspect the other one.
    state: TempDir,
    binary: PathBuf,
}

/// Result of a command.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; 128 + n if signal n ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// Exit code of a run whose figures do not meet their claim.
const FAKE: i32 = 4;

/// Maximum bytes of a target that are written.
const MOST_WRITTEN: u64 = 64 << 20;

impl Lab {
    /// Creates a lab for the binary at `binary`: `env!("CARGO_BIN_EXE_iosonar")` in a test.
    pub fn new(binary: &str) -> Lab {
        let [dir, state] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
        Lab { dir, state, binary: binary.into() }
    }

    /// A path in the directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Path of the ledger of this lab's runs.
    pub fn ledger(&self) -> PathBuf {
        self.state.path().join("iosonar/targets.jsonl")
    }

    /// Writes a file.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), content).expect("a file in the lab");
        self.path(name)
    }

    /// Creates a file of `size` zero bytes, as a target. A large one is sparse: reads of it are fake as a device result.
    pub fn target(&self, name: &str, size: u64) -> PathBuf {
        let file = std::fs::File::create(self.path(name)).expect("a target in the lab");
        file.set_len(size).expect("a target of that size");
        if size <= MOST_WRITTEN {
            std::fs::write(self.path(name), vec![0; size as usize]).expect("room for a target");
        }
        self.path(name)
    }

    /// Waits until the log of a run contains a record: its header has 16 bytes.
    #[track_caller]
    pub fn until_records(&self, result: &str) {
        self.until_logged(result, 16);
    }

    /// Waits until the log of a result has more than `bytes` bytes.
    #[track_caller]
    pub fn until_logged(&self, result: &str, bytes: u64) {
        let log = self.path(result).join("records.log");
        until("the log of a run", || log.metadata().is_ok_and(|log| log.len() > bytes));
    }

    /// Returns the command with `args`, separated by blanks, not yet started; it runs in the directory.
    pub fn command(&self, args: &str) -> Command {
        self.command_under(&[], args)
    }

    /// The same, started by a program with these words, followed by the command.
    pub fn command_under(&self, wrapper: &[&str], args: &str) -> Command {
        let mut command = match wrapper.split_first() {
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(&self.binary);
                command
            }
            None => Command::new(&self.binary),
        };
        command.args(args.split_whitespace()).current_dir(self.dir.path()).stdin(Stdio::null());
        // Keep tests away from the user's ledger.
        command.env("IOSONAR_LEDGER", self.ledger());
        // Do not let tests write back each other's dirty pages.
        command.env("IOSONAR_WRITE_BACK", "off");
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a shell script in the directory, with the binary on its path.
    pub fn script(&self, script: &Path) -> Ended {
        let binaries = self.binary.parent().expect("a directory of binaries").display();
        let path = format!("{binaries}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new("bash");
        command.arg(script).current_dir(self.dir.path()).stdin(Stdio::null());
        command.env("PATH", path).env("IOSONAR_LEDGER", self.ledger()).env("IOSONAR_WRITE_BACK", "off");
        Ended::of(command.output().expect("bash starts"))
    }

    /// Runs `iosonar` with `args`, separated by blanks.
    pub fn run(&self, args: &str) -> Ended {
        Ended::of(self.command(args).output().expect("the binary starts"))
    }

    /// Runs the words, and expects this exit code.
    #[track_caller]
    pub fn expect(&self, code: i32, args: &str) -> Ended {
        self.run(args).with_code(code, args)
    }

    /// Runs the words, and expects that all was done. The figures may be fake due to the target, which is often sparse or in memory in tests,
    /// or because the load was dropped or delayed on purpose.
    #[track_caller]
    pub fn expect_done(&self, args: &str) -> Ended {
        let ended = self.run(args);
        let code = if ended.is_fake_by_its_target() { FAKE } else { 0 };
        ended.with_code(code, args)
    }

    /// Runs unmodified words, which may contain blanks, and expects this exit code.
    #[track_caller]
    pub fn expect_args(&self, code: i32, args: &[&str]) -> Ended {
        let ended = Ended::of(self.command("").args(args).output().expect("iosonar runs"));
        ended.with_code(code, &format!("{args:?}"))
    }

    /// Returns all records of an archive in the directory, in the archive's order.
    #[track_caller]
    pub fn records(&self, name: &str) -> Vec<Record> {
        records(&self.path(name))
    }
}

impl Ended {
    /// Returns itself, after asserting that it ended with `code`.
    #[track_caller]
    pub fn with_code(self, code: i32, args: &str) -> Ended {
        assert_eq!(self.code, code, "iosonar {args}\n{}\n{}", self.out, self.err);
        self
    }

    /// Whether it ended because its figures are not those of a device, due to its target or its load.
    fn is_fake_by_its_target(&self) -> bool {
        let says = |word: &str| self.out.contains(word) || self.err.contains(word);
        let reasons =
            ["unmapped-target", "memory-target", "page-cache-in-path", "requests-not-done", "cannot-keep-up"];
        self.code == FAKE && says("FAKE as a") && reasons.into_iter().any(says)
    }

    /// Result of a finished process.
    pub fn of(output: Output) -> Ended {
        use std::os::unix::process::ExitStatusExt;
        let code = output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ended { code, out: text(&output.stdout), err: text(&output.stderr) }
    }
}

/// Returns all records of an archive, in the archive's order.
#[track_caller]
pub fn records(dir: &Path) -> Vec<Record> {
    let mut records = Vec::new();
    let archive = Archive::open(dir).expect("an archive");
    archive.for_each_record(&mut |record| records.push(*record)).expect("readable records");
    records
}
