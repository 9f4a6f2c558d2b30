//! Any words as an IOzone command line: an error in one line or a matrix, never a panic, and its plan holds together and reads
//! back.

use iosonar_dialect_iozone::{Command, parse};
use iosonar_plan::Plan;

/// Parts of a matrix whose plan is made: larger ones take long.
const MOST: usize = 200;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    let words: Vec<String> = text.split(' ').map(String::from).collect();
    let is_line = |text: String| assert!(!text.chars().any(char::is_control));
    let settings = match parse(&words) {
        Ok(Command::Run(settings)) => settings,
        Ok(Command::Help | Command::Version) => return,
        Err(error) => return is_line(error.to_string()),
    };
    match settings.matrix(1) {
        Ok(matrix) => {
            let units = matrix.units();
            let streams: u64 = units.iter().map(|unit| u64::from(unit.streams)).sum();
            if units.len() <= MOST && streams <= MOST as u64 {
                let Ok(plan) = matrix.plan(&units) else { return };
                assert_eq!(Plan::from_toml(&plan.to_toml()).expect("a plan that was printed"), plan);
            }
        }
        Err(error) => is_line(error.to_string()),
    }
}
