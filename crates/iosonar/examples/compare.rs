//! Compares a result with a baseline: `cargo run -p iosonar --example compare`.

use iosonar::{Archive, Error as RunError, Input, Plan, Session, Silent, comparisons};
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

/// Measures a simulated device with this service time.
fn measure(service: &str, result: &Path) -> Result<(), RunError> {
    let plan = Plan::from_toml(&format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 4\nengine = {{ kind = \"sim\", service = \"{service}\" }}\n\
         [[target]]\npath = \"device\"\nsize = \"1GiB\"\n\
         workload = {{ kind = \"generated\", order = \"random\", block_size = \"4KiB\", read_percent = 100, \
         pace = {{ kind = \"closed\" }}, stop = {{ requests = 20000 }} }}\n"
    ));
    Session::new(Arc::new(Silent)).run(plan.map_err(RunError::refused)?, result)?;
    Ok(())
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (before, after) = (folder.path().join("before"), folder.path().join("after"));
    measure("100us", &before)?;
    measure("150us", &after)?;
    let inputs = [Input::of_archive(Archive::open(&before)?)?, Input::of_archive(Archive::open(&after)?)?];
    for comparison in comparisons(&inputs)? {
        println!("{}", comparison.answer.text);
        comparison.cautions.iter().for_each(|caution| println!("caution: {caution}"));
        assert!(comparison.answer.text.contains("slower"), "{}", comparison.answer.text);
    }
    Ok(())
}
