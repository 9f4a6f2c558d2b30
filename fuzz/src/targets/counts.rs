//! Any bytes as the counts of records that are elsewhere: an error, or a summary and pictures.

use crate::text;
use iosonar_analyze::{Detail, Limits, Records, Summary, Wanted, pass};
use iosonar_archive::{Fields, Record, RunInfo};
use iosonar_plan::Plan;
use std::io;

/// Sums of longer numbers overflow: they are wrong, and no index.
const LONGEST_NUMBER: usize = 15;

/// The least time of no requests.
const NOTHING: &[u8] = b"18446744073709551615";

const PLAN: &str = "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\n[[target]]\npath = 'a.img'\n\
                    workload = { kind = 'trace', file = 'a.load' }";

struct Elsewhere<'a>(&'a str);

impl Records for Elsewhere<'_> {
    fn read_part(&self, _: usize, _: Fields, _: &mut dyn FnMut(&[Record])) -> io::Result<()> {
        Ok(())
    }

    fn counts_elsewhere(&self) -> io::Result<Option<String>> {
        Ok(Some(self.0.into()))
    }
}

/// See the module.
pub fn run(data: &[u8]) {
    let is_long = |digits: &[u8]| digits.len() > LONGEST_NUMBER && digits != NOTHING;
    if data.split(|byte| !byte.is_ascii_digit()).any(is_long) {
        return;
    }
    let wanted = Wanted { tally: true, diagrams: Some(Detail::Full), readers: 1, ..Wanted::nothing() };
    let counted = pass(&Elsewhere(text(data)), 1, &Limits::default(), &wanted);
    let Ok(Some(tally)) = counted.map(|counted| counted.tally) else { return };
    let plan = Plan::from_toml(PLAN).expect("it is a plan");
    let info = RunInfo::new("fuzz", "", vec![Default::default()]);
    assert!(!Summary::new(&tally, &plan, &info).to_json().is_empty());
}
