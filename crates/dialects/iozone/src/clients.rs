//! The file of `-+m`: machines of the streams.

use crate::settings::Client;
use iosonar_dialect_common::UsageError;
use iosonar_plan::Host;

/// Reads the lines `HOST DIRECTORY PROGRAM [TESTFILE]` of a file; empty lines and lines starting with `#` are skipped.
///
/// # Errors
/// A line has too few or too many words.
pub fn read_clients(file: &str, text: &str) -> Result<Vec<Client>, UsageError> {
    let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| client(line).map_err(|why| wrong(file, number, &why))).collect()
}

fn wrong(file: &str, number: usize, why: &str) -> UsageError {
    UsageError::new(format_args!("-+m {file}: line {number}: {why}"))
}

fn client(line: &str) -> Result<Client, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (name, dir, program, file) = match words[..] {
        [name, dir, program] => (name, dir, program, None),
        [name, dir, program, file] => (name, dir, program, Some(file.to_string())),
        _ => {
            let count = words.len();
            return Err(format!(
                "it has {count} words: write HOST DIRECTORY PROGRAM, and a test file if you like"
            ));
        }
    };
    if name.starts_with('-') {
        return Err(format!("{name} is no name of a host: the remote shell would take it for an option"));
    }
    let host = Host { dir: dir.into(), program: program.into(), ..Host::new(name) };
    Ok(Client { host: Some(host), file })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_describes_one_process() {
        let text = "# two machines\n\nalpha /mnt/a /usr/bin/iosonar\n  root@beta  /b  iosonar  b.tmp \n";
        let clients = read_clients("c", text).unwrap();
        let hosts: Vec<&Host> = clients.iter().filter_map(|client| client.host.as_ref()).collect();
        let names: Vec<&str> = hosts.iter().map(|host| host.name.as_str()).collect();
        assert_eq!(names, ["alpha", "root@beta"]);
        assert_eq!((clients[0].file.as_deref(), clients[1].file.as_deref()), (None, Some("b.tmp")));
        assert_eq!((hosts[1].dir.as_str(), hosts[1].program.as_str()), ("/b", "iosonar"));
    }

    #[test]
    fn errors_name_bad_lines() {
        for (text, words) in [
            ("a b c\nalpha /mnt", "-+m c: line 2: it has 2 words"),
            ("a b c d e", "line 1: it has 5 words"),
            ("-oProxyCommand=x /d iosonar", "line 1: -oProxyCommand=x is no name of a host"),
        ] {
            let error = read_clients("c", text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}
