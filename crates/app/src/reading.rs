//! How traces are read, as typed.

use crate::args::convert::ReadingArgs;
use crate::exit::Failure;
use anyhow::anyhow;
use iosonar_inputs::traces::Reading;
use iosonar_trace::Format;
use iosonar_trace::kernel::blkparse::Form;
use iosonar_trace::kernel::{At, Timing};

/// The options as typed, with `default` as the default.
pub fn reading(args: &ReadingArgs, default: Timing) -> Result<Reading, Failure> {
    let form = args.blkparse_format.as_deref().map(|form| {
        let parsed = form.parse::<Form>();
        parsed.map_err(|why| Failure::refused(anyhow!("--blkparse-format '{form}': {why}")))
    });
    let form = form.transpose()?;
    let word = args.at.as_deref();
    let at = word.and_then(|word| At::ALL.iter().find(|(_, w)| *w == word)).map(|(at, _)| *at);
    if args.block_size.0 == 0 {
        return Err(Failure::refused(anyhow!("--block-size 0: a block has at least 1 byte")));
    }
    let typed = args.timing.or(args.guess_timing.then_some(Timing::Guessed));
    if at == Some(At::COMPLETE) && typed.is_some_and(|timing| timing != Timing::None) {
        return Err(Failure::refused(anyhow!(
            "--at complete: requests that count when they end have no start, so --timing can only be none"
        )));
    }
    Ok(Reading {
        from: form.map(Format::Blkparse).or(args.from.as_deref().and_then(Format::of_name)),
        direction: args.direction,
        at,
        timing: typed.unwrap_or(default),
        block: args.block_size.0,
        keep_order: args.keep_order,
        devices: args.device.clone(),
        processes: args.process.clone(),
        ..Reading::default()
    })
}
