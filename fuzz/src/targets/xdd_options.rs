//! Any words as an XDD command line, with a setup file of the same words: an error or a plan, never a panic, and a plan that is
//! valid reads back.

use iosonar_dialect_xdd::{Command, parse};
use iosonar_plan::Plan;

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    let words: Vec<String> = text.split_whitespace().map(String::from).collect();
    let Ok(Command::Run(settings)) = parse(&words, &mut |_| Ok(text.into())) else { return };
    let Ok(plan) = settings.plan(1) else { return };
    if plan.validate().is_ok() {
        assert_eq!(Plan::from_toml(&plan.to_toml()).expect("a plan that was printed"), plan);
    }
}
