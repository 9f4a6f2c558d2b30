//! Requests per second over time: bars of the delivered rate, a line of the target rate.

use super::cells::{Cell, Frame, Ink};
use super::history::Column;
use super::layout::{Area, Look};
use super::ramp::Ramp;
use crate::units::Charset;

pub(super) const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// A horizontal line in the lowest to the highest quarter of a cell.
const LINES: [char; 4] = ['⣀', '⠤', '⠒', '⠉'];

/// Draws `columns` into an area, and its scale before it.
pub(super) fn draw(frame: &mut Frame, area: Area, columns: &[Column], logarithmic: bool, look: Look) {
    let rates = columns.iter().flat_map(|c| [c.actual(), c.demand()]).flatten();
    let scale = Scale::new(rates.fold(0.0, f64::max), logarithmic);
    labels(frame, area, &scale, look);
    for (i, column) in columns.iter().enumerate() {
        let actual = column.actual().map_or(0.0, |rate| scale.share(rate));
        let demand = column.demand().map(|rate| scale.share(rate));
        for line in 0..area.height {
            // From the bottom of the area.
            let below = (area.height - 1 - line) as f64 / area.height as f64;
            let part = |share: f64| ((share - below) * area.height as f64).clamp(0.0, 1.0);
            let is_here = |share: f64| {
                share > 0.0
                    && share > below
                    && part(share) > 0.0
                    && (share - below) * area.height as f64 <= 1.0
            };
            let demand = demand.filter(|d| is_here(*d)).map(part);
            let cell = cell(part(actual), demand, look);
            frame.set(area.left + i, area.top + line, cell);
        }
    }
}

/// A cell that is filled by a share of its height, and crossed by a line at another.
fn cell(filled: f64, line: Option<f64>, look: Look) -> Cell {
    let palette = Ramp::palette();
    let (actual, demanded) = (look.ramp.ink(palette.actual), look.ramp.ink(palette.demanded));
    let plain = |glyph, ink| Cell { glyph, ink, ground: Ink::Plain };
    if look.charset == Charset::Ascii {
        return match (filled >= 0.5, line) {
            (true, Some(_)) => plain('=', actual),
            (true, None) => plain('#', actual),
            (false, Some(_)) => plain('-', demanded),
            (false, None) if filled > 0.0 => plain('.', actual),
            (false, None) => Cell::default(),
        };
    }
    let bar = plain(BARS[(filled * 8.0).ceil() as usize], actual);
    match line {
        None if filled == 0.0 => Cell::default(),
        None => bar,
        Some(at) => {
            let glyph = LINES[((at * 4.0).ceil() as usize).clamp(1, 4) - 1];
            match (filled, look.ramp) {
                (0.0, _) => plain(glyph, demanded),
                // A line over a bar needs a second colour.
                (_, Ramp::Mono) => bar,
                (1.0, _) => Cell { glyph, ink: demanded, ground: actual },
                // Both in one cell: the bar, on a ground in the colour of the demand.
                _ => Cell { ground: look.ramp.ink(palette.background.mix(palette.demanded, 0.45)), ..bar },
            }
        }
    }
}

fn labels(frame: &mut Frame, area: Area, scale: &Scale, look: Look) {
    let ink = look.faint();
    for line in 0..area.height {
        let label = match line {
            0 => look.number(scale.top),
            l if l + 1 == area.height => "0".to_string(),
            l if 2 * l == area.height && area.height >= 4 => look.number(scale.at(0.5)),
            _ => String::new(),
        };
        look.label(frame, area, line, &label, ink);
    }
}

/// The axis of rates, from 0 to a round number.
struct Scale {
    top: f64,
    logarithmic: bool,
}

impl Scale {
    fn new(most: f64, logarithmic: bool) -> Scale {
        let power = 10f64.powf(most.max(1.0).log10().floor());
        let tops =
            if logarithmic { &[1.0, 10.0][..] } else { &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0][..] };
        let top = tops.iter().map(|t| t * power).find(|t| *t >= most).unwrap_or(most);
        Scale { top: top.max(if logarithmic { 10.0 } else { 1.0 }), logarithmic }
    }

    fn share(&self, rate: f64) -> f64 {
        match self.logarithmic {
            false => (rate / self.top).min(1.0),
            true => ((1.0 + rate).log10() / (1.0 + self.top).log10()).min(1.0),
        }
    }

    /// The rate at a share.
    fn at(&self, share: f64) -> f64 {
        match self.logarithmic {
            false => self.top * share,
            true => (1.0 + self.top).powf(share) - 1.0,
        }
    }
}
