//! A run before its first request: the planned work of its processes, and their machines.

use iosonar_archive::TargetInfo;
use iosonar_engine::{Prepared, TargetReady};
use iosonar_evidence::Environment;
use iosonar_plan::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::path::PathBuf;

/// Planned work of a process.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Intent {
    /// Use of each of its targets.
    pub targets: Vec<TargetUse>,
    /// Duration, if known.
    pub span: Option<Nanos>,
}

/// Planned use of a target by a process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TargetUse {
    /// Target number in the plan.
    pub number: u16,
    /// Canonical path of its file.
    pub file: PathBuf,
    /// Whether it is read.
    pub is_read: bool,
    /// Whether it is written.
    pub is_written: bool,
}

impl Intent {
    /// Returns the planned work of a prepared run, or of a part of one.
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

/// A machine with the targets executed there.
#[derive(Debug, Clone, PartialEq)]
pub struct MachineBefore {
    /// Name; `None`: this machine.
    pub host: Option<String>,
    /// Environment from its first process, with the targets of all of them.
    pub environment: Environment,
    /// Facts and planned use of each target.
    pub targets: Vec<(TargetInfo, TargetUse)>,
    /// The longest duration of a process there, if known.
    pub span: Option<Nanos>,
}

/// Marks every target whose file one of them writes as written: targets may name the same file.
pub fn share_writes<'a>(targets: impl Iterator<Item = &'a mut TargetUse>) {
    let targets: Vec<&mut TargetUse> = targets.collect();
    let written: HashSet<PathBuf> =
        targets.iter().filter(|own| own.is_written).map(|own| own.file.clone()).collect();
    targets.into_iter().for_each(|own| own.is_written = written.contains(&own.file));
}
