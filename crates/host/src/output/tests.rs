//! Tests of the output gate. Block devices and mounted images: `app/tests/devices/outputs.rs`.

use super::*;
use std::fs;
use std::os::unix::fs::symlink;

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn out(path: impl Into<PathBuf>) -> OutputName {
    OutputName::new("--out", path)
}

#[test]
fn output_appears_only_when_published() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let gate = Gate::new(&root);
    let name = out(dir.path().join("x"));
    let mut dropped = gate.create(&name, Existing::Keep).unwrap();
    dropped.write_all(b"half").unwrap();
    assert_eq!(dropped.size().unwrap(), 4);
    drop(dropped);
    assert!(names(dir.path()).is_empty());
    let mut whole = gate.create(&name, Existing::Keep).unwrap();
    whole.write_all(b"whole").unwrap();
    assert!(names(dir.path()).is_empty());
    whole.publish().unwrap();
    assert_eq!(fs::read(&name.path).unwrap(), b"whole");
}

#[test]
fn existing_file_is_rejected_or_replaced_atomically() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let gate = Gate::new(&root);
    let (path, link) = (dir.path().join("x"), dir.path().join("link"));
    fs::write(&path, "old").unwrap();
    symlink(&path, &link).unwrap();
    for name in [out(&path), out(&link)] {
        let refused = gate.create(&name, Existing::Keep).unwrap_err().to_string();
        assert!(refused.contains("nothing is ever overwritten"), "{refused}");
        let refused = gate.create(&name, Existing::KeepUnlessForced).unwrap_err().to_string();
        assert!(refused.contains("--force"), "{refused}");
    }
    let mut new = gate.create(&out(&link), Existing::Replace).unwrap();
    new.write_all(b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    new.publish().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert!(link.is_symlink());
    assert_eq!(names(dir.path()), ["link", "x"]);
}

#[test]
fn accepts_only_files_pipes_and_null_as_outputs() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let gate = Gate::new(&root);
    symlink(dir.path().join("nowhere"), dir.path().join("dangling")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(dir.path().join("socket")).unwrap();
    for (path, what) in [
        ("/dev/zero".into(), "a character device"),
        ("/dev/full".into(), "a character device"),
        (dir.path().to_path_buf(), "a directory"),
        (dir.path().join("dangling"), "a symbolic link that leads nowhere"),
        (dir.path().join("socket"), "a socket"),
    ] {
        let refused = gate.create(&out(&path), Existing::Replace).unwrap_err().to_string();
        let expected = format!("--out {}: it is {what}", path.display());
        assert!(refused.starts_with(&expected), "{refused}");
    }
    assert!(gate.create(&out(dir.path().join("none/x")), Existing::Keep).is_err());
    gate.create(&out("/dev/null"), Existing::Keep).unwrap().publish().unwrap();
}

#[test]
fn rejects_outputs_already_in_use() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let mut gate = Gate::new(&root);
    let path = |name: &str| dir.path().join(name);
    for name in ["target", "list"] {
        fs::write(path(name), "data").unwrap();
    }
    fs::hard_link(path("target"), path("alias")).unwrap();
    gate.forbid(&path("target"), Role::Target(0));
    gate.forbid(&path("list"), Role::Input("-seek load".into()));
    gate.forbid(&path("later"), Role::Target(1));
    let kept = gate.reserve(&OutputName::new("-csvout", path("csv")), Existing::Replace).unwrap();
    for (name, why) in
        [("alias", "target 0"), ("later", "target 1"), ("list", "read by -seek load"), ("csv", "-csvout")]
    {
        let output = OutputName::new("-output", path(name));
        let refused = gate.reserve(&output, Existing::Replace).unwrap_err().to_string();
        assert!(refused.contains(why), "{refused}");
        assert!(gate.create(&out(path(name)), Existing::Replace).is_err());
    }
    drop(kept);
    assert_eq!(names(dir.path()), ["alias", "list", "target"]);
}

#[test]
fn reserved_output_appears_only_when_published() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let path = |name: &str| dir.path().join(name);
    let content = || ["a", "b", "c"].map(|name| fs::read_to_string(path(name)).unwrap_or("none".into()));
    for name in ["a", "b"] {
        fs::write(path(name), "old").unwrap();
    }
    let mut gate = Gate::new(&root);
    let mut reserve = |name: &str, existing| gate.reserve(&out(path(name)), existing).unwrap();
    let reserved =
        [reserve("a", Existing::Replace), reserve("b", Existing::Append), reserve("c", Existing::Append)];
    let mut opened = reserved.map(|reserved| reserved.open().unwrap());
    opened.iter_mut().for_each(|output| output.write_all(b"new").unwrap());
    assert_eq!(content(), ["old", "old", "none"]);
    opened.into_iter().for_each(|output| drop(output.publish().unwrap()));
    assert_eq!((content(), names(dir.path()).len()), (["new", "oldnew", "new"].map(String::from), 3));
}

/// A file that takes the name of an output after it was judged is kept.
#[test]
fn reserved_output_never_replaces_newer_file() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let path = |name: &str| dir.path().join(name);
    for existing in [Existing::Replace, Existing::Append] {
        for name in ["a", "theirs"] {
            fs::write(path(name), name).unwrap();
        }
        let mut gate = Gate::new(&root);
        let [old, new] = ["a", "b"].map(|name| gate.reserve(&out(path(name)), existing).unwrap());
        fs::rename(path("theirs"), path("a")).unwrap();
        symlink(path("a"), path("b")).unwrap();
        for output in [old, new] {
            let written = output.open().and_then(|mut output| {
                output.write_all(b"new")?;
                output.publish()
            });
            assert!(written.is_err());
        }
        assert_eq!(fs::read(path("a")).unwrap(), b"theirs");
        assert_eq!(names(dir.path()), ["a", "b"]);
        fs::remove_file(path("b")).unwrap();
    }
}

#[test]
fn unkept_folder_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::default();
    let gate = Gate::new(&root);
    let write = |folder: &OutputFolder<'_>, name: &str| {
        folder.write(name, &mut |out: &mut dyn Write| out.write_all(b"x"))
    };
    let folder = OutputFolder::open(&gate, out(dir.path().join("a/b")), Existing::KeepUnlessForced).unwrap();
    write(&folder, "one").unwrap();
    assert!(write(&folder, "one").unwrap_err().to_string().contains("--force"));
    drop(folder);
    assert!(names(dir.path()).is_empty());
    let folder = OutputFolder::open(&gate, out(dir.path().join("a")), Existing::Replace).unwrap();
    write(&folder, "one").unwrap();
    write(&folder, "one").unwrap();
    folder.keep();
    let folder = OutputFolder::open(&gate, out(dir.path().join("a")), Existing::Replace).unwrap();
    write(&folder, "one").unwrap();
    assert!(folder.check("two").is_ok());
    drop(folder);
    assert_eq!(names(&dir.path().join("a")), ["one"]);
    assert!(OutputFolder::open(&gate, out(dir.path().join("a/one")), Existing::Keep).is_err());
}
