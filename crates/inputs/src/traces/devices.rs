//! The names of devices: one is `/dev/sda` for one trace and `8,0` for another.

use crate::OpenError;
use iosonar_archive::Archive;
use iosonar_evidence::{TargetFacts, TargetKind};
use std::path::{Path, PathBuf};

/// Devices that are named in a message.
const NAMED: usize = 8;

/// Names of the same device, as far as archives and recordings list them.
#[derive(Debug, Clone, Default)]
pub struct DeviceNames {
    groups: Vec<Vec<String>>,
}

impl DeviceNames {
    /// Reads the names from these inputs; files of other forms have only the names of their requests.
    pub fn of(paths: &[PathBuf]) -> DeviceNames {
        DeviceNames { groups: paths.iter().flat_map(|path| of_targets(path)).collect() }
    }

    /// Joins the names of both.
    pub fn and(mut self, other: &DeviceNames) -> DeviceNames {
        self.groups.extend_from_slice(&other.groups);
        self
    }

    /// Whether both are names of one device.
    pub fn are_same(&self, a: &str, b: &str) -> bool {
        let (a, b) = (usual(a), usual(b));
        a == b || self.groups.iter().any(|group| group.contains(&a) && group.contains(&b))
    }
}

/// The names of the targets of an archive.
fn of_targets(path: &Path) -> Vec<Vec<String>> {
    if !path.is_dir() {
        return Vec::new();
    }
    let environment = Archive::open(path).map(|archive| archive.environment()).unwrap_or_default();
    environment.targets.iter().map(names).collect()
}

fn names(facts: &TargetFacts) -> Vec<String> {
    let mut names = vec![facts.path.display().to_string(), facts.resolved.display().to_string()];
    if let TargetKind::BlockDevice(device) = &facts.kind {
        names.extend([device.number.to_string(), device.dev_path().display().to_string()]);
    }
    names.iter().map(|name| usual(name)).collect()
}

/// Normalises a name: `8:0` becomes `8,0`, and `sda` becomes `/dev/sda`.
fn usual(name: &str) -> String {
    name.strip_prefix("/dev/").unwrap_or(name).replace(':', ",")
}

/// Some devices for a message.
fn listed(devices: &[String]) -> String {
    let more = if devices.len() > NAMED { " …" } else { "" };
    let some: Vec<&str> = devices.iter().take(NAMED).map(String::as_str).collect();
    some.join("  ") + more
}

/// Refuses names typed with `--device` that are not devices of the trace, once it has been read.
pub(super) fn refuse_unknown(
    wanted: &[String],
    devices: &[String],
    names: &DeviceNames,
    trace: &str,
) -> Result<(), OpenError> {
    let is_there = |wanted: &&String| devices.iter().any(|device| names.are_same(device, wanted));
    let Some(unknown) = wanted.iter().find(|wanted| !is_there(wanted)) else { return Ok(()) };
    if devices.is_empty() {
        return Ok(());
    }
    if devices.iter().all(String::is_empty) {
        return Err(OpenError::option(
            format_args!("--device {unknown}"),
            format_args!("{trace} names no devices: leave the option out"),
        ));
    }
    Err(OpenError::option(
        format_args!("--device {unknown}"),
        format_args!("{trace} has no such device; those that it has: {}", listed(devices)),
    ))
}

/// Numbering of the devices of two traces, so that equal numbers mean the same device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Matched {
    /// All are treated as one device; a reason if that may surprise.
    AsOne(Option<String>),
    /// New numbers of the devices of either trace, and the names of the numbers.
    ByName {
        /// For the first one's devices, in their order.
        first: Vec<u16>,
        /// For the second one's devices.
        second: Vec<u16>,
        /// Indexed by number.
        names: Vec<String>,
    },
}

/// Matches the devices of two traces.
///
/// # Errors
/// Both have several, and no pair is known to be the same device.
pub fn matched(first: &[String], second: &[String], names: &DeviceNames) -> Result<Matched, OpenError> {
    if first.len() <= 1 && second.len() <= 1 {
        return Ok(Matched::AsOne(None));
    }
    let same = |name: &String| second.iter().position(|other| names.are_same(name, other));
    let places: Vec<Option<usize>> = first.iter().map(same).collect();
    let are_named = first.iter().chain(second).all(|name| !name.is_empty());
    if !are_named || places.iter().all(Option::is_none) {
        if first.len() > 1 && second.len() > 1 {
            return Err(OpenError::Unmatched { first: listed(first), second: listed(second) });
        }
        let several = listed(if first.len() > 1 { first } else { second });
        return Ok(Matched::AsOne(Some(format!(
            "which of the devices {several} the other one's is, is not known: all are taken for one; choose with --device"
        ))));
    }
    let mut all = second.to_vec();
    let mut number = |(name, place): (&String, Option<usize>)| {
        place.unwrap_or_else(|| {
            all.push(name.clone());
            all.len() - 1
        })
    };
    let first: Vec<usize> = first.iter().zip(places).map(&mut number).collect();
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    Ok(Matched::ByName {
        first: first.into_iter().map(short).collect(),
        second: (0..second.len()).map(short).collect(),
        names: all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn devices(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn matches_device_aliases_from_trace() {
        let names = DeviceNames { groups: vec![devices(&["disk/by-id/x", "sda", "8,0"])] };
        for (a, b) in [("/dev/sda", "8:0"), ("sda", "/dev/disk/by-id/x"), ("7,2", "7:2"), ("/dev/sdb", "sdb")]
        {
            assert!(names.are_same(a, b), "{a} {b}");
        }
        assert!(!names.are_same("/dev/sdb", "8,16") && !DeviceNames::default().are_same("sda", "8,0"));
    }

    #[test]
    fn rejects_unknown_device_and_lists_known_ones() {
        let names = DeviceNames { groups: vec![devices(&["sda", "8,0"])] };
        let why = |wanted: &[&str], there: &[&str]| {
            refuse_unknown(&devices(wanted), &devices(there), &names, "x").map_err(|e| e.to_string())
        };
        assert_eq!(why(&["8,0"], &["/dev/sda", "/dev/sdb"]), Ok(()));
        assert_eq!(
            why(&["8,0", "8,16"], &["/dev/sda", "/dev/sdc"]).unwrap_err(),
            "--device 8,16: x has no such device; those that it has: /dev/sda  /dev/sdc"
        );
        assert!(why(&["8,0"], &[""]).unwrap_err().contains("names no devices"));
        // A trace without requests gets another message.
        assert_eq!(why(&["8,0"], &[]), Ok(()));
    }

    #[test]
    fn matches_devices_of_two_traces_by_name() {
        let names = DeviceNames { groups: vec![devices(&["loop1", "7,1"])] };
        let matched = |a: &[&str], b: &[&str]| matched(&devices(a), &devices(b), &names);
        assert_eq!(matched(&["x"], &["y"]).unwrap(), Matched::AsOne(None));
        let found = matched(&["/dev/loop1", "/dev/loop9"], &["7,0", "7,1"]).unwrap();
        let all = devices(&["7,0", "7,1", "/dev/loop9"]);
        assert_eq!(found, Matched::ByName { first: vec![1, 2], second: vec![0, 1], names: all });
        let Matched::AsOne(Some(why)) = matched(&[""], &["7,0", "7,1"]).unwrap() else { panic!() };
        assert!(why.contains("7,0  7,1") && why.contains("--device"), "{why}");
        assert!(matched(&["a", "b"], &["c", "d"]).unwrap_err().to_string().contains("--split device"));
    }
}
