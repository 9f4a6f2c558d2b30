//! Input of pictures: a subject, and its analyses.

use super::axes::{TimeScale, time};
use super::figures;
use crate::Style;
use crate::fonts::{self, Weight};
use crate::palette::Palette;
use crate::scene::{Caption, Figure, Rect};
use crate::units;
use iosonar_analyze::demand::DemandAnalysis;
use iosonar_analyze::extents::ExtentLatencies;
use iosonar_analyze::findings::{Findings, TimeRange};
use iosonar_analyze::{Caution, CountGrid, Diagrams, MachineSeries, StoryEvent, Summary, Tally};
use iosonar_archive::Fault;
use iosonar_plaintext::stamps;
use iosonar_plan::OverlapPolicy;
use std::ops::Deref;

/// Additional words for the subtitle that are not in the summary.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Headline {
    /// For example kernel, device model and scheduler.
    pub environment: Option<String>,
}

/// Subject of a picture: the words around every plot.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subject {
    /// First line below the title: sources and targets, and facts about the machine.
    pub what: String,
    /// Second line: how it was run, or the content of the load, and the number of requests.
    pub how: String,
    /// The figures in that line.
    pub figures: Vec<Figure>,
    /// Name and version of the program.
    pub tool: String,
    /// The run's id; a load has none.
    pub run_id: Option<String>,
    /// The command as typed.
    pub command: String,
    /// Highest requested end ÷ size, for each target whose size is known.
    pub wraparound: Vec<Option<f64>>,
    /// Paths of these factors in JSON.
    pub wraparound_paths: Vec<String>,
    /// Words over every plot: why the figures are no storage result, and that data was wrong.
    pub stamps: Vec<String>,
    /// Cautions to read before believing a picture, most severe first.
    pub cautions: Vec<Caution>,
    /// Number of cautions that are not among these, but in the summary.
    pub cautions_elsewhere: usize,
    /// The verdict on the figures, in one sentence; absent without a judgement.
    pub verdict: Option<String>,
    /// Whether cautions were never looked for: then their absence means nothing.
    pub is_unexamined: bool,
}

impl Subject {
    /// The words of a picture on a page, which has cautions, tool and command as text.
    pub(super) fn of_page(&self) -> Subject {
        Subject {
            what: self.what.clone(),
            how: self.how.clone(),
            figures: self.figures.clone(),
            stamps: self.stamps.clone(),
            is_unexamined: true,
            ..Subject::default()
        }
    }

    /// The words on a run.
    pub fn of_run(s: &Summary, headline: &Headline) -> Subject {
        let how = how_it_was_run(s);
        Subject {
            what: sources_and_targets(s, headline),
            how: how.text,
            figures: how.figures,
            tool: s.run.tool.clone(),
            run_id: Some(s.run.run_id.clone()),
            command: s.run.command.clone(),
            wraparound: s.targets.iter().map(|t| t.wraparound_factor).collect(),
            wraparound_paths: (0..s.targets.len())
                .map(|i| format!("targets.{i}.wraparound_factor"))
                .collect(),
            stamps: stamps::of(s),
            cautions: s.cautions.clone(),
            cautions_elsewhere: 0,
            verdict: s.judgement.as_ref().map(|judgement| judgement.sentence.clone()),
            is_unexamined: false,
        }
    }
}

fn sources_and_targets(s: &Summary, headline: &Headline) -> String {
    let name = |path: &str, room: f64| fonts::fit(path, 14.0, Weight::Regular, room);
    let mut what = match s.targets.as_slice() {
        [] => "no target".to_string(),
        [first, rest @ ..] => {
            let others = match rest.len() {
                0 => String::new(),
                n => format!(" and {}", units::more_targets(n)),
            };
            format!("{} → {}{others}", name(&first.source, 520.0), name(&first.path, 420.0))
        }
    };
    if let Some(environment) = &headline.environment {
        what += &format!(" · {environment}");
    }
    what
}

fn how_it_was_run(s: &Summary) -> Caption {
    let run = &s.run;
    let policy = match run.policy {
        OverlapPolicy::Allow => "allow",
        OverlapPolicy::Drop => "drop",
        OverlapPolicy::PushBack => "defer",
        OverlapPolicy::Order => "keep order",
    };
    let access = if run.buffered { "page cache" } else { "direct I/O" };
    let mut how = if run.is_recording() {
        Caption::from("a recording")
    } else {
        let (engine, depth) = iosonar_plaintext::engine_and_depth(run);
        format!("engine {engine} · {access} · depth {depth} · conflicts: {policy}").into()
    };
    if let Some(depth) = run.depth.filter(|_| !run.is_recording()) {
        how = how.of("run.depth", depth);
    }
    let mut duration = Caption::from(s.span.duration_ns().map_or("no duration".to_string(), time));
    if let Some(delivered) = s.throughput.delivered {
        // The same duration: from the first due time to the last completion.
        duration = figures::time("throughput.delivered.duration_ns", delivered.duration_ns);
    }
    let total = figures::count("counts.all.total", s.counts.all.total);
    let verdict = s.judgement.as_ref().and_then(stamps::verdict);
    let verdict = verdict.map_or(String::new(), |verdict| format!(" · verdict: {verdict}"));
    figures::joined([how, " · ".into(), duration, " · ".into(), total, " requests".into(), verdict.into()])
}

/// Everything that pictures can be drawn from. Pictures that need what is absent are skipped.
#[derive(Clone, Copy)]
pub struct Material<'a> {
    /// Its subject.
    pub subject: &'a Subject,
    /// The run; absent for a load that was only read.
    pub run: Option<RunMaterial<'a>>,
    /// The demand: the static analysis of a load, or of the requests of a run.
    pub demand: Option<&'a DemandAnalysis>,
}

/// Analyses of a run.
#[derive(Clone, Copy)]
pub struct RunMaterial<'a> {
    /// Figures and limits.
    pub summary: &'a Summary,
    /// Counts for the pictures.
    pub diagrams: &'a Diagrams,
    /// Whole distributions; without them curves show the summary's percentiles only.
    pub tally: Option<&'a Tally>,
    /// Its findings; absent if they were not computed.
    pub findings: Option<&'a Findings>,
    /// Samples of its machine; absent for several runs, and for sources without samples.
    pub machine: Option<&'a MachineSeries>,
    /// Latencies by extent; absent if no maps of files were kept.
    pub extents: Option<&'a ExtentLatencies>,
    /// Faults found by verification, one by one; empty for several runs.
    pub faults: &'a [Fault],
}

impl<'a> RunMaterial<'a> {
    /// Whether responses differ from latencies: requests have a timetable, and their due times are known.
    pub(crate) fn has_response(&self) -> bool {
        has_response(self.summary)
    }

    /// Responses over due time; latencies over submission where these are the responses.
    pub(crate) fn responses(&self) -> &'a CountGrid {
        if self.has_response() { &self.diagrams.response.by_due } else { &self.diagrams.latency }
    }

    /// Its faults, if there are any and the run records its verification.
    pub(crate) fn faults(&self) -> Option<&'a [Fault]> {
        (!self.faults.is_empty() && self.summary.verified.is_some()).then_some(self.faults)
    }
}

/// See [`RunMaterial::has_response`].
pub(super) fn has_response(summary: &Summary) -> bool {
    summary.run.has_timetable && summary.knows_delay()
}

/// Input of every picture.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) subject: &'a Subject,
    pub(super) palette: &'static Palette,
    /// The visible part of the time; all of it if absent.
    pub(super) range: Option<TimeRange>,
    /// Whether no request was dropped or cancelled.
    pub(super) all_submitted: bool,
    /// Whether there is a load and no run.
    pub(super) is_load: bool,
    /// Words around the plot are at least this large.
    pub(super) least_size: f64,
    /// The title; absent if the title describes the picture.
    pub(super) message: Option<&'a Caption>,
}

impl<'a> View<'a> {
    pub(super) fn new(material: &Material<'a>, style: &Style) -> View<'a> {
        let all_submitted = material.run.is_none_or(|run| {
            let c = &run.summary.counts.all;
            c.dropped + c.cancelled == 0
        });
        View {
            subject: material.subject,
            palette: style.theme.palette(),
            range: style.range,
            all_submitted,
            is_load: material.run.is_none(),
            least_size: 0.0,
            message: None,
        }
    }

    /// A size of words, or the least size if that is larger.
    pub(super) fn size(&self, size: f64) -> f64 {
        size.max(self.least_size)
    }

    /// The same with a title.
    pub(super) fn with_message(self, message: Option<&'a Caption>) -> View<'a> {
        View { message, ..self }
    }
}

/// Input of a picture of a run.
#[derive(Clone, Copy)]
pub(super) struct RunView<'a> {
    pub(super) view: View<'a>,
    pub(super) summary: &'a Summary,
    pub(super) diagrams: &'a Diagrams,
    pub(super) tally: Option<&'a Tally>,
    pub(super) findings: Option<&'a Findings>,
    /// Events of the story to mark; findings are marked elsewhere.
    pub(super) events: &'a [StoryEvent],
    pub(super) material: RunMaterial<'a>,
}

impl<'a> RunView<'a> {
    pub(super) fn new(view: View<'a>, run: &RunMaterial<'a>) -> RunView<'a> {
        RunView {
            view,
            events: &[],
            material: *run,
            summary: run.summary,
            diagrams: run.diagrams,
            tally: run.tally,
            findings: run.findings,
        }
    }
}

impl<'a> RunView<'a> {
    /// The same with the events of the story in place of findings, if there are any.
    pub(super) fn with_events(&self) -> RunView<'a> {
        match &self.summary.story {
            Some(story) if !story.events.is_empty() => {
                RunView { events: &story.events, findings: None, ..*self }
            }
            _ => *self,
        }
    }

    /// The visible time, in whole stored columns, so that counts match the picture.
    pub(super) fn time(&self, area: Rect) -> TimeScale {
        self.time_in(self.diagrams.demanded.axis().width_ns(), area)
    }

    /// The visible time in whole columns of this width.
    pub(super) fn time_in(&self, width: u64, area: Rect) -> TimeScale {
        let d = self.diagrams;
        let end = end_of_time(d);
        let (begin, end) = match self.range {
            None => (0, end),
            Some(range) => {
                let begin = range.from_ns.min(end - 1) / width * width;
                let wanted = range.to_ns.div_ceil(width).saturating_mul(width);
                (begin, wanted.clamp(begin + width, end.max(begin + width)))
            }
        };
        TimeScale { begin, end, is_number: false, area }
    }
}

impl<'a> Deref for RunView<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

/// End of the time axis of pictures of the whole run: whole columns.
pub(crate) fn end_of_time(diagrams: &Diagrams) -> u64 {
    diagrams.latency.axis().end_ns().max(diagrams.demanded.axis().end_ns())
}

/// Input of a picture of a demand.
#[derive(Clone, Copy)]
pub(super) struct DemandView<'a> {
    pub(super) view: View<'a>,
    pub(super) demand: &'a DemandAnalysis,
}

impl<'a> Deref for DemandView<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}
