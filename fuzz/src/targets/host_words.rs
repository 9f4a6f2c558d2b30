//! Any words after `--on`: an error, or machines in bounded number.

use iosonar_cluster::Placement;

/// See the module.
pub fn run(data: &[u8]) {
    let words: Vec<String> = crate::text(data).split_whitespace().map(String::from).collect();
    // A file would be read.
    if words.iter().all(|word| !word.starts_with('@'))
        && let Ok(placement) = Placement::parse(&words)
    {
        assert!(placement.targets().len() <= 4096);
    }
}
