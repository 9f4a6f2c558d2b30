//! Linked lists of small numbers in one arena: no allocation once the arena is warm.

/// The end of a list, and the absence of a number.
pub(crate) const NONE: u32 = u32::MAX;

/// Many short lists. A list is the index of its first cell, or [`NONE`].
#[derive(Debug)]
pub(crate) struct Lists {
    cells: Vec<Cell>,
    free: u32,
    in_use: usize,
}

#[derive(Debug, Clone, Copy)]
struct Cell {
    value: u32,
    next: u32,
}

impl Lists {
    pub(crate) fn with_capacity(cells: usize) -> Lists {
        Lists { cells: Vec::with_capacity(cells), free: NONE, in_use: 0 }
    }

    /// Cells that lists hold now.
    pub(crate) fn in_use(&self) -> usize {
        self.in_use
    }

    /// The most cells that were ever used at once.
    #[cfg(test)]
    pub(crate) fn cells(&self) -> usize {
        self.cells.len()
    }

    /// Puts `value` before `list` and returns the new list.
    pub(crate) fn push(&mut self, list: u32, value: u32) -> u32 {
        let cell = Cell { value, next: list };
        self.in_use += 1;
        match self.free {
            NONE => {
                let index = self.cells.len();
                // A number that wrapped around would mix lists up and let requests conflict.
                assert!(index < NONE as usize, "2^32 overlaps at once: lower max_waiting");
                self.cells.push(cell);
                index as u32
            }
            index => {
                self.free = self.cells[index as usize].next;
                self.cells[index as usize] = cell;
                index
            }
        }
    }

    /// Takes the first value off `list`.
    pub(crate) fn pop(&mut self, list: &mut u32) -> Option<u32> {
        let index = *list;
        let cell = *self.cells.get(index as usize)?;
        *list = cell.next;
        self.cells[index as usize].next = self.free;
        self.free = index;
        self.in_use -= 1;
        Some(cell.value)
    }

    /// The values of `list`, the last pushed first.
    pub(crate) fn iter(&self, list: u32) -> impl Iterator<Item = u32> {
        let mut at = list;
        std::iter::from_fn(move || {
            let cell = self.cells.get(at as usize)?;
            at = cell.next;
            Some(cell.value)
        })
    }

    /// A copy of `list`.
    pub(crate) fn duplicate(&mut self, list: u32) -> u32 {
        let (mut copy, mut at) = (NONE, list);
        while let Some(cell) = self.cells.get(at as usize).copied() {
            copy = self.push(copy, cell.value);
            at = cell.next;
        }
        copy
    }

    /// `list` without `value`.
    pub(crate) fn remove(&mut self, list: u32, value: u32) -> u32 {
        let (mut before, mut at) = (NONE, list);
        while let Some(cell) = self.cells.get(at as usize).copied() {
            if cell.value != value {
                (before, at) = (at, cell.next);
                continue;
            }
            self.cells[at as usize].next = self.free;
            self.free = at;
            self.in_use -= 1;
            if before == NONE {
                return cell.next;
            }
            self.cells[before as usize].next = cell.next;
            return list;
        }
        list
    }
}
