//! Formats tables as text.

/// Aligns cells in columns, two blanks apart. Columns in `left` are left-aligned, others right-aligned.
pub(crate) fn aligned<const N: usize>(lines: &[[String; N]], left: &[usize]) -> Vec<String> {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let cell = |(column, cell): (usize, &String)| match left.contains(&column) {
        true => format!("{cell:<width$}", width = widths[column]),
        false => format!("{cell:>width$}", width = widths[column]),
    };
    let row = |line: &[String; N]| line.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    lines.iter().map(|line| row(line).trim_end().to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_names_left_and_numbers_right() {
        let lines = [["name", "n", "verdict"], ["a", "1000", ""]].map(|line| line.map(String::from));
        assert_eq!(aligned(&lines, &[0, 2]), ["name     n  verdict", "a     1000"]);
    }
}
