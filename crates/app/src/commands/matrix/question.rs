//! The question of `iosonar matrix`.

use crate::args::matrix::{CacheArg, MatrixArgs};
use crate::commands::on_hosts;
use crate::exit::Failure;
use crate::output::unused_dated;
use anyhow::anyhow;
use iosonar_cells::{Question as Asked, Timed};
use iosonar_studies::matrix::{Cells, Question};
use std::path::PathBuf;

/// Translates the arguments.
pub fn question(args: &MatrixArgs) -> Result<Question, Failure> {
    let result = &args.result;
    let cells = match &result.resume {
        Some(dir) => Cells::Resumed { dir: dir.clone(), asked: typed(args)? },
        None => Cells::New {
            asked: asked(args)?,
            out: result.out.clone().unwrap_or_else(|| unused_dated("matrix")),
        },
    };
    Ok(Question {
        cells,
        destroy: args.way.destroy,
        keep: args.way.keep,
        no_records: result.no_records,
        csv_safe: result.csv_safe,
    })
}

/// The question typed with `--resume`, if any.
fn typed(args: &MatrixArgs) -> Result<Option<Asked>, Failure> {
    (!args.files.is_empty()).then(|| asked(args)).transpose()
}

fn asked(args: &MatrixArgs) -> Result<Asked, Failure> {
    let (cells, way) = (&args.cells, &args.way);
    let executors = on_hosts::executors(&args.reach)?;
    let streams = match cells.streams.as_slice() {
        [] => vec![executors.len().max(1) as u32],
        typed => typed.to_vec(),
    };
    let most = streams.iter().copied().max().unwrap_or(1) as usize;
    let files = files(&args.files, most)?;
    let asked = Asked {
        files,
        executors,
        tests: Asked::tests_of(&cells.tests, &streams, cells.methods.len()).map_err(Failure::refused)?,
        sizes: cells.sizes.0.clone(),
        records: cells.records.0.clone(),
        all_pairs: cells.all_pairs,
        streams,
        methods: cells.methods.clone(),
        depth: way.depth,
        repeat: cells.repeat,
        cold: way.cache == CacheArg::Cold,
        direct: way.direct,
        sync: way.sync,
        stonewall: !way.no_stonewall,
        stride: way.stride,
        timed: Timed { fsync: way.include_flush, close: way.include_close, ..Timed::default() },
        seed: way.seed,
        keep: way.keep,
        destroy: way.destroy,
        claim: way.claim,
    };
    // So that it can be continued from another directory. A path of a host may start in the home directory there.
    let complete = |(stream, name): (usize, &PathBuf)| match asked.executor(stream).host() {
        Some(_) => Ok(name.clone()),
        None => std::path::absolute(name).map_err(Failure::refused),
    };
    let files = asked.files.iter().enumerate().map(complete).collect::<Result<_, _>>()?;
    Ok(Asked { files, ..asked })
}

/// As many names as there are streams.
fn files(named: &[PathBuf], streams: usize) -> Result<Vec<PathBuf>, Failure> {
    Ok(match named {
        [file] if streams > 1 => (0..streams)
            .map(|number| {
                let mut name = file.clone().into_os_string();
                name.push(format!(".{number}"));
                name.into()
            })
            .collect(),
        _ if named.len() < streams => {
            return Err(Failure::refused(anyhow!(
                "--streams {streams}: {} files are named: name one, or as many as streams",
                named.len()
            )));
        }
        _ => named[..streams].to_vec(),
    })
}
