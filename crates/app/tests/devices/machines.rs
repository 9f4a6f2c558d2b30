//! Machines for tests: network namespaces, each with an `sshd` and a shifted clock.

use iosonar_testkit::{Lab, tool, until};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// A network namespace and a time namespace with an `sshd`.
pub struct Machine {
    /// Name for the remote shell.
    pub name: String,
    /// Its `CLOCK_MONOTONIC` minus that of the test.
    pub ahead_ns: i64,
    namespace: String,
    /// Its side of the test's network.
    link: String,
    address: String,
    sshd: Child,
}

/// Machines that one remote shell reaches.
pub struct Machines {
    pub all: Vec<Machine>,
    /// Command for `RSH`.
    pub shell: String,
}

impl Machines {
    /// Starts one machine for each of these seconds by which its clock is ahead.
    pub fn start(lab: &Lab, seconds_ahead: &[i64]) -> Machines {
        static SETS: AtomicU32 = AtomicU32::new(0);
        let path = |name: &str| lab.path(name).display().to_string();
        for key in ["host_key", "key", "other_key"] {
            tool("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &path(key)]);
        }
        // It separates its privileges in this directory.
        std::fs::create_dir_all("/run/sshd").unwrap();
        let set = SETS.fetch_add(1, Relaxed);
        let machine = |(number, seconds): (usize, &i64)| Machine::start(lab, set, number as u32, *seconds);
        let all: Vec<Machine> = seconds_ahead.iter().enumerate().map(machine).collect();
        let host = |name: &str, address: &str, key: &str| {
            format!("Host {name}\nHostName {address}\nIdentityFile {}\n", path(key))
        };
        let good: String = all.iter().map(|machine| host(&machine.name, &machine.address, "key")).collect();
        let bad =
            host("wrongkey", &all[0].address, "other_key") + &host("closed", "127.0.0.1", "key") + "Port 1\n";
        let common = "Host *\nIdentitiesOnly yes\nStrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n";
        lab.file("ssh_config", good + &bad + common);
        let machines = Machines { all, shell: format!("ssh -T -F {}", path("ssh_config")) };
        for machine in &machines.all {
            until("sshd answers", || machines.says(&machine.name, "true").is_some());
        }
        machines
    }

    /// Output of a command there.
    pub fn says(&self, name: &str, command: &str) -> Option<String> {
        let mut words = self.shell.split_whitespace();
        let ended = Command::new(words.next()?).args(words).args([name, command]).output().ok()?;
        ended.status.success().then(|| String::from_utf8_lossy(&ended.stdout).into_owned())
    }
}

impl Machine {
    fn start(lab: &Lab, set: u32, number: u32, seconds: i64) -> Machine {
        let id = std::process::id();
        let (namespace, name) = (format!("iosonar-{id}-{set}-{number}"), format!("m{number}"));
        let link = format!("v{}{set}{number}", id % 1_000_000);
        let net = format!("10.{}.{}", 100 + (id + set) % 100, number);
        let address = format!("{net}.2");
        tool("ip", &["netns", "add", &namespace]);
        tool("ip", &["link", "add", &link, "type", "veth", "peer", "name", "eth0", "netns", &namespace]);
        tool("ip", &["address", "add", &format!("{net}.1/24"), "dev", &link]);
        tool("ip", &["link", "set", &link, "up"]);
        for words in [
            ["address", "add", &format!("{address}/24"), "dev", "eth0"].as_slice(),
            &["link", "set", "eth0", "up"],
        ] {
            tool("ip", &[["-n", &namespace].as_slice(), words].concat());
        }
        let path = |file: &str| lab.path(file).display().to_string();
        let (home, config) = (path(&format!("home-{name}")), path(&format!("sshd-{name}")));
        std::fs::create_dir_all(&home).unwrap();
        // In place of start files, which are those of this machine's user.
        let shell = path(&format!("shell-{name}"));
        let script = format!(
            "#!/bin/sh\nif [ -r {home}/noise ]; then . {home}/noise; fi\neval \"$SSH_ORIGINAL_COMMAND\"\n"
        );
        std::fs::write(&shell, script).unwrap();
        tool("chmod", &["+x", &shell]);
        let text = format!(
            "ListenAddress {address}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\nPidFile none\n\
             MaxStartups 100\nPasswordAuthentication no\n\
             SetEnv IOSONAR_LEDGER=off XDG_CACHE_HOME={home} TMPDIR={home}\nForceCommand {shell}\n",
            path("host_key"),
            path("key.pub"),
        );
        std::fs::write(&config, text).unwrap();
        let sshd = Command::new("ip")
            .args(["netns", "exec", &namespace, "unshare", "--time", "--fork", "--kill-child"])
            .args(["--monotonic", &seconds.to_string(), "/usr/sbin/sshd", "-D", "-f", &config])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Machine { name, ahead_ns: seconds * 1_000_000_000, namespace, link, address, sshd }
    }

    /// Directory of its cache and its temporary files.
    pub fn home(&self, lab: &Lab) -> std::path::PathBuf {
        lab.path(&format!("home-{}", self.name))
    }

    /// All processes there, with their words.
    fn processes(&self) -> Vec<(u32, Vec<String>)> {
        let network = |path: &Path| std::fs::metadata(path).ok().map(|file| file.ino());
        let here = network(&Path::new("/run/netns").join(&self.namespace));
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(process) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            if here.is_some() && network(&entry.path().join("ns/net")) == here {
                let words = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found
                    .push((process, String::from_utf8_lossy(&words).split('\0').map(String::from).collect()));
            }
        }
        found
    }

    /// Processes of the program there.
    pub fn agents(&self) -> Vec<u32> {
        let is_agent = |words: &[String]| words.iter().any(|word| word == "on-host");
        self.processes()
            .into_iter()
            .filter(|(_, words)| is_agent(words))
            .map(|(process, _)| process)
            .collect()
    }

    /// Executes a command in its mounts, which are its own.
    pub fn mounts(&self, words: &[&str]) {
        let id = self.sshd.id().to_string();
        tool("nsenter", &[["--mount", "--target", &id].as_slice(), words].concat());
    }

    /// Cuts the network; nothing arrives any more.
    pub fn cut(&self) {
        tool("ip", &["-n", &self.namespace, "link", "set", "eth0", "down"]);
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A connection that was cut would keep its process for minutes.
        for (process, _) in self.processes() {
            let _ = Command::new("kill").args(["-KILL", &process.to_string()]).stderr(Stdio::null()).status();
        }
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
        let _ = Command::new("ip").args(["link", "delete", &self.link]).status();
        let _ = Command::new("ip").args(["netns", "delete", &self.namespace]).status();
    }
}
