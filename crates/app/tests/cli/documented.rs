//! Pages and help texts are true: their commands run as they stand, and the options they name exist.
//!
//! Names in them belong to the reader. Each command runs in a directory in which files of these names exist, and image files stand for
//! devices ([`STANDS_FOR`]); long commands are shortened ([`SHORTENED`]). Recordings need real devices: `devices documented::` runs their
//! commands.

use iosonar_testkit::{Ended, Lab, Shown, in_help, in_markdown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Image files instead of the reader's devices, and a file instead of a program that may not be installed.
const STANDS_FOR: [(&str, &str); 6] = [
    ("/dev/sdX", "sdx.img"),
    ("/dev/sdw", "sdw.img"),
    ("/dev/sdx", "sdx.img"),
    ("/dev/sdy", "sdy.img"),
    ("/dev/sdz", "sdz.img"),
    ("perf script |", "zcat perf.txt.gz |"),
];

/// Shortened versions of commands. Replays are exact, only faster.
const SHORTENED: [(&str, &str); 21] = [
    ("fill --on", "fill --size 1m --on"),
    ("fill a.img", "fill a.img --size 1m"),
    ("fill sdx.img --destroy", "fill sdx.img --size 1m --destroy"),
    ("fill sdx.img --percent 50", "fill sdx.img --size 1m"),
    ("iosonar calibrate", "iosonar calibrate --duration 10ms"),
    ("iosonar replay", "iosonar replay --speed 20000 --start-grace 0"),
    ("iosonar knee", "iosonar knee --engine sim --most 5000"),
    ("--replay-duration=3600", "--replay-duration=1 --start-grace=0"),
    ("--out=run1", "--out=run1 --replay-duration=1 --start-grace=0"),
    ("database.load.gz --target", "database.load.gz --duration 20 --target"),
    ("-g 4g", "-g 256k"),
    ("-s 64g", "-s 2m"),
    ("-s 4g", "-s 1m"),
    ("--runtime 60", "--runtime 1"),
    ("--runtime 30", "--runtime 1"),
    ("--ramp-time 5", "--ramp-time 0.2"),
    ("--number-ios 100000", "--number-ios 500"),
    ("--io-size 1g", "--io-size 4m"),
    ("layout run . --size 1g", "layout run . --size 1m"),
    ("layout run . --size 256m", "layout run . --size 1m"),
    ("bursts.load.gz --duration 60s --rate 500", "bursts.load.gz --duration 3s --rate 50"),
];

pub fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of the project: name and text.
fn pages() -> Vec<(String, String)> {
    let mut paths = vec![repository().join("README.md"), repository().join("examples/loads/README.md")];
    paths.extend(
        std::fs::read_dir(repository().join("docs"))
            .expect("docs")
            .map(|entry| entry.expect("a page").path()),
    );
    paths.retain(|path| path.extension().is_some_and(|e| e == "md"));
    paths.sort();
    let name =
        |path: &Path| path.strip_prefix(repository()).expect("a page below the root").display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("a page"))).collect()
}

/// The commands of the program, those of `load`, `cache` and `layout` too; the first one is the program itself.
fn subcommands(lab: &Lab) -> Vec<String> {
    let names = |of: &str| -> Vec<String> {
        let help = lab.expect(0, &format!("{of} -h")).out;
        let list = help
            .lines()
            .skip_while(|line| !line.starts_with("Usage:"))
            .take_while(|line| *line != "Options:");
        let list = list.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
        let names = list.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help");
        names.map(|name| format!("{of} {name}").trim().to_string()).collect()
    };
    let mut all = vec![String::new()];
    all.extend(names(""));
    for parent in ["load", "load derive", "cache", "layout"] {
        all.extend(names(parent));
    }
    assert!(all.len() > 20, "{all:?}");
    all
}

/// The whole help of a command.
fn help(lab: &Lab, command: &str) -> String {
    lab.expect(0, &format!("{command} --help")).out
}

/// Files of other tools, under the names that examples use.
const TRACES: [(&str, &str); 6] = [
    ("blktrace/mixed.blktrace.0", "sda.blktrace.0"),
    ("blktrace/mixed.blktrace.1", "sda.blktrace.1"),
    ("blktrace/mixed.blktrace.0", "sdx.blktrace.0"),
    ("blktrace/mixed.blktrace.1", "sdx.blktrace.1"),
    ("perf/mixed.script.gz", "perf.txt.gz"),
    ("fio/times.v3.log", "fio.log"),
];

/// Names of results that examples show and compare.
const RESULTS: [&str; 8] = ["first", "second", "before", "after", "baseline", "run1", "run2", "run3"];

/// A line of a trace in the form of MSR: ticks of 100 ns, host, disk, type, offset, size, response time.
const MSR: &str =
    "128166372003061629,proj,0,Read,7014609920,24576,41286\n128166372016382155,proj,0,Write,4096,4096,963\n";

/// A directory in which the names of all examples exist.
fn stage() -> Lab {
    let lab = crate::lab();
    lab.expect(0, "generate mixed web.load.gz --duration 2400s --rate 1 --size 64MiB");
    lab.expect(0, "generate mixed short.load.gz --duration 700s --rate 1 --size 64MiB --seed 2");
    lab.expect(0, "generate mixed dense.load.gz --duration 70s --rate 40 --size 64MiB --seed 3");
    for name in [
        "monday.load.gz",
        "tuesday.load.gz",
        "mail.load.gz",
        "db.load.gz",
        "load.gz",
        "bursts.load.gz",
        "demo.load",
    ] {
        std::fs::copy(lab.path("short.load.gz"), lab.path(name)).expect("a copy");
    }
    lab.file("a.load", lab.expect(0, "filter sample:1 short.load.gz").out);
    std::fs::copy(lab.path("a.load"), lab.path("b 1.load")).expect("a copy");
    for (number, name) in RESULTS.iter().enumerate() {
        let result =
            format!("replay dense.load.gz -t a.img --engine sim --sim-jitter 50us --seed {number} -o {name}");
        images(lab.path(""));
        lab.expect(0, &result);
    }
    for (from, name) in [("first", "ran"), ("first", "seen"), ("first", "monday")] {
        lab.expect(0, &format!("convert {from} {name}"));
    }
    lab.expect_done("run -t a.img --rw randread --bs 64k --number-ios 100 -o reads");
    lab.target("w.img", 1 << 20);
    lab.expect(0, "run -t w.img --rw write --bs 64k --size 1m -o written");
    std::fs::copy(lab.path("w.img"), lab.path("copy.img")).expect("a copy");
    lab.expect(0, "matrix t.tmp --sizes 4m,8m --records 64k --tests write,read --repeat 5 -o matrix1");
    let copied = Command::new("cp").arg("-r").args([lab.path("matrix1"), lab.path("matrix2")]).status();
    assert!(copied.expect("cp starts").success());
    for load in ["monday", "web"] {
        let derived = format!("derive overload {load}.load.gz --window 60s --split 4 --out peak");
        std::fs::create_dir_all(lab.path("peak")).expect("a directory");
        lab.expect(0, &derived);
    }
    let fixtures = repository().join("crates/trace/tests/fixtures");
    for (from, name) in TRACES {
        std::fs::copy(fixtures.join(from), lab.path(name)).expect("a fixture");
    }
    lab.expect(0, "convert --timing exact sdx old.replay.gz");
    crate::fixture(&lab, "diskmon.log.gz");
    lab.file("proj_0.csv.gz", crate::gzip(MSR.as_bytes()));
    lab.file("files.txt", "0 1048576 journal\n");
    // Two machines, and a remote shell that stays here: `devices cluster::` goes through ssh.
    lab.file("clients", "alpha . iosonar\nbeta . iosonar\n");
    lab.file("rsh.sh", "shift; exec sh -c \"$1\"\n");
    lab.file("plan.toml", lab.expect(0, "run -t a.img --rw randread --number-ios 100 --show-plan").out);
    lab
}

/// Makes the targets that examples name. They are sparse: unwritten parts take no space.
fn images(dir: PathBuf) {
    for (name, gib) in
        [("a", 64), ("b", 64), ("disk", 64), ("sdw", 64), ("sdx", 16 * 1024 - 1), ("sdy", 64), ("sdz", 64)]
    {
        let image = std::fs::File::create(dir.join(format!("{name}.img"))).expect("an image");
        image.set_len(gib << 30).expect("a file system that holds sparse files of this size");
    }
}

/// Files that a command creates: they must not exist yet.
fn made(command: &str) -> Vec<&str> {
    let words: Vec<&str> = command.split(' ').take_while(|word| !["|", ";", "&"].contains(word)).collect();
    let named =
        words.windows(2).filter(|pair| ["-o", "--out", "-out"].contains(&pair[0])).map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| word.strip_prefix("--out="));
    let last = match words.get(1) {
        Some(&"convert") if !words.contains(&"-o") => words.last().filter(|_| words.len() > 3),
        Some(&"load") if words.get(2) == Some(&"generate") => words.get(4),
        _ => None,
    };
    named.chain(joined).chain(last.copied()).filter(|name| *name != "-").collect()
}

/// Runs the live view briefly, on a terminal.
fn on_a_terminal(command: &str) -> String {
    let fast = match command.contains("--speed") {
        true => command.to_string(),
        false => format!("{command} --speed 1000"),
    };
    format!("{{ sleep 0.3; printf q; sleep 1; }} | TERM=xterm timeout 20 script -qec '{fast}' /dev/null")
}

/// Serves for a moment, at a free port.
fn in_a_browser(command: &str) -> String {
    format!("timeout --preserve-status -s INT 1 {} || test $? = 130", command.replace("8080", "0"))
}

/// Runs a command as it stands, in a copy of the stage.
fn run(stage: &Lab, shown: &Shown) -> Ended {
    let mut command = shown.command.clone();
    for (from, to) in STANDS_FOR.iter().chain(&SHORTENED) {
        command = command.replace(from, to);
    }
    let here = tempfile::tempdir().expect("a directory");
    let copied = Command::new("cp").arg("-a").arg(stage.path(".")).arg(here.path()).status();
    assert!(copied.expect("cp starts").success());
    images(here.path().to_path_buf());
    std::os::unix::fs::symlink(repository().join("examples"), here.path().join("examples")).expect("a link");
    for name in made(&command) {
        let path = here.path().join(name);
        match path.is_dir() {
            true => std::fs::remove_dir_all(&path).expect("a directory of the stage goes"),
            false => drop(std::fs::remove_file(&path)),
        }
    }
    let binaries = Path::new(env!("CARGO_BIN_EXE_iosonar")).parent().expect("a directory of binaries");
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    if command.starts_with("iosonar live ") && command.contains("--http ") {
        command = in_a_browser(&command);
    } else if command.starts_with("iosonar live ") && !command.contains("--once") {
        command = on_a_terminal(&command);
    }
    let script = format!("set -euo pipefail; {command}");
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &script])
        .current_dir(here.path())
        .env("PATH", path)
        .env("RSH", "sh rsh.sh")
        .env("XDG_CACHE_HOME", here.path().join("cache"))
        .env("IOSONAR_LEDGER", here.path().join("targets.jsonl"))
        .stdin(Stdio::null());
    Ended::of(shell.output().expect("bash starts"))
}

#[test]
fn every_documented_command_runs() {
    slow!();
    let stage = stage();
    let mut all: Vec<Shown> = pages().iter().flat_map(|(name, page)| in_markdown(name, page)).collect();
    for command in subcommands(&stage) {
        all.extend(in_help(&format!("{command} --help"), &help(&stage, &command)));
    }
    all.retain(|shown| !shown.command.contains("iosonar record"));
    assert!(all.len() > 80, "{} commands", all.len());
    let wrong: Vec<String> = all
        .iter()
        .map(|shown| (shown, run(&stage, shown)))
        // Images are sparse here: reads of them are fake as a device result.
        .filter(|(_, ended)| ended.code != 0 && ended.code != 4)
        .map(|(shown, ended)| {
            format!("{}: {}\n  exit code {}: {}", shown.place, shown.command, ended.code, ended.err)
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {} commands fail:\n{}", wrong.len(), all.len(), wrong.join("\n"));
}

/// `iosonar COMMAND … --option` in the text of a page: such a command has such an option.
#[test]
fn every_option_that_a_page_names_exists() {
    let lab = crate::lab();
    let commands = subcommands(&lab);
    let mut named = 0;
    for (name, page) in pages() {
        let codes = page.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("iosonar "));
        for code in codes.filter(|code| !code.starts_with("xdd ") && !code.starts_with("blkreplay ")) {
            let command = commands.iter().rev().find(|c| !c.is_empty() && code.starts_with(c.as_str()));
            let known = help(&lab, command.map_or("", String::as_str));
            for option in code.split([' ', '=']).filter(|word| word.starts_with("--") && word.len() > 2) {
                let has = known.split([' ', '\n', ',']).any(|word| word == option);
                assert!(has, "{name}: iosonar {code}: there is no {option}");
                named += 1;
            }
        }
    }
    assert!(named > 5, "{named}");
}

/// Advice in a detection, a caution or an answer can be typed: each option that a text names is one of some command.
#[test]
fn every_option_that_a_remedy_names_exists() {
    /// Options of other programs, which the text names with them.
    const OF_OTHERS: [&str; 4] = ["--direct-io", "--read-only", "--setrw", "--with-final-verify"];
    let lab = crate::lab();
    let helps: Vec<String> = subcommands(&lab).iter().map(|command| help(&lab, command)).collect();
    let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
    let known = |option: &str| {
        let is_one = |help: &String| help.split(is_end).any(|word| word == option);
        OF_OTHERS.contains(&option) || helps.iter().any(is_one)
    };
    let mut named = 0;
    for room in ["judge/src/detectors", "judge/src", "analyze/src", "analyze/src/cautions", "host/src"] {
        for entry in std::fs::read_dir(repository().join("crates").join(room)).expect("a room") {
            let path = entry.expect("a file").path();
            if path.extension().is_none_or(|extension| extension != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file");
            let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let lines = product.lines().filter(|line| !line.trim_start().starts_with("//"));
            for option in lines.flat_map(|line| line.split(is_end)) {
                let is_option =
                    option.starts_with("--") && option[2..].starts_with(|c: char| c.is_ascii_lowercase());
                if is_option {
                    assert!(known(option), "{}: no command has {option}", path.display());
                    named += 1;
                }
            }
        }
    }
    assert!(named > 20, "{named}");
}
