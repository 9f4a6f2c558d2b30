//! `live --http`: what clients get over real connections to loopback, of a finished result and of a run that is running.

use crate::live::Running;
use crate::*;
use iosonar_testkit::{signal, until};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

/// A finished run of 10 s with 1000 requests each second.
const FINISHED: &str = "run --rw randread --rate-iops 1000 --runtime 10 -o r";
const RUNNING: &str = "run -t dev --engine null --size 1GiB --rw randrw --rate-iops 2000 --iodepth 4 --progress json \
                       --progress-every 50ms -o r";

/// A server, which is ended when a test fails.
struct Serving {
    child: Child,
    /// Address, and path of the first page.
    address: String,
    path: String,
}

impl Serving {
    #[track_caller]
    fn start(lab: &Lab, args: &str) -> Serving {
        let mut child = lab.command(args).stdin(Stdio::null()).spawn().expect("the binary starts");
        let mut link = String::new();
        let out = child.stdout.as_mut().expect("it is piped");
        BufReader::new(out).read_line(&mut link).expect("standard output can be read");
        let rest = link.trim_end().strip_prefix("http://").unwrap_or_else(|| panic!("no link: {link:?}"));
        let (address, path) = rest.split_once('/').expect("a path");
        Serving { child, address: address.into(), path: format!("/{path}") }
    }

    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    /// Status and body of the answer to a request.
    fn answer(&self, request: &str) -> (u16, String) {
        let mut answer = String::new();
        self.send(request).read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        (head.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status"), body.into())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.answer(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address))
    }

    #[track_caller]
    fn document(&self, name: &str) -> String {
        let (status, body) = self.get(&format!("{}{name}", self.path));
        assert_eq!(status, 200, "{name}: {body}");
        body
    }

    #[track_caller]
    fn state(&self) -> Value {
        serde_json::from_str(&self.document("state")).expect("the state is JSON")
    }

    /// The data of the report page.
    #[track_caller]
    fn run_of_page(&self) -> Value {
        let page = self.document("page");
        assert!(page.contains("<div id=\"iosonar-end\" hidden></div>"), "it is cut off");
        report::meta(&page)["runs"][0].clone()
    }

    #[track_caller]
    fn end(mut self) {
        signal(self.child.id(), "INT");
        let status = self.child.wait().expect("it ends");
        assert_eq!(status.code(), Some(130));
        assert!(TcpStream::connect(&self.address).is_err(), "it still listens");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn with_finished() -> Lab {
    let lab = lab();
    lab.expect(0, &format!("{FINISHED} {SIM}"));
    lab
}

#[test]
fn finished_result_is_one_page() {
    let lab = with_finished();
    let serving = Serving::start(&lab, "live r --http 0");
    assert!(serving.address.starts_with("127.0.0.1:"), "{}", serving.address);
    let first = serving.document("");
    assert!(first.contains("<script src=\"live.js\"></script>") && first.contains("<b>r</b>"), "{first}");
    assert!(serving.document("live.js").contains("state"));
    let state = serving.state();
    assert_eq!(
        (&state["version"], &state["is_growing"], &state["from_ns"]),
        (&1.into(), &false.into(), &0.into())
    );
    assert_eq!(state["requests"], count(&summary(&lab, "r"), "all", "total"));
    assert_eq!(state["requests"], state["all_requests"]);
    let run = serving.run_of_page();
    assert_eq!(run["completed"], count(&summary(&lab, "r"), "all", "completed"));
    // Nothing of the run changes: the same page again.
    assert_eq!(serving.state(), state);
    assert_eq!(serving.run_of_page(), run);
    serving.end();
}

#[test]
fn window_is_the_last_part_of_the_run() {
    let lab = with_finished();
    let serving = Serving::start(&lab, "live r --http 127.0.0.1:0 --window 2s");
    let state = serving.state();
    let (from, to) = (state["from_ns"].as_u64().unwrap(), state["to_ns"].as_u64().unwrap());
    assert_eq!(to - from, 2 * S);
    let ends: Vec<u64> = lab.records("r").iter().map(|r| r.completed.expect("it completed").0).collect();
    assert_eq!(Some(&to), ends.iter().max());
    let expected = ends.iter().filter(|end| **end >= from).count();
    assert!(expected > 0 && expected < ends.len());
    assert_eq!((&state["requests"], &state["all_requests"]), (&expected.into(), &ends.len().into()));
    let run = serving.run_of_page();
    assert_eq!((&run["completed"], &run["detail"]["embedded"]), (&expected.into(), &expected.into()));
    serving.end();
}

#[test]
fn only_the_link_leads_to_the_result() {
    let lab = with_finished();
    let serving = Serving::start(&lab, "live r --http 0");
    let (path, other) = (serving.path.clone(), serving.path.replace(|c: char| c.is_ascii_hexdigit(), "0"));
    for wrong in ["/", "/state", "/page", "/r/run.json", &format!("{other}page"), &format!("{path}run.json")]
    {
        assert_eq!(serving.get(wrong).0, 404, "{wrong}");
    }
    assert_eq!(serving.answer(&format!("GET {path}page HTTP/1.1\r\nHost: evil.example\r\n\r\n")).0, 421);
    for method in ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"] {
        assert_eq!(
            serving.answer(&format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\n\r\n")).0,
            405,
            "{method}"
        );
    }
    let again = Serving::start(&lab, "live r --http 0");
    assert_ne!(again.path, path, "each server has a token of its own");
    assert_eq!(again.get(&path).0, 404);
}

#[test]
fn address_that_others_reach_needs_a_word() {
    let lab = with_finished();
    let refused = lab.expect(2, "live r --http 0.0.0.0:0");
    assert!(refused.err.contains("--http-remote") && refused.out.is_empty(), "{}", refused.err);
    let mut serving = Serving::start(&lab, "live r --http 0.0.0.0:0 --http-remote");
    let mut warning = String::new();
    BufReader::new(serving.child.stderr.as_mut().unwrap()).read_line(&mut warning).unwrap();
    assert!(warning.contains("warning") && warning.contains("not encrypted"), "{warning}");
    drop(serving);
    for args in [
        "live r --http-remote",
        "live r --window 5s",
        "live r --http 0 --once",
        "live r --http 0 --window 0s",
        "live r --http example.org:80",
        "live none --http 0",
    ] {
        lab.expect(2, args);
    }
    // The port is in use.
    let serving = Serving::start(&lab, "live r --http 0");
    let refused = lab.expect(2, &format!("live r --http {}", serving.address));
    assert!(refused.err.contains("cannot listen on"), "{}", refused.err);
}

#[test]
fn page_follows_a_running_run_and_costs_it_nothing_when_clients_stall() {
    slow!();
    let lab = lab();
    let mut running = Running::of(lab.command(RUNNING).stdin(Stdio::null()));
    running.until_records();
    let serving = Serving::start(&lab, "live r --http 0");
    let first = serving.state();
    assert_eq!(first["is_growing"], true);
    let before = serving.run_of_page();
    // One client asks for the page and does not read it; another goes away at once.
    let request = format!("GET {}page HTTP/1.1\r\nHost: localhost\r\n\r\n", serving.path);
    let stalled = serving.send(&request);
    drop(serving.send(&request));
    until("a newer page", || serving.state()["version"].as_u64() > first["version"].as_u64());
    let (state, page) = (serving.state(), serving.run_of_page());
    assert!(
        page["completed"].as_u64() > before["completed"].as_u64(),
        "{} {}",
        page["completed"],
        before["completed"]
    );
    assert!(state["to_ns"].as_u64() > first["to_ns"].as_u64());
    running.signal("INT");
    assert_eq!(running.end().code, 130);
    until("the end of the run", || serving.state()["is_growing"] == false);
    let last = serving.state();
    assert_eq!(last["all_requests"], lab.records("r").len());
    assert_eq!(serving.run_of_page()["completed"], count(&summary(&lab, "r"), "all", "completed"));
    drop(stalled);
    serving.end();
}

#[test]
fn removed_result_is_reported_and_does_not_end_the_server() {
    let lab = with_finished();
    let serving = Serving::start(&lab, "live r --http 0");
    std::fs::rename(lab.path("r"), lab.path("moved")).unwrap();
    let (status, why) = serving.get(&format!("{}page", serving.path));
    assert!(status == 503 && why.contains("r: No such file"), "{status} {why}");
    std::fs::rename(lab.path("moved"), lab.path("r")).unwrap();
    serving.run_of_page();
}
