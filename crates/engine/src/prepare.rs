//! Everything that can be found out before the first I/O.

use crate::error::PrepareError;
use crate::means::Part;
use iosonar_host::guard::{Guard, Intent, Permit};
use iosonar_host::{DevNumber, Role, Root, TargetError, TargetFacts, TargetKind, identify};
use iosonar_load::{Facts, LoadError, Notice, Pattern, Recorded, Source as RequestSource, Unfit, scan};
use iosonar_os::raise_file_limit;
use iosonar_plan::{
    Access, ByteSize, Engine, LoadPace, LoadSource, Nanos, Op, Overlap, OverlapPolicy, Placement, Plan,
    SECTOR, Source, Strong, Target,
};
use iosonar_record::bytes_each;
use iosonar_trace::decompress;
use std::fs::File;
use std::io::BufRead;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Told of lines that are left out and of shifted times, with the path of the load.
pub type NoticeSink = Arc<dyn Fn(&Path, &Notice) + Send + Sync>;

/// A plan that can be carried out, with its targets claimed.
pub struct Prepared {
    pub(crate) plan: Plan,
    /// Most requests on the push-back list of an issuing loop, where memory allows fewer than the plan.
    pub(crate) max_waiting: u32,
    pub(crate) targets: Vec<TargetReady>,
    pub(crate) notices: NoticeSink,
}

/// A target that is ready.
pub struct TargetReady {
    pub(crate) target: Target,
    pub(crate) facts: Option<TargetFacts>,
    /// Keeps the device from others while the run goes on.
    pub(crate) permit: Option<Permit>,
    /// The target, opened after the guard has judged it, and proved to be what was judged.
    pub(crate) file: Option<File>,
    /// Where its requests go.
    pub placement: Placement,
    /// What its load holds; none for standard input and patterns.
    pub load: Option<Facts>,
    writes: bool,
    /// What reading its load tells during the run.
    pub(crate) told: Arc<Told>,
}

/// Notices of a load that are counted during the run: those of standard input, which was not scanned before.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) bad_lines: AtomicU64,
    pub(crate) back_shifts: AtomicU64,
}

impl Told {
    fn count(&self, notice: &Notice) {
        let counter = match notice {
            Notice::Skipped(_) => &self.bad_lines,
            Notice::Shifted(_) => &self.back_shifts,
        };
        counter.fetch_add(1, Relaxed);
    }
}

/// Checks everything and claims the targets. `notices` hears of bad lines and shifts in loads.
pub fn prepare(plan: Plan, root: &Root, notices: NoticeSink) -> Result<Prepared, PrepareError> {
    let inputs =
        plan.targets.iter().filter(|t| matches!(&t.source, Source::Load(l) if is_stdin(&l.file))).count();
    if inputs > 1 {
        return Err(PrepareError::SharedInput);
    }
    let mut scanned = Vec::new();
    let mut targets = Vec::with_capacity(plan.targets.len());
    for target in &plan.targets {
        let load = match &target.source {
            Source::Load(load) if !is_stdin(&load.file) => Some(scan_once(load, &mut scanned, &notices)?),
            _ => None,
        };
        targets.push(examine(&plan, target, load, root)?);
    }
    if plan.engine.is_real() {
        check_apart(&targets)?;
    }
    let max_waiting = plan.overlap.max_waiting;
    let mut prepared = Prepared { plan, max_waiting, targets, notices };
    prepared.fit_memory(root)?;
    raise_file_limit();
    // Only when every target has been looked at is the first one claimed.
    let Prepared { plan, targets, .. } = &mut prepared;
    let mut guard = Guard::new(root);
    for t in targets {
        if let (Some(facts), true) = (&t.facts, plan.engine.is_real()) {
            let intent = if t.writes { Intent::Write } else { Intent::ReadOnly };
            t.permit = Some(guard.check(facts, intent, plan.destroy)?);
            // Opening shows whether the file system has direct I/O, while nothing has been made yet.
            t.file = Some(t.open(facts, plan.access)?);
        }
    }
    Ok(prepared)
}

impl Prepared {
    /// Memory follows the plan, so it can be known before the start. What is asked for is compared with what the kernel
    /// calls available; the push-back lists get at most a quarter of that.
    fn fit_memory(&mut self, root: &Root) -> Result<(), PrepareError> {
        /// Of a request that is in flight or waits: entries of the scheduler and its conflict tracker.
        const ENTRY: u64 = 512;
        /// Of a worker thread, as far as it is touched.
        const THREAD: u64 = 16 << 10;
        /// Of an issuing loop beside its frames of records: read-ahead, gauges.
        const LOOP: u64 = 1 << 19;
        const MIB: u64 = 1 << 20;
        let plan = &self.plan;
        self.check_buffers()?;
        let Some(available) = available_memory(root) else { return Ok(()) };
        let parts = self.parts();
        let depth = u64::from(plan.depth);
        let threads = if self.engine().0 == Engine::Threads { depth * THREAD } else { 0 };
        let buffers =
            |part: &Part| if plan.engine.is_real() { self.buffer_bytes(part.target, parts.len()) } else { 0 };
        let each = LOOP + bytes_each(parts.len()) + depth * ENTRY + threads;
        let needed =
            parts.iter().fold(0u64, |sum, part| sum.saturating_add(each).saturating_add(buffers(part)));
        if needed > available / 10 * 6 {
            let longest = self.targets.iter().map(TargetReady::max_length).max().unwrap_or(0);
            let what = format!(
                "{} targets, {depth} requests in flight on each, up to {longest} bytes long",
                self.targets.len()
            );
            return Err(PrepareError::Memory { needed: needed / MIB, available: available / MIB, what });
        }
        let most = available / 4 / ENTRY / parts.len() as u64;
        self.max_waiting = plan.overlap.max_waiting.min(u32::try_from(most.max(1)).unwrap_or(u32::MAX));
        Ok(())
    }

    /// How a target's overlaps are treated, with no more effort than it needs.
    pub(crate) fn overlap(&self, target: usize) -> Overlap {
        let mut overlap = self.plan.overlap;
        // A request alone in flight meets no other, and some sources never ask for what conflicts.
        if self.plan.depth == 1 || !self.targets[target].can_conflict(overlap.strong) {
            overlap.policy = OverlapPolicy::Allow;
        }
        // No more can wait than there are.
        let all = self.targets[target].expected_requests(1).and_then(|all| u32::try_from(all).ok());
        overlap.max_waiting = self.max_waiting.min(all.unwrap_or(u32::MAX).max(1));
        overlap
    }

    /// The longest request of each target must fit into its share of memory for data: it would wait for ever.
    fn check_buffers(&self) -> Result<(), PrepareError> {
        let workers = self.workers();
        let short = |(index, t): &(usize, &TargetReady)| {
            self.plan.engine.is_real() && self.buffer_bytes(*index, workers) < t.max_length() as u64
        };
        match self.targets.iter().enumerate().find(short) {
            None => Ok(()),
            Some((index, t)) => Err(PrepareError::Buffers {
                path: name(&t.target.path),
                share: self.buffer_bytes(index, workers),
                length: t.max_length() as u64,
            }),
        }
    }
}

/// `MemAvailable` of `/proc/meminfo`, in bytes; none where it cannot be read.
fn available_memory(root: &Root) -> Option<u64> {
    let text = root.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// What is written must be no load, and no other target: neither would know of the other's requests. Device and
/// inode tell, because one file may have many names.
fn check_apart(targets: &[TargetReady]) -> Result<(), PrepareError> {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let load = |t: &TargetReady| match &t.target.source {
        Source::Load(load) if !is_stdin(&load.file) => {
            Some((identity(&load.file), format!("load {}", name(&load.file))))
        }
        _ => None,
    };
    let loads: Vec<_> = targets.iter().filter_map(load).collect();
    let target = |t: &TargetReady| (identity(&t.target.path), format!("target {}", name(&t.target.path)));
    let known: Vec<_> = targets.iter().map(target).collect();
    for (index, written) in targets.iter().enumerate().filter(|(_, t)| t.writes) {
        let Some(own) = known[index].0 else { continue };
        let others = known.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, other)| other);
        if let Some((_, other)) = others.chain(&loads).find(|(identity, _)| *identity == Some(own)) {
            return Err(PrepareError::Same { path: name(&written.target.path), other: other.clone() });
        }
    }
    Ok(())
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn name(path: &Path) -> String {
    path.display().to_string()
}

fn scan_once(
    load: &LoadSource,
    scanned: &mut Vec<(LoadSource, Facts)>,
    notices: &NoticeSink,
) -> Result<Facts, PrepareError> {
    if let Some((_, facts)) = scanned.iter().find(|(l, _)| l == load) {
        return Ok(facts.clone());
    }
    let path = || name(&load.file);
    let input = open_load(&load.file)?;
    // Another window of the same file finds the same lines.
    let is_told = scanned.iter().any(|(l, _)| l.file == load.file);
    let facts = scan(input, load, |notice| {
        if !is_told {
            notices(&load.file, &notice);
        }
    });
    let facts = facts.map_err(|error| PrepareError::Load { path: path(), error })?;
    if facts.all_requests == 0 {
        let why = "it contains no request; a load has lines such as '0.000000000 ; 2048 ; 8 ; R ; 0.0 ; 0.0'"
            .into();
        return Err(PrepareError::Empty { path: path(), why });
    }
    if facts.requests == 0 {
        let window = &load.window;
        let end = window.end.map_or("the end".to_string(), |e| e.to_string());
        let why = format!(
            "no request lies between {} and {end}; the load ends at {}: choose another --start, --end or --duration",
            window.start, facts.load_end
        );
        return Err(PrepareError::Empty { path: path(), why });
    }
    scanned.push((load.clone(), facts.clone()));
    Ok(facts)
}

fn open_load(path: &Path) -> Result<Box<dyn BufRead + Send>, PrepareError> {
    let input = |error| PrepareError::Input { path: name(path), error };
    if is_stdin(path) {
        return decompress(std::io::stdin()).map_err(input);
    }
    let kind = path.metadata().map_err(|e| input(e.into()))?;
    if kind.is_dir() {
        return Err(input(std::io::Error::from(std::io::ErrorKind::IsADirectory).into()));
    }
    if !kind.is_file() {
        return Err(PrepareError::OnlyOnce { path: name(path) });
    }
    File::open(path).map_err(|e| input(e.into())).and_then(|file| decompress(file).map_err(input))
}

fn examine(
    plan: &Plan,
    target: &Target,
    load: Option<Facts>,
    root: &Root,
) -> Result<TargetReady, PrepareError> {
    let path = || name(&target.path);
    let facts = match identify(&target.path, root) {
        Ok(facts) => Some(facts),
        // Engines without I/O need no target, only its size.
        Err(_) if !plan.engine.is_real() && target.size.is_some() => None,
        Err(TargetError::Unreachable { .. }) if !plan.engine.is_real() => {
            return Err(PrepareError::NoSize(path()));
        }
        Err(error) => return Err(error.into()),
    };
    let size = match (&facts, target.size) {
        (_, Some(ByteSize(size))) if !plan.engine.is_real() => size,
        (Some(facts), _) => facts.size,
        (None, _) => return Err(PrepareError::NoSize(path())),
    };
    let block = match &facts {
        Some(facts) if !plan.access.buffered => facts.logical_block_size.bytes.max(SECTOR),
        _ => SECTOR,
    };
    let block = if is_byte_exact(target, plan.access) { 1 } else { block };
    let placement =
        Placement::new(size, block).map_err(|error| PrepareError::Placement { path: path(), error })?;
    check_fits(target, &placement, load.as_ref())?;
    let writes = match (&target.source, &load) {
        (Source::Load(_), Some(load)) => load.writes > 0,
        (Source::Load(_), None) => true,
        (Source::Pattern(p), _) => p.writes(),
    };
    Ok(TargetReady {
        target: target.clone(),
        facts,
        permit: None,
        file: None,
        placement,
        load,
        writes,
        told: Arc::default(),
    })
}

/// Buffered patterns may use any size; headers then stand at every 512 bytes of a request, not of the target.
fn is_byte_exact(target: &Target, access: Access) -> bool {
    access.buffered && matches!(&target.source, Source::Pattern(p) if !p.is_aligned(SECTOR))
}

fn check_fits(target: &Target, placement: &Placement, load: Option<&Facts>) -> Result<(), PrepareError> {
    let (path, size) = (|| name(&target.path), placement.size());
    let too_small =
        |length| PrepareError::TooSmall { path: path(), size, source_name: source_name(target), length };
    match (&target.source, load) {
        (Source::Pattern(p), _) => {
            if !p.is_aligned(placement.block()) {
                return Err(PrepareError::Unaligned { path: path(), block: placement.block() });
            }
            let end = p.offset.0.saturating_add(p.region.map_or(p.longest(), |region| region.0));
            if end > size {
                return Err(PrepareError::Region { path: path(), end, size });
            }
            match Pattern::new(p, size, 0, 0) {
                Ok(_) => Ok(()),
                Err(Unfit::Region { .. }) => Err(too_small(p.longest())),
                Err(why) => Err(PrepareError::Pattern { path: path(), why }),
            }
        }
        (Source::Load(_), Some(load)) if load.max_length > size => Err(too_small(load.max_length)),
        (Source::Load(_), _) => Ok(()),
    }
}

/// What a target's requests are called in messages and in the archive.
pub(crate) fn source_name(target: &Target) -> String {
    match &target.source {
        Source::Load(load) => name(&load.file),
        Source::Pattern(p) => p.to_string(),
    }
}

/// The requests of a pass.
pub(crate) enum Requests {
    /// Generated.
    Pattern(Box<dyn RequestSource>),
    /// Read from a load that this opens.
    Load(Box<dyn FnOnce() -> Result<Box<dyn RequestSource>, LoadError> + Send>),
}

fn open_requests(
    load: &LoadSource,
    notices: NoticeSink,
    told: Arc<Told>,
) -> Result<Box<dyn RequestSource>, LoadError> {
    let input = open_load(&load.file).map_err(|error| LoadError::Open(error.to_string()))?;
    let path = load.file.clone();
    // The scan of a file has told already what it found.
    let is_new = is_stdin(&path);
    let tell = move |notice: Notice| {
        if is_new {
            told.count(&notice);
            notices(&path, &notice);
        }
    };
    Ok(Box::new(Recorded::new(input, load, tell)))
}

impl TargetReady {
    /// Path as typed.
    pub fn path(&self) -> &PathBuf {
        &self.target.path
    }

    /// What will be overwritten, in words, if anything will.
    pub fn statement(&self) -> Option<&str> {
        match &self.permit {
            Some(Permit::Write(permit)) => Some(permit.statement()),
            _ => None,
        }
    }

    /// Highest requested end ÷ size (blkreplay manual 3.1.4), where it is known before the start.
    pub fn wraparound_factor(&self) -> Option<f64> {
        self.load.as_ref().map(|load| load.max_end as f64 / self.placement.size() as f64)
    }

    /// Its requests in `passes` passes, where that is known before the start.
    pub(crate) fn expected_requests(&self, passes: u32) -> Option<u64> {
        let once = match &self.target.source {
            Source::Load(_) => self.load.as_ref().map(|l| l.requests),
            // A pass that may end by time first has no certain number.
            Source::Pattern(p) => p.stop.requests.filter(|_| p.stop.runtime.is_none()),
        };
        once.map(|n| n.saturating_mul(passes.into()))
    }

    /// Bytes of the file, or of the file behind the loop device, that were never written.
    pub(crate) fn hole_bytes(&self) -> u64 {
        let path = match self.facts.as_ref().map(|f| &f.kind) {
            Some(TargetKind::RegularFile(_)) => self.target.path.clone(),
            Some(TargetKind::BlockDevice(device)) => match &device.role {
                Role::Loop { backing_file, .. } => PathBuf::from(backing_file),
                _ => return 0,
            },
            None => return 0,
        };
        // Blocks of a file are counted in 512 bytes, whatever its file system uses.
        path.metadata().map_or(0, |m| m.len().saturating_sub(m.blocks() * SECTOR))
    }

    /// The longest request in bytes, where it is known.
    pub(crate) fn max_length(&self) -> usize {
        let length = match (&self.target.source, &self.load) {
            (Source::Pattern(p), _) => p.longest(),
            (_, Some(load)) => load.max_length,
            (_, None) => 0,
        };
        // A load's request that is not aligned reaches into one more block at each end.
        let is_aligned = self.load.is_none() || self.placement.block() <= SECTOR;
        let ends = if is_aligned { 0 } else { 2 * self.placement.block() };
        usize::try_from(length.saturating_add(ends)).unwrap_or(usize::MAX)
    }

    /// How many issuing loops share its requests.
    pub(crate) fn jobs(&self) -> u32 {
        match &self.target.source {
            Source::Pattern(pattern) => pattern.jobs,
            Source::Load(_) => 1,
        }
    }

    /// Whether the lengths of its requests are known before the start: not so where they come by standard input.
    pub(crate) fn knows_lengths(&self) -> bool {
        matches!(self.target.source, Source::Pattern(_)) || self.load.is_some()
    }

    /// Whether any two of its requests can conflict: nothing that is only read conflicts, but under the strongest table.
    pub(crate) fn can_conflict(&self, strong: Strong) -> bool {
        self.writes || strong.conflict(Op::Read, Op::Read)
    }

    /// Its requests for one pass: a pattern is there at once, a load has yet to be opened.
    pub(crate) fn requests(&self, plan: &Plan, part: Part, stream: u64, notices: &NoticeSink) -> Requests {
        match &self.target.source {
            Source::Load(load) => {
                let (load, notices, told) = (load.clone(), notices.clone(), self.told.clone());
                Requests::Load(Box::new(move || open_requests(&load, notices, told)))
            }
            Source::Pattern(p) => {
                let pattern = Pattern::new(p, self.placement.size(), plan.seed, stream);
                let pattern = pattern.expect("check_fits has seen that a block fits");
                Requests::Pattern(Box::new(pattern.part(part.job, part.jobs)))
            }
        }
    }

    /// Opens the target as the plan says, and makes sure that it is what was judged: a path may lead elsewhere by
    /// now.
    fn open(&self, judged: &TargetFacts, access: Access) -> Result<File, PrepareError> {
        let mut flags = 0;
        if !access.buffered {
            flags |= libc::O_DIRECT;
        }
        if access.sync {
            flags |= libc::O_SYNC;
        }
        let mut options = File::options();
        options.read(true).write(self.writes).custom_flags(flags);
        let path = || name(&self.target.path);
        let file = options.open(&self.target.path).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if !access.buffered => PrepareError::NoDirectIo(path()),
            _ => PrepareError::Open { path: path(), error },
        })?;
        let opened = file.metadata().map_err(|error| PrepareError::Open { path: path(), error })?;
        let same = match &judged.kind {
            TargetKind::BlockDevice(device) => {
                opened.file_type().is_block_device() && DevNumber::from_raw(opened.rdev()) == device.number
            }
            TargetKind::RegularFile(f) => {
                opened.is_file() && DevNumber::from_raw(opened.dev()) == f.device && opened.ino() == f.inode
            }
        };
        if same { Ok(file) } else { Err(PrepareError::Moved(path())) }
    }
}

impl Prepared {
    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The targets, in the plan's order.
    pub fn targets(&self) -> &[TargetReady] {
        &self.targets
    }

    /// What is known about the targets that exist, for the environment.
    pub fn facts(&self) -> Vec<TargetFacts> {
        self.targets.iter().filter_map(|t| t.facts.clone()).collect()
    }

    /// Requests of the whole plan, where that is known before the start.
    pub fn expected_requests(&self) -> Option<u64> {
        self.targets.iter().map(|t| t.expected_requests(self.plan.passes)).sum()
    }

    /// Requests of the first pass that are due by `now`; none where requests have no times of their own.
    pub fn demanded_until(&self, now: Nanos) -> Option<u64> {
        let of = |t: &TargetReady| match &t.target.source {
            Source::Load(l) if l.pace == LoadPace::Original => {
                t.load.as_ref().map(|f| f.demand.until(l.speed.unscale(now)))
            }
            Source::Pattern(p) => p.mean_iops().map(|iops| (now.as_secs_f64() * iops) as u64),
            Source::Load(_) => None,
        };
        self.targets.iter().map(of).sum()
    }

    /// How long all passes take at least, where the plan says so: by the last due times.
    pub fn expected_span(&self) -> Option<Nanos> {
        let of = |t: &TargetReady| match &t.target.source {
            Source::Load(l) if l.pace == LoadPace::Original => {
                t.load.as_ref().map(|f| l.speed.scale(f.last.saturating_sub(f.first)))
            }
            Source::Load(_) => Some(Nanos(0)),
            Source::Pattern(p) => p.stop.end(),
        };
        let spans = self.targets.iter().map(of).collect::<Option<Vec<_>>>()?;
        spans.into_iter().max().map(|span| Nanos(span.0.saturating_mul(self.plan.passes.into())))
    }
}
