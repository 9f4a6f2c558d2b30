//! Reads traces, and counts.

use super::answer::Answer;
use super::busiest::{Busiest, SECOND_NS};
use super::processes::Processes;
use super::question::Question;
use iosonar_analyze::demand::{Demand, DemandOptions, DemandTally};
use iosonar_inputs::traces::{RecordOrder, open};
use iosonar_runner::{Error, Notice, Session};
use iosonar_trace::{Kind, Pairing};

/// Describes traces.
///
/// # Errors
/// One of them cannot be read.
pub fn run(session: &Session, question: &Question) -> Result<Answer, Error> {
    let mut trace = open(&question.inputs, &question.reading, RecordOrder::Stored)?;
    let options =
        DemandOptions { windows_s: vec![1, 60], throughput_window_ns: SECOND_NS, ..Default::default() };
    let mut tally = DemandTally::new(&options);
    let (mut kinds, mut pairings, mut busiest) = ([0; Kind::ALL.len()], [0; 5], Busiest::default());
    let mut processes = Processes::default();
    let notice = |text: &str| session.observer.notice(&Notice::Skipped(text));
    let damaged = trace.each(notice, |request, _| {
        processes.add(&request.process.name(), request.extent.length);
        kinds[request.kind as usize] += 1;
        pairings[request.pairing as usize] += 1;
        if let Some(op) = request.kind.op().filter(|op| op.is_transfer()) {
            let device = u16::try_from(request.device).unwrap_or(u16::MAX);
            busiest.add(request.time);
            tally.add(&Demand::at(request.time.0, device, op, request.extent));
        }
        Ok::<_, Error>(())
    })?;
    pairings[Pairing::NoBegin as usize] += trace.unstarted;
    Ok(Answer {
        kinds,
        pairings,
        devices: trace.requests.devices(),
        processes,
        besides: trace.requests.extra_counts(),
        damaged,
        demand: tally.finish(),
        busiest,
        name: trace.name,
        format: trace.format,
        at: trace.at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_inputs::traces::Reading;
    use iosonar_runner::Silent;
    use std::sync::Arc;

    #[test]
    fn counts_the_requests_of_a_load() {
        let dir = tempfile::tempdir().unwrap();
        let load = dir.path().join("x.load");
        let lines = "0.1 ; 8 ; 8 ; R\n0.2 ; 16 ; 8 ; R\n1.5 ; 8 ; 16 ; W\n";
        std::fs::write(&load, format!("{}\n{lines}", iosonar_trace::blkreplay::LOAD_HEADER)).unwrap();
        let question = Question { inputs: vec![load], reading: Reading::default() };
        let json = run(&Session::new(Arc::new(Silent)), &question).unwrap().to_json();
        assert_eq!((&json["kinds"]["reads"], &json["kinds"]["writes"]), (&2.into(), &1.into()));
        assert_eq!(
            (json["damaged_entries"].as_u64(), json["peak_requests_per_s"].as_f64()),
            (Some(0), Some(2.0))
        );
    }
}
