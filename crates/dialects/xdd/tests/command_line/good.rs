//! Valid lines, and assertions about them.

use iosonar_dialect_xdd::*;
use iosonar_plan::*;
use std::io;

pub fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

pub fn no_file(_: &str) -> io::Result<String> {
    Err(io::ErrorKind::NotFound.into())
}

pub fn generator(plan: &Plan, target: usize) -> &Generator {
    plan.phases[0].jobs[target].workload.generator().expect("XDD's workloads are generated")
}

pub const BASE: &str = "-targets 3 F G H -numreqs 10";

pub type Check = fn(&Settings, &Plan) -> bool;

/// Words appended to [`BASE`], and the assertion. Each option is first in at least one line.
pub const GOOD: &[(&str, Check)] = &[
    ("-align 512", |s, p| s.targets[2].align == 512 && p.phases[0].jobs[2].options.align.0 == 512),
    ("-blocksize 512", |_, p| generator(p, 0).unit() == 512 && generator(p, 0).longest() == 65536),
    ("-combined c", |s, _| s.global.combined.as_deref() == Some("c")),
    ("-createnewfiles -op write", |_, p| p.targets[0].file.between_passes == BetweenPasses::NewFile),
    ("-csvout c", |s, _| s.global.csvout.as_deref() == Some("c")),
    ("-datapattern x", |_, p| p.phases[0].jobs[1].options.data == Some(Data::Byte(b'x'))),
    ("-datapattern hex fE", |_, p| p.phases[0].jobs[1].options.data == Some(Data::Byte(0xfe))),
    ("-datapattern random", |_, p| p.phases[0].jobs[1].options.data == Some(Data::Random)),
    ("-datapattern ascii HELLO", |_, p| {
        p.phases[0].jobs[1].options.data == Some(Data::Ascii("HELLO".into()))
    }),
    ("-datapattern sequenced", |s, p| {
        p.phases[0].jobs[1].options.data == Some(Data::Sequenced) && s.global.notices.len() == 1
    }),
    ("-delay 1.5", |_, p| p.phases[0].coordination.pass_delay == Nanos(1_500_000_000)),
    ("-deletefile", |s, p| s.targets[0].deletefile && p.targets[0].file.delete),
    ("-deskew", |s, _| s.global.deskew),
    ("-destroy", |s, p| s.global.destroy && p.destroy),
    ("-devicefile -op write", |_, p| !p.targets[0].file.create),
    ("-dio", |_, p| {
        p.phases[0].jobs[0].options.access == Some(Access { buffered: false, sync: SyncFlag::None })
    }),
    ("-errout e", |s, _| s.global.errout.as_deref() == Some("e")),
    ("-heartbeat 2", |s, _| s.global.heartbeat == Some(Nanos::from_secs(2))),
    ("-id a", |s, _| s.global.id == "a "),
    ("-kbytes 7", |s, _| s.targets[0].kbytes == Some(7)),
    ("-lockstep 0 1 op 2 mbytes 3 run stop", |_, p| {
        let (every, task) = (Amount::Ops(2), Amount::Bytes(ByteSize(3 << 20)));
        p.phases[0].coordination.lockstep
            == [Lockstep { master: 0, slave: 1, every, task, begins: Begins::Run, ends: Ends::Stop }]
    }),
    ("-lockstep 0 1 percent 2.5 time 0.5 wait complete -lockstep 1 2 kbytes 4 op 1 wait stop", |_, p| {
        let l = &p.phases[0].coordination.lockstep;
        l[0].every == Amount::Percent("2.5".parse().unwrap())
            && l[0].task == Amount::Time(Nanos(500_000_000))
            && (l[0].begins, l[0].ends) == (Begins::Wait, Ends::Complete)
            && l[1].every == Amount::Bytes(ByteSize(4096))
    }),
    ("-maxall", |s, p| s.global.maxpri && s.global.processlock && p.pacing.realtime == Some(99)),
    ("-maxerrors 3", |_, p| p.phases[0].jobs[1].options.max_errors == Some(3)),
    ("-maxpri", |s, p| s.global.maxpri && !s.global.processlock && p.pacing.realtime == Some(99)),
    ("-mbytes 7", |s, _| s.targets[0].mbytes == Some(7)),
    ("-minall", |s, _| s.global.nomemlock && s.global.noproclock),
    ("-nobarrier", |_, p| p.phases[0].coordination.free_passes),
    ("-nomemlock", |s, _| s.global.nomemlock && !s.global.noproclock),
    ("-noproclock", |s, _| s.global.noproclock && !s.global.nomemlock),
    ("-numreqs 3", |_, p| generator(p, 2).stop.requests == Some(3)),
    ("-op write", |s, p| s.targets[0].writes() && generator(p, 0).read_percent == Decimal::whole(0)),
    ("-out DIR", |s, _| s.global.out.as_deref() == Some("DIR")),
    ("-output o", |s, _| s.global.output.as_deref() == Some("o")),
    ("-passes 3", |_, p| p.phases[0].passes == 3),
    ("-passoffset 10", |_, p| generator(p, 0).pass_offset.0 == 10240),
    ("-preallocate 1000 -op write", |_, p| p.targets[0].file.preallocate.0 == 1_024_000),
    ("-processlock", |s, _| s.global.processlock),
    ("-processor 3 1", |_, p| {
        p.phases[0].jobs[1].options.cpu == Some(3) && p.phases[0].jobs[0].options.cpu.is_none()
    }),
    ("-qthreadinfo", |s, _| s.global.qthreadinfo),
    ("-queuedepth 4", |s, p| s.targets[0].queuedepth == 4 && generator(p, 0).jobs == 4 && p.depth() == 1),
    ("-randomize -seek random", |_, p| {
        (generator(p, 0).order == Order::Random, generator(p, 0).seed, generator(p, 0).same_each_pass)
            == (true, Some(72058), false)
    }),
    ("-reallyverbose", |s, _| s.global.reallyverbose && s.global.verbose),
    ("-recreatefiles -op write", |_, p| p.targets[0].file.between_passes == BetweenPasses::Recreate),
    ("-reopen", |_, p| p.targets[0].file.between_passes == BetweenPasses::Reopen),
    ("-report_threshold 0.25", |s, _| s.targets[1].report_threshold == Some(Nanos(250_000_000))),
    ("-reqsize 8", |_, p| generator(p, 0).longest() == 8192),
    ("-roundrobin 2", |s, p| {
        s.global.roundrobin == Some(2)
            && (0..3).all(|t| p.phases[0].jobs[t].options.cpu == Some(t as u32 % 2))
    }),
    ("-runtime 2.5", |_, p| p.phases[0].coordination.runtime == Some(Nanos(2_500_000_000))),
    ("-rwratio 30.2", |_, p| generator(p, 0).read_percent == "30.2".parse().unwrap()),
    ("-seek random -seek range 4096 -seek seed 5", |_, p| {
        let s = generator(p, 0);
        (s.order == Order::Random, s.seed, s.same_each_pass) == (true, Some(5), true)
            && s.region == Some(Space::Bytes(ByteSize(4096 * 1024)))
    }),
    ("-seek stagger", |_, p| generator(p, 0).order == Order::Staggered && generator(p, 0).region.is_none()),
    ("-seek staggered", |s, _| s.targets[0].seek.order == SeekOrder::Stagger),
    ("-seek random -seek sequential", |s, _| s.targets[0].seek.order == SeekOrder::Sequential),
    ("-seek none", |_, p| generator(p, 0).order == Order::Fixed),
    ("-seek interleave 4", |_, p| generator(p, 0).order == Order::Interleaved { every: 4 }),
    ("-seek load a.T0Q0.txt", |_, p| generator(p, 0).order == Order::List { file: "a.T0Q0.txt".into() }),
    ("-seek save a -seek seekhist 7 -seek disthist 8", |s, _| {
        let seek = &s.targets[0].seek;
        (seek.save.as_deref(), seek.seekhist, seek.disthist) == (Some("a"), Some(7), Some(8))
    }),
    ("-sharedmemory", |s, _| s.targets[0].sharedmemory),
    ("-show-plan", |s, _| s.global.show_plan),
    ("-singleproc 2", |s, p| {
        s.global.singleproc == Some(2) && p.jobs().all(|(_, job)| job.options.cpu == Some(2))
    }),
    ("-startdelay 0.5", |_, p| p.phases[0].jobs[2].options.start_delay == Nanos(500_000_000)),
    ("-startoffset 100", |_, p| generator(p, 0).offset.0 == 102_400),
    ("-starttrigger 0 1 op 20", |_, p| {
        p.phases[0].coordination.start == [Trigger { leader: 0, follower: 1, when: Amount::Ops(20) }]
    }),
    ("-stoptrigger 2 1 time 1.5", |_, p| {
        p.phases[0].coordination.stop
            == [Trigger { leader: 2, follower: 1, when: Amount::Time(Nanos(1_500_000_000)) }]
    }),
    ("-syncio 5", |_, p| p.phases[0].coordination.meet_every == Some(5)),
    ("-syncwrite", |_, p| p.targets[0].file.sync_each_pass),
    ("-target I", |_, p| p.targets.len() == 4 && p.targets[3].path.as_os_str() == "I"),
    ("-targetdir d", |_, p| p.targets[0].path.as_os_str() == "dF"),
    ("-targetoffset 4 -blocksize 512 -startoffset 1", |_, p| {
        (0..3).all(|t| generator(p, t).offset.0 == 512 + t as u64 * 2048)
    }),
    ("-targets 2 I J", |_, p| p.targets.len() == 5),
    ("-targets -3 I", |_, p| p.targets.len() == 6 && p.targets[5].path.as_os_str() == "I"),
    ("-targets I", |_, p| p.targets.len() == 4),
    ("-targetstartdelay 1.2 -startdelay 1", |_, p| {
        (0..3u64).all(|t| {
            p.phases[0].jobs[t as usize].options.start_delay == Nanos(1_000_000_000 + t * 1_200_000_000)
        })
    }),
    ("-throttle ops 7.8", |_, p| {
        generator(p, 0).pace == Pace::Rate { iops: "7.8".parse().unwrap(), process: Process::Trailing }
    }),
    ("-throttle bw 87.2", |_, p| {
        generator(p, 0).pace
            == Pace::Bandwidth { bytes_per_second: ByteSize(87_200_000), process: Process::Trailing }
    }),
    ("-range 64", |s, p| s.targets[1].seek.range == Some(64) && generator(p, 0).region.is_none()),
    ("-timelimit 10.0", |_, p| generator(p, 0).stop.time_limit == Some(Nanos::from_secs(10))),
    ("-timelimit 10", |_, p| generator(p, 0).stop.time_limit == Some(Nanos::from_secs(10))),
    ("-timerinfo", |s, _| s.global.timerinfo),
    ("-timestamps detailed", |s, _| {
        let ts = &s.targets[0].timestamps;
        ts.on && ts.detailed && ts.summary && ts.when_full == WhenFull::Wrap
    }),
    ("-ts summary -ts normalize -ts output p -ts append -ts dump d", |s, _| {
        let ts = &s.targets[0].timestamps;
        let names = (ts.output.as_deref(), ts.dump.as_deref());
        ts.summary && !ts.detailed && ts.normalize && ts.append && names == (Some("p"), Some("d"))
    }),
    ("-ts size 9 -ts wrap -ts oneshot -ts triggerop 0 -ts triggertime 1.5", |s, _| {
        let ts = &s.targets[0].timestamps;
        (ts.size, ts.when_full) == (Some(9), WhenFull::OneShot)
            && (ts.trigger_op, ts.trigger_time) == (Some(0), Some(Nanos(1_500_000_000)))
    }),
    ("-ts on -ts off", |s, _| !s.targets[0].timestamps.on),
    ("-ts output p", |s, _| s.targets[0].timestamps.on && s.global.notices.len() == 1),
    ("-verbose", |s, _| s.global.verbose && !s.global.reallyverbose),
    ("-verify location", |_, p| {
        p.phases[0].jobs[0].options.verify
            == Some(JobVerification { what: ExpectedData::Location, immediate: false })
    }),
    ("-verify contents -datapattern x", |s, p| {
        p.phases[0].jobs[0].options.verify
            == Some(JobVerification { what: ExpectedData::Contents, immediate: false })
            && s.global.notices.is_empty()
    }),
    ("-verify compare -datapattern sequenced", |s, p| {
        p.phases[0].jobs[0].options.verify.unwrap().what == ExpectedData::Contents
            && s.global.notices.is_empty()
    }),
    ("-verify immediate -op write", |_, p| {
        p.phases[0].jobs[0].options.verify
            == Some(JobVerification { what: ExpectedData::Contents, immediate: true })
    }),
];
