//! Any words as options, those in fio's words among them: an error or values, never a panic.

use iosonar_cli::accepts;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    accepts(&["iosonar"].into_iter().chain(text.split_whitespace()).collect::<Vec<_>>());
    // Most errors are found in options with a separate syntax.
    for option in
        ["--bs", "--bsrange", "--bssplit", "--random-distribution", "--pin", "--sim-stall", "--sim-change", "--rate"]
    {
        accepts(&["iosonar", "run", option, text]);
    }
    for option in ["--windows", "--range", "--device-size"] {
        accepts(&["iosonar", "plot", "load", option, text]);
    }
    for option in ["--form", "--device", "--at"] {
        accepts(&["iosonar", "convert", "in", "out", option, text]);
    }
    for option in ["--duration", "--buffer", "--max-size"] {
        accepts(&["iosonar", "record", "/dev/null", option, text]);
    }
    accepts(&["iosonar", "filter", text, "load"]);
    accepts(&["iosonar", "compare", "a", "b", "--fail-if", text]);
}
