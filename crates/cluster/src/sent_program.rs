//! The program that is sent to machines without one, and the commands that start it there.
//!
//! One connection does it all: a line of POSIX shell looks for the program under its SHA-256 in the user's cache, receives it where it is
//! missing, and becomes it. Nothing listens there, and only the cache changes.

use iosonar_os::{machine_type, monotonic_ns};
use iosonar_plan::Host;
use iosonar_text::shell::quoted;
use iosonar_text::{one_line, shown};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// First words of the line with which a started shell begins; its machine follows. Earlier lines are of start files.
const GREETING: &str = "iosonar-agent 1 ";
/// The program is there.
const HAVE: &str = "have";
/// The program has to be sent.
const NEED: &str = "need";
/// First word of a line that says why the program could not be stored.
const FAILED: &str = "failed ";
/// Most bytes that a shell's start files may print.
const MOST_NOISE: u64 = 64 << 10;
/// The longest line of the greeting.
const LONGEST: u64 = 4096;

/// A program file with its identity.
#[derive(Debug)]
pub(crate) struct SentProgram {
    path: PathBuf,
    hash: String,
    bytes: u64,
}

/// SHA-256 of a file as hexadecimal digits, and its length.
pub(crate) fn hash_of(path: &Path) -> io::Result<(String, u64)> {
    copy_hashed(&mut BufReader::with_capacity(1 << 20, File::open(path)?), &mut io::sink())
}

/// Copies to the end; returns the SHA-256 of the bytes, and their number.
pub(crate) fn copy_hashed(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<(String, u64)> {
    let (mut hasher, mut bytes) = (Sha256::new(), 0);
    loop {
        let chunk = from.fill_buf()?;
        if chunk.is_empty() {
            break;
        }
        hasher.update(chunk);
        to.write_all(chunk)?;
        let length = chunk.len();
        bytes += length as u64;
        from.consume(length);
    }
    let mut hash = String::new();
    hasher.finalize().iter().for_each(|byte| _ = write!(hash, "{byte:02x}"));
    Ok((hash, bytes))
}

impl SentProgram {
    /// The program in this file.
    pub(crate) fn of(path: &Path) -> io::Result<SentProgram> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", shown(&path)));
        let (hash, bytes) = hash_of(path).map_err(named)?;
        Ok(SentProgram { path: path.into(), hash, bytes })
    }

    pub(crate) fn hash(&self) -> &str {
        &self.hash
    }
}

/// The command for the remote shell: it greets, receives the program if that is `sent` and not there yet, and becomes it. Names come as
/// arguments, so no shell reads them as code.
pub(crate) fn command(host: &Host, sent: Option<&SentProgram>, words: &str) -> String {
    let sudo = if host.sudo { "sudo -n " } else { "" };
    let greet = format!("echo \"{GREETING}$(uname -sm)\"");
    match sent {
        None => format!("exec sh -c '{greet}; exec {sudo}\"$1\" {words}' iosonar {}", quoted(&host.program)),
        Some(program) => {
            let SentProgram { hash, bytes, .. } = program;
            // A file that was cut off is removed: one of that name is complete.
            let script = format!(
                "{greet}; d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/iosonar/$1\"; p=\"$d/iosonar\"; \
                 if [ -x \"$p\" ]; then echo {HAVE}; else echo {NEED}; t=\"$d/new-$3\"; \
                 m=$({{ umask 077; mkdir -p \"$d\" && head -c \"$2\" >\"$t\" && [ \"$(wc -c <\"$t\")\" -eq \"$2\" ] && \
                 chmod 700 \"$t\" && mv -f \"$t\" \"$p\"; }} 2>&1) || {{ rm -f \"$t\"; rmdir \"$d\" 2>/dev/null; \
                 echo \"{FAILED}$m\"; exit 1; }}; echo {HAVE}; fi; exec {sudo}\"$p\" {words}"
            );
            let unique = format!("{}-{}", std::process::id(), monotonic_ns());
            format!("exec sh -c '{script}' iosonar {hash} {bytes} {unique}")
        }
    }
}

/// The output of a shell before it became the program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Greeted {
    /// Lines that its start files printed, and the first of them.
    pub(crate) noise: Option<(usize, String)>,
    /// The name of its architecture, as `uname -m` has it.
    pub(crate) machine: String,
}

/// Waits for the greeting of a shell, and sends it the program if it needs one.
///
/// # Errors
/// The machine is another one than the program is for, or the program could not be stored; the text is for people.
pub(crate) fn greet(
    from: &mut impl BufRead,
    to: &mut impl Write,
    sent: Option<&SentProgram>,
) -> io::Result<Greeted> {
    let (machine, noise) = greeting(from)?;
    let here = machine_type();
    let Some(program) = sent else { return Ok(Greeted { noise, machine }) };
    let answer = line(from)?;
    if machine != here {
        return Err(failed(format!(
            "it is a machine of type {machine}, and this program is for {here}: build iosonar for it, install it there, and name it with --remote-path"
        )));
    }
    if answer == NEED {
        let written = send(program, to);
        if written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::InvalidData) {
            // The shell waits for the rest.
            return written.map(|()| Greeted { noise, machine });
        }
        // If it reads no more, it says why.
        let stored = line(from)?;
        if let Some(why) = stored.strip_prefix(FAILED) {
            let why = if why.is_empty() { "the connection ended" } else { why };
            return Err(failed(format!("the program cannot be stored there: {}", one_line(why))));
        }
        written?;
    }
    Ok(Greeted { noise, machine })
}

fn send(program: &SentProgram, to: &mut impl Write) -> io::Result<()> {
    let mut file = File::open(&program.path)?;
    let copied = io::copy(&mut (&mut file).take(program.bytes), to)?;
    to.flush()?;
    match copied == program.bytes {
        true => Ok(()),
        false => Err(failed(format!("{} has changed", shown(&program.path)))),
    }
}

/// Reads until the greeting; returns the type of the machine and what came before.
fn greeting(from: &mut impl BufRead) -> io::Result<(String, Option<(usize, String)>)> {
    let (mut noise, mut bytes) = (None, 0);
    loop {
        let read = line(from)?;
        if let Some(machine) = read.strip_prefix(GREETING) {
            return match machine.split_once(' ') {
                Some(("Linux", machine)) => Ok((one_line(machine).into_owned(), noise)),
                _ => Err(failed(format!("it runs {}, and iosonar needs Linux", one_line(machine)))),
            };
        }
        bytes += read.len() as u64 + 1;
        if bytes > MOST_NOISE {
            return Err(failed(format!(
                "its shell prints more than {} KiB before it starts a command: remove that from its start files",
                MOST_NOISE >> 10
            )));
        }
        noise = Some(noise.map_or((1, read), |(lines, first)| (lines + 1, first)));
    }
}

/// A line without its end.
fn line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    if from.take(LONGEST).read_until(b'\n', &mut line)? == 0 {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, ""));
    }
    Ok(String::from_utf8_lossy(&line).trim_end().to_string())
}

fn failed(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// A program that says who it is, for a shell here.
    fn program(dir: &Path) -> SentProgram {
        let path = dir.join("program");
        std::fs::write(&path, "#!/bin/sh\necho \"started $*\"\n").unwrap();
        SentProgram::of(&path).unwrap()
    }

    /// The result of the command in a shell with this home, and its output after the greeting.
    fn start(home: &Path, sent: &SentProgram, before: &str) -> (io::Result<Greeted>, String) {
        let command = format!("{before}\n{}", command(&Host::new("x"), Some(sent), "word"));
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut from = BufReader::new(child.stdout.take().unwrap());
        let greeted = greet(&mut from, &mut child.stdin.take().unwrap(), Some(sent));
        let mut rest = String::new();
        from.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        (greeted, rest)
    }

    fn files(dir: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    #[test]
    fn program_is_sent_once() {
        let folder = tempfile::tempdir().unwrap();
        let (home, sent) = (folder.path().join("home"), program(folder.path()));
        for before in ["", "echo hello; echo there"] {
            let (greeted, rest) = start(&home, &sent, before);
            let noise = greeted.unwrap().noise;
            assert_eq!(noise, (!before.is_empty()).then(|| (2, "hello".to_string())));
            assert_eq!(rest, "started word\n");
            let stored = home.join(format!(".cache/iosonar/{}/iosonar", sent.hash()));
            assert_eq!(files(&home), [stored]);
        }
    }

    #[test]
    fn nothing_is_left_of_a_program_that_cannot_be_stored() {
        let folder = tempfile::tempdir().unwrap();
        let (home, mut sent) = (folder.path().join("home"), program(folder.path()));
        sent.bytes += 1;
        let (greeted, _) = start(&home, &sent, "");
        assert!(greeted.is_err(), "{greeted:?}");
        assert!(files(&home).is_empty());
        // A file in the place of the directory.
        std::fs::write(folder.path().join("file"), "").unwrap();
        let (greeted, _) = start(&folder.path().join("file"), &program(folder.path()), "");
        let why = greeted.unwrap_err().to_string();
        assert!(why.starts_with("the program cannot be stored there: mkdir: "), "{why}");
    }

    #[test]
    fn names_other_machines_and_noise() {
        let folder = tempfile::tempdir().unwrap();
        let sent = program(folder.path());
        let greeted = |text: &str| greet(&mut text.as_bytes(), &mut Vec::new(), Some(&sent));
        for (text, why) in [
            (
                "iosonar-agent 1 Linux riscv64\nneed\n",
                "it is a machine of type riscv64, and this program is for ",
            ),
            ("iosonar-agent 1 Darwin arm64\nhave\n", "it runs Darwin arm64, and iosonar needs Linux"),
            (&"x\n".repeat(40_000), "its shell prints more than 64 KiB before it starts a command"),
            ("", ""),
        ] {
            let error = greeted(text).unwrap_err().to_string();
            assert!(error.starts_with(why), "{error}");
        }
    }

    /// 30 hostile names: each reaches the program as one word, and no shell reads it as code.
    #[test]
    fn names_are_never_read_as_code() {
        let folder = tempfile::tempdir().unwrap();
        let names = [
            "a b",
            "$(touch X)",
            "`touch X`",
            "a;touch X",
            "a|touch X",
            "a&touch X",
            "a\ntouch X",
            "'",
            "\"",
            "\\",
            "a'b",
            "';touch X;'",
            "\";touch X;\"",
            "$HOME",
            "${IFS}",
            "*",
            "?",
            "[a]",
            "{a,b}",
            "~",
            "#",
            "!x",
            "a>X",
            "a<X",
            "(x)",
            "\t",
            "é",
            "%s",
            "--",
            "a\\'b",
        ];
        assert_eq!(names.len(), 30);
        let mut seen = Vec::new();
        for (number, name) in names.into_iter().enumerate() {
            let dir = folder.path().join(number.to_string());
            std::fs::create_dir(&dir).unwrap();
            let path = dir.join(name);
            std::os::unix::fs::symlink("/bin/echo", &path).unwrap();
            let host = Host { program: path.to_str().unwrap().into(), ..Host::new("x") };
            let told =
                Command::new("sh").args(["-c", &command(&host, None, "word")]).current_dir(&dir).output();
            seen.push(String::from_utf8(told.unwrap().stdout).unwrap().lines().last().map(String::from));
            assert_eq!(files(&dir), [path]);
        }
        assert_eq!(seen, vec![Some("word".to_string()); 30]);
    }
}
