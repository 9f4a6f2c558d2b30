//! Starts processes and queues their reports as events.

use crate::protocol::{Order, Report, TAKE_PART, hear, say};
use crate::remote_shell;
use iosonar_os::{create, monotonic_ns};
use iosonar_plan::{Executor, Host};
use iosonar_text::{one_line, shown};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A report of a process, or an event concerning it.
#[derive(Debug)]
pub(crate) struct Event {
    /// Number of its part.
    pub(crate) part: usize,
    /// Time of arrival, as `CLOCK_MONOTONIC`.
    pub(crate) heard: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Said(Report),
    /// No more reports; with a reason if the process has not ended normally.
    Silent(Option<String>),
}

/// How processes are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// This program.
    pub program: PathBuf,
    /// The remote shell with its options; the host follows.
    pub remote_shell: Vec<String>,
    /// Receives each line of errors printed by the remote shell or a remote program. It may contain anything.
    pub hear: fn(&str),
}

/// Maximum wait for errors of a remote shell that has ended: a connection shared with others stays open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Maximum length of a line of errors passed on in one piece.
const LONGEST_ERROR: u64 = 4096;

/// A participating process.
pub(crate) struct Participant {
    /// Name in messages.
    pub(crate) name: String,
    /// Directory for its records; set when the run starts.
    pub(crate) archive: Arc<OnceLock<PathBuf>>,
    child: Child,
    to: Option<ChildStdin>,
    /// Closed when its errors have been passed on.
    errors: Option<Receiver<()>>,
}

impl Launch {
    /// Starts this program, with the remote shell that the environment names.
    ///
    /// # Errors
    /// The path of this program is unknown.
    pub fn of_this_program(hear: fn(&str)) -> io::Result<Launch> {
        Ok(Launch { program: std::env::current_exe()?, remote_shell: remote_shell::of_environment(), hear })
    }

    /// Starts the process that executes a part. Its first reports are the next events of `part`.
    pub(crate) fn start(
        &self,
        part: usize,
        executor: &Executor,
        name: String,
        events: &Sender<Event>,
    ) -> io::Result<Participant> {
        let mut command = match executor {
            Executor::Host(host) => self.remote(host)?,
            Executor::Thread | Executor::Process => self.local(),
        };
        // A separate process group: Ctrl-C of the terminal is for the coordinator, which stops all processes in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if matches!(executor, Executor::Host(_)) {
            // Otherwise another machine could control the terminal, and writing to it would stop background processes.
            command.stderr(Stdio::piped());
        }
        let started = command.spawn();
        let mut child = started.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", shown(&command.get_program())))
        })?;
        let from = child.stdout.take().expect("it was asked for");
        let archive = Arc::new(OnceLock::new());
        let (to_queue, place) = (events.clone(), archive.clone());
        let listen = move || {
            let end = listen(part, &mut BufReader::new(from), &place, &to_queue).err();
            let what = What::Silent(end.map(|error| error.to_string()));
            // After the run there is no receiver.
            let _ = to_queue.send(Event { part, heard: monotonic_ns(), what });
        };
        std::thread::Builder::new().name(format!("part-{part}")).spawn(listen)?;
        let errors = child.stderr.take().map(|errors| self.pass_on(&name, errors)).transpose()?;
        let to = child.stdin.take();
        Ok(Participant { name, archive, child, to, errors })
    }

    /// Passes on the errors of a process, line by line.
    fn pass_on(&self, name: &str, errors: ChildStderr) -> io::Result<Receiver<()>> {
        let (hear, name, (end, ended)) = (self.hear, name.to_string(), channel());
        let listen = move || {
            let _end: Sender<()> = end;
            let (mut errors, mut line) = (BufReader::new(errors), Vec::new());
            while errors.by_ref().take(LONGEST_ERROR).read_until(b'\n', &mut line).is_ok_and(|read| read > 0)
            {
                let text = String::from_utf8_lossy(&line);
                hear(&format!("{name}: {}", one_line(text.trim_end())));
                line.clear();
            }
        };
        std::thread::Builder::new().name("errors".into()).spawn(listen)?;
        Ok(ended)
    }

    fn local(&self) -> Command {
        let mut command = Command::new(&self.program);
        // arg0 is fixed: the program's name here must not be that of another program there.
        command.arg0("iosonar").arg(TAKE_PART);
        command
    }

    fn remote(&self, host: &Host) -> io::Result<Command> {
        let (shell, options) = self
            .remote_shell
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no remote shell is named"))?;
        let mut command = Command::new(shell);
        command.args(options).arg(&host.name).arg(format!("{} {TAKE_PART}", quoted(&host.program)));
        Ok(command)
    }
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Participant {
    /// Sends an order. A process that is gone is detected by its silence.
    pub(crate) fn order(&mut self, order: &Order) {
        if let Some(to) = &mut self.to
            && say(to, order).is_err()
        {
            self.to = None;
        }
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
    }

    /// Lets it end, and waits for that; returns the exit status in words if it failed.
    pub(crate) fn dismiss(&mut self) -> Option<String> {
        self.to = None;
        let ended = self.child.wait();
        if let Some(errors) = self.errors.take() {
            // No message is sent: the channel closes.
            let _ = errors.recv_timeout(LAST_WORDS);
        }
        match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        // When this returns, it has undone its preparations.
        self.dismiss();
    }
}

fn listen(
    part: usize,
    from: &mut impl BufRead,
    archive: &OnceLock<PathBuf>,
    events: &Sender<Event>,
) -> io::Result<()> {
    while let Some(report) = hear::<Report>(from)? {
        match report {
            Report::File { name, bytes } => {
                keep_file(archive.get().map(PathBuf::as_path), &name, bytes, from)?
            }
            report => {
                let event = Event { part, heard: monotonic_ns(), what: What::Said(report) };
                if events.send(event).is_err() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// Stores a file of an archive from the stream. Another machine chose the name, which is restricted to files in the
/// archive.
fn keep_file(dir: Option<&Path>, name: &str, bytes: u64, from: &mut impl BufRead) -> io::Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(invalid(format!("'{name}' is no name of a file in an archive")));
    }
    let dir = dir.ok_or_else(|| invalid(format!("{name} came before the run")))?;
    create::new_dirs(dir)?;
    let mut file = create::new_file(&dir.join(name))?;
    let copied = io::copy(&mut from.take(bytes), &mut file)?;
    file.flush()?;
    if copied == bytes {
        Ok(())
    } else {
        Err(invalid(format!("{name} ends after {copied} of {bytes} bytes")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_program_path_as_one_word() {
        assert_eq!(quoted("/opt/a b/it's"), r"'/opt/a b/it'\''s'");
    }

    #[test]
    fn received_files_stay_inside_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("a/b");
        keep_file(Some(&dir), "run.json", 3, &mut &b"abcd"[..]).unwrap();
        assert_eq!(std::fs::read(dir.join("run.json")).unwrap(), b"abc");
        for name in ["../x", "/etc/x", "", ".x", "a/b", "run.json"] {
            assert!(keep_file(Some(&dir), name, 1, &mut &b"x"[..]).is_err(), "{name}");
        }
        assert!(
            keep_file(Some(&dir), "short", 5, &mut &b"x"[..]).unwrap_err().to_string().contains("1 of 5")
        );
        assert!(keep_file(None, "early", 1, &mut &b"x"[..]).is_err());
    }
}
