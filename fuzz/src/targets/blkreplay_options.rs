//! Any words as a blkreplay command line: an error in one line or a plan, never a panic, and the plan is valid and reads back.

use iosonar_dialect_blkreplay::{Command, parse};
use iosonar_plan::Plan;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    let words: Vec<String> = text.split(' ').map(String::from).collect();
    match parse(&words) {
        Ok(Command::Run(settings)) => {
            let plan = settings.plan(1);
            plan.validate().expect("what was parsed can be carried out");
            assert_eq!(Plan::from_toml(&plan.to_toml()).expect("a plan that was printed"), plan);
        }
        Ok(Command::Usage) => {}
        Err(error) => assert!(!error.to_string().chars().any(char::is_control)),
    }
}
