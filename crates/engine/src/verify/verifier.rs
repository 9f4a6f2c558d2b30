//! The verification of a run: the expected state of each device, where targets lie on it, and the rules.

use super::device::{Device, Looks};
use super::place::{TargetPlace, places_of};
use super::records::AfterCrash;
use iosonar_archive::WriteId;
use iosonar_evidence::target::{BlockDevice, Role};
use iosonar_evidence::{Fact, TargetFacts};
use iosonar_plan::{ByteSize, Engine, Extent, Fill, Job, Op, Phase, Plan, SECTOR, VerifyModes};
use iosonar_verify::{Atomic, Observation, Sectors, Tag};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The first bytes of a sector in memory before it is read. No device holds them by chance: they are different in each run.
fn poison(run_id: u64) -> u64 {
    run_id.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

/// The verification of a run, shared by its loops.
pub(crate) struct Verifier {
    pub(crate) modes: VerifyModes,
    /// The run's writes are tracked, so that reads are compared with them.
    pub(crate) is_tracking: bool,
    pub(crate) run_id: u64,
    pub(crate) fill: Fill,
    pub(crate) poison: u64,
    pub(crate) seed: u64,
    pub(crate) devices: Vec<Mutex<Device>>,
    /// Places, by number of the target.
    pub(crate) places: Vec<TargetPlace>,
    /// Unit of the writes of its jobs, by numbers of phase and target.
    write_units: Vec<Vec<Atomic>>,
    stops_at_fault: bool,
    /// State expected after a crash.
    pub(super) after_crash: Option<AfterCrash>,
    has_fault: AtomicBool,
}

impl Verifier {
    /// `None` where the plan checks nothing. `targets` are path and facts of each, in the order of the plan.
    pub(crate) fn new<'a>(
        plan: &Plan,
        targets: impl Iterator<Item = (&'a Path, Option<&'a TargetFacts>)>,
    ) -> Option<Verifier> {
        // Without modes no state is kept.
        let memory = if plan.verify.is_on() { plan.verify.memory } else { ByteSize(0) };
        let mut verifier = plan.is_verified().then(|| Verifier {
            stops_at_fault: plan.verify.stop_at_fault,
            ..Verifier::of(plan, targets, plan.verify.modes, memory)
        });
        for device in verifier.iter_mut().flat_map(|verifier| &mut verifier.devices) {
            device.get_mut().unwrap_or_else(PoisonError::into_inner).keeps_bytes = plan.verify.dump;
        }
        verifier
    }

    /// A verifier for targets of these identities, in the order of the plan.
    pub(super) fn of<'a>(
        plan: &Plan,
        targets: impl Iterator<Item = (&'a Path, Option<&'a TargetFacts>)>,
        modes: VerifyModes,
        memory: ByteSize,
    ) -> Verifier {
        let (places, devices) = places_of(targets);
        let share = ByteSize(memory.0 / devices.max(1) as u64);
        Verifier {
            modes,
            is_tracking: modes != VerifyModes::default(),
            run_id: plan.run_id,
            fill: plan.fill,
            poison: poison(plan.run_id),
            seed: plan.seed,
            devices: (0..devices).map(|_| Mutex::new(Device::new(share))).collect(),
            places,
            write_units: write_units(plan),
            stops_at_fault: false,
            after_crash: None,
            has_fault: AtomicBool::new(false),
        }
    }

    /// The expected state of a place's device. A loop that panicked has left it consistent: each call changes all or nothing that
    /// matters to others.
    pub(crate) fn device(&self, place: TargetPlace) -> MutexGuard<'_, Device> {
        self.devices[place.device].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The expected state of each device, one after the other.
    pub(crate) fn each_device(&self) -> impl Iterator<Item = MutexGuard<'_, Device>> {
        self.devices.iter().map(|device| device.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// A target's sectors on its device; `None` where an extent has no whole sectors.
    pub(crate) fn sectors(&self, target: u16, extent: Extent) -> Option<Sectors> {
        let is_whole =
            extent.offset.is_multiple_of(SECTOR) && extent.length.is_multiple_of(SECTOR) && extent.length > 0;
        let base = self.places[usize::from(target)].base;
        is_whole.then(|| Sectors { start: base + extent.offset / SECTOR, count: extent.length / SECTOR })
    }

    /// The result of a write, a discard or a write of zeros, and its sectors on the device. In partly covered sectors, the result
    /// is unknown.
    pub(crate) fn change(&self, id: WriteId, op: Op, extent: Extent) -> (Sectors, Tag) {
        match self.sectors(id.target, extent) {
            Some(sectors) if op == Op::WriteZeroes => (sectors, Tag::ZEROS),
            Some(sectors) if op != Op::Discard => (sectors, Tag::of(id)),
            Some(sectors) => (sectors, Tag::ANY),
            None => {
                let Sectors { start, count } = Sectors::covering(extent);
                (Sectors { start: start + self.places[usize::from(id.target)].base, count }, Tag::ANY)
            }
        }
    }

    /// The unit in which the jobs of a phase write to a target.
    pub(crate) fn write_unit(&self, target: u16, phase: u16) -> Atomic {
        let units = self.write_units.get(usize::from(phase));
        units.and_then(|units| units.get(usize::from(target))).copied().unwrap_or_default()
    }

    /// Appearance of written sectors of the target at `place`.
    pub(crate) fn looks(&self, place: TargetPlace) -> Looks<'_> {
        let Verifier { run_id, fill, poison, after_crash, .. } = *self;
        Looks { run_id, fill, poison, after_crash, base: place.base, places: &self.places }
    }

    /// The first target of each device.
    pub(crate) fn first_targets(&self) -> impl Iterator<Item = usize> {
        let is_first = |target: &usize| {
            let device = self.places[*target].device;
            self.places[..*target].iter().all(|place| place.device != device)
        };
        (0..self.places.len()).filter(is_first)
    }

    /// Forgets a target's content: its file was made again.
    pub(crate) fn forget(&self, target: u16) {
        let place = self.places[usize::from(target)];
        self.device(place).forget_from(place.base);
    }

    /// Notes that there is a fault.
    pub(crate) fn note_fault(&self) {
        self.has_fault.store(true, Relaxed);
    }

    /// Whether no more requests are to be issued.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stops_at_fault && self.has_fault.load(Relaxed)
    }

    /// Takes the deviations found on all devices.
    pub(super) fn take_observations(&self) -> Vec<Observation> {
        self.each_device().flat_map(|mut device| std::mem::take(&mut device.observations)).collect()
    }
}

/// Units of the writes of jobs, by numbers of phase and target. A copy to a mapping has no other unit than a byte.
fn write_units(plan: &Plan) -> Vec<Vec<Atomic>> {
    let unit = |phase: &Phase, target: usize| {
        let mut jobs = phase.jobs.iter().filter(|job| usize::from(job.target) == target);
        let copies = jobs.any(|job| matches!(job.engine(plan.engine), Engine::Mmap(_)));
        if copies { Atomic::Byte } else { Atomic::Sector }
    };
    plan.phases
        .iter()
        .map(|phase| (0..plan.targets.len()).map(|target| unit(phase, target)).collect())
        .collect()
}

/// Unit of the reads of a job: the page cache and mappings lock nothing against a write of the same page. The device of a loop
/// device may be the page cache of its file.
pub(crate) fn read_unit(plan: &Plan, job: &Job, facts: Option<&TargetFacts>) -> Atomic {
    let is_cached = |device: &BlockDevice| matches!(&device.role, Role::Loop { direct_io, .. } if *direct_io != Fact::Known(true));
    let is_of_cached = || facts.is_some_and(|facts| facts.devices().into_iter().any(is_cached));
    let is_buffered = job.access(plan.access).buffered || job.engine(plan.engine).is_buffered();
    let copies = plan.engine.is_real() && (is_buffered || is_of_cached());
    if copies { Atomic::Byte } else { Atomic::Sector }
}
