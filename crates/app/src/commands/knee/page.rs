//! The page of a knee, and its table: a row for each step of the ramp.

use crate::study_pages::runs_of;
use iosonar_analyze::knee::{RampStep, RowTimes, StepState};
use iosonar_studies::knee::Answer;
use iosonar_text::shown;
use iosonar_text::units::{figure, grouped};
use iosonar_view::{
    KneeMaterial, StudyPage, StudyTable, TableCell, TableColumn, TableRow, knee_svg, study_page,
};
use std::path::Path;

/// Name of the page.
pub const PAGE: &str = "knee.html";

/// The page of an answer in a directory.
pub fn page(answer: &Answer, material: &KneeMaterial<'_>, out: &Path) -> String {
    let subject = material.subject;
    study_page(&StudyPage {
        title: format!("knee of {}: depth {}", shown(&answer.target), answer.depth),
        story: Some(&answer.story),
        json: "knee.json",
        picture: &|theme| knee_svg(material, theme),
        table: table(answer),
        sentences: answer.sentences.clone(),
        lines: vec![
            subject.what.clone(),
            format!("{} · {}", subject.how, subject.tool),
            answer.summary.run.command.clone(),
        ],
        cautions: answer.stamps.iter().cloned().chain(cautions(answer)).collect(),
        runs: runs_of(out, answer.ramps.iter().map(|ramp| ramp.name.as_str())),
    })
}

fn cautions(answer: &Answer) -> impl Iterator<Item = String> {
    answer.summary.cautions.iter().map(|caution| caution.text.clone())
}

fn table(answer: &Answer) -> StudyTable {
    let columns = vec![
        TableColumn::numbers("from", "s"),
        TableColumn::numbers("to", "s"),
        TableColumn::numbers("wanted", "requests/s"),
        TableColumn::numbers("done", "requests/s"),
        TableColumn::numbers("failed", "requests"),
        TableColumn::numbers("backlog", "requests"),
        TableColumn::numbers("delay p50", "ms"),
        TableColumn::numbers("delay p99", "ms"),
        TableColumn::numbers("response p50", "ms"),
        TableColumn::numbers("response p99", "ms"),
        TableColumn::words("target"),
    ];
    let rows = answer.judged_steps().iter().map(row).collect();
    StudyTable { caption: format!("Steps of {}", answer.answer), columns, rows }
}

fn row(step: &RampStep) -> TableRow {
    let row = &step.row;
    let ms = |times: Option<RowTimes>, of: fn(RowTimes) -> u64| times.map(|t| figure(of(t) as f64 / 1e6));
    let (p50, p99) = (|t: RowTimes| t.p50_ns, |t: RowTimes| t.p99_ns);
    let numbers = [
        Some(figure(row.from_ns as f64 / 1e9)),
        Some(figure(row.to_ns as f64 / 1e9)),
        Some(figure(row.demand_per_second())),
        Some(figure(row.delivered_per_second())),
        Some(grouped(row.failed)),
        Some(grouped(step.backlog as u64)),
        ms(row.delay, p50),
        ms(row.delay, p99),
        ms(row.response, p50),
        ms(row.response, p99),
    ];
    let state = TableCell::words(step.state.text());
    let cells = numbers.into_iter().map(TableCell::number).chain([state]).collect();
    TableRow { cells, is_marked: step.state == StepState::Knee }
}
