//! How fast records become a summary, diagrams and a page: `cargo run --release -p iosonar-view --example rate -- 10`
//! (millions of records; they are made up while they are read, so memory shows what analysis needs).

#[path = "../tests/common/mod.rs"]
mod common;

use iosonar_analyze::{Diagrams, Limits, Records, summarize};
use iosonar_archive::Record;
use iosonar_view::report::{Report, page};
use iosonar_view::{Headline, Picture, Theme, png};
use std::time::Instant;

/// The same synthetic records again and again, each time a little later.
struct Repeated {
    records: Vec<Record>,
    times: u64,
}

impl Records for Repeated {
    fn for_each(&self, f: &mut dyn FnMut(&Record)) -> std::io::Result<()> {
        for round in 0..self.times {
            for r in &self.records {
                let mut r = *r;
                let jitter = (r.sequence.wrapping_mul(round * 2_654_435_761)) % (r.due.0 / 50 + 1);
                for time in
                    [Some(&mut r.due), r.submitted.as_mut(), r.completed.as_mut()].into_iter().flatten()
                {
                    time.0 += jitter;
                }
                if let Some(completed) = &mut r.completed {
                    completed.0 += jitter % 9_973;
                }
                f(&r);
            }
        }
        Ok(())
    }
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|l| l.starts_with("VmHWM")).unwrap_or("VmHWM unknown").to_string()
}

fn main() {
    let millions: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let run = common::replay(1_000_000, 1_340.0, false);
    let records = Repeated { records: run.records, times: millions };
    let begin = Instant::now();
    let mut count = 0u64;
    records.for_each(&mut |r| count += u64::from(r.target == 0)).expect("memory can be read");
    println!("make up {count} records: {:?}; {}", begin.elapsed(), peak_memory());
    let begin = Instant::now();
    let summary = summarize(&records, &run.plan, &run.info, &Limits::default()).expect("memory can be read");
    println!("summary: {:?}; {}", begin.elapsed(), peak_memory());
    let begin = Instant::now();
    let diagrams = Diagrams::compute(&records, &summary.span).expect("memory can be read");
    println!("diagrams: {:?}; {}", begin.elapsed(), peak_memory());
    for picture in Picture::ALL {
        let begin = Instant::now();
        let file = png(&picture.draw(&diagrams, &summary, &Headline::default(), Theme::Light));
        println!("{}: {} bytes, {:?}", picture.stem(), file.len(), begin.elapsed());
    }
    let begin = Instant::now();
    let headline = Headline::default();
    let report = Report {
        summary: &summary,
        diagrams: &diagrams,
        plan_toml: "",
        environment_json: None,
        headline: &headline,
    };
    println!("page: {} bytes, {:?}; {}", page(&report).len(), begin.elapsed(), peak_memory());
}
