//! Everything that the detectors look at.

use crate::Seen;
use crate::outset::{Outset, PlannedTarget};
use crate::samples::Samples;
use crate::stack::{Bottom, bottoms_of};
use crate::thresholds::Limits;
use iosonar_analyze::{Level, Summary, Tally};
use iosonar_archive::RunInfo;
use iosonar_evidence::target::DirectIo;
use iosonar_evidence::{DeviceCounter, Environment, NfsBytes, OwnUse, Series, TargetFacts, TargetKind};
use iosonar_plan::{Claim, Executor, Op, Plan, SECTOR};

/// A result with the evidence beside it.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// What was to be done.
    pub plan: &'a Plan,
    /// How far it came, and by what means.
    pub run: &'a RunInfo,
    /// What it amounts to.
    pub summary: &'a Summary,
    /// Counts and distributions of its records.
    pub tally: &'a Tally,
    /// The machine before it.
    pub before: &'a Environment,
    /// The machine after it; none where nobody has looked.
    pub after: Option<&'a Environment>,
    /// What counters did meanwhile.
    pub samples: &'a Samples,
}

/// Bytes of one direction on their way down.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// That requests transferred.
    pub asked: f64,
    /// That the kernel counted for this process; none where it cannot.
    pub process: Option<f64>,
    /// That the devices at the bottom counted, whoever used them; none where they have no counters.
    pub bottom: Option<f64>,
    /// Names of these devices.
    pub devices: Vec<String>,
    /// NFS servers among them: what they send may come from their own memory.
    pub servers: Vec<String>,
    /// Why one of the two is not known.
    pub unseen: Option<String>,
}

impl Account {
    /// The least share of the bytes that a layer has seen; none where no layer could be looked at.
    pub(crate) fn share(&self) -> Option<f64> {
        let shares = [self.process, self.bottom].into_iter().flatten().map(|bytes| bytes / self.asked);
        shares.min_by(f64::total_cmp)
    }

    /// How much a share matters that did not cross the bottom. An NFS client counts its own bytes only, so little is missing by chance.
    pub(crate) fn level(&self, limits: Limits, missing: f64) -> Level {
        match limits.level(missing) {
            Level::Caution if !self.servers.is_empty() => Level::Fail,
            level => level,
        }
    }

    /// Adds to what was seen what nobody can see of servers.
    pub(crate) fn with_servers(&self, seen: Seen) -> Seen {
        match self.servers.is_empty() {
            true => seen,
            false => seen.adding("Whether the server had it in its own memory cannot be seen from here."),
        }
    }

    /// The share that the devices at the bottom have seen.
    pub(crate) fn bottom_share(&self) -> Option<f64> {
        Some(self.bottom? / self.asked)
    }

    /// The devices, for a sentence.
    pub(crate) fn names(&self) -> String {
        self.devices.join(", ")
    }
}

impl Case<'_> {
    /// What the figures are said to be.
    pub fn claim(&self) -> Claim {
        self.plan.claim()
    }

    /// Whether requests were carried out by real I/O.
    pub fn is_real(&self) -> bool {
        self.plan.engine.is_real() && !self.run.is_import && !self.summary.run.is_recording()
    }

    /// Whether it is a recording of what a system did, and how its events came is known.
    pub fn is_recording(&self) -> bool {
        self.run.recorded.is_some()
    }

    /// Flushes that the run has asked for, and that its durable writes may have brought about: at most so many. How many they are is not
    /// counted anywhere: flushes that wait together become one, and partitions count none.
    pub(crate) fn most_flushes(&self) -> u64 {
        let counts = &self.summary.counts;
        let flushes = |op: Op| op.is_flush() || matches!(op, Op::Evict | Op::WriteZeroes);
        let others = self.summary.others.iter().filter(|other| flushes(other.op));
        let asked = others.map(|other| other.counts.total).sum::<u64>() + counts.other.ramp;
        let is_durable = self.plan.jobs().any(|(_, job)| job.access(self.plan.access).sync.is_set());
        let durable = if is_durable { counts.write.total.max(counts.write.fua) } else { counts.write.fua };
        match asked + durable + counts.write.preflush {
            0 => 0,
            // Of writes in the ramp nothing else is kept.
            known => known + counts.write.ramp,
        }
    }

    /// The time of the run, once for each of its loops, in nanoseconds.
    pub(crate) fn time_of_loops(&self) -> Option<f64> {
        Some(self.summary.span.duration_ns()? as f64 * self.plan.loops() as f64).filter(|ns| *ns > 0.0)
    }

    /// Whether no job goes through the page cache.
    pub(crate) fn is_direct(&self) -> bool {
        self.outset().is_direct()
    }

    /// Whether reads go past the page cache, in deed: some file systems take a request for direct I/O, and do it through the page cache.
    pub(crate) fn reads_directly(&self) -> bool {
        let pretends = |target: &TargetFacts| matches!(&target.kind, TargetKind::RegularFile(file) if file.direct_io == DirectIo::Unsupported);
        self.is_direct() && !self.before.targets.iter().any(pretends)
    }

    /// Bytes that so many devices moved, by their counter of sectors; none where one was not sampled.
    pub(crate) fn bytes_of<'d>(
        &self,
        mut names: impl Iterator<Item = &'d str>,
        sectors: DeviceCounter,
    ) -> Option<f64> {
        names.try_fold(0.0, |sum, name| Some(sum + self.samples.of_device(name, sectors)? * SECTOR as f64))
    }

    /// Where the bytes of all targets end, each device once.
    pub(crate) fn bottoms(&self) -> Vec<Bottom<'_>> {
        bottoms_of(&self.before.targets)
    }

    /// What was known before its first request, and what was done to the targets since.
    pub(crate) fn outset(&self) -> Outset<'_> {
        let done = |number: usize| self.summary.targets.get(number).map(|target| target.counts);
        let planned = |(number, info): (usize, _)| {
            let counts = done(number);
            let is_read = counts.is_some_and(|counts| counts.read.total + counts.read.ramp > 0);
            let is_written = counts.is_some_and(|counts| counts.write.total + counts.write.ramp > 0);
            PlannedTarget { info, is_read, is_written }
        };
        let targets = self.run.targets.iter().enumerate().map(planned).collect();
        Outset { plan: self.plan, before: self.before, targets }
    }

    /// Reads on their way down.
    pub fn reads(&self) -> Account {
        // What verification read beside the requests went the same way.
        let added = self.run.verified.as_ref().map_or(0, |verified| verified.added_bytes);
        let asked = self.tally.traffic().reads.bytes + added;
        let process = self.samples.growth(&Series::Own(OwnUse::Read)).filter(|_| self.is_alone());
        self.account(asked, process, DeviceCounter::ReadSectors, NfsBytes::ServerRead)
    }

    /// Writes on their way down. What the kernel counts for a process are pages that it changes, and not what is written.
    pub fn writes(&self) -> Account {
        let asked = self.tally.traffic().writes.bytes;
        self.account(asked, None, DeviceCounter::WriteSectors, NfsBytes::ServerWritten)
    }

    /// Whether this process issued all requests: what others issue is not counted for it.
    fn is_alone(&self) -> bool {
        self.plan.targets.iter().all(|target| matches!(target.executor, Executor::Thread))
    }

    /// Whether targets are on other machines, of whose devices nothing is sampled here.
    pub(crate) fn is_remote(&self) -> bool {
        self.plan.targets.iter().any(|target| matches!(target.executor, Executor::Host(_)))
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
                // Whether memory was reached shows in nobody's counters.
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
        // What NFS has from its server need not be counted for the process.
        let process = process.filter(|_| servers.is_empty());
        let is_seen = unseen.is_none();
        let [process, bottom] = [process, counted].map(|bytes| bytes.filter(|_| is_seen));
        devices.extend_from_slice(&servers);
        Account { asked: asked as f64, process, bottom, devices, servers, unseen }
    }
}
