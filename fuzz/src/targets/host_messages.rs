//! Any bytes from another machine: an error, or messages that read back unchanged after their texts were made harmless.

use iosonar_cluster::protocol::{Order, Report, harmless, hear, say};

/// See the module.
pub fn run(data: &[u8]) {
    let mut from = data;
    while let Ok(Some(report)) = hear::<Report>(&mut from) {
        let mut line = Vec::new();
        say(&mut line, &harmless(report)).unwrap();
        let text = String::from_utf8(line.clone()).unwrap();
        assert!(!text.trim_end_matches('\n').contains(char::is_control), "{text}");
        let again: Report = hear(&mut &line[..]).unwrap().unwrap();
        assert_eq!(harmless(again.clone()), again);
    }
    let mut from = data;
    while let Ok(Some(order)) = hear::<Order>(&mut from) {
        let mut line = Vec::new();
        say(&mut line, &order).unwrap();
        assert_eq!(hear::<Order>(&mut &line[..]).unwrap(), Some(order));
    }
}
