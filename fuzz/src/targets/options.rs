//! Any words as options, those in fio's words among them: an error or values, never a panic. The modules are
//! those of the command, which is no library.

use crate::args;
use clap::Parser;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    let _ = args::Cli::try_parse_from(["iosonar"].into_iter().chain(text.split_whitespace()));
    // Most errors are found in options with a separate syntax.
    for option in
        ["--bs", "--bsrange", "--bssplit", "--random-distribution", "--pin", "--sim-stall", "--sim-change", "--rate"]
    {
        let _ = args::Cli::try_parse_from(["iosonar", "run", option, text]);
    }
    for option in ["--windows", "--range", "--device-size"] {
        let _ = args::Cli::try_parse_from(["iosonar", "plot", "load", option, text]);
    }
    for option in ["--form", "--device", "--at"] {
        let _ = args::Cli::try_parse_from(["iosonar", "convert", "in", "out", option, text]);
    }
    for option in ["--duration", "--buffer", "--max-size"] {
        let _ = args::Cli::try_parse_from(["iosonar", "record", "/dev/null", option, text]);
    }
    let _ = args::Cli::try_parse_from(["iosonar", "filter", text, "load"]);
    let _ = args::Cli::try_parse_from(["iosonar", "compare", "a", "b", "--fail-if", text]);
}
