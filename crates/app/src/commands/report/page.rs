//! The page of analyses, with as many single requests as fit.

use super::place::PageFiles;
use crate::exit::Failure;
use crate::output::print_message;
use crate::presentation::with_material;
use anyhow::Context;
use iosonar_analyze::compare::{Comparison, Judged, OnFake};
use iosonar_archive::TOOL;
use iosonar_host::output::Output;
use iosonar_inputs::{Analysis, Input};
use iosonar_text::shown;
use iosonar_view::Material;
use iosonar_view::report::{self, Detail, Report, ReportRun, write};
use std::io::{self, Write};

/// The size of a page is estimated from the one before; after this many pages single requests are skipped.
const GUESSES: usize = 4;

/// The page with as many of the requested points as `--max-html` allows.
pub fn fitting<'a>(
    largest: u64,
    mut points: Option<u64>,
    place: &PageFiles,
    page: impl Fn(Option<u64>) -> Result<Page<'a>, Failure>,
) -> Result<Output, Failure> {
    for guess in 0..=GUESSES {
        let page = page(points)?;
        let (size, file) = page.write(place)?;
        let embedded = page.details.iter().map(|detail| detail.embedded).sum();
        if size <= largest {
            return Ok(file);
        }
        if embedded == 0 {
            let told = format!(
                "{} is larger than --max-html, although it has no single requests",
                shown(&place.page)
            );
            print_message(format_args!("iosonar: {told}"));
            return Ok(file);
        }
        let less = fewer(&page.details, embedded, size, largest).min(embedded - embedded / 8 - 1);
        points = Some(if guess + 1 < GUESSES { less } else { 0 });
    }
    unreachable!("a page without single requests is kept whatever its size")
}

/// Number of requests that fit approximately: the rest of the page stays.
fn fewer(details: &[Detail], embedded: u64, size: u64, largest: u64) -> u64 {
    // In base64, three bytes are four.
    let bytes: u64 =
        details.iter().flat_map(|detail| &detail.blocks).map(|b| b.deflated.len() as u64 * 4 / 3).sum();
    let room = (largest + bytes).saturating_sub(size);
    (embedded as f64 * room as f64 / bytes.max(1) as f64 * 0.9) as u64 / details.len() as u64
}

/// Contents of a page.
pub struct Page<'a> {
    pub inputs: &'a [Input],
    pub analyses: &'a [Analysis],
    pub details: Vec<Detail>,
    /// Named parts of the space, for each input.
    pub places: &'a [Vec<report::NamedRange>],
    pub comparison: Option<&'a Comparison>,
}

impl Page<'_> {
    /// Writes the page; returns its size, and the file to be published.
    fn write(&self, place: &PageFiles) -> Result<(u64, Output), Failure> {
        let cannot = || format!("cannot write {}", shown(&place.page));
        let mut file = place.create(&place.page).map_err(Failure::refused)?;
        self.write_to(&mut file).with_context(cannot)?;
        let size = file.size().with_context(cannot)?;
        Ok((size, file))
    }

    /// Writes the page to `out`.
    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.with_materials(&mut |materials| self.page(materials, out))
    }

    fn with_materials(&self, f: &mut dyn FnMut(&[&Material<'_>]) -> io::Result<()>) -> io::Result<()> {
        match self.analyses {
            [one] => with_material(one, |material| f(&[material])),
            [a, b] => with_material(a, |a| with_material(b, |b| f(&[a, b]))),
            _ => unreachable!("one analysis, or two that are compared"),
        }
    }

    fn page(&self, materials: &[&Material<'_>], out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = match self.comparison {
            Some(_) => self.inputs.iter().map(|input| input.name.clone()).collect(),
            None => vec![self.inputs.iter().map(|input| input.name.as_str()).collect::<Vec<_>>().join(", ")],
        };
        let runs: Vec<ReportRun<'_>> = materials
            .iter()
            .zip(&names)
            .zip(&self.details)
            .zip(self.places)
            .map(|(((material, name), detail), places)| ReportRun { name, material, detail, places })
            .collect();
        let archive = self.inputs[0].archive();
        let plan = archive.map(|archive| archive.plan().to_toml());
        let environment = archive.map(|archive| archive.environment_json()).filter(|facts| !facts.is_null());
        let environment = environment.map(|facts| format!("{facts:#}"));
        let text = self
            .comparison
            .map(|c| iosonar_plaintext::comparison(&[Judged::new(c.clone(), &[], OnFake::Refuse)]));
        let report = Report {
            runs: &runs,
            comparison: self.comparison.zip(text.as_deref()),
            plan_toml: plan.as_deref(),
            environment_json: environment.as_deref(),
            tool: TOOL,
        };
        write(&report, out)
    }
}
