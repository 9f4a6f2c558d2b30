//! Any text as a plan: an error, or a plan that reads back unchanged.

/// See the module.
pub fn run(data: &[u8]) {
    let text = crate::text(data);
    if let Ok(plan) = iosonar_plan::Plan::from_toml(text) {
        assert_eq!(iosonar_plan::Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }
}
