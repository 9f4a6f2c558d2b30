//! blkreplay's command line: every option, every form of a value, and every error.

use iosonar_dialect_blkreplay::{Command, Settings, parse, usage};
use iosonar_plan::{Backward, Engine, Nanos, OverlapPolicy, Plan, Strong, TraceReplay, Workload};
use proptest::prelude::*;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}

fn settings(line: &str) -> Settings {
    match parse(&words(line)) {
        Ok(Command::Run(settings)) => *settings,
        other => panic!("{line}: {other:?}"),
    }
}

/// Plan of a valid line.
#[track_caller]
fn plan(line: &str) -> Plan {
    let plan = settings(&format!("{line} dev")).plan(7);
    plan.validate().unwrap_or_else(|error| panic!("{line}: {error}"));
    assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan, "{line}");
    plan
}

fn load(plan: &Plan) -> &TraceReplay {
    let Workload::Trace(load) = &plan.phases[0].jobs[0].workload else { panic!("blkreplay replays loads") };
    load
}

/// Error of an invalid line.
#[track_caller]
fn error(args: &[&str]) -> String {
    let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
    let text = parse(&args).expect_err(&args.join(" ")).to_string();
    assert!(!text.contains('\n') && text.contains(": "), "{text}");
    text
}

type Check = fn(&Plan) -> bool;

/// An option, and its effect on the plan.
const GOOD: [(&str, Check); 34] = [
    ("", |p| {
        p.depth() == 1024 && p.start_grace == Nanos::from_secs(15) && !p.destroy && p.phases[0].passes == 1
    }),
    ("", |p| load(p).file.as_os_str() == "-" && load(p).backward == Backward::Shift && !load(p).skip_bad),
    ("", |p| p.overlap.policy == OverlapPolicy::PushBack && p.overlap.strong == Strong::AnyWrite),
    ("", |p| {
        p.engine == Engine::default() && !p.access.buffered && !p.access.sync.is_set() && p.stamp().is_none()
    }),
    ("--replay-start=5", |p| load(p).window.start == Nanos::from_secs(5) && load(p).window.end.is_none()),
    ("--replay-end=5", |p| load(p).window.end == Some(Nanos::from_secs(5))),
    ("--replay-end=0 --replay-duration=0", |p| load(p).window.end.is_none()),
    ("--replay-duration=2 --replay-start=3", |p| load(p).window.end == Some(Nanos::from_secs(5))),
    ("--replay-duration=2 --replay-end=9", |p| load(p).window.end == Some(Nanos::from_secs(2))),
    ("--start-grace=0.5", |p| p.start_grace == Nanos(500_000_000)),
    ("--with-conflicts", |p| p.overlap.policy == OverlapPolicy::Allow),
    ("--with-drop", |p| p.overlap.policy == OverlapPolicy::Drop),
    ("--with-drop --with-ordering", |p| p.overlap.policy == OverlapPolicy::Order),
    ("--with-ordering --with-partial", |p| p.overlap.policy == OverlapPolicy::PushBack),
    ("--strong=0", |p| p.overlap.strong == Strong::WriteWrite),
    ("--strong2", |p| p.overlap.strong == Strong::Every),
    ("--threads=64", |p| p.depth() == 64),
    ("--threads64 --threads=8", |p| p.depth() == 8),
    ("--bottleneck=16 --threads=64", |p| p.depth() == 16),
    ("--bottleneck=512 --threads=64", |p| p.depth() == 64),
    ("--bottleneck=0", |p| p.depth() == 1024),
    ("--fill-random=100", |p| p.fill.random_percent == 100),
    ("--no-o-direct", |p| p.access.buffered && p.stamp().is_some()),
    ("--no-o-direct --o-direct", |p| !p.access.buffered),
    ("--o-sync", |p| p.access.sync.is_set()),
    ("--o-sync --no-o-sync", |p| !p.access.sync.is_set()),
    ("--dry-run=1", |p| p.engine == Engine::Null),
    ("--fake-io", |p| p.engine == Engine::Null),
    ("--simulate-io=0.5", |p| matches!(p.engine, Engine::Sim(m) if m.service == Nanos(500_000_000))),
    ("--simulate-io=0", |p| p.engine == Engine::default()),
    ("--speedup=1.5", |p| load(p).speed == "1.5".parse().unwrap()),
    ("--destroy --skip-bad", |p| p.destroy && load(p).skip_bad),
    ("--backward sort", |p| load(p).backward == Backward::Sort),
    ("--backward=refuse", |p| load(p).backward == Backward::Refuse),
];

#[test]
fn every_option_has_its_documented_effect() {
    for (line, check) in GOOD {
        let plan = plan(line);
        assert!(check(&plan), "{line}: {plan:#?}");
    }
    let more = settings("--replay-out=7 --out=DIR --show-plan --no-progress --no-overhead -- -dev");
    assert_eq!((more.replay_out, more.out.as_deref()), (Nanos::from_secs(7), Some("DIR")));
    assert!(more.show_plan && more.no_progress && more.device == "-dev" && more.notices.is_empty());
}

/// Names of all options, from help.
fn names() -> Vec<String> {
    let text = usage();
    let lines = text.lines().filter_map(|line| line.strip_prefix("  --"));
    let name = |line: &str| line.split(['=', ' ', '[']).next().unwrap_or_default().to_string();
    lines.map(name).collect()
}

#[test]
fn ineffective_options_produce_one_notice() {
    for option in [
        "--fan-out=8",
        "--fan-out8",
        "--no-dispatcher",
        "--ahead-limit=1.000000000",
        "--ahead-limit.5",
        "--mmap-mode",
        "--verbose",
        "--verbose=3",
        "--verbose3",
        "--bottleneck=8192",
    ] {
        let told = settings(&format!("{option} {option} dev")).notices;
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with(&format!("{option}: it has no effect here: ")), "{told:?}");
    }
    let below = settings("--bottleneck=8 --threads=64 dev").notices;
    assert!(below[0].contains("at most 8 requests") && !below[0].contains("no effect"), "{below:?}");
    let others = "--threads=4 --with-drop --strong=2 --no-overhead --o-direct --replay-out=1 --fake-io --verbose=0 dev";
    assert_eq!(settings(others).notices, [""; 0]);
}

// 42
#[test]
fn errors_quote_word_as_typed_and_remedy() {
    for (args, remedy) in [
        (&["--dry-run=0", "dev"][..], "nothing to have it not"),
        (&["--destroy=no", "dev"], "--destroy"),
        (&["--strongXYZ=2", "dev"], "write --strong=0|1|2"),
        (&["--strong=3", "dev"], "from 0 to 2"),
        (&["--strong", "dev"], "write --strong=0|1|2"),
        (&["--thread=4", "dev"], "write --threads=N"),
        (&["--threadss4", "dev"], "write --threads=N"),
        (&["--dry_run", "dev"], "write --dry-run"),
        (&["--dry-run1", "dev"], "write --dry-run"),
        (&["-threads=4", "dev"], "write --threads=N"),
        (&["--threads=0", "dev"], "from 1 to 65536"),
        (&["--threads=-4", "dev"], "from 1 to 65536"),
        (&["--threads=", "dev"], "from 1 to 65536"),
        (&["--threads=99999999999999999999", "dev"], "from 1 to 65536"),
        (&["--threads", "4", "dev"], "write --threads=N"),
        (&["--threads", "dev"], "write --threads=N"),
        (&["--fill-random=101", "dev"], "from 0 to 100"),
        (&["--fan-out=x", "dev"], "a whole number"),
        (&["--replay-start=soon", "dev"], "for example"),
        (&["--replay-start=-1", "dev"], "for example"),
        (&["--replay-start=200000d", "dev"], "at most 26687 days"),
        (&["--simulate-io=0,5", "dev"], "for example"),
        (&["--replay-end=2", "--replay-start=2", "dev"], "end later"),
        (&["--speedup=0", "dev"], "a factor above 0"),
        (&["--speedup=0.0", "dev"], "a factor above 0"),
        (&["--speedup=fast", "dev"], "fast"),
        (&["--backward=drop", "dev"], "refuse, sort, shift"),
        (&["--out=", "dev"], "give one"),
        (&["--nonsense\n", "dev"], "--help"),
        (&["-"], "--help"),
    ] {
        let text = error(args);
        let typed = args[0].replace('\n', "\\n");
        assert!(text.starts_with(&format!("{typed}: ")) && text.contains(remedy), "{args:?}: {text}");
    }
    for (args, told) in [
        (&["--threads=4"][..], "DEVICE: it is missing"),
        (&[""], "empty"),
        (&["one", "two"], "two: there is 'one' already"),
        (&["--verbose", "4", "dev"], "--threads=4"),
    ] {
        assert!(error(args).contains(told), "{args:?}: {}", error(args));
    }
}

/// Words that resemble valid ones.
fn word() -> impl Strategy<Value = String> {
    let name = prop::sample::select(names());
    let value = "=?[0-9a-z.,+-]{0,12}|=[0-9]{1,25}|=[0-9]{1,4}(ns|us|ms|s|m|h|d)?";
    prop_oneof![
        6 => (name, value).prop_map(|(name, value)| format!("--{name}{value}")),
        1 => "-{0,3}[a-z=_-]{0,12}",
        1 => any::<String>(),
        2 => Just("dev".to_string()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Either an error in one line that names a word of the line, or a valid plan.
    #[test]
    fn any_arguments_yield_error_or_valid_plan(args in prop::collection::vec(word(), 0..8)) {
        match parse(&args) {
            Ok(Command::Run(settings)) => {
                let plan = settings.plan(1);
                prop_assert!(plan.validate().is_ok(), "{args:?}: {:?}", plan.validate());
                prop_assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
            }
            Ok(Command::Usage) => {}
            Err(error) => {
                let text = error.to_string();
                prop_assert!(!text.chars().any(char::is_control), "{text:?}");
                prop_assert!(text.contains(": "), "{text}");
            }
        }
    }
}
