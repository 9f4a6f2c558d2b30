//! A participating process, with orders and reports through pipes.

use iosonar_cluster::protocol::{Order, Report, hear, say};
use iosonar_cluster::{Coordinator, take_part};
use iosonar_engine::Control;
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
            take_part(Coordinator::Here, from, to, control, |_| Vec::new(), |_, _| {})
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
