//! Input of the detectors.

use crate::Finding;
use crate::planned::PlannedRun;
use crate::samples::Samples;
use crate::stack::{Bottom, bottoms_of};
use crate::thresholds::Limits;
use iosonar_analyze::{Level, Summary, Tally};
use iosonar_archive::RunInfo;
use iosonar_evidence::target::DirectIo;
use iosonar_evidence::{DeviceCounter, Environment, NfsBytes, OwnUse, Series, TargetFacts, TargetKind};
use iosonar_plan::{Claim, Op, Plan, SECTOR};

/// A result with its evidence.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// State of the run, and its resolved setup.
    pub run: &'a RunInfo,
    /// The summary of the result.
    pub summary: &'a Summary,
    /// Counts and distributions of its records.
    pub tally: &'a Tally,
    /// The machine before the run.
    pub before: &'a Environment,
    /// The machine after the run; `None` if it was not examined.
    pub after: Option<&'a Environment>,
    /// Samples of counters during the run.
    pub samples: &'a Samples,
}

/// Bytes of one direction, as counted by each layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// Bytes that requests transferred.
    pub asked: f64,
    /// Bytes that the kernel counted for this process; `None` if it cannot.
    pub process: Option<f64>,
    /// Bytes that the devices at the bottom counted, for any user; `None` if they have no counters.
    pub bottom: Option<f64>,
    /// Names of these devices.
    pub devices: Vec<String>,
    /// NFS servers among them, which may serve data from their own memory.
    pub servers: Vec<String>,
    /// Why one of the two is unknown.
    pub unseen: Option<String>,
}

impl Account {
    /// The least share of the bytes that a layer counted; `None` if no layer could be examined.
    pub(crate) fn share(&self) -> Option<f64> {
        let shares = [self.process, self.bottom].into_iter().flatten().map(|bytes| bytes / self.asked);
        shares.min_by(f64::total_cmp)
    }

    /// How much a share matters that did not cross the bottom. An NFS client counts only its own bytes, so little is missing by chance.
    pub(crate) fn level(&self, limits: Limits, missing: f64) -> Level {
        match limits.level(missing) {
            Level::Caution if !self.servers.is_empty() => Level::Fail,
            level => level,
        }
    }

    /// Adds a note that the server's memory is invisible, if servers are involved.
    pub(crate) fn with_servers(&self, seen: Finding) -> Finding {
        match self.servers.is_empty() {
            true => seen,
            false => seen.adding("Whether the server had it in its own memory cannot be seen from here."),
        }
    }

    /// The share that the devices at the bottom counted.
    pub(crate) fn bottom_share(&self) -> Option<f64> {
        Some(self.bottom? / self.asked)
    }

    /// The devices, for a sentence.
    pub(crate) fn names(&self) -> String {
        self.devices.join(", ")
    }
}

impl Case<'_> {
    /// The claim of the plan.
    pub fn claim(&self) -> Claim {
        self.plan.claim()
    }

    /// Whether requests were executed with real I/O.
    pub fn is_real(&self) -> bool {
        self.plan.engine.is_real() && !self.run.is_import && !self.summary.run.is_recording()
    }

    /// Whether it is a recording of a system, with facts about the capture.
    pub fn is_recording(&self) -> bool {
        self.run.recorded.is_some()
    }

    /// Upper bound of the flushes that the run requested, and that its durable writes may have caused. Their exact number is not counted
    /// anywhere: flushes that wait together become one, and partitions count none.
    pub(crate) fn most_flushes(&self) -> u64 {
        let counts = &self.summary.counts;
        let flushes = |op: Op| op.is_flush() || matches!(op, Op::Evict | Op::WriteZeroes);
        let others = self.summary.others.iter().filter(|other| flushes(other.op));
        let asked = others.map(|other| other.counts.total).sum::<u64>() + counts.other.ramp;
        let is_durable = self.plan.jobs().any(|(_, job)| job.access(self.plan.access).sync.is_set());
        let durable = if is_durable { counts.write.total.max(counts.write.fua) } else { counts.write.fua };
        match asked + durable + counts.write.preflush {
            0 => 0,
            // For writes in the ramp, only their number is kept.
            known => known + counts.write.ramp,
        }
    }

    /// Run time multiplied by the number of workers, in nanoseconds.
    pub(crate) fn time_of_loops(&self) -> Option<f64> {
        Some(self.summary.span.duration_ns()? as f64 * self.plan.loops() as f64).filter(|ns| *ns > 0.0)
    }

    /// Whether no job goes through the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.planned().is_direct()
    }

    /// Whether reads really bypass the page cache: some file systems accept a request for direct I/O, and use the page cache.
    pub(crate) fn reads_directly(&self) -> bool {
        let pretends = |target: &TargetFacts| matches!(&target.kind, TargetKind::RegularFile(file) if file.direct_io == DirectIo::Unsupported);
        self.is_direct() && !self.before.targets.iter().any(pretends)
    }

    /// Bytes moved by these devices, from their counters of sectors; `None` if one was not sampled.
    pub(crate) fn bytes_of<'d>(
        &self,
        mut names: impl Iterator<Item = &'d str>,
        sectors: DeviceCounter,
    ) -> Option<f64> {
        names.try_fold(0.0, |sum, name| Some(sum + self.samples.of_device(name, sectors)? * SECTOR as f64))
    }

    /// The bottoms of all targets, each device once.
    pub(crate) fn bottoms(&self) -> Vec<Bottom<'_>> {
        bottoms_of(&self.before.targets)
    }

    /// The planned run: facts before its first request, and the operations done on its targets since.
    pub(crate) fn planned(&self) -> PlannedRun<'_> {
        PlannedRun::of(self.plan, self.run, self.summary, self.before)
    }

    /// The account of reads.
    pub fn reads(&self) -> Account {
        // Additional reads for verification went the same way.
        let added = self.run.verified.as_ref().map_or(0, |verified| verified.added_bytes);
        let asked = self.tally.traffic().reads.bytes + added;
        let process = self.samples.growth(&Series::Own(OwnUse::Read)).filter(|_| self.is_alone());
        self.account(asked, process, DeviceCounter::ReadSectors, NfsBytes::ServerRead)
    }

    /// The account of writes. The kernel counts pages that a process changes, and not bytes written.
    pub fn writes(&self) -> Account {
        let asked = self.tally.traffic().writes.bytes;
        self.account(asked, None, DeviceCounter::WriteSectors, NfsBytes::ServerWritten)
    }

    /// Whether this process issued all requests: the kernel does not count those of others for it.
    fn is_alone(&self) -> bool {
        !self.plan.has_processes()
    }

    /// Whether targets are on other machines, whose devices are not sampled here.
    pub(crate) fn is_remote(&self) -> bool {
        self.plan.has_hosts()
    }

    fn account(&self, asked: u64, process: Option<f64>, sectors: DeviceCounter, nfs: NfsBytes) -> Account {
        let (mut devices, mut servers, mut mounts) = (Vec::new(), Vec::new(), Vec::new());
        let mut unseen = self.is_remote().then(|| "targets are on other machines".to_string());
        for bottom in self.bottoms() {
            match bottom {
                Bottom::Device(device) => devices.push(device.name.clone()),
                Bottom::Server(file_system) => {
                    servers.push(file_system.source.clone());
                    let growth = self.samples.growth(&Series::nfs(&file_system.mount_point, nfs));
                    // Mounts of one export share their counters.
                    let mount = (file_system.source.clone(), growth);
                    if !mounts.contains(&mount) {
                        mounts.push(mount);
                    }
                }
                // No counter shows whether memory was reached.
                Bottom::Memory(what) | Bottom::Unseen(what) => unseen = Some(what),
            }
        }
        if devices.is_empty() && servers.is_empty() && unseen.is_none() {
            unseen = Some("nothing is known of the devices below the targets".into());
        }
        let of_devices = self.bytes_of(devices.iter().map(String::as_str), sectors);
        if of_devices.is_none() && unseen.is_none() {
            unseen = Some(format!("there are no two samples of {}", devices.join(", ")));
        }
        let of_servers: Option<f64> = mounts.iter().map(|(_, growth)| *growth).sum();
        if of_servers.is_none() && unseen.is_none() {
            unseen = Some(format!(
                "{} is elsewhere, and /proc/self/mountstats has no counters of it",
                servers.join(", ")
            ));
        }
        let counted = of_devices.zip(of_servers).map(|(devices, servers)| devices + servers);
        // Reads over NFS need not be counted for the process.
        let process = process.filter(|_| servers.is_empty());
        let is_seen = unseen.is_none();
        let [process, bottom] = [process, counted].map(|bytes| bytes.filter(|_| is_seen));
        devices.extend_from_slice(&servers);
        Account { asked: asked as f64, process, bottom, devices, servers, unseen }
    }
}
