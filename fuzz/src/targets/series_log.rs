//! Any text as the log of named samples: each line is a sample or skipped, and a sample reads back unchanged.

use iosonar_archive::parse_sample;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    for line in text.split_inclusive('\n') {
        if let Some((time, value, name)) = parse_sample(line) {
            let again = format!("{time},{value},{name}\n");
            let (time2, value2, name2) = parse_sample(&again).expect("what is written can be read");
            assert!(time2 == time && name2 == name && (value2 == value || value.is_nan()));
        }
    }
}
