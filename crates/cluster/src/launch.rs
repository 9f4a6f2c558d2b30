//! Starting processes, and what they say as events of one queue.

use crate::protocol::{Order, Report, TAKE_PART, hear, say};
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

/// Something that a process said, or that happened to it.
#[derive(Debug)]
pub(crate) struct Event {
    /// Number of its part.
    pub(crate) part: usize,
    /// When it was heard, as `CLOCK_MONOTONIC`.
    pub(crate) heard: u64,
    pub(crate) what: What,
}

#[derive(Debug)]
pub(crate) enum What {
    Said(Report),
    /// It says nothing more; with a reason where that is not its end.
    Silent(Option<String>),
}

/// How processes are started.
#[derive(Debug, Clone)]
pub struct Launch {
    /// This program.
    pub program: PathBuf,
    /// The remote shell with its options; the host follows.
    pub remote_shell: Vec<String>,
    /// Takes a line that the remote shell or a program on another machine has printed as an error. It may hold anything.
    pub hear: fn(&str),
}

/// How long errors of a remote shell that has ended are waited for. A connection that it shares with others stays open.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// The longest line of errors that is passed on in one piece.
const LONGEST_ERROR: u64 = 4096;

/// A process that takes part.
pub(crate) struct Participant {
    /// What messages call it.
    pub(crate) name: String,
    /// Where its records come to; known when the run starts.
    pub(crate) archive: Arc<OnceLock<PathBuf>>,
    child: Child,
    to: Option<ChildStdin>,
    /// Ends when its errors have been passed on.
    errors: Option<Receiver<()>>,
}

impl Launch {
    /// Starts the process that executes a part. Its first words are the next events of `part`.
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
        // A group of its own: Ctrl-C of the terminal is for the coordinator, which stops all in order.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        if matches!(executor, Executor::Host(_)) {
            // A terminal would obey another machine, and stop what writes to it from the background.
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
            // Nobody listens where the run is over.
            let _ = to_queue.send(Event { part, heard: monotonic_ns(), what });
        };
        std::thread::Builder::new().name(format!("part-{part}")).spawn(listen)?;
        let errors = child.stderr.take().map(|errors| self.pass_on(&name, errors)).transpose()?;
        let to = child.stdin.take();
        Ok(Participant { name, archive, child, to, errors })
    }

    /// Passes on what a process prints as errors, line by line.
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
        // Whatever the program is called here, it is not called by the name of another one there.
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

/// A word as a shell takes it whole.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

impl Participant {
    /// Gives an order. A process that is gone is known from its silence.
    pub(crate) fn order(&mut self, order: &Order) {
        if let Some(to) = &mut self.to
            && say(to, order).is_err()
        {
            self.to = None;
        }
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) {
        // One that has ended needs no end.
        let _ = self.child.kill();
    }

    /// Lets it end, and waits for that; what the system says of it if it did not end well.
    pub(crate) fn dismiss(&mut self) -> Option<String> {
        self.to = None;
        let ended = self.child.wait();
        if let Some(errors) = self.errors.take() {
            // Nothing is sent: it ends.
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
        // It has taken back what was made for the run when this returns.
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

/// Takes a file of an archive from the stream. Another machine says its name: it may only be that of a file in the archive.
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
    fn a_program_with_odd_letters_is_one_word() {
        assert_eq!(quoted("/opt/a b/it's"), r"'/opt/a b/it'\''s'");
    }

    #[test]
    fn files_stay_in_their_archive() {
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
