//! Any text as a plan: an error, or a plan that reads back as it was.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(plan) = iosonar_plan::Plan::from_toml(text) {
        assert_eq!(iosonar_plan::Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }
});
