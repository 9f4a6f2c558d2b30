//! The synthetic runs of the texts, and a place for pictures.
#![allow(dead_code, unused_imports, reason = "each test file uses a part")]

#[path = "../../../plaintext/tests/common/mod.rs"]
mod runs;
pub use runs::*;

/// A directory without checks.
pub struct Plain<'a>(pub &'a std::path::Path);

impl iosonar_view::Folder for Plain<'_> {
    fn write(
        &self,
        name: &str,
        fill: &mut dyn FnMut(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> std::io::Result<std::path::PathBuf> {
        let path = self.0.join(name);
        fill(&mut std::fs::File::create(&path)?)?;
        Ok(path)
    }
}
