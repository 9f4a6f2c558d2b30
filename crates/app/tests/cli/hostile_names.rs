//! Names chosen by others: control characters, line ends and marks of the writing direction in the names of files, in traces, in archives,
//! in the output of other programs. No command prints them in its output for people.

use crate::*;
use iosonar_testkit::Ended;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The line that a name tries to forge.
const FORGED: &str = "verdict: trustworthy";
/// ESC, OSC with its end, C1, a carriage return, marks and overrides of the direction, separators of lines, a tab.
const ODD: &str = "\u{1b}[31m\u{1b}]0;pwned\u{7}\u{9b}2J\r\u{202e}\u{2066}\u{200f}\u{61c}\u{2028}\u{200b}\t\nverdict: trustworthy";

/// A name with all of these, and bytes that are no UTF-8.
fn hostile(start: &str) -> OsString {
    OsString::from_vec([start.as_bytes(), ODD.as_bytes(), b"\xff\xe2\x80"].concat())
}

/// The same as text.
fn hostile_text(start: &str) -> String {
    format!("{start}{ODD}")
}

fn is_odd(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Asserts that a text contains no control sequence and no forged line.
#[track_caller]
fn assert_tame(text: &str, what: &str) {
    let odd = |c: char| is_odd(c) && c != '\n';
    assert!(!text.contains(odd), "{what}: {text:?}");
    assert!(!text.lines().any(|line| line.starts_with(FORGED)), "{what}: {text}");
}

#[track_caller]
fn run(lab: &Lab, words: &[&OsStr]) -> Ended {
    let mut command = lab.command("");
    command.args(words).env("IOSONAR_COLUMNS", "80");
    let ended = Ended::of(command.output().expect("iosonar runs"));
    assert!(ended.code < 128, "{words:?}: {} {}", ended.code, ended.err);
    ended
}

/// Runs a command with a name in place of `@`.
#[track_caller]
fn tame(lab: &Lab, line: &str, name: &OsStr) -> Ended {
    let words: Vec<OsString> = line
        .split_whitespace()
        .map(|word| match word.split_once('@') {
            Some((before, after)) => [OsStr::new(before), name, OsStr::new(after)].into_iter().collect(),
            None => word.into(),
        })
        .collect();
    let words: Vec<&OsStr> = words.iter().map(OsString::as_os_str).collect();
    let ended = run(lab, &words);
    // IOzone's and XDD's forms contain tabs.
    let untabbed = |text: &str| {
        if line.starts_with("iozone") || line.starts_with("xdd") {
            text.replace('\t', " ")
        } else {
            text.into()
        }
    };
    assert_tame(&untabbed(&ended.out), &format!("{line}: standard output"));
    assert_tame(&untabbed(&ended.err), &format!("{line}: standard error"));
    ended
}

/// A missing file with such a name is named in the error of each command.
#[test]
fn escapes_names_in_errors_of_every_command() {
    let lab = lab();
    lab.target("t", 1 << 20);
    lab.file("ok.load", "0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\n");
    let name = hostile("missing");
    for line in [
        "replay @ -t t",
        "replay ok.load -t @ --no-progress",
        "run @",
        "run -t @ --rw randread --number-ios 4",
        "fill @ --size",
        "knee -t @",
        "compare @ @",
        "analyze @",
        "show @",
        "judge @",
        "explain @",
        "doctor @",
        "live @",
        "plot @",
        "report @",
        "export @ --to csv",
        "import @",
        "import iozone @",
        "generate @ x",
        "check @ @",
        "verify @",
        "convert @ -",
        "info @",
        "filter select:1 @",
        "derive split @",
        "matrix --resume @",
        "layout map @",
        "layout free @",
        "layout evict @",
        "layout cached @",
        "layout run @ --size 1m",
        "xdd -op read -targets 1 @ -numreqs 1",
        "xdd -op read -targets 1 t -numreqs 1 -setup @",
        "iozone -i 0 -s 64k -f t -X @",
        "iozone --@",
        "blkreplay @",
        "replay ok.load -t t --@",
        "@",
        "record --cleanup @",
        "plot ok.load --only @",
        "compare ok.load ok.load --fail-if @",
        "run -t t --rw @",
        "run -t t --bs @",
        "filter @ ok.load",
        "export ok.load --to @",
    ] {
        let ended = tame(&lab, line, &name);
        assert_ne!(ended.code, 0, "{line}: {}", ended.out);
    }
}

/// A plan, a trace, a load, a matrix and an archive from others.
#[test]
fn escapes_text_from_foreign_files() {
    let lab = lab();
    lab.file(
        "t.log",
        format!(
            "fio version 3 iolog\n0 a{0} add\n1 a{0} write 0 4096\n",
            "\u{1b}]0;pwned\u{7}\u{1b}[31m\u{9b}\u{202e}"
        ),
    );
    let process = "\u{1b}[31m\u{9b}\u{202e}x";
    lab.file("trace", format!("  8,0    1        1     0.000001000   42  Q WS 8 + 8 [{process}]\n  8,0    1        2     0.000002000   42  D WS 8 + 8 [{process}]\n"));
    lab.file(
        "msr.csv",
        format!("128166372003061629,{},0,Read,7014609920,24576,41286\n", "pr\u{1b}[31m\u{202e}oj"),
    );
    lab.file("bad.load", hostile_text("0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\nbad "));
    lab.file("bad.toml", hostile_text("version = 2\nname = "));
    lab.file("ledger.csv", "x\n");
    let name = OsStr::new("x");
    for line in [
        "info t.log",
        "info trace",
        "info msr.csv",
        "info bad.load",
        "convert t.log -",
        "convert trace -",
        "convert bad.load -",
        "check t.log trace",
        "check trace trace --list 5",
        "run bad.toml",
        "replay bad.load -t t --engine sim --size 1GiB --skip-bad --no-progress -o out",
        "show out",
        "info out",
        "analyze bad.load",
        "analyze bad.load --csv",
        "filter reverse bad.load",
    ] {
        tame(&lab, line, name);
    }
    let told = tame(&lab, "info t.log", name).out;
    assert!(told.contains("\\u{1b}[31m"), "{told}");
}

/// Replaces all strings of an archive.
fn spoil(value: &mut Value, keep: &dyn Fn(&str) -> bool) {
    match value {
        Value::String(text) if !keep(text) => *text = hostile_text(text),
        Value::Array(list) => list.iter_mut().for_each(|value| spoil(value, keep)),
        Value::Object(fields) => fields.values_mut().for_each(|value| spoil(value, keep)),
        _ => {}
    }
}

/// An archive whose texts were changed by others.
fn spoiled_archive(lab: &Lab) {
    lab.expect(0, &format!("run {SIM} --rw randrw --number-ios 200 --seed 3 -o o"));
    let path = lab.path("o/run.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    for key in ["tool", "command"] {
        json[key] = hostile_text("x").into();
    }
    for target in json["targets"].as_array_mut().unwrap() {
        target["path"] = hostile_text("dev").into();
        target["source"] = hostile_text("load").into();
    }
    if let Some(setup) = json.get_mut("means")
        && setup.get("notices").is_some()
    {
        setup["notices"] = serde_json::json!([hostile_text("notice")]);
    }
    json["state"] = serde_json::json!({ "state": "broken", "why": hostile_text("why") });
    std::fs::write(&path, json.to_string()).unwrap();
    let path = lab.path("o/environment.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let is_number = |text: &str| text.chars().next().is_some_and(|c| c.is_ascii_digit()) || text.len() < 2;
    spoil(&mut json, &is_number);
    std::fs::write(&path, json.to_string()).unwrap();
}

#[test]
fn escapes_archive_text_in_every_view() {
    let lab = lab();
    spoiled_archive(&lab);
    let name = OsStr::new("x");
    for line in [
        "show o",
        "show o --demand",
        "info o",
        "analyze o",
        "judge o",
        "explain o",
        "compare o o",
        "compare o o --markdown",
        "compare o o --csv",
        "analyze o --csv",
        "export o --to csv",
        "plot o --text",
        "verify o",
        "live o --once",
        "convert o -",
        "check o o",
    ] {
        tame(&lab, line, name);
    }
}

/// Pictures and pages contain neither markup nor marks of a name, and embedded JSON ends where it should.
#[test]
fn escapes_names_in_pages_and_pictures() {
    let lab = lab();
    let name = format!("{}</script><script>alert(1)</script>", hostile_text("a"));
    lab.target(&name.replace('/', "_"), 1 << 20);
    spoiled_archive(&lab);
    let path = lab.path("o/run.json");
    let mut json: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    json["targets"][0]["path"] = name.clone().into();
    json["command"] = name.clone().into();
    std::fs::write(&path, json.to_string()).unwrap();
    for line in ["report o -o page.html", "plot o -o pictures", "plot o --compare o -o both"] {
        tame(&lab, line, OsStr::new("x"));
    }
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert_tame(&without_viewer(&page), "page.html");
    assert!(!page.contains("<script>alert"), "markup");
    assert!(page.contains("\\u{202e}"), "the name stands in the page");
    let mut pictures = 0;
    for entry in std::fs::read_dir(lab.path("pictures")).unwrap().flatten() {
        if entry.path().extension().is_some_and(|e| e == "svg") {
            pictures += 1;
            let picture = std::fs::read_to_string(entry.path()).unwrap();
            assert_tame(&picture, &entry.path().display().to_string());
            assert!(!picture.contains("<script"), "{}", entry.path().display());
        }
    }
    assert!(pictures > 5);
}

/// The page without its embedded program, which contains tabs.
fn without_viewer(page: &str) -> String {
    let (before, rest) = page.split_once("<script id=\"iosonar-viewer\">").expect("a viewer");
    let (_, after) = rest.split_once("</script>").expect("its end");
    format!("{before}{after}")
}

/// A file with such a name is measured like any other, and so is one in a directory of that name.
#[test]
fn measures_files_with_unusual_names_and_escapes_them() {
    slow!();
    let lab = lab();
    let name = hostile("f");
    std::fs::write(lab.path("").join(Path::new(&name)), vec![7; 1 << 20]).unwrap();
    let data: Vec<u8> = (0..1 << 20).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let text = OsString::from(hostile_text("g"));
    std::fs::write(lab.path("").join(Path::new(&text)), data).unwrap();
    for line in [
        "run -t @ --rw randread --bs 4k --number-ios 4 --no-progress -o o",
        "info o",
        "show o",
        "explain o",
        "run -t @ --rw randread --bs 4k --number-ios 4 --dry-run",
        "run -t @ --rw randwrite --bs 4k --number-ios 4 --no-progress --verify -o v",
        "verify v",
        "fill @ --percent 50",
        "doctor @",
        "layout map @",
        "layout cached @",
        "layout evict @",
        "xdd -op read -targets 1 @ -reqsize 4 -numreqs 4 -verbose",
        "iozone -i 0 -i 1 -s 64k -r 4k -f @.x",
        "iozone -i 0 -s 64k -r 4k -f @.x --csv c.csv --csv-safe",
        "matrix @.y --sizes 64k --records 4k --tests write --repeat 1 -o m",
        "run -t @ --rw randread --bs 4k --number-ios 4 --no-progress --show-plan",
    ] {
        tame(&lab, line, &text);
        if !line.starts_with("iozone") && !line.contains("-o ") {
            tame(&lab, line, &name);
        }
    }
}

/// The standard error of a filter's command is passed on in lines that name it.
#[test]
fn escapes_output_of_other_programs() {
    let lab = lab();
    lab.file("ok.load", "0.0 ; 8 ; 8 ; R ; 0.0 ; 0.0\n1.0 ; 16 ; 8 ; R ; 0.0 ; 0.0\n");
    let words = ["filter", "cmd:'printf \"in\\033[2J\\nverdict: trustworthy\\n\" >&2; cat'", "ok.load"]
        .map(OsStr::new);
    let ended = run(&lab, &words);
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert_tame(&ended.err, "standard error");
    assert!(ended.err.contains("in\\u{1b}[2J") && ended.err.contains(FORGED), "{}", ended.err);
    assert_eq!(ended.out.lines().count(), 3, "{}", ended.out);
}

/// Cells that start a formula are defused on request; numbers are numbers in either form.
#[test]
fn defuses_formulas_in_csv_on_request() {
    let lab = lab();
    for name in ["=1+1", "+cmd", "-x", "@sum", "＝1", "a,b", "q\"r"] {
        lab.file(name, "0.0 ; 8 ; 8 ; R ; 0.0 ; 0.001\n1.0 ; 8 ; 8 ; R ; 0.0 ; 0.001\n");
        let replay = format!("{}.replay", name.trim_start_matches('-'));
        let head = "orig_start ; sector ; length ; op ; replay_delay ; replay_duration\n";
        lab.file(&replay, format!("{head}0.0 ; 8 ; 8 ; R ; 0.0 ; 0.001\n1.0 ; 8 ; 8 ; R ; 0.0 ; 0.001\n"));
        let cells = |safe: &[&str]| -> Vec<Vec<String>> {
            let mut words = vec!["compare", "--csv"];
            words.extend(safe);
            words.extend(["--", &replay, &replay]);
            let ended = lab.run("").code;
            assert_ne!(ended, 0);
            let ended = Ended::of(lab.command("").args(&words).output().unwrap());
            assert!(ended.out.lines().count() > 1, "{words:?}: {} {}", ended.out, ended.err);
            ended.out.lines().map(cells_of).collect()
        };
        let (plain, safe) = (cells(&[]), cells(&["--csv-safe"]));
        let is_formula = replay.starts_with(['=', '+', '-', '@', '＝']);
        for (plain, safe) in plain.iter().zip(&safe).skip(1) {
            assert_eq!(plain[0], replay);
            assert_eq!(safe[0], if is_formula { format!("'{replay}") } else { replay.clone() });
            assert_eq!(plain[2..12], safe[2..12], "figures stay as they are");
        }
    }
    lab.target("t", 1 << 20);
    assert_eq!(lab.run("export t --to json --csv-safe").code, 2);
    assert_eq!(lab.run("analyze t --csv-safe").code, 2);
    assert_eq!(lab.run("iozone -i 0 -s 64k --csv-safe").code, 2);
}

/// The cells of a line of CSV.
fn cells_of(line: &str) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted) = (Vec::new(), String::new(), false);
    let mut signs = line.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '"' if is_quoted && signs.peek() == Some(&'"') => cell.push(signs.next().unwrap()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            sign => cell.push(sign),
        }
    }
    cells.push(cell);
    cells
}

/// An endless line of another machine is refused at a stated limit, and the error names the machine.
#[test]
fn refuses_endless_lines_of_other_machines() {
    let lab = lab();
    lab.file("one", "alpha /mnt iosonar\n");
    lab.file(
        "rsh.sh",
        "echo iosonar-agent 1 Linux x86_64; head -c 70000000 /dev/zero | tr '\\0' x; sleep 1\n",
    );
    let command = &mut lab.command("iozone -+m one -t 1 -i 0");
    let ended = Ended::of(command.env("RSH", "sh rsh.sh").output().unwrap());
    assert_eq!(ended.code, 2, "{}", ended.err);
    assert!(ended.err.contains("host alpha: a line has more than 64 MiB"), "{}", ended.err);
}

/// A new ledger and its directories are private, and existing ones stay as they are.
#[test]
fn keeps_the_ledger_private() {
    use std::os::unix::fs::PermissionsExt;
    let lab = lab();
    lab.target("t", 1 << 20);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let run = |ledger: &Path| {
        let line = "run -t t --rw write --bs 4k --number-ios 4 --no-progress -o";
        let mut command = lab.command(line);
        command.arg(lab.path(&format!("out-{}", ledger.components().count()))).env("IOSONAR_LEDGER", ledger);
        let ended = Ended::of(command.output().unwrap());
        assert!(ended.code == 0 || ended.code == 4, "{}", ended.err);
    };
    let ledger = lab.path("state/iosonar/targets.jsonl");
    run(&ledger);
    assert_eq!(mode(&ledger), 0o600);
    assert_eq!(mode(&lab.path("state/iosonar")), 0o700);
    assert_eq!(mode(&lab.path("state")), 0o700);
    std::fs::create_dir(lab.path("mine")).unwrap();
    std::fs::set_permissions(lab.path("mine"), PermissionsExt::from_mode(0o755)).unwrap();
    run(&lab.path("mine/targets.jsonl"));
    assert_eq!(mode(&lab.path("mine")), 0o755);
}
