//! Recordings of the real tools, compared with the tools' own counts: see `fixtures/README.md` for the origin of each file.

use iosonar_trace::fio::FioLog;
use iosonar_trace::kernel::blkparse::Blkparse;
use iosonar_trace::kernel::blktrace::Blktrace;
use iosonar_trace::kernel::ftrace::Ftrace;
use iosonar_trace::kernel::ring::{Forms, Pages};
use iosonar_trace::kernel::{Action, Counts, Event, Events, Merged};
use iosonar_trace::{Entry, Format, Kind, Requests, decompress};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, Read};
use std::path::PathBuf;

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn text(name: &str) -> Box<dyn BufRead + Send> {
    decompress(File::open(path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))).unwrap()
}

/// The tool's own counts of a file.
fn counted(name: &str) -> Value {
    let all: Value = serde_json::from_reader(File::open(path("counts.json")).unwrap()).unwrap();
    all[name]["counts"].clone()
}

fn recognised(name: &str) -> Option<Format> {
    let mut head = Vec::new();
    text(name).take(1 << 16).read_to_end(&mut head).unwrap();
    Format::recognise(&head)
}

fn all(mut events: impl Events) -> Vec<Event> {
    let mut all = Vec::new();
    while let Some(entry) = events.next().unwrap() {
        match entry {
            Entry::One(event) => all.push(*event),
            Entry::Bad(bad) => panic!("{bad}"),
        }
    }
    all
}

/// Counts of events by action, as blkparse adds them up.
fn by_action(events: &[Event]) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for event in events {
        *counts.entry(event.action.name()).or_default() += 1;
    }
    counts
}

/// blkparse's counts by letter, by our names.
fn expected(name: &str) -> BTreeMap<&'static str, u64> {
    let counts = counted(name);
    let mut sums = BTreeMap::new();
    for (letter, count) in counts["actions"].as_object().unwrap_or_else(|| panic!("{name}: {counts}")) {
        let action = match letter.as_bytes() {
            [one] => Action::of_letter(*one),
            _ => Action::Other,
        };
        *sums.entry(action.name()).or_default() += count.as_u64().unwrap();
    }
    // Messages are not events of requests.
    let messages = counts["actions"]["m"].as_u64().unwrap_or(0);
    if let Some(others) = sums.get_mut(Action::Other.name()) {
        *others -= messages;
    }
    sums
}

fn blktrace(names: &[&str]) -> Vec<Event> {
    all(Merged::new(names.iter().map(|name| Blktrace::new(text(name)))))
}

#[test]
fn blktrace_files_match_blkparse_counts() {
    let little = blktrace(&["blktrace/mixed.blktrace.0", "blktrace/mixed.blktrace.1"]);
    assert_eq!(by_action(&little), expected("blktrace/mixed.blktrace.{0,1}"));
    let big = blktrace(&["blktrace/mixed-be.blktrace.0.gz", "blktrace/mixed-be.blktrace.1.gz"]);
    assert_eq!(big, little);
    let joined = blktrace(&["blktrace/mixed.bin.gz"]);
    assert_eq!(by_action(&joined), by_action(&little));
    let groups = blktrace(&["blktrace/cgroup.blktrace.0", "blktrace/cgroup.blktrace.1"]);
    assert_eq!(by_action(&groups), expected("blktrace/cgroup.blktrace.{0,1}"));
    assert!(matches!(recognised("blktrace/mixed-be.blktrace.0.gz"), Some(Format::Blktrace)));
}

#[test]
fn process_names_apply_on_every_cpu() {
    let events = blktrace(&["blktrace/mixed.blktrace.0", "blktrace/mixed.blktrace.1"]);
    let asked = |events: &[Event]| {
        events
            .iter()
            .filter(|e| e.action == Action::Queue)
            .map(|e| e.process.name().into_owned())
            .collect::<Vec<_>>()
    };
    let by = |names: &[String], name: &str| names.iter().filter(|n| *n == name).count();
    let names = asked(&events);
    assert_eq!(by(&names, ""), 0);
    // Named once, on one of two CPUs, and active on both.
    let told = asked(&blkparse("blktrace/mixed.blkparse.gz"));
    assert!(by(&told, "jbd2/sda1-8") > 50);
    assert_eq!(by(&names, "jbd2/sda1-8"), by(&told, "jbd2/sda1-8"));
}

fn blkparse(name: &str) -> Vec<Event> {
    let Some(Format::Blkparse(form)) = recognised(name) else { panic!("{name} is not recognised") };
    all(Blkparse::new(text(name), form))
}

/// Content that both the binary files and the texts have.
fn common(events: &[Event]) -> Vec<(u64, Action, u64, u64)> {
    let origin = events.iter().find(|e| e.action != Action::Other).unwrap().time.0;
    let told = events.iter().filter(|e| !matches!(e.action, Action::Other | Action::Remap | Action::Split));
    // A completion without length ends a flush or a command, and the texts do not distinguish them.
    let told = told
        .filter(|e| e.bytes > 0 || e.action != Action::Complete && e.rwbs.of_length(0).kind == Kind::Flush);
    let mut all: Vec<_> = told.map(|e| (e.time.0 - origin, e.action, e.sector, e.bytes)).collect();
    all.sort_unstable();
    all
}

#[test]
fn blkparse_text_matches_binary_files() {
    let mut binary = blktrace(&["blktrace/mixed.blktrace.0", "blktrace/mixed.blktrace.1"]);
    // Driver commands have no place in the texts.
    let told = |e: &Event| e.rwbs.kind != iosonar_trace::Kind::Other;
    for name in ["blktrace/mixed.blkparse.gz", "blktrace/mixed-plain.blkparse.gz"] {
        let events = blkparse(name);
        let messages = counted(name)["actions"]["m"].as_u64().unwrap_or(0);
        let mut counts = by_action(&events);
        *counts.get_mut("other").unwrap() -= messages;
        assert_eq!(counts, expected(name), "{name}");
    }
    binary.retain(told);
    for name in [
        "blktrace/mixed.blkparse.gz",
        "blktrace/mixed.tracked.gz",
        "blktrace/mixed.default.gz",
        "blktrace/mixed.times.gz",
    ] {
        let mut events = blkparse(name);
        events.retain(told);
        let (found, wanted) = (common(&events), common(&binary));
        let first = found.iter().zip(&wanted).find(|(a, b)| a != b);
        assert!(
            first.is_none() && found.len() == wanted.len(),
            "{name}: {first:?}, {} {}",
            found.len(),
            wanted.len()
        );
        // Names change on exec, and the text and the file record that at different times.
        let asked = |events: &[Event]| -> Vec<u32> {
            let asked = events.iter().filter(|e| e.action == Action::Queue && e.bytes > 0);
            asked.map(|e| e.process.pid).collect()
        };
        assert!(events.iter().any(|e| e.process.to_string().starts_with("fio-")), "{name}");
        assert_eq!(asked(&events), asked(&binary), "{name}");
    }
    // Without times, lines cannot be requests.
    assert_eq!(recognised("blktrace/mixed.bytes.gz"), None);
}

#[test]
fn tracefs_and_perf_text_matches_their_counts() {
    for name in [
        "tracefs/mixed.trace.gz",
        "tracefs/mixed.tgid.trace.gz",
        "tracefs/mixed.latency.trace.gz",
        "tracefs/mixed.irq.trace.gz",
        "tracefs/unnamed.trace.gz",
        "tracefs/unnamed.pipe.gz",
        "tracefs/lost.trace.gz",
        "tracefs/lost-pipe.pipe.gz",
        "perf/mixed.script.gz",
        "perf/mixed.fields.script.gz",
        "perf/mixed.header.script.gz",
    ] {
        assert!(matches!(recognised(name), Some(Format::Ftrace)), "{name}");
        let counts = counted(name);
        let mut reader = Ftrace::new(text(name));
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        let mut last = 0;
        while let Some(entry) = reader.next().unwrap() {
            let Entry::One(event) = entry else { panic!("{name}: {entry:?}") };
            *found.entry(event.action.name()).or_default() += 1;
            assert!(event.time.0 > 0 || last == 0, "{name}");
            last = event.time.0;
        }
        let mut wanted: BTreeMap<&str, u64> = BTreeMap::new();
        for (event, count) in counts["events"].as_object().unwrap() {
            let action = match event.as_str() {
                "block_bio_queue" => Action::Queue,
                "block_getrq" => Action::GetRequest,
                "block_rq_insert" => Action::Insert,
                "block_rq_issue" => Action::Issue,
                "block_rq_complete" => Action::Complete,
                "block_bio_backmerge" | "block_bio_frontmerge" | "block_rq_merge" => Action::Merge,
                "block_split" => Action::Split,
                "block_bio_remap" => Action::Remap,
                other => panic!("{other}"),
            };
            *wanted.entry(action.name()).or_default() += count.as_u64().unwrap();
        }
        assert_eq!(found, wanted, "{name}");
        assert_eq!(reader.lost(), counts["lost"].as_u64().unwrap(), "{name}");
        assert_eq!(reader.others(), 0, "{name}");
    }
    assert_eq!(recognised("tracefs/mixed.context.trace.gz"), None);
}

/// Counts of events by action, from `count`.
fn at_a_glance(mut events: impl Events) -> BTreeMap<&'static str, u64> {
    let mut counts = Counts::default();
    events.count(&mut counts);
    let met = Action::ALL.iter().zip(counts).filter(|(_, count)| *count > 0);
    met.map(|(action, count)| (action.name(), count)).collect()
}

#[test]
fn counting_alone_finds_all_events() {
    for names in [
        ["blktrace/mixed.blktrace.0", "blktrace/mixed.blktrace.1"],
        ["blktrace/mixed-be.blktrace.0.gz", "blktrace/mixed-be.blktrace.1.gz"],
        ["blktrace/cgroup.blktrace.0", "blktrace/cgroup.blktrace.1"],
    ] {
        let files = || Merged::new(names.iter().map(|name| Blktrace::new(text(name))));
        assert_eq!(at_a_glance(files()), by_action(&all(files())), "{names:?}");
    }
    for name in
        ["blktrace/mixed.blkparse.gz", "blktrace/mixed-plain.blkparse.gz", "blktrace/mixed.tracked.gz"]
    {
        let Some(Format::Blkparse(form)) = recognised(name) else { panic!("{name} is not recognised") };
        assert_eq!(at_a_glance(Blkparse::new(text(name), form)), by_action(&blkparse(name)), "{name}");
    }
    for name in [
        "tracefs/mixed.trace.gz",
        "tracefs/mixed.latency.trace.gz",
        "tracefs/mixed.irq.trace.gz",
        "tracefs/unnamed.pipe.gz",
        "tracefs/lost.trace.gz",
        "perf/mixed.script.gz",
        "perf/mixed.fields.script.gz",
    ] {
        let read = by_action(&all(Ftrace::new(text(name))));
        assert_eq!(at_a_glance(Ftrace::new(text(name))), read, "{name}");
    }
}

#[test]
fn fio_logs_match_fio_counts() {
    for name in ["files.v3.log", "sizes.v3.log", "times.v3.log", "trims.v3.log", "waits.v2.log"] {
        let name = format!("fio/{name}");
        let counts = counted(&name);
        let mut log = FioLog::new(text(&name));
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        let mut bytes = BTreeMap::from([(Kind::Read, 0), (Kind::Write, 0)]);
        let mut times = Vec::new();
        while let Some(entry) = log.next().unwrap() {
            let Entry::One(request) = entry else { panic!("{name}: {entry:?}") };
            *found.entry(request.kind.name()).or_default() += 1;
            *bytes.entry(request.kind).or_default() += request.extent.length;
            times.push(request.time.0);
        }
        let told = |operation: &str| counts["operations"][operation].as_u64().unwrap_or(0);
        for (kind, wanted) in [
            (Kind::Read, told("read")),
            (Kind::Write, told("write")),
            (Kind::Discard, told("trim")),
            (Kind::Flush, told("sync") + told("datasync")),
        ] {
            assert_eq!(found.get(kind.name()).copied().unwrap_or(0), wanted, "{name}: {}", kind.name());
        }
        let fio = &counts["fio"];
        for (kind, word) in [(Kind::Read, "read"), (Kind::Write, "write")] {
            assert_eq!(
                found.get(kind.name()).copied().unwrap_or(0),
                fio[word]["total_ios"].as_u64().unwrap(),
                "{name}"
            );
            assert_eq!(bytes[&kind], fio[word]["io_bytes"].as_u64().unwrap(), "{name}");
        }
        assert!(times.is_sorted(), "{name}");
        // Its replay took about as long as the log says, so the unit is right; fio counts waits from its own start.
        if name.contains("waits") || name.contains("times") {
            let span_ms =
                (times[times.len() - 1] - if name.contains("times") { times[0] } else { 0 }) / 1_000_000;
            let took = fio["job_runtime_ms"].as_u64().unwrap();
            assert!(2 * took > span_ms && took < 2 * span_ms, "{name}: {took} ms for {span_ms} ms");
        }
    }
}

/// Formats of the kernel that wrote the pages.
fn forms() -> Forms {
    let read = |name: &str| std::fs::read_to_string(path(&format!("tracefs/format/{name}"))).unwrap();
    let names = [
        "block_bio_backmerge",
        "block_bio_frontmerge",
        "block_bio_queue",
        "block_bio_remap",
        "block_getrq",
        "block_rq_complete",
        "block_rq_insert",
        "block_rq_issue",
        "block_split",
    ];
    Forms::parse(&read("header_page"), names.map(|name| (name, read(name)))).unwrap()
}

/// Events of pages, number of lost events as far as reported, and number of such reports.
fn pages(name: &str) -> (Vec<Event>, u64, u64) {
    let (forms, mut bytes) = (forms(), Vec::new());
    text(name).read_to_end(&mut bytes).unwrap();
    let (mut events, mut lost, mut times) = (Vec::new(), 0, 0);
    let mut decoder = Pages::new(&forms);
    for page in bytes.chunks(4096) {
        let facts = decoder.decode(page, &mut |event| events.push(event));
        assert_eq!((facts.bad, facts.others), (None, 0), "{name}");
        if let Some(number) = facts.lost {
            lost += number.unwrap_or(0);
            times += 1;
        }
    }
    (events, lost, times)
}

#[test]
fn ring_buffer_pages_match_kernel_text() {
    for cpu in 0..2 {
        let printed = all(Ftrace::new(text(&format!("tracefs/mixed.cpu{cpu}.trace.gz"))));
        let (read, lost, _) = pages(&format!("tracefs/mixed.cpu{cpu}.raw.gz"));
        assert_eq!((read.len(), lost), (printed.len(), 0));
        for (read, printed) in read.iter().zip(&printed) {
            assert!(read.time.0.abs_diff(printed.time.0) <= 1000, "{read:?} {printed:?}");
            // Texts of remaps are read only up to the device.
            let has_place = !matches!(read.action, Action::Remap | Action::Split);
            assert_eq!((read.action, read.device, read.rwbs), (printed.action, printed.device, printed.rwbs));
            assert!(
                !has_place
                    || (read.sector, read.bytes, read.error)
                        == (printed.sector, printed.bytes, printed.error)
            );
            assert_eq!(read.process.pid, printed.process.pid);
        }
        let stats = counted(&format!("tracefs/lost.cpu{cpu}.raw.gz"));
        let (kept, _, times) = pages(&format!("tracefs/lost.cpu{cpu}.raw.gz"));
        assert_eq!(kept.len() as u64, stats["stats"]["entries"].as_u64().unwrap());
        assert!(times > 0, "the pages say that events were lost");
    }
}
