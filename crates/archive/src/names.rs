//! Columns of few words, such as operations: a page of the words, then the index of each record's word in one or two bits.
//!
//! The library supports this encoding, too, but creates a shared byte array for each word: that would cost more than
//! any other column, in writing and in reading.

use crate::columns::word_of;
use crate::encoded::Encoded;
use bytes::Bytes;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageReader, PageWriter};
use parquet::data_type::ByteArray;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::ColumnDescPtr;

/// Numbers packed together.
const PACKED: usize = 8;

/// Bits of a word's index, at most 8.
fn width(names: &[&str]) -> u32 {
    usize::BITS - names.len().saturating_sub(1).leading_zeros()
}

/// Encodes a column of words, given by their indexes in the list.
pub(crate) fn encode(
    names: &'static [&'static str],
    values: &[u8],
    description: ColumnDescPtr,
    with_range: bool,
) -> Result<Encoded> {
    let names = &used(names, values);
    let mut sink = TrackedWrite::new(Vec::new());
    let mut pages = SerializedPageWriter::new(&mut sink);
    let words = words_page(names);
    let words = pages.write_page(CompressedPage::new(words, plain(names).len()))?;
    let packed = pack(values, width(names));
    let size = packed.len();
    let numbers = Page::DataPage {
        buf: packed.into(),
        num_values: values.len() as u32,
        encoding: Encoding::RLE_DICTIONARY,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    let numbers = pages.write_page(CompressedPage::new(numbers, size))?;
    let mut metadata = ColumnChunkMetaData::builder(description)
        .set_compression(Compression::UNCOMPRESSED)
        .set_encodings(vec![Encoding::PLAIN, Encoding::RLE, Encoding::RLE_DICTIONARY])
        .set_total_compressed_size((words.compressed_size + numbers.compressed_size) as i64)
        .set_total_uncompressed_size((words.uncompressed_size + numbers.uncompressed_size) as i64)
        .set_num_values(values.len() as i64)
        .set_dictionary_page_offset(Some(words.offset as i64))
        .set_data_page_offset(numbers.offset as i64);
    if with_range {
        metadata = metadata.set_statistics(range(names, values));
    }
    Ok(Encoded { rows: values.len(), bytes: sink.into_inner()?.into(), metadata: metadata.build()? })
}

/// The words up to the highest used one, so that rare words do not make all indexes longer.
fn used(names: &'static [&'static str], values: &[u8]) -> Vec<&'static str> {
    let most = values.iter().copied().max().unwrap_or(0).max(1);
    (0..=most).map(|number| word_of(names, number)).collect()
}

fn plain(names: &[&str]) -> Bytes {
    let mut bytes = Vec::new();
    for name in names {
        bytes.extend_from_slice(&(name.len() as u32).to_le_bytes());
        bytes.extend_from_slice(name.as_bytes());
    }
    bytes.into()
}

fn words_page(names: &[&str]) -> Page {
    let num_values = names.len() as u32;
    Page::DictionaryPage { buf: plain(names), num_values, encoding: Encoding::PLAIN, is_sorted: false }
}

/// Minimum and maximum word present.
fn range(names: &[&str], values: &[u8]) -> Statistics {
    let present = names.iter().enumerate().filter(|(number, _)| values.contains(&(*number as u8)));
    let (mut least, mut greatest) = (None, None);
    for (_, name) in present {
        least = Some(least.map_or(*name, |known: &str| known.min(name)));
        greatest = Some(greatest.map_or(*name, |known: &str| known.max(name)));
    }
    let (least, greatest) = (least.map(ByteArray::from), greatest.map(ByteArray::from));
    Statistics::ByteArray(ValueStatistics::new(least, greatest, None, Some(0), false))
}

/// Packs the width, then one run of numbers of `width` bits each, padded with zeros.
fn pack(values: &[u8], width: u32) -> Vec<u8> {
    let groups = values.len().div_ceil(PACKED);
    let mut out = Vec::with_capacity(8 + groups * width as usize);
    out.push(width as u8);
    let mut head = groups << 1 | 1;
    while head > 0x7f {
        out.push(head as u8 | 0x80);
        head >>= 7;
    }
    out.push(head as u8);
    for group in values.chunks(PACKED) {
        let packed = (0..).zip(group).fold(0u64, |packed, (at, n)| packed | u64::from(*n) << (at * width));
        out.extend_from_slice(&packed.to_le_bytes()[..width as usize]);
    }
    out
}

/// Reads word numbers of a column that is stored plainly or in this encoding, without absent values. `number` maps a
/// word to its number. `None` for any other encoding, which the library reads.
pub(crate) fn decode(
    mut pages: Box<dyn PageReader>,
    rows: usize,
    number: impl Fn(&[u8]) -> Option<u8>,
) -> Result<Option<Vec<u8>>> {
    let mut numbers = Vec::with_capacity(rows);
    let mut words = Vec::new();
    while let Some(page) = pages.get_next_page()? {
        let done = match page {
            Page::DictionaryPage { buf, num_values, encoding: Encoding::PLAIN, .. } => {
                read_plain(&buf, num_values, rows, &number, &mut words)
            }
            Page::DataPage { buf, num_values, encoding: Encoding::PLAIN, .. } => {
                read_plain(&buf, num_values, rows, &number, &mut numbers)
            }
            Page::DataPage { buf, num_values, encoding: Encoding::RLE_DICTIONARY, .. } => {
                unpack(&buf, num_values as usize, rows, &words, &mut numbers)
            }
            _ => None,
        };
        if done.is_none() {
            return Ok(None);
        }
    }
    Ok(Some(numbers).filter(|numbers| numbers.len() == rows))
}

/// Reads words one after the other, each preceded by its length.
fn read_plain(
    mut rest: &[u8],
    count: u32,
    rows: usize,
    number: impl Fn(&[u8]) -> Option<u8>,
    out: &mut Vec<u8>,
) -> Option<()> {
    for _ in 0..count {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (word, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        out.push(number(word).filter(|_| out.len() < rows)?);
        rest = behind;
    }
    Some(())
}

/// Unpacks runs of packed numbers, and of repeated numbers.
fn unpack(bytes: &[u8], count: usize, rows: usize, words: &[u8], out: &mut Vec<u8>) -> Option<()> {
    let (width, mut rest) = bytes.split_first()?;
    let width = usize::from(*width);
    let end = out.len() + count;
    if width > 8 || end > rows {
        return None;
    }
    while out.len() < end {
        let (head, behind) = variable(rest)?;
        let length = usize::try_from(head >> 1).ok()?;
        if head & 1 == 0 {
            let (repeated, behind) = behind.split_at_checked(width.div_ceil(8))?;
            let word = *words.get(usize::from(repeated.first().copied().unwrap_or(0)))?;
            out.resize(end.min(out.len().checked_add(length)?), word);
            rest = behind;
        } else {
            let (packed, behind) = behind.split_at_checked(length.checked_mul(width)?.min(behind.len()))?;
            unpack_run(packed, width, end, words, out)?;
            rest = behind;
        }
        if length == 0 {
            return None;
        }
    }
    Some(())
}

/// Reads a varint: seven bits in each byte, all but the last marked.
fn variable(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let length = bytes.iter().take(9).position(|byte| byte & 0x80 == 0)? + 1;
    let (number, rest) = bytes.split_at(length);
    Some((number.iter().rev().fold(0, |number, byte| number << 7 | u64::from(byte & 0x7f)), rest))
}

fn unpack_run(packed: &[u8], width: usize, end: usize, words: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if width == 0 {
        out.resize(end, *words.first()?);
        return Some(());
    }
    // Words by number of this width; invalid beyond the list.
    let mut known = [u8::MAX; 256];
    known.iter_mut().zip(words).for_each(|(known, word)| *known = *word);
    let mask = (1usize << width) - 1;
    let begin = out.len();
    for group in packed.chunks_exact(width) {
        let mut word = [0; 8];
        word[..width].copy_from_slice(group);
        let bits = u64::from_le_bytes(word);
        let some: [u8; PACKED] = std::array::from_fn(|at| known[(bits >> (at * width)) as usize & mask]);
        out.extend_from_slice(&some[..PACKED.min(end - out.len())]);
        if out.len() == end {
            break;
        }
    }
    // Fails on a run that is too short, or an invalid number.
    (out.len() > begin && !out[begin..].contains(&u8::MAX)).then_some(())
}

/// Error for a column with an unknown word.
pub(crate) fn unknown(column: &str) -> ParquetError {
    ParquetError::General(format!("column {column} holds an unknown word"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decodes_run_lengths_of_other_writers() {
        let words = [7, 8, 9, 10];
        // Three times the second word, then a group of eight packed ones.
        let bytes = [2, 3 << 1, 1, 1 << 1 | 1, 0b11_10_01_00, 0b00_01_10_11];
        let mut out = Vec::new();
        assert!(unpack(&bytes, 11, 20, &words, &mut out).is_some());
        assert_eq!(out, [8, 8, 8, 7, 8, 9, 10, 10, 9, 8, 7]);
        // An invalid word, and a truncated run.
        assert!(unpack(&bytes, 11, 20, &words[..3], &mut Vec::new()).is_none());
        assert!(unpack(&bytes[..5], 11, 20, &words, &mut Vec::new()).is_none());
        assert!(unpack(&bytes, 11, 10, &words, &mut Vec::new()).is_none());
    }

    proptest! {
        #[test]
        fn packed_numbers_round_trip(width in 1u32..5, values in proptest::collection::vec(0u8..16, 1..400)) {
            let values: Vec<u8> = values.iter().map(|n| n & ((1 << width) - 1)).collect();
            let words: Vec<u8> = (0..16).collect();
            let mut out = Vec::new();
            prop_assert!(unpack(&pack(&values, width), values.len(), values.len(), &words, &mut out).is_some());
            prop_assert_eq!(out, values);
        }

        #[test]
        fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), count in 0usize..200) {
            let mut out = Vec::new();
            let _ = unpack(&bytes, count, 150, &[1, 2], &mut out);
            prop_assert!(out.len() <= 150);
        }
    }
}
