//! Other possible writers of a file, whose content must not permit anything.

use iosonar_text::shown;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Mode bit.
const WRITABLE_BY_ALL: u32 = 0o002;

/// Names a user other than this one who may have written one of these files or directories. Missing ones have no writer.
pub fn other_writer<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Option<String> {
    let user = rustix::process::geteuid().as_raw();
    let of = |path: &Path| writer(path, &path.metadata().ok()?, user);
    paths.into_iter().find_map(of)
}

fn writer(path: &Path, facts: &Metadata, user: u32) -> Option<String> {
    let name = shown(&path);
    match () {
        () if facts.uid() != user => Some(format!("{name} belongs to another user (uid {})", facts.uid())),
        () if facts.mode() & WRITABLE_BY_ALL != 0 => Some(format!("every user may write {name}")),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn reports_files_writable_by_other_users() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        assert_eq!(other_writer([&*path]), None);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o664)).unwrap();
        assert_eq!(other_writer([dir.path(), &path]), None);
        let facts = path.metadata().unwrap();
        let told = writer(&path, &facts, facts.uid() + 1).unwrap();
        assert!(told.contains("belongs to another user"), "{told}");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        assert!(other_writer([dir.path(), &path]).unwrap().starts_with("every user may write"));
    }
}
