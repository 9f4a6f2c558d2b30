//! Any bytes as the counts of records that are elsewhere: an error, or a summary and pictures.

use iosonar_analyze::{Counted, Detail, Limits, Partial, Records, Summary, Wanted, pass};
use iosonar_archive::{Fields, Record, RunInfo};
use iosonar_plan::Plan;
use std::io;
use std::panic::{self, AssertUnwindSafe};

const PLAN: &str = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n[[target]]\npath = 'a.img'\n\
                    workload = { kind = 'trace', file = 'a.load' }";

struct Elsewhere<'a>(&'a [u8]);

impl Records for Elsewhere<'_> {
    fn read_part(&self, _: usize, _: Fields, _: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        Ok(())
    }

    fn counts_elsewhere(&self, targets: usize) -> io::Result<Option<Partial>> {
        let limits = Limits::default();
        let counted = Counted { targets, limits: Some(&limits), diagrams: Some(Detail::Full) };
        Partial::stored(counted, &Partial::framed(self.0)).map(Some)
    }
}

/// See the module.
pub fn run(data: &[u8]) {
    let Err(panic) = panic::catch_unwind(AssertUnwindSafe(|| summarize(data))) else { return };
    // Sums of numbers that no run can have are wrong, where they are not checked.
    let is_sum = panic.downcast_ref::<&str>().is_some_and(|why| why.ends_with("with overflow"));
    if !is_sum {
        panic::resume_unwind(panic);
    }
}

fn summarize(data: &[u8]) {
    let wanted = Wanted { tally: true, diagrams: Some(Detail::Full), readers: 1, ..Wanted::nothing() };
    let counted = pass(&Elsewhere(data), 1, &Limits::default(), &wanted);
    let Ok(Some(tally)) = counted.map(|counted| counted.tally) else { return };
    let plan = Plan::from_toml(PLAN).expect("it is a plan");
    let info = RunInfo::new("fuzz", "", vec![Default::default()]);
    assert!(!Summary::new(&tally, &plan, &info).to_json().is_empty());
}
