//! Sections before results, and a seek list, as exact text.

use iosonar_dialect_xdd::{
    HeaderFacts, PassAmount, StampFacts, SystemFacts, TargetFacts, ThrottleSettings, TimeServiceFacts, ctime,
    ending_line, header,
};
use iosonar_plan::{Amount, Begins, Decimal, Ends, Lockstep, Nanos, Op};
use iosonar_trace::{SeekEntry, write_seek_list};

fn options() -> HeaderFacts {
    HeaderFacts {
        version: "iosonar 0.1.0".into(),
        started: ctime(1_158_503_053_000_000_000),
        id: "Test_using_4096K_Ops".into(),
        max_priority: true,
        passes: 3,
        pass_delay: Nanos(1_500_000_000),
        max_errors: Some(3),
        output: "stdout".into(),
        csv_output: "t.csv".into(),
        error_output: "stderr".into(),
        combined_output: Some("c.csv".into()),
        barriers: true,
        time_service: Some(TimeServiceFacts { host: "mp-1".into(), port: 2000, start: 186_719 }),
        targets: 2,
        io_threads: 2,
        ..HeaderFacts::default()
    }
}

fn system() -> SystemFacts {
    SystemFacts {
        computer: "testsgi".into(),
        user: "george".into(),
        system: "Linux 6.1".into(),
        hardware: "x86_64".into(),
        processors: 16,
        page_size: 16384,
        pages: 524_288,
        until_start: Nanos::from_secs(9),
    }
}

fn target() -> TargetFacts {
    TargetFacts {
        number: 0,
        queue_thread: 0,
        name: "/scratch/testfile1".into(),
        directory: String::new(),
        process_id: 77,
        thread_id: None,
        processor: Some(0),
        read_percent: Decimal::whole(100),
        throttle: None,
        time_limit: Some(Nanos::from_secs(30)),
        block_size: 1024,
        request_blocks: 4096,
        requests: Some(2048),
        start_offset: 0,
        amount: Some(PassAmount::MegaBytes(8192)),
        pass_offset: 0,
        shared_memory: false,
        alignment: 16384,
        data_pattern: "0x0".into(),
        verification: "disabled".into(),
        direct: false,
        seek_pattern: "sequential".into(),
        seek_range: Some(8_388_608),
        preallocation: 0,
        queue_depth: 1,
        stamps: Some(StampFacts {
            detailed: true,
            summary: true,
            text_file: Some("ts.target.0000.qthread.0000.csv".into()),
            dump_file: None,
        }),
        delete_file: false,
        lockstep: Vec::new(),
    }
}

fn slave() -> TargetFacts {
    let lockstep = Lockstep {
        master: 0,
        slave: 1,
        every: Amount::Ops(8),
        task: Amount::Time(Nanos(2_300_000_000)),
        begins: Begins::Wait,
        ends: Ends::Complete,
    };
    TargetFacts {
        number: 1,
        directory: "/raid/".into(),
        processor: None,
        thread_id: Some(78),
        read_percent: "30.2".parse().unwrap(),
        throttle: Some(ThrottleSettings::Ops("7.8".parse().unwrap())),
        requests: None,
        amount: None,
        seek_range: None,
        stamps: None,
        lockstep: vec![lockstep],
        ..target()
    }
}

const WANT: &str = "\
IOIOIOIOIOIOIOIOIOIOI XDD IOIOIOIOIOIOIOIOIOIOIOI
xdd - Version, iosonar 0.1.0
Starting time for this run, Sun Sep 17 14:24:13 2006
ID for this run, 'Test_using_4096K_Ops'
Maximum Process Priority, enabled
Passes, 3
Pass Delay in seconds, 1.5
Maximum Error Threshold, 3
Target Offset, 0
I/O Synchronization, 0
Total run-time limit in seconds, 0
Output file name, stdout
CSV output file name, t.csv
Error output file name, stderr
Combined output file name, c.csv
Pass seek randomization, disabled
File write synchronization, disabled
Pass synchronization barriers, enabled
Timeserver hostname, mp-1
Timeserver port number, 2000
Global start time, 186719
Number of Targets, 2
Number of I/O Threads, 2

Computer Name, testsgi, User Name, george
OS release and version, Linux 6.1
Machine hardware type, x86_64
Number of processors on this system, 16
Page size in bytes, 16384
Number of physical pages, 524288
Megabytes of physical memory, 8192
Seconds before starting, 9
Target information,
\tTarget[0] Q[0], /scratch/testfile1
\t\tTarget directory, \"./\"
\t\tProcess ID, 77
\t\tProcessor, 0
\t\tRead/write ratio, 100.00, 0.00
\t\tThrottle in MB/sec,   0.00
\t\tPer-pass time limit in seconds, 30
\t\tBlocksize in bytes, 1024
\t\tRequest size, 4096, blocks, 4194304, bytes
\t\tNumber of Requests, 2048
\t\tStart offset, 0
\t\tNumber of MegaBytes, 8192
\t\tPass Offset in blocks, 0
\t\tI/O memory buffer, normal memory
\t\tI/O memory buffer alignment in bytes, 16384
\t\tData pattern in buffer, 0x0
\t\tData verification, disabled
\t\tDirect I/O, disabled
\t\tSeek pattern, sequential
\t\tSeek range, 8388608
\t\tPreallocation, 0
\t\tQueue Depth, 1
\t\tTimestamping, enabled for DETAILED SUMMARY
\t\tTimestamp ASCII output file name, ts.target.0000.qthread.0000.csv
\t\tDelete file, disabled
\tTarget[1] Q[0], /scratch/testfile1
\t\tTarget directory, \"/raid/\"
\t\tProcess ID, 77
\t\tThread ID, 78
\t\tProcessor, all/any
\t\tRead/write ratio, 30.20, 69.80
\t\tThrottle in ops/sec,   7.80
\t\tPer-pass time limit in seconds, 30
\t\tBlocksize in bytes, 1024
\t\tRequest size, 4096, blocks, 4194304, bytes
\t\tStart offset, 0
\t\tPass Offset in blocks, 0
\t\tI/O memory buffer, normal memory
\t\tI/O memory buffer alignment in bytes, 16384
\t\tData pattern in buffer, 0x0
\t\tData verification, disabled
\t\tDirect I/O, disabled
\t\tSeek pattern, sequential
\t\tSeek range, none
\t\tPreallocation, 0
\t\tQueue Depth, 1
\t\tTimestamping, disabled
\t\tDelete file, disabled
\t\tLockstep Master Target, 0
\t\tLockstep Slave Target, 1
\t\tLockstep Interval, 8, operations
\t\tLockstep Task, 2.3, seconds
\t\tLockstep Initial Condition, wait
\t\tLockstep Termination, complete
";

#[test]
fn sections_are_in_order() {
    assert_eq!(header(&options(), &system(), &[target(), slave()]), WANT);
    assert_eq!(ending_line(&ctime(0)), "Ending time for this run, Thu Jan  1 00:00:00 1970\n");
}

#[test]
fn every_line_has_name_and_value() {
    for line in WANT.lines().skip(1).filter(|l| !l.is_empty()) {
        assert!(line.contains(','), "{line}");
    }
}

#[test]
fn a_throttle_by_bandwidth_is_in_millions_of_bytes() {
    let throttle = Some(ThrottleSettings::Bandwidth("87.2".parse().unwrap()));
    let text = header(&options(), &system(), &[TargetFacts { throttle, ..target() }]);
    assert!(text.contains("\t\tThrottle in MB/sec,  87.20\n"), "{text}");
}

#[test]
fn seek_list_matches_xdd_format() {
    let entry = |ordinal, op| SeekEntry {
        ordinal,
        location: ordinal * 8,
        reqsize: 8,
        op,
        due: Nanos((ordinal + 1) * 10_000_000),
    };
    let want = "\
# Longest seek=8, Shortest seek=8, Average seek distance=5
#Ordinal Location Reqsize Operation Time1 Time2
0000000000 000000000000 8 r 0000010000000000 0000000000000000
0000000001 000000000008 8 w 0000020000000000 0000000000000000
0000000002 000000000016 8 r 0000030000000000 0000000000000000
";
    assert_eq!(write_seek_list(&[entry(0, Op::Read), entry(1, Op::Write), entry(2, Op::Read)]), want);
    assert!(write_seek_list(&[]).starts_with("# Longest seek=0, Shortest seek=0, Average seek distance=0\n"));
}
