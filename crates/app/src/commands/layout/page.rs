//! The page of `layout run`, and its table: a row for each file, with the figures of its method.

use crate::study_pages::runs_of;
use iosonar_cells::creation::{CreationAnswer, FileAnswer, MethodAnswer, ScanAnswer};
use iosonar_text::one_line;
use iosonar_text::units::{figure, grouped, number};
use iosonar_view::{
    LayoutOverview, StudyPage, StudyTable, TableCell, TableColumn, TableRow, layout_svg, study_page,
};
use std::path::Path;

/// Name of the page.
pub const PAGE: &str = "layout.html";

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;

/// The page of an answer in a directory.
pub fn page(answer: &CreationAnswer, overview: &LayoutOverview<'_>, out: &Path) -> String {
    let setting = &answer.setting;
    let age = setting.age.as_ref().map(|age| format!("prepared free space: {age}"));
    let made = format!("{} · {}", answer.procedure(), setting.tool);
    let lines = [Some(setting.machine.clone()), age, Some(made), Some(setting.command.clone())];
    study_page(&StudyPage {
        title: answer.place(),
        story: answer.story.as_ref(),
        json: "layout.json",
        picture: &|theme| layout_svg(overview, theme),
        table: table(answer),
        sentences: answer.conclusion.clone(),
        lines: lines.into_iter().flatten().collect(),
        cautions: answer.cautions.clone(),
        runs: runs_of(out, ["create", "scan"]),
    })
}

fn table(answer: &CreationAnswer) -> StudyTable {
    let columns = vec![
        TableColumn::words("method"),
        TableColumn::words("file"),
        TableColumn::numbers("size", "MiB"),
        TableColumn::numbers("fragments", ""),
        TableColumn::numbers("median record", "KiB"),
        TableColumn::numbers("created with flush", "MiB/s"),
        TableColumn::numbers("first scan", "MiB/s"),
        TableColumn::numbers("later scans", "MiB/s"),
        TableColumn::numbers("mean", "MiB/s"),
        TableColumn::numbers("95 % interval", "MiB/s"),
        TableColumn::numbers("ratio to reference", ""),
        TableColumn::numbers("interval of the ratio", ""),
        TableColumn::words("scans after the first"),
    ];
    let rows = answer.methods.iter().flat_map(|method| rows(answer, method)).collect();
    StudyTable { caption: "Files and their scans".into(), columns, rows }
}

/// Rows of a method: its figures cover the rows of all of its files. A method without files has a row, too.
fn rows(answer: &CreationAnswer, method: &MethodAnswer) -> Vec<TableRow> {
    let is_marked = method.method == answer.reference;
    let row = |(index, file): (usize, [TableCell; 4])| {
        let (first, last) = if index == 0 { figures(answer, method) } else { Default::default() };
        let cells = first.into_iter().chain(file).chain(last).collect();
        TableRow { cells, is_marked }
    };
    let mut files: Vec<[TableCell; 4]> = method.files.iter().map(of_file).collect();
    if files.is_empty() {
        files.push(std::array::from_fn(|_| TableCell::number(None)));
    }
    files.into_iter().enumerate().map(row).collect()
}

fn of_file(file: &FileAnswer) -> [TableCell; 4] {
    let name = Path::new(&file.path).file_name().map(|name| name.to_string_lossy().into_owned());
    [
        TableCell::words(one_line(&name.unwrap_or_else(|| file.path.clone()))),
        TableCell::number(Some(figure(file.size_bytes as f64 / MIB))),
        TableCell::number(Some(grouped(file.fragments))),
        TableCell::number(file.median_record_bytes.map(|bytes| figure(bytes as f64 / KIB))),
    ]
}

/// Cells of a method: those before its files, and those after them.
fn figures(answer: &CreationAnswer, method: &MethodAnswer) -> (Vec<TableCell>, Vec<TableCell>) {
    let over = |cell: TableCell| cell.over(method.files.len());
    let later = method.later_scans;
    let each: Vec<String> = method.scan.iter().skip(1).map(scan).collect();
    let change = method.change.as_ref();
    let ratio = |percent: f64| number(1.0 + percent / 100.0);
    let ends = change.and_then(|change| change.low_percent.zip(change.high_percent));
    let numbers = [
        method.create_and_sync_bytes_per_second.map(mib),
        method.scan.first().map(scan),
        (!each.is_empty()).then(|| each.join(" · ")),
        later.map(|later| mib(later.mean)),
        later.and_then(|later| later.interval).map(|(low, high)| format!("{} – {}", mib(low), mib(high))),
        change.map(|change| ratio(change.change_percent)),
        ends.map(|(low, high)| format!("{} – {}", ratio(low), ratio(high))),
    ];
    let verdict = TableCell::words(answer.verdict(method));
    let after = numbers.into_iter().map(TableCell::number).chain([verdict]).map(over).collect();
    (vec![over(TableCell::words(&method.method))], after)
}

fn scan(scan: &ScanAnswer) -> String {
    mib(scan.bytes_per_second)
}

/// A rate in MiB/s.
fn mib(rate: f64) -> String {
    figure(rate / MIB)
}
