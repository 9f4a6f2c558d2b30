//! A run before its first request: what its processes are going to do, and the machines on which they will do it.

use iosonar_archive::TargetInfo;
use iosonar_engine::{Prepared, TargetReady};
use iosonar_evidence::Environment;
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// What a process is going to do.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Intent {
    /// What it does to each of its targets.
    pub targets: Vec<TargetUse>,
    /// How long that takes, where it is known.
    pub span: Option<Nanos>,
}

/// What a process is going to do to a target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetUse {
    /// Its number in the plan.
    pub number: u16,
    /// The file that it is, by its one name without links.
    pub file: PathBuf,
    /// Whether it is read.
    pub is_read: bool,
    /// Whether it is written.
    pub is_written: bool,
}

impl Intent {
    /// What is known of a prepared run, or of a part of one.
    pub fn of(prepared: &Prepared) -> Intent {
        let one = |target: TargetReady<'_>| {
            let file = target.path().canonicalize().unwrap_or(target.path().clone());
            let number = u16::try_from(target.number()).ok()?;
            Some(TargetUse { number, file, is_read: target.is_read(), is_written: target.is_written() })
        };
        let mut targets: Vec<TargetUse> = prepared.targets().into_iter().filter_map(one).collect();
        share_writes(targets.iter_mut());
        Intent { targets, span: prepared.expected_span() }
    }
}

/// A machine with the targets that are executed there.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineBefore {
    /// Its name; none: this machine.
    pub host: Option<String>,
    /// What its first process found, with the targets of all of them.
    pub environment: Environment,
    /// What is known of each target, and what is going to be done to it.
    pub targets: Vec<(TargetInfo, TargetUse)>,
    /// The longest time that a process there is going to take, where one knows that.
    pub span: Option<Nanos>,
}

/// Marks every target whose file one of them writes as written: targets may name the same file.
pub fn share_writes<'a>(targets: impl Iterator<Item = &'a mut TargetUse>) {
    let targets: Vec<&mut TargetUse> = targets.collect();
    let written: HashSet<PathBuf> =
        targets.iter().filter(|own| own.is_written).map(|own| own.file.clone()).collect();
    targets.into_iter().for_each(|own| own.is_written = written.contains(&own.file));
}
