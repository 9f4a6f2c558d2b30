//! The live view on a terminal: it shows the run, restores the terminal however it ends, obeys where escape codes are unwanted, and is not
//! held up by a terminal that takes nothing.
//!
//! Most tests give the program a pseudo-terminal; three compare the screen of `tmux` with files in `fixtures/live`, which `BLESS=1 cargo
//! test` rewrites.

use crate::*;
use iosonar_testkit::until;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Enter and leave the alternate screen; show the cursor.
const ENTER: &str = "\x1b[?1049h";
const LEAVE_SCREEN: &str = "\x1b[?1049l";
const CURSOR: &str = "\x1b[?25h";
/// Two thousand requests a second that cost nothing, and the view.
const RUN: &str = "run -t dev --engine null --size 1GiB --rw randrw --rate-iops 2000 --iodepth 4 -o r --live";
const PATIENCE: Duration = Duration::from_secs(30);

/// A program on a pseudo-terminal: that is its standard input and standard error, and standard output is a pipe.
struct OnTerminal {
    child: Child,
    master: File,
    slave: File,
    before: Termios,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl OnTerminal {
    fn start(lab: &Lab, args: &str, env: &[(&str, &str)]) -> OnTerminal {
        let terminal = OnTerminal::without_reader(lab, args, env, None);
        terminal.read();
        terminal
    }

    /// Starts a program without a reader of its terminal.
    fn without_reader(lab: &Lab, args: &str, env: &[(&str, &str)], input: Option<Stdio>) -> OnTerminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&master).and_then(|()| unlockpt(&master)).expect("it can be used");
        let path = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("a plain one");
        let slave = File::options().read(true).write(true).open(path).expect("its other side");
        size(&slave, 80, 24);
        let before = tcgetattr(&slave).expect("it is a terminal");
        let mut command = lab.command(args);
        command
            .env_remove("NO_COLOR")
            .env_remove("COLORTERM")
            .env("TERM", "xterm-256color")
            .env("LANG", "C.UTF-8");
        command.env_remove("LC_ALL").env_remove("LC_CTYPE").envs(env.iter().copied());
        let stdio = || slave.try_clone().expect("one more handle");
        let input = input.unwrap_or_else(|| stdio().into());
        let child = command.stdin(input).stderr(stdio()).spawn().expect("the binary starts");
        OnTerminal { child, master: File::from(master), slave, before, seen: Arc::default() }
    }

    /// Collects the output of the program.
    fn read(&self) {
        let (mut master, seen) = (self.master.try_clone().expect("one more handle"), self.seen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(read @ 1..) = master.read(&mut bytes) {
                seen.lock().unwrap().extend_from_slice(&bytes[..read]);
            }
        });
    }

    fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// Waits until `right` holds, and returns the output until then.
    #[track_caller]
    fn until(&self, what: &str, right: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let seen = self.seen();
            if right(&seen) {
                return seen;
            }
            assert!(Instant::now() < end, "{what} was waited for in vain: {seen:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits for the current view: all of it is sent repeatedly (Ctrl-L), because otherwise only cells that differ are.
    #[track_caller]
    fn until_view(&mut self, what: &str, right: impl Fn(&str) -> bool) {
        let end = Instant::now() + PATIENCE;
        loop {
            self.press("\x0c");
            std::thread::sleep(Duration::from_millis(300));
            let seen = self.seen();
            let view = seen.rsplit("\x1b[2J").next().unwrap();
            if right(view) {
                return;
            }
            assert!(Instant::now() < end, "{what} was waited for in vain: {seen:?}");
        }
    }

    fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    fn signal(&self, name: &str) {
        iosonar_testkit::signal(self.child.id(), name);
    }

    /// Waits for the end; returns the exit code and the output to the terminal.
    #[track_caller]
    fn end(mut self) -> (i32, String) {
        use std::os::unix::process::ExitStatusExt;
        let mut out = self.child.stdout.take().expect("it is piped");
        let text = std::thread::spawn(move || std::io::read_to_string(&mut out));
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < end, "it does not end: {:?}", self.seen());
            std::thread::sleep(Duration::from_millis(10));
        };
        let text = text.join().unwrap().unwrap();
        assert!(!text.contains('\x1b'), "{text:?}");
        // Waits for output that the kernel still buffers.
        std::thread::sleep(Duration::from_millis(100));
        let after = tcgetattr(&self.slave).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes, "the terminal's modes are not what they were");
        (status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)), self.seen())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(terminal: &File, columns: u16, rows: u16) {
    let size = Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).expect("a size");
}

/// Asserts that the program has left the alternate screen, and the cursor is visible again.
#[track_caller]
fn is_restored(seen: &str) {
    assert_eq!(seen.matches(ENTER).count(), seen.matches(LEAVE_SCREEN).count(), "{seen:?}");
    let (left, cursor) =
        (seen.rfind(LEAVE_SCREEN).expect("it was left"), seen.rfind(CURSOR).expect("a cursor"));
    assert!(left > seen.rfind(ENTER).unwrap() && cursor > seen.rfind("\x1b[?25l").unwrap());
    let after = &seen[left + LEAVE_SCREEN.len()..];
    assert!(!after.contains("\x1b[?"), "{after:?}");
}

#[test]
fn finished_run_restores_the_terminal() {
    let lab = lab();
    let terminal = OnTerminal::start(&lab, &format!("{RUN} --runtime 1.5"), &[]);
    let (code, seen) = terminal.end();
    assert_eq!(code, 0, "{seen:?}");
    is_restored(&seen);
    // The last line, and how it ended, stand on the screen that was there before.
    let after = &seen[seen.rfind(LEAVE_SCREEN).unwrap()..];
    assert!(after.contains("100%") && after.contains("run over: 3000 completed, 0 failed"), "{after:?}");
    assert!(after.ends_with("\n"), "{after:?}");
    assert!(seen.contains("in flight") && seen.contains("DRY RUN"), "{seen:?}");
    assert_eq!(count(&summary(&lab, "r"), "all", "completed"), 3000);
}

#[test]
fn signal_restores_the_terminal() {
    for (how, code) in [("INT", 130), ("q", 130), ("TERM", 143)] {
        let lab = lab();
        let mut terminal = OnTerminal::start(&lab, &format!("{RUN} --runtime 100"), &[]);
        terminal.until("the view", |seen| seen.contains("in flight"));
        match how {
            "q" => terminal.press("q"),
            signal => terminal.signal(signal),
        }
        let (ended, seen) = terminal.end();
        assert_eq!(ended, code, "{how}: {seen:?}");
        is_restored(&seen);
        assert!(seen.contains("run stopped: "), "{seen:?}");
        // The result is whole.
        assert!(lab.path("r/records.parquet").exists() && lab.path("r/summary.json").exists());
    }
}

#[test]
fn second_signal_aborts_and_restores_the_terminal() {
    let lab = lab();
    // The load waits for input, so that the first signal cannot end it.
    let args = "replay - -t dev --engine null --size 1GiB --start-grace 0 -o r --live";
    let mut terminal = OnTerminal::without_reader(&lab, args, &[], Some(Stdio::piped()));
    terminal.read();
    let mut producer = terminal.child.stdin.take().expect("it is piped");
    producer.write_all(rows(&[("0", 8, 8, 'R'), ("0", 16, 8, 'R'), ("0", 24, 8, 'R')]).as_bytes()).unwrap();
    terminal.until("the view", |seen| seen.contains("in flight"));
    // Both signals are pending before the run can end.
    terminal.signal("INT");
    terminal.signal("TERM");
    let (code, seen) = terminal.end();
    drop(producer);
    // Whichever of the two is handled last: both may wait at the same time.
    assert!([130, 143].contains(&code), "{code}: {seen:?}");
    is_restored(&seen);
    // Messages under the view are repeated on the normal screen.
    let after = &seen[seen.rfind(LEAVE_SCREEN).unwrap()..];
    assert!(after.contains("stopping") && after.contains("aborted"), "{seen:?}");
}

#[test]
fn sigtstp_releases_the_terminal_until_resumed() {
    let lab = lab();
    let mut terminal = OnTerminal::start(&lab, &format!("{RUN} --runtime 100"), &[]);
    terminal.until("the view", |seen| seen.contains("in flight"));
    terminal.signal("TSTP");
    let stat = format!("/proc/{}/stat", terminal.child.id());
    until("the stop", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
    let seen = terminal.until("the screen before", |seen| seen.contains(LEAVE_SCREEN));
    is_restored(&seen);
    assert_eq!(tcgetattr(&terminal.slave).unwrap().local_modes, terminal.before.local_modes);
    terminal.signal("CONT");
    terminal.until("the view again", |seen| seen.matches(ENTER).count() == 2);
    terminal.until_view("all of it", |view| view.contains("in flight"));
    terminal.press("q");
    let (code, seen) = terminal.end();
    assert_eq!(code, 130);
    is_restored(&seen);
}

#[test]
fn panic_in_view_keeps_terminal_and_run() {
    slow!();
    if !cfg!(debug_assertions) {
        iosonar_testkit::skip("a_view_that_breaks", "only builds with debug assertions can be made to break");
        return;
    }
    let lab = lab();
    let terminal = OnTerminal::start(&lab, &format!("{RUN} --runtime 2"), &[("IOSONAR_BREAK_VIEW", "1")]);
    let (code, seen) = terminal.end();
    assert_eq!(code, 0, "{seen:?}");
    is_restored(&seen);
    // The panic message is readable afterwards.
    assert!(seen[seen.rfind(LEAVE_SCREEN).unwrap()..].contains("panicked"), "{seen:?}");
    assert_eq!(count(&summary(&lab, "r"), "all", "completed"), 4000);
}

/// A remote shell that stays here stands in for two hosts.
#[test]
fn hosts_have_a_row_each() {
    let lab = lab();
    lab.file("rsh.sh", "shift; exec sh -c \"$1\"\n");
    let word = |name: &str| format!("{name}:{}", lab.target(&format!("{name}.img"), 1 << 20).display());
    let (alpha, beta) = (word("alpha"), word("beta"));
    let words = format!(
        "run --on {alpha} {beta} --rw randread --bs 4k --rate-iops 300 --runtime 100 --time-based --live -o r"
    );
    let cache = lab.path("cache").display().to_string();
    let env = [("RSH", "sh rsh.sh"), ("XDG_CACHE_HOME", cache.as_str())];
    let mut terminal = OnTerminal::start(&lab, &words, &env);
    terminal.until_view("rows", |view| {
        view.contains("2 hosts") && view.contains("alpha") && view.contains("beta") && view.contains("q quit")
    });
    terminal.press("v");
    terminal.until("lines", |seen| seen.rsplit(LEAVE_SCREEN).next().unwrap().contains("  alpha | "));
    terminal.press("v");
    terminal.until("the view again", |seen| seen.matches(ENTER).count() == 2);
    terminal.press("q");
    let (code, seen) = terminal.end();
    assert_eq!(code, 130, "{seen:?}");
    is_restored(&seen);
    assert!(lab.path("r/records.parquet").exists());
}

#[test]
fn key_switches_between_line_and_view() {
    let lab = lab();
    let mut terminal = OnTerminal::start(&lab, &format!("{} --runtime 100", RUN.replace(" --live", "")), &[]);
    terminal.until("the line", |seen| seen.contains("IO/s"));
    assert!(!terminal.seen().contains(ENTER));
    terminal.press("v");
    terminal.until("the view", |seen| seen.contains(ENTER) && seen.contains("in flight"));
    terminal.press("v");
    let seen = terminal.until("the line", |seen| {
        seen.contains(LEAVE_SCREEN) && seen.rsplit(LEAVE_SCREEN).next().unwrap().contains("IO/s")
    });
    is_restored(&seen);
    terminal.press("v");
    terminal.until("the view again", |seen| seen.matches(ENTER).count() == 2);
    terminal.press("?");
    terminal.until_view("help", |view| view.contains("reads or writes alone"));
    terminal.press("?s");
    terminal.until_view("the picture", |view| view.contains("saved as r/live-"));
    let saved = std::fs::read_dir(lab.path("r")).unwrap().flatten().map(|e| e.path());
    let saved: Vec<PathBuf> = saved.filter(|p| p.extension().is_some_and(|e| e == "txt")).collect();
    assert_eq!(saved.len(), 1);
    let text = std::fs::read_to_string(&saved[0]).unwrap();
    let picture = std::fs::read(saved[0].with_extension("png")).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 1_000, "{} bytes", picture.len());
    assert!(text.contains("last 1 s") && !text.contains('\x1b') && text.lines().count() == 24, "{text}");
    // Too small for a view: the line; and the view again.
    size(&terminal.slave, 50, 12);
    let seen = terminal.until("the line", |seen| {
        seen.rsplit(LEAVE_SCREEN).next().unwrap().contains("IO/s") && seen.matches(LEAVE_SCREEN).count() == 2
    });
    let line = seen.rsplit("\x1b[K").next().unwrap();
    assert!(line.chars().count() < 50, "{line:?}");
    size(&terminal.slave, 120, 40);
    terminal.until("the larger view", |seen| seen.matches(ENTER).count() == 3 && seen.contains("\x1b[40;"));
    terminal.press("q");
    let (code, seen) = terminal.end();
    assert_eq!(code, 130);
    is_restored(&seen);
}

#[test]
fn writes_no_escape_codes_where_unsupported() {
    slow!();
    let lab = lab();
    // A dumb terminal.
    let args = format!("{RUN} --runtime 1 --progress-every 200ms");
    let (code, seen) = OnTerminal::start(&lab, &args, &[("TERM", "dumb")]).end();
    assert_eq!(code, 0, "{seen:?}");
    assert!(
        !seen.contains('\x1b') && seen.contains("--live needs a terminal") && seen.contains("IO/s"),
        "{seen:?}"
    );
    // A pipe.
    let ended = lab.expect(0, &args.replace("-o r", "-o r2"));
    assert!(!ended.err.contains('\x1b') && ended.err.contains("--live needs a terminal"), "{}", ended.err);
    // No colours: the cursor moves, but nothing selects a colour.
    for (env, is_coloured) in
        [(("NO_COLOR", "1"), false), (("NO_COLOR", ""), true), (("TERM", "vt100"), false)]
    {
        std::fs::remove_dir_all(lab.path("r")).unwrap();
        let (code, seen) = OnTerminal::start(&lab, &format!("{RUN} --runtime 1"), &[env]).end();
        assert_eq!(code, 0);
        is_restored(&seen);
        let codes = seen.split("\x1b[").skip(1).filter_map(|code| {
            code.split_once(|c: char| c.is_ascii_alphabetic()).map(|(n, _)| (n, code.as_bytes()[n.len()]))
        });
        let colours = codes.filter(|(numbers, end)| *end == b'm' && *numbers != "0").count();
        assert_eq!(colours > 0, is_coloured, "{env:?}: {seen:?}");
    }
    lab.expect(2, &format!("{RUN} --progress json"));
    lab.expect(2, &format!("{RUN} --no-progress"));
    assert!(lab.expect(2, "live r").err.contains("--once"));
}

#[test]
fn uses_ascii_without_unicode() {
    let lab = lab();
    let (_, seen) = OnTerminal::start(&lab, &format!("{RUN} --runtime 1"), &[("LANG", "C")]).end();
    assert!(seen.contains("in flight") && seen.is_ascii(), "{seen:?}");
}

#[test]
fn blocked_terminal_does_not_delay_the_run() {
    slow!();
    let lab = lab();
    for (name, args) in [("r", RUN.to_string()), ("r2", RUN.replace(" --live", "").replace("-o r", "-o r2"))]
    {
        let terminal = OnTerminal::without_reader(&lab, &format!("{args} --runtime 4"), &[], None);
        // Other output in the terminal is not read either: the terminal is full.
        let full = "x".repeat(1 << 16);
        let slave = terminal.slave.try_clone().unwrap();
        rustix::io::ioctl_fionbio(&slave, true).unwrap();
        let _ = (&slave).write_all(full.as_bytes());
        // The end is reached and the result is kept although not one character is taken.
        until("the end, whatever the terminal takes", || lab.path(&format!("{name}/summary.json")).exists());
        let s = summary(&lab, name);
        assert_eq!(count(&s, "all", "completed"), 8000);
        terminal.read();
        assert_eq!(terminal.end().0, 0);
    }
}

/// A run of 30 s of a simulated device that has a stall.
fn simulated(lab: &Lab) {
    lab.expect(0, "generate mixed web.load --duration 30s --rate 400 --seed 3");
    lab.expect(
        0,
        "replay web.load -t disk --engine sim --size 1GiB --depth 16 --sim-service 1ms --sim-jitter 4ms --sim-channels 8 --sim-stall 1500ms/12s \
         --no-progress -o sim",
    );
}

/// Asserts that the screen equals the golden file.
#[track_caller]
fn is_golden(name: &str, text: &str) {
    let path = fixture_path("live").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == golden, "{name} differs; if that is right, bless it with BLESS=1. Now it is:\n{text}");
}

#[test]
fn an_archive_is_shown_as_text() {
    let lab = lab();
    simulated(&lab);
    let at = |time: &str| lab.expect(0, &format!("live sim --once --size 80x24 {time}")).out;
    let (half, whole) = (at("--at 15s"), at(""));
    assert!(half.contains("00:15/00:30") && half.contains(" 49%"), "{half}");
    assert!(whole.contains("00:30/00:30") && whole.contains("100%"), "{whole}");
    for text in [&half, &whole] {
        assert!(text.lines().count() == 24 && text.lines().all(|l| l.chars().count() <= 80), "{text}");
    }
    for bad in ["50x24", "80", "80x", "x24", "80x9999"] {
        lab.expect(2, &format!("live sim --once --size {bad}"));
    }
    assert!(lab.expect(2, "live nowhere").err.contains("nowhere"));
    assert!(lab.expect(2, "live .").err.contains("no archive"));
    lab.expect(2, "live sim --once --speed 2");
}

#[test]
fn archive_playback_can_pause_seek_and_quit() {
    let lab = lab();
    simulated(&lab);
    let mut terminal = OnTerminal::start(&lab, "live sim --at 10s --speed 0.001", &[]);
    terminal.until_view("the tenth second", |view| view.contains("00:10/00:30"));
    // Twice a twentieth on, once back.
    terminal.press("p>\x1b[C<");
    terminal.until_view("a twentieth later", |view| view.contains("00:11/00:30") && view.contains("paused"));
    terminal.signal("INT");
    let (code, seen) = terminal.end();
    assert_eq!(code, 130);
    is_restored(&seen);
    // A result whose records are missing cannot be shown.
    std::fs::remove_file(lab.path("sim/records.parquet")).unwrap();
    assert!(lab.expect(2, "live sim --once").err.contains("records.log"));
}

/// `tmux` on a separate socket, ended on drop.
struct Tmux(String);

impl Tmux {
    /// None, and a line that says so, where there is no tmux.
    fn start(test: &str, name: &str) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            iosonar_testkit::skip(test, "tmux is not installed");
            return None;
        }
        Some(Tmux(format!("iosonar-test-{}-{name}", std::process::id())))
    }

    fn command(&self, args: &[&str]) -> String {
        let out = Command::new("tmux")
            .args(["-u", "-f", "/dev/null", "-L", &self.0])
            .args(args)
            .output()
            .expect("tmux");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.0, "kill-server"]).output();
    }
}

#[test]
fn real_terminal_shows_the_drawn_frame() {
    let lab = lab();
    simulated(&lab);
    let (dir, binary) = (lab.path(""), env!("CARGO_BIN_EXE_iosonar"));
    for (columns, rows) in [(60, 16), (80, 24), (120, 40)] {
        let name = columns.to_string();
        let Some(tmux) = Tmux::start("real_terminal_shows_the_drawn_frame", &name) else { return };
        let command = format!(
            "cd {}; env -u NO_COLOR -u COLORTERM -u LC_ALL TERM=screen-256color LANG=C.UTF-8 {binary} live sim --at 1h",
            dir.display()
        );
        let size = [columns.to_string(), rows.to_string()];
        // The shell stays, so that the final screen can be captured.
        tmux.command(&["new-session", "-d", "-x", &size[0], "-y", &size[1], "env PS1= sh"]);
        tmux.command(&["send-keys", &command, "Enter"]);
        let until = |what: &str, right: &dyn Fn(&str) -> bool| {
            let end = Instant::now() + PATIENCE;
            loop {
                let text = tmux.command(&["capture-pane", "-p"]);
                if right(&text) {
                    return text;
                }
                assert!(Instant::now() < end, "{what} was waited for in vain:\n{text}");
                std::thread::sleep(Duration::from_millis(50));
            }
        };
        let shown = until("the view", &|text| text.contains("100%") && text.contains("[q]uit"));
        assert!(shown.lines().all(|l| l.chars().count() <= columns));
        is_golden(&format!("{columns}x{rows}.txt"), &shown);
        tmux.command(&["send-keys", "q"]);
        let after = until("the shell", &|text| !text.contains("[q]uit"));
        assert!(after.contains("live sim --at 1h"), "{after}");
    }
}

#[test]
fn sigtstp_in_background_does_not_touch_the_terminal() {
    slow!();
    let Some(tmux) = Tmux::start("ctrl_z_in_the_background", "background") else { return };
    let lab = lab();
    let (dir, binary) = (lab.path(""), env!("CARGO_BIN_EXE_iosonar"));
    tmux.command(&["new-session", "-d", "-x", "100", "-y", "30", "env PS1= sh"]);
    // Not in one line with `cd`: the shell itself must stay, and the program be a separate job.
    for line in [format!("cd {}", dir.display()), format!("{binary} {RUN} --runtime 10 & echo $! > id")] {
        tmux.command(&["send-keys", &line, "Enter"]);
    }
    lab.until_logged("r", 1000);
    let id = std::fs::read_to_string(lab.path("id")).unwrap().trim().to_string();
    let signal = |name: &str| iosonar_testkit::signal(id.parse().unwrap(), name);
    signal("TSTP");
    let stat = format!("/proc/{id}/stat");
    until("the stop", || std::fs::read_to_string(&stat).unwrap().contains(") T "));
    // A background process that changes the terminal's modes is stopped each time.
    signal("CONT");
    until("the end", || lab.path("r/summary.json").exists());
}

/// A program that is ended when a test fails.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn live_follows_an_unfinished_run() {
    slow!();
    let lab = lab();
    let args = RUN.replace(" --live", " --no-progress") + " --runtime 100";
    let mut run = Ended(lab.command(&args).spawn().unwrap());
    lab.until_logged("r", 1000);
    let once = lab.expect(0, "live r --once").out;
    assert!(once.contains("unfinished") && once.contains("in flight  -"), "{once}");
    let mut terminal = OnTerminal::start(&lab, "live r", &[]);
    terminal.until("a first time", |seen| seen.contains("00:0") && seen.contains("in flight"));
    // Its clock advances: it is the run's.
    terminal
        .until_view("a later time", |view| (4..60).any(|second| view.contains(&format!("00:{second:02}"))));
    // The selection stays while new records arrive, several times within a second.
    let later = Duration::from_secs(1);
    terminal.press("-w");
    std::thread::sleep(later);
    terminal.until_view("a filter and a window", |view| {
        view.contains("writes alone") && view.contains("1 column = 100 s")
    });
    terminal.press("?");
    std::thread::sleep(later);
    terminal.until_view("help", |view| view.contains("reads or writes alone"));
    terminal.press("?w+");
    std::thread::sleep(later);
    // All of the time again, as at first.
    terminal.until_view("neither", |view| {
        let is_whole = ["└0.0s", "└00:00"].iter().any(|begin| view.contains(begin));
        is_whole && !view.contains("alone") && !view.contains("100 s─")
    });
    iosonar_testkit::signal(run.0.id(), "INT");
    terminal.until_view("the end", |view| view.contains("the run is over"));
    run.0.wait().unwrap();
    terminal.press("q");
    let (code, seen) = terminal.end();
    assert_eq!(code, 0);
    is_restored(&seen);
}

#[test]
fn long_reads_show_progress() {
    let lab = lab();
    lab.expect(0, "run -t dev --engine sim --size 1GiB --rw randread --number-ios 300000 --no-progress -o r");
    let (code, seen) = OnTerminal::start(&lab, "analyze r", &[]).end();
    // The run may end before there is anything to report.
    assert!(
        code == 0 && seen.rsplit('\r').next().unwrap().trim_start_matches("\x1b[K").is_empty(),
        "{seen:?}"
    );
    let piped = lab.expect(0, "analyze r --progress json --progress-every 50ms");
    assert!(!piped.err.contains('\x1b'));
    let (code, seen) = OnTerminal::start(&lab, "plot r --no-progress", &[]).end();
    assert_eq!((code, seen.as_str()), (0, ""));
}
