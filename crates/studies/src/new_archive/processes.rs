//! Processes of the requests in a trace, and their share of sequential requests.

use iosonar_archive::ProcessLoad;
use iosonar_plan::Op;
use iosonar_trace::{Process, Traced};
use std::collections::HashMap;

/// Maximum number of names counted separately; later ones are counted together.
const MOST_NAMES: usize = 1 << 12;
/// Processes on devices whose last request is known. Beyond this number, all are forgotten.
const MOST_ENDS: usize = 1 << 16;
/// Maximum number of names listed separately.
const KEPT: usize = 20;

/// The loads of processes, by name.
#[derive(Debug, Default)]
pub struct Processes {
    by_name: HashMap<[u8; 16], ProcessLoad>,
    /// Processes with later names.
    others: ProcessLoad,
    /// End of the last read or write of a process on a target.
    ends: HashMap<(Process, u16), u64>,
}

impl Processes {
    /// Counts a request of a target.
    pub fn add(&mut self, request: &Traced, op: Op, target: u16) {
        let is_known = self.by_name.len() < MOST_NAMES || self.by_name.contains_key(&request.process.name);
        let load = match is_known {
            true => self.by_name.entry(request.process.name).or_default(),
            false => &mut self.others,
        };
        match op {
            Op::Read => load.reads += 1,
            Op::Write => load.writes += 1,
            _ => {
                load.others += 1;
                return;
            }
        }
        load.bytes = load.bytes.saturating_add(request.extent.length);
        if self.ends.len() >= MOST_ENDS {
            self.ends.clear();
        }
        let last = self.ends.insert((request.process, target), request.extent.end());
        load.sequential += u64::from(last == Some(request.extent.offset));
    }

    /// Lists the names with most requests first, and the sum of all others at the end.
    pub fn list(self) -> Vec<ProcessLoad> {
        let named = |(bytes, load): ([u8; 16], ProcessLoad)| {
            let name = Process { pid: 0, name: bytes }.name().into_owned();
            ProcessLoad { name: Some(name).filter(|name| !name.is_empty()), ..load }
        };
        let mut loads: Vec<ProcessLoad> = self.by_name.into_iter().map(named).collect();
        loads.sort_by(|a, b| {
            let requests = |load: &ProcessLoad| load.transfers() + load.others;
            requests(b).cmp(&requests(a)).then_with(|| a.name.cmp(&b.name))
        });
        let mut rest = ProcessLoad { is_rest: true, ..self.others };
        loads.drain(loads.len().min(KEPT)..).for_each(|load| rest.add(&load));
        if rest.transfers() + rest.others > 0 {
            loads.push(rest);
        }
        loads
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_plan::{Extent, Nanos};
    use iosonar_trace::Kind;

    fn request(name: &str, pid: u32, offset: u64) -> Traced {
        let extent = Extent { offset, length: 4096 };
        Traced { process: Process::new(pid, name.as_bytes()), ..Traced::new(0, Nanos(0), Kind::Read, extent) }
    }

    #[test]
    fn sequential_requests_are_per_process_and_device() {
        let mut processes = Processes::default();
        for (pid, offset, target) in [(1, 0, 0), (2, 1 << 20, 0), (1, 4096, 0), (2, 4096, 0), (1, 8192, 1)] {
            processes.add(&request("db", pid, offset), Op::Read, target);
        }
        processes.add(&request("log", 3, 0), Op::Flush, 0);
        let list = processes.list();
        let names: Vec<Option<&str>> = list.iter().map(|load| load.name.as_deref()).collect();
        assert_eq!(names, [Some("db"), Some("log")]);
        assert_eq!((list[0].reads, list[0].sequential, list[0].bytes), (5, 1, 5 * 4096));
        assert_eq!((list[1].transfers(), list[1].others), (0, 1));
    }

    #[test]
    fn sums_small_processes_and_counts_all_requests() {
        let mut processes = Processes::default();
        for name in 0..30 {
            (0..=name).for_each(|_| processes.add(&request(&format!("p{name}"), name, 0), Op::Read, 0));
        }
        let list = processes.list();
        assert_eq!((list.len(), list[KEPT].name.as_deref()), (KEPT + 1, None));
        assert_eq!(list.iter().map(ProcessLoad::transfers).sum::<u64>(), (1..=30).sum::<u64>());
    }
}
