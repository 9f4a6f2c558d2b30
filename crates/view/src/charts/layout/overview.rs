//! All methods of an experiment on creation, side by side: the fragmentation of their files, their location, and the read
//! rates.
//!
//! Rows are sorted, the most fragmented file first. Strips then pale from row to row, and where fragments cost something, the
//! marks of scans move to the right with them.

use super::super::axes::{LABEL_SIZE, TICK_SIZE, words};
use super::super::material::View;
use super::super::{Material, PAGE_HEIGHT, PAGE_WIDTH, Subject, facts, figures_of, page};
use super::strip::{self, AddressAxis, Piece, outline};
use crate::fonts::{self, Weight};
use crate::palette::{Palette, Rgb};
use crate::scene::{Anchor, Caption, Fill, Rect, Scene, Stroke, Text};
use crate::svg::svg;
use crate::{Format, Style, Theme, units};
use iosonar_layout::{Addresses, Figures, Groups, Map};

const TITLE: &str = "Creation methods: layout of files and rates of scans";
/// Left edge of names, and the room that they have.
const NAMES: (i32, i32) = (24, 216);
/// Right edge of the counts of fragments.
const COUNTS: i32 = 344;
/// Left edge and width of the strips of files.
const FILES: (i32, i32) = (360, 360);
/// Left edge and width of the range of addresses.
const DISK: (i32, i32) = (748, 220);
/// Left edge and width of rates.
const RATES: (i32, i32) = (1004, 386);
/// Left edge and width of the words at the right.
const WORDS: (i32, i32) = (1408, 168);
/// Upper edge of the first row.
const TOP: i32 = 196;
/// Height of a row.
const ROW: std::ops::RangeInclusive<i32> = 30..=76;
/// Rows of this height and higher have a second line of words, and a third one.
const TWO_LINES: i32 = 40;
const THREE_LINES: i32 = 54;
/// Height of ticks and labels below the rows.
const AXES: i32 = 46;
/// Height of a line of sentences.
const LINE: i32 = 18;
/// Maximum rows; methods with fewer fragments than this many others have no row.
const MOST_ROWS: usize = 40;
/// A file system is shown as a whole if the files take at least one part in this many.
const ZOOM: u64 = 24;
const MIB: f64 = 1_048_576.0;

/// Results of an experiment on creation methods.
#[derive(Debug, Clone, Copy)]
pub struct LayoutOverview<'a> {
    /// The words around the picture.
    pub subject: &'a Subject,
    /// The headline of its story: the title. `None` if it has no story.
    pub headline: Option<&'a str>,
    /// One for each method.
    pub rows: &'a [LayoutRow<'a>],
    /// The answer in sentences.
    pub sentences: &'a [String],
}

/// Results of a method. Rates are in bytes per second.
#[derive(Debug, Clone, Default)]
pub struct LayoutRow<'a> {
    /// Its index in the list of methods in the JSON of the answer.
    pub index: usize,
    /// Its words.
    pub name: String,
    /// Fragments of each of its files.
    pub fragments: Vec<u64>,
    /// The map of its first file, with rows.
    pub map: Option<&'a Map>,
    /// Rate of creation with the flush; absent if that failed.
    pub created: Option<f64>,
    /// Rates of its scans. The first one is not compared.
    pub scans: Vec<f64>,
    /// Mean of the later scans.
    pub mean: Option<f64>,
    /// Ends of its 95 % confidence interval.
    pub interval: Option<(f64, f64)>,
    /// Whether later scans differ from those of the reference, in a few words.
    pub verdict: String,
    /// Ends of the change in percent, if the words have them.
    pub change: Option<(f64, f64)>,
    /// Whether the others are compared with it.
    pub is_reference: bool,
}

impl LayoutRow<'_> {
    /// Fragments of a file, on average.
    fn mean_fragments(&self) -> f64 {
        self.fragments.iter().sum::<u64>() as f64 / self.fragments.len().max(1) as f64
    }

    /// Path of a figure in the JSON of the answer.
    fn path(&self, figure: &str) -> String {
        format!("methods.{}.{figure}", self.index)
    }

    /// Number of fragments of its files: from the least to the most.
    fn count(&self) -> Caption {
        let files = || self.fragments.iter().enumerate();
        let figure = |(file, count): (usize, &u64)| {
            super::super::figures::count(self.path(&format!("files.{file}.fragments")), *count)
        };
        let ends = (files().min_by_key(|(_, n)| **n), files().max_by_key(|(_, n)| **n));
        match ends {
            (Some(least), Some(most)) if least.1 == most.1 => figure(least),
            (Some(least), Some(most)) => {
                super::super::figures::joined([figure(least), "–".into(), figure(most)])
            }
            _ => "–".into(),
        }
    }
}

/// The picture of an experiment, as a file.
pub fn layout_overview(overview: &LayoutOverview<'_>, format: Format, style: &Style) -> Vec<u8> {
    super::file_of(&draw(overview, style), format, style)
}

/// The picture as SVG for a page, without the words that the page has as text.
pub fn layout_svg(overview: &LayoutOverview<'_>, theme: Theme) -> String {
    let subject = overview.subject.of_page();
    let overview = LayoutOverview { subject: &subject, headline: None, sentences: &[], ..*overview };
    let mut scene = draw(&overview, &Style { theme, ..Style::default() });
    page::cut_bottom(&mut scene);
    svg(&scene)
}

fn draw(overview: &LayoutOverview<'_>, style: &Style) -> Scene {
    let material = Material { subject: overview.subject, run: None, demand: None };
    let message = overview.headline.map(Caption::from);
    let view = View::new(&material, style).with_message(message.as_ref());
    let sheet = Sheet::new(overview, view.palette);
    let mut scene = Scene::new(PAGE_WIDTH, sheet.page_height() as u32, view.palette.background);
    page::head(&mut scene, &view, TITLE);
    if sheet.rows.is_empty() {
        let room = Rect { x: NAMES.0, y: TOP, w: WORDS.0 + WORDS.1 - NAMES.0, h: 60 };
        page::nothing(&mut scene, &view, room, "Nothing to show: there is no method.");
    } else {
        let figures: Vec<&Figures> = sheet.rows.iter().filter_map(|row| Some(&row.of.map?.figures)).collect();
        strip::key(&mut scene, view.palette, NAMES.0, &figures);
        sheet.legend(&mut scene);
        sheet.headings(&mut scene);
        sheet.grid(&mut scene);
        (0..sheet.rows.len()).for_each(|number| sheet.row(&mut scene, number));
        sheet.axes(&mut scene);
    }
    sheet.sentences(&mut scene);
    page::bottom(&mut scene, &view, &[]);
    scene.facts = facts(TITLE, overview.subject);
    scene.facts.push(figures_of(&scene));
    scene
}

/// Draws a sample of a mark of the legend, from a left edge on.
type Sample<'a> = &'a dyn Fn(&mut Scene, i32);

/// A method in the picture.
struct Row<'a> {
    of: &'a LayoutRow<'a>,
    pieces: Vec<Piece>,
}

impl Row<'_> {
    /// Whether its file has blocks. Scans of a file without blocks say nothing about the device.
    fn has_blocks(&self) -> bool {
        !self.pieces.is_empty()
    }
}

/// Input of all parts of the picture.
struct Sheet<'a> {
    palette: &'static Palette,
    rows: Vec<Row<'a>>,
    /// Height of a row.
    height: i32,
    /// End of the longest file.
    end: u64,
    disk: Disk,
    rates: Rates,
    /// Sentences below the rows, in lines.
    lines: Vec<String>,
}

/// Methods in the order of the picture.
fn in_order<'a>(rows: &'a [LayoutRow<'a>]) -> Vec<&'a LayoutRow<'a>> {
    let mut sorted: Vec<_> = rows.iter().collect();
    // Of equal ones the reference is last: it is next to those without blocks, and the others lead to it.
    sorted.sort_by(|a, b| {
        b.mean_fragments().total_cmp(&a.mean_fragments()).then(a.is_reference.cmp(&b.is_reference))
    });
    let mut left = MOST_ROWS - usize::from(rows.iter().any(|row| row.is_reference));
    sorted.retain(|row| {
        let is_kept = row.is_reference || left > 0;
        left -= usize::from(is_kept && !row.is_reference);
        is_kept
    });
    sorted
}

impl<'a> Sheet<'a> {
    fn new(overview: &LayoutOverview<'a>, palette: &'static Palette) -> Sheet<'a> {
        let rows: Vec<Row<'a>> = in_order(overview.rows)
            .into_iter()
            .map(|of| {
                let rows = of.map.and_then(|map| map.rows.as_deref()).unwrap_or_default();
                Row { of, pieces: strip::pieces(rows) }
            })
            .collect();
        let hidden = overview.rows.len() - rows.len();
        let more = (hidden > 0).then(|| {
            format!("{hidden} more methods with fewer fragments are not shown; layout.csv has them.")
        });
        let room = f64::from(WORDS.0 + WORDS.1 - NAMES.0);
        let wrap = |sentence: &String| fonts::wrap(sentence, LABEL_SIZE, Weight::Regular, room);
        let lines: Vec<String> = overview.sentences.iter().chain(&more).flat_map(wrap).collect();
        let rest = TOP + AXES + LINE * lines.len() as i32 + 16 + page::BOTTOM;
        let height = (PAGE_HEIGHT as i32 - rest) / rows.len().max(1) as i32;
        let end = rows.iter().filter_map(|row| Some(row.pieces.last()?.extent.end())).max();
        let sizes = rows.iter().filter_map(|row| Some(row.of.map?.size)).max();
        Sheet {
            palette,
            height: height.clamp(*ROW.start(), *ROW.end()),
            end: end.max(sizes).unwrap_or(1).max(1),
            disk: Disk::of(&rows),
            rates: Rates::of(&rows),
            rows,
            lines,
        }
    }

    /// First pixel row below all rows.
    fn bottom(&self) -> i32 {
        TOP + self.height * self.rows.len().max(1) as i32
    }

    fn page_height(&self) -> i32 {
        self.bottom() + AXES + LINE * self.lines.len() as i32 + 16 + page::BOTTOM
    }

    /// Draws the meaning of the marks of rates.
    fn legend(&self, scene: &mut Scene) {
        let p = self.palette;
        let y = 158;
        let middle = y - 4;
        let mut x = 770;
        let marks: [(&str, i32, Sample<'_>); 5] = [
            ("creation with flush", 26, &|scene, x| {
                scene.area(Rect { x, y: middle - 3, w: 26, h: 8 }, Fill::Solid(self.bar_color()));
            }),
            ("first scan", 12, &|scene, x| dot(scene, (x + 6, middle), 5, p.background, p.read)),
            ("later scans", 12, &|scene, x| dot(scene, (x + 6, middle), 5, p.read, p.read)),
            ("mean with 95 % interval", 30, &|scene, x| {
                self.interval(scene, middle, x + 15, (x, x + 30), (true, true));
            }),
            ("mean of the reference", 8, &|scene, x| {
                scene.vertical(x + 4, (middle - 8, middle + 8), Stroke::dashed(p.axis, 1));
            }),
        ];
        for (name, width, mark) in marks {
            mark(scene, x);
            let text = words(name, x + width + 8, y, LABEL_SIZE, p, Anchor::Start);
            x = text.bounds().right() + 24;
            scene.text(text);
        }
    }

    /// The colour of creation: the marks of scans stand out from it.
    fn bar_color(&self) -> Rgb {
        self.palette.background.mix(self.palette.write, 0.7)
    }

    fn headings(&self, scene: &mut Scene) {
        let has_several = self.rows.iter().any(|row| row.of.fragments.len() > 1);
        let file = match has_several {
            true => "first file, from start to end",
            false => "file, from start to end",
        };
        for (heading, x, anchor) in [
            ("method", NAMES.0, Anchor::Start),
            ("fragments", COUNTS, Anchor::End),
            (file, FILES.0, Anchor::Start),
            (&self.disk.heading, DISK.0, Anchor::Start),
            ("rates", RATES.0, Anchor::Start),
            ("scans after the first", WORDS.0, Anchor::Start),
        ] {
            let mut text = words(heading, x, TOP - 11, LABEL_SIZE, self.palette, anchor);
            text.weight = Weight::Bold;
            scene.text(text);
        }
    }

    /// Draws lines below the rows.
    fn grid(&self, scene: &mut Scene) {
        let (p, ends) = (self.palette, (TOP, self.bottom()));
        for rate in self.rates.ticks() {
            scene.vertical(self.rates.x(rate), ends, Stroke::solid(p.grid, 1));
        }
        for number in 0..=self.rows.len() as i32 {
            let y = TOP + number * self.height;
            scene.horizontal(y, (NAMES.0, WORDS.0 + WORDS.1 - 1), Stroke::solid(p.grid, 1));
        }
        let reference = self.rows.iter().find(|row| row.of.is_reference);
        if let Some(mean) = reference.and_then(|row| row.of.mean) {
            scene.vertical(self.rates.x(mean), ends, Stroke::dashed(p.axis, 1));
        }
    }

    fn row(&self, scene: &mut Scene, number: usize) {
        let row = &self.rows[number];
        let y = TOP + number as i32 * self.height;
        self.name(scene, row, y);
        let pad = (self.height / 7).clamp(4, 10);
        let band = Rect { x: 0, y: y + pad, w: 0, h: self.height - 2 * pad + 1 };
        let p = self.palette;
        let file = Rect { x: FILES.0, w: FILES.1, ..band };
        strip::strip(scene, p, &row.pieces, self.end, file);
        if !row.has_blocks() {
            let (x, y) = (file.x + file.w / 2, file.y + file.h / 2 + 4);
            scene.text(words("no blocks", x, y, TICK_SIZE, p, Anchor::Middle));
        }
        self.disk.draw(scene, p, row, Rect { x: DISK.0, w: DISK.1, ..band });
        match row.has_blocks() {
            true => self.rates_of(scene, row.of, y),
            false => {
                let (x, y) = (RATES.0 + 12, y + self.height / 2 + 4);
                let mut text = words("read without the device", x, y, TICK_SIZE, p, Anchor::Start);
                text.color = p.faint_text;
                scene.text(text);
            }
        }
        self.words_of(scene, row.of, y);
    }

    /// The method and its number of fragments.
    fn name(&self, scene: &mut Scene, row: &Row<'_>, y: i32) {
        let p = self.palette;
        let most = ((self.height - 4) / 16).clamp(1, 4) as usize;
        let size = if self.height < TWO_LINES { 12.0 } else { 14.0 };
        let lines = name_lines(&row.of.name, size, f64::from(NAMES.1), most);
        stacked(scene, y + self.height / 2, lines.len(), |scene, line, y| {
            scene.text(words(&lines[line], NAMES.0, y, size, p, Anchor::Start));
        });
        let mut count = words(row.of.count(), COUNTS, 0, 17.0, p, Anchor::End);
        count.weight = Weight::Bold;
        let files = row.of.fragments.len();
        let is_reported = files > 1 && self.height >= TWO_LINES;
        let mut note = words(format!("in {files} files"), COUNTS, 0, TICK_SIZE, p, Anchor::End);
        note.color = p.faint_text;
        let texts: Vec<Text> = [Some(count), is_reported.then_some(note)].into_iter().flatten().collect();
        stacked(scene, y + self.height / 2, texts.len(), |scene, line, y| {
            scene.text(Text { y, ..texts[line].clone() });
        });
    }

    fn rates_of(&self, scene: &mut Scene, row: &LayoutRow<'_>, top: i32) {
        let p = self.palette;
        let at = |percent: i32| top + self.height * percent / 100;
        if let Some(created) = row.created {
            let bar = Rect { x: RATES.0, y: at(72), w: self.rates.x(created) - RATES.0, h: at(83) - at(72) };
            scene.area(bar, Fill::Solid(self.bar_color()));
        }
        let radius = if self.height < TWO_LINES { 4 } else { 5 };
        // The first one is in front: it may be alone.
        let later = row.scans.iter().skip(1).map(|rate| (rate, p.read, p.read));
        let first = row.scans.first().map(|rate| (rate, p.background, p.read));
        for (rate, fill, edge) in later.chain(first) {
            let place = (self.rates.x(*rate), at(25));
            // A margin separates it from the marks below it.
            dot(scene, place, radius + 1, p.background, p.background);
            dot(scene, place, radius, fill, edge);
        }
        if let Some(mean) = row.mean {
            let (low, high) = row.interval.unwrap_or((mean, mean));
            let ends = (self.rates.x(low), self.rates.x(high));
            self.interval(scene, at(51), self.rates.x(mean), ends, (true, high <= self.rates.most));
        }
    }

    /// A mean, and the ends of its interval; an end beyond the axis has no mark.
    fn interval(&self, scene: &mut Scene, y: i32, mean: i32, ends: (i32, i32), marked: (bool, bool)) {
        let p = self.palette;
        let stroke = Stroke::solid(p.text, 1);
        scene.horizontal(y, ends, stroke);
        for (x, is_marked) in [(ends.0, marked.0), (ends.1, marked.1)] {
            if is_marked && x != mean {
                scene.vertical(x, (y - 3, y + 3), stroke);
            }
        }
        scene.area(Rect { x: mean - 1, y: y - 5, w: 3, h: 11 }, Fill::Solid(p.text));
    }

    /// Whether scans differ, and the rates as numbers.
    fn words_of(&self, scene: &mut Scene, row: &LayoutRow<'_>, y: i32) {
        let p = self.palette;
        let mut verdict = Caption::from(&row.verdict);
        if let Some((low, high)) = row.change {
            let path = |end: &str| row.path(&format!("change.{end}_percent"));
            verdict = verdict.of(path("low"), low).of(path("high"), high);
        }
        let rate = |word: &str, path: &str, value: f64| {
            Caption::figure(format!("{word} {} MiB/s", mib(value)), row.path(path), value)
        };
        let mean = row.mean.map(|mean| rate("mean", "later_scans.mean", mean));
        let created = row.created.map(|created| rate("created", "create_and_sync_bytes_per_second", created));
        let room = [self.height >= TWO_LINES, self.height >= THREE_LINES];
        let further =
            [mean, created].into_iter().zip(room).filter_map(|(line, has_room)| line.filter(|_| has_room));
        let lines: Vec<(Caption, bool)> =
            std::iter::once((verdict, true)).chain(further.map(|line| (line, false))).collect();
        stacked(scene, y + self.height / 2, lines.len(), |scene, line, y| {
            let (caption, is_verdict) = lines[line].clone();
            let size = if is_verdict { LABEL_SIZE } else { TICK_SIZE };
            let weight = if row.change.is_some() && is_verdict { Weight::Bold } else { Weight::Regular };
            let fitted =
                Caption { text: fonts::fit(&caption.text, size, weight, f64::from(WORDS.1)), ..caption };
            let color = if is_verdict { p.text } else { p.faint_text };
            scene.text(Text { weight, color, ..words(fitted, WORDS.0, y, size, p, Anchor::Start) });
        });
    }

    /// Ticks and labels below the rows.
    fn axes(&self, scene: &mut Scene) {
        let (p, y) = (self.palette, self.bottom());
        let label = |scene: &mut Scene, text: &str, (x, w): (i32, i32)| {
            scene.text(words(text, x + w / 2, y + 36, LABEL_SIZE, p, Anchor::Middle));
        };
        let end = words(units::bytes(self.end), FILES.0 + FILES.1, y + 18, TICK_SIZE, p, Anchor::End);
        scene.text(words("0", FILES.0, y + 18, TICK_SIZE, p, Anchor::Start));
        scene.text(end);
        label(scene, "offset", FILES);
        self.disk.axis(scene, p, y);
        if self.disk.is_known() {
            label(scene, &self.disk.label, DISK);
        }
        for rate in self.rates.ticks() {
            let x = self.rates.x(rate);
            scene.vertical(x, (y, y + 4), Stroke::solid(p.axis, 1));
            scene.text(words(units::plain(rate / MIB), x, y + 18, TICK_SIZE, p, Anchor::Middle));
        }
        scene.vertical(RATES.0, (TOP, y), Stroke::solid(p.axis, 1));
        label(scene, "MiB/s", RATES);
    }

    fn sentences(&self, scene: &mut Scene) {
        for (number, line) in self.lines.iter().enumerate() {
            let y = self.bottom() + AXES + LINE * (number as i32 + 1) - 4;
            scene.text(words(line, NAMES.0, y, LABEL_SIZE, self.palette, Anchor::Start));
        }
    }
}

/// Calls `draw` with the number and the base line of each of some lines that stand in the middle of a row.
fn stacked(scene: &mut Scene, middle: i32, lines: usize, mut draw: impl FnMut(&mut Scene, usize, i32)) {
    let first = middle + 5 - 8 * (lines as i32 - 1);
    (0..lines).for_each(|line| draw(scene, line, first + 16 * line as i32));
}

/// The words of a method in at most `most` lines, broken before a `+` if possible.
fn name_lines(name: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let fits = |text: &str| fonts::width(text, size, Weight::Regular) <= room;
    let mut lines: Vec<String> = Vec::new();
    for (number, word) in name.split('+').enumerate() {
        let word = if number == 0 { word.to_string() } else { format!("+{word}") };
        match lines.last_mut() {
            Some(last) if fits(&format!("{last}{word}")) || number == 0 => *last += &word,
            _ => lines.push(word),
        }
    }
    let rest = lines.split_off(most.min(lines.len())).concat();
    if let Some(last) = lines.last_mut() {
        *last += &rest;
    }
    lines.iter().map(|line| fonts::fit(line, size, Weight::Regular, room)).collect()
}

/// A rate in MiB/s, with three digits or in whole numbers.
fn mib(rate: f64) -> String {
    let value = rate / MIB;
    if value < 999.5 { units::number(value) } else { units::grouped(value.round() as u64) }
}

/// A round mark.
fn dot(scene: &mut Scene, (x, y): (i32, i32), radius: i32, fill: Rgb, edge: Rgb) {
    let r = radius;
    let half = (f64::from(r) * 0.414).round() as i32;
    let corners =
        [(half, -r), (r, -half), (r, half), (half, r), (-half, r), (-r, half), (-r, -half), (-half, -r)];
    scene.polygon(corners.map(|(dx, dy)| (x + dx, y + dy)).to_vec(), fill, Some(edge));
}

/// Rates from 0 on.
struct Rates {
    most: f64,
    step: f64,
}

impl Rates {
    fn of(rows: &[Row<'_>]) -> Rates {
        let of = |row: &Row<'_>| row.of.scans.iter().copied().chain(row.of.created).fold(0.0, f64::max);
        let most = rows.iter().filter(|row| row.has_blocks()).map(of).fold(0.0, f64::max) / MIB;
        let step = units::round_step((most / 6.0).max(1e-3));
        Rates { most: (most / step).ceil().max(1.0) * step * MIB, step: step * MIB }
    }

    fn x(&self, rate: f64) -> i32 {
        RATES.0 + ((rate / self.most).clamp(0.0, 1.0) * f64::from(RATES.1 - 1)).round() as i32
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let (count, step) = ((self.most / self.step).round() as u32, self.step);
        (0..=count).map(move |n| f64::from(n) * step)
    }
}

/// The visible addresses.
struct Disk {
    from: u64,
    to: u64,
    groups: Option<Groups>,
    axis: AddressAxis,
    heading: String,
    label: String,
}

impl Disk {
    fn of(rows: &[Row<'_>]) -> Disk {
        let places = || rows.iter().flat_map(|row| &row.pieces).filter_map(|piece| piece.extent.place());
        let (low, high) = (places().map(|place| place.start).min(), places().map(|place| place.end).max());
        let volumes = || rows.iter().filter_map(|row| Some(&row.of.map?.volume));
        let (low, high) = (low.unwrap_or(0), high.unwrap_or(0));
        let bytes = volumes().filter_map(|volume| volume.bytes).max().filter(|bytes| *bytes >= high);
        let is_part = bytes.is_some_and(|bytes| (high - low) < bytes / ZOOM);
        let (from, to) = if is_part || bytes.is_none() { (low, high) } else { (0, bytes.unwrap_or(high)) };
        let is_logical = volumes().any(|volume| volume.addresses == Addresses::Logical);
        let heading = match bytes.map(units::bytes) {
            _ if is_logical => "logical addresses of btrfs".to_string(),
            Some(bytes) if is_part => format!("part of the file system ({bytes})"),
            Some(bytes) => format!("file system ({bytes})"),
            None => "part of the file system".to_string(),
        };
        let axis = AddressAxis::of(from..to.max(from + 1));
        let label = match axis.base {
            0 => "address".to_string(),
            base => format!("address from {} on", units::bytes(base)),
        };
        let groups = volumes().find_map(|volume| volume.groups);
        Disk { from, to, groups, axis, heading, label }
    }

    fn is_known(&self) -> bool {
        self.to > self.from
    }

    fn x(&self, address: u64) -> i32 {
        let share = address.saturating_sub(self.from) as f64 / (self.to - self.from) as f64;
        DISK.0 + (share.min(1.0) * f64::from(DISK.1 - 1)) as i32
    }

    /// Draws the file's share of each part of the range, and the borders of allocation groups.
    fn draw(&self, scene: &mut Scene, p: &'static Palette, row: &Row<'_>, area: Rect) {
        if !self.is_known() {
            return;
        }
        let shares = strip::shares(&row.pieces, self.from..self.to, area.w);
        for (column, share) in shares.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
            let area = Rect { x: area.x + column as i32, w: 1, ..area };
            scene.area(area, Fill::Solid(strip::share_color(p, share)));
        }
        if let Some(groups) = self.groups {
            let (first, last) = (groups.of(self.from).0 + 1, groups.of(self.to - 1).0);
            for group in (first..=last).filter(|_| last - first < 64) {
                let ends = (area.y, area.bottom() - 1);
                scene.vertical(self.x(group * groups.bytes), ends, Stroke::solid(p.axis, 1));
            }
        }
        outline(scene, p, area);
    }

    /// Draws as many ticks as fit.
    fn axis(&self, scene: &mut Scene, p: &'static Palette, y: i32) {
        if !self.is_known() {
            return;
        }
        let tick = |(address, text): &(u64, String)| {
            words(text, self.x(*address), y + 18, TICK_SIZE, p, Anchor::Middle)
        };
        let all: Vec<Text> = self.axis.ticks.iter().map(tick).collect();
        all.iter().for_each(|text| scene.vertical(text.x, (y, y + 4), Stroke::solid(p.axis, 1)));
        let has_room =
            |texts: &[&Text]| texts.windows(2).all(|t| t[0].bounds().right() + 8 <= t[1].bounds().x);
        // Every tick has a label, or every second one, or every fourth one.
        let wanted = [1, 2, 4, 8].map(|step| all.iter().step_by(step).collect::<Vec<_>>());
        let shown = wanted.into_iter().find(|texts| has_room(texts)).unwrap_or_default();
        let is_inside = |text: &&Text| text.bounds().right() <= RATES.0 - 12;
        shown.into_iter().filter(is_inside).for_each(|text| scene.text(text.clone()));
    }
}

#[cfg(test)]
mod tests;
