//! Everything that can be found out before the first I/O.

use crate::error::PrepareError;
use crate::files::{TargetFile, create, name_of_pass, options, preallocate};
use crate::means::Part;
use iosonar_host::guard::{Guard, Intent, Permit};
use iosonar_host::{DevNumber, Role, Root, TargetError, TargetFacts, TargetKind, identify, identify_growing};
use iosonar_load::{
    Facts, Listed, LoadError, Notice, Opened, Pattern, Recorded, Room, Source as RequestSource, Steps, Text,
    Told, Unfit, scan,
};
use iosonar_os::bounded::{LIST_LIMIT, read_text};
use iosonar_os::raise_file_limit;
use iosonar_plan::{
    Access, BetweenPasses, ByteSize, Engine, LoadPace, LoadSource, Nanos, Op, Overlap, OverlapPolicy,
    Placement, Plan, SECTOR, Source, Space, StepOrder, StepsSource, Strong, Target,
};
use iosonar_record::bytes_each;
use iosonar_trace::decompress;
use std::fs::File;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    pub(crate) file: Option<Arc<TargetFile>>,
    /// The file was not there and has been made.
    made: bool,
    /// What a seek list says.
    pub(crate) list: Option<Arc<[Listed]>>,
    /// Size of the target, where its requests may reach beyond it: a file that grows, or ends early.
    pub(crate) room: Option<u64>,
    /// Where its requests go.
    pub placement: Placement,
    /// What its load holds; none for standard input and patterns.
    pub load: Option<Facts>,
    pub(crate) writes: bool,
    /// What reading its load tells during the run.
    pub(crate) told: Arc<Told>,
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
            Source::Load(load) => read_before(load, &mut scanned, &notices, root)?,
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
    match prepared.claim(root) {
        Ok(()) => Ok(prepared),
        Err(error) => {
            prepared.withdraw();
            Err(error)
        }
    }
}

impl Prepared {
    /// Claims and opens the targets, and makes those that are not there: only when every one has been looked at.
    fn claim(&mut self, root: &Root) -> Result<(), PrepareError> {
        let Prepared { plan, targets, .. } = self;
        let mut guard = Guard::new(root);
        let mut claimed = Vec::new();
        // What others only read may be made by the one that writes it.
        let (made, others): (Vec<_>, Vec<_>) =
            targets.iter_mut().partition(|t| t.target.handling.file.create);
        for t in made.into_iter().chain(others).filter(|_| plan.engine.is_real()) {
            if t.facts.is_none() && t.first_name().exists() {
                t.facts = Some(identify_growing(&t.first_name(), root)?);
            }
            // Series may share a device: who has claimed it for one of them has it for all.
            let shared = t.device().filter(|_| t.writes && matches!(t.target.source, Source::Steps(_)));
            let is_claimed = shared.is_some_and(|device| claimed.contains(&device));
            if let Some(facts) = t.facts.as_ref().filter(|_| !is_claimed) {
                t.permit = Some(guard.check(facts, t.intent(), plan.destroy)?);
            }
            claimed.extend(shared);
            // Opening shows whether the file system has direct I/O, while nothing has been made yet.
            let access = t.target.access(plan.access);
            let file = match &t.facts {
                Some(facts) => t.open(facts, access)?,
                None => t.make(access, root)?,
            };
            let care = t.target.handling.file;
            if t.writes && file.metadata().is_ok_and(|m| m.is_file()) {
                preallocate(&file, &care, &t.target.path)?;
            }
            let judged = t.judge_later_files(plan, &mut guard, root)?;
            t.file = Some(Arc::new(TargetFile::new(&t.target, access, t.writes, judged, file)));
        }
        Ok(())
    }

    /// Takes back what was made for a run that is refused after all: empty files. A run that has begun keeps them.
    pub fn withdraw(&self) {
        for path in self.targets.iter().filter(|t| t.made).map(TargetReady::first_name) {
            if path.symlink_metadata().is_ok_and(|m| m.is_file() && m.len() == 0) {
                // What cannot be removed hides no error that counts more.
                let _ = std::fs::remove_file(&path);
            }
        }
    }

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
        let held = self.targets.iter().map(TargetReady::held_bytes).fold(0, u64::saturating_add);
        let needed =
            parts.iter().fold(held, |sum, part| sum.saturating_add(each).saturating_add(buffers(part)));
        if needed > usable(available) {
            let longest = self.targets.iter().map(TargetReady::max_length).max().unwrap_or(0);
            let mut what = format!(
                "{} targets, {depth} requests in flight on each, up to {longest} bytes long",
                self.targets.len()
            );
            if held > 0 {
                what += &format!(", and {} MiB of requests that filters hold", held / MIB);
            }
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

/// Memory that filters may take for requests they hold.
pub fn filter_room(root: &Root) -> Room {
    available_memory(root).map_or(Room::default(), |bytes| Room::of_bytes(usable(bytes)))
}

/// `MemAvailable` of `/proc/meminfo`, in bytes; none where it cannot be read.
fn available_memory(root: &Root) -> Option<u64> {
    let text = root.read("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Of memory that is available, what a run may take.
fn usable(available: u64) -> u64 {
    available / 10 * 6
}

/// What is written must be no load, and no other target: neither would know of the other's requests. Device and
/// inode tell, because one file may have many names.
fn check_apart(targets: &[TargetReady]) -> Result<(), PrepareError> {
    let identity = |path: &Path| path.metadata().ok().map(|m| (m.dev(), m.ino()));
    let read = |kind: &str, file: &Path| (identity(file), format!("{kind} {}", name(file)));
    let loads = |t: &TargetReady| match &t.target.source {
        Source::Load(load) => {
            let file = Some(load.file.as_path()).filter(|file| !is_stdin(file));
            file.into_iter()
                .chain(load.filter.files().map(Path::new))
                .map(|file| read("load", file))
                .collect()
        }
        Source::Steps(StepsSource { order: StepOrder::List { file }, .. }) => vec![read("seek list", file)],
        _ => Vec::new(),
    };
    let loads: Vec<_> = targets.iter().flat_map(loads).collect();
    let target = |t: &TargetReady| (identity(&t.target.path), format!("target {}", name(&t.target.path)));
    let known: Vec<_> = targets.iter().map(target).collect();
    // Series may share a target: one reads what another has written, or both go over one device.
    let is_series = |t: &TargetReady| matches!(t.target.source, Source::Steps(_));
    for (index, written) in targets.iter().enumerate().filter(|(_, t)| t.writes) {
        let Some(own) = known[index].0 else { continue };
        let may_share = |i: usize| is_series(written) && is_series(&targets[i]);
        let others = known.iter().enumerate().filter(|(i, _)| *i != index && !may_share(*i));
        let others = others.map(|(_, other)| other);
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

/// What can be known of a load before it is replayed; of standard input nothing, but that its filters can read what they
/// read beside it.
fn read_before(
    load: &LoadSource,
    scanned: &mut Vec<(LoadSource, Facts)>,
    notices: &NoticeSink,
    root: &Root,
) -> Result<Option<Facts>, PrepareError> {
    load.filter.files().try_for_each(|file| open_load(Path::new(file)).map(drop))?;
    if is_stdin(&load.file) { Ok(None) } else { scan_once(load, scanned, notices, root).map(Some) }
}

fn scan_once(
    load: &LoadSource,
    scanned: &mut Vec<(LoadSource, Facts)>,
    notices: &NoticeSink,
    root: &Root,
) -> Result<Facts, PrepareError> {
    if let Some((_, facts)) = scanned.iter().find(|(l, _)| l == load) {
        return Ok(facts.clone());
    }
    let path = || name(&load.file);
    let input = open_load(&load.file)?;
    // Another window of the same file finds the same lines.
    let is_told = scanned.iter().any(|(l, _)| l.file == load.file && l.filter == load.filter);
    let (notices, file) = (notices.clone(), load.file.clone());
    let tell = move |notice| {
        if !is_told {
            notices(&file, &notice);
        }
    };
    let facts = scan(Text::of_file(input, &load.file), load, &filter_room(root), tell);
    let facts = facts.map_err(|error| PrepareError::Load { path: path(), error })?;
    if facts.all_requests == 0 {
        let why = match load.filter.is_empty() {
            true => {
                "it contains no request; a load has lines such as '0.000000000 ; 2048 ; 8 ; R ; 0.0 ; 0.0'"
                    .into()
            }
            false => format!("no request is left behind '{}'", load.filter),
        };
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

fn open_load(path: &Path) -> Result<Opened, PrepareError> {
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
    let list = read_list(target)?;
    let first = name_of_pass(&target.path, &target.handling.file, 0);
    let is_made = |other: &Target| other.path == target.path && other.handling.file.create;
    let may_be_empty = plan.engine.is_real() && plan.targets.iter().any(is_made);
    let look = if may_be_empty { identify_growing } else { identify };
    let facts = match look(&first, root) {
        Ok(facts) => Some(facts),
        // It is made when everything has been looked at.
        Err(TargetError::Unreachable { .. })
            if may_be_empty
                && std::fs::symlink_metadata(&first)
                    .is_err_and(|e| e.kind() == std::io::ErrorKind::NotFound) =>
        {
            None
        }
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
        (None, _) if may_be_empty => 0,
        (None, _) => return Err(PrepareError::NoSize(path())),
    };
    let block = match &facts {
        Some(facts) if !target.access(plan.access).buffered => facts.logical_block_size.bytes.max(SECTOR),
        _ => SECTOR,
    };
    let block = if is_byte_exact(target, target.access(plan.access)) { 1 } else { block };
    let is_file = facts.as_ref().is_none_or(|f| matches!(f.kind, TargetKind::RegularFile(_)));
    let (room, size) = match &target.source {
        Source::Steps(steps) => {
            check_steps(plan, target, steps, list.as_deref(), is_file, block)?;
            reach(plan, steps, list.as_deref(), size, is_file, block)
        }
        _ => (None, size),
    };
    let placement =
        Placement::new(size, block).map_err(|error| PrepareError::Placement { path: path(), error })?;
    check_fits(target, &placement, load.as_ref())?;
    let writes = writes(target, load.as_ref(), list.as_deref());
    if let Source::Steps(_) = &target.source {
        check_writes(target, writes, is_file, room, placement.size())?;
    }
    Ok(TargetReady {
        target: target.clone(),
        facts,
        permit: None,
        file: None,
        made: false,
        placement,
        load,
        list,
        room,
        writes,
        told: Arc::default(),
    })
}

/// Whether anything is written.
fn writes(target: &Target, load: Option<&Facts>, list: Option<&[Listed]>) -> bool {
    match (&target.source, load) {
        (Source::Load(_), Some(load)) => load.writes > 0,
        (Source::Load(_), None) => true,
        (Source::Pattern(p), _) => p.writes(),
        (Source::Steps(s), _) => {
            list.map_or(s.writes(), |list| list.iter().any(|entry| entry.op == Op::Write))
        }
    }
}

/// How far a target reaches that does not grow by its series, and how far its requests may go.
fn reach(
    plan: &Plan,
    steps: &StepsSource,
    list: Option<&[Listed]>,
    size: u64,
    is_file: bool,
    block: u64,
) -> (Option<u64>, u64) {
    /// Beyond any file.
    const FAR: u64 = 1 << 62;
    let listed = list.map(|list| {
        let end = list.iter().map(|entry| entry.extent.end()).max().unwrap_or(0);
        let moved = steps.pass_offset.0.saturating_mul(plan.passes.saturating_sub(1).into());
        end.saturating_add(steps.offset.0).saturating_add(moved)
    });
    let grows = is_file && (steps.writes() || list.is_some());
    let room = (!grows).then_some(size);
    // Where passes are added, nobody knows how far offsets of passes go.
    let is_open = plan.conduct.runtime.is_some() && steps.pass_offset.0 > 0;
    let end = listed.or_else(|| steps.end(plan.passes)).filter(|_| !is_open);
    let end = end.or(room).unwrap_or(FAR).min(FAR);
    // Never around the end of a device: what lies behind it is the kernel's to refuse.
    (room, size.max(end).next_multiple_of(block.max(1)))
}

/// What a series writes must be inside a device, and a file is made anew only to be written.
fn check_writes(
    target: &Target,
    writes: bool,
    is_file: bool,
    room: Option<u64>,
    end: u64,
) -> Result<(), PrepareError> {
    let path = || name(&target.path);
    let makes_files = target.handling.file.between_passes.makes_files();
    if makes_files && !writes {
        return Err(PrepareError::NothingToMake(path()));
    }
    match room {
        Some(size) if writes && !is_file && end > size => {
            Err(PrepareError::Series { path: path(), end, size })
        }
        _ => Ok(()),
    }
}

/// Whether a series can be carried out on a target at all.
fn check_steps(
    plan: &Plan,
    target: &Target,
    steps: &StepsSource,
    list: Option<&[Listed]>,
    is_file: bool,
    block: u64,
) -> Result<(), PrepareError> {
    let path = || name(&target.path);
    let makes_files = target.handling.file.between_passes.makes_files();
    // New files have names of their own: what stands under the target's own name says whether it is meant as a file.
    let is_other = target.path.metadata().is_ok_and(|m| !m.is_file());
    if makes_files && (!is_file || is_other) {
        return Err(PrepareError::NoFile(path()));
    }
    if let (Some(list), false, StepOrder::List { file }) = (list, steps.writes(), &steps.order)
        && list.iter().any(|entry| entry.op == Op::Write)
    {
        let why =
            "it holds writes, and only reads were asked for: ask for writes too, or use another list".into();
        return Err(PrepareError::SeekList { path: name(file), why });
    }
    if !target.access(plan.access).buffered && !are_aligned(steps, list, block) {
        return Err(PrepareError::Unaligned { path: path(), block });
    }
    Ok(())
}

/// Whether all requests of a series begin and end at multiples of `block`.
fn are_aligned(steps: &StepsSource, list: Option<&[Listed]>, block: u64) -> bool {
    let is_scattered = matches!(steps.order, StepOrder::Random { .. } | StepOrder::Staggered);
    let last = steps.count().map_or(0, |count| steps.length(count.saturating_sub(1)));
    let lengths = [steps.request_size.0, steps.offset.0, steps.pass_offset.0, last];
    let units = is_scattered.then_some(steps.unit.0);
    let listed = list.into_iter().flatten().flat_map(|entry| [entry.extent.offset, entry.extent.length]);
    lengths.into_iter().chain(units).chain(listed).all(|n| n.is_multiple_of(block))
}

/// Reads the seek list that a series follows.
fn read_list(target: &Target) -> Result<Option<Arc<[Listed]>>, PrepareError> {
    let Source::Steps(StepsSource { order: StepOrder::List { file }, unit, .. }) = &target.source else {
        return Ok(None);
    };
    let refuse = |why: String| PrepareError::SeekList { path: name(file), why };
    let text = read_text(file, LIST_LIMIT).map_err(|error| refuse(error.to_string()))?;
    let entries = iosonar_trace::read_seek_list(&text).map_err(|error| refuse(error.to_string()))?;
    let listed = |entry: &iosonar_trace::SeekEntry| {
        let (offset, length) = (entry.location.checked_mul(unit.0)?, entry.reqsize.checked_mul(unit.0)?);
        offset.checked_add(length).filter(|end| *end < 1 << 62)?;
        Some(Listed { extent: iosonar_plan::Extent { offset, length }, op: entry.op })
    };
    let list: Option<Vec<Listed>> = entries.iter().map(listed).collect();
    let list = list.ok_or_else(|| refuse("a location lies beyond 2^62 bytes".into()))?;
    Ok(Some(list.into()))
}

/// Buffered patterns may use any size; headers then stand at every 512 bytes of a request, not of the target.
fn is_byte_exact(target: &Target, access: Access) -> bool {
    let is_exact = match &target.source {
        Source::Pattern(p) => !p.is_aligned(SECTOR),
        Source::Steps(_) => true,
        Source::Load(_) => false,
    };
    access.buffered && is_exact
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
            let length = match p.region {
                Some(Space::Bytes(bytes)) => bytes.0,
                Some(Space::Percent(_)) | None => p.longest(),
            };
            let end = p.offset.0.saturating_add(length);
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
        (Source::Load(_) | Source::Steps(_), _) => Ok(()),
    }
}

/// What a target's requests are called in messages and in the archive.
pub(crate) fn source_name(target: &Target) -> String {
    match &target.source {
        Source::Load(load) if load.filter.is_empty() => name(&load.file),
        Source::Load(load) => format!("{} | {}", name(&load.file), load.filter),
        Source::Pattern(p) => p.to_string(),
        Source::Steps(s) => s.to_string(),
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
    let text = if is_new { Text::once(input) } else { Text::of_file(input, &load.file) };
    Ok(Box::new(Recorded::new(text, load, tell)?))
}

impl TargetReady {
    /// Path as typed.
    pub fn path(&self) -> &PathBuf {
        &self.target.path
    }

    /// Its size in bytes; 0 for a file that is made by the run.
    pub fn size(&self) -> u64 {
        match (&self.target.source, &self.facts) {
            (Source::Steps(_), Some(facts)) => facts.size,
            _ => self.placement.size(),
        }
    }

    /// Whether the run removes it at its end, if it is a file.
    pub fn is_removed(&self) -> bool {
        self.target.handling.file.delete
            && self.facts.as_ref().is_none_or(|f| matches!(f.kind, TargetKind::RegularFile(_)))
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
            Source::Load(LoadSource { pace: LoadPace::Rising(rising), .. }) => {
                self.load.as_ref().map(|l| l.requests.min(rising.requests()))
            }
            Source::Load(_) => self.load.as_ref().map(|l| l.requests),
            // A pass that may end by time first has no certain number.
            Source::Pattern(p) => p.requests_on(self.size()).filter(|_| p.stop.runtime.is_none()),
            Source::Steps(s) => {
                let listed = self.list.as_ref().map(|list| list.len() as u64);
                let least = s.count().into_iter().chain(listed).min();
                least.filter(|_| s.time_limit.is_none())
            }
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
            Some(TargetKind::MemoryDevice(_)) | None => return 0,
        };
        // Blocks of a file are counted in 512 bytes, whatever its file system uses.
        path.metadata().map_or(0, |m| m.len().saturating_sub(m.blocks() * SECTOR))
    }

    /// Bytes of memory for requests that its load's filters hold.
    fn held_bytes(&self) -> u64 {
        self.load.as_ref().map_or(0, |load| load.held_bytes)
    }

    /// The longest request in bytes, where it is known.
    pub(crate) fn max_length(&self) -> usize {
        let length = match (&self.target.source, &self.load) {
            (Source::Pattern(p), _) => p.longest(),
            (Source::Steps(s), _) => {
                let longest = |list: &Arc<[Listed]>| list.iter().map(|entry| entry.extent.length).max();
                self.list.as_ref().map_or(s.request_size.0, |list| longest(list).unwrap_or(0))
            }
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
            Source::Steps(steps) => steps.jobs,
            Source::Load(_) => 1,
        }
    }

    /// Whether the lengths of its requests are known before the start: not so where they come by standard input.
    pub(crate) fn knows_lengths(&self) -> bool {
        matches!(self.target.source, Source::Pattern(_) | Source::Steps(_)) || self.load.is_some()
    }

    /// Whether any two of its requests can conflict: nothing that is only read conflicts, but under the strongest table.
    pub(crate) fn can_conflict(&self, strong: Strong) -> bool {
        self.writes || strong.conflict(Op::Read, Op::Read)
    }

    /// Its requests for one pass: a pattern is there at once, a load has yet to be opened.
    pub(crate) fn requests(
        &self,
        plan: &Plan,
        part: Part,
        pass: u32,
        stream: u64,
        notices: &NoticeSink,
    ) -> Requests {
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
            Source::Steps(series) => {
                let steps = Steps::new(series, pass, self.room, self.list.clone());
                Requests::Pattern(Box::new(steps.part(part.job, part.jobs)))
            }
        }
    }

    /// What is done to it: deleting is as bad as writing.
    fn intent(&self) -> Intent {
        let care = self.target.handling.file;
        // Of a device nothing is deleted.
        let removes = care.delete || care.between_passes == BetweenPasses::Recreate;
        let harms = self.writes || (removes && self.device().is_none());
        if harms { Intent::Write } else { Intent::ReadOnly }
    }

    /// Files of later passes that are there already: they are judged as the target is.
    fn judge_later_files(
        &self,
        plan: &Plan,
        guard: &mut Guard<'_>,
        root: &Root,
    ) -> Result<Vec<u32>, PrepareError> {
        /// More passes than this may not find files that are there.
        const MOST: u32 = 10_000;
        let care = &self.target.handling.file;
        if care.between_passes != BetweenPasses::NewFile {
            return Ok(Vec::new());
        }
        let mut judged = Vec::new();
        for pass in 1..plan.passes.min(MOST) {
            let path = name_of_pass(&self.target.path, care, pass);
            let Ok(found) = path.symlink_metadata() else { continue };
            if !found.is_file() {
                return Err(PrepareError::NoFile(name(&path)));
            }
            guard.check(&identify_growing(&path, root)?, Intent::Write, plan.destroy)?;
            judged.push(pass);
        }
        Ok(judged)
    }

    /// Its number, of a block device.
    fn device(&self) -> Option<DevNumber> {
        match &self.facts.as_ref()?.kind {
            TargetKind::BlockDevice(device) => Some(device.number),
            TargetKind::RegularFile(_) | TargetKind::MemoryDevice(_) => None,
        }
    }

    /// Opens the target as the plan says, and makes sure that it is what was judged: a path may lead elsewhere by
    /// now.
    fn open(&self, judged: &TargetFacts, access: Access) -> Result<File, PrepareError> {
        let path = || name(&self.target.path);
        let first = self.first_name();
        let opened = options(access, self.writes).open(&first);
        let file = opened.map_err(|error| self.not_opened(error, access))?;
        let opened = file.metadata().map_err(|error| PrepareError::Open { path: path(), error })?;
        let same = match &judged.kind {
            TargetKind::BlockDevice(device) => {
                opened.file_type().is_block_device() && DevNumber::from_raw(opened.rdev()) == device.number
            }
            TargetKind::RegularFile(f) => {
                opened.is_file() && DevNumber::from_raw(opened.dev()) == f.device && opened.ino() == f.inode
            }
            TargetKind::MemoryDevice(number) => {
                opened.file_type().is_char_device() && DevNumber::from_raw(opened.rdev()) == *number
            }
        };
        if same { Ok(file) } else { Err(PrepareError::Moved(path())) }
    }

    /// Makes the file, which was not there when it was looked for.
    fn make(&mut self, access: Access, root: &Root) -> Result<File, PrepareError> {
        let first = self.first_name();
        let made = create(&first, access);
        let file = made.map_err(|error| self.not_opened(error, access))?;
        self.made = true;
        self.facts = identify_growing(&first, root).ok();
        let block = self.facts.as_ref().map_or(SECTOR, |facts| facts.logical_block_size.bytes);
        match access.buffered || self.is_aligned(block) {
            true => Ok(file),
            false => Err(PrepareError::Unaligned { path: name(&self.target.path), block }),
        }
    }

    /// Whether direct I/O can carry a series out.
    fn is_aligned(&self, block: u64) -> bool {
        match &self.target.source {
            Source::Steps(steps) => are_aligned(steps, self.list.as_deref(), block),
            _ => true,
        }
    }

    /// Name of the file of the first pass.
    fn first_name(&self) -> PathBuf {
        name_of_pass(&self.target.path, &self.target.handling.file, 0)
    }

    fn not_opened(&self, error: std::io::Error, access: Access) -> PrepareError {
        let path = name(&self.target.path);
        match error.raw_os_error() {
            Some(libc::EINVAL) if !access.buffered => PrepareError::NoDirectIo(path),
            _ => PrepareError::Open { path, error },
        }
    }

    /// What does not fit, in a sentence, though the run goes on.
    pub fn notice(&self) -> Option<String> {
        let Source::Steps(series) = &self.target.source else { return None };
        let path = self.target.path.display();
        if let (Some(list), Some(count)) = (&self.list, series.count())
            && (list.len() as u64) < count
        {
            return Some(format!(
                "target {path} is asked for {count} requests, and its seek list holds {}: each pass ends with the list",
                list.len()
            ));
        }
        let size = self.room?;
        let end = series.end(1).filter(|end| *end > size && !self.writes)?;
        Some(format!(
            "target {path} holds {size} bytes, and its series reads up to byte {end}: what lies behind its end stays short, \
             and the pass ends there"
        ))
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
            Source::Load(LoadSource { pace: LoadPace::Rising(rising), .. }) => {
                t.load.as_ref().map(|f| f.requests.min(rising.until(now) as u64))
            }
            Source::Load(l) if l.pace == LoadPace::Original => {
                t.load.as_ref().map(|f| f.demand.until(l.speed.unscale(now)))
            }
            Source::Pattern(p) => p.due_until(now),
            Source::Load(_) | Source::Steps(_) => None,
        };
        self.targets.iter().map(of).sum()
    }

    /// How long all passes take at least, where the plan says so: by the last due times.
    pub fn expected_span(&self) -> Option<Nanos> {
        let of = |t: &TargetReady| match &t.target.source {
            Source::Load(l) if l.pace == LoadPace::Original => {
                t.load.as_ref().map(|f| l.speed.scale(f.last.saturating_sub(f.first)))
            }
            Source::Load(LoadSource { pace: LoadPace::Rising(rising), .. }) => {
                t.load.as_ref().map(|f| rising.over.min(rising.due(f.requests)))
            }
            Source::Load(_) => Some(Nanos(0)),
            Source::Pattern(p) => p.stop.end(),
            Source::Steps(_) => None,
        };
        let spans = self.targets.iter().map(of).collect::<Option<Vec<_>>>()?;
        spans.into_iter().max().map(|span| Nanos(span.0.saturating_mul(self.plan.passes.into())))
    }
}
