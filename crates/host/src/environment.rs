//! Snapshot of the machine on which a run happened.

pub use iosonar_evidence::environment::*;

use crate::{Fact, Root, TargetFacts, cgroup};
use std::collections::BTreeMap;
use std::path::Path;

/// Capabilities that change what a run can do, by their bits.
const CAPABILITIES: [(u32, &str); 6] = [
    (14, "CAP_IPC_LOCK"),
    (17, "CAP_SYS_RAWIO"),
    (21, "CAP_SYS_ADMIN"),
    (23, "CAP_SYS_NICE"),
    (24, "CAP_SYS_RESOURCE"),
    (38, "CAP_PERFMON"),
];

/// Captures the environment. No error is fatal: unreadable values are absent, with the reason.
pub fn capture(targets: &[TargetFacts], root: &Root) -> Environment {
    Environment {
        tool: String::new(),
        kernel: kernel(root),
        c_library: match iosonar_os::usage::c_library() {
            Some(library) => Fact::Known(library),
            None => Fact::absent("the C library does not report its version"),
        },
        hostname: root.fact("/proc/sys/kernel/hostname"),
        cpu: cpu(root),
        clock: clock(root),
        memory: memory(root),
        load_average: root.fact("/proc/loadavg").and_then(|text| load_average(&text)),
        machine: machine(root),
        process: process(root),
        cgroups: cgroup::capture(root),
        targets: targets.to_vec(),
        reread: Vec::new(),
        result: Fact::absent("the result's directory was not named"),
        issue_order: Fact::absent("it was not watched (--watch-order)"),
        path_tracing: Fact::absent("it was not traced (--trace-path)"),
        written_back: None,
    }
}

/// File system of a result's directory, which may not exist yet.
pub fn file_system_for(result: &Path, root: &Root) -> Fact<crate::target::FileSystem> {
    // Before the run the directory does not exist.
    let path = std::path::absolute(result).unwrap_or_else(|_| result.to_owned());
    let existing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(&path);
    crate::file_system_of(existing, root)
}

fn kernel(root: &Root) -> Kernel {
    Kernel {
        release: root.fact("/proc/sys/kernel/osrelease"),
        version: root.fact("/proc/sys/kernel/version"),
        cmdline: root.fact("/proc/cmdline"),
    }
}

fn cpu(root: &Root) -> Cpu {
    let info = root.fact("/proc/cpuinfo");
    let online = root.fact("/sys/devices/system/cpu/online");
    Cpu {
        // Names of the model on x86, POWER and ARM.
        model: field(&info, &["model name", "cpu", "CPU part"], "/proc/cpuinfo"),
        count: online.clone().and_then(|list| count(&list)),
        online,
        allowed: field(&root.fact("/proc/self/status"), &["Cpus_allowed_list"], "/proc/self/status"),
        governors: governors(root),
        cache_bytes: cache_bytes(root),
        smt: root.fact("/sys/devices/system/cpu/smt/control"),
        thermal_throttles: thermal_throttles(root),
    }
}

/// Size of the largest CPU cache in bytes.
pub fn cache_bytes(root: &Root) -> Fact<u64> {
    let caches = "/sys/devices/system/cpu/cpu0/cache";
    let names = match root.list(caches) {
        Ok(names) => names,
        Err(error) => return Fact::absent(format!("{caches}: {error}")),
    };
    // Example: `48K`.
    let kib = |name: &String| {
        let size = root.read(format!("{caches}/{name}/size")).ok()?;
        size.trim().strip_suffix('K')?.parse::<u64>().ok()
    };
    let largest = names.iter().filter_map(kib).max();
    largest.map_or_else(|| Fact::absent(format!("{caches} names no size")), |kib| Fact::Known(kib * 1024))
}

fn governors(root: &Root) -> Fact<Vec<String>> {
    let policies = "/sys/devices/system/cpu/cpufreq";
    let names = match root.list(policies) {
        Ok(names) => names,
        Err(error) => return Fact::absent(format!("{policies}: {error}")),
    };
    let read = |policy: &String| root.read(format!("{policies}/{policy}/scaling_governor")).ok();
    let mut found: Vec<String> = names.iter().filter_map(read).collect();
    found.sort();
    found.dedup();
    if found.is_empty() { Fact::absent(format!("{policies} names no governor")) } else { Fact::Known(found) }
}

/// Only some processors have these counters (x86 of Intel).
fn thermal_throttles(root: &Root) -> Fact<u64> {
    let cpus = "/sys/devices/system/cpu";
    let names = root.list(cpus).unwrap_or_default();
    let count = |name: &String| root.read(format!("{cpus}/{name}/thermal_throttle/core_throttle_count")).ok();
    let counts: Vec<u64> = names.iter().filter_map(count).filter_map(|text| text.parse().ok()).collect();
    match counts.is_empty() {
        true => Fact::absent(format!("{cpus} has no thermal_throttle/core_throttle_count")),
        false => Fact::Known(counts.iter().sum()),
    }
}

fn clock(root: &Root) -> Clock {
    Clock {
        source: root.fact("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        timer_slack_ns: root.fact("/proc/self/timerslack_ns").parse(),
        boot_id: root.fact("/proc/sys/kernel/random/boot_id"),
    }
}

/// Memory of the machine.
pub fn memory(root: &Root) -> Memory {
    let info = root.fact("/proc/meminfo");
    let bytes = |name: &str| {
        let text = field(&info, &[name], "/proc/meminfo");
        text.map(|text| text.trim_end_matches(" kB").to_owned()).parse::<u64>().map(|kib| kib * 1024)
    };
    Memory {
        total: bytes("MemTotal"),
        available: bytes("MemAvailable"),
        dirty: bytes("Dirty"),
        writeback: bytes("Writeback"),
        swap_total: bytes("SwapTotal"),
        page_size: rustix::param::page_size() as u64,
    }
}

fn machine(root: &Root) -> Machine {
    let flags = field(&root.fact("/proc/cpuinfo"), &["flags"], "/proc/cpuinfo");
    Machine {
        vendor: root.fact("/sys/class/dmi/id/sys_vendor"),
        product: root.fact("/sys/class/dmi/id/product_name"),
        hypervisor_flag: flags.map(|flags| flags.split_whitespace().any(|flag| flag == "hypervisor")),
        hypervisor_type: root.fact("/sys/hypervisor/type"),
    }
}

fn process(root: &Root) -> Process {
    let status = root.fact("/proc/self/status");
    let limits = root.fact("/proc/self/limits");
    Process {
        uid: rustix::process::geteuid().as_raw(),
        capabilities: field(&status, &["CapEff"], "/proc/self/status").and_then(|mask| capabilities(&mask)),
        max_open_files: limits.clone().and_then(|text| soft_limit(&text, "Max open files")),
        max_locked_memory: limits.and_then(|text| soft_limit(&text, "Max locked memory")),
        nice: root.fact("/proc/self/stat").and_then(|text| nice(&text)),
    }
}

/// Value of the first line `name: value` with one of these names.
fn field(text: &Fact<String>, names: &[&str], path: &str) -> Fact<String> {
    text.clone().and_then(|text| {
        let value = |name: &&str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                (key.trim() == *name).then(|| value.trim().to_owned())
            })
        };
        let none = || Fact::absent(format!("{path} has no line {}", names.join(" or ")));
        names.iter().find_map(value).map_or_else(none, Fact::Known)
    })
}

/// Counts the numbers in a list like `0-3,8`.
fn count(list: &str) -> Fact<u64> {
    let length = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
    };
    let total: Option<u64> = list.split(',').map(length).sum();
    total.map_or_else(|| Fact::absent(format!("`{list}` is not a list of processors")), Fact::Known)
}

fn load_average(text: &str) -> Fact<[f64; 3]> {
    let averages: Vec<f64> = text.split_whitespace().take(3).filter_map(|word| word.parse().ok()).collect();
    averages.try_into().map_or_else(|_| Fact::absent(format!("`{text}` has no three averages")), Fact::Known)
}

fn capabilities(mask: &str) -> Fact<BTreeMap<String, bool>> {
    match u64::from_str_radix(mask, 16) {
        Ok(mask) => {
            let has = |&(bit, name): &(u32, &str)| (name.to_owned(), mask >> bit & 1 == 1);
            Fact::Known(CAPABILITIES.iter().map(has).collect())
        }
        Err(_) => Fact::absent(format!("`{mask}` is not a hexadecimal mask")),
    }
}

/// Parses `Max open files   1024     524288      files`.
fn soft_limit(text: &str, name: &str) -> Fact<String> {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.and_then(|rest| rest.split_whitespace().next());
    value.map_or_else(
        || Fact::absent(format!("/proc/self/limits has no {name}")),
        |it| Fact::Known(it.to_owned()),
    )
}

/// Field 19 of `/proc/self/stat`; the command in field 2 can contain blanks and parentheses.
fn nice(text: &str) -> Fact<i64> {
    let after_command = text.rsplit_once(')').map(|(_, rest)| rest);
    let value = after_command.and_then(|rest| rest.split_whitespace().nth(16)?.parse().ok());
    value.map_or_else(|| Fact::absent("/proc/self/stat has no nice value"), Fact::Known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Tree;

    #[test]
    fn missing_sources_yield_reasons_not_values() {
        let environment = capture(&[], &Tree::new().root()).by("iosonar 9");
        assert_eq!(environment.tool, "iosonar 9");
        let Fact::Absent { absent } = &environment.clock.source else { panic!("{environment:?}") };
        assert!(absent.contains("current_clocksource: No such file"), "{absent}");
        assert!(environment.memory.total.known().is_none() && environment.cpu.count.known().is_none());
    }

    #[test]
    fn reads_values_from_proc_and_sysfs() {
        let tree = Tree::new();
        tree.file("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU\nflags\t\t: fpu hypervisor sse\n");
        tree.file("/sys/devices/system/cpu/online", "0-2,5\n");
        tree.file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave\n");
        tree.file("/sys/devices/system/cpu/cpufreq/policy1/scaling_governor", "powersave\n");
        tree.file("/proc/meminfo", "MemTotal:       1000 kB\nDirty:   4 kB\n")
            .file("/proc/loadavg", "0.5 1 2.25 1/9 7\n");
        tree.file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000800000\nCpus_allowed_list:\t0-1\n");
        tree.file("/proc/self/limits", "Limit  Soft\nMax open files            1024   4096   files\n");
        tree.file("/proc/self/stat", "1 (a) b) S 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 -5 1 0\n");
        let found = capture(&[], &tree.root());
        assert_eq!(found.cpu.model, Fact::Known("Fast CPU".into()));
        assert_eq!((found.cpu.count, found.cpu.allowed), (Fact::Known(4), Fact::Known("0-1".into())));
        assert_eq!(found.cpu.governors, Fact::Known(vec!["powersave".into()]));
        assert_eq!((found.memory.total, found.memory.dirty), (Fact::Known(1_024_000), Fact::Known(4096)));
        assert_eq!(found.load_average, Fact::Known([0.5, 1.0, 2.25]));
        assert_eq!(found.machine.hypervisor_flag, Fact::Known(true));
        let capabilities = found.process.capabilities.known().unwrap();
        assert!(capabilities["CAP_SYS_NICE"] && !capabilities["CAP_IPC_LOCK"]);
        assert_eq!(found.process.max_open_files, Fact::Known("1024".into()));
        assert_eq!(found.process.nice, Fact::Known(-5));
    }

    #[test]
    fn environment_of_this_machine_round_trips_through_json() {
        let found = capture(&[], &Root::default());
        let text = serde_json::to_string_pretty(&found).unwrap();
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), found);
        let mut earlier: serde_json::Value = serde_json::from_str(&text).unwrap();
        earlier["clock"].as_object_mut().unwrap().remove("boot_id").unwrap();
        let earlier: Environment = serde_json::from_value(earlier).unwrap();
        assert!(earlier.clock.boot_id.known().is_none() && found.clock.boot_id.known().is_some(), "{text}");
        assert!(found.kernel.release.known().is_some() && found.memory.total.known().is_some(), "{text}");
    }
}
