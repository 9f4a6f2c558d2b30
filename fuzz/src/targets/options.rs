//! Any words as options, those in fio's words among them: an error or values, never a panic. The modules are those of the
//! command, which is no library.
#![no_main]
#![allow(dead_code)]

#[path = "../../crates/app/src/analyze_args.rs"]
mod analyze_args;
#[path = "../../crates/app/src/args.rs"]
mod args;
#[path = "../../crates/app/src/blkreplay_args.rs"]
mod blkreplay_args;
#[path = "../../crates/app/src/check_args.rs"]
mod check_args;
#[path = "../../crates/app/src/compare_args.rs"]
mod compare_args;
#[path = "../../crates/app/src/convert_args.rs"]
mod convert_args;
#[path = "../../crates/app/src/derive_args.rs"]
mod derive_args;
#[path = "../../crates/app/src/knee_args.rs"]
mod knee_args;
#[path = "../../crates/app/src/means_args.rs"]
mod means_args;
#[path = "../../crates/app/src/plot_args.rs"]
mod plot_args;
#[path = "../../crates/app/src/record_args.rs"]
mod record_args;
#[path = "../../crates/app/src/run_args.rs"]
mod run_args;
#[path = "../../crates/app/src/steps_args.rs"]
mod steps_args;

use clap::Parser;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = args::Cli::try_parse_from(["iosonar"].into_iter().chain(text.split_whitespace()));
    // Most that is wrong with a word is found in the options that have a form of their own.
    for option in
        ["--bs", "--bsrange", "--bssplit", "--random-distribution", "--pin", "--sim-stall", "--rate"]
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
});
