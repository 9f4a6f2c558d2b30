//! XDD's command line: every option, every spelling, every precedence, and every error.

#[path = "command_line/good.rs"]
mod good;

use good::*;
use iosonar_dialect_common::UsageError;
use iosonar_dialect_xdd::*;
use iosonar_plan::*;
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io;

/// Setup files by name.
fn with_files(args: &[String], files: &[(&str, &str)]) -> Result<Command, UsageError> {
    parse(args, &mut |name| {
        let found = files.iter().find(|(n, _)| *n == name);
        found.map(|(_, text)| text.to_string()).ok_or_else(|| io::ErrorKind::NotFound.into())
    })
}

fn settings_of(command: Command) -> Settings {
    match command {
        Command::Run(settings) => *settings,
        other => panic!("{other:?} is no run"),
    }
}

/// Settings and plan of a valid line.
fn run(line: &str) -> (Settings, Plan) {
    let settings = settings_of(parse(&words(line), &mut no_file).unwrap_or_else(|e| panic!("{line}: {e}")));
    let plan = settings.plan(7).unwrap_or_else(|e| panic!("{line}: {e}"));
    plan.validate().unwrap_or_else(|e| panic!("{line}: {e}"));
    assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan, "{line}");
    (settings, plan)
}

/// Error of an invalid line.
fn error(args: &[String]) -> String {
    let error = match parse(args, &mut no_file) {
        Ok(Command::Run(settings)) => settings.plan(7).expect_err(&args.join(" ")),
        Ok(other) => panic!("{args:?} is {other:?}"),
        Err(error) => error,
    };
    let text = error.to_string();
    assert!(!text.contains('\n') && text.contains(": "), "{text}");
    text
}

#[test]
fn every_option_has_its_documented_effect() {
    for (option, check) in GOOD {
        let (settings, plan) = run(&format!("{BASE} {option}"));
        assert!(check(&settings, &plan), "{option}: {settings:#?}");
        // Options also work before the targets are named.
        let (settings, plan) = run(&format!("{option} {BASE}"));
        let moves_targets = option.starts_with("-target") && !option.starts_with("-targetd");
        let is_overridden = option.starts_with("-numreqs") || moves_targets;
        assert!(is_overridden || check(&settings, &plan), "{option} before the targets");
    }
}

/// Spellings of each option, from help.
fn spellings() -> Vec<(Vec<String>, bool)> {
    let help = full_help();
    let lines = help.lines().filter(|line| line.starts_with("  -"));
    lines
        .map(|line| {
            let names = line.split(':').next().unwrap().split_whitespace();
            let names: Vec<&str> = names.take_while(|w| w.starts_with('-') && !w.starts_with("-N")).collect();
            let names = names.iter().map(|n| n.trim_end_matches([',', ':']).to_string()).collect();
            (names, line.contains("[target N]"))
        })
        .collect()
}

const REFUSED: [&str; 7] = [
    "-starttime 5",
    "-timeserver host h",
    "-port 3",
    "-readafterwrite lag 1",
    "-sgio",
    "-zone start 1",
    "-profile",
];
const ANSWERS: [&str; 2] = ["-fullhelp", "-version"];

#[test]
fn every_spelling_does_the_same_and_every_option_is_covered() {
    let lines: Vec<&str> =
        GOOD.iter().map(|(line, _)| *line).chain(REFUSED).chain(ANSWERS).chain(["-setup S"]).collect();
    let what = |line: &str| {
        let command = with_files(&words(&format!("{BASE} {line}")), &[("S", "-reqsize 4")]);
        command.map_err(|e| e.to_string().split_once(": ").unwrap().1.to_string()).map(
            |command| match command {
                Command::Run(settings) => {
                    let plan = settings.plan(1).unwrap();
                    let Settings { targets, mut global, .. } = *settings;
                    global.command_line.clear();
                    global.notices.clear();
                    format!("{targets:?} {global:?} {plan:?}")
                }
                other => format!("{other:?}"),
            },
        )
    };
    let all = spellings();
    assert!(all.len() > 70);
    for (names, is_each) in all {
        let sample = lines.iter().find(|line| names.contains(&line.split(' ').next().unwrap().to_string()));
        let sample = sample.unwrap_or_else(|| panic!("{names:?} has no line in this test"));
        let (name, rest) = sample.split_once(' ').unwrap_or((sample, ""));
        for other in &names {
            assert_eq!(what(&format!("{other} {rest}")), what(sample), "{name} as {other}");
        }
        // A number after `target` is accepted, or refused with the option's name.
        let line = words(&format!("{BASE} {name} target 1 {rest}"));
        match parse(&line, &mut no_file) {
            Err(error) => {
                assert!(!is_each || REFUSED.contains(sample), "{error}");
                assert!(error.to_string().starts_with(name), "{error}");
            }
            Ok(_) => assert!(is_each, "{name}"),
        }
    }
}

#[test]
fn target_options_do_not_affect_other_targets() {
    let for_one: BTreeSet<String> =
        spellings().into_iter().filter(|(_, each)| *each).flat_map(|(n, _)| n).collect();
    let mut seen = 0;
    for (line, _) in GOOD {
        let words = words(line);
        if !for_one.contains(&words[0]) {
            continue;
        }
        let end = words[1..].iter().position(|word| word.starts_with('-')).map_or(words.len(), |n| n + 1);
        let (name, args, others) = (&words[0], words[1..end].join(" "), words[end..].join(" "));
        let (none, _) = run(&format!("{BASE} {others}"));
        let (one, _) = run(&format!("{BASE} {others} {name} target 1 {args}"));
        let (all, _) = run(&format!("{BASE} {others} {name} {args}"));
        assert_eq!((&one.targets[0], &one.targets[2]), (&none.targets[0], &none.targets[2]), "{line}");
        assert_eq!(one.targets[1], all.targets[1], "{line}");
        seen += 1;
    }
    assert!(seen > 40, "{seen}");
}

#[test]
fn errors_name_the_option() {
    let lists = include_str!("command_line/mistakes.txt");
    let cases = lists.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut seen = BTreeSet::new();
    for line in cases {
        let (args, option) = line.split_once(" => ").unwrap_or_else(|| panic!("{line}"));
        let args = words(&args.replace("BASE", BASE));
        let text = error(&args);
        assert!(text.starts_with(&format!("{option}: ")), "{line}: {text}");
        assert!(seen.insert(line), "{line} stands there twice");
    }
    assert!(seen.len() > 150, "{}", seen.len());
}

#[test]
fn refused_options_state_the_reason() {
    for line in REFUSED {
        let (name, _) = line.split_once(' ').unwrap_or((line, ""));
        let text = error(&words(&format!("{BASE} {line}")));
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
        assert!(text.contains("later version") || text.contains("manual"), "{text}");
    }
    for (line, remedy) in [
        ("--op read", "write -op"),
        ("-OP read", "write -op"),
        ("-verify read", "XDD's data patterns have none"),
        ("-verify read,final", "iosonar run --verify read,final"),
        ("-reqsize=8", "write -reqsize, and its value as a word of its own"),
        ("-bogus", "-fullhelp"),
        ("-passdelay 1", "XDD 7's -passdelay is -delay here"),
        ("-memalign 8", "XDD 7's -memalign is -align here"),
        ("-bytes 1048576", "XDD 7's -bytes is -kbytes here, in units of 1024 bytes"),
        (
            "-pretruncate 65536",
            "XDD 7's -pretruncate is no option of XDD 6.5: 'iosonar run --before-pass truncate:SIZE'",
        ),
        ("-targetoffset target 1 5", "-startoffset target N"),
        ("-timelimit 10.5", "10.5s is no whole number of seconds"),
        ("-targets 2 F", "is missing"),
        ("-passes", "write -passes NUMBER"),
        ("-rs target 1", "write -rs [target N] BLOCKS"),
        ("-output -verbose", "before -verbose"),
    ] {
        let text = error(&words(&format!("{BASE} {line}")));
        assert!(text.contains(remedy), "{text}");
    }
    let text = error(&["-targets", "1", "F", "a\nb"].map(String::from));
    assert_eq!(text, r"'a\nb': this word behind -targets belongs to no option: take it out");
}

#[test]
fn later_options_win() {
    let reads = |line: &str| -> Vec<String> {
        run(line)
            .1
            .targets
            .iter()
            .enumerate()
            .map(|(t, _)| generator(&run(line).1, t).read_percent.to_string())
            .collect()
    };
    assert_eq!(reads("-op read -op target 1 write -targets 3 F G H -numreqs 2"), ["100", "0", "100"]);
    assert_eq!(reads("-op target 1 write -op read -targets 2 F G -numreqs 2"), ["100", "100"]);
    assert_eq!(reads("-rwratio 50 -op write -targets 1 F -numreqs 2"), ["0"]);
    assert_eq!(reads("-op write -rwratio 50 -targets 1 F -numreqs 2"), ["50"]);
    assert_eq!(reads("-targets 1 F -numreqs 2"), ["100"]);
    for line in ["-numreqs 3 -mbytes 1", "-mbytes 1 -numreqs 3", "-kbytes 5 -numreqs 3 -kbytes 6"] {
        let (_, plan) = run(&format!("-targets 1 F {line}"));
        assert_eq!(
            (generator(&plan, 0).stop.requests, generator(&plan, 0).stop.bytes),
            (Some(3), None),
            "{line}"
        );
    }
    let bytes = |line: &str| generator(&run(&format!("-targets 1 F {line}")).1, 0).amount().map(ByteSize);
    assert_eq!(bytes("-mbytes 2 -kbytes 100"), Some(ByteSize(102_400)));
    assert_eq!(bytes("-kbytes 100 -mbytes 2"), Some(ByteSize(2 << 20)));
    let throttle = |line: &str| run(&format!("{BASE} {line}")).0.targets[0].throttle;
    let one = Decimal::whole(1);
    assert_eq!(throttle("-throttle ops 100 -throttle bw 1"), Some(ThrottleSettings::Bandwidth(one)));
    assert_eq!(throttle("-throttle bw 100 -throttle ops 1"), Some(ThrottleSettings::Ops(one)));
    let (settings, _) = run(&format!("{BASE} -processor 3 1 -singleproc 2 -processor 0 2"));
    assert_eq!(settings.targets.iter().map(|t| t.processor).collect::<Vec<_>>(), [Some(2), Some(2), Some(0)]);
    let (settings, _) = run(&format!("{BASE} -starttrigger 0 1 op 5 -starttrigger 0 1 op 6 -plock -minall"));
    assert_eq!((settings.global.starttriggers.len(), settings.global.processlock), (1, false));
}

#[test]
fn queue_threads_do_not_exceed_requests() {
    let (settings, plan) = run("-targets 2 F G -numreqs 3 -queuedepth 4");
    assert_eq!((settings.targets[0].queuedepth, generator(&plan, 1).jobs), (3, 3));
    assert!(
        settings.global.notices[0].starts_with("-queuedepth: all targets: "),
        "{:?}",
        settings.global.notices
    );
    assert_eq!(run("-targets 1 F -kbytes 100 -rs 64 -qd 4").0.targets[0].queuedepth, 2);
    assert_eq!(run("-targets 1 F -timelimit 1 -qd 4").0.targets[0].queuedepth, 4);
    let (_, plan) = run("-targets 2 F G -numreqs 64 -queuedepth 64 -reqsize 16384");
    assert_eq!(plan.memory.buffers, ByteSize(128 << 24));
}

#[test]
fn setup_files_expand_in_place() {
    let files = [
        ("S", "-reqsize 16 -numreqs 4"),
        ("T", "# our usual\n\t-reqsize\n16\r\n # it's four\n-numreqs \"4\""),
        ("outer", "-setup S"),
        ("again", "-setup middle"),
        ("middle", "-op read -setup again"),
        ("open", "-id 'a"),
        ("end", "-targets 1"),
    ];
    let amount = |line: &str| {
        let plan = settings_of(with_files(&words(line), &files).unwrap()).plan(0).unwrap();
        (generator(&plan, 0).amount().unwrap(), generator(&plan, 0).count().unwrap())
    };
    for s in ["S", "T", "outer"] {
        let before = format!("-op read -targets 1 F -reqsize 32 -setup {s} -numreqs 7");
        assert_eq!(amount(&before), (114_688, 7), "{s}");
        assert_eq!(amount(&format!("-setup {s} -op read -targets 1 F -reqsize 32")), (131_072, 4), "{s}");
        let after = format!("-op read -targets 1 F -reqsize 32 -numreqs 12 -setup {s}");
        assert_eq!(amount(&after), (65536, 4), "{s}");
        assert_eq!(amount(&format!("-targets 1 F -setup {s} -setup {s}")), (65536, 4), "{s}");
    }
    assert_eq!(amount("-numreqs 1 -setup end F"), (131_072, 1));
    for (name, why) in [("missing", "cannot be read"), ("again", "names itself"), ("open", "line 1")] {
        let text =
            with_files(&words(&format!("-targets 1 F -setup {name}")), &files).unwrap_err().to_string();
        assert!(text.starts_with("-setup: '") && text.contains(why), "{text}");
    }
    let many: &mut dyn FnMut(&str) -> io::Result<String> =
        &mut |name| Ok(format!("-setup {name}x -setup {name}y"));
    let text = parse(&words("-setup a"), many).unwrap_err().to_string();
    assert!(text.contains("deep"), "{text}");
}

#[test]
fn concatenates_ids() {
    let args =
        ["-id", "a", "-id", "b c", "-id", "commandline", "-targets", "1", "F", "-nr", "1"].map(String::from);
    let settings = settings_of(parse(&args, &mut no_file).unwrap());
    let line = "-id a -id b c -id commandline -targets 1 F -nr 1";
    assert_eq!(settings.global.id, format!("a b c {line} "));
    assert_eq!(settings.global.command_line, line);
    assert_eq!(run(BASE).0.global.id, "No ID Specified");
}

#[test]
fn help_and_version_stop_parsing_in_place() {
    for (option, answer) in [("-fullhelp", Command::FullHelp), ("-version", Command::Version)] {
        assert_eq!(parse(&words(&format!("-op read {option} -bogus")), &mut no_file), Ok(answer));
        assert!(parse(&words(&format!("-bogus {option}")), &mut no_file).is_err());
    }
    for line in ["--show-plan --destroy --out d", "-show-plan -destroy -out d", "––show-plan —destroy –out d"]
    {
        let global = run(&format!("{BASE} {line}")).0.global;
        assert!(global.show_plan && global.destroy && global.out.as_deref() == Some("d"), "{line}");
    }
}

#[test]
fn processors_are_checked_where_they_are_known() {
    for (line, name) in [("-processor 999 0", "-processor"), ("-rr 9", "-rr"), ("-sp 8", "-sp")] {
        let (settings, _) = run(&format!("{BASE} {line}"));
        assert!(settings.check_processors(1000).is_ok());
        let text = settings.check_processors(8).unwrap_err().to_string();
        assert!(text.starts_with(&format!("{name}: ")), "{text}");
    }
}

#[test]
fn examples_of_the_manual_run_as_printed() {
    let (s, p) = run("–op read –targets 1 /dev/rdsk/dsk10d2s0 –reqsize 128 -mbytes 64 –passes 3 –verbose");
    let one = generator(&p, 0);
    assert_eq!((one.longest(), one.amount(), p.phases[0].passes), (131_072, Some(64 << 20), 3));
    assert!(s.global.verbose && s.global.notices.is_empty() && !s.targets[0].writes());

    let (_, p) =
        run("–op write –targets 2 /raid/BIGFILE1 /raid/BIGFILE2 -blocksize 512 –reqsize 128 -mbytes 64 \
                      –verbose –pass count 3 -timelimit 10");
    assert_eq!((p.phases[0].passes, p.targets[1].path.to_str()), (3, Some("/raid/BIGFILE2")));
    let two = generator(&p, 1);
    assert_eq!((two.longest(), two.stop.time_limit, two.writes()), (65536, Some(Nanos::from_secs(10)), true));
    assert!(p.targets[0].file.create);

    let setup = "-blocksize 2048\n–reqsize 128\n-mbytes 4096\n–verbose\n–passes 3 -timelimit 10\n";
    let line = "–op write –targets 2 /dev/rdsk/dks10d2s0 /dev/rdsk/dks10d2s0 -setup xdd.setup –ts detailed –ts output ts.write";
    let s = settings_of(with_files(&words(line), &[("xdd.setup", setup)]).unwrap());
    let three = &s.targets[1];
    assert_eq!((three.request_bytes(), three.mbytes, s.global.passes), (262_144, Some(4096), 3));
    assert!(three.timestamps.detailed && three.timestamps.output.as_deref() == Some("ts.write"));
    s.plan(3).unwrap().validate().unwrap();

    let (_, p) =
        run("–op read –targets 1 /dev/rdsk/dsk10d2s0 –reqsize 8 -mbytes 16 –passes 3 –verbose –seek random \
                      –seek range 4000000");
    let four = generator(&p, 0);
    assert_eq!((four.count(), four.region), (Some(2048), Some(Space::Bytes(ByteSize(4_096_000_000)))));
    assert_eq!((&four.order, four.seed, four.same_each_pass), (&Order::Random, Some(72058), true));

    let (_, p) = run("-targets 2 /dev/disk1 /dev/disk1 -op target 0 write -op target 1 read -reqsize 1024 \
                      -mbytes 2048 -lockstep 0 1 op 1 op 1 wait complete");
    assert_eq!((generator(&p, 0).writes(), generator(&p, 1).writes()), (true, false));
    assert_eq!(
        (p.phases[0].coordination.lockstep[0].begins, p.phases[0].coordination.lockstep[0].ends),
        (Begins::Wait, Ends::Complete)
    );
}

#[test]
fn default_plan_uses_blocking_threads() {
    let (_, plan) = run("-targets 1 F -timelimit 1");
    assert_eq!((plan.version, plan.run_id, plan.seed, plan.depth()), (PLAN_VERSION, 7, 1, 1));
    assert_eq!((plan.engine, plan.overlap.policy), (Engine::Threads, OverlapPolicy::Allow));
    assert_eq!((plan.faults.short, plan.memory), (ShortPolicy::Record, Memory::default()));
    assert!(plan.access.buffered && !plan.destroy && plan.phases[0].coordination == Coordination::default());
    let options = &plan.phases[0].jobs[0].options;
    assert_eq!((&options.data, options.verify), (&Some(Data::Byte(0)), None));
    assert_eq!((plan.targets[0].file.create, plan.targets[0].file.preallocate), (false, ByteSize(0)));
}

fn token() -> impl Strategy<Value = String> {
    let names: Vec<String> = spellings().into_iter().flat_map(|(names, _)| names).collect();
    let values = "0 1 2 -3 target F count 0.5 18446744073709551615 9223372036854775807 99999999999999999999 op time \
                  percent mbytes kbytes wait run stop complete ops bw random range save load seed write read ascii \
                  sequenced contents immediate output size - -- – “ é 1e3 +4 4k 1048576 S";
    prop_oneof![
        3 => proptest::sample::select(names),
        4 => proptest::sample::select(words(values)),
        1 => any::<String>(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn no_arguments_cause_a_panic(tokens in proptest::collection::vec(token(), 0..14), file: String, with_base: bool) {
        let base = if with_base { words(BASE) } else { Vec::new() };
        let args: Vec<String> = base.into_iter().chain(tokens).collect();
        if let Ok(Command::Run(settings)) = parse(&args, &mut |_| Ok(file.clone()))
            && let Ok(plan) = settings.plan(1)
            && plan.validate().is_ok()
        {
            prop_assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        }
    }
}
