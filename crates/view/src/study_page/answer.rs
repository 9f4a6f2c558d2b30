//! The page of an answer: headline, reasons, one picture, the figures as a table, and where the runs are. It needs no script.

use super::frame::{cautions, facts, for_both_themes, heading, page_of, story};
use super::table::StudyTable;
use crate::palette::Theme;
use crate::{escape, statement};
use iosonar_analyze::Statement;
use std::fmt::Write;

/// An answer to describe.
pub struct StudyPage<'a> {
    /// The target or the files of the study, in one line.
    pub title: String,
    /// Its story, at the top; `None` if it has no story.
    pub story: Option<&'a Statement>,
    /// Name of the file with the evidence of the story.
    pub json: &'a str,
    /// Draws its picture as SVG.
    pub picture: &'a dyn Fn(Theme) -> String,
    /// Its figures.
    pub table: StudyTable,
    /// Sentences below the figures.
    pub sentences: Vec<String>,
    /// Machine, procedure, command.
    pub lines: Vec<String>,
    /// Cautions to read before believing the figures.
    pub cautions: Vec<String>,
    /// The runs that it is from.
    pub runs: Vec<StudyRun>,
}

/// A run of a study.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StudyRun {
    /// Its name.
    pub name: String,
    /// Link to its page; `None` if it has no page yet.
    pub page: Option<String>,
    /// The command that makes this page.
    pub command: String,
}

/// The page, complete in itself.
pub fn study_page(page: &StudyPage<'_>) -> String {
    let mut out = String::new();
    story(&mut out, &page.title, page.story, page.json);
    let picture = for_both_themes(page.picture);
    _ = writeln!(out, "<figure class=\"wide\" tabindex=\"0\">\n{picture}</figure>");
    page.table.write(&mut out);
    page.sentences.iter().for_each(|sentence| _ = writeln!(out, "<p>{}</p>", statement::prose(sentence)));
    facts(&mut out, &page.lines);
    cautions(&mut out, &page.cautions);
    runs(&mut out, &page.runs);
    page_of(heading(&page.title, page.story), &out)
}

fn runs(out: &mut String, runs: &[StudyRun]) {
    if runs.is_empty() {
        return;
    }
    out.push_str("<h2>Runs</h2>\n<ul>\n");
    runs.iter().for_each(|run| _ = writeln!(out, "<li>{}</li>", item(run)));
    out.push_str("</ul>\n");
}

fn item(run: &StudyRun) -> String {
    let name = escape(&run.name);
    match &run.page {
        Some(page) => format!("<a href=\"{}\">{name}</a>", escape(page)),
        None => format!("{name}: <code>{}</code> makes its page", escape(&run.command)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study_page::table::{TableCell, TableColumn, TableRow};

    #[test]
    fn page_has_story_picture_table_and_runs() {
        let told = Statement {
            headline: "Sustains <500> reads/s.".into(),
            worth: Some("one pass".into()),
            ..Statement::default()
        };
        let row = TableRow { cells: vec![TableCell::number(Some("475".into()))], is_marked: false };
        let table = StudyTable {
            caption: "Steps".into(),
            columns: vec![TableColumn::numbers("wanted", "requests/s")],
            rows: vec![row],
        };
        let run = |name: &str, page: Option<&str>| StudyRun {
            name: name.into(),
            page: page.map(String::from),
            command: format!("iosonar report k/{name}"),
        };
        let page = StudyPage {
            title: "knee of /dev/x".into(),
            story: Some(&told),
            json: "knee.json",
            picture: &|theme| format!("<svg id=\"{theme:?}\"></svg>"),
            table,
            sentences: vec!["sustains 500 requests/s".into()],
            lines: vec!["iosonar knee -t /dev/x".into()],
            cautions: vec!["a & b".into()],
            runs: vec![run("fine-1", Some("fine-1/report.html")), run("ramp", None)],
        };
        let html = study_page(&page);
        for part in [
            "<h1>Sustains &lt;500&gt; reads/s.</h1>\n<dl class=\"facts\">",
            "<dt>worth</dt><dd>one pass</dd>",
            "<p><b>knee of /dev/x</b></p>",
            "⚠ a &amp; b",
            "<td class=\"number\">475</td>",
            "<p>sustains 500 requests/s</p>",
            "<p class=\"faint\">iosonar knee -t /dev/x</p>",
            "<a href=\"fine-1/report.html\">fine-1</a>",
            "ramp: <code>iosonar report k/ramp</code> makes its page",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        // One picture, for light pages and for dark ones.
        assert!(html.contains("<svg id=\"Light\">") && html.contains("<svg id=\"Dark\">"), "{html}");
        assert!(!html.contains("<script"));
        let html = study_page(&StudyPage { story: None, runs: Vec::new(), cautions: Vec::new(), ..page });
        assert!(html.contains("<h1>knee of /dev/x</h1>") && !html.contains("<h2>"), "{html}");
        assert!(!html.contains("class=\"cautions\""), "{html}");
    }
}
