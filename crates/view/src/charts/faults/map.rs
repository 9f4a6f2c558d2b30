//! Each fault at its address and at the time when a read found it, joined with the time when the expected write there was
//! acknowledged.

use super::super::axes::{self, LABEL_SIZE, TimeScale, words};
use super::super::layout::AddressAxis;
use super::super::message::Message;
use super::super::{
    BELOW, Chart, Draw, PAGE_WIDTH, PLOT_LEFT, PLOT_WIDTH, RunView, SIDE_LEFT, SIDE_WIDTH, page,
};
use super::{ROW, Target, WORDS, signs};
use crate::fonts::{self, Weight};
use crate::scene::{Anchor, Caption, Rect, Scene, Stroke};
use crate::units::{self, Charset};
use iosonar_archive::Fault;
use iosonar_plaintext::fault_sentence as sentence;
use std::ops::Range;

/// Maximum targets in the picture.
const MOST_TARGETS: usize = 4;
/// Maximum faults drawn, of all targets together: more marks would hide each other.
const MOST_MARKS: usize = 1000;
/// Least height of a plot, and the height of several together.
const LEAST_HEIGHT: i32 = 230;
const ALL_HEIGHT: i32 = 600;
/// Height of the room for stamps.
const STAMP: i32 = 130;
/// Room for words above a plot.
const TITLE: i32 = 30;

pub(in crate::charts) static CHART: Chart = Chart {
    stem: "g62.fault-map",
    keywords: &["fault-map"],
    title: "Faults: where they are, when the data was written, and when it was found wrong",
    message: Message::Headline,
    draw: Draw::Faults(draw),
};

fn draw(view: &RunView<'_>, faults: &[Fault]) -> Scene {
    let Some(verified) = &view.summary.verified else {
        return Scene::new(PAGE_WIDTH, 1, view.palette.background);
    };
    let (targets, others) = super::chosen(super::targets(view, faults), MOST_TARGETS);
    let height = (ALL_HEIGHT / targets.len().max(1) as i32 - TITLE - BELOW).max(LEAST_HEIGHT);
    let area = Rect { x: PLOT_LEFT, y: 0, w: PLOT_WIDTH, h: height };
    let time = super::time(view, faults, area);
    let shown = shown(&targets, &time);
    let lines = captions(view, &shown, others);
    let mut scene = Scene::new(PAGE_WIDTH, 1, view.palette.background);
    page::head(&mut scene, view, CHART.title);
    let top = super::legend(&mut scene, view, verified, lines, super::LEGEND);
    let each = TITLE + height + BELOW;
    scene.height = (top + each * targets.len() as i32 + page::BOTTOM + 8) as u32;
    let mut stamped = Vec::new();
    for (number, (target, marks)) in targets.iter().zip(&shown.marks).enumerate() {
        let plot = Rect { y: top + TITLE + each * number as i32, ..area };
        Panel { view, target, marks, time: time.within(plot), arm: shown.arm() }.draw(&mut scene);
        // Stamps are small here: they must not hide the faults that they are about.
        let h = STAMP.min(plot.h);
        stamped.push(Rect { x: plot.x + plot.w / 4, y: plot.y + (plot.h - h) / 2, w: plot.w / 2, h });
    }
    if view.range.is_some() {
        page::range_note(&mut scene, view);
    }
    page::bottom(&mut scene, view, &stamped);
    scene
}

/// Draws the map of the target with most faults, with the classes above. Returns the plot.
pub(in crate::charts) fn body(scene: &mut Scene, view: &RunView<'_>, faults: &[Fault], area: Rect) -> Rect {
    let (targets, others) = super::chosen(super::targets(view, faults), 1);
    let (Some(target), Some(verified)) = (targets.first(), &view.summary.verified) else { return area };
    let plot = Rect { x: PLOT_LEFT, w: PLOT_WIDTH, ..area };
    let time = super::time(view, faults, plot);
    let shown = shown(&targets, &time);
    let top = super::legend(scene, view, verified, captions(view, &shown, others), area.y + 14) + TITLE;
    let plot = Rect { y: top, h: area.bottom() - BELOW - top, ..plot };
    Panel { view, target, marks: &shown.marks[0], time: time.within(plot), arm: shown.arm() }.draw(scene);
    plot
}

/// The faults that are drawn.
struct Shown<'a> {
    /// The faults of each target.
    marks: Vec<Vec<&'a Fault>>,
    /// Number of faults found in the visible time.
    seen: usize,
}

impl Shown<'_> {
    fn drawn(&self) -> usize {
        self.marks.iter().map(Vec::len).sum()
    }

    /// Half the width of a sign: with many faults, signs are small.
    fn arm(&self) -> i32 {
        match self.drawn() {
            0..=80 => 6,
            81..=400 => 5,
            _ => 4,
        }
    }
}

/// Faults found in the visible time; if too many, an equally spaced sample.
fn shown<'a>(targets: &[Target<'a>], time: &TimeScale) -> Shown<'a> {
    let is_seen = |fault: &&&Fault| (time.begin..=time.end).contains(&fault.completed.0);
    let seen: usize = targets.iter().map(|target| target.faults.iter().filter(is_seen).count()).sum();
    let step = seen.div_ceil(MOST_MARKS).max(1);
    let of = |target: &Target<'a>| target.faults.iter().filter(is_seen).step_by(step).copied().collect();
    Shown { marks: targets.iter().map(of).collect(), seen }
}

/// Describes the marks, and the faults that are not drawn.
fn captions(view: &RunView<'_>, shown: &Shown<'_>, others: usize) -> Vec<Caption> {
    let key = "filled: a read found the fault there at this time; hollow, joined by a line: the write that is due there was \
               acknowledged at this time";
    let drawn = shown.drawn();
    let sampled = (drawn < shown.seen).then(|| {
        let text = format!(
            "{} of {} faults are drawn, one of every {} in the order of the list",
            units::grouped(drawn as u64),
            units::grouped(shown.seen as u64),
            shown.seen.div_ceil(MOST_MARKS)
        );
        Caption::figure(text, "picture.drawn", drawn).of("picture.seen", shown.seen)
    });
    let not_listed = view.summary.verified.as_ref().and_then(super::not_listed);
    let more = [sampled, not_listed, super::other_targets(others)];
    let mut more: Vec<Caption> = more.into_iter().flatten().collect();
    for line in more.iter_mut().skip(1) {
        line.text.insert_str(0, "; ");
    }
    let more = super::figures::joined(more);
    let lines = [Caption::from(key), more];
    lines.into_iter().filter(|line| !line.text.is_empty()).collect()
}

/// The faults of a target.
struct Panel<'a> {
    view: &'a RunView<'a>,
    target: &'a Target<'a>,
    marks: &'a [&'a Fault],
    time: TimeScale,
    /// Half the width of a sign.
    arm: i32,
}

impl Panel<'_> {
    fn draw(&self, scene: &mut Scene) {
        let (p, plot) = (self.view.palette, self.time.area);
        let has_scan = super::scan(scene, self.view, &self.time);
        if has_scan {
            super::scan_title(scene, self.view, &self.time, plot.y - 8);
        }
        super::title(scene, p, self.target, plot.y - 10);
        self.time.draw(scene, p, Some("Time since the start of the run"));
        let addresses = addresses(&self.target.faults, self.target.size);
        self.axis(scene, &addresses);
        if self.marks.is_empty() {
            super::none_seen(scene, self.view, plot);
        }
        self.lines(scene, &addresses);
        for fault in self.marks {
            let at = (self.time.x(fault.completed.0), self.y(&addresses, fault));
            signs::filled(scene, p, fault.class, at, self.arm);
        }
        axes::frame(scene, p, plot);
        self.side(scene, &addresses);
    }

    /// Lines first, then the times of writes: the signs of faults lie over both.
    fn lines(&self, scene: &mut Scene, addresses: &Range<u64>) {
        let p = self.view.palette;
        let write = |fault: &Fault| fault.expected.and_then(|write| write.acknowledged);
        let written = || self.marks.iter().filter_map(|fault| Some((*fault, write(fault)?.0)));
        for (fault, at) in written() {
            let (from, to) = (self.time.x(at), self.time.x(fault.completed.0));
            let color = signs::color(p, fault.class).mix(p.background, 0.45);
            let y = self.y(addresses, fault);
            scene.horizontal(y, (from.min(to), from.max(to)), Stroke::solid(color, 1));
        }
        for (fault, at) in written().filter(|(_, at)| (self.time.begin..=self.time.end).contains(at)) {
            signs::hollow(scene, p, fault.class, (self.time.x(at), self.y(addresses, fault)), self.arm);
        }
    }

    fn y(&self, addresses: &Range<u64>, fault: &Fault) -> i32 {
        height(self.time.area, addresses, fault.offset)
    }

    fn axis(&self, scene: &mut Scene, addresses: &Range<u64>) {
        let (p, plot) = (self.view.palette, self.time.area);
        let axis = AddressAxis::of(addresses.clone());
        axis.draw(scene, p, plot, |address| height(plot, addresses, address) - plot.y);
        let label = match axis.base {
            0 => "address".to_string(),
            base => format!("address from {} on", units::bytes(base)),
        };
        axes::axis_label(scene, p, plot, &label);
    }

    /// Figures, and the first fault in words.
    fn side(&self, scene: &mut Scene, addresses: &Range<u64>) {
        let (p, plot) = (self.view.palette, self.time.area);
        let room = f64::from(SIDE_WIDTH);
        let mut lines: Vec<(Caption, Weight)> = Vec::new();
        lines.extend(
            super::counted(self.target)
                .wrapped(WORDS, Weight::Bold, room)
                .into_iter()
                .map(|line| (line, Weight::Bold)),
        );
        let is_part = addresses.end - addresses.start < self.target.size;
        let shown = match is_part {
            true => format!(
                "The picture shows {} of the {} of the target.",
                units::bytes(addresses.end - addresses.start),
                units::bytes(self.target.size)
            ),
            false => format!("The picture shows the whole target, {}.", units::bytes(self.target.size)),
        };
        let mut paragraphs = vec![shown];
        if let Some(first) = self.target.faults.iter().min_by_key(|fault| fault.completed) {
            let by = if super::is_of_scan(first) { "by the final scan " } else { "" };
            let at = units::moment(first.completed.0, Charset::Unicode);
            paragraphs.push(format!("First found {by}at {at}: {}: {}.", first.class, sentence(first)));
        }
        for paragraph in paragraphs {
            let wrapped = fonts::wrap(&paragraph, WORDS, Weight::Regular, room);
            lines.extend(wrapped.into_iter().map(|line| (line.into(), Weight::Regular)));
        }
        let most = (plot.h / ROW) as usize;
        if lines.len() > most {
            lines.truncate(most - 1);
            lines.push((" …".into(), Weight::Regular));
        }
        for (number, (line, weight)) in lines.into_iter().enumerate() {
            let y = plot.y + 12 + ROW * number as i32;
            let mut text = words(line, SIDE_LEFT, y, LABEL_SIZE, p, Anchor::Start);
            text.weight = weight;
            scene.text(text);
        }
    }
}

/// Pixel row of an address; high ones are above.
fn height(plot: Rect, addresses: &Range<u64>, address: u64) -> i32 {
    let share = address.saturating_sub(addresses.start) as f64 / (addresses.end - addresses.start) as f64;
    plot.bottom() - 1 - (share.clamp(0.0, 1.0) * f64::from(plot.h - 1)).round() as i32
}

/// The whole target, or, if the faults lie in a small part of it, that part and some room around it.
fn addresses(faults: &[&Fault], size: u64) -> Range<u64> {
    /// A part that is this much smaller than the target is enlarged.
    const SMALL: u64 = 8;
    let first = faults.iter().map(|fault| fault.offset).min().unwrap_or(0);
    let last = faults.iter().map(|fault| fault.offset.saturating_add(fault.length)).max().unwrap_or(size);
    let span = (last - first).max(1 << 16);
    if span > size / SMALL {
        return 0..size.max(1);
    }
    let room = span / 10;
    first.saturating_sub(room)..last.saturating_add(room).min(size).max(first + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooms_addresses_around_close_faults() {
        let mut fault = crate::charts::faults::tests::fault();
        let at = |offset, fault: &mut Fault| fault.offset = offset;
        at(1 << 30, &mut fault);
        let shown = addresses(&[&fault], 1 << 40);
        assert!(shown.contains(&(1 << 30)) && shown.end - shown.start < 1 << 20, "{shown:?}");
        let mut other = fault.clone();
        at(1 << 39, &mut other);
        assert_eq!(addresses(&[&fault, &other], 1 << 40), 0..1 << 40);
        assert_eq!(addresses(&[], 0), 0..1);
    }
}
