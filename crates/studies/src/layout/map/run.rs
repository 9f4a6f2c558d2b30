//! Reads the maps.

use super::answer::Answer;
use super::question::Question;
use crate::each_file::{Visited, visit};
use crate::files::open;
use iosonar_host::extent_map::{Keep, MapReader};
use iosonar_layout::Map;
use iosonar_runner::Session;
use std::cmp::Reverse;
use std::path::Path;

/// Reads the maps of files. A file that fails is reported, and is part of the answer.
pub fn run(session: &Session, question: &Question) -> Answer {
    let keeps = if question.keeps_extents { Keep::Extents } else { Keep::Figures };
    let mut reader = MapReader::new(question.flushes, keeps);
    let visited = visit(session, &question.files, |path| map_of(&mut reader, path));
    let Visited { found: mut maps, errors } = visited;
    maps.sort_by_key(|map| Reverse((map.figures.least_fragments(), map.figures.records)));
    Answer { maps, errors }
}

fn map_of(reader: &mut MapReader, path: &Path) -> Result<Map, String> {
    let (file, _) = open(path)?;
    reader.read(path, &file).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::each_file::Success;
    use iosonar_runner::Silent;
    use std::os::unix::fs::FileExt;
    use std::sync::Arc;

    #[test]
    fn the_most_fragmented_file_is_first() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("a"), [7; 4096]).unwrap();
        let sparse = std::fs::File::create(at("b")).unwrap();
        [0, 1 << 20, 2 << 20].iter().for_each(|offset| sparse.write_all_at(&[7; 4096], *offset).unwrap());
        let files = vec![at("nowhere"), at("a"), at("b")];
        let question = Question { files, flushes: true, keeps_extents: true };
        let answer = run(&Session::new(Arc::new(Silent)), &question);
        if answer.maps.is_empty() {
            return println!("skipped: a file system in memory has no extent maps: {:?}", answer.errors);
        }
        let names: Vec<_> = answer.maps.iter().map(|map| map.path.clone()).collect();
        assert_eq!((names, answer.success()), (vec![at("b"), at("a")], Success::Some));
        assert!(answer.maps.iter().all(|map| map.rows.is_some()));
        let json = serde_json::to_value(answer.json()).unwrap();
        assert_eq!(json["errors"][0]["path"], at("nowhere").display().to_string());
        let figures = Question { keeps_extents: false, ..question };
        assert!(run(&Session::new(Arc::new(Silent)), &figures).maps.iter().all(|map| map.rows.is_none()));
    }
}
