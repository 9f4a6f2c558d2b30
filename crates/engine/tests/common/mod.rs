//! Common parts of runs on the simulated device: numbers from a seed, and a run from plan to records.

use iosonar_archive::{Archive, ArchiveWriter, Record, RunInfo};
use iosonar_engine::{Control, Progress, prepare};
use iosonar_host::Root;
use iosonar_plan::{Nanos, Plan};
use std::path::Path;
use std::sync::Arc;

/// Small numbers from a seed (splitmix64).
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.roll() % n
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A run that is over.
pub struct Ran {
    pub info: RunInfo,
    pub records: Vec<Record>,
}

/// Executes a plan; the records come in the order of target, pass and source.
pub fn run(dir: &Path, plan: &Plan, stop_at: Option<Nanos>) -> Ran {
    let prepared =
        prepare(plan.clone(), &Root::default(), Arc::new(|_, _| {})).expect("a plan that can be carried out");
    let (control, progress) = (Control::default(), Arc::new(Progress::new(prepared.workers())));
    if let Some(time) = stop_at {
        control.stop_at(time);
    }
    let out = dir.join("result");
    let info = prepared.info("test", "");
    let archive = ArchiveWriter::create(&out, plan, &Default::default(), &info).expect("an archive");
    let info = prepared.run(&archive, info, &control, &progress).expect("a run");
    let mut records = Vec::new();
    Archive::open(&out).unwrap().for_each_record(&mut |r| records.push(*r)).expect("readable records");
    std::fs::remove_dir_all(&out).expect("the result can be removed");
    records.sort_by_key(|r| (r.target, r.pass, r.sequence));
    Ran { info, records }
}
