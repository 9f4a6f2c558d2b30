//! Replays a load on a file, with progress and notices: `cargo run -p iosonar --example replay`.

use iosonar::{Notice, Observer, Plan, Scene, Session, Stage};
use std::error::Error;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// Four requests: time in seconds, sector, length in sectors, operation.
const LOAD: &str = "\
0.000000000 ; 0 ; 8 ; W ; 0.0 ; 0.0
0.010000000 ; 64 ; 16 ; W ; 0.0 ; 0.0
0.020000000 ; 0 ; 8 ; R ; 0.0 ; 0.0
0.030000000 ; 64 ; 16 ; R ; 0.0 ; 0.0
";

/// Prints what the session reports.
struct Printer;

impl Observer for Printer {
    fn notice(&self, notice: &Notice<'_>) {
        println!("{notice}");
    }

    fn stage(&self, stage: Stage) {
        println!("stage: {stage:?}");
    }

    fn scene(&self, scene: &Scene<'_>) {
        while !scene.is_over() {
            sleep(Duration::from_millis(10));
        }
        println!("all requests are over");
    }
}

/// Runs the example.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (load, target) = (folder.path().join("own.load"), folder.path().join("target.img"));
    std::fs::write(&load, LOAD)?;
    std::fs::write(&target, vec![0; 1 << 20])?;
    // Buffered, because not every file system of temporary files has direct I/O.
    let plan = Plan::from_toml(&format!(
        "version = 2\nrun_id = {}\nseed = 1\ndepth = 8\naccess = {{ buffered = true }}\n\
         [[target]]\npath = {target:?}\nworkload = {{ kind = \"trace\", file = {load:?} }}\n",
        iosonar::new_run_id()
    ))?;
    let concluded = Session::new(Arc::new(Printer)).run(plan, &folder.path().join("result"))?;
    let counts = &concluded.figures.summary.counts;
    println!("{} reads and {} writes completed", counts.read.completed, counts.write.completed);
    assert_eq!((counts.read.completed, counts.write.completed), (2, 2));
    Ok(())
}
