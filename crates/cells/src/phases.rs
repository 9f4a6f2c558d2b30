//! The phases of one part of a matrix: its tests, one after the other, on the same files.

use crate::{Calls, Made, Matrix, Test, Transfer, Unit};
use iosonar_plan::{
    Access, AtEnd, ByteSize, Cell, Coordination, Decimal, Engine, ExpectedData, FileStep, FlushOp, FlushRule,
    Generator, Job, JobOptions, JobVerification, Nanos, Pace, Phase, PhaseEnd, Process, Space, Stop,
    ThinkTime, Workload,
};

/// Check every byte read.
const WHOLE: JobVerification = JobVerification { what: ExpectedData::Contents, immediate: false };
/// Default check of reads.
const HEADERS: JobVerification = JobVerification { what: ExpectedData::Headers, immediate: false };

/// Returns one phase per test.
pub(crate) fn phases_of(matrix: &Matrix, unit: Unit) -> impl Iterator<Item = Phase> {
    matrix.tests.iter().map(move |test| phase(matrix, unit, test))
}

/// Engine of a test of a part.
fn engine_of(matrix: &Matrix, unit: Unit, test: &Test) -> Engine {
    test.engine(matrix.methods[unit.method], unit.pair.record, unit.pair.records())
}

/// Cell of a test of a part.
pub(crate) fn cell_of(matrix: &Matrix, unit: Unit, test: &Test) -> Cell {
    Cell {
        test: test.name.into(),
        file: unit.pair.file,
        record: unit.pair.record,
        streams: unit.streams,
        method: engine_of(matrix, unit, test).name().into(),
        repeat: unit.repeat,
    }
}

fn phase(matrix: &Matrix, unit: Unit, test: &Test) -> Phase {
    let cell = cell_of(matrix, unit, test);
    let ends = match matrix.stonewall && unit.streams > 1 && test.transfer == Transfer::Read {
        true => PhaseEnd::First,
        false => PhaseEnd::All,
    };
    Phase {
        name: name(&cell, matrix.methods.len() > 1),
        cell: Some(cell),
        remount: matrix.remount.clone(),
        coordination: Coordination { ends, ..Coordination::default() },
        ..Phase::of((0..unit.streams).map(|stream| job(matrix, unit, test, stream)).collect())
    }
}

fn name(cell: &Cell, with_method: bool) -> String {
    let mut name = format!("{} {}/{}", cell.test, cell.file, cell.record);
    if cell.streams > 1 {
        name += &format!(" x{}", cell.streams);
    }
    if with_method {
        name += &format!(" {}", cell.method);
    }
    if cell.repeat > 0 {
        name += &format!(" #{}", cell.repeat + 1);
    }
    name
}

fn job(matrix: &Matrix, unit: Unit, test: &Test, stream: u32) -> Job {
    let reads = match test.transfer {
        Transfer::Read => true,
        Transfer::Write => false,
        Transfer::Mix => matrix.mix.reads(stream, unit.streams),
    };
    let order = match test.transfer == Transfer::Mix && matrix.mix_in_order {
        true => iosonar_plan::Order::Sequential,
        false => test.order(matrix),
    };
    let telemetry = match test.transfer {
        Transfer::Read => matrix.telemetry.read.clone(),
        Transfer::Write => matrix.telemetry.write.clone(),
        Transfer::Mix => None,
    };
    let (pair, records) = (unit.pair, unit.pair.records());
    let request = test.request(pair.record, records);
    let amount = Space::Bytes(pair.bytes());
    let burst = matrix.burst.map(|burst| (burst.requests(request), burst.pause));
    let flush = |(after_writes, _)| FlushRule { after_writes, op: FlushOp::Fsync };
    let pause = |(blocks, time)| ThinkTime { time, spin: Nanos(0), blocks };
    let generator = Generator {
        extra_reads: matrix.extra_reads.filter(|_| reads && test.is_plain_reader()),
        flush: burst.filter(|_| !reads).map(flush),
        thinktime: burst.map(pause).or(matrix.think_time),
        read_percent: Decimal::whole(if reads { 100 } else { 0 }),
        at_end: AtEnd::Extend,
        region: Some(amount),
        pace: matrix.rate.map_or(Pace::Closed, |iops| Pace::Rate {
            iops: Decimal::whole(iops.into()),
            process: Process::Constant,
        }),
        stop: Stop { bytes: Some(amount), ..Stop::default() },
        ..Generator::new(order, request)
    };
    let generator = match telemetry {
        Some(file) => Generator {
            order: iosonar_plan::Order::Telemetry { file },
            block_size: pair.record.into(),
            region: None,
            stop: Stop::default(),
            ..generator
        },
        None => generator,
    };
    let engine = engine_of(matrix, unit, test);
    let depth = if test.calls == Calls::Chosen && !engine.is_serial() { matrix.depth } else { 1 };
    let options = JobOptions {
        engine: Some(engine).filter(|engine| Some(engine) != matrix.methods.first()),
        start_delay: Nanos(matrix.stagger.0 * u64::from(stream)),
        before: before(matrix, test, stream),
        lock_requests: matrix.lock_requests,
        after: after(matrix, test, engine),
        access: Some(Access { buffered: true, ..matrix.access }).filter(|_| engine.is_buffered()),
        data: matrix.data.clone().map(|data| data.in_units_of(pair.record)),
        verify: Some(if matrix.data.is_some() { WHOLE } else { HEADERS })
            .filter(|verify| reads && (*verify == WHOLE || matrix.checks_headers)),
        buffer_set: matrix.buffer_set,
        purge_cpu_cache: matrix.purge_cpu_cache,
        ..JobOptions::default()
    };
    Job { depth, options, ..Job::new(stream as u16, depth, Workload::Generated(generator)) }
}

/// File steps before a test, which opens a separate descriptor.
fn before(matrix: &Matrix, test: &Test, stream: u32) -> Vec<FileStep> {
    let creates = test.made == Made::Anew && !matrix.is_device;
    let open = if creates && !matrix.shared { FileStep::Create } else { FileStep::Open };
    // Other streams have the same file open.
    let empty = (creates && matrix.shared && stream == 0).then_some(FileStep::Truncate(ByteSize(0)));
    let evict = (matrix.cold && !creates && test.reads()).then_some(FileStep::Evict);
    [Some(open), empty, matrix.lock.then_some(FileStep::Lock), evict].into_iter().flatten().collect()
}

/// File steps after a test. Written data is flushed before the next test, as in IOzone; figures contain these times
/// only if requested.
///
/// If direct I/O is wanted, the page cache is counted: a direct test left nothing there.
fn after(matrix: &Matrix, test: &Test, engine: Engine) -> Vec<FileStep> {
    let cut = (test.writes() && matrix.cut > ByteSize(0)).then_some(FileStep::Truncate(matrix.cut));
    let unlock = matrix.lock.then_some(FileStep::Unlock);
    let count = (!matrix.access.buffered && !engine.is_buffered()).then_some(FileStep::Evict);
    [cut, Some(FileStep::Fsync), count, unlock, Some(FileStep::Close)].into_iter().flatten().collect()
}
