//! Destinations of output, names of runs, and archives and plans of XDD's runs.

use super::*;
use serde_json::Value;

// Check 66.
#[test]
fn each_kind_of_output_has_its_file() {
    let lab = lab();
    let args = "-op read -targets 2 SHORT F -reqsize 8 -numreqs 6 -passes 2 -verbose -output o -csvout c -errout e -combined k";
    for run in 1..=2 {
        let ended = xdd(&lab, 1, args);
        assert!(ended.out.is_empty(), "{}", ended.out);
        let read = |name: &str| std::fs::read_to_string(lab.path(name)).unwrap();
        // Files of an earlier run are replaced.
        assert_eq!(read("o").matches("\nCombined  ").count(), 1);
        assert!(read("o").ends_with('\n') && read("o").contains("Ending time for this run, "));
        let csv = read("c");
        let at = csv.lines().position(|line| line.starts_with(",Target,Q,Bytes")).expect("a heading");
        let table: Vec<&str> = csv.lines().skip(at).collect();
        let fields = |line: &str| line.split(',').count();
        assert!(table.iter().all(|line| fields(line) == fields(table[0])), "{table:?}");
        let labels: Vec<&str> = table[1..].iter().map(|line| line.split(',').next().unwrap()).collect();
        assert_eq!(
            labels,
            ["T PASS0001", "T PASS0001", "T PASS0002", "T PASS0002", "T Average", "T Average", "Combined"]
        );
        // Both kinds hold the same numbers.
        let text = rows(&read("o"));
        for (line, row) in table[1..].iter().zip(&text) {
            let words: Vec<&str> = line.split(',').skip(1).map(str::trim).collect();
            let it = Row::new(row.label.clone(), &words);
            assert_eq!(
                (it.bytes, it.ops, it.kind, it.request_size),
                (row.bytes, row.ops, row.kind.clone(), row.request_size)
            );
        }
        let errors = read("e");
        assert_eq!(errors.matches("short, 4096 bytes").count(), 2, "{errors}");
        assert!(!ended.err.contains("short, 4096 bytes"), "{}", ended.err);
        let combined = read("k");
        assert_eq!(combined.lines().count(), run);
        assert!(
            combined.lines().all(|line| line.starts_with("Combined,") && fields(line) == fields(table[0]))
        );
        assert_eq!(combined.lines().last(), table.last().copied());
    }
}

// Check 67.
#[test]
fn concatenates_ids() {
    let lab = lab();
    let rest = ["-op", "read", "-targets", "1", "F", "-reqsize", "8", "-numreqs", "1"];
    let run = |ids: &[&str]| {
        let ended = Ended::of(lab.command("xdd").args(rest).args(ids).output().unwrap());
        assert_eq!(ended.code, 0, "{}", ended.err);
        let line = ended.out.lines().find(|line| line.starts_with("ID for this run, ")).unwrap().to_string();
        line.trim_start_matches("ID for this run, ").to_string()
    };
    let ids = ["-id", "a", "-id", "b c", "-id", "commandline"];
    let line = run(&ids);
    let command = [rest.join(" "), ids.join(" ")].join(" ");
    assert_eq!(line, format!("'a b c {command} '"));
    assert_eq!(run(&[]), "'No ID Specified'");
}

// Check 70.
#[test]
fn version_and_help_are_complete() {
    let lab = crate::lab();
    assert!(xdd(&lab, 0, "-version").out.contains("6.5"));
    let help = xdd(&lab, 0, "-fullhelp").out;
    // Options after them are not even parsed.
    assert_eq!(xdd(&lab, 0, "-op read -fullhelp -nonsense").out, help);
    let words: Vec<&str> = help.split([' ', ',', ':', '\n']).collect();
    for option in "align blocksize combined createnewfiles csvout datapattern delay deletefile deskew devicefile dio errout \
        fullhelp heartbeat id kbytes lockstep maxall maxerrors maxpri mbytes minall nobarrier nomemlock noproclock numreqs op \
        output passes passoffset preallocate processlock processor qthreadinfo queuedepth randomize readafterwrite \
        reallyverbose recreatefiles reopen report_threshold reqsize roundrobin runtime rwratio seek setup sgio sharedmemory \
        singleproc startdelay startoffset starttime starttrigger stoptrigger syncio syncwrite target targetdir targetoffset \
        targets targetstartdelay throttle timelimit timerinfo timeserver timestamps ts verbose verify version \
        al bs combinedout combo cnf csvo dp del devf directio eo exthelp hb identifier kb ls lockstepoverlapped lso \
        maximumpriority mb nb nomlock noplock nr operation o p po pa plock pt qd qtinfo rand raw rv recreate reop \
        reportthreshold rept rs rr rt rw s scsigeneric shm sp sd so stime st et sio sw td to tsd throt tl ti tsvr ver"
        .split_whitespace()
    {
        assert!(words.contains(&format!("-{option}").as_str()), "-{option}");
    }
    assert_eq!(lab.run("xdd").code, 2);
    assert!(xdd(&lab, 0, "-h").out == help);
}

/// Hashes of the requests issued to each target, from a result's `run.json`.
fn hashes(lab: &Lab, result: &str) -> Vec<String> {
    let text = std::fs::read_to_string(lab.path(result).join("run.json")).expect("a result");
    let run: Value = serde_json::from_str(&text).expect("it is JSON");
    let targets = run["targets"].as_array().expect("targets");
    targets.iter().map(|target| target["issued_hash"].as_str().expect("a hash").to_string()).collect()
}

// The twin oracle: two front ends, one run.
#[test]
fn shown_plan_reproduces_the_run() {
    let lab = lab();
    lab.file("list", "0 10 1 r 0 0\n1 20 2 w 0 0\n2 5 3 r 0 0\n");
    for (i, args) in [
        "-op read -targets 1 F -reqsize 8 -numreqs 20 -passes 2",
        "-op write -op target 1 read -targets 3 F G H -reqsize 8 -numreqs 40 -queuedepth 3 -seek random -seek range 4096 -randomize -passes 2",
        "-rwratio 30 -targets 2 F G -blocksize 512 -kbytes 100 -reqsize 3 -seek target 1 stagger -seek range 1000 -passoffset 7 -passes 3",
        "-rwratio 50 -targets 1 G -seek load list",
        "-op read -targets 2 F F -op target 0 write -reqsize 1 -numreqs 50 -lockstep 0 1 op 1 op 1 wait complete -syncio 5 -datapattern sequenced -verify target 1 contents",
        "-op write -targets 1 N -reqsize 8 -numreqs 4 -passes 2 -createnewfiles -datapattern ascii HI -throttle ops 1000 -startdelay 0.01 -delay 0.01",
    ]
    .iter()
    .enumerate()
    {
        let before = snapshot(&lab);
        let shown = xdd(&lab, 0, &format!("{args} -show-plan -out never")).out;
        assert!(before == snapshot(&lab), "{args}");
        lab.file("plan.toml", &shown);
        xdd(&lab, 0, &format!("{args} -out typed{i}"));
        // Passes with separate files replace none.
        ["N.00000001", "N.00000002"].into_iter().for_each(|name| drop(std::fs::remove_file(lab.path(name))));
        lab.expect(0, &format!("run plan.toml --no-progress --out planned{i}"));
        let typed = hashes(&lab, &format!("typed{i}"));
        assert_eq!(typed, hashes(&lab, &format!("planned{i}")), "{args}");
        let asked = |result: String| -> Vec<_> {
            crate::sorted(&lab, &result).iter().map(|r| (r.target, r.pass, r.sequence, r.op, r.requested)).collect()
        };
        assert_eq!(asked(format!("typed{i}")), asked(format!("planned{i}")), "{args}");
    }
}

#[test]
fn keeps_archive_on_request() {
    let lab = lab();
    let ended = xdd(&lab, 0, "-op read -targets 2 F G -reqsize 8 -numreqs 20 -passes 2 --out run");
    assert!(ended.err.contains("result: run"), "{}", ended.err);
    assert_eq!(lab.records("run").len(), 80);
    assert_eq!(crate::count(&crate::summary(&lab, "run"), "all", "completed"), 80);
    assert!(!lab.expect(0, "show --all run").out.is_empty());
    // An existing result is never overwritten.
    xdd(&lab, 2, "-op read -targets 1 F -reqsize 8 -numreqs 20 --out run");
    assert_eq!(lab.records("run").len(), 80);
}

/// The verdict is on standard error only: no report has it, even where files replace standard output and error.
#[test]
fn prints_verdict_outside_reports_when_keeping_nothing() {
    let lab = lab();
    let run = |more: &str| xdd(&lab, 0, &format!("-op read -targets 1 F -reqsize 8 -numreqs 64 {more}"));
    let verdicts = |text: &str| text.lines().filter(|line| line.starts_with("xdd: verdict: ")).count();
    let (plain, kept) = (run("-verbose"), run("-out run"));
    let files = run("-output o -errout e -csvout c -combined k");
    for ended in [&plain, &kept, &files] {
        assert_eq!(
            (verdicts(&ended.err), ended.out.contains("verdict")),
            (1, false),
            "{}{}",
            ended.out,
            ended.err
        );
    }
    for name in ["o", "e", "c", "k"] {
        assert!(!std::fs::read_to_string(lab.path(name)).unwrap().contains("verdict"), "{name}");
    }
    // XDD without -dio measures the page cache: that is never fake. A hole is not a device's data.
    std::fs::File::create(lab.path("hole")).unwrap().set_len(8 << 20).unwrap();
    let read_hole =
        |more: &str| lab.run(&format!("xdd -op read -targets 1 hole -reqsize 8 -numreqs 64 {more}"));
    assert_eq!(read_hole("").code, 0);
    let direct = read_hole("-dio");
    if direct.code != 2 {
        assert!(
            direct.code == 4 && direct.err.contains("xdd: verdict: FAKE as a device result: unmapped-target"),
            "{}",
            direct.err
        );
    }
}
