//! Pictures and the page of `layout run`: all methods side by side, and the file of each on its disk.

use super::page::{PAGE, page};
use super::picture::bytes_of;
use crate::exit::Failure;
use anyhow::Context;
use iosonar_analyze::{Caution, CautionId, Severity};
use iosonar_archive::TOOL;
use iosonar_cells::creation::{CreationAnswer, MethodAnswer};
use iosonar_layout::Map;
use iosonar_os::create::new_file;
use iosonar_text::shown;
use iosonar_view::{Format, LayoutOverview, LayoutRow, Style, Subject, layout_overview};
use std::io::Write;
use std::path::Path;

/// Name of the picture of all methods, without its extension.
const OVERVIEW: &str = "layout";

/// Draws all methods, and the first file of each, and writes the page. `maps` has the files of all methods, in their order. Returns
/// the name of the picture of all methods.
pub fn draw(answer: &CreationAnswer, maps: &[Map], out: &Path) -> Result<String, Failure> {
    let mut first = 0;
    let mut rows = Vec::new();
    for (index, method) in answer.methods.iter().enumerate() {
        let map = maps.get(first);
        if let Some(map) = map {
            write(&out.join(format!("map-{}.png", method.method)), &bytes_of(map, Format::Png))?;
        }
        rows.push(row(answer, index, method, map));
        first += method.files.len();
    }
    let (subject, sentences) = (subject(answer), answer.summary());
    let headline = answer.story.as_ref().map(|story| story.headline.as_str());
    let overview = LayoutOverview { subject: &subject, headline, rows: &rows, sentences: &sentences };
    let name = |format: Format| format!("{OVERVIEW}.{}", format.extension());
    for format in [Format::Svg, Format::Png] {
        write(&out.join(name(format)), &layout_overview(&overview, format, &Style::default()))?;
    }
    write(&out.join(PAGE), page(answer, &overview, out).as_bytes())?;
    Ok(name(Format::Png))
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = new_file(path).and_then(|mut file| file.write_all(bytes));
    written.with_context(|| format!("cannot write {}", shown(&path))).map_err(Failure::broke)
}

fn subject(answer: &CreationAnswer) -> Subject {
    // The identifier is not shown.
    let caution =
        |text: &String| Caution { id: CautionId::NotDirect, severity: Severity::Warning, text: text.clone() };
    let age = answer.setting.age.as_ref().map(|age| format!("; prepared free space: {age}"));
    Subject {
        what: answer.place() + &age.unwrap_or_default(),
        how: format!("{} · {}", answer.procedure(), answer.setting.machine),
        tool: TOOL.into(),
        command: answer.setting.command.clone(),
        cautions: answer.cautions.iter().map(caution).collect(),
        ..Subject::default()
    }
}

fn row<'a>(
    answer: &CreationAnswer,
    index: usize,
    method: &MethodAnswer,
    map: Option<&'a Map>,
) -> LayoutRow<'a> {
    let later = method.later_scans;
    let shown = method.change.filter(|change| change.verdict.is_shown());
    LayoutRow {
        index,
        name: method.method.clone(),
        fragments: method.files.iter().map(|file| file.fragments).collect(),
        map,
        created: method.create_and_sync_bytes_per_second,
        scans: method.scan.iter().map(|scan| scan.bytes_per_second).collect(),
        mean: later.map(|later| later.mean),
        interval: later.and_then(|later| later.interval),
        verdict: answer.verdict(method),
        change: shown.and_then(|change| change.low_percent.zip(change.high_percent)),
        is_reference: method.method == answer.reference,
    }
}
