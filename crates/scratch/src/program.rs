//! Runs the programs that create, attach and mount file systems.

use crate::ScratchError;
use iosonar_text::{one_line, shown};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A program and the Debian package that contains it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Program {
    pub name: &'static str,
    pub package: &'static str,
}

pub(crate) const LOSETUP: Program = Program { name: "losetup", package: "mount (of util-linux)" };
pub(crate) const MOUNT: Program = Program { name: "mount", package: "mount (of util-linux)" };

impl Program {
    /// Runs it to completion; returns its trimmed standard output. Ctrl-C at the terminal does not reach it.
    pub(crate) fn run(self, arguments: &[&OsStr]) -> Result<String, ScratchError> {
        let mut command = Command::new(self.name);
        command.args(arguments).env("LC_ALL", "C").env("PATH", search_path()).stdin(Stdio::null());
        let typed = || {
            let words = std::iter::once(OsStr::new(self.name)).chain(arguments.iter().copied());
            words.map(|word| shown(word).to_string()).collect::<Vec<_>>().join(" ")
        };
        let output = command.process_group(0).output().map_err(|error| match error.kind() {
            ErrorKind::NotFound => ScratchError::NoProgram { program: self.name, package: self.package },
            _ => ScratchError::Program { command: typed(), why: error.to_string() },
        })?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let said = text(&output.stderr).replace('\n', " ");
        let why = if said.is_empty() { output.status.to_string() } else { said };
        Err(ScratchError::Program { command: typed(), why: one_line(&why).into_owned() })
    }
}

/// `PATH` with the system administration directories, which a root without a login shell lacks.
fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(if path.is_empty() { "/usr/sbin:/sbin:/usr/bin:/bin" } else { ":/usr/sbin:/sbin" });
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_output_and_errors_of_the_program() {
        let shell = Program { name: "sh", package: "dash" };
        let run = |script: &str| shell.run(&["-c", script].map(OsStr::new));
        assert_eq!(run("echo ' one '; cat").unwrap(), "one");
        let error = run("echo bad >&2; echo worse >&2; exit 3").unwrap_err().to_string();
        assert!(error.starts_with("sh -c ") && error.ends_with(" failed: bad worse"), "{error}");
        assert!(run("exit 3").unwrap_err().to_string().ends_with("exit status: 3"));
    }

    #[test]
    fn a_missing_program_names_its_package() {
        let none = Program { name: "mkfs.iosonar-none", package: "xfsprogs" };
        let error = none.run(&[]).unwrap_err().to_string();
        assert_eq!(error, "the program mkfs.iosonar-none is not installed: install the package xfsprogs");
    }
}
