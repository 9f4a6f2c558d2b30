//! The examples of `docs/shapes.md`, each a script that makes a result with its name.

use crate::loads::root;
use std::path::PathBuf;

/// An example of a shape.
#[derive(Debug, Clone)]
pub struct ShapeExample {
    /// Its name, and that of its result.
    pub id: String,
    /// The script that makes the result in the current directory.
    pub script: PathBuf,
    /// Whether a simulated device makes it.
    pub is_simulated: bool,
}

/// All examples by name.
pub fn shape_examples() -> Vec<ShapeExample> {
    let example = |script: PathBuf| {
        let id = script.file_name()?.to_str()?.strip_suffix(".sh")?.to_owned();
        let text = std::fs::read_to_string(&script).expect("a script");
        let is_simulated = text.contains("--engine sim") || text.contains("kind = \"sim\"");
        Some(ShapeExample { id, script, is_simulated })
    };
    let entries = std::fs::read_dir(root().join("examples/shapes")).expect("examples/shapes");
    let mut all: Vec<ShapeExample> = entries.filter_map(|entry| example(entry.ok()?.path())).collect();
    all.sort_by(|a, b| a.id.cmp(&b.id));
    all
}
