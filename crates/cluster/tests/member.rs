//! A participating process, with orders and reports through pipes.

use iosonar_cluster::protocol::{InputFile, Order, Report, hear, say};
use iosonar_cluster::{Answered, Coordinator, NoAnswer, take_part};
use iosonar_engine::Control;
use iosonar_plan::Plan;
use iosonar_runner::Session;
use serde_json::{Value, json};
use std::io::{self, BufReader, PipeReader, PipeWriter, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A participating process, as a thread of this one.
struct Member {
    orders: PipeWriter,
    reports: BufReader<PipeReader>,
    thread: JoinHandle<io::Result<()>>,
    /// Directory of its records.
    scratch: PathBuf,
    /// Files it sent.
    files: Vec<String>,
}

impl Member {
    fn start() -> Member {
        let (from, orders) = io::pipe().unwrap();
        let (reports, to) = io::pipe().unwrap();
        let part = move || {
            let control = Arc::new(Control::default());
            take_part(Coordinator::Here, from, to, control, |_, _| {}, write_as_asked)
        };
        let thread = std::thread::spawn(part);
        Member {
            orders,
            reports: BufReader::new(reports),
            thread,
            scratch: PathBuf::new(),
            files: Vec::new(),
        }
    }

    fn order(&mut self, order: &Order) {
        say(&mut self.orders, order).unwrap();
    }

    /// Reads reports until `wanted` recognises one; files of the archive are skipped.
    #[track_caller]
    fn until<T>(&mut self, wanted: impl Fn(Report) -> Option<T>) -> T {
        loop {
            let report =
                hear::<Report>(&mut self.reports).unwrap().expect("it ends after what is waited for");
            match &report {
                Report::File { name, bytes } => {
                    io::copy(&mut self.reports.by_ref().take(*bytes), &mut io::sink()).unwrap();
                    self.files.push(name.clone());
                }
                Report::Scratch { dir } => self.scratch = dir.clone(),
                _ => {}
            }
            let refused = matches!(report, Report::Refused { .. }).then(|| format!("{report:?}"));
            if let Some(found) = wanted(report) {
                return found;
            }
            assert_eq!(refused, None);
        }
    }

    /// Makes it execute a plan of one phase on one target, up to its last report.
    fn run(&mut self, plan: &str, archive: Option<&Path>) -> Report {
        let plan = plan.to_string();
        self.order(&prepare(plan));
        self.until(|report| matches!(report, Report::Prepared { .. }).then_some(()));
        self.order(&Order::Run {
            archive: archive.map(Path::to_path_buf),
            on_hosts: false,
            keeps_records: false,
        });
        let earliest = self.until(|report| match report {
            Report::Ready { phase: 0, earliest } => Some(earliest),
            _ => None,
        });
        self.order(&Order::Begin { phase: 0, at: earliest });
        self.until(|report| matches!(report, Report::Ended { .. }).then_some(()));
        self.order(&Order::Next { phase: 0, goes_on: true });
        self.until(|report| matches!(report, Report::Done { .. } | Report::Refused { .. }).then_some(report))
    }
}

/// A verb: executes the plan of the question, with the result in its directory, and says how many files came with it.
fn write_as_asked(session: &Session, question: &Value, folder: Option<&Path>) -> Result<Answered, NoAnswer> {
    let word = |name: &str| question[name].as_str().unwrap().to_string();
    let plan = Plan::from_toml(&word("plan")).unwrap();
    let files = folder.map_or(0, |folder| std::fs::read_dir(folder).unwrap().count());
    let none = |why: String| NoAnswer { why, code: 2 };
    let done = session.run(plan, Path::new(&word("out"))).map_err(|error| none(error.to_string()))?;
    let lines = vec![format!("{:?}", done.info.state)];
    Ok(Answered { lines, json: files.into(), code: 0 })
}

fn ask(folder: &Path) -> Order {
    let question = json!({ "plan": write_new_file(folder), "out": folder.join("out") });
    Order::Ask { question, dir: None, command: "a test".into(), shows_progress: false }
}

fn prepare(plan: String) -> Order {
    Order::Prepare { plan, targets: vec![0], dir: None, command: "a test".into(), inputs: Vec::new() }
}

/// Plan: replays this load on a file in `folder`.
fn replay(folder: &Path, load: &str) -> String {
    let (target, file) = (folder.join("target"), folder.join("a.load"));
    std::fs::File::create(&target).unwrap().set_len(1 << 20).unwrap();
    std::fs::write(&file, load).unwrap();
    format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\nengine = {{ kind = \"sync\" }}\naccess = {{ buffered = true }}\n\
         [[target]]\npath = {target:?}\n\
         workload = {{ kind = \"trace\", file = {file:?}, skip_bad = true }}\n"
    )
}

/// Plan: a generated workload that creates, preallocates and writes a file in `folder`.
fn write_new_file(folder: &Path) -> String {
    let target = folder.join("new");
    format!(
        "version = 2\nrun_id = 1\nseed = 1\ndepth = 1\nengine = {{ kind = \"sync\" }}\naccess = {{ buffered = true }}\n\
         [[target]]\npath = {target:?}\nsize = \"1MiB\"\nfile = {{ create = true, preallocate = \"64KiB\" }}\n\
         workload = {{ kind = \"generated\", order = \"sequential\", block_size = \"4KiB\", read_percent = 0, \
         pace = {{ kind = \"closed\" }}, at_end = \"extend\", stop = {{ requests = 10 }} }}\n"
    )
}

const LOAD: &str = "0.0 ; 0 ; 8 ; R ; 0.0 ; 0.0\n0.001 ; 8 ; 8 ; R ; 0.0 ; 0.0\n";

#[test]
fn lines_that_were_skipped_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    for (odd, expected) in [("", 0), ("0.002 ; 16 ; 0 ; R ; 0.0 ; 0.0\n", 1)] {
        let plan = replay(folder.path(), &format!("{LOAD}{odd}"));
        let mut member = Member::start();
        let done = member.run(&plan, Some(&folder.path().join(expected.to_string())));
        assert!(matches!(done, Report::Done { skipped, .. } if skipped == expected), "{done:?}");
        drop(member.orders);
        member.thread.join().unwrap().unwrap();
    }
}

/// Orders are read from the start: a long load is aborted, and created files are removed.
#[test]
fn stop_during_preparation_removes_created_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut member = Member::start();
    let plan = replay(folder.path(), &"0.0 ; 0 ; 8 ; R ; 0.0 ; 0.0\n".repeat(2_000_000));
    member.order(&prepare(plan));
    member.order(&Order::Stop { signal: 2 });
    let refused = "the run was stopped before it started";
    let answer = |report| match report {
        Report::Refused { why } => Some(why),
        Report::Prepared { .. } => Some("it has prepared all of it".into()),
        _ => None,
    };
    assert_eq!(member.until(answer), refused);
    member.thread.join().unwrap().unwrap();

    for is_stopped in [true, false] {
        let mut member = Member::start();
        member.order(&prepare(write_new_file(folder.path())));
        member.until(|report| matches!(report, Report::Prepared { .. }).then_some(()));
        assert!(folder.path().join("new").exists());
        if is_stopped {
            member.order(&Order::Stop { signal: 2 });
        }
        // The same if the coordinator is gone.
        drop(member.orders);
        member.thread.join().unwrap().unwrap();
        assert!(!folder.path().join("new").exists());
    }
}

/// A broken connection loses no record: they are removed when the coordinator has confirmed them.
#[test]
fn keeps_sent_records_until_receipt_is_confirmed() {
    let folder = tempfile::tempdir().unwrap();
    for is_received in [true, false] {
        let mut member = Member::start();
        let done = member.run(&replay(folder.path(), LOAD), None);
        assert!(matches!(done, Report::Done { .. }), "{done:?}");
        // Without the other files, partial records would be unreadable.
        assert_eq!(member.files.last().unwrap(), "records.log");
        assert!(member.files.iter().any(|name| name == "run.json") && member.scratch.exists());
        if is_received {
            member.order(&Order::Received);
        }
        drop(member.orders);
        member.thread.join().unwrap().unwrap();
        assert_eq!(member.scratch.exists(), !is_received);
        if !is_received {
            std::fs::remove_dir_all(member.scratch).unwrap();
        }
    }
}

#[test]
fn an_asked_process_changes_its_target_only_when_it_may() {
    let folder = tempfile::tempdir().unwrap();
    for ending in ["cut off", "stopped", "a broken message", "go"] {
        let mut member = Member::start();
        member.order(&ask(folder.path()));
        member.until(|report| (report == Report::Poised).then_some(()));
        let file = folder.path().join("new");
        assert_eq!(file.metadata().unwrap().len(), 0, "{ending}");
        match ending {
            "go" => member.order(&Order::Go),
            "stopped" => member.order(&Order::Stop { signal: 2 }),
            "a broken message" => io::Write::write_all(&mut member.orders, b"\"g").unwrap(),
            _ => {}
        }
        if ending == "go" {
            let answered = member.until(|report| match report {
                Report::Answered(answered) => Some(answered),
                _ => None,
            });
            assert_eq!((answered.code, answered.json), (0, json!(0)));
            assert_eq!(file.metadata().unwrap().len(), 10 * 4096);
            continue;
        }
        drop(member.orders);
        member.thread.join().unwrap().unwrap();
        assert!(!file.exists() && !folder.path().join("out").exists(), "{ending}");
    }
}

#[test]
fn files_of_a_question_are_removed_with_its_answer() {
    let folder = tempfile::tempdir().unwrap();
    let count = || {
        let entries = std::fs::read_dir(std::env::temp_dir()).unwrap().flatten();
        let own = format!("question-{}-", std::process::id());
        entries.filter(|entry| entry.file_name().to_string_lossy().contains(&own)).count()
    };
    // SHA-256 of "abc".
    let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    for is_whole in [true, false] {
        let mut member = Member::start();
        member.order(&Order::Gather);
        let input = InputFile { path: "/elsewhere/plan.toml".into(), hash: hash.into(), bytes: 3 };
        member.order(&Order::Input { input });
        let sent = if is_whole { b"abc" } else { b"abd" };
        io::Write::write_all(&mut member.orders, sent).unwrap();
        member.order(&ask(folder.path()));
        match is_whole {
            true => {
                member.until(|report| (report == Report::Poised).then_some(()));
                assert_eq!(count(), 1);
            }
            false => {
                let (why, code) = member.until(|report| match report {
                    Report::Failed { why, code } => Some((why, code)),
                    _ => None,
                });
                assert!(code == 2 && why.contains("/elsewhere/plan.toml cannot be stored there"), "{why}");
            }
        }
        drop(member.orders);
        member.thread.join().unwrap().unwrap();
        assert_eq!(count(), 0);
    }
}
