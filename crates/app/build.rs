//! Passes the commit that the program is built from, if the source is a git checkout.

use std::path::Path;
use std::process::Command;

/// The workspace, in which `.git` lies.
const ROOT: &str = "../..";

fn main() {
    // Without this line cargo runs the script after every change in the crate.
    println!("cargo:rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A source archive may lie inside another project's checkout, whose commit is unrelated to this program.
    let has_git = Path::new(ROOT).join(".git").exists();
    let commit = has_git.then(|| git(&["describe", "--always", "--tags", "--abbrev=12"])).flatten();
    match commit {
        Some(commit) => println!("cargo:rustc-env=IOSONAR_VERSION={version} (commit {commit})"),
        None => println!("cargo:rustc-env=IOSONAR_VERSION={version}"),
    }
    if has_git {
        watch_head();
    }
}

/// Reruns the script when another commit is checked out, and only then.
fn watch_head() {
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in ["HEAD", "logs/HEAD"].into_iter().chain(branch.as_deref()) {
        let Some(path) = git(&["rev-parse", "--git-path", name]) else { continue };
        let path = Path::new(ROOT).join(path);
        // Cargo treats a missing file as changed, and would rebuild each time.
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
}

/// Returns git's answer in the workspace; `None` if it fails.
fn git(args: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    // In a hook these would name another repository.
    let out = git.arg("-C").arg(ROOT).args(args).env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").output();
    let text = String::from_utf8(out.ok().filter(|out| out.status.success())?.stdout).ok()?;
    let line = text.trim();
    (!line.is_empty()).then(|| line.to_string())
}
