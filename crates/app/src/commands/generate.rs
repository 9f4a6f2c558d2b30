//! `iosonar load generate`: synthetic loads.

use crate::args::load::{GenerateArgs, ShapeArg};
use crate::exit::{Exit, Failure};
use crate::session;
use anyhow::anyhow;
use iosonar_load::generate::{Shape, Spec, generate as write_load};
use iosonar_plan::SECTOR;
use iosonar_studies::loads::NewLoad;
use std::io::stdout;

/// Minimum region: two of the largest generated requests.
const MIN_SECTORS: u64 = 128;

/// Makes a load; reports its number of requests.
pub fn generate(args: GenerateArgs) -> Result<Exit, Failure> {
    let sectors = args.size.0 / SECTOR;
    if sectors < MIN_SECTORS {
        return Err(Failure::refused(anyhow!("--size {}: use at least 64KiB", args.size)));
    }
    let shape = match args.shape {
        ShapeArg::Bursts => Shape::Bursts { growth: args.rate },
        ShapeArg::Mixed => Shape::Mixed { rate: args.rate },
    };
    let spec = Spec { shape, duration: args.duration, sectors, read_percent: args.reads, seed: args.seed };
    let load = NewLoad { option: "FILE", path: &args.out };
    load.write(&session::printing(), &mut stdout().lock(), |mut out| Ok(write_load(&spec, &mut out)?))?;
    Ok(Exit::Fine)
}
