//! A partly parsed command line: settings of the run, and changes to apply to targets once all are named.

use crate::check;
use crate::command::Command;
use crate::settings::{DEFAULT_ID, GlobalSettings, Settings, TargetSettings, Typed};
use iosonar_dialect_common::{UsageError, quoted};

/// A change to one target or to all.
pub(crate) struct Each {
    pub(crate) typed: String,
    /// Target index; `None` means all.
    pub(crate) target: Option<u16>,
    pub(crate) change: Change,
}

/// The change; its first argument is the target's number.
pub(crate) type Change = Box<dyn Fn(u16, &mut TargetSettings)>;

/// Settings read so far.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) global: GlobalSettings,
    /// Names of targets.
    pub(crate) names: Vec<String>,
    /// From left to right: a later one overrides an earlier one, even if only the earlier names a target.
    pub(crate) each: Vec<Each>,
    pub(crate) typed: Typed,
    /// Command to execute instead of a run.
    pub(crate) answer: Option<Command>,
}

impl Draft {
    pub(crate) fn new(command_line: String) -> Draft {
        let global = GlobalSettings { command_line, ..GlobalSettings::default() };
        Draft { global, ..Draft::default() }
    }

    /// Applies all changes, and checks the result.
    pub(crate) fn finish(self) -> Result<Settings, UsageError> {
        let Draft { mut global, names, each, typed, .. } = self;
        if names.is_empty() {
            return Err(UsageError::of(
                &typed.name("targets"),
                "no target is named: give at least one, for example -targets 1 FILE",
            ));
        }
        let count = names.len();
        let mut targets: Vec<TargetSettings> = names.into_iter().map(TargetSettings::new).collect();
        for Each { typed, target, change } in each {
            let Some(number) = target else {
                (0u16..).zip(&mut targets).for_each(|(number, target)| change(number, target));
                continue;
            };
            let target = targets.get_mut(usize::from(number));
            change(number, target.ok_or_else(|| no_target(&typed, number, count))?);
        }
        if global.id.is_empty() {
            global.id = DEFAULT_ID.into();
        }
        let mut settings = Settings { targets, global, typed };
        check::check(&mut settings)?;
        Ok(settings)
    }
}

/// Error for an option that names a missing target.
pub(crate) fn no_target(typed: &str, number: u16, count: usize) -> UsageError {
    let known = match count {
        1 => "there is only target 0".into(),
        _ => format!("there are targets 0 to {}", count - 1),
    };
    UsageError::of(typed, &format!("there is no target {number}: {known}"))
}

/// Name of a target in messages.
pub(crate) fn target_name(number: usize, target: &TargetSettings) -> String {
    format!("target {number} ({})", quoted(&target.path()))
}
