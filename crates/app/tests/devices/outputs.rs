//! The output gate through the binary, with real devices: `lab/outputs.sh` has the matrix of all commands.

use std::path::Path;
use std::process::Command;

#[test]
fn no_output_option_of_any_command_touches_a_device_an_image_an_input_or_a_target() {
    needs!("mkfs.ext4", "bash");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/outputs.sh");
    let ended = Command::new("bash").arg(script).arg(env!("CARGO_BIN_EXE_iosonar")).output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{text}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(text.contains("refusals as they should be, 0 not"), "{text}");
}
