//! Streams on other machines, over the system's own ssh and a real `sshd` on this machine.

use crate::common::*;
use iosonar_testkit::{Lab, tool};
use serde_json::Value;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

/// An `sshd` with its own port and keys, stopped on drop.
struct Sshd {
    child: Child,
    /// Command for `RSH` that reaches it.
    shell: String,
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sshd(lab: &Lab) -> Sshd {
    let path = |name: &str| lab.path(name).display().to_string();
    for key in ["host_key", "key"] {
        tool("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]);
    }
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    // It separates its privileges in this directory.
    std::fs::create_dir_all("/run/sshd").unwrap();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
         PidFile none\nPasswordAuthentication no\nSetEnv IOSONAR_LEDGER=off\n",
        path("host_key"),
        path("key.pub")
    );
    lab.file("sshd_config", config);
    let child = Command::new("/usr/sbin/sshd")
        .args(["-D", "-e", "-f", &path("sshd_config")])
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let shell = format!(
        "ssh -T -p {port} -i {} -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
         -o LogLevel=ERROR",
        path("key")
    );
    let sshd = Sshd { child, shell };
    until("sshd", || sshd.shell_says("true").is_some());
    sshd
}

impl Sshd {
    fn shell_says(&self, command: &str) -> Option<String> {
        let mut words = self.shell.split_whitespace();
        let ended = Command::new(words.next()?).args(words).args(["127.0.0.1", command]).output().ok()?;
        ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).into_owned())
    }
}

/// Acceptance 31: files in both work directories, with the right sizes; the result is that of one run.
#[test]
fn streams_run_on_hosts_over_ssh() {
    needs!("ssh", "sshd", "ssh-keygen");
    let lab = lab();
    let sshd = sshd(&lab);
    let program = env!("CARGO_BIN_EXE_iosonar");
    let dirs = ["a", "b"].map(|name| {
        std::fs::create_dir(lab.path(name)).unwrap();
        lab.path(name)
    });
    let lines = [(&dirs[0], ""), (&dirs[1], "named.tmp")]
        .map(|(dir, file)| format!("127.0.0.1 {} {program} {file}\n", dir.display()));
    lab.file("clients", lines.concat());
    let words = "iozone -+m clients -t 2 -s 1m -r 64k -i 0 -i 1 -w -C --out r --json out.json";
    let ended = lab.command(words).env("RSH", &sshd.shell).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{err}");
    assert!(out.contains("Children see throughput for  2 initial writers"), "{out}");
    assert!(err.contains("host 127.0.0.1: target named.tmp"), "{err}");
    for file in [dirs[0].join("iozone.DUMMY.0"), dirs[1].join("named.tmp")] {
        assert_eq!(file.metadata().unwrap().len(), 1 << 20);
    }
    let table: Value = serde_json::from_slice(&std::fs::read(lab.path("out.json")).unwrap()).unwrap();
    let results = table["results"].as_array().unwrap();
    assert_eq!(results.len(), 4);
    assert!(results.iter().all(|cell| cell["streams"] == 2));
    let environment: Value =
        serde_json::from_slice(&std::fs::read(lab.path("r/environment.json")).unwrap()).unwrap();
    assert_eq!(environment["hosts"].as_object().unwrap().len(), 1);
    assert_eq!(environment["targets"].as_array().unwrap().len(), 2);
    let (whole, targets) = (lab.records("r"), 2);
    assert!((0..targets).all(|target| whole.iter().any(|r| r.target == target)));

    // A missing directory: that machine refuses it, and nothing is created on the other.
    lab.file(
        "clients",
        format!("{}127.0.0.1 {}/none {program}\n", lines[0].replace("\n", "x.tmp\n"), dirs[1].display()),
    );
    let ended = lab.command(words).env("RSH", &sshd.shell).output().unwrap();
    let err = String::from_utf8_lossy(&ended.stderr);
    assert!(err.contains("/none: No such file or directory"), "{err}");
    assert_eq!(ended.status.code(), Some(2), "{err}");
    assert!(!dirs[0].join("x.tmp").exists());
}
