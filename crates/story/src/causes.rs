//! The cause of a time in which requests took longer than normal.
//!
//! Causes are tried in the order of [`Cause`]: this program first, then others on the devices, then the queue of requests, then the target.

use crate::Facts;
use crate::episodes::{Episode, ResponseCourse};
use iosonar_analyze::{Cause, DeviceTraffic, LEAST_REQUESTS, LossSlice, TimeRange, Traffic, WithoutCpu};
use iosonar_judge::{Case, Watched, watched};

/// A cause accounts for an episode if it accounts for this share of its lost time, or of its longest mean response.
const COVERS: f64 = 0.5;
/// A stop of this program matters from this share of the episode's length on: a busy machine has short ones all the time, and how many
/// requests each of them met is not known.
const LEAST_STOP: f64 = 0.05;
/// The target is the cause only if a lack of CPU accounts for less than this share of the lost time: it is sampled coarsely.
const NEXT_TO_NOTHING: f64 = 0.1;
/// Others matter from this share of the bytes of a device on ...
pub(crate) const OTHERS: f64 = 0.3;
/// ... if they move this many times as many bytes per second as at other times, ...
pub(crate) const TIMES_ELSEWHERE: f64 = 2.0;
/// ... and from this many bytes on: a file system writes a little for itself.
pub(crate) const LEAST_BYTES: f64 = 4.0 * 1_048_576.0;
/// The target is slower than usual from this many times its usual latency on.
const SLOWER: f64 = 1.5;
/// Requests are larger or smaller than usual from this factor on, ...
const OTHER_SIZE: f64 = 1.25;
/// ... and other operations from this difference of the share of writes on.
const OTHER_MIX: f64 = 0.15;
/// More was wanted than usual from this many times the usual rate on.
const WANTED_MORE: f64 = 1.2;

/// A cause with the numbers that show it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found {
    /// The whole process was stopped, for this long.
    Halted { ns: u64 },
    /// The issuing threads had no CPU, for this long.
    NoCpu { ns: u64 },
    /// Others moved bytes on a device: its name, and their share.
    Others { device: String, share: f64 },
    /// Requests waited for conflicts.
    Conflicts,
    /// Nothing completed.
    TargetStoodStill { ns: u64 },
    /// Requests waited for their turn: the rates that were wanted and done, per second.
    DepthFull { wanted: f64, done: f64 },
    /// Mean size of a request and share of writes, each of the event and otherwise.
    OtherRequests { bytes: [f64; 2], writes: [f64; 2] },
    /// More was wanted at once: the rate and the usual one, per second.
    MoreAtOnce { wanted: f64, usual: f64 },
    /// The latency, and the usual one, in nanoseconds.
    TargetSlower { latency_ns: f64, usual_ns: f64 },
    /// No cause was found.
    Unexplained,
}

impl Found {
    /// The same cause in two parts of the run at the same time: the longer time, or the larger share.
    pub(crate) fn or_more(self, other: Found) -> Found {
        match (self, other) {
            (Found::Halted { ns: a }, Found::Halted { ns: b }) => Found::Halted { ns: a.max(b) },
            (Found::NoCpu { ns: a }, Found::NoCpu { ns: b }) => Found::NoCpu { ns: a.max(b) },
            (a, b) => a.and(b),
        }
    }

    /// The same cause in two times: both times, or the larger share.
    pub(crate) fn and(self, other: Found) -> Found {
        match (self, other) {
            (Found::Halted { ns: a }, Found::Halted { ns: b }) => Found::Halted { ns: a + b },
            (Found::NoCpu { ns: a }, Found::NoCpu { ns: b }) => Found::NoCpu { ns: a + b },
            (a @ Found::Others { share: of_a, .. }, Found::Others { share: of_b, .. }) if of_a >= of_b => a,
            (_, b) => b,
        }
    }

    /// Whether requests differed in their size.
    pub(crate) fn is_of_size(&self) -> bool {
        matches!(self, Found::OtherRequests { bytes, .. } if is_other_size(*bytes))
    }

    /// The kind of cause.
    pub(crate) fn cause(&self) -> Cause {
        match self {
            Found::Halted { .. } => Cause::Halted,
            Found::NoCpu { .. } => Cause::NoCpu,
            Found::Others { .. } => Cause::Others,
            Found::Conflicts => Cause::Conflicts,
            Found::TargetStoodStill { .. } => Cause::TargetStoodStill,
            Found::DepthFull { .. } => Cause::DepthFull,
            Found::OtherRequests { .. } => Cause::OtherRequests,
            Found::MoreAtOnce { .. } => Cause::MoreAtOnce,
            Found::TargetSlower { .. } => Cause::TargetSlower,
            Found::Unexplained => Cause::Unexplained,
        }
    }
}

/// The evidence of the machine by which causes are found.
pub(crate) struct Evidence<'a> {
    /// `None`: whether this program ran is not known.
    without_cpu: Option<&'a WithoutCpu>,
    devices: Vec<DeviceUse>,
    /// Whether time is simulated, so that a lack of CPU changes nothing.
    is_simulated: bool,
    /// Whether requests are due when others complete, so that a rate is no demand.
    is_closed_loop: bool,
}

/// The search for the causes of the episodes of a part of the run.
pub(crate) struct Search<'a> {
    pub(crate) evidence: &'a Evidence<'a>,
    pub(crate) course: &'a ResponseCourse,
    /// Whether its requests are those of one job.
    pub(crate) has_one_job: bool,
}

/// Use of a device, or of several together, over time.
pub(crate) struct DeviceUse {
    pub(crate) name: String,
    /// Time, all bytes, bytes of others.
    steps: Vec<(TimeRange, f64, f64)>,
}

impl DeviceUse {
    /// Seconds, all bytes and those of others, of the samples that `is_wanted` selects.
    pub(crate) fn sums(&self, is_wanted: impl Fn(TimeRange) -> bool) -> [f64; 3] {
        let wanted = self.steps.iter().filter(|(time, ..)| is_wanted(*time));
        wanted.fold([0.0; 3], |[seconds, all, others], step| {
            [seconds + step.0.length_ns() as f64 / 1e9, all + step.1, others + step.2]
        })
    }

    /// The greatest number of bytes per second in a sample; at least what others need to matter.
    fn greatest_rate(&self) -> f64 {
        let rate = |step: &(TimeRange, f64, f64)| step.1 * 1e9 / step.0.length_ns().max(1) as f64;
        self.steps.iter().map(rate).fold(LEAST_BYTES, f64::max)
    }

    /// Bytes of others per second within a time.
    fn others_rate(&self, range: TimeRange) -> f64 {
        let [seconds, _, others] = self.sums(|time| time.overlap_ns(range) > 0);
        others / seconds.max(1e-9)
    }

    /// The share of others within a time, if they matter there: it is large, and they moved more than at other times. When a target becomes
    /// slower, the share of others grows although they do what they always did.
    fn others_within(&self, range: TimeRange) -> Option<f64> {
        let is_within = |time: TimeRange| time.overlap_ns(range) > 0;
        let [seconds, all, others] = self.sums(is_within);
        let [seconds_elsewhere, _, others_elsewhere] = self.sums(|time| !is_within(time));
        let is_compared = seconds_elsewhere >= seconds.min(1.0) && seconds > 0.0;
        let share = others / all.max(1.0);
        let is_more = others / seconds >= TIMES_ELSEWHERE * others_elsewhere / seconds_elsewhere;
        (is_compared && is_more && others >= LEAST_BYTES && share >= OTHERS).then_some(share)
    }
}

impl<'a> Evidence<'a> {
    pub(crate) fn of(facts: &Facts<'a>) -> Evidence<'a> {
        let case = facts.case.filter(|case| is_sampled(case));
        Evidence {
            without_cpu: case.map(|case| case.samples.without_cpu()),
            devices: case.map_or_else(Vec::new, |case| uses(case, facts.tally.traffic())),
            is_simulated: !facts.plan.engine.is_real(),
            is_closed_loop: !facts.summary.run.has_timetable,
        }
    }

    /// The share of a time in which this program was stopped; 0 if unknown.
    pub(crate) fn halted_share(&self, time: TimeRange) -> f64 {
        share_of(time, self.without_cpu.map_or(0, |without| without.halted_ns(time)))
    }

    /// The share of a time in which this program ran, and waited for a CPU; 0 if unknown.
    pub(crate) fn no_cpu_share(&self, time: TimeRange) -> f64 {
        let waited = |without: &WithoutCpu| without.within_ns(time).saturating_sub(without.halted_ns(time));
        share_of(time, self.without_cpu.map_or(0, waited))
    }

    /// The devices with their rate of bytes of others over time, as a share of the greatest rate of all bytes.
    pub(crate) fn others_over_time(&self) -> impl Iterator<Item = (String, impl Fn(TimeRange) -> f64 + '_)> {
        self.devices.iter().map(|device| {
            let greatest = device.greatest_rate();
            (device.name.clone(), move |time| device.others_rate(time) / greatest)
        })
    }

    /// Whether others use a device all the time: what they do to single requests is not known, so the target is not blamed.
    fn others_are_there(&self, range: TimeRange) -> bool {
        self.devices.iter().any(|device| {
            let [_, all, others] = device.sums(|time| time.overlap_ns(range) > 0);
            others >= LEAST_BYTES && others >= OTHERS * all
        })
    }

    /// The samples of this program's CPU time, if they cover a time. Without them, its own pause looks like one of the target.
    fn known_cpu(&self, range: TimeRange) -> Option<&'a WithoutCpu> {
        self.without_cpu.filter(|without| without.covers(range))
    }
}

impl Search<'_> {
    /// The cause of an episode.
    pub(crate) fn cause_of(&self, episode: &Episode) -> Found {
        let of_program = || self.of_program(episode);
        let of_others = || self.of_others(episode);
        let of_waiting = || self.of_waiting(episode);
        of_program().or_else(of_others).or_else(of_waiting).unwrap_or(Found::Unexplained)
    }

    /// Whether this program did not run for so long that it accounts for the lost time.
    fn of_program(&self, episode: &Episode) -> Option<Found> {
        let without = self.evidence.known_cpu(episode.range)?;
        let accounts = |without_ns: &dyn Fn(TimeRange) -> u64| {
            share_of(episode.range, without_ns(episode.range)) >= LEAST_STOP
                && self.accounted_ns(episode, without_ns) >= COVERS * episode.lost_ns
        };
        if accounts(&|range| without.halted_ns(range)) {
            return Some(Found::Halted { ns: without.halted_ns(episode.range) });
        }
        accounts(&|range| without.within_ns(range))
            .then(|| Found::NoCpu { ns: without.within_ns(episode.range) })
    }

    /// Whether this program is known to have run: a lack of CPU accounts for next to nothing.
    fn ran(&self, episode: &Episode) -> bool {
        let without = self.evidence.known_cpu(episode.range);
        let lost = without.map(|without| self.accounted_ns(episode, &|range| without.within_ns(range)));
        lost.is_some_and(|lost| lost < NEXT_TO_NOTHING * episode.lost_ns)
    }

    /// Lost time that a stop of this program accounts for: of each request at most the stop that lies between its due time, or a little
    /// before, and its completion. A backlog is worked off in about the time of the longest response.
    fn accounted_ns(&self, episode: &Episode, without_ns: &dyn Fn(TimeRange) -> u64) -> f64 {
        let before_ns = episode.worst_mean_ns as u64;
        let of_slice = |(index, slice): (usize, &LossSlice)| {
            let begin_ns = self.course.begin_of(episode.slices.start + index);
            let from_ns = begin_ns.saturating_sub(before_ns).max(episode.range.from_ns.min(begin_ns));
            let range = TimeRange { from_ns, to_ns: slice.last_completed_ns.max(from_ns) };
            let most = slice.requests as f64 * without_ns(range) as f64;
            self.course.lost_ns(slice).min(most)
        };
        let used = self.course.slices[episode.slices.clone()].iter().enumerate();
        used.filter(|(_, slice)| slice.requests > 0).map(of_slice).sum()
    }

    fn of_others(&self, episode: &Episode) -> Option<Found> {
        let of_device = |device: &DeviceUse| {
            let share = device.others_within(episode.range)?;
            Some(Found::Others { device: device.name.clone(), share })
        };
        self.evidence.devices.iter().find_map(of_device)
    }

    /// Waits for conflicts, a pause of the target, waits for a turn, other requests, and a slower target.
    fn of_waiting(&self, episode: &Episode) -> Option<Found> {
        let sum = &episode.sum;
        let is_most = |ns: u128| ns as f64 >= COVERS * episode.lost_ns;
        if is_most(sum.conflict_ns) {
            return Some(Found::Conflicts);
        }
        let is_undisturbed =
            self.evidence.is_simulated || self.ran(episode) && !self.evidence.others_are_there(episode.range);
        if episode.gap.length_ns() as f64 >= COVERS * episode.worst_mean_ns && is_undisturbed {
            return Some(Found::TargetStoodStill { ns: episode.gap.length_ns() });
        }
        let latency_ns = sum.latency_ns as f64 / sum.requests.max(1) as f64;
        let usual_ns = self.course.reference.latency_ns;
        let is_slower = latency_ns > SLOWER * usual_ns;
        let outside = self.outside(episode);
        let wanted = sum.due_per_second();
        let more =
            outside.as_ref().zip(wanted).filter(|(outside, wanted)| *wanted > WANTED_MORE * outside.rate);
        if is_most(sum.turn_ns) && (more.is_some() || !is_slower) {
            let done = self.course.done_per_second(episode.range);
            return wanted.map(|wanted| Found::DepthFull { wanted, done });
        }
        let outside_sum = outside.as_ref().filter(|_| is_slower).map(|outside| outside.sum)?;
        let of_more = more.filter(|_| !self.evidence.is_closed_loop);
        let of_more = of_more.map(|(outside, wanted)| Found::MoreAtOnce { wanted, usual: outside.rate });
        let slower = Found::TargetSlower { latency_ns, usual_ns };
        // Several jobs may differ in more than size and operation.
        let of_target = (self.has_one_job && is_undisturbed).then_some(slower);
        other_requests(sum, &outside_sum).or(of_more).or(of_target)
    }

    /// The requests outside of an episode; `None` if it covers nearly all of the run.
    fn outside(&self, episode: &Episode) -> Option<Outside> {
        let used = self.course.slices.iter().enumerate().filter(|(_, slice)| slice.requests > 0);
        let all = used.clone().count();
        let outside = used.filter(|(index, _)| !episode.slices.contains(index));
        let rest: Vec<LossSlice> = outside.map(|(_, slice)| *slice).collect();
        let sum = LossSlice::sum_of(&rest);
        let seconds = rest.len() as f64 * self.course.width_ns as f64 / 1e9;
        let is_enough = rest.len() * 10 >= all && sum.requests >= LEAST_REQUESTS;
        is_enough.then(|| Outside { rate: sum.requests as f64 / seconds, sum })
    }
}

fn share_of(time: TimeRange, ns: u64) -> f64 {
    ns as f64 / time.length_ns().max(1) as f64
}

/// Requests outside of an episode.
struct Outside {
    sum: LossSlice,
    /// Due requests per second, in slices in which some were due.
    rate: f64,
}

/// Whether requests differ from the usual ones in size or operation.
fn other_requests(sum: &LossSlice, usual: &LossSlice) -> Option<Found> {
    let per_request = |part: u64, of: &LossSlice| part as f64 / of.requests.max(1) as f64;
    let bytes = [per_request(sum.bytes, sum), per_request(usual.bytes, usual)];
    let writes = [per_request(sum.writes, sum), per_request(usual.writes, usual)];
    let is_other_mix = (writes[0] - writes[1]).abs() > OTHER_MIX;
    (is_other_size(bytes) || is_other_mix).then_some(Found::OtherRequests { bytes, writes })
}

/// Whether requests differ in their mean size from the usual one.
fn is_other_size([bytes, usual]: [f64; 2]) -> bool {
    bytes > OTHER_SIZE * usual || usual > OTHER_SIZE * bytes
}

/// Whether samples are those of the process that issued all requests: requests were real, and no other process issued some.
pub(crate) fn is_sampled(case: &Case<'_>) -> bool {
    case.is_real() && !case.plan.has_processes()
}

/// Use of the watched devices over time, within the run. The bytes of this run are subtracted: those of its requests, or those that the kernel
/// counted for this process, with its result and the reads of a verification, where these are more.
pub(crate) fn uses(case: &Case<'_>, traffic: &Traffic) -> Vec<DeviceUse> {
    let devices: &DeviceTraffic = case.samples.devices();
    let of_process = devices.own_bytes();
    let own = |index: usize, range: TimeRange| {
        let of_requests = traffic.moved_between(range);
        let process =
            of_process.get(index).filter(|(time, _)| *time == range).map_or([0.0; 2], |step| step.1);
        [of_requests[0].max(process[0]), of_requests[1].max(process[1])]
    };
    let (first, last) = (case.summary.span.first_due_ns.unwrap_or(0), case.summary.span.end_ns());
    let is_within = |time: TimeRange| time.overlap_ns(TimeRange { from_ns: first, to_ns: last }) > 0;
    let of_group = |watched: &Watched| {
        let step = |(index, (time, bytes)): (usize, (TimeRange, [f64; 2]))| {
            let [read, written] = own(index, time);
            let others = (bytes[0] - read).max(0.0) + (bytes[1] - written * watched.write_factor).max(0.0);
            (time, bytes[0] + bytes[1], others)
        };
        let steps = devices.bytes(&watched.devices).into_iter().enumerate().map(step);
        DeviceUse {
            name: watched.devices.join(", "),
            steps: steps.filter(|step| is_within(step.0)).collect(),
        }
    };
    watched(case).iter().map(of_group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::records;
    use iosonar_analyze::{Limits, Tally};
    use iosonar_archive::Record;
    use iosonar_evidence::{IssuingThreads, OwnUse, Series};
    use iosonar_plan::Nanos;

    const S: u64 = 1_000_000_000;

    fn course_of(records: &[Record]) -> ResponseCourse {
        let mut tally = Tally::new(1, &Limits::default());
        records.iter().for_each(|record| tally.add(record));
        ResponseCourse::of(&tally.losses(), None).unwrap()
    }

    /// The causes of all events, with samples of this program that was halted for some milliseconds by each second.
    fn causes(records: &[Record], halted_ms: &[u64]) -> Vec<Cause> {
        causes_with(records, halted_ms, &Series::Own(OwnUse::Halted))
    }

    /// The same for any series of nanoseconds in which it did not run.
    fn causes_with(records: &[Record], halted_ms: &[u64], stopped: &Series) -> Vec<Cause> {
        let course = course_of(records);
        let mut without = WithoutCpu::new(1);
        let mut sum = 0;
        for (second, ms) in halted_ms.iter().enumerate() {
            sum += ms * 1_000_000;
            // Samples of the halts say that the time is covered.
            if *stopped != Series::Own(OwnUse::Halted) {
                without.add(second as u64 * S, &Series::Own(OwnUse::Halted), 0.0);
            }
            without.add(second as u64 * S, stopped, sum as f64);
        }
        let evidence = Evidence {
            without_cpu: Some(&without),
            devices: Vec::new(),
            is_simulated: false,
            is_closed_loop: false,
        };
        let search = Search { evidence: &evidence, course: &course, has_one_job: true };
        course.episodes().iter().map(|episode| search.cause_of(episode).cause()).collect()
    }

    fn pause(due: u64, record: &mut Record) {
        if (3 * S..4 * S).contains(&due) {
            record.completed = Some(Nanos(4 * S + 100_000));
        }
    }

    #[test]
    fn halt_accounts_for_a_pause_and_too_short_one_does_not() {
        let records = records(10, pause);
        assert_eq!(causes(&records, &[0, 0, 0, 0, 1000, 0, 0, 0, 0, 0, 0, 0]), [Cause::Halted]);
        assert_eq!(causes(&records, &[0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0]), [Cause::TargetStoodStill]);
        assert_eq!(causes(&records, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 1000, 0, 0]), [Cause::TargetStoodStill]);
        // Without samples around it, nothing is known.
        assert_eq!(causes(&records, &[0, 0]), [Cause::Unexplained]);
    }

    /// A target that is 50 times slower for 5 seconds, and a program that is halted for 20 ms in each of them.
    #[test]
    fn small_halts_do_not_account_for_a_slow_target() {
        let slow = |due: u64, record: &mut Record| {
            if (3 * S..8 * S).contains(&due) {
                record.completed = Some(Nanos(due + 5_000_000));
            }
        };
        let halted = [0, 0, 0, 0, 20, 20, 20, 20, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(causes(&records(20, slow), &halted), [Cause::TargetSlower]);
    }

    /// Waits for a CPU are known to a sample: each of many slow requests may have met all of them.
    #[test]
    fn short_waits_do_not_account_for_a_slow_target_and_it_is_not_blamed() {
        let slow = |due: u64, record: &mut Record| {
            if (3 * S..8 * S).contains(&due) {
                record.completed = Some(Nanos(due + 20_000_000));
            }
        };
        let waited = [0, 0, 0, 0, 30, 30, 30, 30, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let waits = Series::Issuing(IssuingThreads::Wait);
        assert_eq!(causes_with(&records(20, slow), &waited, &waits), [Cause::Unexplained]);
    }

    #[test]
    fn others_matter_only_if_they_do_more_than_at_other_times() {
        let second = |n: u64| TimeRange { from_ns: n * S, to_ns: (n + 1) * S };
        let device = |of: [(f64, f64); 10]| {
            let steps =
                of.iter().enumerate().map(|(n, (own, others))| (second(n as u64), own + others, *others));
            DeviceUse { name: "vda".into(), steps: steps.collect() }
        };
        let mut usual = [(40e6, 5e6); 10];
        // The target is slower in the fourth second: the share of others grows, and they do what they always did.
        usual[3] = (2e6, 5e6);
        assert_eq!(device(usual).others_within(second(3)), None);
        usual[3] = (20e6, 80e6);
        assert_eq!(device(usual).others_within(second(3)), Some(0.8));
        // Nothing to compare with.
        assert_eq!(device(usual).others_within(TimeRange { from_ns: 0, to_ns: 10 * S }), None);
    }
}
