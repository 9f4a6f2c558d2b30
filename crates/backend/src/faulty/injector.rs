//! Selection of the operations that are hit, and state shared by the wrappers of a run.

use super::damage::below;
use super::device::FaultyDevice;
use super::ledger::Ledger;
use crate::Operation;
use iosonar_plan::{Durability, Extent, Injection, InjectionKind, Occasion, Op};
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Recent writes of each target that others may take.
const EXCHANGED: usize = 4;

/// The stream of random numbers of a cache: distinct from all injections.
const CACHE: u64 = u32::MAX as u64;

/// Makes whole sectors, from this number of the target on, such as another run would have written.
pub type OtherRun = Box<dyn Fn(&mut [u8], u64) + Send + Sync>;

/// The injections of a run, with their ledger, shared by clones.
#[derive(Clone)]
pub struct Injector(Arc<Run>);

struct Run {
    inject: Vec<Injection>,
    seed: u64,
    ledger: Ledger,
    other_run: Option<OtherRun>,
    /// Recent writes, by target.
    exchange: Mutex<HashMap<u16, Exchanged>>,
}

/// Recent writes of a target.
struct Exchanged {
    device: FaultyDevice,
    data: VecDeque<Arc<[u8]>>,
}

/// A target under faults, shared by clones: all issuing loops of a target count its operations together.
#[derive(Clone)]
pub struct FaultyTarget(Arc<Target>);

struct Target {
    number: u16,
    injector: Injector,
    device: FaultyDevice,
    rules: Mutex<Vec<Rule>>,
    operations: AtomicU64,
    wrappers: AtomicU64,
    is_armed: AtomicBool,
}

/// One injection on one target.
struct Rule {
    injection: Injection,
    random: Xoshiro256PlusPlus,
    /// Numbers of the operations to hit that are still to come, the next one last.
    at: Vec<u64>,
    seen: u64,
    due: u64,
    made: u64,
}

/// A fault that is due for an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case {
    pub(super) kind: InjectionKind,
    pub(super) sectors: Option<u64>,
    /// Number of the operation: see [`Entry::number`](super::Entry::number).
    pub(super) number: u64,
    rule: usize,
}

fn random_of(seed: u64, target: u16, stream: u64) -> Xoshiro256PlusPlus {
    let mixed = (stream << 16 | u64::from(target)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Xoshiro256PlusPlus::seed_from_u64(seed ^ mixed)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Injector {
    /// The injections of a plan, with the plan's seed.
    pub fn new(inject: &[Injection], seed: u64) -> Injector {
        Injector::with_other_run(inject, seed, None)
    }

    /// The same with a generator of sectors of another run. Without it nothing of kind `other-run` is injected.
    pub fn with_other_run(inject: &[Injection], seed: u64, other_run: Option<OtherRun>) -> Injector {
        let exchange = Mutex::default();
        Injector(Arc::new(Run { inject: inject.to_vec(), seed, ledger: Ledger::new(), other_run, exchange }))
    }

    /// The ledger of injected faults.
    pub fn ledger(&self) -> &Ledger {
        &self.0.ledger
    }

    /// A target of the plan, on its device, which gets a volatile write cache if the target is to crash.
    pub fn target(&self, number: u16, device: &FaultyDevice) -> FaultyTarget {
        let own = self.0.inject.iter().filter(|injection| injection.target.is_none_or(|own| own == number));
        let rule = |(stream, injection): (usize, &Injection)| {
            let mut at = if let Occasion::At(at) = &injection.occasion { at.clone() } else { Vec::new() };
            at.sort_unstable_by(|a, b| b.cmp(a));
            at.dedup();
            let random = random_of(self.0.seed, number, stream as u64);
            Rule { injection: injection.clone(), random, at, seen: 0, due: 0, made: 0 }
        };
        if own.clone().any(|injection| injection.kind == InjectionKind::Crash) {
            device.give_cache(random_of(self.0.seed, number, CACHE));
        }
        FaultyTarget(Arc::new(Target {
            number,
            injector: self.clone(),
            device: device.clone(),
            rules: Mutex::new(own.enumerate().map(rule).collect()),
            operations: AtomicU64::new(0),
            wrappers: AtomicU64::new(0),
            is_armed: AtomicBool::new(true),
        }))
    }

    pub(super) fn other_run(&self) -> Option<&OtherRun> {
        self.0.other_run.as_ref()
    }
}

impl fmt::Debug for Injector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Injector").field("inject", &self.0.inject).finish_non_exhaustive()
    }
}

impl fmt::Debug for FaultyTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyTarget").field("number", &self.0.number).finish_non_exhaustive()
    }
}

impl Rule {
    /// Counts an operation; returns its number.
    fn count(&mut self) -> u64 {
        let number = self.seen;
        self.seen += 1;
        match self.injection.occasion {
            // One that waits for an operation that allows it is enough.
            Occasion::Every(every) if below(&mut self.random, every.max(1)) == 0 => {
                self.due = self.due.max(1)
            }
            Occasion::Every(_) => {}
            Occasion::At(_) => {
                if self.at.pop_if(|at| *at == number).is_some() {
                    self.due += 1;
                }
            }
        }
        number
    }

    fn take(&mut self) -> bool {
        let may = self.due > 0 && self.injection.limit.is_none_or(|limit| self.made < limit);
        if may {
            (self.due, self.made) = (self.due - 1, self.made + 1);
        }
        may
    }
}

impl FaultyTarget {
    /// Whether faults are injected from now on. They are until this is called. Unreadable places stay so.
    pub fn arm(&self, is_armed: bool) {
        self.0.is_armed.store(is_armed, Ordering::Relaxed);
    }

    pub(super) fn number(&self) -> u16 {
        self.0.number
    }

    pub(super) fn injector(&self) -> &Injector {
        &self.0.injector
    }

    pub(super) fn ledger(&self) -> &Ledger {
        self.0.injector.ledger()
    }

    pub(super) fn device(&self) -> &FaultyDevice {
        &self.0.device
    }

    /// A random generator for another wrapper.
    pub(super) fn random(&self) -> Xoshiro256PlusPlus {
        let wrapper = self.0.wrappers.fetch_add(1, Ordering::Relaxed);
        random_of(!self.0.injector.0.seed, self.0.number, wrapper)
    }

    /// Whether any injection is of such a kind.
    pub(super) fn has(&self, kinds: &[InjectionKind]) -> bool {
        self.0.injector.0.inject.iter().any(|injection| kinds.contains(&injection.kind))
    }

    /// Counts an operation; returns the faults that are due for it.
    pub(super) fn due(&self, op: Op, extent: Extent) -> Vec<Case> {
        let number = self.0.operations.fetch_add(1, Ordering::Relaxed);
        // The suitability of such kinds does not depend on it.
        let durability = Durability::NONE;
        self.take_due(|kind| !kind.is_of_cache() && kind.suits(op, durability, extent), Some(number))
    }

    /// The same for kinds of the device's write cache.
    pub(super) fn due_in_cache(&self, operation: &Operation) -> Vec<Case> {
        let Operation { op, durability, extent, .. } = *operation;
        self.take_due(|kind| kind.is_of_cache() && kind.suits(op, durability, extent), None)
    }

    /// Counts an operation for some of the injections, under the given number, or that of each injection.
    fn take_due(&self, suits: impl Fn(InjectionKind) -> bool, number: Option<u64>) -> Vec<Case> {
        if !self.0.is_armed.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let mut rules = lock(&self.0.rules);
        let suiting = rules.iter_mut().enumerate().filter(|(_, rule)| suits(rule.injection.kind));
        let case = |(rule, state): (usize, &mut Rule)| {
            let own = state.count();
            let Injection { kind, sectors, .. } = state.injection;
            state.take().then_some(Case { kind, sectors, number: number.unwrap_or(own), rule })
        };
        suiting.filter_map(case).collect()
    }

    /// Requeues a case that was not done, for the next operation.
    pub(super) fn give_back(&self, case: Case) {
        let rule = &mut lock(&self.0.rules)[case.rule];
        (rule.due, rule.made) = (rule.due + 1, rule.made - 1);
    }

    /// Shows written data to other targets.
    pub(super) fn exchange(&self, data: &Arc<[u8]>) {
        let mut exchange = lock(&self.0.injector.0.exchange);
        let own = || Exchanged { device: self.0.device.clone(), data: VecDeque::new() };
        let Exchanged { data: recent, .. } = exchange.entry(self.0.number).or_insert_with(own);
        recent.truncate(EXCHANGED - 1);
        recent.push_front(data.clone());
    }

    /// Data written by a target on another device, some recent write of one of them.
    pub(super) fn of_other_target(&self, random: &mut Xoshiro256PlusPlus) -> Option<Arc<[u8]>> {
        let exchange = lock(&self.0.injector.0.exchange);
        let others = exchange.iter().filter(|(_, other)| !other.device.is(&self.0.device));
        let each = |(number, other): (&u16, &Exchanged)| {
            other.data.iter().map(|data| (*number, data.clone())).collect::<Vec<_>>()
        };
        let mut others: Vec<_> = others.flat_map(each).collect();
        // HashMap order differs between runs.
        others.sort_by_key(|(number, _)| *number);
        let chosen = below(random, others.len().max(1) as u64) as usize;
        others.get(chosen).map(|(_, data)| data.clone())
    }
}
