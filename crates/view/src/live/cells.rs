//! Cells of a terminal: their content, and the escape sequences that update it.

use crate::palette::Rgb;
use std::fmt::Write;

/// A terminal colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Ink {
    /// The terminal's default.
    #[default]
    Plain,
    /// One of the first sixteen.
    Basic(u8),
    /// One of the 256.
    Indexed(u8),
    /// Any colour.
    True(Rgb),
}

/// Maximum unchanged cells that are sent again to save a cursor movement.
const BRIDGED: usize = 4;

/// One character and its colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell {
    /// The character, which takes one column.
    pub glyph: char,
    /// Its colour.
    pub ink: Ink,
    /// The background colour.
    pub ground: Ink,
}

impl Default for Cell {
    fn default() -> Cell {
        Cell { glyph: ' ', ink: Ink::Plain, ground: Ink::Plain }
    }
}

/// Rows of cells.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    columns: usize,
    cells: Vec<Cell>,
}

impl Frame {
    /// An empty frame.
    pub fn new(columns: usize, rows: usize) -> Frame {
        Frame { columns, cells: vec![Cell::default(); columns * rows] }
    }

    /// Its width.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Its rows, from above to below.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[Cell]> {
        self.cells.chunks_exact(self.columns.max(1))
    }

    /// Sets a cell; positions outside are ignored.
    pub(super) fn set(&mut self, column: usize, row: usize, cell: Cell) {
        if column < self.columns
            && let Some(place) = self.cells.get_mut(row * self.columns + column)
        {
            *place = cell;
        }
    }

    /// Sets characters one after the other.
    pub(super) fn put(&mut self, column: usize, row: usize, text: &str, ink: Ink) {
        for (i, glyph) in text.chars().enumerate() {
            self.set(column + i, row, Cell { glyph, ink, ground: Ink::Plain });
        }
    }

    /// Converts to text without colours; no line ends with a blank.
    pub fn to_text(&self) -> String {
        let line = |row: &[Cell]| row.iter().map(|cell| cell.glyph).collect::<String>();
        self.rows().map(|row| line(row).trim_end().to_string() + "\n").collect()
    }

    /// The output that turns `before` into this frame on a terminal: only cells that differ. Without a previous frame of
    /// the same size, everything.
    pub fn changes(&self, before: Option<&Frame>) -> String {
        let before = before.filter(|b| b.columns == self.columns && b.cells.len() == self.cells.len());
        let mut out = String::new();
        if before.is_none() {
            out += "\x1b[0m\x1b[2J";
        }
        let blank = Cell::default();
        let is_same = |i: usize| self.cells[i] == *before.map_or(&blank, |b| &b.cells[i]);
        let (mut style, mut at) = ((Ink::Plain, Ink::Plain), None);
        for i in (0..self.cells.len()).filter(|i| !is_same(*i)) {
            // Rewriting a few equal cells is shorter than a cursor movement.
            let from = match at {
                Some(at) if i - at <= BRIDGED && i / self.columns == at / self.columns => at,
                _ => {
                    let _ = write!(out, "\x1b[{};{}H", i / self.columns + 1, i % self.columns + 1);
                    i
                }
            };
            for cell in &self.cells[from..=i] {
                if style != (cell.ink, cell.ground) {
                    style = (cell.ink, cell.ground);
                    select(&mut out, style);
                }
                out.push(cell.glyph);
            }
            // After the last column terminals differ.
            at = Some(i + 1).filter(|next| next % self.columns != 0);
        }
        if style != (Ink::Plain, Ink::Plain) {
            out += "\x1b[0m";
        }
        out
    }
}

fn select(out: &mut String, (ink, ground): (Ink, Ink)) {
    out.push_str("\x1b[0");
    for (ink, base) in [(ink, 30), (ground, 40)] {
        let _ = match ink {
            Ink::Plain => Ok(()),
            Ink::Basic(n) if n < 8 => write!(out, ";{}", base + u32::from(n)),
            Ink::Basic(n) => write!(out, ";{}", base + 52 + u32::from(n)),
            Ink::Indexed(n) => write!(out, ";{};5;{n}", base + 8),
            Ink::True(Rgb(r, g, b)) => write!(out, ";{};2;{r};{g};{b}", base + 8),
        };
    }
    out.push('m');
}
