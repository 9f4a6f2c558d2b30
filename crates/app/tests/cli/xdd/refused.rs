//! Unsupported commands are refused before anything is touched: exit 2, one line that names the option as typed, every file unchanged, and
//! no new one.

use super::*;

/// Small files with data in them, and others that an error could touch.
fn full_lab() -> Lab {
    let lab = crate::lab();
    for name in ["F", "G"] {
        lab.file(name, vec![0x5a; 300_000]);
    }
    for name in [
        "o",
        "c",
        "e",
        "k",
        "ts.target.0000.qthread.0000.csv",
        "s.T0Q0.txt",
        "d.target.0000.qthread.0000.bin",
    ] {
        lab.file(name, "earlier\n");
    }
    lab
}

/// Options that write every possible output, if the command ran.
const EAGER: &str = "-op write -reqsize 8 -numreqs 4 -datapattern x -recreatefiles -output o -csvout c -errout e \
    -combined k -ts detailed -ts output ts -ts dump d -seek save s -out run";

#[track_caller]
fn assert_refused(lab: &Lab, code: i32, args: &str, named: &str) {
    let before = snapshot(lab);
    let ended = lab.run(&format!("xdd {args}"));
    let shown = format!("xdd {args}\n{}\n{}", ended.out, ended.err);
    assert_eq!(ended.code, code, "{shown}");
    assert!(ended.err.contains(named), "{named} is not named: {shown}");
    let lines: Vec<&str> = ended.err.lines().filter(|line| !line.starts_with("xdd: ")).collect();
    assert_eq!(lines.len(), 1, "one line says why: {shown}");
    assert!(ended.out.is_empty(), "{shown}");
    let after = snapshot(lab);
    assert!(before == after, "{shown}\n{:?}", after.keys());
}

// Check 47, and every other wrong argument; before and after the options that would write.
#[test]
fn names_bad_options_and_touches_nothing() {
    let lab = full_lab();
    for (bad, named) in [
        ("-nosuchoption", "-nosuchoption"),
        ("--reqsize 8", "--reqsize"),
        ("-reqsize=8", "-reqsize=8"),
        ("-Reqsize 8", "-Reqsize"),
        ("-reqs 8", "-reqs"),
        ("-reqsize 0", "-reqsize"),
        ("-reqsize 8k", "-reqsize"),
        ("-rs -1", "-rs"),
        ("-blocksize 0", "-blocksize"),
        ("-bs abc", "-bs"),
        ("-numreqs 0", "-numreqs"),
        ("-numreqs -3", "-numreqs"),
        ("–numreqs –3", "–numreqs"),
        ("-numreqs 1.5", "-numreqs"),
        ("-numreqs 99999999999999999999999", "-numreqs"),
        ("-mbytes 0", "-mbytes"),
        ("-mbytes 0.5", "-mbytes"),
        ("-kbytes 0", "-kbytes"),
        ("-passes 0", "-passes"),
        ("-passes x", "-passes"),
        ("-delay -1", "-delay"),
        ("-timelimit 0", "-timelimit"),
        ("-timelimit 10.5", "-timelimit: 10.5s is no whole number of seconds"),
        ("-targetoffset target 1 5", "-startoffset target N"),
        ("-passdelay 1", "XDD 7's -passdelay is -delay here"),
        ("-memalign 512", "XDD 7's -memalign is -align here"),
        ("-runtime 0", "-runtime"),
        ("-queuedepth 0", "-queuedepth"),
        ("-queuedepth -1", "-queuedepth"),
        ("-throttle fly 3", "-throttle"),
        ("-throttle bw 0", "-throttle"),
        ("-throttle ops -1", "-throttle"),
        ("-throttle ops nan", "-throttle"),
        ("-throttle ops inf", "-throttle"),
        ("-seek bogus", "-seek"),
        ("-seek range 0", "-seek"),
        ("-seek interleave 0", "-seek"),
        ("-seek random -seek range 4", "-seek"),
        ("-seek stagger -seek range 8", "-seek"),
        ("-seek load missing", "missing"),
        ("-ts bogus", "-ts"),
        ("-ts size 0", "-ts"),
        ("-ts triggertime x", "-ts"),
        ("-op fly", "-op"),
        ("-operation READ", "-operation"),
        // 29.
        ("-rwratio 101", "-rwratio"),
        ("-rwratio -1", "-rwratio"),
        ("-rwratio abc", "-rwratio"),
        ("-rw nan", "-rw"),
        ("-targets 2 G", "-targets"),
        ("-targets 0", "-targets"),
        ("-targets 3 F G -passes 2", "-targets"),
        ("-target -reqsize 8", "-target"),
        ("-reqsize target 5 8", "-reqsize"),
        ("-reqsize target x 8", "-reqsize"),
        ("-op target 5000 read", "-op"),
        ("-passes target 0 3", "-passes"),
        ("-processor 999 0", "-processor"),
        ("-processor 0 7", "-processor"),
        ("-singleproc 999", "-singleproc"),
        ("-roundrobin 0", "-roundrobin"),
        ("-roundrobin 999", "-roundrobin"),
        ("-startoffset -5", "-startoffset"),
        ("-targetoffset -5", "-targetoffset"),
        ("-passoffset -5", "-passoffset"),
        ("-startoffset 9223372036854775807", "-startoffset"),
        ("-preallocate -1", "-preallocate"),
        ("-startdelay -1", "-startdelay"),
        ("-targetstartdelay x", "-targetstartdelay"),
        ("-syncio 0", "-syncio"),
        ("-maxerrors 0", "-maxerrors"),
        ("-report_threshold -1", "-report_threshold"),
        ("-heartbeat 0", "-heartbeat"),
        ("-datapattern abc", "-datapattern"),
        ("-dp hex 1", "-dp"),
        ("-align -1", "-align"),
        // 35.
        ("-verify bogus", "-verify"),
        ("-devicefile", "-recreatefiles"),
        ("-lockstep 0 1 op 1 op 1 wait complete", "-lockstep"),
        ("-lockstep 0 0 op 1 op 1 wait complete", "-lockstep"),
        ("-starttrigger 0 1 op 1", "-starttrigger"),
        ("-stoptrigger 0 1 fly 1", "-stoptrigger"),
        ("stray", "stray"),
        ("-reqsize 8 9", "9"),
        ("-setup missing", "missing"),
        ("-zone start 0", "-zone"),
        ("-profile", "-profile"),
        ("-sgio", "-sgio"),
        ("-readafterwrite trigger stat", "-readafterwrite"),
    ] {
        assert_refused(&lab, 2, &format!("-targets 1 F {EAGER} {bad}"), named);
        assert_refused(&lab, 2, &format!("{bad} {EAGER} -targets 1 F"), named);
    }
}

#[test]
fn names_option_with_missing_argument() {
    let lab = full_lab();
    for trailing in [
        "-numreqs",
        "-op",
        "-reqsize target",
        "-reqsize target 0",
        "-targets",
        "-targets 2 F",
        "-seek",
        "-seek range",
        "-throttle",
        "-throttle bw",
        "-ts",
        "-ts output",
        "-id",
        "-setup",
        "-output",
        "-lockstep 0 1 op 1 op 1 wait",
        "-starttrigger 0 1 op",
        "-verify",
        "-datapattern ascii",
        "-processor 0",
        "-out",
    ] {
        let named = trailing.split(' ').next().unwrap();
        assert_refused(&lab, 2, &format!("-targets 1 F {EAGER} {trailing}"), named);
    }
    // Another option is no argument.
    for (args, named) in
        [("-numreqs -passes 2", "-numreqs"), ("-output -passes 2", "-output"), ("-op -dio", "-op")]
    {
        assert_refused(&lab, 2, &format!("-targets 1 F {EAGER} {args}"), named);
    }
}

#[test]
fn rejects_invalid_lockstep_and_triggers() {
    let lab = full_lab();
    let lockstep = "-lockstep 0 1";
    for (bad, named) in [
        (format!("{lockstep} fly 1 op 1 wait complete"), "-lockstep"),
        (format!("{lockstep} op 0 op 1 wait complete"), "-lockstep"),
        (format!("{lockstep} percent 101 op 1 wait complete"), "-lockstep"),
        (format!("{lockstep} op 1 percent 1 wait complete"), "-lockstep"),
        (format!("{lockstep} op 1 op 1 fly complete"), "-lockstep"),
        (format!("{lockstep} op 1 op 1 wait fly"), "-lockstep"),
        ("-lockstep 0 2 op 1 op 1 wait complete".into(), "-lockstep"),
        ("-ls 1 1 op 1 op 1 wait complete".into(), "-ls"),
        (format!("{lockstep} op 1 op 1 wait complete -lockstep 1 0 op 1 op 1 wait complete"), "-lockstep"),
        ("-starttrigger 0 1 op 1 -starttrigger 1 0 op 1".into(), "-starttrigger"),
        ("-starttrigger 0 2 op 1".into(), "-starttrigger"),
        ("-starttrigger 0 1 percent 0".into(), "-starttrigger"),
        ("-stoptrigger 1 1 op 1".into(), "-stoptrigger"),
        ("-st 0 1 time 0".into(), "-st"),
    ] {
        assert_refused(&lab, 2, &format!("-targets 2 F G {EAGER} {bad}"), named);
    }
}

// Checks 9, 14, 35, 43 and 48, and incompatible options.
#[test]
fn rejects_incomplete_or_conflicting_options() {
    let lab = full_lab();
    std::fs::create_dir(lab.path("d")).unwrap();
    lab.file("loop", "-setup loop");
    lab.file("open", "-id 'no end");
    let read = "-op read -targets 1 F";
    for (args, named) in [
        ("-op write -targets 1 F".into(), "-numreqs"),
        (format!("{read} -reqsize 8 -numreqs 4 -setup missing"), "-setup"),
        ("-setup missing -op write -targets 1 F -numreqs 3".into(), "-setup"),
        ("-op write -targets 1 F -numreqs 3 -setup loop".into(), "-setup"),
        ("-op write -targets 1 F -numreqs 3 -setup open".into(), "-setup"),
        ("-op read -targets 1 F -numreqs 3 -verify contents".into(), "-verify"),
        ("-op write -targets 1 F -dio -blocksize 100 -reqsize 3 -numreqs 4".into(), "alignment"),
        (format!("{read} -dio -blocksize 100 -reqsize 3 -numreqs 4"), "-dio"),
        (format!("{read} -dio -startoffset 1 -blocksize 100 -reqsize 512 -numreqs 4"), "-dio"),
        // 48.
        ("-op read -targets 1 N -numreqs 4".into(), "N"),
        ("-op read -targets 2 F N -numreqs 4 -output o".into(), "N"),
        ("-op write -targets 1 N -devicefile -numreqs 4".into(), "N"),
        ("-op write -targets 1 d -numreqs 4".into(), "d"),
        ("-op write -targets 1 nodir/N -numreqs 4".into(), "nodir/N"),
        ("-op write -targetdir nodir/ -targets 1 F -numreqs 4".into(), "nodir/F"),
        ("-numreqs 4".into(), "-targets"),
        ("-op read -numreqs 4 -createnewfiles -targets 1 F".into(), "-createnewfiles"),
        ("-op read -numreqs 4 -recreatefiles -targets 1 F".into(), "-recreatefiles"),
        ("-op read -timelimit 1 -seek random -targets 1 F".into(), "-seek"),
        (format!("{read} -numreqs 4 -timeserver host localhost"), "-timeserver"),
        (format!("{read} -numreqs 4 -starttime 100"), "-starttime"),
        (format!("{read} -numreqs 4 -output nodir/o"), "-output nodir/o"),
        (format!("{read} -numreqs 4 -output nodir/o -deletefile"), "-output nodir/o"),
    ] {
        assert_refused(&lab, 2, &args, named);
    }
}

// A run that is refused late leaves no empty target and loses no earlier results.
#[test]
fn late_refusal_leaves_no_files() {
    let lab = full_lab();
    std::fs::create_dir(lab.path("d")).unwrap();
    lab.file("d/x", "a result");
    for (args, named) in [
        ("-op write -targets 1 N -numreqs 4 -output nodir/o", "-output nodir/o"),
        ("-op write -targets 2 N nodir/M -numreqs 4", "nodir/M"),
        ("-op write -targets 1 N -numreqs 4 -createnewfiles -csvout nodir/c", "-csvout nodir/c"),
        ("-op write -targets 1 N -numreqs 4 -out d -output o -csvout c -errout e -combined k", "d"),
        ("-op read -targets 1 F -numreqs 2 -output o -csvout nodir/c", "-csvout nodir/c"),
        // A target cannot hold results.
        ("-op read -targets 2 G F -numreqs 2 -output ./F", "-output ./F"),
        ("-op write -targets 1 N -numreqs 2 -combined N", "-combined N"),
        ("-op read -targets 1 F -numreqs 2 -output o -csvout c -errout nodir/e", "-errout nodir/e"),
    ] {
        assert_refused(&lab, 2, args, named);
    }
}
