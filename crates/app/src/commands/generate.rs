//! `iosonar generate`: artificial loads.

use crate::args::{GenerateArgs, ShapeArg};
use crate::exit::{Exit, Failure};
use crate::output::tell;
use anyhow::{Context, anyhow};
use flate2::{Compression, write::GzEncoder};
use iosonar_load::generate::{Shape, Spec, generate as write_load};
use iosonar_plan::SECTOR;
use std::fs::File;
use std::io::{BufWriter, Write};

/// Least region: two of the largest requests that are made.
const MIN_SECTORS: u64 = 128;

/// Makes a load; says how many requests it has.
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
    let name = args.out.display();
    if args.out.as_os_str() == "-" {
        write_load(&spec, &mut BufWriter::new(std::io::stdout().lock()))?;
        return Ok(Exit::Fine);
    }
    let file = File::create_new(&args.out)
        .with_context(|| format!("cannot make {name}; what exists is never overwritten: name another file"))
        .map_err(Failure::refused)?;
    let count = if args.out.extension().is_some_and(|e| e == "gz") {
        let mut out = GzEncoder::new(BufWriter::new(file), Compression::default());
        let count = write_load(&spec, &mut out)?;
        out.finish()?.flush()?;
        count
    } else {
        let mut out = BufWriter::new(file);
        let count = write_load(&spec, &mut out)?;
        out.flush()?;
        count
    };
    tell(format_args!("{name}: {count} requests"));
    Ok(Exit::Fine)
}
