//! Fast path for the usual line of a load. Unusual lines are read by the full parser, which knows every variation and
//! reports errors; where both read a line, the results are equal.

use crate::TimedRequest;
use crate::cursor::Cursor;
use iosonar_plan::{Durability, Extent, Nanos, Op};

const SEPARATOR: u8 = b';';

/// Parses the line at the start of `input`; returns the request and the line's length including its end. `None` if the
/// line is unusual or incomplete.
pub(crate) fn request(line: u64, input: &[u8]) -> Option<(TimedRequest, usize)> {
    let mut at = Cursor::new(input);
    let time = at.time()?;
    at.sign(SEPARATOR)?;
    let sector = at.number()?;
    at.sign(SEPARATOR)?;
    let length = at.number()?;
    at.sign(SEPARATOR)?;
    let (op, durability, pushed) = operation(&mut at)?;
    let (mut delay, mut latency) = (Nanos(0), Nanos(0));
    if at.sign(SEPARATOR).is_some() {
        delay = at.time()?;
        at.sign(SEPARATOR)?;
        latency = at.time()?;
    }
    end(&mut at)?;
    let extent = Extent::from_sectors(sector, length).filter(|_| length > 0)?;
    Some((TimedRequest { line, time, op, durability, extent, pushed, delay, latency }, at.at()))
}

#[inline(always)]
fn operation(at: &mut Cursor<'_>) -> Option<(Op, Durability, bool)> {
    at.blanks();
    let (op, pushed) = match at.peek()? {
        b'R' => (Op::Read, false),
        b'W' => (Op::Write, false),
        b'r' => (Op::Read, true),
        b'w' => (Op::Write, true),
        _ => return None,
    };
    at.skip(1);
    let mut durability = Durability::NONE;
    loop {
        let letter = at.peek()?;
        if !letter.is_ascii_alphabetic() {
            break;
        }
        durability =
            durability.with(Durability::FUA, letter == b'F').with(Durability::PREFLUSH, letter == b'P');
        at.skip(1);
    }
    Some((op, if op.is_write() { durability } else { Durability::NONE }, pushed))
}

fn end(at: &mut Cursor<'_>) -> Option<()> {
    at.blanks();
    let _ = at.byte(b'\r');
    at.byte(b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blkreplay::{Line, parse_line};
    use proptest::prelude::*;

    #[test]
    fn fast_path_reads_common_lines() {
        for text in [
            "     0.000000000 ;           16 ;    8 ; W ; 0.0 ; 0.0\r\n",
            "0.000000001;24;8;R\n",
            " 1.5 ; 32 ; 8 ;RA ; 0.25 ; 3 \nnext",
            "8 ; 0 ; 1 ; w ; 0.000000001 ; 12.5\n",
            "8 ; 0 ; 1 ; WPF ; 0.0 ; 0.0\n",
        ] {
            let (found, length) = request(3, text.as_bytes()).expect(text);
            assert_eq!(&text[length - 1..length], "\n");
            assert_eq!(parse_line(3, &text[..length]), Line::Request(found));
        }
    }

    #[test]
    fn fast_path_leaves_other_lines_to_full_parser() {
        for text in [
            "",
            "0.1 ; 16 ; 8 ; W",
            "0.1 ; 16 ; 0 ; W\n",
            "0.1234567890 ; 16 ; 8 ; W\n",
            "0.1 ; 16 ; 8 ; X\n",
            "0.1 ; 16 ; 8 ; W ; 0.0 ; 0.0 ; more\n",
            "0.1 ; -16 ; 8 ; W\n",
            "1234567890123456789012 ; 16 ; 8 ; W\n",
            "# text\n",
        ] {
            assert!(request(1, text.as_bytes()).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn fast_path_matches_full_parser(
            text in "[ ]{0,2}[0-9]{0,11}[.,]?[0-9]{0,10} ?;[ \t]?-?[0-9]{0,20} ; [0-9]{0,3} ;[ ]?[RWrwFDX][ASFP]{0,2}( ; ?[0-9.]{0,5} ; [0-9]{1,2}\\.[0-9]{0,9}[ ;]?)?\r?\n"
        ) {
            if let Some((found, length)) = request(1, text.as_bytes()) {
                prop_assert_eq!(length, text.len());
                prop_assert_eq!(parse_line(1, &text), Line::Request(found));
            }
        }
    }
}
