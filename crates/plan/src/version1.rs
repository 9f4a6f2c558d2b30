//! Converts forms of plans of version 1 into those of today.

use crate::{
    Access, AtEnd, ByteSize, Data, Decimal, Engine, FileLifecycle, FileStep, Generator, JobOptions, Nanos,
    Order, Pace, Process, Sharing, Space, Stop, Verify,
};
use serde::Deserialize;
use std::path::PathBuf;

/// A counted series of requests at exact locations: a separate source, of kind `steps`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Series {
    order: SeriesOrder,
    unit: ByteSize,
    request_size: ByteSize,
    requests: Option<u64>,
    bytes: Option<ByteSize>,
    time_limit: Option<Nanos>,
    read_percent: Decimal,
    #[serde(default)]
    offset: ByteSize,
    #[serde(default)]
    pass_offset: ByteSize,
    range: Option<ByteSize>,
    #[serde(default = "crate::generator::one_job")]
    jobs: u32,
    throttle: Option<Throttle>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum SeriesOrder {
    Sequential { interleave: u32 },
    Staggered,
    Random { seed: u64, new_each_pass: bool },
    Fixed,
    List { file: PathBuf },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Throttle {
    Ops(Decimal),
    Bytes(Decimal),
}

impl From<Throttle> for Pace {
    fn from(throttle: Throttle) -> Pace {
        let process = Process::Trailing;
        match throttle {
            Throttle::Ops(iops) => Pace::Rate { iops, process },
            // Whole bytes: slower rates are of no use.
            Throttle::Bytes(bytes) => Pace::Bandwidth {
                bytes_per_second: ByteSize(bytes.as_f64().round().max(1.0) as u64),
                process,
            },
        }
    }
}

impl From<Series> for Generator {
    fn from(series: Series) -> Generator {
        let (order, seed, same_each_pass) = match series.order {
            SeriesOrder::Sequential { interleave: 1 } => (Order::Sequential, None, false),
            SeriesOrder::Sequential { interleave } => (Order::Interleaved { every: interleave }, None, false),
            SeriesOrder::Staggered => (Order::Staggered, None, false),
            SeriesOrder::Random { seed, new_each_pass } => (Order::Random, Some(seed), !new_each_pass),
            SeriesOrder::Fixed => (Order::Fixed, None, false),
            SeriesOrder::List { file } => (Order::List { file }, None, false),
        };
        let is_spread = matches!(order, Order::Staggered | Order::Random);
        Generator {
            read_percent: series.read_percent,
            offset: series.offset,
            pass_offset: series.pass_offset,
            // Only these orders had a range.
            region: series.range.filter(|_| is_spread).map(Space::Bytes),
            unit: Some(series.unit),
            at_end: AtEnd::Extend,
            seed,
            same_each_pass,
            jobs: series.jobs,
            sharing: Sharing::Striped,
            pace: series.throttle.map_or(Pace::Closed, Pace::from),
            stop: Stop {
                requests: series.requests,
                bytes: series.bytes.map(Space::Bytes),
                cut_last: true,
                time_limit: series.time_limit,
                ..Stop::default()
            },
            ..Generator::new(order, series.request_size)
        }
    }
}

/// How a target is handled, with the lifecycle of its file.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct OldOptions {
    access: Option<Access>,
    engine: Option<Engine>,
    data: Option<Data>,
    verify: Option<Verify>,
    file: Option<FileLifecycle>,
    before: Vec<FileStep>,
    after: Vec<FileStep>,
    start_delay: Nanos,
    cpu: Option<u32>,
    max_errors: Option<u64>,
    shared_memory: bool,
    align: ByteSize,
    buffer_set: ByteSize,
    purge_cpu_cache: ByteSize,
    lock_requests: bool,
}

impl OldOptions {
    pub(crate) fn split(self) -> (JobOptions, Option<FileLifecycle>) {
        let OldOptions { access, engine, data, verify, file, before, after, start_delay, cpu, .. } = self;
        let OldOptions {
            max_errors, shared_memory, align, buffer_set, purge_cpu_cache, lock_requests, ..
        } = self;
        let options = JobOptions {
            access,
            engine,
            data,
            verify,
            before,
            after,
            start_delay,
            cpu,
            max_errors,
            shared_memory,
            align,
            buffer_set,
            purge_cpu_cache,
            lock_requests,
        };
        (options, file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Workload;

    #[test]
    fn a_series_becomes_a_generator() {
        let text = "kind = 'steps'\nunit = '1KiB'\nrequest_size = '8KiB'\nbytes = '20KiB'\nread_percent = '30'\njobs = 2\n\
                    throttle = { ops = '2.5' }\norder = { random = { seed = 7, new_each_pass = false } }";
        let Workload::Generated(generator) = toml::from_str(text).unwrap() else { panic!("it is generated") };
        assert_eq!(
            (generator.count(), generator.amount(), generator.cut_length()),
            (Some(3), Some(20_480), Some(4096))
        );
        assert_eq!((generator.seed, generator.same_each_pass), (Some(7), true));
        let pace = Pace::Rate { iops: "2.5".parse().unwrap(), process: Process::Trailing };
        assert_eq!((generator.pace, generator.at_end), (pace, AtEnd::Extend));
        assert_eq!(generator.to_string(), "random 8KiB 30% read");
    }
}
