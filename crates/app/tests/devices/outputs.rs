//! The output gate through the binary, with real devices: `lab/outputs.sh` has the matrix of all
//! output options, `lab/foreign.sh` runs all commands beside things of others.

use std::path::Path;
use std::process::Command;

/// Runs a script of the laboratory, whose last line gives the number of cases passed.
fn laboratory(script: &str, told: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab").join(script);
    let ended = Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_iosonar")).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{text}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(text.contains(told), "{text}");
}

#[test]
fn no_output_option_of_any_command_touches_a_device_an_image_an_input_or_a_target() {
    needs!(beside others; "mkfs.ext4", "bash");
    laboratory("outputs.sh", "refusals as they should be, 0 not");
}

#[test]
fn no_command_changes_foreign_things() {
    needs!(beside others; "mkfs.ext4", "bash");
    laboratory("foreign.sh", "times nothing of others changed, 0 failures");
}
